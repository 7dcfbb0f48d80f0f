/* report/measure/timeline.h: the first pass: the run as its trainer saw it. Finds the steady-state window,
 * adds up where the trainer's time went, and keeps the stalls (when it waited for data) for the second pass.
 *
 * Window: from the start of the first batch that is neither warm-up (PP_SPAN_WARMUP) nor the run's first, to
 * the end of the last batch. The wait for the first batch of an epoch is epoch boundary, as are the
 * epoch_boundary and checkpoint phases, and a trainer that starts workers again: kept apart, in boundary_ns,
 * because it says how often epochs end, not how fast data comes. Where the trainer makes its batches
 * (num_workers=0) nothing drains, and an epoch's first batch is one like the others. Memory: 24 bytes per
 * batch that waited, and 8 for each of the first PP_TIMELINE_CYCLES batches of the window; 4 per epoch.
 *
 * Of a run whose pipeline changed under way the window lies in one part (part.c); batches of the other part
 * count as warm-up. */
#pragma once

#include "report/source/one_loader.h"
#include "report/source/source.h"

/* part.c: the part of a run that is judged, of one whose pipeline changed under way: it lost its GPU, or the
 * GPU gave up decoding, and the CPU took over. Before and after are two pipelines, and a mean of both is true
 * of neither: the longer part is judged. Of a run that still goes on it is the newer one.
 *
 * Likewise of a run whose loader was changed while it was iterated (exec --tune): rows of section
 * "loader_change" say when it got which num_workers and prefetch_factor, and the longest stretch of those
 * that it had last is judged. */

/* And of a run that trains, what lies before the first batch that is trained on: a resumed run takes batches
 * and throws them away until it is where it was. Of a loader that is not PyTorch's, what the trainer takes
 * before it waits for the first time, where it waits from then on: that was made before the first step. */

enum pp_part_which {
    PP_PART_WHOLE,
    PP_PART_BEFORE,
    PP_PART_AFTER,
    PP_PART_SETTING,
    PP_PART_TRAINED,
    PP_PART_EMPTIED
};

struct pp_part {
    enum pp_part_which which;
    uint64_t from_ns, to_ns; /* batches within are judged; 0 and UINT64_MAX: all */
    uint64_t warmup;         /* batches of the part that are not: they fill the pipeline again */
};

struct pp_part pp_part_judged(const struct pp_source *source);

/* A phase in which workers make samples and batches: it stretches where they lack a CPU. */
static inline int pp_phase_is_work(unsigned phase)
{
    return phase == PP_PHASE_READ || phase == PP_PHASE_DECODE || phase == PP_PHASE_TRANSFORM ||
           phase == PP_PHASE_COLLATE;
}

struct pp_stall {
    uint64_t start_ns, end_ns;
    uint64_t before_ns; /* stalled time before start_ns */
};

/* Stalled time of n of them, in their order. */
static inline uint64_t pp_stalled_ns(const struct pp_stall *stalls, size_t n)
{
    return n ? stalls[n - 1].before_ns + (stalls[n - 1].end_ns - stalls[n - 1].start_ns) : 0;
}

enum { PP_TIMELINE_CYCLES = 1 << 22 };

/* Time of the trainer in no span, between the last batch of an epoch and the first of the next, of whatever
 * loader; of a step before another loader's first batch what it has beyond the mean step. */
struct pp_gap {
    uint64_t start_ns, end_ns;
    uint64_t batches; /* of the window, before it */
    int in_step;
};

/* What was recorded of this much of the window, such as a GPU's work, speaks for all of it: most of it. */
#define PP_LEAST_RECORDED 0.5
/* Of a GPU's records, as of spans: a fifth of the smallest share that changes a verdict (5 %). */
#define PP_MOST_DROPPED 0.01

/* How epochs begin: of several loaders, those of the one that is judged. */
struct pp_epoch_starts {
    uint64_t n, wait_ns, gap_ns; /* in the window: first batches, the waits for them, and the time before such
                                    a wait since the batch before, without other loaders' batches */
    uint64_t workers_ns;         /* of gap_ns: the loader ended workers and started others */
    uint64_t starting_ns;        /* of workers_ns; 0: not recorded */
    uint64_t sampler_ns;         /* of gap_ns: the sampler drew */
    uint64_t late_ns;            /* of wait_ns: none of the new workers had begun */
    uint64_t whole, batches;     /* epochs that were seen from their first batch to their last, and their
                                    batches */
};

struct pp_timeline {
    /* the whole run */
    uint64_t spans, first_ns, last_ns; /* all threads; first_ns is UINT64_MAX when there is no span */
    uint64_t batches, samples, epochs;
    uint32_t *epoch_first; /* by epoch: its first batch; UINT32_MAX: the trainer got none of it */
    size_t n_epoch_first;
    uint32_t last_batch;                   /* highest number the trainer got */
    uint64_t sample_spans[PP_PHASE_COUNT]; /* of read, decode and transform, on threads of workers and
                                              readers: those that name single samples */
    int merged_samples;                    /* some of their spans stand for several samples */
    uint64_t first_batch_ns;               /* when the trainer had its first batch; 0: never */
    uint64_t first_wait_ns; /* how long it waited for that one; 0: it did not, or the wait was not recorded */
    uint64_t untrained, untrained_ns;          /* batches before such a part, and their time */
    uint64_t first_start_ns, first_sampler_ns; /* before it: the trainer started workers; its samplers drew */
    uint64_t startup_start_ns, startup_end_ns;
    uint64_t startup_ns[PP_LANE_COUNT]; /* before the first batch: all of a lane's; of lanes of many threads
                                           (workers, readers), the longest one's */
    uint64_t restarts,
        restart_ns; /* workers that started again for a later epoch, and how long that took them in all */
    uint64_t chunks, bad_chunks;
    struct pp_other_batches other; /* of a job with several loaders: batches that are not the judged one's */
    int has_trainer, has_step;     /* has_step: a step took time, in whatever batch */
    uint32_t trainer;              /* thread */

