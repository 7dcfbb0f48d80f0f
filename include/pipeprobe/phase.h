/* pipeprobe/phase.h: the phases a batch goes through, as numbers and as a table (see phases.def). */
#ifndef PIPEPROBE_PHASE_H
#define PIPEPROBE_PHASE_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pp_phase {
    PP_PHASE_NONE = 0,
#define PP_PHASE(id, sym, name, lane, kind, colour, text) PP_PHASE_##sym = id,
#include <pipeprobe/phases.def>
#undef PP_PHASE
    PP_PHASE_COUNT
} pp_phase;

typedef enum pp_lane {
    PP_LANE_MAIN,
    PP_LANE_READER,
    PP_LANE_WORKER,
    PP_LANE_COPY,
    PP_LANE_TRAINER,
    PP_LANE_DEVICE, /* no thread: what a device says of itself */
    PP_LANE_COUNT
} pp_lane;
typedef enum pp_phase_kind { PP_KIND_WORK, PP_KIND_WAIT } pp_phase_kind;
typedef enum pp_colour {
    PP_COLOUR_OTHER,
    PP_COLOUR_COMPUTE,
    PP_COLOUR_IO,
    PP_COLOUR_CPU,
    PP_COLOUR_COPY,
    PP_COLOUR_STALL,
    PP_COLOUR_IDLE,
    PP_COLOUR_FAULT
} pp_colour;

struct pp_phase_info {
    pp_phase id;
    const char *name; /* as stored, printed and used in JSON */
    pp_lane lane;
    pp_phase_kind kind;
    pp_colour colour;
    const char *text;
};

/* NULL for an id that is not in the table (a newer file). Any thread. */
const struct pp_phase_info *pp_phase_info(unsigned id);
const char *pp_lane_name(pp_lane lane); /* "worker" */

#ifdef __cplusplus
}
#endif
#endif
