/* dataset/columns_choose.h: which columns of a table are the sample and its label. For dataset_columns.c. */
#ifndef PP_DATASET_COLUMNS_CHOOSE_H
#define PP_DATASET_COLUMNS_CHOOSE_H

#include "probe/base/content.h"
#include "probe/columns/table.h"

struct pp_columns_choice {
    size_t column[PP_TABLE_USED]; /* of the sample, in order, then the label's */
    size_t parts, n;              /* of the sample; with the label */
    enum pp_content content;
};

/* feature: the column asked for, or NULL: binary columns (images), else the first list of whole numbers
 * (tokens), else the first list of fractions, else all columns of one number each (a row of a table), else
 * the first of text. spec: for sentences. PP_E_UNSUPPORTED: none of them, or the one asked for is of another
 * kind; the sentence lists them. */
pp_status pp_columns_choose(const struct pp_table *t, const char *feature, const char *spec,
                            struct pp_columns_choice *out, struct pp_err *err);
/* The same columns in another file of the set. PP_E_UNSUPPORTED: it lacks one, or has it with another type.
 */
pp_status pp_columns_match(const struct pp_table *first, const struct pp_columns_choice *choice,
                           const struct pp_table *t, size_t *column, struct pp_err *err);

#endif
