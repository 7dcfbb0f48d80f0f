#include "report/verdict/verdict_rules.h"

#include "report/replay/storage.h"

#define HELD \
    "the trainer waits {data_wait} of its step time: {collective} for other ranks, {wait_itself} for its own data"

/* XProf, op_stats_to_input_pipeline_analysis.cc: 20 % and 5 % of the step time, and its words. */
const struct pp_level_rule pp_level_rules[] = {
    {0.20, "input-bound", "highly", "HIGHLY input-bound",
     "the trainer waits {data_wait} of its step time for data", ">= 20 %: highly input-bound (XProf)", HELD,
     "HIGHLY held up",
     "the trainer loses {data_wait} of its time: {wait_itself} waiting for data, {stretch} because its own step does not get a CPU"},
    {0.05, "input-bound", "moderately", "MODERATELY input-bound",
     "the trainer waits {data_wait} of its step time for data", ">= 5 %: moderately so (XProf)", HELD,
     "MODERATELY held up",
     "the trainer loses {data_wait} of its time: {wait_itself} waiting for data, {stretch} because its own step does not get a CPU"},
    {0, "not-input-bound", "not", "NOT input-bound",
     "the trainer waits {data_wait} of its step time for data", "< 5 %: not input-bound (XProf)", NULL, NULL,
     NULL},
};
const struct pp_level_rule
    *const pp_level_moderate = &pp_level_rules[sizeof(pp_level_rules) / sizeof(pp_level_rules[0]) - 2];

const struct pp_guard_rule pp_guard_rules[] = {
    {PP_METRIC_BATCHES, 1, 0, 10, "below 10 the spread of a mean is itself unknown",
     "only {batches|batch was|batches were} delivered in steady state, at least 10 are needed",
     "Run longer (--duration, --steps, --epochs), or lower --warmup or --batch-size."},
    {PP_METRIC_WINDOW, 1, 0, 1e9, "several scheduler and cgroup quota periods (100 ms each)",
     "the steady state lasted {window}, at least 1 s is needed", "Run longer: --duration 30s."},
    {PP_METRIC_LOSS, 0, 0, 0.01, "a fifth of the smallest share that decides (5 %)",
     "{loss} of the spans were lost, more than the 1 % that leaves shares intact",
     "Record less detail (--detail), or on a less loaded machine."},
    {PP_METRIC_DATA_WAIT, 1, 0, 0, "XProf: no step time measured, therefore we cannot tell",
     "no trainer time was recorded, so there is nothing to compare the wait with",
     "Record the trainer's data_wait and step phases too."},
    /* operational laws (report/findings/laws.h): what breaks one is not the pipeline but the recording of it
     */
    {PP_METRIC_LAW_UTILISATION, 0, 1, 0.05, "the smallest share that decides",
     "the recording contradicts itself, the utilisation law is broken by {law_utilisation}: {law_utilisation_where}",
     "Check what the spans are put around and on which thread; a phase must end before the next of its thread begins."},
    {PP_METRIC_LAW_SERVICE, 0, 1, 0.05, "the smallest share that decides",
     "the recording contradicts itself, the service-rate law is broken by {law_service}: {law_service_where}",
     "Check that every worker is recorded (pipeprobe report --format json lists them), and that batches and samples are counted alike."},
    {PP_METRIC_LAW_LITTLE, 0, 1, 0.05, "the smallest share that decides",
     "the recording contradicts itself, Little's law is broken by {law_little}: {law_little_where}",
     "Record again; if it stays so, the clock or the batch numbers of some thread are wrong."},
};
const size_t pp_guard_rules_n = sizeof(pp_guard_rules) / sizeof(pp_guard_rules[0]);

/* ---- limits that several rows apply, each with where it comes from ---- */

#define LEAST_OF_STEP PP_LEAST_SHARE, "the smallest share of a step that counts (5 %)"
/* a label is right when its fix gains at least 15 % (docs/internals/scenarios.md) */
#define WORTH_A_FIX PP_WORTH_A_FIX, "a fix that is worth its name gains 15 %"
#define HALF_A_FIX 0.08, "half of 15 %: fewer workers cost nothing"
/* each cause is made a quarter better in the replay; its weight is its part of what all of them gain. Two
 * causes can both have 0.4: both hold the run up */
