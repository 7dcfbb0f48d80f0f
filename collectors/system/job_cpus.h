/* system/job_cpus.h: how many CPUs a recorded job may use: the masks of its processes (taskset, numactl, a
 * launcher's) and the quota of their control group, which may be others than those of the process that
 * records, and may change. Once a second; `environment` then has the job's in the place of our own, of
 * several the one that held longest, and usable_cpus_changes says "2 -> 1 after 34 s".
 * cpus_at_start are those that the job was started with, before its command or its script bound it; and
 * narrow_processes of the job had together narrow_cpus, fewer than the job (workers that are bound). */
#ifndef PP_COLLECTORS_SYSTEM_JOB_CPUS_H
#define PP_COLLECTORS_SYSTEM_JOB_CPUS_H

#include "collectors/collector.h"

extern const struct pp_collector pp_collector_job_cpus;

#endif
