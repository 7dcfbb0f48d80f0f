#include "collectors/system/others.h"

#include "probe/base/clock.h"
#include "probe/base/io.h"

#include <ctype.h>
#include <dirent.h>
#include <unistd.h>

#define TICKS_NS 500000000u  /* of when a process began more is not known than the tick, of 10 ms here */
#define ROUNDED_NS 20000000u /* user and system time of /proc/PID/stat are whole ticks */

void pp_others_begin(struct pp_others *o)
{
    memset(o, 0, sizeof(*o));
    o->since_ns = pp_clock_of(CLOCK_BOOTTIME);
}

/* 0: it has gone, and its parent has waited for it. */
static int cpu_ns_of(int64_t pid, uint64_t *ns)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid((pid_t)pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    *ns = (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
    return 1;
}

struct facts {
    int64_t parent;
    uint64_t children_ns, began_ns; /* CLOCK_BOOTTIME */
    uint64_t faults;                /* that waited for storage */
};

/* Of /proc/PID/stat; the name in parentheses may hold anything. */
static int read_facts(int64_t pid, struct facts *f)
{
    char text[1024];
    unsigned long long faults, waited_user, waited_system, began;
    long long parent;
    pp_io_text(text, sizeof(text), "/proc/%lld/stat", (long long)pid);
    const char *after = strrchr(text, ')');
    if (!after ||
        sscanf(after + 1,
               " %*c %lld %*d %*d %*d %*d %*u %*u %*u %llu %*u %*u %*u %llu %llu %*d %*d %*d %*d %llu",
               &parent, &faults, &waited_user, &waited_system, &began) != 5)
        return 0;
    double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
    *f = (struct facts){parent, (uint64_t)(tick_ns * (double)(waited_user + waited_system)),
                        (uint64_t)(tick_ns * (double)began), faults};
    return 1;
}

static struct pp_other *known_process(struct pp_others *o, int64_t pid)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->process[i].pid == pid)
            return &o->process[i];
    return NULL;
}

/* Those that have gone: into the time of a parent of their kind, or into that of all that have ended. */
static void drop_the_gone(struct pp_others *o)
{
    uint64_t cpu_ns;
    struct facts now;
    for (size_t i = 0; i < o->n;) {
        struct pp_other *p = &o->process[i], *parent = known_process(o, p->parent);
        if (cpu_ns_of(p->pid, &cpu_ns)) {
            i++;
            continue;
        }
        uint64_t used_ns = p->cpu_ns + p->children_ns;
        if (parent && !cpu_ns_of(parent->pid, &cpu_ns))
            parent = NULL;
        if (parent && parent->subprocess == p->subprocess) {
            parent->before_ns += p->before_ns;
        } else {
            o->ended_ns[p->subprocess] += used_ns - p->before_ns;
            /* Once it was waited for, it is in its parent's time. */
            if (parent && read_facts(parent->pid, &now) &&
                now.children_ns + ROUNDED_NS >= parent->children_ns + used_ns) {
                parent->children_ns += used_ns;
                parent->before_ns += used_ns;
            }
        }
        *p = o->process[--o->n];
    }
}

/* What those n started, and what that started: after them. */
static size_t add_subprocesses(int64_t *pid, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char path[64];
        long long child;
        snprintf(path, sizeof(path), "/proc/%lld/task", (long long)pid[i]);
        DIR *threads = opendir(path);
        for (struct dirent *e; threads && n < PP_OTHERS_MAX && (e = readdir(threads));) {
            if (!isdigit((unsigned char)e->d_name[0]))
                continue;
            snprintf(path, sizeof(path), "/proc/%lld/task/%.20s/children", (long long)pid[i], e->d_name);
            FILE *in = fopen(path, "re");
            while (in && n < PP_OTHERS_MAX && fscanf(in, "%lld", &child) == 1) {
                size_t known = 0;
                while (known < n && pid[known] != child)
                    known++;
                if (known == n && child != getpid())
                    pid[n++] = child;
            }
            if (in)
                fclose(in);
        }
        if (threads)
            closedir(threads);
    }
    return n;
}

struct pp_others_cpu pp_others_cpu(struct pp_others *o, const int64_t *pid, size_t n)
{
    int64_t all[PP_OTHERS_MAX];
    size_t recording = 0;
    drop_the_gone(o);
    for (size_t i = 0; i < n && recording < PP_OTHERS_MAX; i++)
        if (pid[i] != (int64_t)getpid())
            all[recording++] = pid[i];
    n = add_subprocesses(all, recording);
    for (size_t i = 0; i < n; i++) {
        struct facts f;
        uint64_t cpu_ns;
        struct pp_other *p = known_process(o, all[i]);
        if ((!p && o->n == PP_OTHERS_MAX) || !cpu_ns_of(all[i], &cpu_ns) || !read_facts(all[i], &f))
            continue;
        if (!p) {
            p = &o->process[o->n++];
            int was_there = f.began_ns + TICKS_NS < o->since_ns;
            *p = (struct pp_other){.pid = all[i],
                                   .subprocess = 1,
                                   .faults = was_there ? f.faults : 0,
                                   .before_ns = was_there ? cpu_ns + f.children_ns : 0};
        }
        o->faults += f.faults > p->faults ? f.faults - p->faults : 0; /* fewer: its number is another's now */
        p->faults = f.faults;
        p->parent = f.parent;
        p->subprocess = p->subprocess && i >= recording; /* what has recorded may live on without */
        p->cpu_ns = p->cpu_ns > cpu_ns ? p->cpu_ns : cpu_ns;
        p->children_ns = p->children_ns > f.children_ns ? p->children_ns : f.children_ns;
    }
    uint64_t sum[2] = {o->ended_ns[0], o->ended_ns[1]};
    int ended = o->ended_ns[0] > 0;
    for (size_t i = 0; i < o->n; i++) {
        const struct pp_other *p = &o->process[i];
        ended = ended && p->subprocess;
        sum[p->subprocess] += p->cpu_ns + p->children_ns - p->before_ns;
    }
    for (int kind = 0; kind < 2; kind++)
        o->total_ns[kind] = o->total_ns[kind] > sum[kind] ? o->total_ns[kind] : sum[kind];
    return (struct pp_others_cpu){o->total_ns[0], o->total_ns[1], o->faults, ended};
}
