/* report/measure/tally.h: the second pass: what every lane did in the steady-state window, and during the
 * trainer's stalls.
 *
 * A span counts (count, total, percentiles, CPU split) when it starts inside the window and is not warm-up.
 * Shares of time use the part of every span that lies inside the window, so that a long wait across its edge
 * is not lost. Memory: one histogram (58 KiB) per lane and phase that occurs, one small row per thread. */
#pragma once

#include "probe/base/hist.h"
#include "report/measure/timeline.h"

/* Where time went: CPU and run-queue delay are known for measured_ns of it only. */
struct pp_split {
    double total_ns, measured_ns, cpu_ns, run_delay_ns;
};
/* Shares of measured_ns; NAN when nothing was measured. Delays are recorded where they surface (trace.h), so
 * parts can exceed the whole by a few us: clamped to add up to 1. */
double pp_split_cpu(const struct pp_split *s);
double pp_split_run_delay(const struct pp_split *s);
double pp_split_blocked(const struct pp_split *s);

struct pp_tally_phase {
    struct pp_hist hist;
    uint64_t bytes, cached_bytes, cached_of_bytes; /* page-cache hits, of the reads where they are known */
    struct pp_split whole;                         /* counted spans */
    struct pp_split inside;                        /* the parts inside the window */
    struct pp_split stalled;                       /* the parts inside stalls */
};

struct pp_tally_thread {
    uint32_t id;
    pp_lane lane;
    uint64_t samples, errors, retries, bytes;
    double busy_ns, wait_ns;
    double life_ns; /* of the window: how long the thread's process was there to work; the whole window for a
                       thread of the trainer's process */
    uint64_t first_ns, last_ns; /* its first span's start, its last one's end */
    struct pp_split inside;
    /* those that spans stand for several at a time of (PP_SPAN_COUNT), by stage from read to transform */
    uint64_t counted[PP_PHASE_TRANSFORM - PP_PHASE_READ + 1];
    /* the sample in hand; it is done when the next one begins */
    uint64_t sample;
    uint32_t batch;
    unsigned last_phase;
    int in_hand, in_window, failed;
    int own_process; /* not the trainer's */
    size_t cursor;
    const struct pp_batch_range *of; /* of several loaders: batches of the one that it works for */
    int of_several;
};

struct pp_tally {
    struct pp_tally_phase *phase[PP_LANE_COUNT][PP_PHASE_COUNT]; /* NULL: did not occur */
    struct pp_tally_thread *threads;
    size_t n_threads, lane_threads[PP_LANE_COUNT];
    double judged_work_ns;  /* of workers in the window: making samples and batches of the judged loader */
    double stalled_workers; /* that can hold the trainer up: of several loaders, those of the one that is
                               judged (one_loader.h); what the others' do during stalls is in no phase */
    uint64_t unknown_phase; /* spans of a phase this version does not know */
};

struct pp_tally_pass;

/* One pass over all spans, after the timeline: begin, every chunk, end. begin returns NULL without memory;
 * end accepts NULL and frees the pass. Free what it filled with pp_tally_free, also after a failure. */
struct pp_tally_pass *pp_tally_begin(const struct pp_source *source, const struct pp_timeline *timeline,
                                     struct pp_tally *out);
int pp_tally_chunk(struct pp_tally_pass *p, uint32_t thread, const struct pp_span *spans,
                   size_t n); /* non-zero: no memory */
void pp_tally_end(struct pp_tally_pass *p);
void pp_tally_free(struct pp_tally *t);
