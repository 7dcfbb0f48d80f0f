/* report/rules/ranks_rules.h: what is concluded of the ranks of a job (report/ranks), as tables: its facts,
 * and its rules (ranks.def). */
#pragma once

#include "report/rules/rules.h"

enum { PP_RANKS_LEAST_STEPS = 20 };
#define PP_RANKS_MOST_OF_GAP 0.8 /* of the gap to the median rank: what has it is named as the cause */

/* FACT(symbol, name, text in tables for people or NULL, unit, ...). "It" is the rank that is last most often.
 * Those that are not numbers of something are known where they hold. */
#define PP_RANKS_FACT_MAP(FACT) \
    FACT(RECORDED, "recorded", "ranks with a recording", COUNT) \
    FACT(STEPS, "steps", "steps that all ranks have", COUNT) \
    FACT(LEAST, "least", NULL, COUNT) \
    FACT(IMPORTED, "imported", "traces of another profiler", COUNT) \
    FACT(MET, "met", "waits for other ranks were recorded", COUNT) \
    FACT(KIND, "kind", "what the ranks are to each other", NONE, .words = pp_ranks_kind_words) \
    FACT(RANK, "rank", NULL, NONE) \
    FACT(PLACE, "place", NULL, NONE) \
    FACT(HOST, "host", NULL, NONE) \
    FACT(FILE, "file", NULL, NONE) \
    FACT(LAST_SHARE, "last_share", NULL, SHARE) \
    FACT(LAST_SINCE, "last_since", "steps that it is last in, since it is", SHARE) \
    FACT(LOST, "lost", NULL, NS) \
    FACT(LOST_SHARE, "lost_share", "wait for the last rank, of a step", SHARE) \
    FACT(BLAME, "blame", "of that wait, in steps that it is last in", SHARE) \
    FACT(NODE, "node", "all ranks of its machine are slow", COUNT) \
    FACT(NODE_SHARE, "node_share", "steps that a rank of its machine is last in", SHARE) \
    FACT(APART, "apart", NULL, NS) \
    FACT(APART_OF_GAP, "apart_of_gap", "its steps are longer, of its gap to the median", SHARE) \
    FACT(EXCHANGE, "exchange", "others wait in the exchange", NS) \
    FACT(EXCHANGE_SHARE, "exchange_share", "wait for one rank in the exchange, of a step", SHARE) \
    FACT(WAIT_SHARE, "wait_share", "wait for data of the median rank, of a step", SHARE) \
    /* of a slow rank or machine */ \
    FACT(WHO, "who", "a rank or a machine is slow", NONE, .words = pp_ranks_who_words) \
    FACT(SINCE, "since", "the step since which it is last", NONE) \
    FACT(AFTER, "after", NULL, NS) \
    FACT(GAP, "gap", NULL, NS) \
    FACT(CAUSE, "cause", "a phase that has most of the gap", NONE) \
    FACT(CAUSE_SHARE, "cause_share", NULL, SHARE) \
    FACT(INPUT_CAUSE, "input_cause", NULL, NONE) \
    FACT(INPUT_CAUSE_TIME, "input_cause_time", NULL, NS) \
    FACT(INPUT_MEDIAN, "input_median", NULL, NS) \
    FACT(CPU_WAIT_SHARE, "cpu_wait_share", "wait for a CPU, of the gap", SHARE) \
    FACT(TRAINER_DELAY, "trainer_delay", NULL, NS) \
    FACT(WORKER_DELAY, "worker_delay", NULL, NS) \
    FACT(EXCHANGE_DELAY, "exchange_delay", NULL, NS) \
    /* what limits the judgement */ \
    FACT(KILLED, "killed", "ranks that were killed", NONE) \
    FACT(CUT, "cut", "a recording has no end", COUNT) \
    FACT(FIRST, "first", "the rank that ended first", NONE) \
    FACT(FIRST_BY, "first_by", NULL, NS) \
    FACT(VERSION, "version", NULL, NONE) \
    FACT(OTHER_VERSION, "other_version", "recordings of other versions", NONE)

enum pp_ranks_fact {
#define PP_RANKS_FACT_ENUM(sym, ...) PP_RANKS_FACT_##sym,
    PP_RANKS_FACT_MAP(PP_RANKS_FACT_ENUM)
#undef PP_RANKS_FACT_ENUM
        PP_RANKS_FACT_COUNT
};
extern const struct pp_fact pp_ranks_facts[PP_RANKS_FACT_COUNT];

enum pp_ranks_kind {
#define KIND(sym, ...) PP_RANKS_##sym,
#define OR(...)
#define WHY(...)
#define WHERE(...)
#define NOTE(...)
#include "report/rules/ranks.def"
#undef KIND
#undef OR
#undef WHY
#undef WHERE
#undef NOTE
    PP_RANKS_KINDS
};
extern const char *const pp_ranks_kind_words[]; /* their codes, by enum; ends with NULL */

enum pp_ranks_who { PP_RANKS_ONE, PP_RANKS_ONE_SHARD, PP_RANKS_ALL_OF_NODE };
extern const char *const pp_ranks_who_words[];

extern const struct pp_rule pp_ranks_rules[], pp_ranks_whys[], pp_ranks_wheres[], pp_ranks_notes[];
extern const size_t pp_ranks_rules_n, pp_ranks_whys_n, pp_ranks_wheres_n, pp_ranks_notes_n;
