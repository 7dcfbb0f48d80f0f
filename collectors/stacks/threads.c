#include "collectors/stacks/threads.h"

#include "collectors/stacks/process.h"
#include "collectors/store/writer.h"
#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/rng.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROCESSES = 64, LOOKS = 64, OPEN_FILES = 384, NAME = 16 };
#define LOOK_FOR_NEW_NS UINT64_C(1000000000)
#define LATELY_NS UINT64_C(1000000000)

struct looked {
    int64_t pid, tid;
    int runs; /* /proc/PID/task/TID/schedstat; -1: not kept open */
    char name[NAME], state;
    int is_new; /* its row is not written */
    uint64_t cpu_ns, delay_ns, n_runs, ran_ns;
    struct pp_python_runtime python; /* of its process */
};

struct threads {
    const struct pp_collect_opts *opts;
    pthread_t thread;
    int has_thread;
    pthread_mutex_t lock; /* of what is marked * */
    pthread_cond_t wake;
    int stop;                 /* * */
    int64_t taker[PROCESSES]; /* * */
    size_t takers;            /* * */
    struct looked *row;       /* *; PP_LOOKED_THREADS */
    size_t rows;              /* * */
    struct look {
        uint64_t t_ns;
        char states[PP_LOOKED_THREADS + 1];
    } * look;                                   /* *; LOOKS that wait to be written */
    size_t looks;                               /* * */
    uint64_t taken, lost, without_room, cpu_ns; /* * */
    double rate_hz;                             /* * now */
    int is_denied;                              /* * the call of a thread of the job is not to be read */
    /* of the thread that looks */
    int open_files;
    struct pp_rng rng;
    unsigned polls; /* of the one that polls */
};

/* ---- what a thread does ---- */

/* The calls of which a thread that is blocked says something. poll: it may wait for good. of_file: of what,
 * its first argument tells. */
static const struct {
    long number;
    enum pp_thread_does does;
    int is_poll, is_of_file;
} calls[] = {
    {SYS_read, PP_THREAD_READS, 0, 1},
    {SYS_readv, PP_THREAD_READS, 0, 1},
    {SYS_write, PP_THREAD_READS, 0, 1},
    {SYS_writev, PP_THREAD_READS, 0, 1},
    {SYS_pread64, PP_THREAD_READS, 0, 0},
    {SYS_preadv, PP_THREAD_READS, 0, 0},
    {SYS_preadv2, PP_THREAD_READS, 0, 0},
    {SYS_openat, PP_THREAD_READS, 0, 0},
    {SYS_newfstatat, PP_THREAD_READS, 0, 0},
    {SYS_fstat, PP_THREAD_READS, 0, 0},
    {SYS_statx, PP_THREAD_READS, 0, 0},
    {SYS_faccessat, PP_THREAD_READS, 0, 0},
    {SYS_readlinkat, PP_THREAD_READS, 0, 0},
    {SYS_getdents64, PP_THREAD_READS, 0, 0},
    {SYS_io_getevents, PP_THREAD_READS, 0, 0},
    {SYS_sendfile, PP_THREAD_READS, 0, 0},
    {SYS_close, PP_THREAD_READS, 0, 0},
#ifdef SYS_open
    {SYS_open, PP_THREAD_READS, 0, 0},
    {SYS_stat, PP_THREAD_READS, 0, 0},
    {SYS_lstat, PP_THREAD_READS, 0, 0},
    {SYS_access, PP_THREAD_READS, 0, 0},
    {SYS_poll, PP_THREAD_NETWORK, 1, 0},
    {SYS_select, PP_THREAD_NETWORK, 1, 0},
    {SYS_epoll_wait, PP_THREAD_NETWORK, 1, 0},
#endif
    {SYS_ppoll, PP_THREAD_NETWORK, 1, 0},
    {SYS_pselect6, PP_THREAD_NETWORK, 1, 0},
    {SYS_epoll_pwait, PP_THREAD_NETWORK, 1, 0},
    {SYS_recvfrom, PP_THREAD_NETWORK, 0, 0},
    {SYS_recvmsg, PP_THREAD_NETWORK, 0, 0},
    {SYS_connect, PP_THREAD_NETWORK, 0, 0},
    {SYS_sendto, PP_THREAD_NETWORK, 0, 0},
    {SYS_sendmsg, PP_THREAD_NETWORK, 0, 0},
    {SYS_futex, PP_THREAD_WAITS, 0, 0},
    {SYS_nanosleep, PP_THREAD_SLEEPS, 0, 0},
    {SYS_clock_nanosleep, PP_THREAD_SLEEPS, 0, 0},
};

