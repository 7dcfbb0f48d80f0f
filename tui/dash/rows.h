/* dash/rows.h: the rows of a view that can be moved through, searched, sorted and filtered, as indexes into
 * the model. Pure. */
#pragma once

#include "tui/dash/state.h"

enum { PP_ROWS_MOST = 20480 };

struct pp_rows {
    int n;
    int index[PP_ROWS_MOST];
};

/* Workers (overview and workers view, sorted), stages, errors and events (newest first), lines of code,
 * facts, knobs; the batch view has none. */
void pp_rows_of(const struct pp_dash_state *s, const struct pp_dash_model *m, struct pp_rows *out);
/* Whether the row shows the text, in any case of letters. */
int pp_row_has(enum pp_view v, const struct pp_dash_model *m, int index, const char *text);

/* Columns that workers are sorted by; the table of workers shows which. */
enum pp_sort {
    PP_SORT_NAME,
    PP_SORT_RATE,
    PP_SORT_BUSY,
    PP_SORT_WAITING,
    PP_SORT_RUN_QUEUE,
    PP_SORT_ERRORS,
    PP_SORT_AGE,
    PP_SORT_LONGEST,
    PP_SORTS
};
extern const char *const pp_sort_names[PP_SORTS];
