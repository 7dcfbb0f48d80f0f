/* report/replay/costs.h: what one sample, batch and step cost in a recording, apart from what the recorded
 * set-up made of it: CPU time, time blocked for storage, and never the run-queue delay, which belongs to how
 * many threads shared the CPUs. What the replay (replay.h) is fed with.
 *
 * wall = cpu + run-queue delay + blocked. The delay of work is dropped. That of threads which wake up (after
 * reads, copies, waits) is kept apart: it is not storage, and it comes once per sleep, not per CPU time. */
#pragma once

#include "report/replay/replay.h"
#include "report/source/source.h"
#include "report/measure/ops.h"
#include "report/measure/stalls.h"

struct pp_cost_sample {
    uint64_t sample, read_start_ns,
        read_end_ns; /* the end without the run-queue delay: when storage answered */
    float read_blocked, read_cpu, retry_blocked; /* ns */
    float read_wake; /* ns from storage's answer to having a CPU again, where it slept; the run-queue delay of
                        a read that did not is in delay_ns below */
    float decode_cpu, decode_blocked, transform_cpu, transform_blocked;
    uint32_t bytes, batch, worker; /* worker: thread id */
    float first_byte, transfer, setup,
        refused; /* ns of its requests (requests.h): to the first byte, of the
                    bytes, and of new connections; all of those that were refused */
    float asked; /* bytes that its requests brought */
    uint16_t epoch, place;
    uint8_t requests, slow_host; /* how many it had; 1: the slow host (struct pp_requests) answered */
    uint8_t hit, hit_known; /* most of its bytes came from the page cache; known where file systems tell */
    uint8_t reached;        /* pp_phase: the last stage that it came through; 0: that one failed */
};

/* What the reads have in common (storage.h). */
struct pp_storage {
    int known;
    double tail,
        burst;     /* p99 / p50 of time blocked; part of the slow reads at the same time on most workers */
    double serial; /* 0..1: how exactly the times of reads follow bytes on one link (link.h) */
    double shard_skew; /* slowest of 16 parts of the data over the median one, by the median time blocked;
                          NAN: not seen all over, or no more than chance */
    double drift;      /* median time blocked after the sharpest change over before it */
    double drift_at;   /* where, as a part of the window */
    double parallel;   /* reads that waited for storage at a time, at the busiest twentieth of them; NAN: too
                          few waited */
};

/* The rate of a replay as recorded: every prediction is held against the same few (whatif.c). It counts while
 * what the costs say of samples, capacity and storage is the same. */
struct pp_base_rate {
    double of[12];
    double samples_per_s,
        first_wait_ns; /* as the replay of these has it; samples_per_s 0: not replayed yet */
};
/* Requests to remote storages in the steady state (requests.h). */
enum { PP_REQUESTS_HOST = 64, PP_REQUESTS_PREFIX = 200 };
struct pp_requests {
    double n, refused; /* n 0: none is recorded; refused: 429 and 503 */
    double connections, bytes, hedges;
    double empty; /* answers without an object: to HEAD, or none was there */
    double busy_ns, resolve_ns, connect_ns, first_byte_ns, transfer_ns; /* sums; connect: TCP and TLS */
    double
        connect_cpu_ns,  /* CPU time that opening a connection takes a request, TLS above all; 0: not known */
        connect_more_ns; /* by how much an answer on a new connection is later and slower than on one that was
                            kept, beside the opening; 0: not known, or not at all */
    double joined;       /* part of the samples that had any */
    float *first_byte;   /* ns, of those that were answered, ascending */
    size_t answers;
    double slow_host, slow_host_part;   /* median answer of the slowest host over that of the others, and its
                                           part of the answers; NAN: there is one host */
    double hot_prefix, hot_prefix_part; /* part of the refusals that one prefix got, and of the answers; NAN:
                                           no refusals, or one prefix */
    char host[PP_REQUESTS_HOST], prefix[PP_REQUESTS_PREFIX]; /* of these two */
    double shards;   /* that a stream opened; 0: none, or no stream (requests.c) */
    double openings; /* requests that this took, which bring none of its samples */
    double link;     /* bytes/s that all connections share (link.c); 0: none that shows */
    int modelled;    /* no requests: a storage model let their time pass */
};

