/* report/build/path.h: which settings to change one after the other, and where that ends. */
#ifndef PP_REPORT_BUILD_PATH_H
#define PP_REPORT_BUILD_PATH_H

#include "report/model/model.h"
#include "report/replay/costs.h"

/* Into v->path, from the settings among v->fixes: greedy, each step the one that gains most beside those
 * before it, replayed together, until the next gains less than 5 %. costs are calibrated. Empty where the
 * first gains less, or its interval holds a loss. */
void pp_path_find(const struct pp_costs *costs, struct pp_report_verdict *v);

#endif
