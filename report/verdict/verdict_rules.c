#include "report/verdict/verdict_rules.h"

#include "report/replay/storage.h"

/* XProf, op_stats_to_input_pipeline_analysis.cc: 20 % and 5 % of the step time, and its words. */
const struct pp_level_rule pp_level_rules[] = {
    {0.20, "input-bound", "highly", ">= 20 %: highly input-bound (XProf)"},
    {0.05, "input-bound", "moderately", ">= 5 %: moderately input-bound (XProf)"},
    {0, "not-input-bound", "not", "< 5 %: not input-bound (XProf)"},
};
const struct pp_level_rule
    *const pp_level_moderate = &pp_level_rules[sizeof(pp_level_rules) / sizeof(pp_level_rules[0]) - 2];

const struct pp_guard_rule pp_guard_rules[] = {
    {PP_METRIC_BATCHES, 1, 0, 10, "below 10 batches the spread of a mean is not known",
     "only {batches|batch was|batches were} delivered in steady state, at least 10 are needed",
     PP_REMEDY_MORE_BATCHES, .of_trace = PP_LEAST_TRACE_STEPS},
    {PP_METRIC_WINDOW, 1, 0, 1e9, "several scheduler and cgroup quota periods (100 ms each)",
     "the steady state lasted {window}, at least 1 s is needed", PP_REMEDY_RUN_LONGER, .of_trace = 1},
    {PP_METRIC_LOSS, 0, 0, 0.01, "a fifth of the smallest share that changes a verdict (5 %)",
     "{loss} of the spans were lost, and above 1 % the shares are not reliable", PP_REMEDY_LESS_DETAIL,
     .of_trace = 0},
    {PP_METRIC_DATA_WAIT, 1, 0, 0, "XProf: no verdict without a step time",
     "no trainer time was recorded to compare the wait with", PP_REMEDY_ANNOTATE, .of_trace = 0},
    /* operational laws (report/findings/laws.h): what breaks one is not the pipeline but the recording of it
     */
    {PP_METRIC_LAW_UTILISATION, 0, 1, 0.05, "the smallest share that changes a verdict",
     "the recording is inconsistent: the utilisation law is violated by {law_utilisation}: {law_utilisation_where}",
     PP_REMEDY_CHECK_SPANS, .of_trace = 0},
    {PP_METRIC_LAW_SERVICE, 0, 1, 0.05, "the smallest share that changes a verdict",
     "the recording is inconsistent: the service-rate law is violated by {law_service}: {law_service_where}",
     PP_REMEDY_CHECK_WORKERS, .of_trace = 0},
    {PP_METRIC_LAW_LITTLE, 0, 1, 0.05, "the smallest share that changes a verdict",
     "the recording is inconsistent: Little's law is violated by {law_little}: {law_little_where}",
     PP_REMEDY_RECORD_AGAIN, .of_trace = 0},
};
const size_t pp_guard_rules_n = sizeof(pp_guard_rules) / sizeof(pp_guard_rules[0]);

/* ---- limits that several rows apply, each with where it comes from ---- */

#define LEAST_OF_STEP PP_LEAST_SHARE, "the smallest share of a step that counts (5 %)"
/* a label is right when its fix gains at least 15 % (docs/internals/scenarios.md) */
#define WORTH_A_FIX PP_WORTH_A_FIX, "a remedy must gain at least 15 %"
#define NOT_WORTH_A_FIX PP_WORTH_A_FIX, "a remedy that gains 15 % would be one"
#define HALF_A_FIX 0.08, "half of 15 %: fewer workers cost nothing"
/* each cause is made a quarter better in the replay; its weight is its part of what all of them gain. Two
 * causes can both have 0.4: both hold the run up */
#define LARGEST PP_LARGEST_WEIGHT, "the largest, or tied for the largest"
/* another process's CPUs are weighed as every cause is: against the work made a quarter better. Ending others
 * costs no code, so it may gain 3 % less, as fixes are ranked */
#define LITTLE_LEFT 0.2, "XProf's limit of highly input-bound: more of it left would be the job's own"
#define CROWDED 0.6, "more than 2.5 runnable threads per usable CPU"
#define CHEAPER_FIRST -0.03, "gain within 3 % of the gain of 25 % less work: the cheaper remedy is preferred"
#define MOST_MEETINGS PP_MOST_MEETINGS, "twice as often as all other ranks together"
#define MUCH_DELAY 0.25, "without it, the owner's time shrinks by a quarter"
#define MOST_TIME 0.5, "more than half of its time"
#define MOST_OF_WAIT PP_LEAST_EXPLAINED, "more than half of the wait"
#define MOST_IDLE_TIME 0.5, "more than half of its idle time"
#define MOST_CPU_WORK 0.5, "more than half of the CPU work"
#define SATURATED 0.9, "utilisation law: a bottleneck's utilisation is near 1; 10 % for the system's own work"
#define WORKER_PER_CPU 1, "a worker for every usable CPU"
#define OTHERS_COUNT 0.05, "the smallest share that counts (5 %)"
#define CPUS_ARE_SHORT 0.1, "utilisation law: CPUs that are short have at most 10 % idle"
#define CONFIGURED 1, "the configuration of the run"
#define AVOIDABLE 0.3, "a third of the possible gain: the work is avoidable"
#define SOME_REFUSED 0.01, "1 % of the requests; a store that is not overloaded refuses far fewer"
#define MOST_OF_REQUESTS 0.5, "more than half of the requests' time"
#define RECORDED 1, "the recording has the GPU's activity, or not"
#define TRACED 1, "the trace has calls of processes that are not the trainer's, or not"

/* ---- causes ---- */

#define BIT(phase) (1u << PP_PHASE_##phase)
#define COMPUTE (BIT(DECODE) | BIT(TRANSFORM) | BIT(COLLATE) | BIT(SAMPLER))
#define WORK (COMPUTE | BIT(READ))

/* A condition: the metric, and its limit with the reason for it; conditions of a cause; of a cause that is a
 * want of CPU, the gain of its remedy before them. */
/* clang-format off */
#define AT_LEAST(metric, ...) {PP_METRIC_##metric, PP_AT_LEAST, __VA_ARGS__}
#define BELOW(metric, ...) {PP_METRIC_##metric, PP_BELOW, __VA_ARGS__}
#define IS_KNOWN(metric, source) {PP_METRIC_##metric, PP_KNOWN, 0, source}
#define IS_UNKNOWN(metric, source) {PP_METRIC_##metric, PP_UNKNOWN, 0, source}
#define OWNER(phases) {PP_METRIC_OWNER, PP_ONE_OF, phases, "the largest part of the stalls"}
#define WHEN(...) .when = {__VA_ARGS__}
#define STARVING(relieved, ...) .when = {__VA_ARGS__}, .relief = relieved
/* clang-format on */

#define IN_THE_TRAINER BELOW(NUM_WORKERS, 1, "no worker process")
#define NO_WORKERS \
    "loader: num_workers=0: the training thread makes each batch itself, most of the time in {owner}, while only {busy_cpus} of the usable CPUs are in use"
