#include "collectors/system/counters.h"

#include "collectors/store/writer.h"
#include "collectors/system/cgroup.h"
#include "collectors/system/others.h"
#include "collectors/system/topology.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/text.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

/* In the order of the collectors that read them: process, machine, pressure, cgroup. */
enum source {
    SRC_IO,
    SRC_STATM,
    SRC_STAT,
    SRC_LOADAVG,
    SRC_PSI_CPU,
    SRC_PSI_IO,
    SRC_PSI_MEMORY,
    SRC_CGROUP_CPU,
    SRC_CGROUP_IO,       /* v2 */
    SRC_CGROUP_IO_BYTES, /* v1 */
    SRC_CGROUP_IO_READS, /* v1 */
    SRC_CGROUP_MEMORY,
    SRC_COUNT
};

static const char *const source_path[SRC_COUNT] = {
    [SRC_IO] = "/proc/self/io",
    [SRC_STATM] = "/proc/self/statm",
    [SRC_STAT] = "/proc/stat",
    [SRC_LOADAVG] = "/proc/loadavg",
    [SRC_PSI_CPU] = "/proc/pressure/cpu",
    [SRC_PSI_IO] = "/proc/pressure/io",
    [SRC_PSI_MEMORY] = "/proc/pressure/memory",
};

/* Of our own group, see cgroup.h. */
static const struct {
    const char *controller, *file;
} group_file[SRC_COUNT] = {
    [SRC_CGROUP_CPU] = {"cpu", "cpu.stat"},
    [SRC_CGROUP_IO] = {"io", "io.stat"},
    [SRC_CGROUP_IO_BYTES] = {"blkio", "blkio.throttle.io_service_bytes"},
    [SRC_CGROUP_IO_READS] = {"blkio", "blkio.throttle.io_serviced"},
    [SRC_CGROUP_MEMORY] = {"memory", "memory.stat"},
};

/* As a line to look in: that of the data's disk. */
static const char of_disk[] = "(disk)";

enum unit { UNIT_ONE, UNIT_US, UNIT_PAGES, UNIT_CLOCK_TICKS };

/* line and key as pp_counters_find takes them; key NULL: word number `word` of the first line that starts
 * with line. */
static const struct counter {
    const char *name;
    enum source source;
    const char *line, *key;
    int word;
    enum unit unit;
} counters[] = {
    {"process_read_bytes_total", SRC_IO, NULL, "read_bytes:", 0, UNIT_ONE},
    {"process_rchar_bytes_total", SRC_IO, NULL, "rchar:", 0, UNIT_ONE},
    {"process_write_bytes_total", SRC_IO, NULL, "write_bytes:", 0, UNIT_ONE},
    {"rss_bytes", SRC_STATM, NULL, NULL, 1, UNIT_PAGES},
    {"machine_cpu_user_ns_total", SRC_STAT, "cpu", NULL, 1, UNIT_CLOCK_TICKS},
    {"machine_cpu_nice_ns_total", SRC_STAT, "cpu", NULL, 2,
     UNIT_CLOCK_TICKS}, /* in user's place for threads of lowered priority */
    {"machine_cpu_system_ns_total", SRC_STAT, "cpu", NULL, 3, UNIT_CLOCK_TICKS},
    {"machine_cpu_idle_ns_total", SRC_STAT, "cpu", NULL, 4, UNIT_CLOCK_TICKS},
    {"machine_cpu_iowait_ns_total", SRC_STAT, "cpu", NULL, 5, UNIT_CLOCK_TICKS},
    {"machine_cpu_steal_ns_total", SRC_STAT, "cpu", NULL, 8, UNIT_CLOCK_TICKS},
    {"machine_runnable_threads", SRC_LOADAVG, NULL, NULL, 3, UNIT_ONE},
    {"psi_cpu_some_ns_total", SRC_PSI_CPU, "some", "total=", 0, UNIT_US},
    {"psi_io_some_ns_total", SRC_PSI_IO, "some", "total=", 0, UNIT_US},
    {"psi_io_full_ns_total", SRC_PSI_IO, "full", "total=", 0, UNIT_US},
    {"psi_memory_some_ns_total", SRC_PSI_MEMORY, "some", "total=", 0, UNIT_US},
    {"cgroup_throttled_periods_total", SRC_CGROUP_CPU, NULL, "nr_throttled", 0, UNIT_ONE},
    {"cgroup_throttled_ns_total", SRC_CGROUP_CPU, NULL, "throttled_usec", 0, UNIT_US},  /* v2 */
    {"cgroup_throttled_ns_total", SRC_CGROUP_CPU, NULL, "throttled_time", 0, UNIT_ONE}, /* v1 */
    {"cgroup_disk_read_bytes_total", SRC_CGROUP_IO, of_disk, "rbytes=", 0, UNIT_ONE},
    {"cgroup_disk_read_bytes_total", SRC_CGROUP_IO_BYTES, of_disk, "Read", 0, UNIT_ONE},
    {"cgroup_disk_reads_total", SRC_CGROUP_IO, of_disk, "rios=", 0, UNIT_ONE},
    {"cgroup_disk_reads_total", SRC_CGROUP_IO_READS, of_disk, "Read", 0, UNIT_ONE},
    {"cgroup_page_cache_bytes", SRC_CGROUP_MEMORY, NULL, "file", 0, UNIT_ONE},  /* v2 */
    {"cgroup_page_cache_bytes", SRC_CGROUP_MEMORY, NULL, "cache", 0, UNIT_ONE}, /* v1 */
    {"cgroup_refault_bytes_total", SRC_CGROUP_MEMORY, NULL, "workingset_refault_file", 0, UNIT_PAGES},
};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

