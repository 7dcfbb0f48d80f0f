#include "collectors/system/topology.h"

#include "collectors/system/environment.h"
#include "probe/base/io.h"
#include "probe/base/text.h"

#include <dirent.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const struct pp_topology_root machine = {.sys = "/sys", .proc = "/proc"};

static int read_number(const char *path, int otherwise)
{
    char line[32], *end;
    if (!pp_io_line(line, sizeof(line), path))
        return otherwise;
    long n = strtol(line, &end, 10);
    return end != line && n >= INT_MIN && n <= INT_MAX ? (int)n : otherwise;
}

/* ---- lists of CPUs ---- */

/* One range from *p on, which moves behind it; 0: there is none. */
static int next_range(const char **p, long *from, long *to)
{
    char *end;
    *from = *to = strtol(*p, &end, 10);
    if (end == *p || *from < 0)
        return 0;
    if (*end == '-') {
        const char *second = end + 1;
        *to = strtol(second, &end, 10);
        if (end == second || *to < *from)
            return 0;
    }
    *p = *end == ',' ? end + 1 : end;
    return 1;
}

int pp_cpu_lists_meet(const char *a, const char *b)
{
    long a_from, a_to, b_from, b_to;
    while (next_range(&a, &a_from, &a_to))
        for (const char *p = b; next_range(&p, &b_from, &b_to);)
            if (a_from <= b_to && b_from <= a_to)
                return 1;
    return 0;
}

/* ---- nodes ---- */

int pp_topology_distance(const struct pp_topology_root *root, const struct pp_topology *t, int node)
{
    char path[PATH_MAX], line[1024];
    int nearest = 0;
    root = root ? root : &machine;
    for (int i = 0; i < PP_TOPOLOGY_NODES && node >= 0; i++) {
        snprintf(path, sizeof(path), "%s/devices/system/node/node%d/distance", root->sys, i);
        if (!(t->own_bits >> i & 1) || !pp_io_line(line, sizeof(line), path))
            continue;
        /* A node's file has its distance to each node there is, in their order. */
        char *p = line, *end;
        long distance = 0;
        for (int k = 0; k < PP_TOPOLOGY_NODES && k <= node; k++) {
            if (!(t->node_bits >> k & 1))
                continue;
            long n = strtol(p, &end, 10);
            if (end == p)
                break;
            distance = k == node ? n : 0;
            p = end;
        }
        if (distance > 0 && distance < 256 && (!nearest || distance < nearest))
            nearest = (int)distance;
    }
    return nearest;
}

/* ---- devices ---- */

static struct pp_topology_device *add_device(struct pp_topology *t, enum pp_topology_kind kind,
                                             const char *name)
{
    if (t->devices == PP_TOPOLOGY_DEVICES)
        return NULL;
    struct pp_topology_device *d = &t->device[t->devices++];
    *d = (struct pp_topology_device){.kind = kind, .node = -1};
    snprintf(d->name, sizeof(d->name), "%s", name);
    return d;
}

/* What one entry of a folder of devices is; NULL to pass it over. */
typedef struct pp_topology_device *each_fn(const struct pp_topology_root *root, const char *name,
                                           struct pp_topology *t);

static struct pp_topology_device *add_gpu(const struct pp_topology_root *root, const char *name,
                                          struct pp_topology *t)
{
    char path[PATH_MAX], vendor[16] = "", class[16] = "";
    snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/vendor", root->sys, name);
    pp_io_line(vendor, sizeof(vendor), path);
    snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/class", root->sys, name);
    pp_io_line(class, sizeof(class), path);
    if (strcmp(vendor, "0x10de") != 0 || strncmp(class, "0x03", 4) != 0)
        return NULL;
    struct pp_topology_device *d = add_device(t, PP_TOPOLOGY_GPU, name);
    if (d) {
        snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/numa_node", root->sys, name);
        d->node = read_number(path, -1);
        snprintf(path, sizeof(path), "%s/driver/nvidia/gpus/%s/information", root->proc, d->name);
        if (!pp_proc_field_of(path, "Model", d->model, sizeof(d->model)))
            d->model[0] = '\0';
    }
    return d;
}