enum pp_thread_does pp_thread_blocked_in(int64_t pid, const char *syscall, uint64_t ran_ns,
                                         const struct pp_python_runtime *runtime)
{
    char *end;
    if (strncmp(syscall, "running", 7) == 0)
        return PP_THREAD_COMPUTES;
    long number = strtol(syscall, &end, 10);
    if (end == syscall)
        return PP_THREAD_OTHER;
    if (number < 0) /* blocked, and in no call */
        return PP_THREAD_FAULTS;
    if (number == SYS_futex && strtoull(end, NULL, 16) - runtime->at < runtime->size)
        return PP_THREAD_LOCK;
    size_t i = 0;
    while (i < sizeof(calls) / sizeof(*calls) && calls[i].number != number)
        i++;
    if (i == sizeof(calls) / sizeof(*calls))
        return PP_THREAD_OTHER;
    if (!calls[i].is_of_file)
        return calls[i].is_poll && ran_ns >= LATELY_NS ? PP_THREAD_WAITS : calls[i].does;
    char path[64], to[256];
    snprintf(path, sizeof(path), "/proc/%lld/fd/%lu", (long long)pid, strtoul(end, NULL, 16));
    ssize_t n = readlink(path, to, sizeof(to) - 1);
    to[n > 0 ? n : 0] = '\0';
    return strncmp(to, "socket:", 7) == 0 ? PP_THREAD_NETWORK
           : strncmp(to, "pipe:", 5) == 0 ? PP_THREAD_PIPE
           : strncmp(to, "anon_inode:", 11) == 0 || strncmp(to, "/dev/", 5) == 0
               ? PP_THREAD_OTHER /* an eventfd, a terminal, a GPU */
               : PP_THREAD_READS;
}

/* ---- looking ---- */

static ssize_t read_of(const struct looked *t, const char *name, int fd, char *text, size_t size)
{
    char path[80];
    int own = fd;
    if (own < 0) {
        snprintf(path, sizeof(path), "/proc/%lld/task/%lld/%s", (long long)t->pid, (long long)t->tid, name);
        own = pp_io_open(path, O_RDONLY, 0);
    }
    ssize_t n = own >= 0 ? pread(own, text, size - 1, 0) : -1;
    int e = errno;
    if (own >= 0 && fd < 0)
        close(own);
    errno = e;
    text[n > 0 ? n : 0] = '\0';
    return n;
}