enum { PP_BASE_RATES = 12, PP_SLOW_MOST = 16, PP_COSTS_GPU = 64 };

struct pp_costs {
    struct pp_cost_sample *samples; /* of the steady state, in the order they were claimed */
    size_t n, room;
    double batch_size;
    double made_per_batch; /* of a recording that does not count its batches' samples: what its workers made
                              at a time, a batch; 0: it counts them */
    int whole_batches;     /* the data set makes a batch in one call */
    double collate_cpu_ns, collate_blocked_ns; /* per batch */
    double copy_cpu_ns, copy_blocked_ns;       /* per batch */
    double copy_bytes;                         /* per batch; 0: not known */
    double gpu_decode_ns;                      /* per batch: the copy lane waits for the device's decoder */
    double step_cpu_ns, step_blocked_ns,
        step_stretch_ns; /* per batch; stretch: its run-queue delay, and what a quota took from it */
    double step_threads, step_rate, step_drag; /* as pp_replay_setup has them; 0: none help */
    double fetch_cpu_ns, fetch_blocked_ns; /* per batch: of the trainer's data waits, what taking a batch that
                                              is there costs: CPU time (unpickling, mapping of shared memory),
                                              and waiting for a worker, which was idle, to hand it over */
    double draw_ns;                        /* per batch: of the trainer's data waits, its sampler drew */
    struct pp_cold {
        double ns, most_ns;
    } cold_step, cold_work; /* per batch: CPU time that steps and the making of a batch owe to hand-overs, and
                               the most that it may be (pp_costs_cold) */
    double unpickle_ns;     /* per batch: of its arrival, until it was objects again; NAN: not recorded */
    double unpickle_cpu_ns; /* of it: the trainer's CPU time; NAN: likewise */
    double helper_cpu_ns;  /* of the workers' other threads and children, of all samples; NAN: not recorded */
    double worker_threads; /* of a worker's process, where they compute; NAN: likewise */
    double batch_tensors;  /* that were unpickled for it; NAN: not recorded */
    double trainer_rest_ns; /* per batch: of the trainer's time what is neither a step nor exposed (loop,
                               epoch boundaries, checkpoints, long pauses), so that step and rest are the pace
                               of the report's "if data were always available" */
    double sync_ns;         /* per batch, beyond the copy that was on the link when it began */
    double apart_ns; /* per batch: checkpoints and the rare long pauses of steps, as far as they last longer
                        than it takes to fill what is prefetched. No change makes them shorter, and neither
                        the steps nor the replay have them */
    double gpu_busy_ns; /* per batch: a kernel ran; 0: not recorded. Who launches ahead, as PyTorch does, is
                           done with a step before the GPU is */
    /* Per batch, of copies from pageable memory to the GPU: the trainer's thread was in calls that make them,
     * and the copies themselves; 0: not recorded. Such a call first waits for what its stream has to do
     * (CUDA's runtime, "API synchronization behavior"). */
    double pageable_call_ns, pageable_copy_ns;
    const char *no_pinning; /* why nothing is known of page-locked batches; NULL: something is */
    int waits_for_copies;   /* the trainer waits for its stream besides (batch.to() without non_blocking) */
    float *others_ns; /* per step, in their order: what it took the run's other ranks, between meetings */
    size_t n_others;  /* 0: there was no collective step */
    double cpu_ns, delay_ns; /* of the workers' work, of copies, and of steps that need a CPU; in all */
    double wanting_cpus;     /* threads of the workers that run or wait for a CPU, on average */
    /* From being woken to having a CPU: per batch, of threads that mostly sleep (in copies, in steps) and of
     * the trainer in syncs; per wait, of the trainer and the copy lane where they wait for something. */
    double copy_wake_ns, step_wake_ns, sync_wake_ns, trainer_wait_wake_ns, copy_wait_wake_ns;
    double runnable; /* threads of ours that have a CPU or wait for one, on average */
    double work_wall_ns, work_blocked_ns, work_unread_ns; /* decode and transform; without CPU time */
    double decode_busy_ns;                                /* decode without its blocked time, in all */
    double samples_per_s;                                 /* measured */
    /* Of a job with several DataLoaders all of this is of the one that is judged, in the time that it took.
       The others took a part of the window (0: there are none), and were waited for in a part of that; the
       whole made so many samples/s. */
    double others_part, others_wait_share, whole_per_s;
    double data_wait_share; /* as the report shows it; 0: not known, of several loaders, or with waits for the
                               device */
    double rate_se;         /* its relative standard error: of the rates of ten equal parts of the window */
    double window_ns;
    double usable_cpus;     /* as the environment says: with the quota; NAN: unknown */
    double machine_cpus;    /* without it */
    double online_cpus;     /* that we and others share */
    double outside_cpus;    /* what others used meanwhile; NAN: not counted */
    double subprocess_cpus; /* of that, what subprocesses of a recorded program used; NAN: not counted */
    double outside_before;  /* likewise before they took more, for good: then all costs are of the time after
                               that; NAN: they did not */
    double outside_rose_at; /* when, as a part of the window */
    double process_cpus;    /* what this process used; NAN: not counted */
    double helper_cpus;     /* of that, threads that have no lane: of OpenMP, of libraries; 0: not counted */
    double throttled_share; /* of the window's wall time; NAN: no counter */
    double disk_bytes_per_s, disk_reads_per_s; /* our control group's of the data's disk; NAN: not counted */
    double limit_bytes_per_s, limit_reads_per_s; /* that it may get; NAN: no limit is known */
    double refault_bytes_per_s; /* of files, that had been in the page cache of our control group before and
                                   were dropped; NAN: not counted */
    double memory_limit;        /* of the control group, in bytes; NAN: none */
    double memory_total;        /* of the machine, in bytes; NAN: unknown */
    double major_faults_per_s;  /* page faults of this process that waited for storage; NAN: not counted */
    double cpus;                /* that we may use: set by pp_whatif_calibrate, as what follows */
    double others, groups; /* what competes for the CPUs, as threads or as groups of threads (replay.h): one
                              of them is 0 */
    struct pp_range {
        double low, high;
    } others_range, groups_range; /* what either may be, if it is the one */
    double wanted_by_others;      /* CPUs: what they took, where the machine had idle time besides; INFINITY:
                                     as many as they get */
    double others_as_threads;     /* what others would be if they were threads, also where groups are what is
                                     replayed */
    double wake_part;             /* of the time that waking takes, the others' part: m / (m + runnable) */
    int fair_to_groups;           /* how the machine's scheduler shares, as far as its configuration says */
    int workers, prefetch, copy_buffers, in_order, pageable, sync_every_step;
    int in_trainer; /* num_workers=0: the training thread is the one worker, and makes a batch when it wants
                       one */
    int rests;      /* workers of the job's own have as long nothing to do as it trains, or longer */
    int on_demand;  /* and that is because a batch is asked of them when the trainer wants it, and no earlier
                     */
    int inflight;   /* reads of a worker at a time; 0: not known, or a loader that has no such thing */
    struct pp_requests requests;
    int has_resources, streaming, locked; /* streaming: one thread reads for all workers (stream_reads.c);
                                             locked: the workers' decoding excludes each other, or all of
                                             their work: threads_locked, by the interpreter's lock */
    int threads_locked;
    double lock_wait; /* or by a lock of the job's own: of the workers' time their wait for it, as stacks
                         show; 0: none is seen */
    double lock_held; /* then of the rest of their time, what one worker does at a time: set by
                         pp_whatif_calibrate */
    int lock_sleeps;  /* most of that is no CPU time */
    double bandwidth; /* bytes/s that all reads share, where the recording shows such a limit (storage.h); 0:
                         it shows none */
    double reads_per_s;        /* likewise, reads of whatever size; at most one of the two is set */
    double burst_ns;           /* of either: that long it makes up for what was not asked of it (replay.h) */
    struct pp_base_rate *base; /* PP_BASE_RATES of them; NULL: each is replayed again */
    int glance;                /* the source's: intervals are not asked for */
    struct pp_outage *outages; /* times from window_start_ns on in which no read completes, taken out of the
                                  samples' read_blocked (storage.h) */
    size_t n_outages;
    uint64_t window_start_ns;
    struct pp_storage storage;
    struct pp_slow_worker {
        uint32_t worker;  /* thread id */
        double more_ns;   /* blocked for every sample, beyond what the others are */
    } slow[PP_SLOW_MOST]; /* the slowest first (storage.h) */
    size_t n_slow;
    struct {
        double n, baseline; /* that were decoded, and of them baseline JPEG */
    } images;               /* n 0: not counted */
    double image_pixels;    /* of an image, on average; 0: not known */
    char gpu[PP_COSTS_GPU]; /* name of the device; "": none is known */
    double piece_bytes;     /* that a stream asks for at a time; 0: not known */
    double stream_shards;   /* of this rank, in an epoch; 0: not known */
    uint64_t dataset_samples;
    uint64_t epoch_samples; /* that an epoch hands out; 0: not known, or not seen in its batches */
    double restart_ns;      /* what a worker takes before its first sample of an epoch, but the first */
    int per_worker;         /* batches are made as PyTorch's DataLoader makes them (replay.h) */
    int drains; /* and so do its epochs begin, of which the recording has some (epoch_samples is known) */
    double epoch_wait_ns, epoch_gap_ns; /* then: the wait for an epoch's first batch, and what the trainer did
                                           before that since the last batch of the epoch before */
    double epoch_starts_missing; /* part of those that its batches need, that the window does not have */
    double epoch_workers_ns;     /* of epoch_gap_ns: ending workers and starting new ones */
    double epoch_sampler_ns;     /* of epoch_gap_ns: the sampler drew */
    int may_persist; /* and they do so because the loader, which lives on, has no persistent_workers */
    int divides;     /* the data set says itself which samples a worker has: an IterableDataset */
    double memory_available; /* bytes; NAN: unknown */
    struct pp_ops ops;       /* none at a glance */
};

