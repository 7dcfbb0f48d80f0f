/* collectors/record/collectors.h: the table of collectors (collectors/collector.h) and its lifecycle in a
 * recording. */
#ifndef PP_COLLECTORS_RECORD_COLLECTORS_H
#define PP_COLLECTORS_RECORD_COLLECTORS_H

#include "collectors/collector.h"

/* NULL after the last. */
extern const struct pp_collector *const pp_collector_rows[];

struct pp_collectors;

/* Starts every row that applies. Before the threads of the loader: the GPU's rows watch the device for them.
 * Fails only without memory, or without a thread for the rows that block. */
pp_status pp_collectors_start(const struct pp_collect_opts *opts, struct pp_collectors **out,
                              struct pp_err *err);
/* Polls the rows that do not block. By one thread, about once a second; NULL is fine. */
void pp_collectors_poll(struct pp_collectors *c);
/* How this row is recorded: what it found, or "not recorded: " and why; NULL where it does not apply. Until
 * stop. */
const char *pp_collectors_describe(const struct pp_collectors *c, const struct pp_collector *row);
/* When nothing runs on the device any more, and no thread polls. Stores the rest and what the thread of the
 * blocking rows took (gpu.monitor_cpu_ns), frees. NULL is fine. */
void pp_collectors_stop(struct pp_collectors *c);

#endif
