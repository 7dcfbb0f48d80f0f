/* export/nsight.h: what the two formats for Nsight Systems share: thread numbers of 24 bits and colours. */
#ifndef PP_EXPORT_NSIGHT_H
#define PP_EXPORT_NSIGHT_H

#include "collectors/store/reader.h"

#include <stdint.h>

/* Nsight packs pid and tid into 24 bits each. Linux numbers stay below 2^22; a thread whose number is unknown
 * or does not fit is numbered above them by its id, so that no two threads fall together. */
static inline uint32_t pp_nsight_number(int64_t os_number, uint32_t id)
{
    return os_number > 0 && os_number < 1 << 22 ? (uint32_t)os_number
                                                : (1u << 22) + id % ((1u << 24) - (1u << 22));
}

static inline uint32_t pp_nsight_pid(const struct pp_thread_row *t)
{
    return pp_nsight_number(t->pid, 0);
}

static inline uint32_t pp_nsight_tid(const struct pp_thread_row *t)
{
    return pp_nsight_number(t->tid, t->id + 1);
}

/* 0xAARRGGBB of a phase: the colour roles of phases.def. */
static inline uint32_t pp_nsight_colour(unsigned phase)
{
    static const uint32_t argb[] = {
        [PP_COLOUR_OTHER] = 0xff8c8c8c, [PP_COLOUR_COMPUTE] = 0xff2e9e4f, [PP_COLOUR_IO] = 0xff1f77b4,
        [PP_COLOUR_CPU] = 0xffe08a1e,   [PP_COLOUR_COPY] = 0xff8e5fc7,    [PP_COLOUR_STALL] = 0xffd62728,
        [PP_COLOUR_IDLE] = 0xffc7c7c7,  [PP_COLOUR_FAULT] = 0xffe377c2,
    };
    const struct pp_phase_info *info = pp_phase_info(phase);
    return argb[info && (unsigned)info->colour < sizeof(argb) / sizeof(*argb) ? info->colour
                                                                              : PP_COLOUR_OTHER];
}

#endif
