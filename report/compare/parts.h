/* compare/parts.h: the steps of pp_compare_build, one file each. Private to report/compare. */
#ifndef PP_COMPARE_PARTS_H
#define PP_COMPARE_PARTS_H

#include "report/compare/compare.h"

/* Medians, intervals, p-values and noise floors of metric c->metric[id]; leaves answer at PP_INCONCLUSIVE
 * until it is known. */
pp_status pp_compare_measure(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head,
                             enum pp_cmp_id id, struct pp_err *err);
/* Adjusts all p-values and answers every metric and the verdict. */
pp_status pp_compare_judge(struct pp_compare *c, struct pp_err *err);

/* p, p_all and p_better of all metrics and of the verdict: Holm over their own p, or all pairs turned round
 * at once (adjust.c). */
pp_status pp_compare_adjust(struct pp_compare *c, struct pp_err *err);
/* Whether so many runs could show a regression at all: samples that do not overlap, pairs that all agree. */
int pp_compare_can_show(const struct pp_compare *c, size_t n_base, size_t n_head);
/* The least runs on each side that could. */
size_t pp_compare_runs_needed(const struct pp_compare *c);

/* Classes of both sides, and Fisher's p or the differences within pairs. */
pp_status pp_compare_classes(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head,
                             struct pp_err *err);
/* The answer, once p_all is there. */
void pp_compare_answer_verdict(struct pp_compare *c);

pp_status pp_compare_attribute(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head,
                               struct pp_err *err);

#endif
