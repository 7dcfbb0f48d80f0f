/* report/model/spent.h: where the time of a sample goes in the steady state: the kinds of time that a report
 * and a comparison of two runs show, which add up to 1 / rate. */
#pragma once

#include "probe/base/std.h"

enum pp_spent {
    PP_SPENT_STEP,
    PP_SPENT_CPU,
    PP_SPENT_DEVICE,
    PP_SPENT_RANKS,
    /* waits for data, by what the workers of the judged loader did meanwhile */
    PP_SPENT_READ,
    PP_SPENT_DECODE,
    PP_SPENT_TRANSFORM,
    PP_SPENT_COLLATE,
    PP_SPENT_HANDOVER,
    PP_SPENT_IDLE,
    PP_SPENT_WAIT,
    PP_SPENT_BOUNDARY,
    PP_SPENT_BETWEEN,
    PP_SPENT_OTHER,
    PP_SPENT_KINDS
};

struct pp_spent_kind {
    const char *key;   /* in JSON */
    const char *words; /* "waits for data: read" */
    const char *class; /* of its colour on a page */
};
extern const struct pp_spent_kind pp_spent_kinds[PP_SPENT_KINDS];

/* One kind that took time, of a report. */
struct pp_report_spent {
    enum pp_spent kind;
    double per_sample_ns; /* per batch where samples are not known */
    double share;         /* of the window */
};

/* The shares of step time that a report, a comparison and the dashboard show. */

/* Step time is the trainer's data_wait + device_sync + collective + step; part_ns is some of these. NAN when
 * there was none. */
static inline double pp_share_of_step_time(uint64_t part_ns, uint64_t step_time_ns)
{
    return step_time_ns > 0 ? (double)part_ns / (double)step_time_ns : NAN;
}
