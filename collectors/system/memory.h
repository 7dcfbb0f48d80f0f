/* collectors/system/memory.h: the anonymous memory of each recorded process, so that growth of a worker is
 * seen before the machine is full. One collector (collectors/collector.h), one counter per process:
 * "process_anon_bytes.PID", resident pages less those of files and shared memory (/proc/PID/statm): what
 * mapped data sets and batches in shared memory take is not counted. And "shm_used_bytes" and
 * "shm_left_bytes" of /dev/shm, where PyTorch's workers put their batches.
 * "process_private_bytes.PID" of processes that a recorded one has started: the pages that are theirs alone
 * (Private_Dirty of /proc/PID/smaps_rollup). It grows as a forked worker copies what it writes to. The kernel
 * walks all pages for it: asked at most as often as takes 1 % of a CPU, in the first minute 2.5 %, and not of
 * processes above 8 GB.
 *
 * Cost: a reading takes some 10 us. At most PP_MEMORY_READINGS processes are read at a time, in turns, at
 * most once a second, and less often as the run gets longer: every 2 s after 10 minutes, every 7 s after an
 * hour. */
#ifndef PP_COLLECTORS_SYSTEM_MEMORY_H
#define PP_COLLECTORS_SYSTEM_MEMORY_H

#include "collectors/collector.h"

enum { PP_MEMORY_READINGS = 16, PP_MEMORY_PROCESSES = 1024 };
#define PP_MEMORY_COUNTER "process_anon_bytes."
#define PP_MEMORY_PRIVATE "process_private_bytes."

extern const struct pp_collector pp_collector_memory;

#endif
