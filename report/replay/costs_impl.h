/* report/replay/costs_impl.h: the pass of report/replay/costs.h, which gathers spans (costs.c), and what
 * makes means of them with the configuration and the counters of the file (costs_means.c, costs_apart.c). */
#pragma once

#include "report/replay/costs.h"

/* stream_reads.c: the reads of a streamed run (run --stream). One thread reads for all workers, one sample
 * after the other, and the workers' spans have no reads: what the reader's spans say is joined with the
 * samples here. A shuffle buffer hands out another sample than the one that was read last; what counts is how
 * long the workers wait for the next one. */

/* What the reader took until it had a sample for the workers, since the one before: ns. */
struct pp_stream_read {
    uint64_t sample, start_ns, end_ns; /* the end without the run-queue delay */
    float blocked, cpu, wake, retry;   /* retry: back-off before another try */
    uint32_t bytes, thread;
    uint16_t epoch;
    uint8_t hit, hit_known;
};

/* In order of time, to be freed. */
struct pp_stream_reads {
    struct pp_stream_read *at;
    size_t n, room;
};

/* Gives each sample of c its read; a sample whose read was not recorded (it was before the window) goes. */
void pp_stream_reads_join(struct pp_stream_reads *r, struct pp_costs *c);

/* lock_wait and lock_sleeps, of c->ops and c->workers (costs_means.c). */
void pp_costs_find_lock(struct pp_costs *c);

#define A_BATCH 1.5 /* made for each batch: below it a worker makes a batch at a time */

struct pp_costs_worker {
    uint32_t thread;
    struct pp_cost_sample hand; /* the sample it works on */
    uint64_t many;              /* how many samples that is: spans may stand for several (PP_SPAN_COUNT) */
    int busy, staged;           /* staged: it works on others than the sample it read last, stage by stage */
    double made_ns;             /* what it read and worked, of all */
};

/* Spans of one lane, in order of time, as the chunks have them. */
struct pp_stretches {
    struct {
        uint64_t start_ns, end_ns;
    } * at;
    size_t n, room;
};

struct pp_costs_step {
    float ns, cpu_ns, delay_ns;
};

/* Run-queue delays of threads that woke up. */
struct pp_wakes {
    double ns, n;
};

/* What a trainer's copies from pageable memory take it, of rows in the order of their starts. */
enum { PP_COPY_CALLS = 64 };
struct pp_copy_calls {
    struct pp_copy_call {
        uint32_t correlation;
        double ns;
    } call[PP_COPY_CALLS]; /* of the trainer's thread, the newest calls that copy: a copy begins after its
                              call */
    size_t n;
    double call_ns, copy_ns,
        waits; /* sums, in the window; waits: of that thread, for a stream or the device */
    uint64_t wait_end_ns;
    double matched, unmatched; /* copies from pageable memory that were made by such a call, or by none */
};

/* What a PyTorch job's hooks count beside its spans; costs.c has their names. */
enum pp_cost_counter {
    PP_COST_UNPICKLE,
    PP_COST_UNPICKLE_CPU,
    PP_COST_TENSORS,
    PP_COST_DRAWS,
    PP_COST_HELPER_CPU,
    PP_COST_THREADS,
    PP_COST_COUNTERS
};

struct pp_costs_pass {
    struct pp_costs *c;
    const struct pp_timeline *tl; /* of what is counted: whole, or cut */
    const struct pp_timeline *whole;
    struct pp_timeline cut; /* from when others took more CPUs on; borrows what whole owns */
    const struct pp_thread_row *threads;
    size_t n_threads;
    int64_t trainer_tid;             /* -1: none */
    struct pp_costs_worker *workers; /* by place in threads */
    double decoded, decoded_bytes;   /* samples whose decoding tells what it produced */
    double collates, copies, decodings, steps, copy_delay_ns, sync_delay_ns, all_ns,
        all_cpu_ns; /* of all threads: CPU time and run-queue delay, and CPU time */
    struct pp_wakes trainer_waits, copy_waits, sleeps; /* sleeps: of any kind */
    double data_waits, data_wait_ns, data_wait_cpu_ns, data_wait_blocked_ns, data_wait_delay_ns;
    struct pp_costs_step *step; /* every one, for the quota's part and for pauses */
    size_t n_steps, step_room;
    double get_cpu_ns;   /* of the copy lane, while it takes a batch */
    uint32_t step_batch; /* of the newest one */
    /* of collective spans, for a recording without others */
    double collective_cpu_ns, collective_blocked_ns, collective_delay_ns;
    struct pp_stream_reads stream;          /* --stream: of the reader's thread */
    struct pp_stream_read stream_next;      /* of the sample that it is at */
    struct pp_stretches copy, sync;         /* of every copy and device sync: what a sync waited for */
    struct pp_stretches checkpoint, kernel; /* checkpoint: not between epochs, and as one what lies between
                                               two waits for data */
    struct pp_copy_calls calls;
    int between_epochs, saving;
    double pauses_ns;              /* per step, out of the steps */
    struct pp_other_batches other; /* of a job's other loaders: no cost of the one that is judged */
    int at_other;                  /* the trainer is at a batch of another loader */
    double batches[2], samples[2]; /* that the trainer had; [1]: of the others */
    double exposed_ns, all_steps_ns, other_ns,
        other_wait_ns; /* of the trainer's time; the first two: with the batches of all loaders */
    const struct pp_source *source;
    struct pp_counter_id others; /* collective_others_ns */
    struct {
        struct pp_counter_id id;
        double sum, n; /* of so many spans */
    } counter[PP_COST_COUNTERS];
    double worker_ns, idle_ns; /* of the workers' time: all, and waiting for a batch to make */
    size_t others_room;
    int no_memory;
};

/* Configuration, and counters over the time that is judged, which start-up is no part of: CPUs of others,
 * quota, faults, reads from the disk. */
pp_status pp_costs_facts(const struct pp_source *source, struct pp_costs *c, const struct pp_timeline *tl,
                         struct pp_err *err);

/* Where other processes took more of the CPUs from some moment on, and until the end, what goes on is what
 * came after: sets p->tl to that part. Before the first span. */
void pp_costs_cut(struct pp_costs_pass *p);

/* costs_apart.c: apart_ns and gpu_busy_ns, per step; takes pauses out of the sums of steps. Facts and spans
 * are there, and steps stand in order of their length. */
void pp_costs_apart(struct pp_costs_pass *p);

/* costs_apart.c: cold_step and cold_work of a PyTorch loader with workers. A batch that is handed over wakes
 * up processes, which take turns on the CPUs: trainer and workers find cold caches, pages to copy, and a
 * process at work on the core's other thread. What does so is not recorded. The quickest tenth of steps and
 * of batches had least of it: what the others have beyond these counts, as far as taking a batch costs as
 * much, since steps may differ of themselves; the most is all of it. Last: samples are in order of batch. */
void pp_costs_cold(struct pp_costs_pass *p);

/* The i-th of n samples that were recorded as one: an equal part, one after the other. */
struct pp_cost_sample pp_costs_part(const struct pp_cost_sample *all, uint64_t i, uint64_t n);

/* Sums become means per batch, step and copy; samples stand by batch and read. Facts and spans are there. */
void pp_costs_sum_up(struct pp_costs_pass *p);
