#include "report/rules/looks_rules.h"
#include "report/rules/limits.h"
#include "report/rules/remedies.h"

const struct pp_fact pp_looks_facts[PP_LOOKS_FACT_COUNT] = {
#define ROW(sym, n, t, u) [PP_LOOKS_FACT_##sym] = {.name = n, .text = t, .unit = PP_UNIT_##u},
    PP_LOOKS_FACT_MAP(ROW)
#undef ROW
};

/* clang-format off */
#define AT_LEAST(fact, ...) {PP_LOOKS_FACT_##fact, PP_AT_LEAST, __VA_ARGS__}
#define BELOW(fact, ...) {PP_LOOKS_FACT_##fact, PP_BELOW, __VA_ARGS__}
#define UNKNOWN(fact) {PP_LOOKS_FACT_##fact, PP_UNKNOWN, 0, "the looks"}
/* clang-format on */
#define WAITS PP_LEAST_SHARE, "the smallest share of a step that counts"
#define MUCH_DELAY 0.25, "without it, the time shrinks by a quarter"
#define MOST_TIME 0.5, "more than half of the time"
#define LESS_TIME 0.5, "not more than half of the time"
#define NO_WORKERS \
    "the training thread makes each batch itself (num_workers=0), and no step goes on meanwhile"
#define A_TENTH 0.1, "10 % for the system's own work"

const struct pp_rule pp_looks_rules[] = {
    {.when = {BELOW(LOOKS, 100, "a share of a tenth then has an interval of 6 points")},
     .said =
         "the training thread was seen {looks|time|times}: for a verdict it takes 100. Watch for longer (--duration)",
     .says = PP_SAYS_UNKNOWN,
     .not_shown = 1},
    {.when = {BELOW(WAIT_HIGH, 0.02, "2 %: it is in no DataLoader"), UNKNOWN(WORKERS)},
     .said =
         "no look found the training thread in a PyTorch DataLoader, and no worker was seen: the loader is another one, or training is between two epochs",
     .says = PP_SAYS_UNKNOWN,
     .not_shown = 1},
    {.when = {BELOW(WAIT_HIGH, WAITS)}, .said = "training does not wait for data", .says = PP_SAYS_NOT},
    {.when = {BELOW(WAIT_LOW, WAITS)},
     .said = "it may wait less than 5 % of the time, or more. Watch for longer (--duration)",
     .says = PP_SAYS_UNKNOWN},
    {.l1 = "loader",
     .l2 = "oversubscribed",
     .when = {AT_LEAST(DELAY, MUCH_DELAY), AT_LEAST(WORKERS_PER_CPU, 1.5, "three workers for two CPUs")},
     .said =
         "{workers|worker shares|workers share} {cpus} usable CPUs. A worker is ready and has no CPU for {delay} of the time",
     .remedy = PP_REMEDY_FEWER_WORKERS_AUTO},
    {.l1 = "transform",
     .l2 = "cpu-contended",
     .when = {AT_LEAST(DELAY, MUCH_DELAY)},
     .said = "CPUs are short. What makes the batches is ready and has no CPU for {delay} of the time",
     .remedy = PP_REMEDY_OTHER_LOAD},
    {.l1 = "storage",
     .when = {AT_LEAST(IN_READ, MOST_TIME)},
     .said = "reads wait for storage. The making of batches is blocked in reads for {in_read} of its time",
     .remedy = PP_REMEDY_STORAGE},
    {.l1 = "loader",
     .l2 = "under-parallel",
     .when = {AT_LEAST(MAKES, MOST_TIME), AT_LEAST(IDLE_CPUS, A_TENTH)},
     .said = NO_WORKERS,
     .remedy = PP_REMEDY_MORE_WORKERS},
    {.l1 = "loader",
     .l2 = "under-parallel",
     .when = {AT_LEAST(MAKES, MOST_TIME), BELOW(ON_CPU, LESS_TIME)},
     .said = NO_WORKERS,
     .remedy = PP_REMEDY_MORE_WORKERS},
    {.when = {BELOW(BUSY, LESS_TIME)},
     .said =
         "training waits, and workers make batches for only {busy} of the time: handing them over, the start of epochs or the order of batches takes the rest",
     .says = PP_SAYS_UNKNOWN},
    {.l1 = "loader",
     .l2 = "blocked",
     .when = {BELOW(ON_CPU, LESS_TIME)},
     .said =
         "the making of batches sleeps. It is on a CPU for {on_cpu} of its time, and in no read that is known. More workers help, unless it waits for a lock",
     .remedy = PP_REMEDY_MORE_WORKERS},
    {.l1 = "loader",
     .l2 = "under-parallel",
     .when = {AT_LEAST(IDLE_CPUS, A_TENTH)},
     .said =
         "there are too few workers. The {workers|worker is|workers are all} busy, while {idle_cpus} of the CPUs are idle",
     .remedy = PP_REMEDY_MORE_WORKERS},
    {.l1 = "transform",
     .l2 = "cpu-saturated",
     .said = "all CPUs are busy, most of them with making batches",
     .remedy = PP_REMEDY_LESS_WORK},
};
const size_t pp_looks_rules_n = sizeof(pp_looks_rules) / sizeof(*pp_looks_rules);
