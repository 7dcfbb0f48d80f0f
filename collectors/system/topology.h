/* collectors/system/topology.h: NUMA: which nodes this process may use CPUs of, and how far from them the
 * NVIDIA GPUs, the networks and the disk of the data are. From sysfs and procfs alone, without a driver. */
#pragma once

#include "probe/base/std.h"

enum {
    PP_TOPOLOGY_NODES = 64, /* higher ones are not looked at */
    PP_TOPOLOGY_DEVICES = 32,
    PP_TOPOLOGY_NAME = 64,
    PP_TOPOLOGY_LIST = 256
};

/* Where it is looked for: "/sys" and "/proc", or a test's. */
struct pp_topology_root {
    const char *sys, *proc;
};

enum pp_topology_kind { PP_TOPOLOGY_GPU, PP_TOPOLOGY_NETWORK, PP_TOPOLOGY_DISK };

struct pp_topology_device {
    enum pp_topology_kind kind;
    char name[PP_TOPOLOGY_NAME];  /* of a GPU its PCI address, "0000:17:00.0"; else "eth0", "nvme0n1" */
    char model[PP_TOPOLOGY_NAME]; /* of a GPU, from its driver; "" */
    int node;                     /* -1: not told */
    int distance;                 /* from the nearest node of ours, 10 is the own one; 0: not told */
};

struct pp_topology {
    int nodes;                    /* 0: not told */
    uint64_t node_bits, own_bits; /* nodes there are; those with a CPU that this process may use */
    uint64_t cpu_bits;            /* those with a CPU: memory, of a GPU too, may be a node of its own */
    char cpus[PP_TOPOLOGY_NODES][PP_TOPOLOGY_LIST]; /* of each, "8-15,24-31" */
    struct pp_topology_device device[PP_TOPOLOGY_DEVICES];
    size_t devices;
};

/* disk: "259:0" (pp_disk_of), or NULL. What cannot be read is not told. */
void pp_topology_read_at(const struct pp_topology_root *root, const char *disk, struct pp_topology *out);
/* Of this machine; data_path may be NULL. */
void pp_topology_read(const char *data_path, struct pp_topology *out);

/* The node of a PCI address, in either case ("0000:17:00.0", "00000000:17:00.0"); -1: not told. */
int pp_topology_node_of(const struct pp_topology *t, const char *pci);
/* None of the CPUs of this process is on the device's node, which has CPUs, and both are known. */
int pp_topology_is_far(const struct pp_topology *t, const struct pp_topology_device *d);
/* From the nearest node of ours to that one; 0: not told. */
int pp_topology_distance(const struct pp_topology_root *root, const struct pp_topology *t, int node);
/* "0,2" for bits 0 and 2. */
const char *pp_topology_nodes(uint64_t bits, char *buf, size_t size);

/* Whether two lists of CPUs ("0-3,8") have one in common; 0 for what is no list. */
int pp_cpu_lists_meet(const char *a, const char *b);

/* ---- which mount a path lives on ----
 *
 * Which mount a path lives on, from the text of /proc/self/mountinfo (proc(5)). */

struct pp_mount {
    char point[512], type[64], source[256], options[256];
};

/* The last mount whose point is the longest prefix of the absolute, resolved path; 0: the text has none. */
int pp_mount_find(const char *mountinfo, const char *path, struct pp_mount *out);
/* The same for an existing path of this machine; 0 when it cannot be told. */
int pp_mount_of(const char *path, struct pp_mount *out);
/* "254:0": the disk (of a partition, the whole one) that holds the path: where the block layer counts and
 * limits reads. 0: it is on no block device, as on NFS, FUSE and overlayfs. At least 24 bytes. */
int pp_disk_of(const char *path, char *device, size_t size);
