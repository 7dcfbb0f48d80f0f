#include "collectors/system/counters.h"

#include "collectors/store/writer.h"
#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROCESSES = 4096, PROGRAMS = 64, SHOWN = 5, OWN = 256 };
#define CONTENDED 0.05       /* of the machine's CPUs, used by others */
#define COST 100             /* a look that took 1 ms of CPU is followed by 100 ms without one */
#define STALE_NS 3000000000u /* a look is no base for one that comes later */

struct process {
    int64_t pid, parent;
    unsigned long long started, ticks;
    char name[20];
    int own;
};

/* A program and its user, however many processes there were of it. */
struct program {
    char name[64];
    uid_t uid;
    double cpu_ns, read_bytes;
};

struct neighbours {
    const struct pp_collect_opts *opts;
    struct process *now, *before; /* sorted by pid */
    size_t n_now, n_before;
    struct program program[PROGRAMS];
    size_t programs;
    double busy, all, own_ns;    /* of the machine's clock ticks, of the job, at the last poll */
    uint64_t looked_ns, next_ns; /* at /proc; not before */
    double watched_ns;           /* between two looks */
    double tick_ns;
};

/* ---- whether to look ---- */

/* Of the machine's CPUs since the last time; NAN: there was none, or /proc cannot be read. */
static double used_by_others(struct neighbours *s, const int64_t *pid, size_t n)
{
    /* What the job's own processes have used so far; what has ended counts for others, until its parent has
     * waited for it. */
    double busy, all, own = (double)pp_process_cpu_ns();
    for (size_t i = 0; i < n; i++) {
        clockid_t clock;
        struct timespec t;
        if (pid[i] != (int64_t)getpid() && clock_getcpuclockid((pid_t)pid[i], &clock) == 0 &&
            clock_gettime(clock, &t) == 0)
            own += (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
    }
    if (!pp_io_machine_ticks(&busy, &all))
        return NAN;
    double of_others = (busy - s->busy) * s->tick_ns - (own - s->own_ns);
    double share = s->all > 0 && all > s->all ? of_others / ((all - s->all) * s->tick_ns) : NAN;
    s->busy = busy;
    s->all = all;
    s->own_ns = own;
    return share;
}

/* ---- a look ---- */

PP_BY(by_pid, struct process, pid)

static struct process *find_process(struct process *list, size_t n, int64_t pid)
{
    const struct process key = {.pid = pid};
    return n ? bsearch(&key, list, n, sizeof(key), by_pid) : NULL;
}

static int read_process(int64_t pid, struct process *p)
{
    char text[512];
    unsigned long long user, system;
    long long parent;
    pp_io_text(text, sizeof(text), "/proc/%lld/stat", (long long)pid);
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close ||
        sscanf(close + 1,
               " %*c %lld %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu",
               &parent, &user, &system, &p->started) != 4)
        return 0;
    *close = '\0';
    p->pid = pid;
    p->parent = parent;
    p->ticks = user + system;
    p->own = pid == (int64_t)getpid();
    snprintf(p->name, sizeof(p->name), "%.19s", open + 1);
    return 1;
}

/* Where there are too many, the smallest gives way. */
static struct program *program_of(struct neighbours *s, const struct process *p)
{
    char path[64], name[sizeof(s->program[0].name)], words[1024];
    struct stat st;
    size_t least = 0;
    ssize_t n = strncmp(p->name, "python", 6) == 0
                    ? pp_io_text(words, sizeof(words), "/proc/%lld/cmdline", (long long)p->pid)
                    : 0;
    snprintf(name, sizeof(name), "%s", p->name);
    /* An interpreter with its script: "python3 train.py". */
    for (const char *w = words; n > 0 && w < words + n; w += strlen(w) + 1) {
        size_t len = strlen(w);
        const char *slash = strrchr(w, '/');
        if (len > 3 && strcmp(w + len - 3, ".py") == 0) {
            snprintf(name, sizeof(name), "%s %.40s", p->name, slash ? slash + 1 : w);
            break;
        }
    }
    snprintf(path, sizeof(path), "/proc/%lld", (long long)p->pid);
    if (stat(path, &st) != 0)
        return NULL;
    for (size_t i = 0; i < s->programs; i++) {
        if (s->program[i].uid == st.st_uid && strcmp(s->program[i].name, name) == 0)
            return &s->program[i];
        least = s->program[i].cpu_ns < s->program[least].cpu_ns ? i : least;
    }
    struct program *to = s->programs < PROGRAMS ? &s->program[s->programs++] : &s->program[least];
    *to = (struct program){.uid = st.st_uid};
    memcpy(to->name, name, sizeof(name));
    return to;
}

static void add_use(struct neighbours *s)
{
    for (size_t i = 0; i < s->n_now; i++) {
        const struct process *p = &s->now[i], *old = find_process(s->before, s->n_before, p->pid);
        if (old && old->started != p->started)
            old = NULL;
        unsigned long long ticks = p->ticks - (old ? old->ticks : 0);
        struct program *to = !p->own && ticks && p->ticks >= ticks ? program_of(s, p) : NULL;
        if (!to)
            continue;
        char text[512];
        double read, share = p->ticks ? (double)ticks / (double)p->ticks : 0;
        to->cpu_ns += (double)ticks * s->tick_ns;
        /* What it has read from storage, as its CPU time is spread; of another user's it is not told. */
        pp_io_text(text, sizeof(text), "/proc/%lld/io", (long long)p->pid);
        const char *at = strstr(text, "\nread_bytes:");
        if (at && sscanf(at, " read_bytes: %lf", &read) == 1)
            to->read_bytes += read * share;
    }
}