#define LARGEST 0.4, "the largest, or as large as another"
/* another process's CPUs are weighed as every cause is: against the work made a quarter better. Ending others
 * costs no code, so it may gain 3 % less, as fixes are ranked */
#define CHEAPER_FIRST -0.03, "gains as much as a quarter less work, but for 3 %: the cheaper fix goes first"
#define MOST_MEETINGS PP_MOST_MEETINGS, "twice as often as all the others together"
#define MOST_TIME 0.5, "more of its time than not"
#define MOST_IDLE_TIME 0.5, "more of its idle time than not"
#define MOST_CPU_WORK 0.5, "more of the CPU work than not"
#define SATURATED 0.9, "utilisation law: a bottleneck's utilisation is near 1; 10 % for the system's own work"
#define WORKER_PER_CPU 1, "a worker for every usable CPU"
#define FIFTH_OF_CPUS 0.2, "a fifth of the usable CPUs"
#define CONFIGURED 1, "the configuration of the run"
#define RECORDED 1, "the recording has the GPU's activity, or not"

/* ---- causes ---- */

#define BIT(phase) (1u << PP_PHASE_##phase)
#define COMPUTE (BIT(DECODE) | BIT(TRANSFORM) | BIT(COLLATE) | BIT(SAMPLER))
#define WORK (COMPUTE | BIT(READ))

#define ANY PP_ANY_OWNER
/* A condition: the metric, and its limit with the reason for it; conditions of a cause; of a cause that is a
 * want of CPU, the gain of its remedy before them. */
/* clang-format off */
#define AT_LEAST(metric, ...) {PP_METRIC_##metric, PP_AT_LEAST, __VA_ARGS__}
#define BELOW(metric, ...) {PP_METRIC_##metric, PP_BELOW, __VA_ARGS__}
#define WHEN(...) {__VA_ARGS__}, {0}
#define ALWAYS {{0}}, {0}
#define STARVING(relief, ...) {__VA_ARGS__}, relief
/* clang-format on */

#define STRAGGLER \
    "sync: every step ends with the slowest rank, and rank {last_rank} came last to {last_share} of them", \
        PP_REMEDY_SLOW_RANK
#define IMBALANCE \
    "sync: every step ends with the slowest rank, and the ranks take turns at it (most often rank {last_rank}, {last_share} of the steps)", \
        PP_REMEDY_EVEN_RANKS

