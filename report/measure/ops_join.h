/* report/measure/ops_join.h: samples of Python stacks with the batch, the phase and the weight that the spans
 * give them: see ops.h. */
#pragma once

#include "report/measure/ops.h"

/* Of a sample; phase PP_PHASE_NONE: in no span, or outside the steady state. */
struct pp_ops_joined {
    uint32_t batch;
    uint8_t phase, loader; /* loader: place in pp_ops.loaders, of work alone */
    float weight;          /* of work: wait over work of its neighbourhood */
};

/* In one of the timeline's gaps, of the training thread. */
#define PP_OPS_BETWEEN PP_PHASE_COUNT

/* Samples whose stacks do not say what they are of are of no phase then. */
void pp_ops_leave_out(const struct pp_ops *ops, struct pp_ops_joined *joined);
/* By function, for free(): nearly all samples of steps are in it: the loop, or what is all of a step. */
char *pp_ops_loops(const struct pp_stacks *stacks, const struct pp_ops_joined *joined);
