#include "tests/lab/scenario.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "tests/support/here.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- files ---- */

static void assign(char *to, size_t size, const char *value)
{
    snprintf(to, size, "%s", value);
}

static int set_key(struct scenario *s, const char *key, const char *value)
{
    const struct {
        const char *key;
        char *to;
        size_t size;
    } rows[] = {{"l0", s->l0, sizeof(s->l0)},
                {"l1", s->l1, sizeof(s->l1)},
                {"l2", s->l2, sizeof(s->l2)},
                {"fix", s->fix, sizeof(s->fix)},
                {"remedy", s->remedy, sizeof(s->remedy)},
                {"options", s->options, sizeof(s->options)},
                {"mild", s->level[0], sizeof(s->level[0])},
                {"medium", s->level[1], sizeof(s->level[1])},
                {"severe", s->level[2], sizeof(s->level[2])}};
    if (strcmp(key, "row") == 0)
        return s->row = atoi(value), s->row > 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(rows[i].key, key) == 0) {
            assign(rows[i].to, rows[i].size, value);
            return strlen(value) < rows[i].size;
        }
    return 0;
}

static char *trim(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1]))
        *--end = '\0';
    return s;
}

static pp_status read_one(const char *path, struct scenario *s, struct pp_err *err)
{
    char line[512];
    const char *base = strrchr(path, '/');
    int number = 0;
    FILE *in = fopen(path, "re");
    if (!in)
        return pp_fail_errno(err, errno, "reading scenario %s", path);
    memset(s, 0, sizeof(*s));
    snprintf(s->name, sizeof(s->name), "%.*s", (int)strcspn(base ? base + 1 : path, "."),
             base ? base + 1 : path);
    pp_status st = PP_OK;
    while (st == PP_OK && fgets(line, sizeof(line), in)) {
        char *text = trim(line), *eq = strchr(text, '=');
        number++;
        if (!*text || *text == ';' || *text == '[')
            continue;
        if (eq)
            *eq = '\0';
        if (!eq || !set_key(s, trim(text), trim(eq + 1)))
            st = pp_fail(err, PP_E_CORRUPT, "%s:%d: '%s' is not a key of a scenario, or too long", path,
                         number, text);
    }
    if (st == PP_OK && (!s->row || !s->l0[0] || !s->options[0]))
        st = pp_fail(err, PP_E_CORRUPT, "%s: row, l0 and options are needed", path);
    fclose(in);
    return st;
}

static int by_row(const void *a, const void *b)
{
    return ((const struct scenario *)a)->row - ((const struct scenario *)b)->row;
}

pp_status scenarios_read(const char *dir, struct scenario **out, size_t *n, struct pp_err *err)
{
    char pattern[4096];
    glob_t found = {0};
    snprintf(pattern, sizeof(pattern), "%s/*.ini", dir);
    *out = NULL;
    *n = 0;
    if (glob(pattern, 0, NULL, &found) != 0)
        return pp_fail(err, PP_E_NOT_FOUND, "no scenarios (*.ini) in %s", dir);
    pp_status st = (*out = calloc(found.gl_pathc, sizeof(**out)))
                       ? PP_OK
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu scenarios", found.gl_pathc);
    for (size_t i = 0; i < found.gl_pathc && st == PP_OK; i++)
        st = read_one(found.gl_pathv[i], &(*out)[(*n)++], err);
    if (st == PP_OK)
        qsort(*out, *n, sizeof(**out), by_row);
    globfree(&found);
    return st;
}

int scenario_lists(const char *text, const char *word)
{
    size_t len = word ? strlen(word) : 0;
    for (const char *p = text; len && *p; p += strcspn(p, "| "), p += strspn(p, "| "))
        if (strcspn(p, "| ") == len && strncmp(p, word, len) == 0)
            return 1;
    return 0;
}

/* ---- knobs ---- */

