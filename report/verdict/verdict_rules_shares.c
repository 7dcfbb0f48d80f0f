#include "report/verdict/verdict_conditions.h"

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
         "no single cause. {owner} takes {owner_share} of the stalls on the host, but of the GPU's idle time copies are {gpu_copy}, syncs and launches {gpu_host}",
     .remedy = PP_REMEDY_RECORD_LONGER},
    {"sync", "rank-straggler", WHEN(OWNER(BIT(COLLECTIVE)), AT_LEAST(LAST_SHARE, MOST_MEETINGS)), STRAGGLER},
    {"sync", "rank-imbalance", WHEN(OWNER(BIT(COLLECTIVE)), BELOW(LAST_SHARE, LESS_MEETINGS)), IMBALANCE},
    {"sync", NULL, WHEN(OWNER(BIT(COLLECTIVE))),
     .said = "{owner_share} of the wait is for other ranks, and this file does not say for which",
     .remedy = PP_REMEDY_RECORD_RANKS},
    {"sync", "implicit-sync", WHEN(OWNER(BIT(DEVICE_SYNC))),
     .said = "the trainer waits for the device. {owner_share} of the wait is device sync",
     .remedy = PP_REMEDY_NO_SYNC},
    {"sync", "pageable", WHEN(OWNER(BIT(H2D)), AT_LEAST(PAGEABLE, CONFIGURED)),
     .said = "copies come from pageable memory. They run during {owner_share} of the stalls",
     .remedy = PP_REMEDY_PINNED},
    {"sync", NULL, WHEN(OWNER(BIT(H2D))),
     .said =
         "copies to the device are the limit. They run during {owner_share} of the stalls, while the workers wait for free slots",
     .remedy = PP_REMEDY_LESS_OR_OVERLAPPED},
    {"transform", "gpu-decode", WHEN(OWNER(BIT(GPU_DECODE))), GPU_DECODING},
    {"loader", "pin-memory", WHEN(OWNER(BIT(PIN))), PINNING},
    {"storage", "throttled", WHEN(OWNER(BIT(RETRY)), AT_LEAST(REMOTE_REFUSED, SOME_REFUSED)),
     .said =
         "the store refuses {remote_refused} of the requests (503 SlowDown, 429). The workers wait to ask again {owner_share} of the stalls",
     .remedy = PP_REMEDY_REMOTE_THROTTLED},
    {"loader", "errors", WHEN(OWNER(BIT(RETRY))),
     .said = "reads fail and are tried again. The workers wait for that {owner_share} of the stalls",
     .remedy = PP_REMEDY_ERRORS},
    {"loader", "lease-wait", WHEN(OWNER(BIT(LEASE_WAIT))),
     .said =
         "other ranks hold the shards that are left[, most of them {lease_holder}]. The shard reader waits for them {owner_share} of the stalls",
     .remedy = PP_REMEDY_LEASES},
    {"transform", "affinity", WHEN(OWNER(WORK), IS_BOUND, AT_LEAST(OWNER_DELAY, MUCH_DELAY)),
     .said = BOUND_TO "{owner} waits for a CPU for {run_queue} of its time", .remedy = PP_REMEDY_AFFINITY},
    {"loader", "worker-threads",
     WHEN(OWNER(WORK), MANY_THREADS, BELOW(IDLE_CPUS, CPUS_ARE_SHORT), BELOW(OWNER_BLOCKED, LESS_TIME)),
     THREADS_IN_WORKERS},
    /* threads / CPUs = r leaves 1 - 1/r of the time in the run queue: 2 per CPU give 0.50, 4 per CPU 0.75 */
    {"loader", "oversubscribed",
     WHEN(OWNER(WORK), AT_LEAST(OWNER_DELAY, CROWDED), AT_LEAST(SATURATION, SATURATED)),
     .said =
         "{workers|worker shares|workers share} {cpus} usable CPUs. {owner} waits for a CPU {run_queue} of its time",
     .remedy = PP_REMEDY_FEWER_WORKERS_AUTO},
    {"transform", "cpu-contended",
     WHEN(OWNER(WORK), AT_LEAST(OWNER_DELAY, CROWDED), BELOW(SATURATION, SATURATED),
          BELOW(OWNER_BLOCKED, LESS_TIME), AT_LEAST(CONTENDED, OTHERS_COUNT)),
     .said =
         "CPUs are short. {others} take {contended} of them, this run {saturation}. {owner} waits for a CPU {run_queue} of its time",
     .remedy = PP_REMEDY_OTHER_LOAD},
    {"transform", "cgroup-throttled",
     WHEN(OWNER(WORK), AT_LEAST(OWNER_DELAY, MUCH_DELAY),
          AT_LEAST(THROTTLED, 0.05, "the smallest share of a run that counts (5 %)"),
          BELOW(OWNER_BLOCKED, LESS_TIME)),
     .said =
         "a CPU quota throttles the run. It stops the job for {throttled_cpu} of the time of its CPUs, and {owner} waits for a CPU {run_queue} of its time",
     .remedy = PP_REMEDY_QUOTA},
    {"loader", "oversubscribed",
     WHEN(OWNER(WORK), AT_LEAST(OWNER_DELAY, MUCH_DELAY), BELOW(OWNER_BLOCKED, LESS_TIME),
          BELOW(CONTENDED, OTHERS_COUNT), BELOW(IDLE_CPUS, CPUS_ARE_SHORT)),
     .said =
         "the job's own threads take the CPUs from each other. {owner} of {workers|worker|workers} on {cpus} CPUs waits for a CPU {run_queue} of its time. Other processes use only {contended}",
     .remedy = PP_REMEDY_FEWER_WORKERS_AUTO},
    {"transform", "cpu-contended",
     WHEN(OWNER(WORK), AT_LEAST(OWNER_DELAY, MUCH_DELAY), BELOW(SATURATION, SATURATED),
          BELOW(OWNER_BLOCKED, LESS_TIME),
          IS_UNKNOWN(CONTENDED, "what other processes use was not recorded")),
     .said =
         "CPUs are not free. {owner} waits for a CPU {run_queue} of its time, while this run uses only {saturation} of the usable CPUs",
     .remedy = PP_REMEDY_OTHER_LOAD_OR_QUOTA},
    {"storage", NULL, WHEN(OWNER(BIT(READ)), AT_LEAST(OWNER_BLOCKED, MOST_TIME)),
     .said =
         "reads wait for storage. They take {owner_share} of the workers' time in the stalls, blocked for {blocked} of it",
     .remedy = PP_REMEDY_STORAGE},
    {"loader", NULL, WHEN(OWNER(COMPUTE), AT_LEAST(OWNER_BLOCKED, MOST_TIME)),
     .said =
         "{owner} waits {blocked} of its time for something that is no file read: a lock, page faults or a sleep",
     .remedy = PP_REMEDY_WHAT_BLOCKS},
    {"transform", "per-sample",
     WHEN(OWNER(COMPUTE), BELOW(OWNER_BLOCKED, LESS_TIME), BELOW(SAMPLE_COST, TINY_SAMPLE),
          AT_LEAST(ONE_BY_ONE, CONFIGURED)),
     PER_SAMPLE},
    {"transform", "getitem",
     WHEN(OWNER(BIT(TRANSFORM)), BELOW(OWNER_BLOCKED, LESS_TIME), AT_LEAST(BUSY_CPUS, SATURATED),
          IS_UNKNOWN(TRANSFORMS, "transforms have a cause of their own"),
          IS_KNOWN(HELD_ADVICE, "a data set of such a kind")),
     .said =
         "{sample_code} is slow. It takes {owner_share} of the workers' time, and {busy_cpus} of the CPUs are in use[ by {cpu_users}][. The data set holds {held}]",
     .remedy = PP_REMEDY_SAMPLE_HELD},
    {"transform", "getitem",
     WHEN(OWNER(BIT(TRANSFORM)), BELOW(OWNER_BLOCKED, LESS_TIME), AT_LEAST(BUSY_CPUS, SATURATED),
          IS_UNKNOWN(TRANSFORMS, "transforms have a cause of their own"),
          IS_KNOWN(SAMPLE_CODE, "a PyTorch data set")),
     .said =
         "{sample_code} is slow. It takes {owner_share} of the workers' time, and {busy_cpus} of the CPUs are in use[ by {cpu_users}]",
     .remedy = PP_REMEDY_SAMPLE_CODE},
    {"transform", "cpu-saturated",
     WHEN(OWNER(WORK), BELOW(OWNER_BLOCKED, LESS_TIME), AT_LEAST(BUSY_CPUS, SATURATED)),
     .said =
         "all CPUs are busy, mostly with {owner}. {busy_cpus} of them are in use, {saturation} by this run",
     .remedy = PP_REMEDY_LESS_WORK},
    /* workers that start and end with every epoch leave CPUs idle, which more workers do not change */
    {"transform", "cpu-saturated",
     WHEN(OWNER(WORK), BELOW(OWNER_BLOCKED, LESS_TIME), AT_LEAST(WORKERS_PER_CPU, WORKER_PER_CPU),
          BELOW(G_WORKERS, NOT_WORTH_A_FIX), AT_LEAST(G_WORK, WORTH_A_FIX), AT_LEAST(W_WORK, LARGEST)),
     .said =
         "{owner} takes {owner_share} of the workers' time, and every usable CPU has a worker. More workers would gain {g_workers}",
     .remedy = PP_REMEDY_LESS_WORK},
    {"loader", "under-parallel",
     WHEN(OWNER(WORK), IN_THE_TRAINER, BELOW(OWNER_BLOCKED, LESS_TIME), BELOW(BUSY_CPUS, SATURATED)),
     .said = NO_WORKERS, .remedy = PP_REMEDY_MORE_WORKERS},
    {"loader", "under-parallel",
     WHEN(OWNER(WORK), BELOW(OWNER_BLOCKED, LESS_TIME), BELOW(BUSY_CPUS, SATURATED)), .said = TOO_FEW_WORKERS,
     .remedy = PP_REMEDY_MORE_WORKERS},
    /* what passes a batch on (a thread of the worker, the trainer that takes it) needs a CPU as well */
    {"transform", "cpu-contended",
     WHEN(OWNER(BIT(NONE)), AT_LEAST(CONTENDED, OTHERS_COUNT), BELOW(IDLE_CPUS, CPUS_ARE_SHORT),
          AT_LEAST(G_CPUS, WORTH_A_FIX), AT_LEAST(LEAD_CPUS, AS_GOOD)),
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

/* Half a thread: most of the stall something of the job is at work. 20 looks tell a half from a fifth, by
 * three of their standard errors (binomial). */
#define THREADS_AT_WORK \
    AT_LEAST(THREADS_LOOKS, PP_LEAST_LOOKS, \
             "a second of stalls: three standard errors tell a half from a fifth"), \
        AT_LEAST(THREADS_WORK, 0.5, "most of the stall a thread of the job is at work")
#define THREADS_SAID \
    "While training waits, {threads_work|thread of the job is|threads of the job are} at work[ ({threads_names})]"
const struct pp_rule pp_cause_rules_threads[] = {
    {"storage", NULL, WHEN(THREADS_AT_WORK, AT_LEAST(THREADS_READ, MOST_TIME)),
     .said = "reads wait for storage. " THREADS_SAID ", {threads_read} of them in calls on files and sockets",
     .remedy = PP_REMEDY_STORAGE},
    {"loader", "lock", WHEN(THREADS_AT_WORK, AT_LEAST(THREADS_LOCKED, PP_LOCKED_MUCH, LOCKED_MUCH)), LOCKED},
    {"transform", "cpu-contended",
     WHEN(THREADS_AT_WORK, AT_LEAST(THREADS_COMPUTE, MOST_TIME), AT_LEAST(THREADS_READY, MUCH_DELAY),
          AT_LEAST(CONTENDED, OTHERS_COUNT), BELOW(IDLE_CPUS, CPUS_ARE_SHORT)),
     .said = "CPUs are short. Other processes take {contended} of them. " THREADS_SAID
             ", without a CPU for {threads_ready} of the time",
     .remedy = PP_REMEDY_OTHER_LOAD},
    {"transform", "cpu-saturated",
     WHEN(THREADS_AT_WORK, AT_LEAST(THREADS_COMPUTE, MOST_TIME), AT_LEAST(BUSY_CPUS, SATURATED)),
     .said = "making batches takes all CPUs: {busy_cpus} of them are in use. " THREADS_SAID
             ", {threads_compute} of them computing",
     .remedy = PP_REMEDY_LESS_WORK_THREADS},
    {"loader", "under-parallel",
     WHEN(THREADS_AT_WORK, AT_LEAST(THREADS_COMPUTE, MOST_TIME), BELOW(BUSY_CPUS, SATURATED)),
     .said = "too few threads make batches: only {busy_cpus} of the CPUs are in use. " THREADS_SAID
             ", {threads_compute} of them computing",
     .remedy = PP_REMEDY_MORE_WORKERS},
    {"transform", NULL, WHEN(THREADS_AT_WORK, AT_LEAST(THREADS_COMPUTE, MOST_TIME)),
     .said = "making batches takes CPU time. " THREADS_SAID ", {threads_compute} of them computing",
     .remedy = PP_REMEDY_LESS_WORK_THREADS},
};
const size_t pp_cause_rules_threads_n = sizeof(pp_cause_rules_threads) / sizeof(pp_cause_rules_threads[0]);

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
         "copies come from pageable memory. The training thread spends {copy_blocks} of the time in them, because each waits for the GPU's earlier work",
     .remedy = PP_REMEDY_PINNED},
    {"loader", "iterator-per-step",
     WHEN(AT_LEAST(EPOCH, WORTH_A_FIX), AT_LEAST(ITERATOR_OF, 2, "an iterator of one batch gives no more")),
     .said =
         "every step makes an iterator of its own and drops it after one of {iterator_of} batches. Starting over takes {epoch} of the time",
     .remedy = PP_REMEDY_ONE_ITERATOR},
    {"loader", "lease-wait", WHEN(AT_LEAST(LEASE_EPOCH, WORTH_A_FIX)),
     .said =
         "other ranks hold the last shards of each epoch[, most of them {lease_holder}]. This one waits for a shard {lease_epoch} of the time",
     .remedy = PP_REMEDY_LEASES},
    {"loader", "between-epochs",
     WHEN(AT_LEAST(BETWEEN, WORTH_A_FIX), AT_LEAST(BETWEEN_PART, 0.5, "more than half of it"),
          AT_LEAST(BETWEEN_MADE, 1, "a constructor of data has most of it")),
     .said =
         "a data set or loader is made anew between epochs: {between_code} has most of the {between_time} between two of them",
     .remedy = PP_REMEDY_MAKE_ONCE},
    {NULL, NULL,
     WHEN(AT_LEAST(BETWEEN, WORTH_A_FIX), AT_LEAST(BETWEEN_PART, 0.5, "more than half of it"),
          IS_KNOWN(BETWEEN_CODE, "stacks of the training thread")),
     .said =
         "the job's own code runs between epochs: {between_code} has most of the {between_time} between two of them",
     .remedy = PP_REMEDY_BETWEEN},
    {NULL, NULL, WHEN(AT_LEAST(BETWEEN, WORTH_A_FIX), AT_LEAST(BETWEEN_PART, 0.5, "more than half of it")),
     .said =
         "the job's own code runs between epochs, for {between_time} between two of them. No stacks name a line",
     .remedy = PP_REMEDY_BETWEEN},
    {"loader", "sampler-draw",
     WHEN(AT_LEAST(EPOCH, WORTH_A_FIX), AT_LEAST(SAMPLER_PART, 0.5, "more than half of it")), DRAWING},
    {"loader", "epoch-drain", WHEN(AT_LEAST(EPOCH, WORTH_A_FIX), AT_LEAST(MADE_AGAIN, CONFIGURED)),
     .said =
         "the job makes its DataLoader anew for every pass over the data. Starting over takes {epoch} of the time",
     .remedy = PP_REMEDY_ONE_LOADER},
    {"loader", "epoch-drain", WHEN(AT_LEAST(EPOCH, WORTH_A_FIX), AT_LEAST(KEPT_WORKERS, CONFIGURED)),
     .said =
         "every epoch begins with no batch ready, though the workers stay. Epoch boundaries take {epoch} of the time",
     .remedy = PP_REMEDY_PREFETCH_ACROSS},
    {"loader", "epoch-drain", WHEN(AT_LEAST(EPOCH, WORTH_A_FIX)),
     .said =
         "every epoch starts anew and waits for its first batch. Epoch boundaries take {epoch} of the time",
     .remedy = PP_REMEDY_KEEP_WORKERS_PREFETCH},
    {"loader", "lock", WHEN(AT_LEAST(STEP_LOCKED, WORTH_A_FIX)),
     .said =
         "threads of the job hold the interpreter's lock (GIL). The training step waits for it {step_locked} of the time, and more threads make that longer",
     .remedy = PP_REMEDY_LOCK},
    {"loader", "warm-up", WHEN(AT_LEAST(STARTUP, WORTH_A_FIX)),
     .said = "starting up takes {startup} of the run", .remedy = PP_REMEDY_START_ONCE},
};
const size_t pp_outside_rules_n = sizeof(pp_outside_rules) / sizeof(pp_outside_rules[0]);

const struct pp_rule pp_trace_rules[] = {
    {"loader", "in-trainer", WHEN(AT_LEAST(IN_TRAINER, CONFIGURED)),
     .said = "num_workers=0. The trainer's own thread makes the batches, and the step waits for it",
     .remedy = PP_REMEDY_MORE_WORKERS},
    {"storage", NULL, WHEN(OWNER(BIT(READ)), AT_LEAST(CALLS, TRACED), AT_LEAST(OWNER_SHARE, MOST_TIME)),
     .said =
         "reads wait for storage. The workers are in calls of files (open, read, close) for {owner_share} of the stalls",
     .remedy = PP_REMEDY_STORAGE},
};
const size_t pp_trace_rules_n = sizeof(pp_trace_rules) / sizeof(pp_trace_rules[0]);
