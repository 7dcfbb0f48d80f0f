/* collectors/record/collectors.h: the table of collectors (collectors/collector.h) and its lifecycle in a
 * recording. */
#pragma once

#include "collectors/collector.h"

#include <pipeprobe/status.h>

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

/* The collector of a program that records through the public API (pipeprobe/pipeprobe.h): drains the session
 * beside the run's file for as long as any process of it lives, then finishes the file and removes the
 * session. */

/* Called once everything needed is there, or with the reason why not (failed != NULL; pp_collect then returns
 * it too). */
typedef void pp_collect_ready_fn(void *ctx, const struct pp_err *failed);

/* path: of the run; its session is "<path>.rings", whose lock the caller has inherited as lock_fd (taken
 * over). The calling thread waits until all processes have closed or gone. What could not be stored stays in
 * the ring files. */
pp_status pp_collect(const char *path, int lock_fd, pp_collect_ready_fn *ready, void *ctx,
                     struct pp_err *err);