/* @cpus and @4cpus, as numbers: two CPUs at most, so that scenarios are the same wherever there are two. */
static void expand(const char *from, char *to, size_t size)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t at = 0;
    cpus = cpus > 2 ? 2 : cpus;
    while (*from && at + 16 < size) {
        int times = 1, len = 0;
        if (strncmp(from, "@cpus", 5) == 0)
            len = 5;
        else if (sscanf(from, "@%1dcpus%n", &times, &len) != 1)
            len = 0;
        if (len)
            at += (size_t)snprintf(to + at, size - at, "%ld", times * cpus);
        else
            to[at++] = *from;
        from += len ? len : 1;
    }
    to[at] = '\0';
}

static long number_after(const char *options, const char *option, long otherwise)
{
    const char *at = strstr(options, option);
    return at ? atol(at + strlen(option)) : otherwise;
}

static void add(struct intervention *out, int *n, const char *knob, const char *options, const char *set,
                long value)
{
    if (*n == INTERVENTIONS_MAX)
        return;
    struct intervention *i = &out[(*n)++];
    *i = (struct intervention){.knob = knob};
    snprintf(i->options, sizeof(i->options), options, value);
    snprintf(i->set, sizeof(i->set), set, value);
}

static void add_remedy(const struct scenario *s, struct intervention *out, int *n)
{
    static const struct {
        const char *knob, *set;
    } same[] = {{"storage", "storage-latency=0"}, {"errors", "retries=0"}, {"slow-rank", "collective=0"}};
    add(out, n, s->remedy[0] ? s->remedy : "start", "", "", 0);
    out[*n - 1].without_faults = 1;
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
        if (strcmp(s->remedy, same[i].knob) == 0)
            snprintf(out[*n - 1].set, sizeof(out[*n - 1].set), "%s", same[i].set);
}

/* Decoding that costs what it costs is the job and no fault: its knob is the one that the report offers, half
 * of it. Returns 0 where nothing is decoded at a cost. */
static int add_half_the_work(const char *options, struct intervention *out, int *n)
{
    static const char name[] = "decode-cost=";
    const char *cost = strstr(options, name);
    if (!cost || *n == INTERVENTIONS_MAX)
        return 0;
    struct intervention *i = &out[(*n)++];
    *i = (struct intervention){.knob = "work", .set = "decode=0.5"};
    snprintf(i->options, sizeof(i->options), "--inject %s%g", name, atof(cost + strlen(name)) / 2);
    return 1;
}

int scenario_interventions(const struct scenario *s, int level, struct intervention out[INTERVENTIONS_MAX])
{
    char text[512], options[512];
    int n = 0;
    snprintf(text, sizeof(text), "%s %s", s->options, s->level[level]);
    expand(text, options, sizeof(options));
    long workers = number_after(options, "--workers ", 2), prefetch = number_after(options, "--prefetch ", 2);
    add(out, &n, "workers", "--workers %ld", "workers=%ld", workers < 4 ? 4 * workers + 4 : 4 * workers);
    if (workers > 1)
        add(out, &n, "fewer-workers", "--workers %ld", "workers=%ld", workers / 4 > 1 ? workers / 4 : 1);
    add(out, &n, "prefetch", "--prefetch %ld", "prefetch=%ld", 8 * prefetch);
    if (!strstr(options, "--out-of-order"))
        add(out, &n, "order", "--out-of-order", "order=out-of-order", 0);
    if (strstr(options, "--pageable"))
        add(out, &n, "pinned", "--no-pageable", "pinned=yes", 0);
    if (strstr(options, "--copy-buffers 1"))
        add(out, &n, "buffers", "--copy-buffers 2", "copy-buffers=2", 0);
    if (strstr(options, "--sync-every-step"))
        add(out, &n, "sync", "--no-sync-every-step", "sync=0", 0);
    if (strstr(options, "--link-gbps"))
        add(out, &n, "link", "--link-gbps 25", "copy=0", 0);
    if (strcmp(s->remedy, "work") == 0 && add_half_the_work(options, out, &n))
        return n;
    if (strstr(options, "--inject") || strstr(options, "@ballast") || strstr(options, "@quota"))
        add_remedy(s, out, &n);
    return n;
}

