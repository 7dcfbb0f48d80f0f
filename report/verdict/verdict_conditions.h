/* report/verdict/verdict_conditions.h: how the tables of verdict_rules.h are written: limits with their
 * sources, conditions, and the words that rows of two tables share. */
#pragma once

#include "report/replay/requests.h"
#include "report/replay/storage.h"
#include "report/verdict/verdict_rules.h"

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
#define CHEAPER_FIRST -0.03, "gains as much as 25 % less work (within 3 %), so it is advised first"
#define AS_GOOD -0.03, "gains as much as the best other change (within 3 %), so it is advised first"
#define OPTION_FIRST -0.03, "within 3 % of what gains most: an option is cheaper than other hardware"
#define GAINS_MOST 0, "what gains most comes first"
#define LESS_MEETINGS PP_MOST_MEETINGS, "not twice as often as all other ranks together"
#define MOST_MEETINGS PP_MOST_MEETINGS, "twice as often as all other ranks together"
#define MUCH_DELAY 0.25, "without it, the owner's time shrinks by a quarter"
#define MOST_TIME 0.5, "more than half of its time"
#define LESS_TIME 0.5, "not more than half of its time"
#define MOST_OF_WAIT PP_LEAST_EXPLAINED, "more than half of the wait"
#define LOCKED_MUCH \
    "of two threads that share the lock one waits: half of the looks at most, less where a look misses it"
#define MOST_IDLE_TIME 0.5, "more than half of its idle time"
#define MOST_CPU_WORK 0.5, "more than half of the CPU work"
#define SATURATED 0.9, "utilisation law: a bottleneck's utilisation is near 1; 10 % for the system's own work"
#define WORKER_PER_CPU 1, "a worker for every usable CPU"
#define OTHERS_COUNT 0.05, "the smallest share that counts (5 %)"
#define CPUS_ARE_SHORT 0.1, "utilisation law: CPUs that are short have at most 10 % idle"
#define CONFIGURED 1, "the configuration of the run"
#define AVOIDABLE 0.3, "a third of the possible gain: the work is avoidable"
#define SOME_REFUSED PP_SOME_REFUSED, "1 % of the requests; a store that is not overloaded refuses far fewer"
#define MOST_OF_REQUESTS 0.5, "more than half of the requests' time"
#define RECORDED 1, "the recording has the GPU's activity, or not"
#define TRACED 1, "the trace has calls of processes that are not the trainer's, or not"

/* ---- conditions ---- */

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
/* A worker more takes a CPU of its own; where that gains much less than half of the work, CPUs are what
 * lacks. */
#define MORE_THAN_LESS_WORK \
    AT_LEAST(WORKERS_WORK, -0.125, "half of the work gains no more than a seventh beyond it")
#define NO_WORKERS \
    "num_workers=0. The training process makes each batch itself, mostly in {owner}, and only {busy_cpus} of the CPUs are in use[ by {cpu_users}]"
#define TOO_FEW_WORKERS \
    "there are too few workers. The {workers|worker is|workers are all} busy with {owner}, while only {busy_cpus} of the CPUs are in use[ by {cpu_users}]"
#define CONTENTION \
    "CPUs are short. {others} take {contended} of them[, and {owner} waits for a CPU {run_queue} of its time]"
#define LOCKED \
    .said = \
        "threads take turns. In the stalls {threads_locked} of those at work wait for the interpreter's lock (GIL), and more threads gain nothing", \
    .remedy = PP_REMEDY_LOCK
#define TWO_KINDS \
    10, "an exponential distribution has 7.6 on average, and hardly ever 10: there are two kinds"
#define NOT_ALL_WORK 0.03, "where no order of delivery gains, the work is what is slow"
#define SLOW_SAMPLES \
    .said = \
        "a few samples are slow. The slowest take {sample_tail} times as long as the median, and the batches behind them wait[. The slowest: {slowest}]", \
    .remedy = PP_REMEDY_OUT_OF_ORDER
#define LATE_FOR_CPUS \
    "CPUs are short. {others} take {contended} of them, and finished batches are late on their way to the trainer"
#define LATE_BATCHES \
    "finished batches are late on their way to the trainer. The workers are idle for {worker_idle} of that time"
#define PER_SAMPLE \
    .said = \
        "samples are made one by one. A sample takes only {sample_cost}, most of it Python that is called once per sample", \
    .remedy = PP_REMEDY_BY_BATCH
/* A call of Python with an index operation takes 2 to 20 us, and default_collate as much for each tensor of a
 * sample (CPython 3.8 to 3.14, x86-64). */
#define TINY_SAMPLE 50e3, "50 us: a few calls of Python"
#define STRAGGLER \
    .said = \
        "one rank is slow. Every step ends with the slowest rank, and rank {last_rank} was last in {last_share} of the steps", \
    .remedy = PP_REMEDY_SLOW_RANK
#define IMBALANCE \
    .said = \
        "the ranks take turns at being slow. Every step ends with the slowest; rank {last_rank} was last most often, in {last_share} of the steps", \
    .remedy = PP_REMEDY_EVEN_RANKS

#define PINNING \
    .said = \
        "one thread pins every batch (pin_memory=True). It is busy with that for {pin_busy} of the stalls", \
    .remedy = PP_REMEDY_PIN_LESS

#define PAGED_IN 0.5, "more than half: a read into a buffer causes none"
#define SOME_PAGED_IN 0.2, "a fifth: what is in memory causes none, and one fault may bring several samples"
#define UNPICKLING \
    .said = \
        "taking a finished batch over is slow. The training thread needs {handover_time} for a batch[ of {tensors} tensors], which is {handover} of the wait", \
    .remedy = PP_REMEDY_UNPICKLE_LESS
#define BOUND_TO \
    "the CPU affinity is too narrow. {bound_processes} may use only {bound_cpus} of {offered_cpus} CPUs, and "
#define IS_BOUND IS_KNOWN(BOUND_CPUS, "fewer CPUs than there were")
#define MUCH_BY_OTHERS 0.25, "a quarter: what one of four threads does beside the worker's own"
#define MANY_THREADS \
    AT_LEAST(HELPER_PART, MUCH_BY_OTHERS), \
        AT_LEAST(THREADS_PER_CPU, 4, "four threads for every usable CPU"), AT_LEAST(OWNER_DELAY, MUCH_DELAY)
#define THREADS_IN_WORKERS \
    .said = \
        "threads of the workers crowd {cpus} CPUs. Each of {workers} workers computes in threads of its own ({worker_threads}), which take {helper_part} of the CPU time", \
    .remedy = PP_REMEDY_WORKER_THREADS
#define GPU_DECODING \
    .said = "decoding JPEG on the GPU is the limit. Copies wait for it {decode_busy} of the stalls", \
    .remedy = PP_REMEDY_DECODE_ELSEWHERE

#define DRAWING \
    .said = \
        "the sampler is slow. {sampler} draws the order in the training thread, which takes {sampler_share} of the time", \
    .remedy = PP_REMEDY_SAMPLER
