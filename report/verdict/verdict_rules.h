/* report/verdict/verdict_rules.h: the rules of the verdict as tables: what is measured, which thresholds it
 * meets, where each threshold comes from, what is said and what is advised. verdict.c applies them and adds
 * none of its own.
 *
 * Sentences hold {name} where a metric's value goes ({owner}: the name of the owning phase). */
#ifndef PP_REPORT_VERDICT_VERDICT_RULES_H
#define PP_REPORT_VERDICT_VERDICT_RULES_H

#include <pipeprobe/phase.h>

#include <stddef.h>

enum pp_unit { PP_UNIT_SHARE, PP_UNIT_COUNT, PP_UNIT_NUMBER, PP_UNIT_RATE, PP_UNIT_TIME };

/* X(symbol, name in sentences, name in the evidence table, unit) */
/* clang-format off */
#define PP_METRIC_MAP(X)                                                     \
    X(DATA_WAIT, "data_wait", "exposed wait", SHARE)                         \
    X(OWNER_SHARE, "owner_share", "owner's part of the stalls", SHARE)       \
    X(OWNER_CPU, "cpu", "owner: on the CPU", SHARE)                          \
    X(OWNER_DELAY, "run_queue", "owner: waiting for a CPU", SHARE)           \
    X(OWNER_BLOCKED, "blocked", "owner: blocked", SHARE)                     \
    X(SATURATION, "saturation", "CPU used of usable", SHARE)                 \
    X(WORKER_IDLE, "worker_idle", "workers idle in stalls", SHARE)           \
    X(COPY_BUSY, "copy_busy", "copy lane busy in stalls", SHARE)             \
    X(BOUNDARY, "boundary", "epoch boundaries, checkpoints", SHARE)          \
    X(LOSS, "loss", "spans lost", SHARE)                                     \
    X(BATCHES, "batches", "steady-state batches", COUNT)                     \
    X(WINDOW, "window", "steady-state time", TIME)                           \
    X(WORKERS, "workers", "workers", COUNT)                                  \
    X(CPUS, "cpus", "usable CPUs", NUMBER)                                   \
    X(PAGEABLE, "pageable", "pageable batch memory", NUMBER)                 \
    X(RATE, "rate", "throughput (samples/s)", RATE)                          \
    X(BATCH_TIME, "batch_time", "time per batch", TIME)                      \
    X(BATCH_SIZE, "batch_size", "samples per batch", COUNT)                  \
    X(WORKERS_PER_CPU, "workers_per_cpu", "workers per usable CPU", NUMBER)    \
    X(WAIT_ITSELF, "wait_itself", "of it: waiting for data", SHARE)          \
    X(STRETCH, "stretch", "step stretched for want of CPU", SHARE)           \
    X(OWN_CROWD, "own_crowd", "this run's part of who wants a CPU", SHARE)   \
    X(EPOCH, "epoch", "epoch boundaries", SHARE)                             \
    X(STARTUP, "startup", "time to the first batch", SHARE)                  \
    X(COLLECTIVE, "collective", "of it: waiting for other ranks", SHARE)     \
    X(LAST_RANK, "last_rank", "the rank that came last", COUNT)              \
    X(LAST_SHARE, "last_share", "steps to which it came last", SHARE)        \
    X(LAW_UTILISATION, "law_utilisation", "utilisation law, off by", SHARE) \
    X(LAW_SERVICE, "law_service", "service-rate law, off by", SHARE)         \
    X(LAW_LITTLE, "law_little", "Little's law, off by", SHARE)               \
    X(BOUND, "bound", "service-rate bound reached", SHARE)                \
    X(W_STORAGE, "w_storage", "replay: weight of storage", SHARE)            \
    X(W_ERRORS, "w_errors", "replay: weight of retries", SHARE)              \
    X(W_LOCK, "w_lock", "replay: weight of a lock", SHARE)                   \
    X(W_WORK, "w_work", "replay: weight of CPU work", SHARE)                 \
    X(W_COPY, "w_copy", "replay: weight of copies", SHARE)                   \
    X(W_SYNC, "w_sync", "replay: weight of device sync", SHARE)              \
    X(W_COLLECTIVE, "w_collective", "replay: weight of other ranks", SHARE)  \
    X(G_WORKERS, "g_workers", "replay: gain of more workers", SHARE)         \
    X(G_FEWER, "g_fewer", "replay: gain of fewer workers", SHARE)            \
    X(G_PREFETCH, "g_prefetch", "replay: gain of prefetch", SHARE)           \
    X(G_BUFFERS, "g_buffers", "replay: gain of copy buffers", SHARE)         \
    X(G_CPUS, "g_cpus", "replay: gain of all usable CPUs", SHARE)            \
    X(CPUS_LEAD, "cpus_lead", "replay: all CPUs over 1/4 less work", SHARE) \
    X(G_CPUS_WORKERS, "g_cpus_workers", "replay: all CPUs, a worker for each", SHARE) \
    X(G_WORK, "g_work", "replay: gain of half the work", SHARE)              \
    X(PREFETCH_PART, "prefetch_part", "replay: prefetch, of free storage's gain", SHARE) \
    X(READ_TAIL, "read_tail", "blocked in reads, p99 / p50", NUMBER)         \
    X(READ_BURST, "read_burst", "slow reads that come together", SHARE)      \
    X(SHARD_SKEW, "shard_skew", "slowest part of the data / median", NUMBER) \
    X(WORK_TAIL, "work_tail", "CPU time of samples, p99 / p50", NUMBER)      \
    X(WORKER_SKEW, "worker_skew", "slowest worker / median", NUMBER)         \
    X(READ_SERIAL, "read_serial", "gaps between reads follow bytes", NUMBER) \
    X(READ_BYTES, "read_bytes", "bytes per read", COUNT)                     \
    X(MISS, "miss", "reads not from the page cache", SHARE)                  \
    X(FREE_MEMORY, "free_memory", "memory left if all were cached", SHARE)   \
    X(FIRST_TOUCH, "first_touch", "samples read for the first time", SHARE)  \
    X(DRIFT, "drift", "median read after / before a change", NUMBER)         \
    X(TRANSFORM_PART, "transform_part", "transform of the CPU work", SHARE)  \
    X(COLLATE_PART, "collate_part", "collate of the CPU work", SHARE)        \
    X(COPY_CPU, "copy_cpu", "copies: on the CPU", SHARE)                     \
    X(CONTENDED, "contended", "CPUs that others used", SHARE)                \
    X(THROTTLED, "throttled", "throttled by a CPU quota", SHARE)             \
    X(MAJOR_FAULTS, "major_faults", "major page faults per sample", NUMBER)  \
    X(GPU_TOLD, "gpu_told", "GPU activity measured (CUPTI)", NUMBER)         \
    X(GPU_COPY, "gpu_copy", "GPU idle: copy not overlapped", SHARE)          \
    X(GPU_HOST, "gpu_host", "GPU idle: sync and launch gap", SHARE)          \
    X(GPU_PAGEABLE, "gpu_pageable", "copied from pageable memory", SHARE)    \
    X(GPU_OVERLAP, "gpu_overlap", "gain of overlapping all copies", SHARE)   \
    X(GPU_SYNCS, "gpu_syncs", "synchronising calls per step", NUMBER)        \
    X(GPU_OVERHEAD, "gpu_overhead", "steps beyond their kernels", SHARE)