/* How long a worker has it, but for waits for a CPU. */
/* Its samples wait for a lock that workers share. */
int pp_costs_is_lock(const struct pp_op *op);

static inline float pp_cost_occupancy(const struct pp_cost_sample *x)
{
    return x->read_blocked + x->read_cpu + x->retry_blocked + x->decode_cpu + x->decode_blocked +
           x->transform_cpu + x->transform_blocked;
}

/* Of the CPU time that neither lanes nor the machine's idle time account for, the job's own part. */
static inline double pp_costs_helpers_part(const struct pp_costs *c)
{
    return c->helper_cpus > 0 && c->outside_cpus >= 0 ? c->helper_cpus / (c->helper_cpus + c->outside_cpus)
                                                      : 0;
}

/* PP_E_INCONCLUSIVE, with the reason, when the recording cannot tell: no step or no steady state is fine, but
 * no worker spans or no CPU accounting is not. Memory: 104 bytes a sample, of at most a million samples; of a
 * streamed run 56 more while it is read. Free with pp_costs_free, also after a failure. */
pp_status pp_costs_read(const struct pp_source *source, const struct pp_timeline *timeline,
                        struct pp_costs *out, struct pp_err *err);

/* The same for who walks over the spans anyway: begin, every chunk, end. begin returns NULL without memory;
 * end accepts NULL, frees the pass and says what pp_costs_read does. */
struct pp_costs_pass;
struct pp_costs_pass *pp_costs_begin(const struct pp_source *source, const struct pp_timeline *timeline,
                                     struct pp_costs *out);
/* As each_chunk of a source has it; pass: what begin returned. Non-zero: no memory. */
int pp_costs_chunk(void *pass, uint32_t thread, const struct pp_span *spans, size_t n);
pp_status pp_costs_end(struct pp_costs_pass *p, const struct pp_source *source, struct pp_err *err);
void pp_costs_free(struct pp_costs *c);