PP_BY_FALLING(larger_first, struct program, cpu_ns)

/* The i-th of the sorted programs; 0: there is none that matters. */
static int describe_program(const struct neighbours *s, size_t i, char *text, size_t size)
{
    const struct program *p = &s->program[i];
    double share = p->cpu_ns / (s->watched_ns * (double)sysconf(_SC_NPROCESSORS_ONLN));
    char user[64], bytes[40];
    if (i >= SHOWN || i >= s->programs || share < 0.001)
        return 0;
    /* Of /etc/passwd alone: a directory service may take its time. */
    FILE *in = fopen("/etc/passwd", "re");
    snprintf(user, sizeof(user), "user %u", (unsigned)p->uid);
    for (struct passwd *w; in && (w = fgetpwent(in));)
        if (w->pw_uid == p->uid) {
            snprintf(user, sizeof(user), "%.40s", w->pw_name);
            break;
        }
    if (in)
        fclose(in);
    int n = snprintf(text, size, "%s (%s), %.*f %% of the CPUs", p->name, user, share < 0.1, 100 * share);
    if (p->read_bytes >= 1 << 20)
        snprintf(text + n, size - (size_t)n, ", %s read", pp_text_bytes(bytes, sizeof(bytes), p->read_bytes));
    return 1;
}

/* Whether there was an earlier one to compare it with. */
static int look_at_all(struct neighbours *s, const int64_t *pid, size_t n)
{
    struct process *swap = s->before;
    uint64_t now_ns = pp_now_ns();
    int base = s->looked_ns && now_ns - s->looked_ns < STALE_NS;
    s->before = s->now;
    s->n_before = s->n_now;
    s->now = swap;
    s->n_now = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && s->n_now < PROCESSES && (e = readdir(d));)
        if (isdigit((unsigned char)e->d_name[0]))
            s->n_now += (size_t)read_process(strtoll(e->d_name, NULL, 10), &s->now[s->n_now]);
    if (d)
        closedir(d);
    qsort(s->now, s->n_now, sizeof(*s->now), by_pid);
    /* The job's: what records, this process, and what they have started. */
    int changed = 1;
    for (size_t i = 0; i < n; i++) {
        struct process *p = find_process(s->now, s->n_now, pid[i]);
        if (p)
            p->own = 1;
    }
    for (int depth = 0; changed && depth < 16; depth++) {
        changed = 0;
        for (size_t i = 0; i < s->n_now; i++) {
            struct process *p = &s->now[i],
                           *parent = p->own ? NULL : find_process(s->now, s->n_now, p->parent);
            if (parent && parent->own)
                p->own = changed = 1;
        }
    }
    if (base) {
        s->watched_ns += (double)(now_ns - s->looked_ns);
        add_use(s);
        qsort(s->program, s->programs, sizeof(*s->program), larger_first);
    }
    s->looked_ns = now_ns;
    return base;
}

/* ---- the collector ---- */

static void neighbours_poll(void *state)
{
    struct neighbours *s = state;
    int64_t pid[OWN];
    size_t n = s->opts->processes ? s->opts->processes(s->opts->processes_ctx, pid, OWN) : 0;
    if (!(used_by_others(s, pid, n) > CONTENDED) || pp_now_ns() < s->next_ns)
        return;
    uint64_t cpu_ns = pp_clock_of(CLOCK_THREAD_CPUTIME_ID);
    if (look_at_all(s, pid, n)) {
        char key[32], text[256];
        for (size_t i = 0; describe_program(s, i, text, sizeof(text)); i++) {
            snprintf(key, sizeof(key), "other_process_%zu", i + 1);
            pp_store_meta_text(s->opts->store, "environment", key, text);
        }
    }
    s->next_ns = pp_now_ns() + COST * (pp_clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
}

static void neighbours_stop(void *state)
{
    struct neighbours *s = state;
    free(s->now);
    free(s->before);
    free(s);
}

static pp_status neighbours_start(const struct pp_collect_opts *opts, void **state, struct pp_err *err)
{
    struct neighbours *s = calloc(1, sizeof(*s));
    *state = s;
    if (!s || !(s->now = calloc(PROCESSES, sizeof(*s->now))) ||
        !(s->before = calloc(PROCESSES, sizeof(*s->before)))) {
        if (s)
            neighbours_stop(s);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to watch other processes");
    }
    s->opts = opts;
    s->tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
    return PP_OK;
}

double pp_neighbours_now(double seconds, char *largest, size_t size)
{
    void *state;
    struct pp_err err;
    char text[256];
    const struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    *largest = '\0';
    if (neighbours_start(NULL, &state, &err) != PP_OK)
        return NAN;
    struct neighbours *s = state;
    used_by_others(s, NULL, 0);
    look_at_all(s, NULL, 0);
    nanosleep(&pause, NULL);
    look_at_all(s, NULL, 0);
    double share = used_by_others(s, NULL, 0);
    for (size_t i = 0; describe_program(s, i, text, sizeof(text)); i++)
        if (strlen(largest) + strlen(text) + 3 < size) /* none is cut */
            pp_text_add(largest, size, "%s%s", i ? "; " : "", text);
    neighbours_stop(s);
    return share < 0 ? 0 : share;
}

const struct pp_collector pp_collector_neighbours = {
    .name = "other processes",
    .found = "processes that use the CPUs beside a job are named",
    .start = neighbours_start,
    .poll = neighbours_poll,
    .stop = neighbours_stop,
};