/* clang-format on */

enum pp_metric {
#define PP_METRIC_ENUM(sym, name, text, unit) PP_METRIC_##sym,
    PP_METRIC_MAP(PP_METRIC_ENUM)
#undef PP_METRIC_ENUM
        PP_METRIC_COUNT
};

struct pp_metric_info {
    const char *name, *text;
    enum pp_unit unit;
};
extern const struct pp_metric_info pp_metric_infos[PP_METRIC_COUNT];

/* Highest first; the last row takes everything. */
struct pp_level_rule {
    double at_least; /* of DATA_WAIT */
    const char *l0, *level, *words, *sentence,
        *threshold; /* words: the level in a sentence; threshold: as shown beside the value */
    const char *held,
        *held_words; /* where a part of it is waiting for other ranks, and those are not this one's input */
    const char *stretched; /* the sentence where a part of it is the trainer's own step, stretched for want of
                              a CPU */
};
extern const struct pp_level_rule pp_level_rules[];
extern const size_t pp_level_rules_n;
extern const struct pp_level_rule *const pp_level_moderate; /* the least that is input-bound */

/* Any that holds makes the verdict inconclusive. An unknown metric counts as too little, but for a law that
 * could not be checked. */
struct pp_guard_rule {
    enum pp_metric metric;
    int at_least; /* 1: at least limit is needed; 0: at most */
    int if_known; /* 1: says nothing when the metric is unknown */
    double limit;
    const char *source, *reason, *remedy;
};
extern const struct pp_guard_rule pp_guard_rules[];
extern const size_t pp_guard_rules_n;