/* What the GPU's own records decide, then what a replay decides. */
const struct pp_cause_rule pp_cause_rules_replay[] = {
    {"sync", "rank-straggler", ANY,
     WHEN(AT_LEAST(W_COLLECTIVE, LARGEST), AT_LEAST(COLLECTIVE, LEAST_OF_STEP),
          AT_LEAST(LAST_SHARE, MOST_MEETINGS)),
     STRAGGLER},
    {"sync", "rank-imbalance", ANY,
     WHEN(AT_LEAST(W_COLLECTIVE, LARGEST), AT_LEAST(COLLECTIVE, LEAST_OF_STEP),
          BELOW(LAST_SHARE, MOST_MEETINGS)),
     IMBALANCE},
    {"sync", "pageable", ANY,
     WHEN(AT_LEAST(GPU_COPY, MOST_IDLE_TIME), AT_LEAST(GPU_PAGEABLE, 0.5, "more of the bytes than not")),
     "sync: {gpu_copy} of the GPU's idle time it waits for a copy under way, and {gpu_pageable} of the bytes come from pageable memory",
     PP_REMEDY_PINNED},
    {"sync", "serial-copy", ANY, WHEN(AT_LEAST(GPU_COPY, MOST_IDLE_TIME), AT_LEAST(GPU_OVERLAP, WORTH_A_FIX)),
     "sync: {gpu_copy} of the GPU's idle time it waits for a copy under way, because copies and kernels take turns",
     PP_REMEDY_ASYNC_COPY},
    {"sync", "h2d-bandwidth", ANY, WHEN(AT_LEAST(GPU_COPY, MOST_IDLE_TIME)),
     "sync: {gpu_copy} of the GPU's idle time it waits for a copy under way, and the link has no more to give",
     PP_REMEDY_COPY_LESS},
    {"sync", "implicit-sync", ANY,
     WHEN(AT_LEAST(GPU_HOST, MOST_IDLE_TIME), AT_LEAST(GPU_SYNCS, 0.5, "in every second step or more")),
     "sync: the trainer makes {gpu_syncs} synchronising calls per step, and {gpu_host} of the GPU's idle time is theirs and the launches' after them",
     PP_REMEDY_NO_SYNC},
    {"sync", "small-batch", ANY,
     WHEN(AT_LEAST(GPU_HOST, MOST_IDLE_TIME), AT_LEAST(GPU_OVERHEAD, LEAST_OF_STEP)),
     "sync: steps on {batch_size|sample|samples} are too short: launching them and waiting for them takes {gpu_overhead} of the time, without a kernel",
     PP_REMEDY_LARGER_BATCH},
    {NULL, NULL, ANY, WHEN(AT_LEAST(W_COPY, LARGEST), BELOW(GPU_TOLD, RECORDED)),
     "the copies may hold the batches up, but what the GPU did is NOT MEASURED: {gpu_not_measured}",
     PP_REMEDY_CUPTI},
    {NULL, NULL, ANY, WHEN(AT_LEAST(W_SYNC, LARGEST), BELOW(GPU_TOLD, RECORDED)),
     "waiting for the device may hold the trainer up, but what the GPU did is NOT MEASURED: {gpu_not_measured}",
     PP_REMEDY_CUPTI},
    {"sync", "implicit-sync", ANY, WHEN(AT_LEAST(W_SYNC, LARGEST)),
     "sync: the trainer blocks until the device has caught up, after every batch of {batch_size}",
     PP_REMEDY_NO_SYNC},
    {"sync", "pageable", ANY,
     WHEN(AT_LEAST(W_COPY, LARGEST), AT_LEAST(PAGEABLE, CONFIGURED),
          AT_LEAST(COPY_CPU, 0.3, "a copy engine needs no CPU: measured under 0.1 pinned")),
     "sync: the copies hold the batches up, {copy_cpu} of their time is a CPU moving pageable memory",
     PP_REMEDY_PINNED},
    {"sync", "serial-copy", ANY,
     WHEN(AT_LEAST(W_COPY, LARGEST),
          AT_LEAST(G_BUFFERS, 0.1, "half of what perfect overlap of unequal parts gains")),
     "sync: copy and step take turns, for there is one buffer on the device", PP_REMEDY_COPY_BUFFERS},
    {"sync", "h2d-bandwidth", ANY, WHEN(AT_LEAST(W_COPY, LARGEST)),
     "sync: the link to the device holds the batches up, the copy lane is in h2d {copy_busy} of the stalls",
     PP_REMEDY_COPY_LESS},
    {"loader", "errors", ANY,
     WHEN(AT_LEAST(W_ERRORS, 0.3, "a third of what can be gained, for work that need not be done at all")),
     "loader: workers back off from failed reads, {w_errors} of what could be gained", PP_REMEDY_ERRORS},
    {"loader", "straggler-worker", ANY,
     WHEN(AT_LEAST(WORKER_SKEW, 3,
                   "workers share one queue of samples: their means differ by chance by less than 1.5")),
     "loader: one worker takes {worker_skew} times as long over a sample as the median one, and batches wait for it",
     PP_REMEDY_SLOW_WORKER},
    {"transform", "cgroup-throttled", ANY,
     STARVING(AT_LEAST(G_CPUS, WORTH_A_FIX),
              AT_LEAST(THROTTLED, 0.05, "the smallest share of a run that counts (5 %)"),
              BELOW(W_STORAGE, LARGEST)),
     "transform: a CPU quota throttles the run, threads were stopped {throttled} of the time",
     PP_REMEDY_QUOTA},
    {"loader", "oversubscribed", ANY,
     STARVING(AT_LEAST(G_FEWER, HALF_A_FIX), AT_LEAST(STRETCH, LEAST_OF_STEP), AT_LEAST(G_FEWER, HALF_A_FIX)),
     "loader: {workers} workers crowd {cpus} usable CPUs, and the trainer's own step takes {stretch} longer for want of one",
     PP_REMEDY_FEWER_WORKERS},
    {"loader", "prefetch", ANY,
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(READ_BURST, 0.5, "more often than not on several workers at once"),
          AT_LEAST(PREFETCH_PART, 0.5, "more of it than not: on average storage is fast enough")),
     "loader: storage stops now and then for all workers at once, and the prefetch is too shallow to bridge it",
     PP_REMEDY_PREFETCH},
    {"storage", "straggler-shard", ANY,
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(SHARD_SKEW, 3, "medians of 16 parts of equal data differ by chance by less than 2")),
     "storage: one part of the data takes {shard_skew} times as long to read as the median part",
     PP_REMEDY_SLOW_SHARD},
    {"storage", "phase-change", ANY,
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(DRIFT, PP_DRIFT,
                   "medians of hundreds of reads of one kind differ by chance by less than 1.2")),
     "storage: reads became slower in mid-run, the median one {drift} times", PP_REMEDY_STORAGE_CHANGE},
    {"storage", "latency-tail", ANY,
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(READ_TAIL, 8, "an exponential spread has 6.6; more is two kinds of reads")),
     "storage: the slowest reads in a hundred take {read_tail} times the median", PP_REMEDY_READ_TAIL},
    {"storage", "bandwidth", ANY,
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(READ_SERIAL, PP_SERIAL,
                   "half of what orders the gaps between reads by length is their bytes (0.7 squared)")),
     "storage: all reads share one link and it is full: reads finish one by one, each as late as its bytes take",
     PP_REMEDY_FEWER_BYTES},
    {"storage", "major-faults", ANY,
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(MAJOR_FAULTS, 0.5, "more often than not: a read into a buffer makes none")),
     "storage: the data is mapped and not in memory: {major_faults} page faults per sample wait for it, each for a few pages",
     PP_REMEDY_READ_AHEAD},
    {"storage", "metadata", ANY,
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          BELOW(READ_BYTES, 4096, "a page: below it the request is the cost, not the bytes")),
     "storage: files of {read_bytes} bytes each cost a whole request", PP_REMEDY_PACK},
    {"storage", "cold-cache", ANY,
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(MISS, 0.5, "more often than not"),
          AT_LEAST(FREE_MEMORY, 0.1, "the data fits into memory with a tenth to spare"),
          AT_LEAST(FIRST_TOUCH, 0.5, "more often than not: a later epoch would find it in the cache")),
     "storage: {miss} of the reads miss the page cache, while all of the data would fit into memory: a later epoch is another run",
     PP_REMEDY_WARM_CACHE},
    {"storage", "latency", ANY, WHEN(AT_LEAST(W_STORAGE, LARGEST)),
     "storage: read takes {owner_share} of the workers' time in the stalls, blocked {blocked} of it, whatever its size",
     PP_REMEDY_READS_IN_FLIGHT},
    {"loader", "lock", ANY, WHEN(AT_LEAST(W_LOCK, LARGEST)),
     "loader: the workers exclude each other while decoding: blocked {blocked} of {owner}", PP_REMEDY_LOCK},
    {"loader", "straggler-sample", ANY,
     WHEN(AT_LEAST(W_WORK, LARGEST),
          AT_LEAST(WORK_TAIL, 8, "an exponential spread has 6.6; more is two kinds of samples")),
     "loader: the costliest samples in a hundred take {work_tail} times the median, and the batches behind them wait",
     PP_REMEDY_OUT_OF_ORDER},
    {"loader", "under-parallel", ANY,
     WHEN(AT_LEAST(W_WORK, LARGEST), AT_LEAST(G_WORKERS, WORTH_A_FIX),
          BELOW(WORKERS_PER_CPU, WORKER_PER_CPU)),
     "loader: the {workers|worker is|workers are all} busy with {owner}, while only {saturation} of the usable CPUs are in use",
     PP_REMEDY_MORE_WORKERS},
    {"loader", "oversubscribed", ANY,
     STARVING(AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST), AT_LEAST(STRETCH, LEAST_OF_STEP),
              AT_LEAST(OWN_CROWD, 0.5, "more of it than not"),
              AT_LEAST(WORKERS_PER_CPU, 2, "two workers for every usable CPU")),
     "loader: {workers} workers crowd {cpus} usable CPUs, {own_crowd} of what wants one beside the trainer is theirs, and its own step takes {stretch} longer",
     PP_REMEDY_FEWER_WORKERS_LESS_WORK},
    {"transform", "cpu-contended", ANY,
     STARVING(AT_LEAST(G_CPUS, WORTH_A_FIX), AT_LEAST(STRETCH, LEAST_OF_STEP), AT_LEAST(G_CPUS, WORTH_A_FIX),
              AT_LEAST(CPUS_LEAD, CHEAPER_FIRST), AT_LEAST(CONTENDED, FIFTH_OF_CPUS)),
     "transform: others use {contended} of the usable CPUs, and this run's workers are {own_crowd} of what wants one beside the trainer",
     PP_REMEDY_OTHER_LOAD},
    {"transform", "cpu-contended", ANY,
     STARVING(AT_LEAST(G_CPUS, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST), AT_LEAST(CPUS_LEAD, CHEAPER_FIRST),
              AT_LEAST(CONTENDED, FIFTH_OF_CPUS)),
     "transform: others use {contended} of the usable CPUs, and {owner} waits for one {run_queue} of its time",
     PP_REMEDY_OTHER_LOAD},
    {"transform", "cpu-contended", ANY,
     STARVING(AT_LEAST(G_CPUS_WORKERS, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST),
              BELOW(WORKERS_PER_CPU, WORKER_PER_CPU), AT_LEAST(G_CPUS_WORKERS, WORTH_A_FIX),
              AT_LEAST(CONTENDED, FIFTH_OF_CPUS)),
     "transform: the {workers|worker is|workers are all} busy with {owner}, and others use the CPUs that more workers would need ({contended} of the usable ones)",
     PP_REMEDY_OTHER_LOAD_THEN_WORKERS},
    {"transform", "collate", ANY,
     STARVING(AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST),
              AT_LEAST(COLLATE_PART, MOST_CPU_WORK)),
     "transform: putting batches together is {collate_part} of the CPU work", PP_REMEDY_COLLATE},
    {"transform", "augment", ANY,
     STARVING(AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST),
              AT_LEAST(TRANSFORM_PART, MOST_CPU_WORK)),
     "transform: the transforms are {transform_part} of the CPU work, and the CPUs have no more to give",
     PP_REMEDY_AUGMENT},
    {"transform", "cpu-saturated", ANY, STARVING(AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST)),
     "transform: {owner} takes {owner_share} of the workers' time, and the CPUs have no more to give ({saturation} in use by this run, {contended} by others)",
     PP_REMEDY_LESS_WORK},
};
const size_t pp_cause_rules_replay_n = sizeof(pp_cause_rules_replay) / sizeof(pp_cause_rules_replay[0]);

