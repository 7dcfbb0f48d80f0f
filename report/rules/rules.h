/* report/rules/rules.h: the rule engine. What a report concludes and says stands in tables: a fact is what
 * may be known of a run, a rule the facts that it rests on with their limits, what is then said, and what to
 * change. Code measures facts and asks which rules hold; it has no limits and no sentences of its own.
 *
 *   measured facts -> conditions -> the first rule that holds, or each that does -> sentence, remedy
 *
 * Tables are constant and nothing is kept between calls: any thread may call any of this.
 *
 * A sentence holds {name} where the value of a fact goes, and {name|one|many} for the value with the word
 * that fits its number: "1 worker", "8 workers". What stands in [ ] is left out where a fact in it is
 * unknown, or is a number that is 0. */
#pragma once

#include "probe/base/arena.h"
#include "probe/base/fields.h"
#include <pipeprobe/phase.h>

/* Of a rule resting on it, how much of the matter the fact explains: itself, or as a gain of throughput. */
enum pp_explains { PP_EXPLAINS_NOTHING, PP_EXPLAINS_ITSELF, PP_EXPLAINS_BY_GAIN };

/* A row of a set's table of facts, in the order of the set's enum. */
struct pp_fact {
    const char *name;        /* in sentences and in JSON */
    const char *text;        /* in tables for people */
    enum pp_field_unit unit; /* of a number; PP_UNIT_NONE: it is a text */
    unsigned char from;      /* which part measures it: an enum of the set */
    enum pp_explains explains;
    const char *const *words; /* of a number that stands for one of several things: what each is called; ends
                               * with NULL. NULL: it counts or measures */
    const char *key;          /* in JSON, where it has another name there; else NULL */
};
extern const char *const pp_phase_words[]; /* PP_PHASE_NONE: "the hand-off" */

/* What is known, by fact: of each either a number or a text counts. Unknown is NAN and NULL. */
struct pp_values {
    const struct pp_fact *facts;
    size_t n;
    const double *number;
    const char *const *text;
};

/* A condition on a fact that is unknown does not hold, but for PP_UNKNOWN. */
enum pp_comparison { PP_NO_CONDITION, PP_AT_LEAST, PP_BELOW, PP_AT_MOST, PP_ONE_OF, PP_KNOWN, PP_UNKNOWN };
struct pp_condition {
    unsigned fact;
    enum pp_comparison compare;
    double limit;       /* of PP_ONE_OF a bit per number that it may be, up to 32 of them */
    const char *source; /* where the limit comes from */
};

/* What a rule that holds says of its matter: that it is so, that it is not, or that it is not known. */
enum pp_says { PP_SAYS_SO, PP_SAYS_NOT, PP_SAYS_UNKNOWN };

enum { PP_CONDITIONS_MOST = 6 };
struct pp_rule {
    const char *l1, *l2;                          /* its code: "storage", "latency"; NULL: none */
    struct pp_condition when[PP_CONDITIONS_MOST]; /* all of them; up to PP_NO_CONDITION */
    struct pp_condition
        relief; /* of a cause that is a want of CPU: its remedy gains. A step that is stretched may
                 * be charged to such a rule alone, and only if that holds. Else PP_NO_CONDITION */
    const char *said;
    unsigned remedy; /* a row of the remedies */
    enum pp_says says;
    const char *shows; /* facts that a document has beside the sentence, by name, separated by spaces */
    /* The first row of a code has these, for all of them. */
    const char *meaning;  /* what the code means */
    const char *symptom;  /* by what people know it */
    const char *not_said; /* where no rule of the code holds; NULL: said */
    int not_shown;        /* and nothing is shown then */
    unsigned asked;       /* only where that fact is known is anything said; 0: always */
    unsigned unknown;     /* a text: why it is not known whether the rules hold; 0: there is none */
};

int pp_condition_holds(const struct pp_condition *c, const struct pp_values *v);
/* The first condition that does not hold; NULL: the rule holds. */
const struct pp_condition *pp_rule_missed(const struct pp_rule *r, const struct pp_values *v);
/* The condition of the rule on that fact; NULL: it has none. */
const struct pp_condition *pp_rule_asks(const struct pp_rule *r, unsigned fact);
/* The first rule that holds; NULL: none does. */
const struct pp_rule *pp_rules_first(const struct pp_rule *rules, size_t n, const struct pp_values *v);

/* A sentence with its values filled in; NULL for NULL, or without memory. */
const char *pp_rules_fill(const char *sentence, const struct pp_values *v, struct pp_arena *arena);
/* The fact of that name (len bytes); n: there is none. */
unsigned pp_fact_find(const struct pp_values *v, const char *name, size_t len);
int pp_fact_is_known(const struct pp_values *v, unsigned fact);
/* The value as its unit is read; "-": unknown. At least 40 bytes of buf. */
const char *pp_fact_value(const struct pp_values *v, unsigned fact, char *buf, size_t size);
/* ">= 40.0 %": the comparison and the limit in the unit of the fact; at least 160 bytes of buf. */
const char *pp_condition_text(const struct pp_condition *c, const struct pp_fact *facts, char *buf,
                              size_t size);
