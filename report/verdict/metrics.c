#include "report/verdict/metrics.h"

const struct pp_fact pp_metric_facts[PP_METRIC_COUNT] = {
#define ROW(sym, n, t, u, f, ...) \
    [PP_METRIC_##sym] = {.name = n, .text = t, .unit = PP_UNIT_##u, .from = PP_FROM_##f, __VA_ARGS__},
    PP_METRIC_MAP(ROW)
#undef ROW
};
