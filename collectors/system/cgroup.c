#include "collectors/system/cgroup.h"

#include "probe/base/io.h"
#include "probe/base/text.h"

#include <fcntl.h>
#include <unistd.h>

#define UNLIMITED_BYTES (1ull << 62) /* v1 says "no limit" as 2^63 rounded down to a page */

/* Is word one of the comma-separated words of list (length n)? */
static int in_list(const char *list, size_t n, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = list; p + len <= list + n;) {
        if (strncmp(p, word, len) == 0 && (p + len == list + n || p[len] == ','))
            return 1;
        p = memchr(p, ',', (size_t)(list + n - p));
        if (!p)
            return 0;
        p++;
    }
    return 0;
}

/* Lines "id:controllers:path"; v2 is the one with id 0 and no controllers. */
int pp_cgroup_path(const char *text, const char *controller, char *out, size_t size)
{
    for (const char *line = text; line && *line;) {
        const char *stop = strchr(line, '\n');
        size_t n = stop ? (size_t)(stop - line) : strlen(line);
        const char *list = memchr(line, ':', n);
        const char *path = list ? memchr(list + 1, ':', n - (size_t)(list + 1 - line)) : NULL;
        if (path) {
            size_t list_n = (size_t)(path - list - 1), path_n = n - (size_t)(path + 1 - line);
            int found = controller ? in_list(list + 1, list_n, controller)
                                   : list_n == 0 && strncmp(line, "0:", 2) == 0;
            if (found && path_n < size) {
                memcpy(out, path + 1, path_n);
                out[path_n] = '\0';
                return 1;
            }
        }
        line = stop ? stop + 1 : NULL;
    }
    return 0;
}

double pp_cgroup_cfs(int64_t quota_us, int64_t period_us)
{
    return quota_us > 0 && period_us > 0 ? (double)quota_us / (double)period_us : 0;
}

double pp_cgroup_cpu_max(const char *text)
{
    long long quota, period = 100000;
    return sscanf(text, "%lld %lld", &quota, &period) >= 1 ? pp_cgroup_cfs(quota, period) : 0;
}

static const struct pp_cgroup_root system_root = {.self = "/proc/self/cgroup", .mount = "/sys/fs/cgroup"};

/* Calls try(path of file) for our group and each one above it, up to the root of the mount. A group that is
 * not visible under the mount (a container's) is passed over. */
static int climb(const struct pp_cgroup_root *where, const char *controller, const char *file,
                 int (*try)(void *ctx, const char *path), void *ctx)
{
    static const char *const v2_roots[] = {"", "/unified"};
    static const char *const v1_roots[] = {"/%s", "/%s,cpuacct", "/cpuacct,%s"};
    char text[8192], root[PATH_MAX], group[PATH_MAX], path[2 * PATH_MAX + 64], below[64];
    int mounted = 0, seen = 0;
    if (pp_io_text(text, sizeof(text), "%s", where->self) <= 0 ||
        !pp_cgroup_path(text, controller, group, sizeof(group)))
        return 0;
    for (size_t i = 0; !mounted && i < (controller ? 3 : 2); i++) {
        if (controller)
            snprintf(below, sizeof(below), v1_roots[i], controller);
        snprintf(root, sizeof(root), "%s%s", where->mount, controller ? below : v2_roots[i]);
        snprintf(path, sizeof(path), "%s/cgroup.procs", root);
        mounted = access(path, R_OK) == 0;
    }
    while (mounted) {
        snprintf(path, sizeof(path), "%s%s/%s", root, strcmp(group, "/") == 0 ? "" : group, file);
        if (access(path, R_OK) == 0)
            seen |= try(ctx, path);
        char *slash = strrchr(group, '/');
        if (!slash || group[1] == '\0')
            break;
        slash[slash == group] = '\0';
    }
    return seen;
}

struct first {
    char *out;
    size_t size;
};

