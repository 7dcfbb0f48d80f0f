#include "report/rules/ranks_rules.h"
#include "report/rules/limits.h"
#include "report/rules/remedies.h"

/* Each table takes its own rows of the same list. */
#define KIND(...)
#define OR(...)
#define WHY(...)
#define WHERE(...)
#define NOTE(...)

#undef KIND
#define KIND(sym, code, ...) code,
const char *const pp_ranks_kind_words[] = {
#include "report/rules/ranks.def"
    NULL,
};
#undef KIND

const char *const pp_ranks_who_words[] = {
    [PP_RANKS_ONE] = "one rank",
    [PP_RANKS_ONE_SHARD] = "one rank, in one part of its data",
    [PP_RANKS_ALL_OF_NODE] = "all ranks of one node",
    NULL,
};

const struct pp_fact pp_ranks_facts[PP_RANKS_FACT_COUNT] = {
#define ROW(sym, n, t, u, ...) \
    [PP_RANKS_FACT_##sym] = {.name = n, .text = t, .unit = PP_UNIT_##u, ##__VA_ARGS__},
    PP_RANKS_FACT_MAP(ROW)
#undef ROW
};

#define TRACEML "TraceML, rank-straggler-policy.md"
#define A_TENTH 0.1, "a tenth of a step (" TRACEML ")"
#define MOST_MEETINGS PP_MOST_MEETINGS, "twice as often as all other ranks together"
#define MOST_OF_GAP PP_RANKS_MOST_OF_GAP, "four fifths of the gap (" TRACEML ")"

/* clang-format off */
#define AT_LEAST(fact, ...) {PP_RANKS_FACT_##fact, PP_AT_LEAST, __VA_ARGS__}
#define BELOW(fact, ...) {PP_RANKS_FACT_##fact, PP_BELOW, __VA_ARGS__}
#define ONE_OF(fact, number, ...) {PP_RANKS_FACT_##fact, PP_ONE_OF, 1u << (number), __VA_ARGS__}
#define IS_KNOWN(fact) {PP_RANKS_FACT_##fact, PP_KNOWN, 0, "the recordings"}
#define UNKNOWN(fact) {PP_RANKS_FACT_##fact, PP_UNKNOWN, 0, "the recordings"}
#define COSTLY AT_LEAST(LOST_SHARE, A_TENTH)
#define OFTEN AT_LEAST(LAST_SINCE, MOST_MEETINGS)
/* clang-format on */

#undef OR
#define KIND(sym, code, ...) {.l1 = code, __VA_ARGS__},
#define OR(...) {__VA_ARGS__},
const struct pp_rule pp_ranks_rules[] = {
#include "report/rules/ranks.def"
};
const size_t pp_ranks_rules_n = sizeof(pp_ranks_rules) / sizeof(*pp_ranks_rules);
#undef KIND
#undef OR
#define KIND(...)
#define OR(...)

#undef WHY
#define WHY(...) {__VA_ARGS__},
const struct pp_rule pp_ranks_whys[] = {
#include "report/rules/ranks.def"
};
const size_t pp_ranks_whys_n = sizeof(pp_ranks_whys) / sizeof(*pp_ranks_whys);
#undef WHY
#define WHY(...)

#undef WHERE
#define WHERE(...) {__VA_ARGS__},
const struct pp_rule pp_ranks_wheres[] = {
#include "report/rules/ranks.def"
};
const size_t pp_ranks_wheres_n = sizeof(pp_ranks_wheres) / sizeof(*pp_ranks_wheres);
#undef WHERE
#define WHERE(...)

#undef NOTE
#define NOTE(...) {__VA_ARGS__},
const struct pp_rule pp_ranks_notes[] = {
#include "report/rules/ranks.def"
};
const size_t pp_ranks_notes_n = sizeof(pp_ranks_notes) / sizeof(*pp_ranks_notes);
