/* collectors/attach/loaders.h: the DataLoaders of a recorded Python job (loaders_file.h), stored as soon as
 * they are known: one row of section "loader" each, and under "config" the arguments of the loader that gave
 * most batches, as `run` stores its own. One collector (collectors/collector.h); a session in which no Python
 * process has a loader costs one look at its directory a second. */
#ifndef PP_COLLECTORS_ATTACH_LOADERS_H
#define PP_COLLECTORS_ATTACH_LOADERS_H

#include "collectors/collector.h"

enum { PP_LOADERS_PROCESSES = 64 }; /* more of them are recorded, their loaders' arguments are not */

extern const struct pp_collector pp_collector_loaders;

#endif
