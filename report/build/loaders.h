/* report/build/loaders.h: what is said of each DataLoader of a job that has several: its rate, its workers,
 * and in which words the judged one is named. */
#ifndef PP_REPORT_BUILD_LOADERS_H
#define PP_REPORT_BUILD_LOADERS_H

#include "probe/base/arena.h"
#include "report/measure/tally.h"
#include "report/model/model.h"

/* After the rows of loaders and of workers; texts from arena. */
void pp_loaders_tell(const struct pp_timeline *tl, const struct pp_tally *tally, struct pp_arena *arena,
                     struct pp_report *r);
/* Where the line to paste belongs, once it is chosen. */
void pp_loaders_place_line(struct pp_report *r);

#endif
