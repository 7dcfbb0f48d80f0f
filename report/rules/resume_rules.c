#include "report/rules/resume_rules.h"
#include "report/rules/remedies.h"

const struct pp_fact pp_resume_facts[PP_RESUME_FACT_COUNT] = {
#define ROW(sym, n, t, u) [PP_RESUME_FACT_##sym] = {.name = n, .text = t, .unit = PP_UNIT_##u},
    PP_RESUME_FACT_MAP(ROW)
#undef ROW
};

/* clang-format off */
#define AT_LEAST(fact, ...) {PP_RESUME_FACT_##fact, PP_AT_LEAST, __VA_ARGS__}
#define AT_MOST(fact, ...) {PP_RESUME_FACT_##fact, PP_AT_MOST, __VA_ARGS__}
#define BELOW(fact, ...) {PP_RESUME_FACT_##fact, PP_BELOW, __VA_ARGS__}
#define IS_KNOWN(fact) {PP_RESUME_FACT_##fact, PP_KNOWN, 0, "the recordings"}
#define UNKNOWN(fact) {PP_RESUME_FACT_##fact, PP_UNKNOWN, 0, "the recordings"}
/* clang-format on */

#define OR(...) {__VA_ARGS__},
#define CULPRIT(sym, code, ...) {.l1 = code, __VA_ARGS__},
#define CONCLUSION(sym, code, ...) {.l1 = code, __VA_ARGS__},
const struct pp_rule pp_resume_rules[] = {
#include "report/rules/resume.def"
};
const size_t pp_resume_rules_n = sizeof(pp_resume_rules) / sizeof(*pp_resume_rules);
const size_t pp_resume_culprits_n = sizeof(pp_resume_rules) / sizeof(*pp_resume_rules) - PP_RESUME_KINDS;
