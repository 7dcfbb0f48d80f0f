#include "collectors/system/cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNLIMITED_BYTES (1ull << 62) /* v1 says "no limit" as 2^63 rounded down to a page */

static int read_text(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);
    if (fd >= 0)
        close(fd);
    buf[n > 0 ? n : 0] = '\0';
    return n > 0;
}

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

/* A hierarchy as it is mounted, and our group in it. */
struct place {
    char root[PATH_MAX], group[PATH_MAX];
};

static int place_of(const char *controller, struct place *p)
{
    static const char *const v2_roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    static const char *const v1_roots[] = {"/sys/fs/cgroup/%s", "/sys/fs/cgroup/%s,cpuacct",
                                           "/sys/fs/cgroup/cpuacct,%s"};
    char text[8192], probe[PATH_MAX + 32];
    if (!read_text("/proc/self/cgroup", text, sizeof(text)) ||
        !pp_cgroup_path(text, controller, p->group, sizeof(p->group)))
        return 0;
    for (size_t i = 0; i < (controller ? 3 : 2); i++) {
        if (controller)
            snprintf(p->root, sizeof(p->root), v1_roots[i], controller);
        else
            snprintf(p->root, sizeof(p->root), "%s", v2_roots[i]);
        snprintf(probe, sizeof(probe), "%s/cgroup.procs", p->root);
        if (access(probe, R_OK) == 0)
            return 1;
    }
    return 0;
}

/* Calls try(path of file) for our group and each one above it, up to the root of the mount. A group that is
 * not visible under the mount (a container's) is passed over. */
static int climb(const char *controller, const char *file, int (*try)(void *ctx, const char *path), void *ctx)
{
    struct place p;
    char path[2 * PATH_MAX + 64];
    int seen = 0;
    if (!place_of(controller, &p))
        return 0;
    for (;;) {
        snprintf(path, sizeof(path), "%s%s/%s", p.root, strcmp(p.group, "/") == 0 ? "" : p.group, file);
        if (access(path, R_OK) == 0)
            seen |= try(ctx, path);
        char *slash = strrchr(p.group, '/');
        if (!slash || p.group[1] == '\0')
            return seen;
        slash[slash == p.group] = '\0';
    }
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
    if (!climb(controller, file, take_first, &f))
        climb(NULL, file, take_first, &f);
    return out[0] != '\0';
}

static void tighten(double *least, double cpus)
{
    if (cpus > 0 && (*least == 0 || cpus < *least))
        *least = cpus;
}

static int try_cpu_max(void *ctx, const char *path)
{
    char text[128];
    if (read_text(path, text, sizeof(text)))
        tighten(ctx, pp_cgroup_cpu_max(text));
    return 1;
}

static int try_cfs(void *ctx, const char *path)
{
    char quota[64], period[64], other[2 * PATH_MAX + 96];
    size_t dir = (size_t)(strrchr(path, '/') - path);
    snprintf(other, sizeof(other), "%.*s/cpu.cfs_period_us", (int)dir, path);
    if (read_text(path, quota, sizeof(quota)) && read_text(other, period, sizeof(period)))
        tighten(ctx, pp_cgroup_cfs(atoll(quota), atoll(period)));
    return 1;
}

double pp_cgroup_cpu_quota(void)
{
    double cpus = 0;
    climb(NULL, "cpu.max", try_cpu_max, &cpus);
    climb("cpu", "cpu.cfs_quota_us", try_cfs, &cpus);
    return cpus;
}

struct memory {
    uint64_t limit, used;
    const char *usage_file;
};

static int try_memory(void *ctx, const char *path)
{
    struct memory *m = ctx;
    char limit[64], used[64], other[2 * PATH_MAX + 96];
    size_t dir = (size_t)(strrchr(path, '/') - path);
    snprintf(other, sizeof(other), "%.*s/%s", (int)dir, path, m->usage_file);
    if (!read_text(path, limit, sizeof(limit)) || limit[0] < '0' || limit[0] > '9' ||
        !read_text(other, used, sizeof(used)))
        return 0; /* "max" */
    uint64_t bytes = strtoull(limit, NULL, 10);
    if (bytes >= UNLIMITED_BYTES || bytes >= m->limit)
        return 0;
    m->limit = bytes;
    m->used = strtoull(used, NULL, 10);
    return 1;
}

int pp_cgroup_memory(uint64_t *limit_bytes, uint64_t *used_bytes)
{
    struct memory m = {.limit = UINT64_MAX, .usage_file = "memory.current"};
    climb(NULL, "memory.max", try_memory, &m);
    m.usage_file = "memory.usage_in_bytes";
    climb("memory", "memory.limit_in_bytes", try_memory, &m);
    if (m.limit == UINT64_MAX)
        return 0;
    *limit_bytes = m.limit;
    *used_bytes = m.used;
    return 1;
}
