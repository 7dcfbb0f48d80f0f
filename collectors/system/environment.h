/* collectors/system/environment.h: what machine this is: the fingerprint stored in every file, and what the
 * machine has to offer (usable CPUs). Each fact that cannot be had is absent, never zero. Linux: procfs,
 * cgroup v1 and v2. */
#pragma once

#include "collectors/store/writer.h"

struct pp_cpus {
    double usable; /* min(affinity, quota): what threads can really use */
    int affinity;  /* CPUs in this process's mask */
    double quota;  /* cgroup CPU quota in CPUs; 0: none found */
    int online;
};
void pp_cpus_read(struct pp_cpus *out);

/* Bytes this process may use: min(MemAvailable, cgroup limit - usage). 0 when unknown. */
uint64_t pp_memory_available(void);

/* Writes section "environment": kernel, CPU model, usable CPUs, memory, file system and mount of data_path
 * (may be NULL), limits, versions of the libraries used, hostname, launcher variables (RANK, WORLD_SIZE,
 * LOCAL_RANK, SLURM_*). */
pp_status pp_environment_store(struct pp_store *s, const char *data_path, struct pp_err *err);

/* The path of the data, its disk and the disk's limits, its mount and file system, into the same section;
 * nothing for a path that is not there. For those who learn it later. */
void pp_environment_store_data(struct pp_store *s, const char *path);

/* The NUMA nodes of this process's CPUs and of the NVIDIA GPUs, or of the one at that PCI address, into the
 * same section; nothing on a machine with one node, or without a GPU whose node is known. */
void pp_environment_store_numa(struct pp_store *s, const char *pci);

/* The value of "key : value" in the text of /proc/cpuinfo, /proc/meminfo and the like; 0 when the key is not
 * there. */
int pp_proc_field(const char *text, const char *key, char *out, size_t size);
/* The same of a file, of which the first 16 KiB are looked at. */
int pp_proc_field_of(const char *path, const char *key, char *out, size_t size);