static int take_first(void *ctx, const char *path)
{
    struct first *f = ctx;
    if (f->out[0] == '\0' && strlen(path) < f->size)
        strcpy(f->out, path);
    return 1;
}

int pp_cgroup_file(const char *controller, const char *file, char *out, size_t size)
{
    struct first f = {.out = out, .size = size};
    out[0] = '\0';
    /* v1 first: a controller belongs to one hierarchy, and beside a v1 one the v2 root still has a cpu.stat,
     * which knows of no quota */
    if (!climb(&system_root, controller, file, take_first, &f))
        climb(&system_root, NULL, file, take_first, &f);
    return out[0] != '\0';
}

static void tighten(double *least, double limit)
{
    if (limit > 0 && (*least == 0 || limit < *least))
        *least = limit;
}

static int try_cpus(void *ctx, const char *path)
{
    char quota[128], period[64], other[2 * PATH_MAX + 96];
    size_t dir = (size_t)(strrchr(path, '/') - path);
    snprintf(other, sizeof(other), "%.*s/cpu.cfs_period_us", (int)dir, path);
    if (pp_io_text(quota, sizeof(quota), "%s", path) <= 0)
        return 1;
    if (strcmp(path + dir, "/cpu.max") == 0)
        tighten(ctx, pp_cgroup_cpu_max(quota));
    else if (pp_io_text(period, sizeof(period), "%s", other) > 0)
        tighten(ctx, pp_cgroup_cfs(atoll(quota), atoll(period)));
    return 1;
}

double pp_cgroup_cpu_quota(int64_t pid)
{
    char self[48];
    snprintf(self, sizeof(self), "/proc/%lld/cgroup", (long long)pid);
    const struct pp_cgroup_root where = {.self = pid ? self : system_root.self, .mount = system_root.mount};
    double cpus = 0;
    climb(&where, NULL, "cpu.max", try_cpus, &cpus);
    climb(&where, "cpu", "cpu.cfs_quota_us", try_cpus, &cpus);
    return cpus;
}

/* ---- limits of the block layer ---- */

/* The line of the device, behind its number; NULL: there is none. */
static const char *device_line(const char *text, const char *device)
{
    size_t n = strlen(device);
    for (const char *line = text; line && *line; line = pp_text_next_line(line))
        if (n && strncmp(line, device, n) == 0 && line[n] == ' ')
            return line + n + 1;
    return NULL;
}

/* The number behind "rbps=" in the first n bytes of line; 0: none, or "max". */
static double limit_of(const char *line, size_t n, const char *key)
{
    const char *at = strstr(line, key);
    if (!at || at >= line + n)
        return 0;
    at += strlen(key);
    return *at >= '0' && *at <= '9' ? strtod(at, NULL) : 0;
}

/* "rbps=1000000 wbps=max riops=max wiops=max" */
void pp_cgroup_io_max(const char *text, const char *device, struct pp_io_limit *limit)
{
    const char *line = device_line(text, device);
    if (!line)
        return;
    size_t n = strcspn(line, "\n");
    tighten(&limit->bytes_per_s, limit_of(line, n, "rbps="));
    tighten(&limit->reads_per_s, limit_of(line, n, "riops="));
}

double pp_cgroup_throttle(const char *text, const char *device)
{
    const char *line = device_line(text, device);
    double limit = line ? strtod(line, NULL) : 0;
    return limit > 0 && limit < (double)UNLIMITED_BYTES ? limit : 0;
}

struct io_limit {
    const char *device;
    struct pp_io_limit limit;
};

static int try_io_max(void *ctx, const char *path)
{
    struct io_limit *l = ctx;
    char text[4096];
    if (pp_io_text(text, sizeof(text), "%s", path) <= 0)
        return 1;
    if (strstr(path, "blkio.throttle.read_bps_device"))
        tighten(&l->limit.bytes_per_s, pp_cgroup_throttle(text, l->device));
    else if (strstr(path, "blkio.throttle.read_iops_device"))
        tighten(&l->limit.reads_per_s, pp_cgroup_throttle(text, l->device));
    else
        pp_cgroup_io_max(text, l->device, &l->limit);
    return 1;
}