#define TOO_FEW_WORKERS \
    "loader: the {workers|worker is|workers are all} busy with {owner}, while only {busy_cpus} of the usable CPUs are in use"
#define CONTENTION \
    "transform: CPU contention: {others} use {contended} of the usable CPUs, and {owner} waits for a CPU for {run_queue} of its time"
#define TWO_KINDS 8, "an exponential distribution has 6.6; above it there are two kinds of samples"
#define SLOW_SAMPLES \
    .said = \
        "loader: the slowest 1 % of the samples take {sample_tail} times the median, and the batches behind them wait", \
    .remedy = PP_REMEDY_OUT_OF_ORDER
#define LATE_FOR_CPUS \
    "transform: CPU contention: {others} use {contended} of the usable CPUs, {idle_cpus} are idle, and batches are delayed between the workers and the trainer"
#define LATE_BATCHES \
    "loader: the workers wait for slots or work for {worker_idle} of that time and the copy lane is idle: batches are delayed between them"
#define PER_SAMPLE \
    .said = \
        "transform: making a sample takes only {sample_cost}: most of it is Python that runs once per sample, to fetch it and to put it into a batch", \
    .remedy = PP_REMEDY_BY_BATCH
/* A call of Python with an index operation takes 2 to 20 us, and default_collate as much for each tensor of a
 * sample (CPython 3.8 to 3.14, x86-64). */
#define TINY_SAMPLE 50e3, "50 us: a few calls of Python"
#define STRAGGLER \
    .said = \
        "sync: every step ends with the slowest rank, and rank {last_rank} was last in {last_share} of the steps", \
    .remedy = PP_REMEDY_SLOW_RANK
#define IMBALANCE \
    .said = \
        "sync: every step ends with the slowest rank, and which rank is slowest changes (most often rank {last_rank}, {last_share} of the steps)", \
    .remedy = PP_REMEDY_EVEN_RANKS

#define PINNING \
    .said = \
        "loader: one thread copies every batch into pinned memory (pin_memory=True), and is busy with that for {pin_busy} of the stalls", \
    .remedy = PP_REMEDY_PIN_LESS

#define UNPICKLING \
    .said = \
        "loader: the training thread takes {handover_time} to take a batch[ of {tensors} tensors] over from an idle worker, {handover} of the wait", \
    .remedy = PP_REMEDY_UNPICKLE_LESS
#define GPU_DECODING \
    .said = \
        "transform: JPEG decoding on the GPU is the bottleneck, the copy lane waits for it for {decode_busy} of the stalls", \
    .remedy = PP_REMEDY_DECODE_ELSEWHERE

#define DRAWING \
    .said = \
        "loader: {sampler} draws the order of an epoch in the training thread before its first batch: {sampler_share} of the time", \
    .remedy = PP_REMEDY_SAMPLER

