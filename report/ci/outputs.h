/* ci/outputs.h: the comparison in the forms that CI systems read. Each prints what the model says and
 * computes nothing; each returns 0, or -1 when writing failed. */
#pragma once

#include "report/compare/compare.h"

/* GitHub workflow commands: one ::error:: line per regression, one ::warning:: per inconclusive metric;
 * nothing when all is well. */
int pp_ci_annotations(const struct pp_compare *c, FILE *out);
/* JUnit XML: a gated metric is a test case, regressed is a failure, inconclusive and not measured are skipped
 * with the reason. With strict, inconclusive is a failure. */
int pp_ci_junit(const struct pp_compare *c, int strict, FILE *out);
/* OpenMetrics text, as `artifacts:reports:metrics` of GitLab reads it: medians, changes, thresholds, answers.
 */
int pp_ci_openmetrics(const struct pp_compare *c, FILE *out);
/* github-action-benchmark's customSmallerIsBetter: HEAD's medians; throughput as seconds per sample. */
int pp_ci_benchmark(const struct pp_compare *c, FILE *out);
