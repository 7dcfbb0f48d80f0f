/* report/model/share.h: the shares of step time that a report, a comparison and the dashboard show. */
#ifndef PP_REPORT_MODEL_SHARE_H
#define PP_REPORT_MODEL_SHARE_H

#include <math.h>
#include <stdint.h>

/* Step time is the trainer's data_wait + device_sync + collective + step; part_ns is some of these. NAN when
 * there was none. */
static inline double pp_share_of_step_time(uint64_t part_ns, uint64_t step_time_ns)
{
    return step_time_ns > 0 ? (double)part_ns / (double)step_time_ns : NAN;
}

#endif
