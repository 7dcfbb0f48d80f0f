/* report/series.h: what the pictures of a report show, as part of the model: the run's time cut into a fixed number of slices, so that a report of ten
 * hours is as small as one of ten seconds, and two batches followed along their critical path.
 *
 * Slices (third pass over the spans): a span's time goes to the slices it covers, in proportion. Queue fill is counted, not sampled: a
 * batch enters `ready` when its collate ends and leaves when the copy lane's get_wait ends; it enters `device` when its copy
 * ends and leaves when the trainer's wait ends. Where spans are missing the counts drift apart; then it is not shown.
 *
 * Batches (one more pass each, over the chunks of its time): the worker that finished the batch is the one on the critical path. Its spans are walked back from there to where the
 * trainer began to wait, or the batch was begun, whichever was first: what it did for earlier batches in that time held this one. */
#ifndef PP_REPORT_SERIES_H
#define PP_REPORT_SERIES_H

#include "report/arena.h"
#include "report/tally.h"
#include "report/whatif.h"

enum { PP_SERIES_SLICES = 120, PP_SERIES_COARSE = 10, PP_SERIES_HEAT_ROWS = 32, PP_SERIES_CDF = 100, PP_SERIES_WORKER_ROWS = 8, PP_SERIES_BARS = 300 };

/* A batch to follow. */
struct pp_series_target {
    const char *which;
    uint32_t batch, epoch;
    uint64_t wait_start_ns, wait_end_ns, end_ns, wait_ns, sync_ns, step_ns;
    uint64_t since_ns; /* chunks that begin earlier have no span of it */
};
struct pp_series_targets {
    struct pp_series_target target[2];
    size_t n;
};

/* Fills slices, coarse, window_*_s, heat and wait_cdf of r; says which batches are worth following. */
pp_status pp_series_build(const struct pp_source *source, const struct pp_timeline *timeline, const struct pp_tally *tally, struct pp_report_arena *arena,
                          struct pp_report *r, struct pp_series_targets *targets, struct pp_err *err);

/* Fills waterfalls of r. A batch of which too much was recorded to be held in memory (over 64 Ki spans) is left out. */
pp_status pp_series_follow(const struct pp_source *source, const struct pp_series_targets *targets, struct pp_report_arena *arena, struct pp_report *r, struct pp_err *err);

/* Adds the predicted rate over the number of workers, at most 8 points, to curves of r. costs are calibrated. */
void pp_series_curve(const struct pp_costs *costs, struct pp_report_arena *arena, struct pp_report *r);

#endif