    /* the steady state; when there is none, all batches, of which none is judged */
    int has_steady_state;
    enum pp_part_which part; /* of the run, in which it lies */
    uint64_t start_ns, end_ns;
    uint64_t window_batches, window_samples;
    uint64_t judged_batches; /* those whose wait counts: not the first of an epoch */
    uint64_t wait_ns, sync_ns, collective_ns, step_ns,
        boundary_ns;               /* collective: for the other ranks of the run */
    uint64_t gather_ns;            /* that the trainer waited for them before its first step */
    uint64_t boundaries, epoch_ns; /* first batches of an epoch, and of boundary_ns what is not checkpoints */
    uint64_t epoch_max_ns;         /* of epoch_ns, the most at one first batch */
    struct pp_epoch_starts starts;
    struct pp_gap *gaps; /* of the window */
    size_t n_gaps;
    uint64_t gap_ns, gap_step_ns; /* of all; of those within steps */
    uint64_t boundary_step_ns;    /* steps of the first batches of epochs, which step_ns leaves out */
    double sum_ww, sum_wt,
        sum_tt; /* per batch: w = wait + sync + collective, t = w + step; for the spread of the ratio */
    struct pp_stall *stalls;
    size_t n_stalls;
    /* Of several loaders, the part of the judged one: its stalls, samples of the window, judged batches and
     * what the trainer waited for them. Of one loader all of it, and no stalls of its own. */
    struct {
        struct pp_stall *stalls;
        size_t n_stalls;
        uint64_t samples, batches, exposed_ns;
    } own;
    uint64_t *cycle_end_ns; /* when each batch of the window was done with, epoch boundaries and checkpoints
                               before it included */
    size_t n_cycles;
};

/* A batch that the trainer is done with. warmup: not of the steady state; boundary: the first of an epoch. */
struct pp_timeline_batch {
    uint32_t number;
    uint16_t epoch;
    int warmup, boundary;
    uint64_t start_ns, end_ns, samples, wait_ns, sync_ns, collective_ns, step_ns;
    uint64_t wait_delay_ns, step_delay_ns; /* of wait, and of sync and step: it was ready and had no CPU, as
                                              far as that was measured */
    /* its waits for other ranks; of those that were sampled, how long threads that carry them lacked a CPU */
    uint64_t exchanges, sampled_exchanges, exchange_delay_ns;
};
typedef void pp_timeline_batch_fn(void *ctx, const struct pp_timeline_batch *batch);

/* The same, and hands every batch to fn (may be NULL) in the trainer's order. */
pp_status pp_timeline_build_each(const struct pp_source *source, struct pp_timeline *out,
                                 pp_timeline_batch_fn *fn, void *ctx, struct pp_err *err);
/* Free with pp_timeline_free, also after a failure. */
pp_status pp_timeline_build(const struct pp_source *source, struct pp_timeline *out, struct pp_err *err);
void pp_timeline_free(struct pp_timeline *t);

/* Seconds of the first first_batch_s of the run that no part of the input pipeline spent: imports, building
 * the model, up to the trainer's first wait; what was recorded as start-up is not among them. */
double pp_timeline_program_s(const struct pp_timeline *t, double first_batch_s);

/* What the trainer waited for: its own data and device, and the other ranks. */
static inline uint64_t pp_timeline_exposed_ns(const struct pp_timeline *t)
{
    return t->wait_ns + t->sync_ns + t->collective_ns;
}
/* Accelerator utilisation (AU) as MLPerf Storage defines it (Rules.md of mlcommons/storage, "Performance
 * metrics"): total compute time / total running time, of the steady state, without the first step. Compute
 * time is that of the trainer's steps; the running time includes epoch boundaries and checkpoints. NAN
 * without a step. */
double pp_timeline_accelerator_utilization(const struct pp_timeline *t);
/* What the trainer waited, or a part of it, as a share of step time: ns / (exposed + step); NAN with nothing
 * to divide by. */
double pp_timeline_share(const struct pp_timeline *t, uint64_t ns);
/* The standard error of the whole exposed wait's share over batches, as a ratio estimator (Cochran, Sampling
 * Techniques, eq. 6.13); NAN below two batches. Batches that follow each other are not independent, so this
 * is a lower bound. */
double pp_timeline_wait_share_se(const struct pp_timeline *t);

/* Half of the mean gap or more: what an epoch's boundary is, and no call beside it. */
static inline int pp_gap_is_long(const struct pp_timeline *t, size_t i)
{
    return 2 * (t->gaps[i].end_ns - t->gaps[i].start_ns) * t->n_gaps >= t->gap_ns;
}

/* The same timeline with the stalls of the judged loader alone, on loan. */
struct pp_timeline pp_timeline_of_judged(const struct pp_timeline *t);
/* Stalled time before t; *cursor speeds up calls with growing t (start it at 0, one per thread). */
uint64_t pp_timeline_stalled_before(const struct pp_timeline *tl, uint64_t t, size_t *cursor);
/* Stalled time in [from, to), which for most spans is none. */
uint64_t pp_timeline_stalled_between(const struct pp_timeline *tl, uint64_t from, uint64_t to,
                                     size_t *cursor);
