/* collectors/system/counters.h: what the system says about this process and machine, read about once a
 * second: CPU, memory, I/O, pressure (PSI), throttling; four collectors (collectors/collector.h). A source
 * that is absent has no rows.
 *
 * Values are as the kernel counts them: names ending in _total grow from boot or process start, the others
 * are levels. */
#ifndef PP_COLLECTORS_SYSTEM_COUNTERS_H
#define PP_COLLECTORS_SYSTEM_COUNTERS_H

#include "collectors/collector.h"

/* Takes one counter as it was read now. */
typedef void pp_counters_fn(void *ctx, const char *name, double value);

/* The number after the first "key" that starts a word in text ("rchar: 12", "some avg10=0.00 ... total=7"); 0
 * when it is not there. line, if not NULL, is the word the number's line must start with. */
int pp_counters_find(const char *text, const char *line, const char *key, double *value);

extern const struct pp_collector pp_collector_process, pp_collector_machine, pp_collector_pressure,
    pp_collector_cgroup;

#endif
