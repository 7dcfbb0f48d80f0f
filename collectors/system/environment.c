#include "collectors/system/environment.h"

#include "collectors/system/cgroup.h"
#include "collectors/system/topology.h"
#include "probe/base/io.h"
#include "probe/base/text.h"

#include <inttypes.h>
#include <sched.h>
#include <jpeglib.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zstd.h>

#define AFFINITY_CPUS 8192

void pp_cpus_read(struct pp_cpus *out)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    out->online = online > 0 ? (int)online : 1;
    size_t size = CPU_ALLOC_SIZE(AFFINITY_CPUS);
    cpu_set_t *set = CPU_ALLOC(AFFINITY_CPUS);
    int n = set && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    out->affinity = n;
    if (out->affinity <= 0)
        out->affinity = out->online;
    out->quota = pp_cgroup_cpu_quota(0);
    out->usable = out->quota > 0 && out->quota < out->affinity ? out->quota : out->affinity;
}

int pp_proc_field(const char *text, const char *key, char *out, size_t size)
{
    size_t n = strlen(key);
    for (const char *line = text; line && *line; line = pp_text_next_line(line)) {
        if (strncmp(line, key, n) != 0)
            continue;
        const char *p = line + n;
        p += strspn(p, " \t");
        if (*p == ':') {
            p += 1 + strspn(p + 1, " \t");
            snprintf(out, size, "%.*s", (int)strcspn(p, "\n"), p);
            return 1;
        }
    }
    return 0;
}

int pp_proc_field_of(const char *path, const char *key, char *out, size_t size)
{
    char text[16384];
    pp_io_text(text, sizeof(text), "%s", path);
    return pp_proc_field(text, key, out, size);
}

static uint64_t meminfo_bytes(const char *key)
{
    char value[64];
    return pp_proc_field_of("/proc/meminfo", key, value, sizeof(value)) ? strtoull(value, NULL, 10) * 1024
                                                                        : 0;
}

uint64_t pp_memory_available(void)
{
    uint64_t available = meminfo_bytes("MemAvailable");
    struct pp_cgroup_memory group;
    if (pp_cgroup_memory(NULL, &group) && (!available || group.left_bytes < available))
        available = group.left_bytes ? group.left_bytes : 1; /* 0 is unknown */
    return available;
}

/* Facts are written one by one; the store remembers the first failure, which the last commit returns. */
static void put_text(struct pp_store *s, const char *key, const char *value)
{
    if (value && *value)
        pp_store_meta_text(s, "environment", key, value);
}

static void put_number(struct pp_store *s, const char *key, double value, const char *unit)
{
    pp_store_meta_num(s, "environment", key, value, unit);
}

static void store_limit(struct pp_store *s, const char *key, int resource, const char *unit)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        put_text(s, key, "unlimited");
    else
        put_number(s, key, (double)limit.rlim_cur, unit);
}