/* What the GPU's own records decide, then what a replay decides. */
const struct pp_rule pp_cause_rules_replay[] = {
    {"loader", "no-shard",
     WHEN(OWNER(WORK), AT_LEAST(STREAM_IDLE, 1, "each has a part of the data"),
          BELOW(WORKER_IDLE, MOST_TIME)),
     .said =
         "loader: {stream_deliver} of {stream_workers} workers deliver: the data set has no shard for the others, or theirs has ended, and {owner} keeps the rest busy",
     .remedy = PP_REMEDY_MORE_SHARDS},
    {"loader", "view-of-storage",
     WHEN(OWNER(BIT(NONE)), AT_LEAST(HANDED_FACTOR, PP_VIEW_FACTOR, "below, less than half is for nothing"),
          AT_LEAST(HANDED, PP_VIEW_BYTES, "less is handed over in a millisecond")),
     .said =
         "loader: workers hand over {handed} per batch for {tensor_bytes} of tensors, which are views of larger ones",
     .remedy = PP_REMEDY_CLONE},
    {"loader", "sampler-draw",
     WHEN(AT_LEAST(G_SAMPLER, WORTH_A_FIX), AT_LEAST(SAMPLER_LEAD, 0, "no other change gains more")),
     DRAWING},
    /* A tensor is asked of a thread of the worker that made it: where other processes keep that thread from a
     * CPU, fewer tensors are not what is missing. */
    {"loader", "unpickle",
     WHEN(AT_LEAST(HANDOVER, MOST_OF_WAIT), BELOW(G_CPUS, NOT_WORTH_A_FIX), BELOW(CONTENDED, OTHERS_COUNT)),
     UNPICKLING},
    {"loader", "unpickle",
     WHEN(AT_LEAST(HANDOVER, MOST_OF_WAIT), BELOW(G_CPUS, NOT_WORTH_A_FIX),
          AT_LEAST(IDLE_CPUS, CPUS_ARE_SHORT)),
     UNPICKLING},
    {"sync", "rank-straggler",
     WHEN(AT_LEAST(W_COLLECTIVE, LARGEST), AT_LEAST(COLLECTIVE, LEAST_OF_STEP),
          AT_LEAST(LAST_SHARE, MOST_MEETINGS)),
     STRAGGLER},
    {"sync", "rank-imbalance",
     WHEN(AT_LEAST(W_COLLECTIVE, LARGEST), AT_LEAST(COLLECTIVE, LEAST_OF_STEP),
          BELOW(LAST_SHARE, MOST_MEETINGS)),
     IMBALANCE},
    {"sync", "pageable",
     WHEN(AT_LEAST(GPU_COPY, MOST_IDLE_TIME), AT_LEAST(GPU_PAGEABLE, 0.5, "more than half of the bytes"),
          AT_LEAST(PINS, CONFIGURED)),
     .said =
         "sync: for {gpu_copy} of its idle time the GPU waits for a copy, and {gpu_pageable} of the bytes come from pageable memory, though the loader pins its batches",
     .remedy = PP_REMEDY_COPY_AS_PINNED},
    {"sync", "pageable",
     WHEN(AT_LEAST(GPU_COPY, MOST_IDLE_TIME), AT_LEAST(GPU_PAGEABLE, 0.5, "more than half of the bytes")),
     .said =
         "sync: for {gpu_copy} of its idle time the GPU waits for a copy, and {gpu_pageable} of the bytes come from pageable memory",
     .remedy = PP_REMEDY_PINNED},
    {"sync", "serial-copy", WHEN(AT_LEAST(GPU_COPY, MOST_IDLE_TIME), AT_LEAST(GPU_OVERLAP, WORTH_A_FIX)),
     .said =
         "sync: for {gpu_copy} of its idle time the GPU waits for a copy, because copies and kernels do not overlap",
     .remedy = PP_REMEDY_ASYNC_COPY},
    {"sync", "h2d-bandwidth", WHEN(AT_LEAST(GPU_COPY, MOST_IDLE_TIME)),
     .said = "sync: for {gpu_copy} of its idle time the GPU waits for a copy, and the link is saturated",
     .remedy = PP_REMEDY_COPY_LESS},
    {"sync", "implicit-sync",
     WHEN(AT_LEAST(GPU_HOST, MOST_IDLE_TIME), AT_LEAST(GPU_SYNCS, 0.5, "in every second step or more")),
     .said =
         "sync: the trainer makes {gpu_syncs} synchronising calls per step; they and the launches after them cause {gpu_host} of the GPU's idle time",
     .remedy = PP_REMEDY_NO_SYNC},
    {"sync", "small-batch", WHEN(AT_LEAST(GPU_HOST, MOST_IDLE_TIME), AT_LEAST(GPU_OVERHEAD, LEAST_OF_STEP)),
     .said =
         "sync: steps on {batch_size|sample|samples} are too short: kernel launches and device syncs take {gpu_overhead} of the time",
     .remedy = PP_REMEDY_LARGER_BATCH},
    {"transform", "gpu-decode", WHEN(AT_LEAST(W_COPY, LARGEST), AT_LEAST(DECODE_BUSY, MOST_TIME)),
     GPU_DECODING},
    {"loader", "pin-memory", WHEN(AT_LEAST(W_COPY, LARGEST), AT_LEAST(PIN_BUSY, MOST_TIME)), PINNING},
    {NULL, NULL, WHEN(AT_LEAST(W_COPY, LARGEST), BELOW(GPU_TOLD, RECORDED)),
     .said = "copies may delay the batches, but GPU activity is NOT MEASURED: {gpu_not_measured}",
     .remedy = PP_REMEDY_CUPTI},
    {NULL, NULL, WHEN(AT_LEAST(W_SYNC, LARGEST), BELOW(GPU_TOLD, RECORDED)),
     .said = "device syncs may delay the trainer, but GPU activity is NOT MEASURED: {gpu_not_measured}",
     .remedy = PP_REMEDY_CUPTI},
    {"sync", "implicit-sync", WHEN(AT_LEAST(W_SYNC, LARGEST)),
     .said = "sync: the trainer waits for a device sync after every batch of {batch_size}",
     .remedy = PP_REMEDY_NO_SYNC},
    {"sync", "pageable",
     WHEN(AT_LEAST(W_COPY, LARGEST), AT_LEAST(PAGEABLE, CONFIGURED),
          AT_LEAST(COPY_CPU, 0.3, "a copy engine needs no CPU: measured under 0.1 pinned")),
     .said = "sync: copies delay the batches, and {copy_cpu} of their time is CPU time for pageable memory",
     .remedy = PP_REMEDY_PINNED},
    {"sync", "serial-copy",
     WHEN(AT_LEAST(W_COPY, LARGEST),
          AT_LEAST(G_BUFFERS, 0.1, "half of what perfect overlap of unequal parts gains")),
     .said = "sync: copy and step do not overlap, because the device has one buffer",
     .remedy = PP_REMEDY_COPY_BUFFERS},
    {"sync", "h2d-bandwidth", WHEN(AT_LEAST(W_COPY, LARGEST)),
     .said =
         "sync: the link to the device is the bottleneck, the copy lane is in h2d for {copy_busy} of the stalls",
     .remedy = PP_REMEDY_COPY_LESS},
    {"storage", "hot-prefix",
     WHEN(AT_LEAST(W_ERRORS, AVOIDABLE), AT_LEAST(REMOTE_REFUSED, SOME_REFUSED),
          AT_LEAST(HOT_PREFIX, 0.8,
                   "four of five: refusals of the whole store are spread as the requests are"),
          BELOW(HOT_PREFIX_PART, 0.6, "a prefix with most of the requests gets most refusals in any case")),
     .said =
         "storage: {prefix} gets {hot_prefix} of the refusals (503 SlowDown, 429) and {hot_prefix_part} of the answers; {remote_refused} of all requests are refused, and the retries wait",
     .remedy = PP_REMEDY_REMOTE_PREFIX},
    {"storage", "throttled", WHEN(AT_LEAST(W_ERRORS, AVOIDABLE), AT_LEAST(REMOTE_REFUSED, SOME_REFUSED)),
     .said =
         "storage: the store refuses {remote_refused} of the requests (503 SlowDown, 429), and waiting to ask again is {w_errors} of the possible gain",
     .remedy = PP_REMEDY_REMOTE_THROTTLED},
    {"loader", "errors", WHEN(AT_LEAST(W_ERRORS, AVOIDABLE)),
     .said = "loader: workers wait to retry failed reads, {w_errors} of the possible gain",
     .remedy = PP_REMEDY_ERRORS},
    {"storage", "slow-host",
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(SLOW_HOST, 3, "medians of 20 or more answers of one kind differ by chance by less than 2"),
          AT_LEAST(G_HOSTS, WORTH_A_FIX)),
     .said =
         "storage: {host} answers {slow_host} times as slowly as the other hosts, and gets {slow_host_part} of the requests",
     .remedy = PP_REMEDY_REMOTE_HOST},
    {"storage", "dns",
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(REMOTE_DNS_PART, 0.3, "a third of the requests' time: the work is avoidable"),
          AT_LEAST(G_KEPT, WORTH_A_FIX)),
     .said =
         "storage: looking host names up (DNS) is {remote_dns_part} of the requests' time, with {remote_connects} connections per request",
     .remedy = PP_REMEDY_REMOTE_DNS},
    {"storage", "connections",
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(REMOTE_SETUP_PART, 0.3, "a third of the requests' time: the work is avoidable"),
          AT_LEAST(G_KEPT, WORTH_A_FIX)),
     .said =
         "storage: connections are not kept: {remote_connects} are opened per request, and opening them (DNS, TCP, TLS) is {remote_setup_part} of the requests' time",
     .remedy = PP_REMEDY_REMOTE_CONNECTIONS},
    {"loader", "straggler-worker",
     WHEN(AT_LEAST(WORKER_SKEW, 3,
                   "workers share one queue of samples: their means differ by chance by less than 1.5")),
     .said =
         "loader: one worker takes {worker_skew} times as long per sample as the median worker, and batches wait for it",
     .remedy = PP_REMEDY_SLOW_WORKER},
    {"transform", "cgroup-throttled",
     STARVING(AT_LEAST(G_CPUS, WORTH_A_FIX),
              AT_LEAST(THROTTLED, 0.05, "the smallest share of a run that counts (5 %)"),
              BELOW(W_STORAGE, LARGEST)),
     .said = "transform: a CPU quota throttles the run, threads were stopped for {throttled} of the time",
     .remedy = PP_REMEDY_QUOTA},
    {"loader", "worker-threads",
     WHEN(AT_LEAST(HELPER_PART, 0.25, "a quarter: what one of four threads does beside the worker's own"),
          AT_LEAST(THREADS_PER_CPU, 2, "two threads for every usable CPU"), BELOW(IDLE_CPUS, CPUS_ARE_SHORT),
          AT_LEAST(W_WORK, LARGEST), BELOW(OWNER_BLOCKED, MOST_TIME)),
     .said =
         "loader: each of the {workers} workers computes in threads of its own ({worker_threads} of them, {helper_part} of the CPU time), and {cpus} usable CPUs are shared by all of them",
     .remedy = PP_REMEDY_WORKER_THREADS},
    {"loader", "oversubscribed",
     STARVING(AT_LEAST(G_FEWER, HALF_A_FIX), AT_LEAST(STRETCH, LEAST_OF_STEP), AT_LEAST(G_FEWER, HALF_A_FIX)),
     .said =
         "loader: {workers} workers oversubscribe {cpus} usable CPUs, and the trainer's own step takes {stretch} longer because of it",
     .remedy = PP_REMEDY_FEWER_WORKERS},
    {"loader", "prefetch",
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(READ_BURST, 0.5, "more than half on several workers at once"),
          AT_LEAST(PREFETCH_PART, 0.5, "more than half: on average storage is fast enough")),
     .said =
         "loader: storage stalls for all workers at once from time to time, and the prefetch is too shallow to hide it",
     .remedy = PP_REMEDY_PREFETCH},
    {"storage", "straggler-shard",
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(SHARD_SKEW, 3, "medians of 16 parts of equal data differ by chance by less than 2")),
     .said = "storage: one part of the data takes {shard_skew} times as long to read as the median part",
     .remedy = PP_REMEDY_SLOW_SHARD},
    {"storage", "page-cache",
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(REFAULT, 0.3, "a third of the bytes: warm reads make none"),
          BELOW(LIMIT_ROOM, 1.1, "the data does not fit under the limit with 10 % to spare"),
          AT_LEAST(MACHINE_ROOM, 1.1, "the data fits in the machine's memory with 10 % to spare")),
     .said =
         "storage: the page cache is too small: the control group's memory limit is {memory_limit}, the data takes {data_bytes}, and {refault} of the bytes read had been in the cache before",
     .remedy = PP_REMEDY_MEMORY_LIMIT},
    {"storage", "bandwidth",
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(DISK_LIMIT_USED, PP_LIMIT_USED,
                                                 "the throttle grants slices: the last one is not used up")),
     .said =
         "storage: the control group may read {disk_limit}/s from this disk, and {disk_limit_used} of that is used",
     .remedy = PP_REMEDY_DISK_LIMIT},
    {"storage", "iops-limit",
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(READS_LIMIT_USED, PP_LIMIT_USED,
                                                 "the throttle grants slices: the last one is not used up")),
     .said =
         "storage: the control group may make {reads_limit} reads/s from this disk, and {reads_limit_used} of that is used",
     .remedy = PP_REMEDY_READS_LIMIT},
    {"storage", "phase-change",
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(DRIFT, PP_DRIFT,
                   "medians of hundreds of reads of one kind differ by chance by less than 1.2")),
     .said = "storage: reads became slower during the run, the median by {drift} times",
     .remedy = PP_REMEDY_STORAGE_CHANGE},
    {"storage", "iops-limit",
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(PACED, 0, "reads complete at a constant rate, independent of their size")),
     .said =
         "storage: at most {paced} reads/s complete, independent of their size: a limit of reads per second (a volume's IOPS, a metadata server)",
     .remedy = PP_REMEDY_READS_LIMIT},
    {"storage", "bandwidth",
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(LINK, 0, "bytes complete at a constant rate"),
          BELOW(READ_SERIAL, PP_SERIAL, "they do not finish one by one")),
     .said =
         "storage: {link}/s and no more come back, in slices: a limit of bytes per second (a volume's throughput)",
     .remedy = PP_REMEDY_DISK_LIMIT},
    {"storage", "latency-tail",
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(READ_TAIL, 8,
                   "an exponential distribution has 6.6; above it there are two kinds of reads")),
     .said = "storage: the slowest 1 % of the reads take {read_tail} times the median",
     .remedy = PP_REMEDY_READ_TAIL},
    {"storage", "bandwidth",
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(READ_SERIAL, PP_SERIAL,
                   "bytes explain half of the variance of the times of the reads (0.7 squared)")),
     .said = "storage: all reads share one saturated link: more reads at a time are no faster",
     .remedy = PP_REMEDY_FEWER_BYTES},
    {"storage", "small-objects",
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(STREAMED, CONFIGURED),
          AT_LEAST(SMALL_SHARDS, MOST_OF_REQUESTS)),
     .said =
         "storage: shards are too small for the latency: requests are made one after the other, each waits {remote_first} for its first byte, and a shard has {remote_shard} (requests per shard: {shard_requests})",
     .remedy = PP_REMEDY_LARGER_SHARDS},
    {"storage", "stream-bandwidth",
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(STREAMED, CONFIGURED),
          AT_LEAST(REMOTE_TRANSFER_PART, MOST_OF_REQUESTS)),
     .said =
         "storage: the stream's one connection brings {remote_stream}/s, and the transfer of a piece of {remote_bytes} is {remote_transfer_part} of a request's time",
     .remedy = PP_REMEDY_STREAM_READER},
    {"storage", "in-flight",
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(STREAMED, CONFIGURED),
          AT_LEAST(REMOTE_FIRST_PART, MOST_OF_REQUESTS)),
     .said =
         "storage: the stream is read by one request after the other, {remote_bytes} each on average, and each takes {remote_first} until its first byte",
     .remedy = PP_REMEDY_STREAM_READER},
    {"storage", "latency", WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(STREAMED, CONFIGURED)),
     .said =
         "storage: one thread reads the stream for all workers, and its reads are {w_storage} of the possible gain",
     .remedy = PP_REMEDY_STREAM_READER},
    {"storage", "stream-bandwidth",
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(REMOTE_TRANSFER_PART, MOST_OF_REQUESTS)),
     .said =
         "storage: a connection brings {remote_stream}/s, and the transfer of {remote_bytes} is {remote_transfer_part} of a request's time; {remote_flight} are in flight",
     .remedy = PP_REMEDY_REMOTE_STREAM},
    {"storage", "small-objects",
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(REMOTE_FIRST_PART, MOST_OF_REQUESTS),
          BELOW(REMOTE_BYTES, 1048576, "1 MiB: below it the request is the cost, not the bytes"),
          AT_LEAST(REMOTE_NEEDED, 256, "more requests in flight than one client should have")),
     .said =
         "storage: objects are too small for the latency: {remote_bytes} take {remote_first} until the first byte, and {remote_needed} requests in flight would be needed, {remote_flight} are used",
     .remedy = PP_REMEDY_REMOTE_PACK},
    {"storage", "in-flight",
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(REMOTE_FIRST_PART, MOST_OF_REQUESTS),
          AT_LEAST(REMOTE_NEEDED, 1, "Little's law: rate x time of a request")),
     .said =
         "storage: too few requests in flight for the latency: {remote_needed} needed, {remote_flight} used; a request takes {remote_first} until its first byte",
     .remedy = PP_REMEDY_REMOTE_IN_FLIGHT},
    {"storage", "in-flight",
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(REMOTE_FIRST_PART, MOST_OF_REQUESTS)),
     .said =
         "storage: too few requests in flight for the latency: {remote_flight} in flight, of which each takes {remote_first} until its first byte",
     .remedy = PP_REMEDY_REMOTE_IN_FLIGHT},
    {"storage", "major-faults",
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          AT_LEAST(MAJOR_FAULTS, 0.5, "more than half: a read into a buffer causes none")),
     .said =
         "storage: the data is mapped (mmap) and not in memory: {major_faults} major page faults per sample, each for a few pages",
     .remedy = PP_REMEDY_READ_AHEAD},
    {"storage", "metadata",
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          BELOW(READ_BYTES, 4096, "a page: below it the request is the cost, not the bytes")),
     .said = "storage: small files: each read of {read_bytes} bytes costs a whole request",
     .remedy = PP_REMEDY_PACK},
    {"storage", "cold-cache",
     WHEN(AT_LEAST(W_STORAGE, LARGEST), AT_LEAST(MISS, 0.5, "more than half"),
          AT_LEAST(FREE_MEMORY, 0.1, "the data fits in memory with 10 % to spare"),
          AT_LEAST(FIRST_TOUCH, 0.5, "more than half: a later epoch would find them in the page cache")),
     .said =
         "storage: {miss} of the reads miss the page cache. The dataset fits in memory: later epochs will be faster",
     .remedy = PP_REMEDY_WARM_CACHE},
    {"storage", "latency", WHEN(OWNER(BIT(READ)), AT_LEAST(W_STORAGE, LARGEST)),
     .said =
         "storage: read takes {owner_share} of the workers' time in the stalls and is blocked for {blocked} of it, independent of its size",
     .remedy = PP_REMEDY_READS_IN_FLIGHT},
    /* another phase takes more of it, or none does: what the workers are blocked in must be reads all the
       same */
    {"storage", "latency",
     WHEN(AT_LEAST(W_STORAGE, LARGEST),
          BELOW(BLOCKED_ELSEWHERE, 0.5, "half: else what the largest phase waits for comes first")),
     .said = "storage: reads are {w_storage} of the possible gain, independent of their size",
     .remedy = PP_REMEDY_READS_IN_FLIGHT},
    {"loader", "lock", WHEN(AT_LEAST(W_LOCK, LARGEST)),
     .said = "loader: lock contention in decode: workers are blocked for {blocked} of {owner}",
     .remedy = PP_REMEDY_LOCK},
    {"loader", "straggler-sample",
     WHEN(AT_LEAST(W_WORK, LARGEST),
          AT_LEAST(WORK_TAIL, 8,
                   "an exponential distribution has 6.6; above it there are two kinds of samples")),
     .said =
         "loader: the most expensive 1 % of the samples take {work_tail} times the median, and the batches behind them wait",
     .remedy = PP_REMEDY_OUT_OF_ORDER},
    {"transform", "per-sample",
     WHEN(AT_LEAST(W_WORK, LARGEST), BELOW(SAMPLE_COST, TINY_SAMPLE), AT_LEAST(ONE_BY_ONE, CONFIGURED)),
     PER_SAMPLE},
    {"loader", "under-parallel",
     WHEN(IN_THE_TRAINER, AT_LEAST(W_WORK, LARGEST), AT_LEAST(G_WORKERS, WORTH_A_FIX),
          BELOW(BUSY_CPUS, SATURATED)),
     .said = NO_WORKERS, .remedy = PP_REMEDY_MORE_WORKERS},
    {"loader", "under-parallel",
     WHEN(IN_THE_TRAINER, AT_LEAST(W_WORK, LARGEST), AT_LEAST(G_WORKERS, WORTH_A_FIX),
          BELOW(OWNER_DELAY, CROWDED)),
     .said =
         "loader: num_workers=0: the training thread makes each batch itself, most of the time in {owner}, and no step goes on meanwhile",
     .remedy = PP_REMEDY_MORE_WORKERS},
    {"loader", "under-parallel",
     WHEN(AT_LEAST(W_WORK, LARGEST), AT_LEAST(G_WORKERS, WORTH_A_FIX), BELOW(WORKERS_PER_CPU, WORKER_PER_CPU),
          BELOW(BUSY_CPUS, SATURATED)),
     .said = TOO_FEW_WORKERS, .remedy = PP_REMEDY_MORE_WORKERS},
    {"loader", "under-parallel",
     WHEN(AT_LEAST(W_WORK, LARGEST), AT_LEAST(G_WORKERS, WORTH_A_FIX), BELOW(WORKERS_PER_CPU, WORKER_PER_CPU),
          AT_LEAST(WORKERS_LEAD, 0, "what gains most comes first")),
     .said =
         "loader: the {workers|worker is|workers are all} busy with {owner}; more of them gain more than free CPUs would, though {others} use {contended} of the usable CPUs",
     .remedy = PP_REMEDY_MORE_WORKERS},
    {"loader", "oversubscribed",
     STARVING(AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST), AT_LEAST(STRETCH, LEAST_OF_STEP),
              AT_LEAST(OWN_CROWD, 0.5, "more than half of it"),
              AT_LEAST(WORKERS_PER_CPU, 2, "two workers for every usable CPU")),
     .said =
         "loader: {workers} workers oversubscribe {cpus} usable CPUs: they are {own_crowd} of the runnable threads besides the trainer, whose own step takes {stretch} longer",
     .remedy = PP_REMEDY_FEWER_WORKERS_LESS_WORK},
    {"loader", "blocked",
     WHEN(OWNER(COMPUTE), AT_LEAST(BLOCKED_ELSEWHERE, MOST_TIME),
          BELOW(MAJOR_FAULTS, 0.5, "less than one of two samples has one: it is not paged in")),
     .said =
         "loader: {owner} is blocked for {blocked} of its time, and not in a read that was timed: a lock, the network, or a sleep",
     .remedy = PP_REMEDY_WHAT_BLOCKS},
    {"transform", "cpu-contended",
     STARVING(AT_LEAST(G_CPUS, WORTH_A_FIX), AT_LEAST(G_CPUS, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST),
              AT_LEAST(CONTENDED_RISE, 0.2, "a fifth of the usable CPUs"), BELOW(IDLE_CPUS, CPUS_ARE_SHORT)),
     .said =
         "transform: CPU contention that began during the run: {others} used {contended_before} of the usable CPUs at first, and {contended} from {contended_at} of the run on",
     .remedy = PP_REMEDY_OTHER_LOAD},
    /* What a job makes of its samples in Python of its own can be made cheap, which no replay knows. Others
     * on its CPUs come first where little of the stall would be left without them, or where they take more
     * than the work itself. */
    {"transform", "cpu-contended",
     STARVING(AT_LEAST(G_CPUS, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST), AT_LEAST(CPUS_LEAD, CHEAPER_FIRST),
              BELOW(CPUS_LEAVE, LITTLE_LEFT), AT_LEAST(CONTENDED, OTHERS_COUNT),
              BELOW(IDLE_CPUS, CPUS_ARE_SHORT)),
     .said = CONTENTION, .remedy = PP_REMEDY_OTHER_LOAD},
    {"transform", "cpu-contended",
     STARVING(AT_LEAST(G_CPUS, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST), AT_LEAST(CPUS_LEAD, CHEAPER_FIRST),
              AT_LEAST(OWNER_DELAY, CROWDED), AT_LEAST(CONTENDED, OTHERS_COUNT),
              BELOW(IDLE_CPUS, CPUS_ARE_SHORT)),
     .said = CONTENTION, .remedy = PP_REMEDY_OTHER_LOAD},
    {"transform", "getitem",
     STARVING(AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST),
              AT_LEAST(TRANSFORM_PART, MOST_CPU_WORK),
              IS_UNKNOWN(TRANSFORMS, "transforms have a cause of their own"),
              IS_KNOWN(HELD_ADVICE, "a data set of such a kind")),
     .said = "transform: {sample_code} is {transform_part} of the CPU work; the data set holds {held}",
     .remedy = PP_REMEDY_SAMPLE_HELD},
    {"transform", "getitem",
     STARVING(AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST),
              AT_LEAST(TRANSFORM_PART, MOST_CPU_WORK),
              IS_UNKNOWN(TRANSFORMS, "transforms have a cause of their own"),
              IS_KNOWN(SAMPLE_CODE, "a PyTorch data set")),
     .said = "transform: {sample_code} is {transform_part} of the CPU work", .remedy = PP_REMEDY_SAMPLE_CODE},
    {"transform", "collate",
     STARVING(AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST), AT_LEAST(COLLATE_PART, MOST_CPU_WORK),
              IS_KNOWN(SAMPLE_CODE, "a PyTorch data set")),
     .said = "transform: collate is {collate_part} of the CPU work", .remedy = PP_REMEDY_COLLATE},
    {"transform", "cpu-contended",
     STARVING(AT_LEAST(G_CPUS, WORTH_A_FIX), AT_LEAST(STRETCH, LEAST_OF_STEP), AT_LEAST(G_CPUS, WORTH_A_FIX),
              AT_LEAST(CPUS_LEAD, CHEAPER_FIRST), AT_LEAST(CONTENDED, OTHERS_COUNT),
              BELOW(IDLE_CPUS, CPUS_ARE_SHORT)),
     .said =
         "transform: CPU contention: {others} use {contended} of the usable CPUs, and this run's workers are {own_crowd} of the runnable threads besides the trainer",
     .remedy = PP_REMEDY_OTHER_LOAD},
    {"transform", "cpu-contended",
     STARVING(AT_LEAST(G_CPUS, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST), AT_LEAST(CPUS_LEAD, CHEAPER_FIRST),
              AT_LEAST(CONTENDED, OTHERS_COUNT), BELOW(IDLE_CPUS, CPUS_ARE_SHORT)),
     .said = CONTENTION, .remedy = PP_REMEDY_OTHER_LOAD},
    {"transform", "cpu-contended",
     STARVING(AT_LEAST(G_CPUS_WORKERS, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST),
              BELOW(WORKERS_PER_CPU, WORKER_PER_CPU), AT_LEAST(G_CPUS_WORKERS, WORTH_A_FIX),
              AT_LEAST(CONTENDED, OTHERS_COUNT), BELOW(IDLE_CPUS, CPUS_ARE_SHORT)),
     .said =
         "transform: CPU contention: the {workers|worker is|workers are all} busy with {owner}, and {others} use the CPUs that more workers would need ({contended} of the usable CPUs)",
     .remedy = PP_REMEDY_OTHER_LOAD_THEN_WORKERS},
    {"transform", "collate",
     STARVING(AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST),
              AT_LEAST(COLLATE_PART, MOST_CPU_WORK)),
     .said = "transform: collate is {collate_part} of the CPU work", .remedy = PP_REMEDY_COLLATE},
    {"transform", "augment",
     STARVING(AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST),
              AT_LEAST(TRANSFORM_PART, MOST_CPU_WORK)),
     .said =
         "transform: the transforms are {transform_part} of the CPU work[ ({transforms} of {sample_code})]",
     .remedy = PP_REMEDY_AUGMENT},
    {"transform", "cpu-saturated",
     STARVING(AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST), BELOW(IDLE_CPUS, CPUS_ARE_SHORT)),
     .said =
         "transform: {owner} takes {owner_share} of the workers' time, and the CPUs are saturated ({saturation} used by this run, {contended} by other processes)",
     .remedy = PP_REMEDY_LESS_WORK},
};
const size_t pp_cause_rules_replay_n = sizeof(pp_cause_rules_replay) / sizeof(pp_cause_rules_replay[0]);

