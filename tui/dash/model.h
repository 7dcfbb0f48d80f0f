/* dash/model.h: everything a frame is drawn from, put together by the loop (loop.c) or by a test. Borrowed
 * pointers. */
#ifndef PP_DASH_MODEL_H
#define PP_DASH_MODEL_H

#include "report/live/live.h"
#include "report/model/model.h"
#include "tui/dash/predict.h"

struct pp_dash_model {
    const char *path;
    const struct pp_live_snapshot *snap;
    const struct pp_report *report; /* of the whole run; NULL: not there yet */
    const struct pp_report *moment; /* of [moment_from_ns, moment_to_ns), the time that is looked at; NULL:
                                       none, or not there yet */
    uint64_t moment_from_ns, moment_to_ns;
    const struct pp_predicted *predicted; /* NULL: not asked, or not answered yet */
    const char *trouble;                  /* why the file could not be read just now; NULL: it could */
    const struct pp_live_fact *facts;
    size_t n_facts;
};

#endif
