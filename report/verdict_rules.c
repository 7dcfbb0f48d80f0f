#include "report/verdict_rules.h"

const struct pp_metric_info pp_metric_infos[PP_METRIC_COUNT] = {
#define ROW(sym, n, t, u) [PP_METRIC_##sym] = {.name = n, .text = t, .unit = PP_UNIT_##u},
    PP_METRIC_MAP(ROW)
#undef ROW
};

/* XProf, op_stats_to_input_pipeline_analysis.cc: 20 % and 5 % of the step time, and its words. */
const struct pp_level_rule pp_level_rules[] = {
    {0.20, "input-bound", "highly", "HIGHLY input-bound: the trainer waits {data_wait} of its step time for data", ">= 20 %: highly input-bound (XProf)"},
    {0.05, "input-bound", "moderately", "MODERATELY input-bound: the trainer waits {data_wait} of its step time for data", ">= 5 %: moderately so (XProf)"},
    {0, "not-input-bound", "not", "NOT input-bound: the trainer waits {data_wait} of its step time for data", "< 5 %: not input-bound (XProf)"},
};
const size_t pp_level_rules_n = sizeof(pp_level_rules) / sizeof(pp_level_rules[0]);

const struct pp_guard_rule pp_guard_rules[] = {
    {PP_METRIC_BATCHES, 1, 10, "below 10 the spread of a mean is itself unknown",
     "only {batches|batch was|batches were} delivered in steady state, at least 10 are needed",
     "Run longer (--duration, --steps), or lower --warmup or --batch-size."},
    {PP_METRIC_WINDOW, 1, 1e9, "several scheduler and cgroup quota periods (100 ms each)",
     "the steady state lasted {window}, at least 1 s is needed",
     "Run longer: --duration 30s."},
    {PP_METRIC_LOSS, 0, 0.01, "a fifth of the smallest share that decides (5 %)",
     "{loss} of the spans were lost, more than the 1 % that leaves shares intact",
     "Record less detail (--detail), or on a less loaded machine."},
    {PP_METRIC_DATA_WAIT, 1, 0, "XProf: no step time measured, therefore we cannot tell",
     "no trainer time was recorded, so there is nothing to compare the wait with",
     "Record the trainer's data_wait and step phases too."},
};
const size_t pp_guard_rules_n = sizeof(pp_guard_rules) / sizeof(pp_guard_rules[0]);

const struct pp_condition pp_conditions[PP_CONDITIONS] = {
    [PP_IF_BLOCKED] = {PP_METRIC_OWNER_BLOCKED, 0.5, "more of its time than not"},
    [PP_IF_SATURATED] = {PP_METRIC_SATURATION, 0.9, "utilisation law: a bottleneck's utilisation is near 1; 10 % for the system's own work"},
    [PP_IF_DELAYED] = {PP_METRIC_OWNER_DELAY, 0.25, "taken away, a quarter of the owner's time would be won"},
    /* threads / CPUs = r leaves 1 - 1/r of the time in the run queue: 2 per CPU give 0.50, 4 per CPU 0.75 */
    [PP_IF_CROWDED] = {PP_METRIC_OWNER_DELAY, 0.6, "more than 2.5 runnable threads per usable CPU"},
    [PP_IF_PAGEABLE] = {PP_METRIC_PAGEABLE, 1, "the configuration of the run"},
};

#define BIT(phase) (1u << PP_PHASE_##phase)
#define COMPUTE (BIT(DECODE) | BIT(TRANSFORM) | BIT(COLLATE) | BIT(SAMPLER))
#define WORK (COMPUTE | BIT(READ))

const struct pp_cause_rule pp_cause_rules[] = {
    {"sync", "implicit-sync", BIT(DEVICE_SYNC), {{PP_IF_END, 0}},
     "sync: {owner_share} of that wait is the trainer waiting for the device to catch up",
     "Drop the synchronisation in every step (--sync-every-step here; .item(), cudaDeviceSynchronize elsewhere) and enlarge the batch."},
    {"sync", "pageable", BIT(H2D), {{PP_IF_PAGEABLE, 1}},
     "sync: meanwhile the copy lane is in h2d {owner_share} of the time, and the batch memory is pageable",
     "Use page-locked batch memory (leave out --pageable; pin_memory=True in PyTorch)."},
    {"sync", NULL, BIT(H2D), {{PP_IF_END, 0}},
     "sync: meanwhile the copy lane is in h2d {owner_share} of the time, while the workers wait for free slots",
     "Copy less (--dtype u8 or f16), or overlap copies with steps (--copy-buffers 2)."},
    {"loader", "errors", BIT(RETRY), {{PP_IF_END, 0}},
     "loader: meanwhile the workers back off from failed reads {owner_share} of the time",
     "Fix or quarantine the failing files (listed in table error), or lower --retries and --retry-backoff-ms."},
    {"loader", "oversubscribed", WORK, {{PP_IF_CROWDED, 1}, {PP_IF_SATURATED, 1}},
     "loader: {workers|worker shares|workers share} {cpus} usable CPUs, and {owner} spends {run_queue} of its time waiting for one",
     "Use fewer workers: --workers auto."},
    {"transform", "cpu-contended", WORK, {{PP_IF_DELAYED, 1}, {PP_IF_SATURATED, 0}},
     "transform: {owner} waits for a CPU {run_queue} of its time although this run uses only {saturation} of the usable CPUs: somebody else has them",
     "Find what else runs on these CPUs, or what limits them (cgroup quota), before changing the loader."},
    {"storage", NULL, BIT(READ), {{PP_IF_BLOCKED, 1}},
     "storage: meanwhile read takes {owner_share} of the workers' time and is blocked {blocked} of it",
     "More reads in flight (--workers, --prefetch) when latency holds them up; a faster tier, a cache or packed shards when bandwidth does."},
    {"loader", NULL, COMPUTE, {{PP_IF_BLOCKED, 1}},
     "loader: {owner} should compute but is blocked {blocked} of its time, behind a lock or a page fault",
     "Look for what {owner} waits for: a lock shared by the workers, or memory that has to be paged in."},
    {"transform", "cpu-saturated", WORK, {{PP_IF_BLOCKED, 0}, {PP_IF_SATURATED, 1}},
     "transform: {owner} takes {owner_share} of the workers' time and {saturation} of the usable CPUs are in use",
     "Make {owner} cheaper: smaller images offline, cached decoded data, a cheaper augmentation; or add CPUs."},
    {"loader", "under-parallel", WORK, {{PP_IF_BLOCKED, 0}, {PP_IF_SATURATED, 0}},
     "loader: the {workers|worker is|workers are all} busy with {owner}, while only {saturation} of the usable CPUs are in use",
     "Use more workers: --workers auto picks one per usable CPU."},
    {"loader", NULL, BIT(NONE), {{PP_IF_END, 0}},
     "loader: the workers wait for slots or work {worker_idle} of that time and the copy lane is idle, so batches are held back between them",
     "Deepen --prefetch, or try --out-of-order: one slow sample holds back the finished batches behind it."},
};
const size_t pp_cause_rules_n = sizeof(pp_cause_rules) / sizeof(pp_cause_rules[0]);