/* A network of hardware, that is up. */
static struct pp_topology_device *add_network(const struct pp_topology_root *root, const char *name,
                                              struct pp_topology *t)
{
    char path[PATH_MAX], up[16] = "";
    snprintf(path, sizeof(path), "%s/class/net/%s/operstate", root->sys, name);
    pp_io_line(up, sizeof(up), path);
    snprintf(path, sizeof(path), "%s/class/net/%s/device/numa_node", root->sys, name);
    if (strcmp(up, "up") != 0 || access(path, F_OK) != 0)
        return NULL;
    struct pp_topology_device *d = add_device(t, PP_TOPOLOGY_NETWORK, name);
    if (d)
        d->node = read_number(path, -1);
    return d;
}

static int by_name(const void *a, const void *b)
{
    const struct pp_topology_device *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void read_folder(const struct pp_topology_root *root, const char *folder, each_fn *each,
                        struct pp_topology *t)
{
    char path[PATH_MAX];
    size_t first = t->devices;
    snprintf(path, sizeof(path), "%s/%s", root->sys, folder);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            each(root, e->d_name, t);
    if (dir)
        closedir(dir);
    qsort(t->device + first, t->devices - first, sizeof(*t->device), by_name);
}

void pp_topology_read_at(const struct pp_topology_root *root, const char *disk, struct pp_topology *out)
{
    *out = (struct pp_topology){.nodes = 0};
    char path[PATH_MAX], real[PATH_MAX], file[PATH_MAX + 16], own[4096], list[4096];
    snprintf(path, sizeof(path), "%s/self/status", root->proc);
    int known = pp_proc_field_of(path, "Cpus_allowed_list", own, sizeof(own));
    for (int i = 0; i < PP_TOPOLOGY_NODES; i++) {
        snprintf(path, sizeof(path), "%s/devices/system/node/node%d/cpulist", root->sys, i);
        if (!pp_io_line(list, sizeof(list), path))
            continue;
        if (strlen(list) < sizeof(out->cpus[i])) /* a longer one is not shown */
            strcpy(out->cpus[i], list);
        out->nodes++;
        out->node_bits |= UINT64_C(1) << i;
        if (pp_cpu_lists_meet(list, "0-2147483647"))
            out->cpu_bits |= UINT64_C(1) << i;
        if (known && pp_cpu_lists_meet(list, own))
            out->own_bits |= UINT64_C(1) << i;
    }
    read_folder(root, "bus/pci/devices", add_gpu, out);
    read_folder(root, "class/net", add_network, out);
    /* A block device has no node of its own: one of the devices above it does. */
    snprintf(path, sizeof(path), "%s/dev/block/%s", root->sys, disk ? disk : "");
    if (disk && realpath(path, real) && strrchr(real, '/')) {
        struct pp_topology_device *d = add_device(out, PP_TOPOLOGY_DISK, strrchr(real, '/') + 1);
        for (char *end; d && d->node < 0 && (end = strrchr(real, '/')) && end != real; *end = '\0') {
            snprintf(file, sizeof(file), "%s/numa_node", real);
            d->node = read_number(file, -1);
        }
    }
    for (size_t i = 0; i < out->devices; i++)
        out->device[i].distance = pp_topology_distance(root, out, out->device[i].node);
}

void pp_topology_read(const char *data_path, struct pp_topology *out)
{
    char real[PATH_MAX], disk[24];
    int known = data_path && realpath(data_path, real) && pp_disk_of(real, disk, sizeof(disk));
    pp_topology_read_at(&machine, known ? disk : NULL, out);
}

/* The driver writes the domain with eight digits, the kernel with four. */
static const char *without_zeros(const char *pci)
{
    while (*pci == '0' && pci[1] != ':')
        pci++;
    return pci;
}

int pp_topology_node_of(const struct pp_topology *t, const char *pci)
{
    for (size_t i = 0; i < t->devices; i++)
        if (t->device[i].kind == PP_TOPOLOGY_GPU &&
            strcasecmp(without_zeros(t->device[i].name), without_zeros(pci)) == 0)
            return t->device[i].node;
    return -1;
}

int pp_topology_is_far(const struct pp_topology *t, const struct pp_topology_device *d)
{
    return d->node >= 0 && d->node < PP_TOPOLOGY_NODES && t->own_bits && !(t->own_bits >> d->node & 1) &&
           (t->cpu_bits >> d->node & 1);
}

const char *pp_topology_nodes(uint64_t bits, char *buf, size_t size)
{
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i < PP_TOPOLOGY_NODES && at < size; i++)
        if (bits >> i & 1)
            at += (size_t)snprintf(buf + at, size - at, "%s%d", at ? "," : "", i);
    return buf;
}

