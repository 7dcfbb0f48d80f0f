/* report/pictures/series.h: what the pictures of a report show, as part of the model: the run's time cut into
 * a fixed number of slices, so that a report of ten hours is as small as one of ten seconds, and two batches
 * followed along their critical path.
 *
 * Slices: of equal length, from the job's start to its last span. A span's time goes to the slices it covers,
 * in proportion. Queue fill is counted, not sampled: a batch enters `ready` when its collate ends and leaves
 * when the copy lane's get_wait ends; it enters `device` when its copy ends and leaves when the trainer's
 * wait ends. Where spans are missing the counts drift apart; then it is not shown. Where no lane copies (a
 * PyTorch job), a batch is ready until the trainer's wait for it ends, and for each of several
 * loaders.
 *
 * Batches (one more pass each, over the chunks of its time): the worker that finished the batch is the one on
 * the critical path. Its spans are walked back from there to where the trainer began to wait, or the batch
 * was begun, whichever was first: what it did for earlier batches in that time held this one. */
#pragma once

#include "probe/base/arena.h"
#include "report/measure/tally.h"
#include "report/model/model.h"
#include "report/replay/whatif.h"

enum {
    PP_SERIES_SLICES = 120,
    PP_SERIES_ZOOM = 12, /* fine slices in one */
    PP_SERIES_PARTS = 12,
    PP_SERIES_LOADERS = 8,
    PP_SERIES_COARSE = 10,
    PP_SERIES_HEAT_ROWS = 32,
    PP_SERIES_CDF = 100,
    PP_SERIES_WORKER_ROWS = 8,
    PP_SERIES_BARS = 300
};

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
    uint64_t origin_ns; /* when the job started */
    struct pp_series_begun {
        uint64_t first_ns;
        uint32_t least, most;
    } begun[PP_SERIES_SLICES]; /* of the chunks that begin in a slice: when the first does, and which batches
                                  they have spans of */
};

struct pp_series_pass;

/* One pass over all spans, after the timeline: begin, every chunk, end. begin returns NULL without memory;
 * end accepts NULL and frees the pass. It fills fine, slices, coarse, parts, loader_queues, window_*_s, heat
 * and wait_cdf of r, none where no time passed, and begun of targets; it comes after the tally's. */
struct pp_series_pass *pp_series_begin(const struct pp_source *source, const struct pp_timeline *timeline,
                                       const struct pp_tally *tally); /* read by end */
int pp_series_chunk(struct pp_series_pass *p, uint32_t thread, const struct pp_span *spans,
                    size_t n); /* non-zero: no memory */
pp_status pp_series_end(struct pp_series_pass *p, const struct pp_source *source, struct pp_arena *arena,
                        struct pp_report *r, struct pp_series_targets *targets, struct pp_err *err);

/* Says which batches are worth following; where there are slices. */
pp_status pp_series_choose(const struct pp_source *source, const struct pp_timeline *timeline,
                           const struct pp_tally *tally, struct pp_series_targets *targets,
                           struct pp_err *err);

/* Fills waterfalls of r. A batch of over 64 Ki spans, too many to be held in memory, is left out. */
pp_status pp_series_follow(const struct pp_source *source, const struct pp_series_targets *targets,
                           struct pp_arena *arena, struct pp_report *r, struct pp_err *err);

/* Adds the predicted rate by number of workers, at most 8 points, to curves of r. costs are calibrated. */
void pp_series_curve(const struct pp_costs *costs, struct pp_arena *arena, struct pp_report *r);
