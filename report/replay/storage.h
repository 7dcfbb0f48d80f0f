/* report/replay/storage.h: what kind of storage the reads of a recording came from: slow by themselves,
 * queueing on a link they share, in part of the data alone, standing still at times, or another from some
 * moment on. The replay needs to know, because the same time blocked does not come again in the same way with
 * other knobs.
 */
#ifndef PP_REPORT_REPLAY_STORAGE_H
#define PP_REPORT_REPLAY_STORAGE_H

#include "report/replay/costs.h"

/* Reads share a link from here on: half of what orders the gaps between them is their bytes (0.7 squared). */
#define PP_SERIAL 0.7
/* From here on the run is two runs. */
#define PP_DRIFT 1.5

/* Fills c->storage; sets c->bandwidth when the reads share a link, c->reads_per_s when so many and no more
 * are answered; moves outages out of the samples (outages.h); of a run that changed, keeps what came after.
 * Done once: what is known already is left alone. PP_E_NO_MEMORY. */
pp_status pp_storage_read(struct pp_costs *c, struct pp_err *err);

#endif