/* The sources of one collector: those in [first, end). */
struct group {
    enum source first, end;
    struct pp_store *store;
    const struct pp_collect_opts *opts;
    struct pp_others others; /* of the process counters */
    char disk[24];           /* that the data is on; "": none */
    int fd[SRC_COUNT];       /* -1: absent, or of another group */
};

static const char *path_of(enum source source, char *buf, size_t size)
{
    if (!group_file[source].file)
        return source_path[source];
    return pp_cgroup_file(group_file[source].controller, group_file[source].file, buf, size) ? buf : NULL;
}

/* Each source is opened once and read with pread. One that is absent has no counters, which is no failure. */
static pp_status group_start(enum source first, enum source end, const struct pp_collect_opts *opts,
                             void **out, struct pp_err *err)
{
    char buf[PATH_MAX];
    struct group *g = malloc(sizeof(*g));
    if (!g)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read counters");
    *g = (struct group){.first = first, .end = end, .store = opts->store, .opts = opts};
    pp_others_begin(&g->others);
    if (!opts->data_path || !pp_disk_of(opts->data_path, g->disk, sizeof(g->disk)))
        g->disk[0] = '\0';
    for (int i = 0; i < SRC_COUNT; i++) {
        const char *path = i >= (int)first && i < (int)end ? path_of((enum source)i, buf, sizeof(buf)) : NULL;
        g->fd[i] = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    }
    *out = g;
    return PP_OK;
}

static void group_stop(void *state)
{
    struct group *g = state;
    for (int i = 0; i < SRC_COUNT; i++)
        if (g->fd[i] >= 0)
            close(g->fd[i]);
    free(g);
}

static int starts_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    return strncmp(text, word, n) == 0 && (isspace((unsigned char)text[n]) || text[n] == '\0');
}

int pp_counters_find(const char *text, const char *line, const char *key, double *value)
{
    size_t n = strlen(key);
    for (const char *p = text; p; p = pp_text_next_line(p)) {
        if (line && !starts_word(p, line))
            continue;
        for (const char *w = p; *w && *w != '\n'; w++) {
            if ((w != p && !isspace((unsigned char)w[-1])) || strncmp(w, key, n) != 0)
                continue;
            char *stop;
            *value = strtod(w + n, &stop);
            if (stop != w + n)
                return 1;
        }
    }
    return 0;
}

static int nth_word(const char *text, const char *line, int word, double *value)
{
    const char *p = text;
    while (p && line && !starts_word(p, line))
        p = pp_text_next_line(p);
    for (int i = 0; p && i < word; i++) {
        p += strcspn(p, " \n");
        p += strspn(p, " ");
    }
    if (!p || !isdigit((unsigned char)*p))
        return 0;
    *value = strtod(p, NULL);
    return 1;
}

