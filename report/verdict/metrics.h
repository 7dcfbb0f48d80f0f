/* report/verdict/metrics.h: the facts of the verdict's rules (verdict_rules.h). A metric is one row here: its
 * symbol, its name in sentences, its name in the evidence table, its unit, and the part of the report that
 * measures it. Signals and facts write the values by symbol; adding a metric is a row here and one assignment
 * there. */
#pragma once

#include "report/rules/rules.h"

/* Which part of the report measures a metric (report/build/facts.c). No other part writes it, but for
 * DATA_WAIT, W_COPY and W_SYNC, where facts.c says so. */
enum pp_metric_from {
    PP_FROM_RUN,      /* totals, configuration and environment of the run */
    PP_FROM_WAIT,     /* the trainer's timeline */
    PP_FROM_OWNER,    /* attribution: the phase that owns the stalls, and its threads meanwhile */
    PP_FROM_LAWS,     /* operational laws */
    PP_FROM_RANKS,    /* the collective steps of a run of many ranks */
    PP_FROM_COSTS,    /* costs of samples and steps, without a replay */
    PP_FROM_COUNTERS, /* counters and costs, without a replay: they hold where that misses it (signals.h) */
    PP_FROM_REPLAY,   /* signals of the costs, and replays of them (signals.h) */
    PP_FROM_THREADS,  /* looks at the job's native threads in the stalls (measure/stalls.h) */
    PP_FROM_GPU,      /* the GPU's own records (CUPTI) */
};

