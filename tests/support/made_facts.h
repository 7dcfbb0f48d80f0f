/* Facts made by hand, from which rules conclude. */
#pragma once

#include "report/verdict/verdict.h"

#include <math.h>

/* A trainer that waits for data that part of its time, and whose step is stretched by the other part; nothing
 * else is known. */
static inline struct pp_facts starved_facts(double waits, double stretched)
{
    struct pp_facts f = {
        .has_step = 1, .has_steady_state = 1, .data_wait_se = 0.01, .starved = 1, .starved_alone = 1};
    for (int m = 0; m < PP_METRIC_COUNT; m++)
        f.metric[m] = NAN;
    f.metric[PP_METRIC_DATA_WAIT] = waits + stretched, f.metric[PP_METRIC_WAIT_ITSELF] = waits,
    f.metric[PP_METRIC_STRETCH] = stretched;
    f.metric[PP_METRIC_BATCHES] = 100, f.metric[PP_METRIC_WINDOW] = 5e9, f.metric[PP_METRIC_LOSS] = 0,
    f.metric[PP_METRIC_OWNER_SHARE] = 1, f.metric[PP_METRIC_OWNER] = PP_PHASE_NONE;
    return f;
}
