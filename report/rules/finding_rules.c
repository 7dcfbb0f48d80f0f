#include "report/rules/finding_rules.h"
#include "report/rules/limits.h"
#include "report/rules/remedies.h"

static const char *const pp_first_parts[] = {
    "before the program asked for data (imports, building the model)",
    "opening the data set",
    "starting the workers",
    "waiting for the other ranks to begin",
    "making the first batch",
    "drawing the first samples (the sampler, in the training thread)",
    NULL,
};

const struct pp_fact pp_finding_facts[PP_FINDING_FACTS] = {
#define FACT(sym, n, t, u, ...) [PP_FINDING_##sym] = {.name = n, .text = t, .unit = PP_UNIT_##u, __VA_ARGS__},
#include "report/rules/finding_facts.def"
#undef FACT
};

/* ---- the rules ---- */

#define LEAST_OF_STEP PP_LEAST_SHARE, "the smallest share of a step that counts (5 %)"
#define LEAST_OF_TIME PP_LEAST_SHARE, "the smallest share that counts (5 %)"
#define WORTH_A_FIX PP_WORTH_A_FIX, "what a fix has to gain"
#define MOST_OF_IT 0.5, "more than half of it"
#define MOST_MEETINGS PP_MOST_MEETINGS, "twice as often as all other ranks together"
#define SATURATED 0.9, "utilisation law: a bottleneck's utilisation is near 1"

/* clang-format off */
#define F(fact) PP_FINDING_##fact
#define AT_LEAST(fact, ...) {PP_FINDING_##fact, PP_AT_LEAST, __VA_ARGS__}
#define BELOW(fact, ...) {PP_FINDING_##fact, PP_BELOW, __VA_ARGS__}
#define IS_KNOWN(fact) {PP_FINDING_##fact, PP_KNOWN, 0, "the recording"}
#define UNKNOWN(fact) {PP_FINDING_##fact, PP_UNKNOWN, 0, "the recording"}
#define ONE_OF(fact, number, ...) {PP_FINDING_##fact, PP_ONE_OF, 1u << (number), __VA_ARGS__}
#define PHASE(phase) PP_PHASE_##phase
/* clang-format on */

const struct pp_rule pp_finding_rules[] = {
#define FINDING(code, ...) {.l1 = code, __VA_ARGS__},
#define OR(...) {__VA_ARGS__},
#include "report/rules/findings.def"
#undef FINDING
#undef OR
};
const size_t pp_finding_rules_n = sizeof(pp_finding_rules) / sizeof(*pp_finding_rules);