/* A thread that has not run since the last look, and was blocked then, is where it was: most of them. */
static void take_look(struct threads *s, uint64_t now_ns)
{
    for (struct looked *t = s->row; t < s->row + s->rows; t++) {
        unsigned long long cpu, delay, runs;
        char text[256];
        if (t->state == PP_THREAD_ABSENT && !t->is_new)
            continue;
        if (read_of(t, "schedstat", t->runs, text, sizeof(text)) <= 0 ||
            sscanf(text, "%llu %llu %llu", &cpu, &delay, &runs) != 3) {
            s->open_files -= t->runs >= 0;
            if (t->runs >= 0)
                close(t->runs);
            t->runs = -1;
            t->state = PP_THREAD_ABSENT;
            continue;
        }
        int is_first = !t->n_runs && !t->cpu_ns, ran = runs != t->n_runs || cpu != t->cpu_ns;
        uint64_t ran_for = cpu - t->cpu_ns, waited_for = delay - t->delay_ns;
        t->ran_ns = ran || is_first ? now_ns : t->ran_ns;
        t->cpu_ns = cpu;
        t->delay_ns = delay;
        t->n_runs = runs;
        int is_still = !ran && t->state != PP_THREAD_COMPUTES && t->state != PP_THREAD_READY;
        if (is_still && t->state != PP_THREAD_NETWORK && t->state != PP_THREAD_ABSENT)
            continue;
        if (read_of(t, "syscall", -1, text, sizeof(text)) > 0) {
            t->state = (char)pp_thread_blocked_in(t->pid, text, now_ns - t->ran_ns, &t->python);
        } else {
            s->is_denied |= errno == EPERM || errno == EACCES;
            const char *end = read_of(t, "stat", -1, text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;
            char says = end && end[1] ? end[2] : 0;
            t->state = says == 'R' ? PP_THREAD_COMPUTES : says == 'D' ? PP_THREAD_FAULTS : PP_THREAD_OTHER;
        }
        if (t->state == PP_THREAD_COMPUTES && !is_first && waited_for > ran_for)
            t->state = PP_THREAD_READY;
    }
    s->taken++;
    if (s->looks == LOOKS) {
        s->lost++;
        return;
    }
    struct look *look = &s->look[s->looks++];
    look->t_ns = now_ns;
    for (size_t i = 0; i < s->rows; i++)
        look->states[i] = s->row[i].state;
    look->states[s->rows] = '\0';
}

/* ---- which threads ---- */

static void follow_process(struct threads *s, int64_t pid)
{
    char path[80], name[NAME] = "";
    snprintf(path, sizeof(path), "/proc/%lld/task", (long long)pid);
    DIR *d = opendir(path);
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        const int64_t tid = atoll(e->d_name);
        struct looked found = {.pid = pid, .tid = tid, .runs = -1, .state = PP_THREAD_OTHER, .is_new = 1},
                      *t = NULL;
        int is_known = e->d_name[0] == '.';
        for (size_t i = 0; i < s->rows && !is_known; i++) {
            is_known = s->row[i].tid == tid && s->row[i].pid == pid && s->row[i].state != PP_THREAD_ABSENT;
            found.python = s->row[i].pid == pid ? s->row[i].python : found.python;
        }
        ssize_t n = is_known ? 0 : read_of(&found, "comm", -1, name, sizeof(name));
        if (n <= 0 || strncmp(name, "pp-", 3) == 0)
            continue;
        name[strcspn(name, "\n")] = '\0';
        /* A place of its own, or that of one with its process and name that has ended. */
        for (size_t i = 0; i < s->rows && !t; i++)
            if (s->row[i].state == PP_THREAD_ABSENT && s->row[i].pid == pid && !strcmp(s->row[i].name, name))
                t = &s->row[i];
        if (!t && s->rows < PP_LOOKED_THREADS)
            t = &s->row[s->rows++];
        s->without_room += !t;
        if (!t)
            continue;
        *t = found;
        if (!t->python.at)
            t->python = pp_python_runtime_find(pid);
        memcpy(t->name, name, sizeof(t->name));
        snprintf(path, sizeof(path), "/proc/%lld/task/%lld/schedstat", (long long)pid, (long long)tid);
        t->runs = s->open_files < OPEN_FILES ? pp_io_open(path, O_RDONLY, 0) : -1;
        s->open_files += t->runs >= 0;
    }
    if (d)
        closedir(d);
}

