/* report/replay/replay.h: the loader as a discrete-event simulation, fed with recorded costs: what would this
 * run have done with other knobs?
 *
 * What is replayed per sample is CPU time and blocked time, never wall time: the wall time of a recorded span
 * holds the run-queue delay of the recorded set-up (naive replay of wall times was wrong by up to 214 %,
 * docs/internals/replay.md). CPU time is served by processor sharing, as a fair scheduler has it: n runnable
 * threads that may use C of M CPUs, beside m runnable threads of others on all of them, each advance at rate
 * min(1, C / n, M / (n + m)). Where the scheduler is fair to groups (cgroups, autogroups), each of G busy
 * groups gets as much as all of ours together: min(1, C / n, M / (n (1 + G))). Others that want less than
 * that, D CPUs and no more, leave (M - D) / n at least. The wiring is the loader's own
 * (loader/loader.h): workers take samples in order, of which each may have several reads in flight, W x
 * prefetch + 1 slots bound what is in flight, one copy lane, copy_buffers batches on the device, one trainer.
 * Of a stream, one reader brings the samples to all workers. PyTorch's DataLoader is wired otherwise
 * (per_worker, drains; torch/utils/data/dataloader.py): a batch is one worker's, they take turns, and an
 * epoch begins with an empty pipeline. A read is a latency, during which any number of others may be under
 * way, and then its turn on a link that all reads share, for as long as its bytes take there, or as any read
 * takes where reads are counted; while storage stands still for all, no read begins.
 *
 * Pure computation: no I/O, no clock, no randomness; the same input gives the same output. Any thread. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

/* Cost of one sample, in ns. */
struct pp_replay_sample {
    float read_blocked, read_cpu; /* waiting for storage (latency; the bytes' own time is
                                     storage_bytes_per_s), and the CPU part of the read */
    float work_cpu;               /* decode + transform */
    float work_blocked;           /* blocked inside decode or transform: locks, page faults */
    float serial_cpu;   /* CPU time spent under one lock shared by all workers, part of neither above;
                           lock_sleeps: no CPU time */
    uint32_t bytes;     /* asked of storage; 0: it is not asked, the sample is at hand */
    uint32_t on_device; /* 1: the device's decoder takes it, behind the copy of its batch */
    uint32_t begins;    /* 1: the first of its recorded batch; with per_worker a batch begins with one, if
                           there is any as near as two batches */
};

/* No read completes from start to end, in ns from the beginning of the run. */
struct pp_outage {
    double start, end;
};

struct pp_replay_setup {
    int workers, prefetch, copy_buffers, in_order;
    int inflight; /* reads of a worker at a time, each by a thread of its own, and taken in order; up to 1:
                     the  worker reads by itself */
    int stream_items; /* one reader of its own reads for all workers, and is at most so many samples ahead of
                         what they have finished; 0: they read by themselves */
    int lock_sleeps;  /* who holds the lock is blocked meanwhile */
    int on_demand;    /* nothing is made ahead: a batch is begun when the trainer wants it */
    int per_worker;   /* a batch is given to a worker, in turn, or where batches have no order to the one that
                         has had fewer than prefetch for longest; workers x prefetch are given and not yet taken
                         by the trainer. Not with stream_items */
    int drains;       /* no batch of an epoch is begun before the trainer is done with the epoch before, and
                         epoch_gap_ns later; needs epoch_samples */
    double epoch_gap_ns;
    uint64_t batch_size;
    uint64_t epoch_samples; /* the last batch of an epoch holds what is left of them; 0: there is no end */
    double restart_ns;      /* before a worker's first sample of an epoch, but the first */
    double cpus;            /* that we may use, > 0; fractions are fine */
    double machine_cpus;    /* that we and others share, >= cpus */
    double others; /* other processes' threads that want the machine's CPUs all the time, on average; >= 0 */
    double groups; /* groups of other processes that want them all the time; >= 0 */
    double left;   /* CPUs that others leave in any case, since they want no more than the rest; 0: they want
                      all the time */
    double step_ns, step_cpu_ns; /* trainer: blocked (GPU) part and CPU part of a step */
    double step_threads;         /* that help with the CPU part of a step (OpenMP), and wait for each other */
    double step_rate, step_drag; /* of a CPU, what each of them had where step_cpu_ns was recorded; with r of
                                    one the CPU part takes (step_rate / r) ^ step_drag times that, at least
                                    once: who waits for the others spins */
    int sync; /* after every step the trainer waits for the copy that is on the link then, and sync_ns more */
    double sync_ns;
    const float *others_ns; /* borrowed; per step, over and over: what it takes the other ranks, from meeting
                               to meeting; the trainer goes on with the last */
    size_t n_others;        /* 0: there are none */
    double others_factor;   /* times that */
    double copy_ns, copy_cpu_ns; /* copy lane, per batch: link time, and before it CPU time (bounce copies) */
    double decoder_per_s;        /* samples/s of the device's decoder, one batch at a time; INFINITY: it takes
                                    no time; 0: there is none, and no sample is on_device */
    double decoder_floor_ns;     /* of a batch there, if it has any sample for it */
    double trainer_wake_ns, copy_wake_ns; /* from what they waited for to having a CPU */
    double copy_link_wake_ns;             /* likewise, from the end of the copy on the link */
    double collate_cpu_ns;                /* per batch, on the worker that finishes it */
    double storage_bytes_per_s;           /* shared by all workers; 0: no limit */
    double storage_reads_per_s;           /* likewise, independent of their size */
    double storage_burst_ns; /* what was not asked of either for so long is made up for at once: a limit that
                                is granted in slices; 0: a line, of which each waits for the one before */
    const double *slow_ns; /* borrowed: what the first n_slow workers wait longer for each sample that storage
                              is asked for */
    size_t n_slow;
    const struct pp_outage *outages; /* borrowed; in order, apart from each other, all of them over before
                                        outage_period_ns, after which they come again */
    size_t n_outages;
    double outage_period_ns;
};

/* The last may be short. */
static inline uint64_t pp_replay_epoch_batches(const struct pp_replay_setup *s)
{
    return s->epoch_samples / s->batch_size + (s->epoch_samples % s->batch_size > 0);
}

struct pp_replay_result {
    double samples_per_s;   /* over the second half, when queues have settled */
    double data_wait_share; /* of the trainer's time */
    double cpu_share;       /* of capacity x time */
    double slot_wait_share; /* of worker time: prefetch full */
    double service_rate;    /* of all threads: cpu / (cpu + run-queue delay) */
    double reads_waiting;   /* for storage's answer at a time, on average, without those on the link */
    double settled_per_s;   /* samples/s over the second halves of epochs; 0: they do not drain */
    double first_wait_ns;   /* of an epoch but the first, for its first batch, on average; likewise */
    uint64_t batches;
};

/* Replays `samples` in order, from the start again when batches ask for more. n >= 1, batches >= 4.
 * PP_E_USAGE for a set-up that makes no sense, PP_E_NO_MEMORY. Cost: at most six events a sample, each O(log
 * workers). */
pp_status pp_replay(const struct pp_replay_setup *setup, const struct pp_replay_sample *samples, size_t n,
                    uint64_t batches, struct pp_replay_result *out, struct pp_err *err);