/* A condition holds, does not hold, or is unknown because its metric is. */
enum pp_condition_id {
    PP_IF_END,
    PP_IF_BLOCKED,
    PP_IF_SATURATED,
    PP_IF_DELAYED,
    PP_IF_CROWDED,
    PP_IF_PAGEABLE,
    PP_IF_ENOUGH_WORKERS,
    PP_IF_STORAGE,
    PP_IF_ERRORS,
    PP_IF_LOCK,
    PP_IF_WORK,
    PP_IF_COPY,
    PP_IF_SYNC,
    PP_IF_COLLECTIVE,
    PP_IF_ONE_LAST,
    PP_IF_HELD,
    PP_IF_WORKERS_HELP,
    PP_IF_FEWER_HELP,
    PP_IF_PREFETCH_BRIDGES,
    PP_IF_BUFFERS_HELP,
    PP_IF_CPUS_HELP,
    PP_IF_CPUS_LEAD,
    PP_IF_CPUS_WORKERS_HELP,
    PP_IF_WORK_HELPS,
    PP_IF_READ_TAIL,
    PP_IF_READ_BURST,
    PP_IF_SHARD,
    PP_IF_WORK_TAIL,
    PP_IF_WORKER_SKEW,
    PP_IF_SERIAL,
    PP_IF_LARGER,
    PP_IF_MISS,
    PP_IF_FITS,
    PP_IF_FIRST_TOUCH,
    PP_IF_DRIFT,
    PP_IF_TRANSFORM,
    PP_IF_COLLATE,
    PP_IF_COPY_CPU,
    PP_IF_CONTENDED,
    PP_IF_THROTTLED,
    PP_IF_FAULTS,
    PP_IF_STRETCHED,
    PP_IF_OWN_CROWD,
    PP_IF_MANY_WORKERS,
    PP_IF_EPOCHS,
    PP_IF_STARTUP,
    PP_IF_GPU_TOLD,
    PP_IF_GPU_COPY,
    PP_IF_GPU_HOST,
    PP_IF_GPU_PAGEABLE,
    PP_IF_GPU_OVERLAP,
    PP_IF_GPU_SYNCS,
    PP_IF_GPU_OVERHEAD,
    PP_CONDITIONS
};
struct pp_condition {
    enum pp_metric metric;
    double at_least;
    const char *source;
};
extern const struct pp_condition pp_conditions[PP_CONDITIONS];

/* In this order; the first whose owner and conditions match is the cause. Those that need a replay come
 * first; without one (a streamed run, too few samples, no CPU accounting) their metrics are unknown, they
 * abstain, and the shares of the stalls decide below them. */
#define PP_ANY_OWNER 0xffffffffu
struct pp_cause_rule {
    const char *l1, *l2; /* l2 may be NULL */
    unsigned owners;     /* bit per pp_phase; PP_PHASE_NONE is the hand-off */
    struct {
        enum pp_condition_id id;
        int holds;
    } when[4]; /* up to PP_IF_END */
    enum pp_condition_id
        relief; /* of a want of CPU: that its remedy gains, by the replay. A step that is stretched where the
                 * trainer hardly waits for data may be charged to these causes alone, and only if that holds.
                 * PP_IF_END: the cause is no want of CPU */
    const char *sentence, *remedy;
};
extern const struct pp_cause_rule pp_cause_rules[];
extern const size_t pp_cause_rules_n;

/* Outside the steady state, and asked only when the trainer does not wait in it. */
extern const struct pp_cause_rule pp_outside_rules[];
extern const size_t pp_outside_rules_n;

#endif