/* ---- running ---- */

struct command {
    char text[1024], faults[256]; /* faults: apart, since they may be another rank's */
    int ballast, ranks, rank;
    double quota;
};

static void append(char *to, size_t size, const char *lead, const char *word)
{
    size_t at = strlen(to);
    snprintf(to + at, size - at, " %s%s", lead, word);
}

/* Words of text into the command; the harness's own ones, and faults that are to be left out, apart. */
static void add_words(struct command *c, const char *text, int without_faults)
{
    char copy[512], *save, *word;
    expand(text, copy, sizeof(copy));
    for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        if (strncmp(word, "@ranks=", 7) == 0) {
            c->ranks = atoi(word + 7);
        } else if (strncmp(word, "@rank=", 6) == 0) {
            c->rank = atoi(word + 6);
        } else if (strncmp(word, "@ballast=", 9) == 0) {
            c->ballast = without_faults ? 0 : atoi(word + 9);
        } else if (strncmp(word, "@quota=", 7) == 0) {
            c->quota = without_faults ? 0 : atof(word + 7);
        } else if (strcmp(word, "--inject") == 0) {
            const char *fault = strtok_r(NULL, " ", &save);
            if (fault && !without_faults)
                append(c->faults, sizeof(c->faults), "--inject ", fault);
        } else {
            append(c->text, sizeof(c->text), "", word);
        }
    }
}

/* The other ranks, as shell commands in the background; "" for a run of one process. They run as long as the
 * recorded one, and end by themselves. */
static void other_ranks(const struct command *c, const char *self, const char *tail, const char *file,
                        unsigned seed, char *script, size_t size)
{
    size_t at = 0;
    script[0] = '\0';
    for (int r = 0; r < c->ranks && at < size; r++)
        if (r != c->rank)
            at += (size_t)snprintf(
                script + at, size - at,
                "$taskset '%s' run%s%s --seed %u %s --quiet --no-record --rank %d --world-size %d --collective '%s.ranks' >/dev/null 2>&1 & ranks=\"$ranks $!\"; ",
                self, c->text, r == c->ranks - 1 ? c->faults : "", seed, tail, r, c->ranks, file);
}

/* CPU time in seconds: of the whole machine, and of the children that have ended. NAN: /proc/stat cannot be
 * read. */
static double machine_cpu_s(void)
{
    double user, nice, system_s;
    FILE *in = fopen("/proc/stat", "re");
    int n = in ? fscanf(in, "cpu %lf %lf %lf", &user, &nice, &system_s) : 0;
    if (in)
        fclose(in);
    return n == 3 ? (user + nice + system_s) / (double)sysconf(_SC_CLK_TCK) : NAN;
}

static double children_cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Runs the script; what others used of the CPUs meanwhile goes to *outside. */
static int run_script(const char *script, double *outside)
{
    double machine = machine_cpu_s(), children = children_cpu_s(), start = (double)pp_now_ns() / 1e9;
    int rc = system(script);
    double wall = (double)pp_now_ns() / 1e9 - start;
    if (outside) {
        double others = (machine_cpu_s() - machine - (children_cpu_s() - children)) / wall;
        *outside = others < 0 ? 0 : others; /* the two are counted in different ticks */
    }
    return rc;
}

/* Ctrl-C goes to the run and its shell; system() keeps it from us. */
static int was_interrupted(int rc)
{
    return rc >= 0 && (WIFSIGNALED(rc) || WEXITSTATUS(rc) == 130);
}

/* The first thing the run said, without its name; what it was is removed. */
static const char *said(const char *file, char *line, size_t size)
{
    char words[600];
    static const char name[] = "pipeprobe run: ";
    snprintf(words, sizeof(words), "%s.said", file);
    FILE *f = fopen(words, "r");
    if (!f || !fgets(line, (int)size, f))
        snprintf(line, size, "no message");
    if (f)
        fclose(f);
    unlink(words);
    line[strcspn(line, "\r\n")] = '\0';
    return strncmp(line, name, strlen(name)) == 0 ? line + strlen(name) : line;
}

