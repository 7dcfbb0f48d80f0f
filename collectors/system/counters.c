#include "collectors/system/counters.h"

#include "collectors/system/cgroup.h"
#include "probe/base/clock.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum source {
    SRC_IO,
    SRC_STATM,
    SRC_STAT,
    SRC_LOADAVG,
    SRC_PSI_CPU,
    SRC_PSI_IO,
    SRC_PSI_MEMORY,
    SRC_CGROUP_CPU,
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
    [SRC_CGROUP_CPU] = NULL, /* cpu.stat of our own group, see cgroup.h */
};

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
};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

struct pp_counters {
    int fd[SRC_COUNT];
};

struct pp_counters *pp_counters_open(void)
{
    char path[PATH_MAX];
    struct pp_counters *c = malloc(sizeof(*c));
    if (!c)
        return NULL;
    for (int i = 0; i < SRC_COUNT; i++) {
        const char *p = source_path[i];
        if (i == SRC_CGROUP_CPU)
            p = pp_cgroup_file("cpu", "cpu.stat", path, sizeof(path)) ? path : NULL;
        c->fd[i] = p ? open(p, O_RDONLY | O_CLOEXEC) : -1;
    }
    return c;
}

void pp_counters_close(struct pp_counters *c)
{
    if (!c)
        return;
    for (int i = 0; i < SRC_COUNT; i++)
        if (c->fd[i] >= 0)
            close(c->fd[i]);
    free(c);
}

static const char *next_line(const char *p)
{
    p = strchr(p, '\n');
    return p && p[1] ? p + 1 : NULL;
}

static int starts_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    return strncmp(text, word, n) == 0 && (isspace((unsigned char)text[n]) || text[n] == '\0');
}

int pp_counters_find(const char *text, const char *line, const char *key, double *value)
{
    size_t n = strlen(key);
    for (const char *p = text; p; p = next_line(p)) {
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
        p = next_line(p);
    for (int i = 0; p && i < word; i++) {
        p += strcspn(p, " \n");
        p += strspn(p, " ");
    }
    if (!p || !isdigit((unsigned char)*p))
        return 0;
    *value = strtod(p, NULL);
    return 1;
}

static double scale(enum unit unit)
{
    switch (unit) {
    case UNIT_US: return 1e3;
    case UNIT_PAGES: return (double)sysconf(_SC_PAGESIZE);
    case UNIT_CLOCK_TICKS: return 1e9 / (double)sysconf(_SC_CLK_TCK);
    case UNIT_ONE: break;
    }
    return 1;
}

void pp_counters_sample(struct pp_counters *c, pp_counters_fn *fn, void *ctx)
{
    char text[SRC_COUNT][1024]; /* of /proc/stat the first line is wanted, the others are shorter */
    for (int i = 0; i < SRC_COUNT; i++) {
        ssize_t n = c->fd[i] < 0 ? -1 : pread(c->fd[i], text[i], sizeof(text[i]) - 1, 0);
        text[i][n > 0 ? n : 0] = '\0';
    }
    struct rusage self;
    fn(ctx, "process_cpu_ns_total", (double)pp_process_cpu_ns());
    if (getrusage(RUSAGE_SELF, &self) == 0)
        fn(ctx, "process_major_faults_total", (double)self.ru_majflt);
    for (size_t i = 0; i < COUNTERS; i++) {
        const struct counter *k = &counters[i];
        double v;
        if (k->key ? pp_counters_find(text[k->source], k->line, k->key, &v)
                   : nth_word(text[k->source], k->line, k->word, &v))
            fn(ctx, k->name, v * scale(k->unit));
    }
}