void pp_environment_store_data(struct pp_store *s, const char *path)
{
    struct pp_mount m;
    char real[PATH_MAX], disk[24];
    if (!path || !realpath(path, real))
        return;
    put_text(s, "data_path", real);
    if (pp_disk_of(real, disk, sizeof(disk))) {
        struct pp_io_limit limit;
        put_text(s, "data_disk", disk);
        pp_cgroup_io_limit(disk, &limit);
        if (limit.bytes_per_s > 0)
            put_number(s, "disk_limit_bytes_per_s", limit.bytes_per_s, "bytes/s");
        if (limit.reads_per_s > 0)
            put_number(s, "disk_limit_reads_per_s", limit.reads_per_s, "reads/s");
    }
    if (!pp_mount_of(real, &m))
        return;
    put_text(s, "data_mount", m.point);
    put_text(s, "data_fs_type", m.type);
    put_text(s, "data_fs_source", m.source);
    put_text(s, "data_fs_options", m.options);
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* Launchers say who this process is among its ranks; SLURM_* wholesale, for what matters there differs from
 * site to site. */
static void store_launcher(struct pp_store *s)
{
    static const char *const names[] = {
        "RANK",      "WORLD_SIZE",  "LOCAL_RANK",           "LOCAL_WORLD_SIZE",
        "NODE_RANK", "MASTER_ADDR", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
        "PMI_RANK",  "PMI_SIZE",    "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS",
    };
    char key[96];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        put_text(s, names[i], getenv(names[i]));
    for (char **e = environ; e && *e; e++) {
        size_t n = strcspn(*e, "=");
        if (strncmp(*e, "SLURM_", 6) == 0 && (*e)[n] == '=' && n < sizeof(key)) {
            snprintf(key, sizeof(key), "%.*s", (int)n, *e);
            put_text(s, key, *e + n + 1);
        }
    }
}

void pp_environment_store_numa(struct pp_store *s, const char *pci)
{
    struct pp_topology t;
    char nodes[256];
    uint64_t bits = 0;
    int node = -1;
    pp_topology_read(NULL, &t);
    for (size_t i = 0; i < t.devices; i++) {
        const struct pp_topology_device *d = &t.device[i];
        if (d->kind != PP_TOPOLOGY_GPU || d->node < 0 || d->node >= PP_TOPOLOGY_NODES ||
            (pci && pp_topology_node_of(&t, pci) != d->node))
            continue;
        bits |= UINT64_C(1) << (node = d->node);
    }
    if (t.nodes < 2 || !t.own_bits || !bits)
        return;
    put_number(s, "numa_nodes", t.nodes, "nodes");
    put_text(s, "cpu_numa_nodes", pp_topology_nodes(t.own_bits, nodes, sizeof(nodes)));
    put_text(s, "gpu_numa_nodes", pp_topology_nodes(bits, nodes, sizeof(nodes)));
    if (bits & (bits - 1)) /* of several */
        return;
    int distance = pp_topology_distance(NULL, &t, node);
    put_text(s, "gpu_numa_cpus", t.cpus[node]);
    if (distance)
        put_number(s, "gpu_numa_distance", distance, "10 is the own node");
}

pp_status pp_environment_store(struct pp_store *s, const char *data_path, struct pp_err *err)
{
    struct utsname u;
    char value[4096], path[256], on[8]; /* value: the flags of a CPU are a long line */
    if (uname(&u) == 0) {
        snprintf(value, sizeof(value), "%s %s", u.sysname, u.release);
        put_text(s, "kernel", value);
        put_text(s, "machine", u.machine);
        put_text(s, "hostname", u.nodename);
    }
    if (pp_proc_field_of("/proc/cpuinfo", "model name", value, sizeof(value)))
        put_text(s, "cpu_model", value);
    if (pp_proc_field_of("/proc/cpuinfo", "flags", value, sizeof(value)) && strstr(value, " hypervisor"))
        put_text(s, "virtual_machine", "yes");
    struct pp_cpus c;
    pp_cpus_read(&c);
    put_number(s, "usable_cpus", c.usable, "CPUs");
    put_number(s, "cpus_affinity", c.affinity, "CPUs");
    put_number(s, "cpus_online", c.online, "CPUs");
    /* Whom the scheduler is fair to: to groups where we are in one (a container, a service, a session with
     * autogroups), else to threads. */
    pp_io_line(on, sizeof(on), "/proc/sys/kernel/sched_autogroup_enabled");
    int by_group = on[0] == '1' || (pp_proc_field_of("/proc/self/cgroup", "0:", path, sizeof(path)) &&
                                    strcmp(path, "/") != 0);
    put_text(s, "cpu_sharing", by_group ? "groups" : "threads");
    if (c.quota > 0)
        put_number(s, "cpu_quota", c.quota, "CPUs");
    uint64_t total = meminfo_bytes("MemTotal"), available = pp_memory_available();
    struct pp_cgroup_memory group;
    if (total)
        put_number(s, "memory_total", (double)total, "bytes");
    if (available)
        put_number(s, "memory_available", (double)available, "bytes");
    if (pp_cgroup_memory(NULL, &group))
        put_number(s, "memory_limit", (double)group.limit_bytes, "bytes");
    put_number(s, "page_size", (double)sysconf(_SC_PAGESIZE), "bytes");
    pp_environment_store_numa(s, NULL);
    store_limit(s, "limit_memlock", RLIMIT_MEMLOCK, "bytes");
    store_limit(s, "limit_open_files", RLIMIT_NOFILE, "files");
    pp_environment_store_data(s, data_path);
    put_text(s, "pipeprobe_version", PP_VERSION);
    put_text(s, "compiler", __VERSION__);
    put_text(s, "sqlite_version", pp_store_sqlite_version());
    put_text(s, "zstd_version", ZSTD_versionString());
#ifdef LIBJPEG_TURBO_VERSION
    put_text(s, "libjpeg_turbo_version", TEXT(LIBJPEG_TURBO_VERSION));
#endif
    store_launcher(s);
    return pp_store_commit(s, err);
}
