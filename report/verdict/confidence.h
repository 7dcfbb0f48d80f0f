/* report/verdict/confidence.h: how certain a verdict is. A score between 0 and 1 is made of what can be seen
 * in the recording; a table that was fitted on labelled runs turns it into the share of verdicts with such a
 * score whose class was right. docs/results/accuracy.md has the reliability on held-out runs.
 *
 * The score is the product of:
 * - the chance that the wait is on its side of the 5 % threshold (normal approximation over batches),
 * - the lead of the cause over the next one in the replay (half of it where both are equal); where the replay
 * knows no weights, the share of the wait that the cause explains,
 * - how well the replay of the unchanged run comes out,
 * - of causes that are a lack of CPUs, how little others used the CPUs, which hides locks and missing
 * workers; and what free CPUs gain, over what they gain with a worker each: the rest would be the loader's.
 */
#ifndef PP_REPORT_VERDICT_CONFIDENCE_H
#define PP_REPORT_VERDICT_CONFIDENCE_H

#include "report/verdict/verdict.h"

/* cause: NULL where the trainer does not wait. bound: the verdict is input-bound in the steady state.
 * explained: NAN: unknown. */
double pp_confidence_score(const struct pp_facts *f, const struct pp_rule *cause, int bound,
                           double explained);
/* From this share of right verdicts on a sentence says "near certain". */
#define PP_NEAR_CERTAIN 0.95
/* "near certain", "likely" (from 0.7 on), "unclear"; NULL: no confidence. */
const char *pp_confidence_words(double confidence);
/* What lowers the score most, as "..., because this": literal text. */
const char *pp_confidence_doubt(const struct pp_facts *facts, const struct pp_rule *cause, int bound,
                                double explained);
/* Calibrated; NAN for NAN. */
double pp_confidence_of(double score);

/* Rows of the table, in ascending order: from this score on, so many of the labelled verdicts were right. */
struct pp_confidence_row {
    double score, right;
};
extern const struct pp_confidence_row pp_confidence_rows[];
extern const size_t pp_confidence_rows_n;

#endif
