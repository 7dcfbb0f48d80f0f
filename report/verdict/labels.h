/* report/verdict/labels.h: what the codes of a verdict mean and by what people know them, and all sets of
 * rules, for who explains them: `pipeprobe explain` and the reference. */
#pragma once

#include "report/rules/rules.h"

struct pp_label {
    const char *l1, *l2, *meaning;
    const char *symptom; /* NULL: of a level 1 alone */
};
extern const struct pp_label pp_labels[];
extern const size_t pp_labels_n;

struct pp_rule_set {
    const char *name, *decides;
    const struct pp_fact *facts;
    size_t n_facts;
    const struct pp_rule *rules;
    size_t n_rules;
};
const struct pp_rule_set *pp_rule_sets(size_t *n);
/* Whether rule i says that code; of sets whose codes have rules without one behind their first. */
int pp_rule_is_of(const struct pp_rule *rules, size_t i, const char *l1, const char *l2);