/* Without a replay (too few samples, no CPU accounting), and where it decides nothing: the
 * phase that owns the stalls, and its shares of CPU time, run-queue delay and blocked time. */
const struct pp_rule pp_cause_rules_shares[] = {
    {"loader", "unpickle", WHEN(AT_LEAST(HANDOVER, MOST_OF_WAIT), BELOW(CONTENDED, OTHERS_COUNT)),
     UNPICKLING},
    {"loader", "unpickle", WHEN(AT_LEAST(HANDOVER, MOST_OF_WAIT), AT_LEAST(IDLE_CPUS, CPUS_ARE_SHORT)),
     UNPICKLING},
    {NULL, NULL, WHEN(OWNER(BIT(DEVICE_SYNC) | BIT(H2D)), BELOW(GPU_TOLD, RECORDED)),
     .said =
         "{owner} takes {owner_share} of the stalls, but GPU activity is NOT MEASURED: {gpu_not_measured}",
     .remedy = PP_REMEDY_CUPTI},
    {NULL, NULL, WHEN(OWNER(BIT(DEVICE_SYNC) | BIT(H2D)), AT_LEAST(GPU_TOLD, RECORDED)),
     .said =
         "{owner} takes {owner_share} of the stalls on the host, but copies are {gpu_copy} of the GPU's idle time, and syncs and launches {gpu_host}: no single cause",
     .remedy = PP_REMEDY_RECORD_LONGER},
    {"sync", "rank-straggler", WHEN(OWNER(BIT(COLLECTIVE)), AT_LEAST(LAST_SHARE, MOST_MEETINGS)), STRAGGLER},
    {"sync", "rank-imbalance", WHEN(OWNER(BIT(COLLECTIVE)), BELOW(LAST_SHARE, MOST_MEETINGS)), IMBALANCE},
    {"sync", NULL, WHEN(OWNER(BIT(COLLECTIVE))),
     .said = "sync: {owner_share} of that wait is for other ranks; the last rank was not recorded",
     .remedy = PP_REMEDY_RECORD_RANKS},
    {"sync", "implicit-sync", WHEN(OWNER(BIT(DEVICE_SYNC))),
     .said = "sync: {owner_share} of that wait is device sync", .remedy = PP_REMEDY_NO_SYNC},
    {"sync", "pageable", WHEN(OWNER(BIT(H2D)), AT_LEAST(PAGEABLE, CONFIGURED)),
     .said =
         "sync: during the stalls the copy lane is in h2d for {owner_share} of the time, and the batch memory is pageable",
     .remedy = PP_REMEDY_PINNED},
    {"sync", NULL, WHEN(OWNER(BIT(H2D))),
     .said =
         "sync: during the stalls the copy lane is in h2d for {owner_share} of the time, while the workers wait for free slots",
     .remedy = PP_REMEDY_LESS_OR_OVERLAPPED},
    {"transform", "gpu-decode", WHEN(OWNER(BIT(GPU_DECODE))), GPU_DECODING},
    {"loader", "pin-memory", WHEN(OWNER(BIT(PIN))), PINNING},
    {"loader", "errors", WHEN(OWNER(BIT(RETRY))),
     .said = "loader: during the stalls the workers wait to retry failed reads for {owner_share} of the time",
     .remedy = PP_REMEDY_ERRORS},
    {"loader", "lease-wait", WHEN(OWNER(BIT(LEASE_WAIT))),
     .said =
         "loader: during the stalls the shard reader waits for {owner_share} of the time for shards that other ranks hold[, most of them {lease_holder}]",
     .remedy = PP_REMEDY_LEASES},
    /* threads / CPUs = r leaves 1 - 1/r of the time in the run queue: 2 per CPU give 0.50, 4 per CPU 0.75 */
    {"loader", "oversubscribed",
     WHEN(OWNER(WORK), AT_LEAST(OWNER_DELAY, CROWDED), AT_LEAST(SATURATION, SATURATED)),
     .said =
         "loader: {workers|worker shares|workers share} {cpus} usable CPUs, and {owner} waits for a CPU for {run_queue} of its time",
     .remedy = PP_REMEDY_FEWER_WORKERS_AUTO},
    {"transform", "cpu-contended",
     WHEN(OWNER(WORK), AT_LEAST(OWNER_DELAY, CROWDED), BELOW(SATURATION, SATURATED),
          BELOW(OWNER_BLOCKED, MOST_TIME), AT_LEAST(CONTENDED, OTHERS_COUNT)),
     .said =
         "transform: CPU contention: {owner} waits for a CPU for {run_queue} of its time; {others} use {contended} of the usable CPUs, and this run {saturation}",
     .remedy = PP_REMEDY_OTHER_LOAD},
    {"transform", "cgroup-throttled",
     WHEN(OWNER(WORK), AT_LEAST(OWNER_DELAY, MUCH_DELAY),
          AT_LEAST(THROTTLED, 0.05, "the smallest share of a run that counts (5 %)"),
          BELOW(OWNER_BLOCKED, MOST_TIME)),
     .said =
         "transform: a CPU quota throttles the run, threads were stopped for {throttled} of the time, and {owner} waits for a CPU for {run_queue} of its time",
     .remedy = PP_REMEDY_QUOTA},
    {"loader", "oversubscribed",
     WHEN(OWNER(WORK), AT_LEAST(OWNER_DELAY, MUCH_DELAY), BELOW(OWNER_BLOCKED, MOST_TIME),
          BELOW(CONTENDED, OTHERS_COUNT), BELOW(IDLE_CPUS, CPUS_ARE_SHORT)),
     .said =
         "loader: the job's own threads take the CPUs from each other: {owner} of {workers|worker|workers} on {cpus} usable CPUs waits for a CPU for {run_queue} of its time, and other processes use only {contended}",
     .remedy = PP_REMEDY_FEWER_WORKERS_AUTO},
    {"transform", "cpu-contended",
     WHEN(OWNER(WORK), AT_LEAST(OWNER_DELAY, MUCH_DELAY), BELOW(SATURATION, SATURATED),
          BELOW(OWNER_BLOCKED, MOST_TIME),
          IS_UNKNOWN(CONTENDED, "what other processes use was not recorded")),
     .said =
         "transform: CPU contention: {owner} waits for a CPU for {run_queue} of its time, while this run uses only {saturation} of the usable CPUs",
     .remedy = PP_REMEDY_OTHER_LOAD_OR_QUOTA},
    {"storage", NULL, WHEN(OWNER(BIT(READ)), AT_LEAST(OWNER_BLOCKED, MOST_TIME)),
     .said =
         "storage: during the stalls read takes {owner_share} of the workers' time and is blocked for {blocked} of it",
     .remedy = PP_REMEDY_STORAGE},
    {"loader", NULL, WHEN(OWNER(COMPUTE), AT_LEAST(OWNER_BLOCKED, MOST_TIME)),
     .said = "loader: {owner} is blocked for {blocked} of its time: a lock, page faults, or sleep",
     .remedy = PP_REMEDY_WHAT_BLOCKS},
    {"transform", "per-sample",
     WHEN(OWNER(COMPUTE), BELOW(OWNER_BLOCKED, MOST_TIME), BELOW(SAMPLE_COST, TINY_SAMPLE),
          AT_LEAST(ONE_BY_ONE, CONFIGURED)),
     PER_SAMPLE},
    {"transform", "getitem",
     WHEN(OWNER(BIT(TRANSFORM)), BELOW(OWNER_BLOCKED, MOST_TIME), AT_LEAST(BUSY_CPUS, SATURATED),
          IS_UNKNOWN(TRANSFORMS, "transforms have a cause of their own"),
          IS_KNOWN(HELD_ADVICE, "a data set of such a kind")),
     .said =
         "transform: {sample_code} takes {owner_share} of the workers' time, and {busy_cpus} of the usable CPUs are in use; the data set holds {held}",
     .remedy = PP_REMEDY_SAMPLE_HELD},
    {"transform", "getitem",
     WHEN(OWNER(BIT(TRANSFORM)), BELOW(OWNER_BLOCKED, MOST_TIME), AT_LEAST(BUSY_CPUS, SATURATED),
          IS_UNKNOWN(TRANSFORMS, "transforms have a cause of their own"),
          IS_KNOWN(SAMPLE_CODE, "a PyTorch data set")),
     .said =
         "transform: {sample_code} takes {owner_share} of the workers' time, and {busy_cpus} of the usable CPUs are in use",
     .remedy = PP_REMEDY_SAMPLE_CODE},
    {"transform", "cpu-saturated",
     WHEN(OWNER(WORK), BELOW(OWNER_BLOCKED, MOST_TIME), AT_LEAST(BUSY_CPUS, SATURATED)),
     .said =
         "transform: {owner} takes {owner_share} of the workers' time and {busy_cpus} of the usable CPUs are in use, {saturation} by this run",
     .remedy = PP_REMEDY_LESS_WORK},
    /* workers that start and end with every epoch leave CPUs idle, which more workers do not change */
    {"transform", "cpu-saturated",
     WHEN(OWNER(WORK), BELOW(OWNER_BLOCKED, MOST_TIME), AT_LEAST(WORKERS_PER_CPU, WORKER_PER_CPU),
          BELOW(G_WORKERS, NOT_WORTH_A_FIX), AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST)),
     .said =
         "transform: {owner} takes {owner_share} of the workers' time, and there is a worker for every usable CPU: more workers would gain {g_workers}",
     .remedy = PP_REMEDY_LESS_WORK},
    {"loader", "under-parallel",
     WHEN(OWNER(WORK), IN_THE_TRAINER, BELOW(OWNER_BLOCKED, MOST_TIME), BELOW(BUSY_CPUS, SATURATED)),
     .said = NO_WORKERS, .remedy = PP_REMEDY_MORE_WORKERS},
    {"loader", "under-parallel",
     WHEN(OWNER(WORK), BELOW(OWNER_BLOCKED, MOST_TIME), BELOW(BUSY_CPUS, SATURATED)), .said = TOO_FEW_WORKERS,
     .remedy = PP_REMEDY_MORE_WORKERS},
    /* what passes a batch on (a thread of the worker, the trainer that takes it) needs a CPU as well */
    {"transform", "cpu-contended",
     WHEN(OWNER(BIT(NONE)), AT_LEAST(CONTENDED, OTHERS_COUNT), BELOW(IDLE_CPUS, CPUS_ARE_SHORT),
          AT_LEAST(G_CPUS, WORTH_A_FIX)),
     .said = LATE_FOR_CPUS, .remedy = PP_REMEDY_OTHER_LOAD},
    {"transform", "cpu-contended",
     WHEN(OWNER(BIT(NONE)), AT_LEAST(CONTENDED, OTHERS_COUNT), BELOW(IDLE_CPUS, CPUS_ARE_SHORT),
          IS_UNKNOWN(G_CPUS, "there is no replay")),
     .said = LATE_FOR_CPUS, .remedy = PP_REMEDY_OTHER_LOAD},
    {"loader", "straggler-sample",
     WHEN(OWNER(BIT(NONE)), AT_LEAST(SAMPLE_TAIL, TWO_KINDS), AT_LEAST(G_PREFETCH, WORTH_A_FIX)),
     SLOW_SAMPLES},
    {"loader", "straggler-sample",
     WHEN(OWNER(BIT(NONE)), AT_LEAST(SAMPLE_TAIL, TWO_KINDS), AT_LEAST(G_ORDER, WORTH_A_FIX)), SLOW_SAMPLES},
    {"loader", NULL, WHEN(OWNER(BIT(NONE)), AT_LEAST(G_ORDER, WORTH_A_FIX)), .said = LATE_BATCHES,
     .remedy = PP_REMEDY_PREFETCH_OR_ORDER},
    {"loader", NULL, WHEN(OWNER(BIT(NONE)), AT_LEAST(G_PREFETCH, WORTH_A_FIX)), .said = LATE_BATCHES,
     .remedy = PP_REMEDY_PREFETCH_OR_ORDER},
    {"loader", NULL, WHEN(OWNER(BIT(NONE)), IS_UNKNOWN(G_PREFETCH, "there is no replay")),
     .said = LATE_BATCHES, .remedy = PP_REMEDY_PREFETCH_OR_ORDER},
};
const size_t pp_cause_rules_shares_n = sizeof(pp_cause_rules_shares) / sizeof(pp_cause_rules_shares[0]);

