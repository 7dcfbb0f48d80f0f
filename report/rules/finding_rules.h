/* report/rules/finding_rules.h: the findings as tables: facts (finding_facts.def) and rules (findings.def).
 * Of the rules of one code, which follow each other, the first that holds speaks; where none does, the first
 * row's not_said. A finding is a row of each, and the code that measures its facts (report/findings). */
#pragma once

#include "report/rules/rules.h"

enum pp_finding_fact {
#define FACT(sym, ...) PP_FINDING_##sym,
#include "report/rules/finding_facts.def"
#undef FACT
    PP_FINDING_FACTS
};
extern const struct pp_fact pp_finding_facts[PP_FINDING_FACTS];

/* What the time to the first batch is made of, by FIRST_PART. */
enum {
    PP_FIRST_PROGRAM,
    PP_FIRST_OPENING,
    PP_FIRST_WORKERS,
    PP_FIRST_RANKS,
    PP_FIRST_BATCH,
    PP_FIRST_SAMPLER
};

extern const struct pp_rule pp_finding_rules[];
extern const size_t pp_finding_rules_n;
