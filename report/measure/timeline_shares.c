/* What is read off a timeline: shares of time, and how much of a span of time was stalled. */
#include "report/measure/timeline.h"

#include "probe/base/array.h"
#include "report/model/spent.h"

double pp_timeline_program_s(const struct pp_timeline *t, double first_batch_s)
{
    uint64_t pipeline = t->startup_ns[PP_LANE_MAIN] + t->startup_ns[PP_LANE_TRAINER] +
                        t->startup_ns[PP_LANE_WORKER] + t->startup_ns[PP_LANE_READER] + t->gather_ns +
                        t->first_start_ns + t->first_sampler_ns;
    if (!t->first_batch_ns || isnan(first_batch_s))
        return 0;
    return fmax(first_batch_s - (double)(t->first_wait_ns + pipeline) / 1e9, 0);
}

double pp_timeline_share(const struct pp_timeline *t, uint64_t ns)
{
    return pp_share_of_step_time(ns, pp_timeline_exposed_ns(t) + t->step_ns);
}

double pp_timeline_accelerator_utilization(const struct pp_timeline *t)
{
    double compute = (double)(t->step_ns + t->boundary_step_ns);
    return t->has_step && t->end_ns > t->start_ns ? fmin(compute / (double)(t->end_ns - t->start_ns), 1)
                                                  : NAN;
}

double pp_timeline_wait_share_se(const struct pp_timeline *t)
{
    double n = (double)t->judged_batches, r = pp_timeline_share(t, pp_timeline_exposed_ns(t));
    double mean_t = ((double)(pp_timeline_exposed_ns(t) + t->step_ns)) / n;
    if (n < 2)
        return NAN;
    double residuals = t->sum_ww - 2 * r * t->sum_wt + r * r * t->sum_tt;
    return sqrt(fmax(residuals, 0) / (n * (n - 1))) / mean_t;
}

uint64_t pp_timeline_stalled_before(const struct pp_timeline *tl, uint64_t t, size_t *cursor)
{
    size_t i = *cursor;
    if (i > 0 && tl->stalls[i - 1].end_ns > t) /* time went back: a span put for another lane */
        i = PP_BEFORE(tl->n_stalls, k, tl->stalls[k].end_ns <= t);
    while (i < tl->n_stalls && tl->stalls[i].end_ns <= t)
        i++;
    *cursor = i;
    if (i == tl->n_stalls)
        return pp_stalled_ns(tl->stalls, i);
    const struct pp_stall *s = &tl->stalls[i];
    return s->before_ns + (t > s->start_ns ? t - s->start_ns : 0);
}

uint64_t pp_timeline_stalled_between(const struct pp_timeline *tl, uint64_t from, uint64_t to, size_t *cursor)
{
    size_t i = *cursor;
    int after_last = i == 0 || tl->stalls[i - 1].end_ns <= from,
        before_next = i == tl->n_stalls || to <= tl->stalls[i].start_ns;
    if (after_last && before_next && from <= to)
        return 0;
    uint64_t before = pp_timeline_stalled_before(tl, from, cursor);
    return pp_timeline_stalled_before(tl, to, cursor) - before;
}
