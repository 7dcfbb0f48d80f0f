/* compare/metrics.h: what is compared between runs, as numbers and as a table (metrics.def). */
#ifndef PP_COMPARE_METRICS_H
#define PP_COMPARE_METRICS_H

#include <stddef.h>

enum pp_cmp_id {
#define PP_CMP_METRIC(sym, key, title, unit, better, kind, threshold, floor, text) PP_CMP_##sym,
#include "report/compare/metrics.def"
#undef PP_CMP_METRIC
    PP_CMP_COUNT_OF_METRICS
};

enum pp_cmp_unit { PP_CMP_RATE, PP_CMP_PERCENT, PP_CMP_SECONDS, PP_CMP_BYTES, PP_CMP_NUMBER };
enum pp_cmp_better { PP_CMP_HIGHER, PP_CMP_LOWER, PP_CMP_SAME };
enum pp_cmp_kind { PP_CMP_TIMING, PP_CMP_SHARE, PP_CMP_COUNT };

struct pp_cmp_metric {
    const char *key, *title, *text;
    enum pp_cmp_unit unit;
    enum pp_cmp_better better;
    enum pp_cmp_kind kind;
    double threshold, floor;
};

/* id < PP_CMP_COUNT_OF_METRICS. */
const struct pp_cmp_metric *pp_cmp_metric(enum pp_cmp_id id);
/* -1 for a name that is not in the table. */
int pp_cmp_find(const char *key);
/* All keys, ending with NULL, for pp_nearest. */
const char *const *pp_cmp_keys(void);

/* The unit as OpenMetrics and JSON consumers spell it: "samples/s", "ratio", "seconds", "bytes", "". */
const char *pp_cmp_unit_name(enum pp_cmp_unit unit);
/* A value as people read it, NAN as "-"; buf of at least 32 bytes. */
char *pp_cmp_value_text(char *buf, size_t size, const struct pp_cmp_metric *m, double value);
/* A change as people read it: share 0.0312 -> "+3.1 %". */
char *pp_cmp_change_text(char *buf, size_t size, double share);

/* The value of the metric turned so that ratios of it are "times worse" (metrics.def: KIND, floor, BETTER).
 */
double pp_cmp_burden(const struct pp_cmp_metric *m, double value);

#endif
