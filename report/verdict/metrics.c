#include "report/verdict/metrics.h"

#include <pipeprobe/phase.h>

/* Of an owner: the phase; none is what passes batches on. */
static const char *const pp_phase_words[] = {
    [PP_PHASE_NONE] = "the hand-off",
#define PP_PHASE(id, sym, name, lane, kind, colour, text) [id] = name,
#include <pipeprobe/phases.def>
#undef PP_PHASE
    [PP_PHASE_COUNT] = NULL,
};

const struct pp_fact pp_metric_facts[PP_METRIC_COUNT] = {
#define ROW(sym, n, t, u, f, ...) \
    [PP_METRIC_##sym] = {.name = n, .text = t, .unit = PP_UNIT_##u, .from = PP_FROM_##f, __VA_ARGS__},
    PP_METRIC_MAP(ROW)
#undef ROW
};
