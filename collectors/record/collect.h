/* collectors/record/collect.h: the collector of a program that records through the public API
 * (pipeprobe/pipeprobe.h): drains the session beside the run's file for as long as any process of it lives,
 * then finishes the file and removes the session. */
#ifndef PP_COLLECTORS_RECORD_COLLECT_H
#define PP_COLLECTORS_RECORD_COLLECT_H

#include <pipeprobe/status.h>

/* Called once everything needed is there, or with the reason why not (failed != NULL; pp_collect then returns
 * it too). */
typedef void pp_collect_ready_fn(void *ctx, const struct pp_err *failed);

/* path: of the run; its session is "<path>.rings", whose lock the caller has inherited as lock_fd (taken
 * over). The calling thread waits until all processes have closed or gone. What could not be stored stays in
 * the ring files. */
pp_status pp_collect(const char *path, int lock_fd, pp_collect_ready_fn *ready, void *ctx,
                     struct pp_err *err);

#endif