/* Workers are idle in the stalls: what they compute is not what the trainer waits for, and more of them would
 * be idle too. Workers are at work: the batch is not there to be unpickled. */
#define THEIR_WORK BELOW(WORKER_IDLE, MOST_OF_WAIT)
const struct pp_lane_rule pp_lane_rules[] = {
    {"transform", "getitem", THEIR_WORK},
    {"transform", "per-sample", THEIR_WORK},
    {"transform", "augment", THEIR_WORK},
    {"transform", "collate", THEIR_WORK},
    {"transform", "cpu-saturated", THEIR_WORK},
    {"loader", "under-parallel", THEIR_WORK},
    {"loader", "unpickle", AT_LEAST(WORKER_IDLE, MOST_OF_WAIT)},
};
const size_t pp_lane_rules_n = sizeof(pp_lane_rules) / sizeof(pp_lane_rules[0]);

const struct pp_rule pp_outside_rules[] = {
    {"sync", "pageable",
     WHEN(AT_LEAST(COPY_BLOCKS, LEAST_OF_STEP), AT_LEAST(G_PINNED, WORTH_A_FIX),
          AT_LEAST(G_PINNED_LEAST, 0.0001, "a gain whose 80 % interval holds none is not sure")),
     .said =
         "sync: the training thread spends {copy_blocks} of the time in copies from pageable memory, each of which waits for the GPU's earlier work",
     .remedy = PP_REMEDY_PINNED},
    {"loader", "iterator-per-step",
     WHEN(AT_LEAST(EPOCH, WORTH_A_FIX), AT_LEAST(ITERATOR_OF, 2, "an iterator of one batch gives no more")),
     .said =
         "loader: every step makes an iterator of its own, takes one of its {iterator_of} batches and drops it; starting over takes {epoch} of the time",
     .remedy = PP_REMEDY_ONE_ITERATOR},
    {"loader", "lease-wait", WHEN(AT_LEAST(LEASE_EPOCH, WORTH_A_FIX)),
     .said =
         "loader: {lease_epoch} of the time is spent at the end of epochs without a shard, while other ranks hold those that are left[, most of them {lease_holder}]",
     .remedy = PP_REMEDY_LEASES},
    {"loader", "sampler-draw",
     WHEN(AT_LEAST(EPOCH, WORTH_A_FIX), AT_LEAST(SAMPLER_PART, 0.5, "more than half of it")), DRAWING},
    {"loader", "epoch-drain", WHEN(AT_LEAST(EPOCH, WORTH_A_FIX), AT_LEAST(MADE_AGAIN, CONFIGURED)),
     .said =
         "loader: the job makes its DataLoader anew for every pass over the data, and starting over takes {epoch} of the time",
     .remedy = PP_REMEDY_ONE_LOADER},
    {"loader", "epoch-drain", WHEN(AT_LEAST(EPOCH, WORTH_A_FIX), AT_LEAST(KEPT_WORKERS, CONFIGURED)),
     .said =
         "loader: epoch boundaries take {epoch} of the time: workers that stay begin the next epoch with no batch ready",
     .remedy = PP_REMEDY_PREFETCH_ACROSS},
    {"loader", "epoch-drain", WHEN(AT_LEAST(EPOCH, WORTH_A_FIX)),
     .said = "loader: epoch boundaries take {epoch} of the time", .remedy = PP_REMEDY_KEEP_WORKERS_PREFETCH},
    {"loader", "warm-up", WHEN(AT_LEAST(STARTUP, WORTH_A_FIX)),
     .said = "loader: start-up takes {startup} of the run", .remedy = PP_REMEDY_START_ONCE},
};
const size_t pp_outside_rules_n = sizeof(pp_outside_rules) / sizeof(pp_outside_rules[0]);

const struct pp_rule pp_trace_rules[] = {
    {"loader", "in-trainer", WHEN(AT_LEAST(IN_TRAINER, CONFIGURED)),
     .said = "loader: the trainer's own thread makes the batches (num_workers=0), and the step waits for it",
     .remedy = PP_REMEDY_MORE_WORKERS},
    {"storage", NULL, WHEN(OWNER(BIT(READ)), AT_LEAST(CALLS, TRACED), AT_LEAST(OWNER_SHARE, MOST_TIME)),
     .said =
         "storage: during the stalls the workers are in calls of files (open, read, close) for {owner_share} of their time",
     .remedy = PP_REMEDY_STORAGE},
};
const size_t pp_trace_rules_n = sizeof(pp_trace_rules) / sizeof(pp_trace_rules[0]);