/* X(symbol, name in sentences, name in the evidence table, unit, from, what else the row of a fact has) */
/* clang-format off */
#define PP_METRIC_MAP(X) \
    X(DATA_WAIT, "data_wait", "stall", SHARE, WAIT) \
    X(OWNER, "owner", "owner of the stalls", NONE, OWNER, .words = pp_phase_words) \
    X(OWNER_SHARE, "owner_share", "largest part of the stall", SHARE, OWNER) \
    X(OWNER_CPU, "cpu", "the slow phase: computing", SHARE, OWNER) \
    X(OWNER_DELAY, "run_queue", "the slow phase: waiting for a CPU", SHARE, OWNER) \
    X(OWNER_BLOCKED, "blocked", "the slow phase: blocked", SHARE, OWNER) \
    X(SATURATION, "saturation", "used share of usable CPUs", SHARE, RUN) \
    X(WORKER_IDLE, "worker_idle", "workers idle in stalls", SHARE, OWNER) \
    X(UNNAMED, "unnamed", "worker time without a range", SHARE, OWNER) \
    X(BLOCKED_ELSEWHERE, "blocked_elsewhere", "stall blocked in no read", SHARE, OWNER, .explains = PP_EXPLAINS_ITSELF) \
    X(COPY_BUSY, "copy_busy", "copy lane busy in stalls", SHARE, OWNER) \
    X(PIN_BUSY, "pin_busy", "pinning thread busy in stalls", SHARE, OWNER) \
    X(DECODE_BUSY, "decode_busy", "copy lane waits for GPU decode", SHARE, OWNER) \
    X(BOUNDARY, "boundary", "epoch boundaries, checkpoints", SHARE, RUN) \
    X(BETWEEN, "between", "between epochs", SHARE, RUN) \
    X(BETWEEN_PART, "between_part", "of epoch boundaries: no loader is at work", SHARE, RUN) \
    X(BETWEEN_TIME, "between_time", "time between two epochs", NS, RUN) \
    X(BETWEEN_CODE, "between_code", "what runs between epochs", NONE, RUN) \
    X(BETWEEN_MADE, "between_made", "a data set or loader is made between epochs", FACTOR, RUN) \
    X(LOSS, "loss", "spans lost", SHARE, RUN) \
    X(BATCHES, "batches", "steady-state batches", COUNT, RUN) \
    X(WINDOW, "window", "steady-state time", NS, RUN) \
    X(WORKERS, "workers", "workers", COUNT, RUN) \
    X(CPUS, "cpus", "usable CPUs", FACTOR, RUN) \
    X(BOUND_ONES, "bound_processes", "what is bound to fewer CPUs", NONE, RUN) \
    X(BOUND_CPUS, "bound_cpus", "CPUs that they are bound to", COUNT, RUN) \
    X(OFFERED_CPUS, "offered_cpus", "CPUs that there were for them", COUNT, RUN) \
    X(PAGEABLE, "pageable", "pageable batch memory", FACTOR, RUN) \
    X(RATE, "rate", "throughput (samples/s)", RATE, RUN) \
    X(BATCH_TIME, "batch_time", "time per batch", NS, RUN) \
    X(BATCH_SIZE, "batch_size", "samples per batch", COUNT, RUN) \
    X(NUM_WORKERS, "num_workers", "num_workers", COUNT, RUN) \
    X(WORKERS_PER_CPU, "workers_per_cpu", "workers per usable CPU", FACTOR, RUN) \
    X(WAIT_ITSELF, "wait_itself", "of it: waiting for data", SHARE, WAIT) \
    X(STRETCH, "stretch", "the training step waits for a CPU", SHARE, COSTS) \
    X(HANDOVER, "handover", "of it: taking batches over", SHARE, COSTS, .explains = PP_EXPLAINS_ITSELF) \
    X(HANDOVER_TIME, "handover_time", "time to take a batch over", NS, COSTS) \
    X(HANDOVER_BYTES, "handover_bytes", "of that time, its bytes at 1 GiB a second", SHARE, COSTS) \
    X(UNPICKLE, "unpickle", "of it: CPU time of unpickling", SHARE, COSTS) \
    X(TENSORS, "tensors", "tensors of a batch", COUNT, COSTS) \
    X(OWN_CROWD, "own_crowd", "own share of runnable threads", SHARE, COSTS) \
    X(EPOCH, "epoch", "epoch boundaries", SHARE, RUN) \
    X(SAMPLE_CODE, "sample_code", "what makes a sample", NONE, RUN) \
    X(SAMPLE_COST, "sample_cost", "time to make a sample", NS, RUN) \
    X(ONE_BY_ONE, "one_by_one", "samples are fetched one by one", FACTOR, RUN) \
    X(TRANSFORMS, "transforms", "transforms that the data set holds", NONE, RUN) \
    X(HELD, "held", "what the data set holds", NONE, RUN) \
    X(HELD_ADVICE, "held_advice", "what its library does once, or by the batch", NONE, RUN) \
    X(ITERATOR_OF, "iterator_of", "batches of an iterator that gives one", COUNT, RUN) \
    X(STREAM_WORKERS, "stream_workers", "workers of a stream", COUNT, RUN) \
    X(STREAM_IDLE, "stream_idle", "of them: without a sample", COUNT, RUN) \
    X(STREAM_DELIVER, "stream_deliver", "of them: with samples", COUNT, RUN) \
    X(HANDED, "handed", "handed over per batch", BYTES, RUN) \
    X(HANDED_FACTOR, "handed_factor", "handed over for each byte of tensors", FACTOR, RUN) \
    X(HANDED_BYTES, "tensor_bytes", "tensors of a batch", BYTES, RUN) \
    X(INNER, "inner", "a DataLoader that samples are taken of", NONE, RUN) \
    X(SAMPLER, "sampler", "the sampler", NONE, RUN) \
    X(CPU_USERS, "cpu_users", "whose the CPUs in use are, where others are left out", NONE, RUN) \
    X(SAMPLER_SHARE, "sampler_share", "the sampler draws in the training thread", SHARE, RUN) \
    X(SAMPLER_PART, "sampler_part", "of epoch boundaries: the sampler draws", SHARE, RUN) \
    X(PINS, "pins", "batches are pinned", FACTOR, RUN) \
    X(MADE_AGAIN, "made_again", "a DataLoader is made for each epoch", FACTOR, RUN) \
    X(KEPT_WORKERS, "kept_workers", "workers stay for all epochs", FACTOR, RUN) \
    X(IN_TRAINER, "in_trainer", "batches made by the trainer's thread", FACTOR, RUN) \
    X(CALLS, "calls", "workers' calls of files in the trace", FACTOR, RUN) \
    X(STARTUP, "startup", "time to the first batch", SHARE, RUN) \
    X(COLLECTIVE, "collective", "of it: waiting for other ranks", SHARE, WAIT) \
    X(LAST_RANK, "last_rank", "the slowest rank", COUNT, RANKS) \
    X(LAST_SHARE, "last_share", "steps in which it was last", SHARE, RANKS) \
    X(LEASE_EPOCH, "lease_epoch", "epoch boundaries: wait for leases", SHARE, RANKS) \
    X(LEASE_HOLDER, "lease_holder", "the rank that held most of what was waited for", NONE, RANKS) \
    X(LAW_UTILISATION, "law_utilisation", "utilisation law, off by", SHARE, LAWS) \
    X(LAW_SERVICE, "law_service", "service-rate law, off by", SHARE, LAWS) \
    X(LAW_LITTLE, "law_little", "Little's law, off by", SHARE, LAWS) \
    X(LAW_UTILISATION_WHERE, "law_utilisation_where", "what breaks the utilisation law", NONE, LAWS) \
    X(LAW_SERVICE_WHERE, "law_service_where", "what breaks the service-rate law", NONE, LAWS) \
    X(LAW_LITTLE_WHERE, "law_little_where", "what breaks Little's law", NONE, LAWS) \
    X(BOUND, "bound", "nearest limit reached", SHARE, LAWS) \
    X(BOUND_BY, "bound_by", "what sets that bound", NONE, LAWS) \
    X(W_STORAGE, "w_storage", "replay: weight of storage", SHARE, REPLAY, .explains = PP_EXPLAINS_ITSELF) \
    X(W_ERRORS, "w_errors", "replay: weight of retries", SHARE, REPLAY, .explains = PP_EXPLAINS_ITSELF) \
    X(W_LOCK, "w_lock", "replay: weight of a lock", SHARE, REPLAY, .explains = PP_EXPLAINS_ITSELF) \
    X(LOCK_WAIT, "lock_wait", "workers wait for a lock that they share", SHARE, REPLAY, .explains = PP_EXPLAINS_ITSELF) \
    X(W_WORK, "w_work", "replay: weight of CPU work", SHARE, REPLAY, .explains = PP_EXPLAINS_ITSELF) \
    X(W_COPY, "w_copy", "replay: weight of copies", SHARE, REPLAY, .explains = PP_EXPLAINS_ITSELF) \
    X(W_SYNC, "w_sync", "replay: weight of device sync", SHARE, REPLAY, .explains = PP_EXPLAINS_ITSELF) \
    X(W_COLLECTIVE, "w_collective", "replay: weight of other ranks", SHARE, REPLAY, .explains = PP_EXPLAINS_ITSELF) \
    X(G_WORKERS, "g_workers", "replay: gain of more workers", GAIN, REPLAY) \
    X(G_FEWER, "g_fewer", "replay: gain of fewer workers", GAIN, REPLAY, .explains = PP_EXPLAINS_BY_GAIN) \
    X(G_NO_WORKERS, "g_no_workers", "replay: gain of no workers", GAIN, REPLAY, .explains = PP_EXPLAINS_BY_GAIN) \
    X(G_PREFETCH, "g_prefetch", "replay: gain of prefetch", GAIN, REPLAY) \
    X(G_AHEAD, "g_ahead", "replay: gain of batches asked for ahead", GAIN, REPLAY, .explains = PP_EXPLAINS_BY_GAIN) \
    X(LEAD_AHEAD, "lead_ahead", "replay: asked for ahead vs. the best other", SHARE, REPLAY) \
    X(G_ORDER, "g_order", "replay: gain of order of completion", GAIN, REPLAY) \
    X(G_PINNED, "g_pinned", "replay: gain of pinned memory", GAIN, REPLAY) \
    X(G_PINNED_LEAST, "g_pinned_least", "replay: gain of that, at least", GAIN, REPLAY) \
    X(G_BUFFERS, "g_buffers", "replay: gain of copy buffers", GAIN, REPLAY) \
    X(G_CPUS, "g_cpus", "replay: gain of exclusive CPUs", GAIN, REPLAY, .explains = PP_EXPLAINS_BY_GAIN) \
    X(CPUS_LEAD, "cpus_lead", "replay: exclusive CPUs vs. 25 % less work", SHARE, REPLAY) \
    X(CPUS_LEAVE, "cpus_leave", "replay: stall left with exclusive CPUs", SHARE, REPLAY) \
    X(WORKERS_WORK, "workers_work", "replay: more workers vs. half of the work", SHARE, REPLAY) \
    X(WORKERS_LEAD, "workers_lead", "replay: more workers vs. exclusive CPUs", SHARE, REPLAY) \
    X(G_CPUS_WORKERS, "g_cpus_workers", "replay: exclusive CPUs, a worker each", GAIN, REPLAY, .explains = PP_EXPLAINS_BY_GAIN) \
    X(G_INFLIGHT, "g_inflight", "replay: gain of reads in flight", GAIN, REPLAY) \
    X(G_HEDGE, "g_hedge", "replay: gain of hedged requests", GAIN, REPLAY) \
    X(G_KEPT, "g_kept", "replay: gain of kept connections", GAIN, REPLAY) \
    X(G_ASK_ONCE, "g_ask_once", "replay: gain of one request per object", GAIN, REPLAY) \
    X(G_HOSTS, "g_hosts", "replay: gain of even hosts", GAIN, REPLAY) \
    X(G_SAMPLER, "g_sampler", "replay: gain of a cheaper sampler", GAIN, REPLAY, .explains = PP_EXPLAINS_BY_GAIN) \
    X(SAMPLER_LEAD, "sampler_lead", "replay: cheaper sampler vs. the best other", SHARE, REPLAY) \
    X(G_WORK, "g_work", "replay: gain of half the work", GAIN, REPLAY) \
    X(G_UNPICKLE, "g_unpickle", "replay: gain of one tensor per batch", GAIN, REPLAY) \
    X(LEAD_UNPICKLE, "lead_unpickle", "replay: one tensor vs. the best other change", SHARE, REPLAY) \
    X(LEAD_NO_WORKERS, "lead_no_workers", "replay: no workers vs. the best other change", SHARE, REPLAY) \
    X(LEAD_CPUS, "lead_cpus", "replay: exclusive CPUs vs. the best other change", SHARE, REPLAY) \
    X(G_INPUT, "g_input", "replay: best sure gain of a change to the input", GAIN, REPLAY) \
    X(PREFETCH_PART, "prefetch_part", "replay: prefetch share of storage gain", SHARE, REPLAY) \
    X(HELPER_PART, "helper_part", "workers' CPU time in other threads", SHARE, COUNTERS) \
    X(WORKER_THREADS, "worker_threads", "threads of a worker", COUNT, COUNTERS) \
    X(THREADS_PER_CPU, "threads_per_cpu", "threads of all workers per usable CPU", FACTOR, COUNTERS) \
    X(READ_TAIL, "read_tail", "blocked in reads, p99 / p50", FACTOR, REPLAY) \
    X(READ_BURST, "read_burst", "slow reads at the same time", SHARE, REPLAY) \
    X(SHARD_SKEW, "shard_skew", "slowest part of the data / median", FACTOR, REPLAY) \
    X(WORK_TAIL, "work_tail", "CPU time of the dearest samples over the median", FACTOR, REPLAY) \
    X(SAMPLE_TAIL, "sample_tail", "time of the slowest samples over the median", FACTOR, REPLAY) \
    X(SLOWEST, "slowest", "the slowest samples", NONE, COSTS) \
    X(WORKER_SKEW, "worker_skew", "slowest worker / median", FACTOR, REPLAY) \
    X(READ_SERIAL, "read_serial", "times of reads follow bytes", FACTOR, REPLAY) \
    X(READ_BYTES, "read_bytes", "bytes per read", COUNT, REPLAY) \
    X(PACED, "paced", "reads answered in line, per s", RATE, REPLAY) \
    X(LINK, "link", "bytes that come in line, per s", BYTES, REPLAY) \
    X(DISK_LIMIT, "disk_limit", "the group's limit, bytes/s", BYTES, REPLAY) \
    X(DISK_LIMIT_USED, "disk_limit_used", "used of that limit", SHARE, REPLAY) \
    X(READS_LIMIT, "reads_limit", "the group's limit, reads/s", RATE, REPLAY) \
    X(READS_LIMIT_USED, "reads_limit_used", "used of that limit of reads", SHARE, REPLAY) \
    X(REFAULT, "refault", "read again after the cache dropped it", SHARE, REPLAY) \
    X(DATA_BYTES, "data_bytes", "size of the data", BYTES, REPLAY) \
    X(MEMORY_LIMIT, "memory_limit", "memory limit of the group", BYTES, REPLAY) \
    X(LIMIT_ROOM, "limit_room", "memory limit / size of the data", FACTOR, REPLAY) \
    X(MACHINE_ROOM, "machine_room", "memory of the machine / size of the data", FACTOR, REPLAY) \
    X(MISS, "miss", "reads not from the page cache", SHARE, REPLAY) \
    X(FREE_MEMORY, "free_memory", "memory left with data cached", SHARE, REPLAY) \
    X(FIRST_TOUCH, "first_touch", "samples read for the first time", SHARE, REPLAY) \
    X(DRIFT, "drift", "median read after / before a change", FACTOR, REPLAY) \
    X(STREAMED, "streamed", "one thread reads for all workers", FACTOR, REPLAY) \
    X(REMOTE_FLIGHT, "remote_flight", "requests in flight", FACTOR, REPLAY) \
    X(REMOTE_EACH, "remote_each", "requests of a sample, where they are several", FACTOR, REPLAY) \
    X(REMOTE_NEEDED, "remote_needed", "requests in flight needed", COUNT, REPLAY) \
    X(REMOTE_TIME, "remote_time", "time of a request", NS, REPLAY) \
    X(REMOTE_FIRST, "remote_first", "of it: to the first byte", NS, REPLAY) \
    X(REMOTE_FIRST_PART, "remote_first_part", "requests: first byte", SHARE, REPLAY) \
    X(REMOTE_TRANSFER_PART, "remote_transfer_part", "requests: transfer", SHARE, REPLAY) \
    X(REMOTE_DNS_PART, "remote_dns_part", "requests: DNS", SHARE, REPLAY) \
    X(REMOTE_SETUP_PART, "remote_setup_part", "requests: DNS, TCP, TLS", SHARE, REPLAY) \
    X(REMOTE_STREAM, "remote_stream", "bytes/s of a connection", BYTES, REPLAY) \
    X(REMOTE_BYTES, "remote_bytes", "bytes per request", BYTES, REPLAY) \
    X(REMOTE_REFUSED, "remote_refused", "requests refused (429, 503)", SHARE, COUNTERS) \
    X(REMOTE_CONNECTS, "remote_connects", "connections per request", FACTOR, REPLAY) \
    X(REMOTE_EMPTY, "remote_empty", "answers without an object", SHARE, REPLAY) \
    X(REMOTE_TAIL, "remote_tail", "first byte, p99 / p50", FACTOR, REPLAY) \
    X(REMOTE_SHARD, "remote_shard", "bytes of a shard", BYTES, REPLAY) \
    X(SHARD_REQUESTS, "shard_requests", "requests for a shard", COUNT, REPLAY) \
    X(SMALL_SHARDS, "small_shards", "requests: gone with shards of 256 MiB", SHARE, REPLAY) \
    X(HOST, "host", "the slowest host", NONE, COSTS) \
    X(SLOW_HOST, "slow_host", "slowest host / the others", FACTOR, REPLAY) \
    X(SLOW_HOST_PART, "slow_host_part", "requests to that host", SHARE, REPLAY) \
    X(PREFIX, "prefix", "the prefix with most refusals", NONE, COSTS) \
    X(HOT_PREFIX, "hot_prefix", "refusals of one prefix", SHARE, REPLAY) \
    X(HOT_PREFIX_PART, "hot_prefix_part", "answers of that prefix", SHARE, REPLAY) \
    X(TRANSFORM_PART, "transform_part", "transform's share of CPU work", SHARE, COUNTERS) \
    X(COLLATE_PART, "collate_part", "collate's share of CPU work", SHARE, COUNTERS) \
    X(COPY_CPU, "copy_cpu", "CPU share of copy time", SHARE, REPLAY) \
    X(COPY_BLOCKS, "copy_blocks", "copies from pageable memory", SHARE, REPLAY) \
    X(CONTENDED, "contended", "CPUs used by other processes", SHARE, COUNTERS) \
    X(SUBPROCESSES, "subprocesses", "of them, by the job's subprocesses", SHARE, COUNTERS) \
    X(OTHERS, "others", "whose they are", NONE, REPLAY) \
    X(IDLE_CPUS, "idle_cpus", "idle CPUs", SHARE, COUNTERS) \
    X(BUSY_CPUS, "busy_cpus", "CPUs in use, by any process", SHARE, COUNTERS) \
    X(CONTENDED_BEFORE, "contended_before", "CPUs used by others at first", SHARE, COUNTERS) \
    X(CONTENDED_RISE, "contended_rise", "rise of what others use", SHARE, COUNTERS) \
    X(CONTENDED_AT, "contended_at", "where in the run it rose", SHARE, COUNTERS) \
    X(THROTTLED, "throttled", "throttled by a CPU quota, all CPUs together", SHARE, COUNTERS) \
    X(THROTTLED_CPU, "throttled_cpu", "of each CPU's time, on average", SHARE, COUNTERS) \
    X(MAJOR_FAULTS, "major_faults", "major page faults per sample", FACTOR, COUNTERS) \
    X(THREADS_LOOKS, "threads_looks", "looks at the job's threads in stalls", COUNT, THREADS) \
    X(THREADS_WORK, "threads_work", "threads at work in stalls", FACTOR, THREADS) \
    X(THREADS_COMPUTE, "threads_compute", "of them: on a CPU, or waiting for one", SHARE, THREADS, .explains = PP_EXPLAINS_ITSELF) \
    X(THREADS_READY, "threads_ready", "of those: waiting for a CPU", SHARE, THREADS) \
    X(THREADS_READ, "threads_read", "of them: in reads and on the network", SHARE, THREADS, .explains = PP_EXPLAINS_ITSELF) \
    X(STEP_LOCKED, "step_locked", "the training step waits for the interpreter's lock", SHARE, THREADS) \
    X(THREADS_LOCKED, "threads_locked", "threads that could work: waiting for the interpreter's lock", SHARE, THREADS, .explains = PP_EXPLAINS_ITSELF) \
    X(THREADS_NAMES, "threads_names", "their names", NONE, THREADS) \
    X(GPU_TOLD, "gpu_told", "GPU activity measured (CUPTI)", FACTOR, GPU) \
    X(GPU_NOT_MEASURED, "gpu_not_measured", "why it is not", NONE, GPU) \
    X(GPU_IDLE, "gpu_idle", "GPU idle", SHARE, GPU) \
    X(GPU_COPY, "gpu_copy", "GPU idle: copy not overlapped", SHARE, GPU, .explains = PP_EXPLAINS_ITSELF) \
    X(GPU_HOST, "gpu_host", "GPU idle: sync and launch gap", SHARE, GPU, .explains = PP_EXPLAINS_ITSELF) \
    X(GPU_PAGEABLE, "gpu_pageable", "copied from pageable memory", SHARE, GPU) \
    X(GPU_OVERLAP, "gpu_overlap", "gain of overlapping all copies", SHARE, GPU) \
    X(GPU_SYNCS, "gpu_syncs", "synchronising calls per step", FACTOR, GPU) \
    X(GPU_OVERHEAD, "gpu_overhead", "step time without kernels", SHARE, GPU)
/* clang-format on */

enum pp_metric {
#define PP_METRIC_ENUM(sym, ...) PP_METRIC_##sym,
    PP_METRIC_MAP(PP_METRIC_ENUM)
#undef PP_METRIC_ENUM
        PP_METRIC_COUNT
};

extern const struct pp_fact pp_metric_facts[PP_METRIC_COUNT];
