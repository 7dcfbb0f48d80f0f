/* collectors/system/cgroup.h: what control group this process is in, and what it grants: cgroup v1, v2 and
 * both at once (hybrid). The parsing works on given text, so that tests feed it what other machines say. */
#pragma once

#include "probe/base/std.h"

/* The group's path from the text of /proc/self/cgroup: of a v1 controller ("cpu" matches "cpu,cpuacct"), or
 * of the v2 hierarchy with controller NULL. 0 when there is none. */
int pp_cgroup_path(const char *text, const char *controller, char *out, size_t size);

/* CPUs granted by the text of cpu.max ("200000 100000") or by v1's two numbers; 0: no limit. */
double pp_cgroup_cpu_max(const char *text);
double pp_cgroup_cfs(int64_t quota_us, int64_t period_us);

/* Path of a file of our own group, looking at the v1 controller first (with both, it is where the controller
 * is) and then at v2; in a container whose own path is not mounted, the mount's root stands for it. 0 when
 * there is no such file. */
int pp_cgroup_file(const char *controller, const char *file, char *out, size_t size);

/* The tightest CPU quota of that process's group and those above it, in CPUs; 0: none. pid 0: our group. */
double pp_cgroup_cpu_quota(int64_t pid);
/* Where control groups are looked for; NULL, where it may be: /proc/self/cgroup and /sys/fs/cgroup. */
struct pp_cgroup_root {
    const char *self, *mount;
};

/* The memory limit of our group and those above it under which least is left: limit minus what is used now,
 * but for file cache, which is given up first. Above is_soft the kernel slows a process down instead of
 * ending it (memory.high). 0 when there is no limit. */
struct pp_cgroup_memory {
    uint64_t limit_bytes, left_bytes;
    int is_soft;
};
int pp_cgroup_memory(const struct pp_cgroup_root *where, struct pp_cgroup_memory *out);

/* Processes that the kernel has killed so far for want of memory in our group, those below it included. 0:
 * not to be had. */
int pp_cgroup_oom_kills(double *out);

/* What the block layer lets a group read from one disk, per second; 0: no limit. */
struct pp_io_limit {
    double bytes_per_s, reads_per_s;
};
/* Adds the tighter of *limit and the line of that device ("254:0") in the text of v2's io.max. */
void pp_cgroup_io_max(const char *text, const char *device, struct pp_io_limit *limit);
/* The number of that device in the text of v1's blkio.throttle.read_*_device; 0: no limit. */
double pp_cgroup_throttle(const char *text, const char *device);
/* The tightest limit of our group and those above it; returns 0 when there is none. */
int pp_cgroup_io_limit(const char *device, struct pp_io_limit *out);