static void group_poll(void *state)
{
    const struct group *g = state;
    const double scale[] = {[UNIT_ONE] = 1,
                            [UNIT_US] = 1e3,
                            [UNIT_PAGES] = (double)sysconf(_SC_PAGESIZE),
                            [UNIT_CLOCK_TICKS] = 1e9 / (double)sysconf(_SC_CLK_TCK)};
    char text[SRC_COUNT][4096]; /* of /proc/stat the first line is wanted, the others are shorter */
    for (int i = (int)g->first; i < (int)g->end; i++) {
        ssize_t n = g->fd[i] < 0 ? -1 : pread(g->fd[i], text[i], sizeof(text[i]) - 1, 0);
        text[i][n > 0 ? n : 0] = '\0';
    }
    for (size_t i = 0; i < COUNTERS; i++) {
        const struct counter *k = &counters[i];
        double v;
        if (k->source < g->first || k->source >= g->end || (k->line == of_disk && !g->disk[0]))
            continue;
        const char *line = k->line == of_disk ? g->disk : k->line;
        if (k->key ? pp_counters_find(text[k->source], line, k->key, &v)
                   : nth_word(text[k->source], line, k->word, &v))
            pp_store_counter(g->store, pp_now_ns(), k->name, v * scale[k->unit]);
    }
}

/* The trainer and the workers of a recorded program are the run's own CPU time, not that of others. Without a
 * row after they have ended: up to a second of theirs is missing from it, and would be that of others. */
static void process_poll(void *state)
{
    struct group *g = state;
    const struct pp_collect_opts *o = g->opts;
    struct rusage self;
    struct pp_others_cpu others = {0};
    int64_t pids[PP_OTHERS_MAX];
    if (o->processes)
        others = pp_others_cpu(&g->others, pids, o->processes(o->processes_ctx, pids, PP_OTHERS_MAX));
    uint64_t now = pp_now_ns();
    if (!others.ended)
        pp_store_counter(g->store, now, "process_cpu_ns_total",
                         (double)(pp_process_cpu_ns() + others.recording_ns));
    if (o->processes && !others.ended)
        pp_store_counter(g->store, now, "subprocess_cpu_ns_total", (double)others.subprocesses_ns);
    if (getrusage(RUSAGE_SELF, &self) == 0)
        pp_store_counter(g->store, now, "process_major_faults_total",
                         (double)self.ru_majflt + (double)others.major_faults);
    group_poll(state);
}

/* "PATH is readable", or why its first line is not. */
static int is_readable(enum source source, char *text, size_t size)
{
    char buf[PATH_MAX], line[8];
    const char *path = path_of(source, buf, sizeof(buf));
    FILE *in = path ? fopen(path, "re") : NULL;
    int ok = in && fgets(line, sizeof(line), in);
    if (ok)
        snprintf(text, size, "%s is readable", path);
    else
        snprintf(text, size, "%s: %s", path ? path : "cpu.stat of the cgroup",
                 in     ? "empty"
                 : path ? strerror(errno)
                        : "not found");
    if (in)
        fclose(in);
    return ok;
}

/* ---- the rows ---- */

#define GROUP(name, first, end) \
    static pp_status name##_start(const struct pp_collect_opts *opts, void **state, struct pp_err *err) \
    { \
        return group_start(first, end, opts, state, err); \
    } \
    static int name##_available(char *text, size_t size) \
    { \
        return is_readable(first, text, size); \
    }
GROUP(process, SRC_IO, SRC_STAT)
GROUP(machine, SRC_STAT, SRC_PSI_CPU)
GROUP(pressure, SRC_PSI_CPU, SRC_CGROUP_CPU)
GROUP(cgroup, SRC_CGROUP_CPU, SRC_COUNT)

const struct pp_collector pp_collector_process = {
    .name = "process counters",
    .available = process_available,
    .start = process_start,
    .poll = process_poll,
    .stop = group_stop,
};

const struct pp_collector pp_collector_machine = {
    .name = "machine counters",
    .available = machine_available,
    .start = machine_start,
    .poll = group_poll,
    .stop = group_stop,
};

const struct pp_collector pp_collector_pressure = {
    .name = "pressure (PSI)",
    .with = "CPU, I/O and memory pressure are recorded",
    .without = "pressure of the whole machine is not recorded",
    .available = pressure_available,
    .start = pressure_start,
    .poll = group_poll,
    .stop = group_stop,
};

const struct pp_collector pp_collector_cgroup = {
    .name = "cgroup counters",
    .available = cgroup_available,
    .start = cgroup_start,
    .poll = group_poll,
    .stop = group_stop,
};
