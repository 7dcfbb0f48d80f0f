/* system/neighbours.h: who else uses the CPUs and the disks. Only while processes that are not the job's use
 * more than a twentieth of the machine's CPUs, all of /proc is looked at, at most once a second and at a cost
 * of at most 1 % of one CPU: CPU time and bytes read by program and user, so that many short processes are
 * one row. The five largest are rows of `environment`, "other_process_1": "cc1 (root), 43 % of the CPUs, 1.20
 * MiB read"; the share is of the time that was looked at. In a container its own processes alone are seen. */
#ifndef PP_COLLECTORS_SYSTEM_NEIGHBOURS_H
#define PP_COLLECTORS_SYSTEM_NEIGHBOURS_H

#include "collectors/collector.h"

extern const struct pp_collector pp_collector_neighbours;

/* Watches the machine for so long, now: the share of its CPUs that other processes use, and the largest of
 * them, "cc1 (root), 43 % of the CPUs; ...", "" where none is seen. NAN: /proc cannot be read. One thread. */
double pp_neighbours_now(double seconds, char *largest, size_t size);

#endif
