#include "report/rules/audit_rules.h"
#include "report/rules/remedies.h"

const struct pp_fact pp_audit_facts[PP_AUDIT_FACT_COUNT] = {
#define ROW(sym, n, t, u) [PP_AUDIT_FACT_##sym] = {.name = n, .text = t, .unit = PP_UNIT_##u},
    PP_AUDIT_FACT_MAP(ROW)
#undef ROW
};

/* clang-format off */
#define AT_LEAST(fact, ...) {PP_AUDIT_FACT_##fact, PP_AT_LEAST, __VA_ARGS__}
#define BELOW(fact, ...) {PP_AUDIT_FACT_##fact, PP_BELOW, __VA_ARGS__}
#define IS_KNOWN(fact) {PP_AUDIT_FACT_##fact, PP_KNOWN, 0, "the recordings"}
#define UNKNOWN(fact) {PP_AUDIT_FACT_##fact, PP_UNKNOWN, 0, "the recordings"}
#define SEEN AT_LEAST(EPOCHS, 1, "each sample once per epoch")
/* clang-format on */

const struct pp_rule pp_audit_rules[] = {
#define CAUSE(sym, code, ...) {.l1 = code, __VA_ARGS__},
#define OR(...) {__VA_ARGS__},
#define CONCLUSION(sym, code, ...) {.l1 = code, __VA_ARGS__},
#define NOTE(...)
#include "report/rules/audit.def"
#undef CAUSE
#undef OR
#undef CONCLUSION
#undef NOTE
};
const size_t pp_audit_rules_n = sizeof(pp_audit_rules) / sizeof(*pp_audit_rules);

const struct pp_rule pp_audit_notes[] = {
#define CAUSE(...)
#define OR(...)
#define CONCLUSION(...)
#define NOTE(...) {__VA_ARGS__},
#include "report/rules/audit.def"
#undef CAUSE
#undef OR
#undef CONCLUSION
#undef NOTE
};
const size_t pp_audit_notes_n = sizeof(pp_audit_notes) / sizeof(*pp_audit_notes);
