#include <pipeprobe/phase.h>

#include <stddef.h>

static const struct pp_phase_info phases[PP_PHASE_COUNT] = {
#define PP_PHASE(i, sym, n, l, k, c, t) \
    [i] = {.id = PP_PHASE_##sym, \
           .name = n, \
           .lane = PP_LANE_##l, \
           .kind = PP_KIND_##k, \
           .colour = PP_COLOUR_##c, \
           .text = t},
#include <pipeprobe/phases.def>
#undef PP_PHASE
};

const struct pp_phase_info *pp_phase_info(unsigned id)
{
    return id < PP_PHASE_COUNT && phases[id].name ? &phases[id] : NULL;
}

const char *pp_lane_name(pp_lane lane)
{
    static const char *const names[PP_LANE_COUNT] = {
        [PP_LANE_MAIN] = "main", [PP_LANE_READER] = "reader",   [PP_LANE_WORKER] = "worker",
        [PP_LANE_COPY] = "copy", [PP_LANE_TRAINER] = "trainer", [PP_LANE_DEVICE] = "device",
    };
    return (unsigned)lane < PP_LANE_COUNT ? names[lane] : "unknown";
}
