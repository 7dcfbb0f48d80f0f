/* collectors/system/counters.h: what the system says about this process and machine, read about once a
 * second: CPU, memory, I/O, pressure (PSI), throttling; four collectors (collectors/collector.h). A source
 * that is absent has no rows.
 *
 * Values are as the kernel counts them: names ending in _total grow from boot or process start, the others
 * are levels. */
#pragma once

#include "collectors/collector.h"

/* Takes one counter as it was read now. */
typedef void pp_counters_fn(void *ctx, const char *name, double value);

/* The number after the first "key" that starts a word in text ("rchar: 12", "some avg10=0.00 ... total=7"); 0
 * when it is not there. line, if not NULL, is the word the number's line must start with. */
int pp_counters_find(const char *text, const char *line, const char *key, double *value);

extern const struct pp_collector pp_collector_process, pp_collector_machine, pp_collector_pressure,
    pp_collector_cgroup;

/* Bytes of the whole machine's disks and networks since boot, once a second: what meters beside the CPU's are
 * drawn from. One collector (collectors/collector.h), four counters: machine_disk_read_bytes_total,
 * machine_disk_write_bytes_total, machine_net_rx_bytes_total, machine_net_tx_bytes_total. A source that is
 * absent has no rows. In a container the network is that of its namespace, the disks are those of the
 * host. */

struct pp_traffic {
    double in_bytes, out_bytes; /* read or received; written or sent */
};

/* The sums of /proc/diskstats and /proc/net/dev; 0: no device is in the text. Of disks, whole devices count
 * that are no layer over others: not partitions, loop, ram, zram, device-mapper and md. Of networks, those
 * that are not lo and carry no other one (bridges, bonds, veth). */
int pp_traffic_of_disks(const char *text, struct pp_traffic *out);
int pp_traffic_of_networks(const char *text, struct pp_traffic *out);

extern const struct pp_collector pp_collector_traffic;

/* The anonymous memory of each recorded process, so that growth of a worker is seen before the machine is
 * full. One collector (collectors/collector.h), one counter per process:
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

enum { PP_MEMORY_READINGS = 16, PP_MEMORY_PROCESSES = 1024 };
#define PP_MEMORY_COUNTER "process_anon_bytes."
#define PP_MEMORY_PRIVATE "process_private_bytes."

extern const struct pp_collector pp_collector_memory;

/* Who else uses the CPUs and the disks. Only while processes that are not the job's use more than a twentieth
 * of the machine's CPUs, all of /proc is looked at, at most once a second and at a cost of at most 1 % of one
 * CPU: CPU time and bytes read by program and user, so that many short processes are one row. The five
 * largest are rows of `environment`, "other_process_1": "cc1 (root), 43 % of the CPUs, 1.20 MiB read"; the
 * share is of the time that was looked at. In a container its own processes alone are seen. */

extern const struct pp_collector pp_collector_neighbours;

/* Watches the machine for so long, now: the share of its CPUs that other processes use, and the largest of
 * them, "cc1 (root), 43 % of the CPUs; ...", "" where none is seen. NAN: /proc cannot be read. One thread. */
double pp_neighbours_now(double seconds, char *largest, size_t size);