/* Without a replay (a streamed run, too few samples, no CPU accounting), and where it decides nothing: the
 * phase that owns the stalls, and its shares of CPU time, run-queue delay and blocked time. */
const struct pp_cause_rule pp_cause_rules_shares[] = {
    {NULL, NULL, BIT(DEVICE_SYNC) | BIT(H2D), WHEN(BELOW(GPU_TOLD, RECORDED)),
     "{owner} takes {owner_share} of the stalls, but what the GPU did is NOT MEASURED: {gpu_not_measured}",
     PP_REMEDY_CUPTI},
    {NULL, NULL, BIT(DEVICE_SYNC) | BIT(H2D), WHEN(AT_LEAST(GPU_TOLD, RECORDED)),
     "{owner} takes {owner_share} of the stalls by the host's clock, but copies are {gpu_copy} of the GPU's idle time, synchronising and launching {gpu_host}: none decides",
     PP_REMEDY_RECORD_LONGER},
    {"sync", "rank-straggler", BIT(COLLECTIVE), WHEN(AT_LEAST(LAST_SHARE, MOST_MEETINGS)), STRAGGLER},
    {"sync", "rank-imbalance", BIT(COLLECTIVE), WHEN(BELOW(LAST_SHARE, MOST_MEETINGS)), IMBALANCE},
    {"sync", NULL, BIT(COLLECTIVE), ALWAYS,
     "sync: {owner_share} of that wait is for other ranks; which of them comes last was not recorded",
     PP_REMEDY_RECORD_RANKS},
    {"sync", "implicit-sync", BIT(DEVICE_SYNC), ALWAYS,
     "sync: {owner_share} of that wait is the trainer waiting for the device to catch up", PP_REMEDY_NO_SYNC},
    {"sync", "pageable", BIT(H2D), WHEN(AT_LEAST(PAGEABLE, CONFIGURED)),
     "sync: meanwhile the copy lane is in h2d {owner_share} of the time, and the batch memory is pageable",
     PP_REMEDY_PINNED},
    {"sync", NULL, BIT(H2D), ALWAYS,
     "sync: meanwhile the copy lane is in h2d {owner_share} of the time, while the workers wait for free slots",
     PP_REMEDY_LESS_OR_OVERLAPPED},
    {"loader", "errors", BIT(RETRY), ALWAYS,
     "loader: meanwhile the workers back off from failed reads {owner_share} of the time", PP_REMEDY_ERRORS},
    /* threads / CPUs = r leaves 1 - 1/r of the time in the run queue: 2 per CPU give 0.50, 4 per CPU 0.75 */
    {"loader", "oversubscribed", WORK,
     WHEN(AT_LEAST(OWNER_DELAY, 0.6, "more than 2.5 runnable threads per usable CPU"),
          AT_LEAST(SATURATION, SATURATED)),
     "loader: {workers|worker shares|workers share} {cpus} usable CPUs, and {owner} spends {run_queue} of its time waiting for one",
     PP_REMEDY_FEWER_WORKERS_AUTO},
    {"transform", "cpu-contended", WORK,
     WHEN(AT_LEAST(OWNER_DELAY, 0.25, "taken away, a quarter of the owner's time would be won"),
          BELOW(SATURATION, SATURATED), BELOW(OWNER_BLOCKED, MOST_TIME)),
     "transform: {owner} waits for a CPU {run_queue} of its time although this run uses only {saturation} of the usable CPUs: somebody else has them",
     PP_REMEDY_OTHER_LOAD_OR_QUOTA},
    {"storage", NULL, BIT(READ), WHEN(AT_LEAST(OWNER_BLOCKED, MOST_TIME)),
     "storage: meanwhile read takes {owner_share} of the workers' time and is blocked {blocked} of it",
     PP_REMEDY_STORAGE},
    {"loader", NULL, COMPUTE, WHEN(AT_LEAST(OWNER_BLOCKED, MOST_TIME)),
     "loader: {owner} should compute but is blocked {blocked} of its time, behind a lock or a page fault",
     PP_REMEDY_WHAT_BLOCKS},
    {"transform", "cpu-saturated", WORK,
     WHEN(BELOW(OWNER_BLOCKED, MOST_TIME), AT_LEAST(SATURATION, SATURATED)),
     "transform: {owner} takes {owner_share} of the workers' time and {saturation} of the usable CPUs are in use",
     PP_REMEDY_LESS_WORK},
    {"loader", "under-parallel", WORK, WHEN(BELOW(OWNER_BLOCKED, MOST_TIME), BELOW(SATURATION, SATURATED)),
     "loader: the {workers|worker is|workers are all} busy with {owner}, while only {saturation} of the usable CPUs are in use",
     PP_REMEDY_MORE_WORKERS},
    {"loader", NULL, BIT(NONE), ALWAYS,
     "loader: the workers wait for slots or work {worker_idle} of that time and the copy lane is idle, so batches are held back between them",
     PP_REMEDY_PREFETCH_OR_ORDER},
};
const size_t pp_cause_rules_shares_n = sizeof(pp_cause_rules_shares) / sizeof(pp_cause_rules_shares[0]);

const struct pp_cause_rule pp_outside_rules[] = {
    {"loader", "epoch-drain", ANY, WHEN(AT_LEAST(EPOCH, WORTH_A_FIX)),
     "loader: {epoch} of the time passes between the last batch of an epoch and the first of the next",
     PP_REMEDY_KEEP_WORKERS_PREFETCH},
    {"loader", "warm-up", ANY, WHEN(AT_LEAST(STARTUP, WORTH_A_FIX)),
     "loader: {startup} of the run passes before its first batch", PP_REMEDY_START_ONCE},
};
const size_t pp_outside_rules_n = sizeof(pp_outside_rules) / sizeof(pp_outside_rules[0]);