/* ---- which mount a path lives on ---- */

/* The next space-separated word, with the kernel's octal escapes (\040 for a space) undone. NULL at the end
 * of the line, and behind it. */
static const char *next_word(const char *p, char *out, size_t size)
{
    size_t n = 0;
    while (p && *p == ' ')
        p++;
    if (!p || !*p || *p == '\n')
        return NULL;
    for (; *p && *p != ' ' && *p != '\n'; p++) {
        unsigned c = (unsigned char)*p;
        if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' && p[3] >= '0' &&
            p[3] <= '7') {
            c = (unsigned)(p[1] - '0') << 6 | (unsigned)(p[2] - '0') << 3 | (unsigned)(p[3] - '0');
            p += 3;
        }
        if (n + 1 < size)
            out[n++] = (char)c;
    }
    out[n] = '\0';
    return p;
}

int pp_mount_find(const char *mountinfo, const char *path, struct pp_mount *out)
{
    size_t best = 0;
    for (const char *line = mountinfo; line && *line; line = pp_text_next_line(line)) {
        /* "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue": optional fields
         * end at the lone dash. */
        struct pp_mount m;
        char skip[256];
        const char *p = line;
        for (int i = 0; i < 4; i++)
            p = next_word(p, skip, sizeof(skip));
        p = next_word(p, m.point, sizeof(m.point));
        p = next_word(p, m.options, sizeof(m.options));
        do
            p = next_word(p, skip, sizeof(skip));
        while (p && strcmp(skip, "-") != 0);
        p = next_word(p, m.type, sizeof(m.type));
        p = next_word(p, m.source, sizeof(m.source));
        size_t n = p ? strlen(m.point) : 0;
        int holds = n == 1 ? path[0] == '/'
                           : n && strncmp(m.point, path, n) == 0 && (path[n] == '/' || path[n] == '\0');
        if (holds && n >= best) {
            best = n; /* a later mount on the same point hides the earlier one */
            *out = m;
        }
    }
    return best > 0;
}

int pp_mount_of(const char *path, struct pp_mount *out)
{
    char real[PATH_MAX];
    char *text = NULL;
    size_t cap = 0;
    int found = 0;
    if (!realpath(path, real))
        return 0;
    FILE *in = fopen("/proc/self/mountinfo", "re");
    if (in && getdelim(&text, &cap, '\0', in) > 0)
        found = pp_mount_find(text, real, out);
    if (in)
        fclose(in);
    free(text);
    return found;
}

int pp_disk_of(const char *path, char *device, size_t size)
{
    char sys[64], more[96];
    struct stat st;
    if (stat(path, &st) != 0 || major(st.st_dev) == 0)
        return 0;
    snprintf(device, size, "%u:%u", major(st.st_dev), minor(st.st_dev));
    snprintf(sys, sizeof(sys), "/sys/dev/block/%s", device);
    snprintf(more, sizeof(more), "%s/partition", sys);
    if (access(more, F_OK) != 0)
        return access(sys, F_OK) == 0;
    snprintf(more, sizeof(more), "%s/../dev", sys);
    return pp_io_line(device, size, more);
}