static int interrupted;

int scenario_interrupted(void)
{
    return interrupted;
}

pp_status scenario_execute(const struct scenario *s, const struct scenario_run *r, struct pp_err *err)
{
    if (interrupted)
        return pp_fail(err, PP_E_INTERRUPTED, "interrupted");
    struct command c = {.quota = 0};
    char script[24576], others[12288], own[512] = "", tail[256], line[400];
    const char *self = getenv("PP") ? getenv("PP") : built("pipeprobe");
    int without = r->turned && r->turned->without_faults;
    add_words(&c, s->options, without);
    add_words(&c, s->level[r->level], without);
    if (!strstr(s->options, "--epochs"))
        snprintf(tail, sizeof(tail), "--duration %.2f", r->seconds);
    else
        tail[0] = '\0';
    other_ranks(&c, self, tail, r->file, r->seed, others, sizeof(others));
    if (c.ranks)
        snprintf(own, sizeof(own), " --rank %d --world-size %d --collective '%s.ranks'", c.rank, c.ranks,
                 r->file);
    if (c.ranks && c.rank != c.ranks - 1)
        c.faults[0] = '\0';
    if (r->turned)
        add_words(&c, r->turned->options, 0);
    /* A shell of its own: it spins the ballast, enters the control group, and takes both away again. Two CPUs
     * at most, as expand() says. */
    snprintf(
        script, sizeof(script),
        "trap '[ -n \"$pids\" ] && kill $pids && wait $pids 2>/dev/null' EXIT; cg=/sys/fs/cgroup/cpu/pipeprobe-lab-$$; c2=/sys/fs/cgroup/pipeprobe-lab-$$; pids=; ranks=; "
        "if [ -n \"$QUOTA\" ]; then "
        "if mkdir $cg 2>/dev/null && echo 100000 >$cg/cpu.cfs_period_us && echo $QUOTA >$cg/cpu.cfs_quota_us && echo $$ >$cg/cgroup.procs; then :; "
        "elif mkdir $c2 2>/dev/null && echo \"$QUOTA 100000\" >$c2/cpu.max && echo $$ >$c2/cgroup.procs; then cg=$c2; else exit 77; fi; fi; "
        "i=0; while [ $i -lt %d ]; do sh -c 'while :; do :; done' & pids=\"$pids $!\"; i=$((i+1)); done; "
        "taskset=; command -v taskset >/dev/null && taskset -c 0 true 2>/dev/null && [ $(nproc) -gt 2 ] && taskset='taskset -c 0,1'; "
        "%s$taskset '%s' run%s%s%s --seed %u %s --quiet --force -o '%s' >/dev/null 2>'%s.said'; rc=$?; [ -n \"$ranks\" ] && wait $ranks; "
        "if [ -n \"$QUOTA\" ]; then echo $$ >${cg%%/*}/cgroup.procs; rmdir $cg; fi 2>/dev/null; exit $rc",
        c.ballast, others, self, c.text, c.faults, own, r->seed, tail, r->file, r->file);
    char quota[32] = "";
    if (c.quota > 0)
        snprintf(quota, sizeof(quota), "%ld", lround(c.quota * 100000));
    setenv("QUOTA", quota, 1);
    int rc = run_script(script, r->outside_cpus);
    unsetenv("QUOTA");
    const char *words = said(r->file, line, sizeof(line));
    if (was_interrupted(rc)) {
        interrupted = 1;
        return pp_fail(err, PP_E_INTERRUPTED, "interrupted");
    }
    int code = rc < 0 ? 127 : WEXITSTATUS(rc);
    if (code == 77)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s needs a control group that can be written to", s->name);
    if (code != 0 && code != 3)
        return pp_fail(err, PP_E_SYSTEM, "%s: pipeprobe run%s exited with code %d: %s", s->name, c.text, code,
                       words);
    return PP_OK;
}
