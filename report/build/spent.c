#include "report/build/spent.h"

#include <math.h>

static enum pp_spent kind_of_wait(unsigned phase)
{
    switch (phase) {
    case PP_PHASE_READ:
    case PP_PHASE_RETRY: return PP_SPENT_READ;
    case PP_PHASE_DECODE:
    case PP_PHASE_GPU_DECODE: return PP_SPENT_DECODE;
    case PP_PHASE_TRANSFORM: return PP_SPENT_TRANSFORM;
    case PP_PHASE_COLLATE: return PP_SPENT_COLLATE;
    case PP_PHASE_PUT_WAIT: return PP_SPENT_HANDOVER;
    case PP_PHASE_DISPATCH_WAIT:
    case PP_PHASE_SLOT_WAIT: return PP_SPENT_IDLE;
    default: return PP_SPENT_WAIT;
    }
}

/* The trainer's wait, divided as its workers' time in it was. */
static void divide_wait(double wait_ns, const double *share, double *ns)
{
    double left = 1;
    for (unsigned phase = 0; share && phase < PP_PHASE_COUNT; phase++) {
        double part = fmin(fmax(share[phase], 0), left);
        ns[kind_of_wait(phase)] += part * wait_ns;
        left -= part;
    }
    ns[PP_SPENT_WAIT] += left * wait_ns;
}

void pp_spent_list(const struct pp_timeline *tl, const struct pp_tally *tally, const double *wait_share,
                   struct pp_arena *arena, struct pp_report *r)
{
    const struct pp_tally_phase *step = tally->phase[PP_LANE_TRAINER][PP_PHASE_STEP];
    double ns[PP_SPENT_KINDS] = {0}, window_ns = r->window_s * 1e9, told = 0,
           per = r->window_samples ? (double)r->window_samples : (double)r->window_batches,
           steps = (double)tl->step_ns + (double)tl->boundary_step_ns;
    if (!tl->has_steady_state || !r->has_step || !(window_ns > 0) || !(per > 0))
        return;
    steps = fmax(steps - (double)tl->gap_step_ns, 0);
    ns[PP_SPENT_CPU] = step ? fmin(step->inside.run_delay_ns, steps) : 0;
    ns[PP_SPENT_STEP] = steps - ns[PP_SPENT_CPU];
    ns[PP_SPENT_BETWEEN] = (double)tl->gap_ns;
    ns[PP_SPENT_DEVICE] = (double)tl->sync_ns;
    ns[PP_SPENT_RANKS] = (double)tl->collective_ns;
    ns[PP_SPENT_BOUNDARY] = (double)tl->boundary_ns;
    divide_wait((double)tl->wait_ns, wait_share, ns);
    for (int kind = 0; kind < PP_SPENT_OTHER; kind++)
        told += ns[kind];
    ns[PP_SPENT_OTHER] = window_ns - told; /* spans that overlap by a clock's grain make it negative */
    for (int kind = 0; kind < PP_SPENT_KINDS; kind++) {
        struct pp_report_spent *to = fabs(ns[kind]) >= 1
                                         ? pp_arena_push(arena, (void **)&r->spent, &r->n_spent, sizeof(*to))
                                         : NULL;
        if (to)
            *to = (struct pp_report_spent){(enum pp_spent)kind, ns[kind] / per, ns[kind] / window_ns};
    }
}
