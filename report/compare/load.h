/* compare/load.h: a recorded run as a sample: its report (report/model/model.h), and counts over its complete
 * epochs. */
#ifndef PP_COMPARE_LOAD_H
#define PP_COMPARE_LOAD_H

#include "report/compare/run.h"
#include "report/model/model.h"

/* Opens, reports and counts. An unfinished run is PP_OK: whether it may be a sample is
 * pp_compare_check_side's to say. Errors as pp_report_build. On failure *out needs no freeing. */
pp_status pp_run_load(const char *path, struct pp_run *out, struct pp_err *err);

/* Per complete epoch. An epoch is complete when all its batches were delivered: a later one began, or the run
 * ended with it. What readers had fetched ahead of an unfinished epoch differs from run to run and is not
 * counted. */
struct pp_epoch_counts {
    double bytes, batches, samples, errors;
    double opens, reads; /* of the whole run, as the loader counted them; NAN: it did not */
    int whole;           /* the run is its complete epochs and nothing else */
    uint64_t epochs;     /* complete ones; 0: the rest is meaningless */
    int lossless;        /* no span was dropped or damaged: the counts are exact */
};
pp_status pp_count_epochs(const char *path, struct pp_epoch_counts *out, struct pp_err *err);

/* Files, directories (their *.sqlite, not below) and globs into runs, sorted by name. PP_E_NOT_FOUND when a
 * word leads to nothing. */
pp_status pp_runs_load(const char *const *operands, size_t n, struct pp_runs *out, struct pp_err *err);

#endif
