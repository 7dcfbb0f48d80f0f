/* report/ranks/judge.h: what numbers (judge.c) and words (words.c) of a judgement share. Private. */
#pragma once

#include "report/ranks/ranks.h"

#include "probe/base/fields.h"

struct judge {
    const struct pp_digest *d;
    struct pp_ranks *r;
    double *sorted;                   /* room for a value per rank */
    uint64_t *last;                   /* steps that each was last in */
    const struct pp_rank_step **step; /* the compared ones */
    size_t n_steps;
    int met;            /* own time is known whole */
    size_t slow;        /* row that is last most often */
    double saved_ns;    /* per step, were the last rank (of a straggler: that one) as fast as the next one */
    double exchange_ns; /* per step: it is slow in the exchange itself; else 0 */
    double trainer_delay_ns, worker_delay_ns; /* the parts of r->cpu_wait_ns */
    int64_t *ahead_ns; /* by row: added to a time of its clock it is one of the first rank's; 0: not known */
    size_t slowest_clock;             /* row whose clock is furthest from it; n_rows: none is known to be */
    double fact[PP_RANKS_FACT_COUNT]; /* for the rules (ranks_rules.h) */
    const char *text[PP_RANKS_FACT_COUNT];
};

static inline struct pp_values judge_values(const struct judge *j)
{
    return (struct pp_values){pp_ranks_facts, PP_RANKS_FACT_COUNT, j->fact, j->text};
}

/* A moment in UTC, as strftime has it; NULL: not known. */
const char *judge_moment(struct pp_arena *a, uint64_t utc_ns, const char *format);
/* The clocks of the ranks against that of the first one. 0: no memory. */
int judge_clocks(struct judge *j);

/* Every number of the table becomes unknown. */
extern const struct pp_field pp_ranks_row_fields[];
void ranks_forget_numbers(const struct pp_field *fields, void *row);
/* All rows, the one most often last first; to be freed. NULL: no memory. */
const struct pp_ranks_row **ranks_by_last(const struct pp_ranks *r);
/* The map of ranks and time. 0: no memory. */
int judge_map(struct judge *j);
/* Facts of the recordings, which are known before anything is compared: missing ranks too. */
void judge_recordings(struct judge *j);
/* The sentences, when all numbers are there; rule: the one that names the kind. */
void judge_words(struct judge *j, const struct pp_rule *rule);
