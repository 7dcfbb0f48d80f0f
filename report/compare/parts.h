/* compare/parts.h: the steps of pp_compare_build, one file each. Private to report/compare. */
#ifndef PP_COMPARE_PARTS_H
#define PP_COMPARE_PARTS_H

#include "report/compare/compare.h"

/* Medians, intervals, p-values and noise floors of metric c->metric[id]; leaves answer at PP_INCONCLUSIVE until it is known. */
pp_status pp_compare_measure(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head, enum pp_cmp_id id, struct pp_err *err);
/* Adjusts all p-values and answers every metric and the verdict. */
pp_status pp_compare_judge(struct pp_compare *c, struct pp_err *err);

/* Classes of both sides and Fisher's p. */
void pp_compare_classes(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head);
/* The answer, once p_holm is there. */
void pp_compare_answer_verdict(struct pp_compare *c);

pp_status pp_compare_attribute(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head, struct pp_err *err);

#endif