static void *looker_main(void *arg)
{
    struct threads *s = arg;
    uint64_t begin = pp_now_ns(), looked = 0;
    struct pp_pace pace = pp_pace_begin(PP_THREADS_HZ, PP_STACKS_SHARE, begin);
    pthread_setname_np(pthread_self(), "pp-threads");
    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        uint64_t due = begin + (uint64_t)(pace.period_ns * pp_rng_unit(&s->rng));
        begin += (uint64_t)pace.period_ns;
        while (!s->stop && pp_now_ns() < due)
            pp_cond_wait_until(&s->wake, &s->lock, due);
        uint64_t now = pp_now_ns();
        if (s->stop || now - due > 2 * (uint64_t)pace.period_ns) {
            begin = now;
            continue;
        }
        if (!s->takers)
            continue;
        if (now - looked >= LOOK_FOR_NEW_NS) {
            /* Those that take batches, their children, and theirs. */
            int64_t pid[PROCESSES];
            size_t n = s->takers;
            memcpy(pid, s->taker, n * sizeof(*pid));
            for (size_t i = 0; i < n; i++) {
                if (pid[i] != (int64_t)getpid())
                    follow_process(s, pid[i]);
                n += pid[i] != (int64_t)getpid() ? pp_process_children(pid[i], pid + n, PROCESSES - n) : 0;
            }
            looked = now;
        }
        take_look(s, now);
        s->cpu_ns = pp_thread_cpu_ns();
        pp_pace_adapt(&pace, now, s->cpu_ns);
        s->rate_hz = 1e9 / pace.period_ns;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- writing ---- */

static void threads_poll(void *state)
{
    struct threads *s = state;
    int64_t pid[PROCESSES];
    size_t n = s->opts->takers ? s->opts->takers(s->opts->processes_ctx, pid, PROCESSES) : 0;
    pthread_mutex_lock(&s->lock);
    memcpy(s->taker, pid, n * sizeof(*pid));
    s->takers = n;
    for (size_t i = 0; i < s->rows; i++)
        if (s->row[i].is_new) {
            pp_store_native_thread(s->opts->store,
                                   &(struct pp_native_thread_row){(uint32_t)i + 1, s->row[i].pid,
                                                                  s->row[i].tid, s->row[i].name});
            s->row[i].is_new = 0;
        }
    for (size_t i = 0; i < s->looks; i++)
        pp_store_thread_look(s->opts->store,
                             &(struct pp_thread_look_row){s->look[i].t_ns, s->look[i].states});
    s->looks = 0;
    if (s->taken && s->polls++ % 8 == 0) {
        struct pp_store *store = s->opts->store;
        pp_store_meta_num(store, "threads", "rate_hz", s->rate_hz, "Hz");
        pp_store_meta_num(store, "threads", "looks", (double)s->taken, "looks");
        pp_store_meta_num(store, "threads", "lost", (double)s->lost, "looks");
        pp_store_meta_num(store, "threads", "without_room", (double)s->without_room, "threads");
        pp_store_meta_num(store, "threads", "cpu_ns", (double)s->cpu_ns, "ns");
        if (s->is_denied)
            pp_store_meta_text(store, "threads", "why_not",
                               "the calls that threads are in cannot be read (/proc/PID/task/TID/syscall)");
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- beginning and end ---- */

static void threads_stop(void *state)
{
    struct threads *s = state;
    if (s->has_thread) {
        pthread_mutex_lock(&s->lock);
        s->stop = 1;
        pthread_cond_signal(&s->wake);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
        s->polls = 0;
        threads_poll(s);
    }
    for (size_t i = 0; i < s->rows; i++)
        if (s->row[i].runs >= 0)
            close(s->row[i].runs);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s->look);
    free(s->row);
    free(s);
}

static pp_status threads_start(const struct pp_collect_opts *opts, void **state, struct pp_err *err)
{
    struct threads *s = calloc(1, sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to look at the job's threads");
    s->opts = opts;
    s->rate_hz = PP_THREADS_HZ;
    s->rng = pp_rng_key((uint64_t)getpid(), 1, pp_now_ns(), 0);
    s->row = calloc(PP_LOOKED_THREADS, sizeof(*s->row));
    s->look = calloc(LOOKS, sizeof(*s->look));
    pthread_mutex_init(&s->lock, NULL);
    pp_cond_init(&s->wake);
    int rc = s->row && s->look ? pthread_create(&s->thread, NULL, looker_main, s) : ENOMEM;
    s->has_thread = !rc;
    if (rc) {
        threads_stop(s);
        return pp_fail_errno(err, rc, "cannot start the thread that looks at the job's threads");
    }
    *state = s;
    return PP_OK;
}

const struct pp_collector pp_collector_threads = {
    .name = "threads",
    .found = "exec looks at what the threads of a loader in C++ do",
    .start = threads_start,
    .poll = threads_poll,
    .stop = threads_stop,
};
