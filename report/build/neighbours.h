/* report/build/neighbours.h: the names of other processes that use the CPUs (collectors/system/neighbours.h)
 * in the advice to move them off. */
#ifndef PP_REPORT_BUILD_NEIGHBOURS_H
#define PP_REPORT_BUILD_NEIGHBOURS_H

#include "probe/base/arena.h"
#include "report/model/model.h"

/* Once the next step is chosen; nothing where it is another one, or none was recorded. */
void pp_neighbours_name(struct pp_arena *arena, struct pp_report *r);

#endif
