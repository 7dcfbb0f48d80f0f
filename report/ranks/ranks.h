/* report/ranks/ranks.h: the judgement on the ranks of a job, from their merged digest: which rank (or node)
 * is slow, how often it came last, what every other rank loses by it, why, where and since when; or that none
 * is. One document, pipeprobe.ranks/1, which the renderers show and none computes.
 *
 * A rank is last in a step when its own time of the step is the longest (digest.h). Where no rank recorded
 * its wait for the others, a step hides it, and the own time is the wait for data and the device alone: a
 * rank that is slow in the step itself is not seen then, and the text says so. That the ranks wait for each
 * other at all is held against the lengths of whole steps: ranks that meet take equally long.
 *
 * What is concluded from these numbers, with each limit and its source, is a table: report/rules/ranks.def.
 */
#pragma once

#include "report/ranks/digest.h"
#include "report/rules/ranks_rules.h"

#define PP_RANKS_CONTENDED "cpu-contended" /* the cause, in whatever phases, is the wait for a CPU */

/* Unknown is NAN or NULL. Times are means per step. */
struct pp_ranks_row {
    double rank, local_rank, node, exit_code;
    const char *host, *gpu, *file, *outcome, *subject;
    const char *l0, *l1, *l2, *sentence;
    double samples_per_s, data_wait_share, collective_share;
    double last_share;                                       /* of the compared steps */
    double own_ns, wait_ns, sync_ns, step_ns, collective_ns; /* wait: for data */
    const char *until; /* what it recorded up to then is here, by its clock: 2026-11-23T14:02:31Z */
    int running;       /* its recording had no end, and was still written */
    double clock_offset_ns, clock_error_ns; /* its clock less that of the first rank that has one */
    uint64_t steps, lost_spans;
    double first_by_ns; /* of a job that failed: it ended first, so long before the next one; NAN: unknown */
};

/* Ranks, or groups of them where there are more than PP_RANKS_MAP_ROWS: all ranks of a machine, or ranks that
 * follow each other. The worst group first, by the wait for data of its worst rank; what finds no room is one
 * last row. */
enum { PP_RANKS_MAP_ROWS = 64, PP_RANKS_MAP_COLUMNS = 96, PP_RANKS_MAP_EPOCHS = 16 };

struct pp_ranks_group {
    const char *label;
    size_t n_ranks;
    double worst_rank, wait_share; /* of that rank's step time, over all of its steps */
};

/* Of each group its worst rank; NAN: none of its ranks was there. */
struct pp_ranks_map {
    size_t n_groups, n_columns, n_epochs;
    double column_s;               /* length of a column; the first begins with the first step of any rank */
    struct pp_ranks_group *groups; /* n_groups */
    double *wait_share;            /* n_groups x n_columns: wait for data and device, of step time */
    double *ready_s;               /* n_groups x n_epochs: until its last rank had the epoch's first batch */
    uint32_t *epoch;               /* n_epochs: their numbers */
    uint64_t epochs_left_out;
    int by_host;
};

struct pp_ranks {
    struct pp_arena arena;
    struct pp_ranks_map map;
    /* over all steps of all ranks; NAN: there is none */
    double wait_p50_ns, wait_p99_ns, own_p50_ns, own_p99_ns;
    enum pp_ranks_kind kind;
    const char *kind_name, *sentence, *why, *where, *next_step, *note;
    const char *no_end;    /* ranks whose recordings have no end yet, and until when known; NULL: none */
    const char *clocks;    /* how far they are apart; NULL: not known, or too little to matter */
    double clock_error_ns; /* the largest: no order of events of two ranks is known below it */
    const char *job, *launcher;
    double attempt, world_size;
    uint64_t compared_steps;
    double collective_steps; /* compared ones, where ranks recorded their wait for others; NAN: none did */
    double last_rank, last_share; /* most often last, straggler or not */
    double straggler_rank;        /* NAN: no single one */
    const char *straggler_host, *straggler_gpu, *straggler_file;
    double step_ns;                     /* a whole step of the median rank, waits included */
    double lost_ns;                     /* per step, mean of the ranks that were not last; of a contended one
                                           with exchange_delay_ns */
    double lost_share;                  /* of step_ns */
    double lost_rank_s;                 /* all ranks, all compared steps: GPU time where each has one */
    double gpu_hour, lost_cost_per_day; /* a stated price, and what lost_rank_s is in a day at it, of all
                                           ranks; NAN: none was stated */
    double gain_share;            /* of throughput, were the last rank (of a straggler: that one) as fast
                                     as the next one; NAN: less than a tenth of the step would be left */
    double gap_ns;                /* own time of the straggler over that of the median rank; with
                                     exchange_delay_ns where all wait for its part in the exchange */
    const char *cause;            /* phase that has 80 % of it, or PP_RANKS_CONTENDED; NULL: none has */
    double cause_ns, cause_share; /* excess over the median rank, and its part of the gap */
    double cpu_wait_ns, cpu_wait_share; /* of the gap: its threads were ready and had no CPU */
    double exchange_delay_ns; /* per step, of a contended one: likewise threads that carry the collectives, in
                                 which all wait; NAN: another cause */
    const char *input_cause;  /* where it is the wait for data: phase of the workers */
    double input_cause_ns, input_median_ns; /* per sample: of the straggler, of the median rank */
    double since_step, since_s;             /* s from the first compared step; NAN: from the beginning on */
    const char *missing;                    /* "5, 7-9"; NULL: none */
    uint64_t missing_ranks;
    struct pp_ranks_row *rows;
    size_t n_rows;
};

/* Judges. PP_E_NO_MEMORY only. Free with pp_ranks_free, also after a failure. */
pp_status pp_ranks_judge(const struct pp_digest *d, struct pp_ranks *out, struct pp_err *err);
/* A row for each of the n ranks of a job whose processes ended with exit_code, with a recording or not. */
pp_status pp_ranks_complete(struct pp_ranks *r, const int *exit_code, size_t n, struct pp_err *err);
/* What the wait for the last rank costs in a day where an hour of a rank (its GPU) costs so much; 0: no
 * price. Shown by the renderers from then on. */
void pp_ranks_price(struct pp_ranks *r, double gpu_hour);
void pp_ranks_free(struct pp_ranks *r);

/* The members of the judgement, one row each: docs/ranks.schema.json and docs/reference/ranks-fields.md
 * follow from them; `make golden` writes the two again. pp_fields_json of them is the document of schema
 * pipeprobe.ranks/1. */
extern const struct pp_field pp_ranks_fields[];
/* One page that needs nothing else: the judgement, a rank x time map of the wait for data, a rank x epoch
 * table of readiness, and the ranks; of 10,000 ranks below 2 MB. */
int pp_ranks_html(const struct pp_ranks *r, FILE *out);
/* Text for a terminal; at most the 16 ranks that are last most often have a line each, unless all is set. */
void pp_ranks_text(const struct pp_ranks *r, int all, FILE *out);
