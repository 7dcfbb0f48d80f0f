/* tests/lab/scores.h: the scores of verdicts with whether their class was right, kept over several runs of
 * the lab: a fit of the confidence (reliability.h) needs at least LAB_FIT_LEAST verdicts for each row, and
 * most scenarios are so clear that their scores are high. A file of them has a line each, with a header. */
#pragma once

#include "tests/lab/results.h"

struct lab_score {
    double score, confidence;
    int right;
};
struct lab_scores {
    struct lab_score *row;
    size_t n, room;
};

/* Adds the verdicts of these runs that have a score. PP_E_NO_MEMORY. */
pp_status lab_scores_add(struct lab_scores *s, const struct lab_results *r, struct pp_err *err);
/* Adds those of a file. PP_E_ACCESS, or PP_E_CORRUPT with the line that is none of its kind. */
pp_status lab_scores_read(struct lab_scores *s, const char *file, struct pp_err *err);
/* Appends the verdicts of these runs to a file, which is made where it is not there. */
pp_status lab_scores_append(const char *file, const struct lab_results *r, struct pp_err *err);
void lab_scores_free(struct lab_scores *s);

/* How many verdicts have which score, and how many of them are right: which rows a table could have. */
void lab_scores_put(const struct lab_scores *s, FILE *out);