int pp_cgroup_io_limit(const char *device, struct pp_io_limit *out)
{
    struct io_limit l = {.device = device};
    climb(&system_root, NULL, "io.max", try_io_max, &l);
    climb(&system_root, "blkio", "blkio.throttle.read_bps_device", try_io_max, &l);
    climb(&system_root, "blkio", "blkio.throttle.read_iops_device", try_io_max, &l);
    *out = l.limit;
    return out->bytes_per_s > 0 || out->reads_per_s > 0;
}

struct memory {
    struct pp_cgroup_memory *out;
    const char *usage_file, *cache_keys[2];
};

static int try_memory(void *ctx, const char *path)
{
    struct memory *m = ctx;
    char limit[64], used[64], other[2 * PATH_MAX + 96], text[8192], key[48];
    size_t dir = (size_t)(strrchr(path, '/') - path);
    snprintf(other, sizeof(other), "%.*s/%s", (int)dir, path, m->usage_file);
    if (pp_io_text(limit, sizeof(limit), "%s", path) <= 0 || limit[0] < '0' || limit[0] > '9' ||
        pp_io_text(used, sizeof(used), "%s", other) <= 0)
        return 0; /* "max" */
    uint64_t bytes = strtoull(limit, NULL, 10), held = strtoull(used, NULL, 10), cache = 0;
    /* What of its use is file cache, which the kernel gives up before it kills anything. */
    snprintf(other, sizeof(other), "%.*s/memory.stat", (int)dir, path);
    for (int i = 0; pp_io_text(text, sizeof(text), "%s", other) > 0 && i < 2; i++) {
        snprintf(key, sizeof(key), "\n%s ", m->cache_keys[i]);
        const char *at = strstr(text, key);
        cache += at ? strtoull(at + strlen(key), NULL, 10) : 0;
    }
    held -= cache < held ? cache : held;
    uint64_t left = bytes > held ? bytes - held : 0;
    if (bytes >= UNLIMITED_BYTES || left >= m->out->left_bytes)
        return 0;
    m->out->limit_bytes = bytes;
    m->out->left_bytes = left;
    m->out->is_soft = strcmp(path + dir, "/memory.high") == 0;
    return 1;
}

int pp_cgroup_memory(const struct pp_cgroup_root *where, struct pp_cgroup_memory *out)
{
    struct memory m = {.out = out,
                       .usage_file = "memory.current",
                       .cache_keys = {"inactive_file", "active_file"}};
    where = where ? where : &system_root;
    *out = (struct pp_cgroup_memory){.left_bytes = UINT64_MAX};
    climb(where, NULL, "memory.max", try_memory, &m);
    climb(where, NULL, "memory.high", try_memory, &m);
    m = (struct memory){.out = out,
                        .usage_file = "memory.usage_in_bytes",
                        .cache_keys = {"total_inactive_file", "total_active_file"}};
    climb(where, "memory", "memory.limit_in_bytes", try_memory, &m);
    return out->left_bytes != UINT64_MAX;
}

int pp_cgroup_oom_kills(double *out)
{
    static const char *const places[][2] = {{NULL, "memory.events"}, {"memory", "memory.oom_control"}};
    char path[PATH_MAX], text[1024];
    for (int i = 0; i < 2; i++) {
        if (!pp_cgroup_file(places[i][0], places[i][1], path, sizeof(path)) ||
            pp_io_text(text, sizeof(text), "%s", path) <= 0)
            continue;
        const char *at = strncmp(text, "oom_kill ", 9) == 0 ? text : strstr(text, "\noom_kill ");
        if (at && sscanf(at, " oom_kill %lf", out) == 1)
            return 1;
    }
    return 0;
}
