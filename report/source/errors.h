/* source/errors.h: the rows of the table of errors as kinds of error: visits, distinct files, examples. A
 * sample that fails is visited once per epoch, so that visits say how often and files how many. Memory is
 * bounded; texts go to the arena. */
#ifndef PP_REPORT_SOURCE_ERRORS_H
#define PP_REPORT_SOURCE_ERRORS_H

#include "probe/base/arena.h"
#include "report/model/model.h"
#include "report/source/source.h"

struct pp_errors {
    struct pp_arena *arena;
    struct pp_report *report; /* its error_kinds and error_files are filled */
    uint64_t visits;          /* samples that failed, retries and notes not among them */
    /* internal: hashes of the paths met, open addressing */
    uint64_t *seen;
    size_t n, cap;
};

/* Rows in the order of the table: the first of a kind is its example. */
void pp_errors_add(struct pp_errors *e, const struct pp_error_row *row);
void pp_errors_free(struct pp_errors *e);

#endif
