/* loader/ballast.h: CPU time taken for nothing. A run whose input is free tells what input costs only if the
 * CPUs are as busy as they were with the input: otherwise the trainer gains what the decoding took from it,
 * too. (SPDL calls its cached loader's gain without this the noisy neighbour's.)
 *
 * The ballast takes CPU time alone: what decoding does to caches and memory bandwidth is not made up for. */
#ifndef PP_LOADER_BALLAST_H
#define PP_LOADER_BALLAST_H

#include <pipeprobe/status.h>

struct pp_ballast;

/* Threads that take `cpus` CPUs together, evenly and in slices of 10 ms; what one does not get in a slice is
 * not made up for. cpus <= threads. */
pp_status pp_ballast_start(double cpus, int threads, struct pp_ballast **out, struct pp_err *err);
/* Ends and joins them. NULL is fine. */
void pp_ballast_stop(struct pp_ballast *b);

/* Takes that much CPU time on the calling thread: under contention it lasts as much longer as real work
 * would. */
void pp_burn_cpu_ns(double ns);

#endif
