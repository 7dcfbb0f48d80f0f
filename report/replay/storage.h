/* report/replay/storage.h: what kind of storage the reads of a recording came from: slow by themselves,
 * queueing on a link they share, limited to so many reads a second, in part of the data alone, behind a slow
 * worker, standing still at times, or another from some moment on. The replay needs to know, because the same
 * time blocked does not come again in the same way with other knobs. */
#pragma once

#include "report/replay/costs.h"

/* Reads share a link from here on: half of what orders the gaps between them is their bytes (0.7 squared). */
#define PP_SERIAL 0.7
/* Of a known limit: from here on it is what the reads wait for. */
#define PP_LIMIT_USED 0.85
/* From here on the run is two runs. */
#define PP_DRIFT 1.5

/* Fills c->storage; sets c->bandwidth when the reads share a link, c->reads_per_s when so many and no more
 * are answered; moves outages out of the samples into c->outages; of a run that changed, keeps what came
 * after. Done once: a second call changes nothing. PP_E_NO_MEMORY. */
pp_status pp_storage_read(struct pp_costs *c, struct pp_err *err);

/* Storage is known to serve as many reads at a time as were seen; how many more, a recording cannot show.
 * From this many times what was seen on, a prediction rests on it: its interval reaches down to storage that
 * serves no more, and it says so. It is the 10 % quantile, where the 80 % interval ends, of a limit that lies
 * anywhere (log-uniform) within two decades above what was seen: 100^0.1. */
#define PP_PARALLEL_BEYOND 1.6

/* The part of a known limit (0 or NAN: none) that was used; NAN: unknown. */
double pp_storage_limit_used(double got_per_s, double limit_per_s);

/* Fills c->slow, the slowest first, of at most half of the workers; what was there is replaced. After
 * pp_storage_read. PP_E_NO_MEMORY. */
pp_status pp_slow_workers_find(struct pp_costs *c, struct pp_err *err);
