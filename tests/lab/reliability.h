/* tests/lab/reliability.h: how certain verdicts were against how often their class was right, and the fit of
 * the table of report/verdict/confidence.c. A verdict counts when it has a confidence; right means level 0
 * and level 1. */
#pragma once

#include "tests/lab/scores.h"

/* Verdicts by stated confidence, with how many of them were right, and the Brier score. */
void lab_put_reliability(const struct lab_results *r, FILE *out);

/* A step of the fitted function: from this score on, `right` of `n` verdicts had the right class. */
struct lab_fit_row {
    double score;
    size_t n, right;
};
enum { LAB_FIT_LEAST = 50 };
/* Isotonic regression (pool adjacent violators) of right on score, in ascending order of score; neighbours
 * are then pooled until every row has LAB_FIT_LEAST verdicts. rows: room for s->n. Returns how many
 * rows; 0: no verdict, or no memory. */
size_t lab_fit(const struct lab_scores *s, struct lab_fit_row *rows);
/* The same as lines of the table, below the scores that it comes from. */
void lab_put_fit(const struct lab_scores *s, FILE *out);
