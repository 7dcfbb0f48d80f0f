#include "collectors/stacks/process.h"

#include "collectors/attach/python_runtime.h"
#include "probe/base/clock.h"
#include "probe/base/io.h"
#include "probe/base/text.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS UINT64_C(2000000000)
#define AGAIN_NS UINT64_C(200000000) /* while it starts */
#define TRIES_NO_PYTHON 4            /* one that was forked looks like a Python until it runs its program */
#define TRIES_UNLIKE 4
#define PTHREAD_BYTES 1024

ssize_t pp_memory_of_process(void *ctx, const struct iovec *here, const struct iovec *there, size_t n)
{
    return process_vm_readv((pid_t)(intptr_t)ctx, here, n, there, n, 0);
}

int pp_process_id_offset(void)
{
    uint8_t own[PTHREAD_BYTES];
    struct pp_memory self = {.readv = pp_memory_of_process, .ctx = (void *)(intptr_t)getpid()};
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    if (pp_memory_get(&self, own, sizeof(own), (uint64_t)pthread_self()))
        for (size_t at = 0; at + 4 <= sizeof(own); at += 4)
            if (pp_half_at(own, at) == tid)
                return (int)at;
    return -1;
}

struct pp_stack_process *pp_process_new(int64_t pid)
{
    struct pp_stack_process *p = calloc(1, sizeof(*p));
    if (p)
        p->pid = pid;
    return p;
}

static void close_threads(struct pp_stack_processes *all, const struct pp_process_thread *thread, unsigned n)
{
    for (unsigned i = 0; i < 2 * n; i++) {
        int fd = i < n ? thread[i].stat : thread[i - n].runs;
        if (fd >= 0) {
            close(fd);
            all->state_files--;
        }
    }
}

void pp_process_free(struct pp_stack_processes *all, struct pp_stack_process *p)
{
    if (!p)
        return;
    close_threads(all, p->thread, p->threads);
    if (p->state == PP_PROCESS_OPEN)
        pp_interpreter_close(&p->python);
    pp_members_free(&p->members);
    free(p);
}

/* ---- its threads ---- */

static int open_file(struct pp_stack_processes *all, int64_t pid, int64_t tid, const char *name)
{
    char path[80];
    if (!tid || all->state_files >= PP_PROCESS_STATE_FILES)
        return -1;
    snprintf(path, sizeof(path), "/proc/%lld/task/%lld/%s", (long long)pid, (long long)tid, name);
    int fd = pp_io_open(path, O_RDONLY, 0);
    all->state_files += fd >= 0;
    return fd;
}

/* The kernel's side of the threads that the interpreter has now. */
static void follow_threads(struct pp_stack_processes *all, struct pp_stack_process *p)
{
    struct pp_process_thread before[PP_INTERPRETER_THREADS];
    const unsigned n = p->threads;
    memcpy(before, p->thread, n * sizeof(*before));
    p->threads = p->python.threads;
    for (unsigned i = 0; i < p->threads; i++) {
        const struct pp_interpreter_thread *t = &p->python.thread[i];
        struct pp_process_thread *mine = &p->thread[i];
        unsigned k = 0;
        while (k < n && (before[k].at != t->stack.at || !before[k].tid))
            k++;
        if (k < n) {
            *mine = before[k];
            before[k].stat = before[k].runs = -1;
            continue;
        }
        char path[64];
        uint32_t native = (uint32_t)t->native;
        if (!t->is_main && !native && t->id && all->id_offset >= 0)
            (void)pp_memory_get(&p->python.memory, &native, sizeof(native), t->id + (unsigned)all->id_offset);
        snprintf(path, sizeof(path), "/proc/%lld/task/%u", (long long)p->pid, native);
        int64_t tid = t->is_main ? p->pid : native && access(path, F_OK) == 0 ? (int64_t)native : 0;
        *mine = (struct pp_process_thread){.at = t->stack.at,
                                           .tid = tid,
                                           .stat = open_file(all, p->pid, tid, "stat"),
                                           .runs = open_file(all, p->pid, tid, "schedstat")};
    }
    close_threads(all, before, n);
}

char pp_process_thread_state(const struct pp_stack_process *p, unsigned i)
{
    char text[128];
    ssize_t n = p->thread[i].stat >= 0 ? pread(p->thread[i].stat, text, sizeof(text) - 1, 0) : 0;
    if (n <= 0)
        return 0;
    text[n] = '\0';
    /* "PID (NAME) STATE ..."; a name has 15 bytes at most, and may have brackets. */
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] >= 'A' && end[2] <= 'Z' ? end[2] : 0;
}

int pp_process_is_still(struct pp_stack_process *p)
{
    struct timespec t;
    const clockid_t clock = (clockid_t)(~(unsigned)p->pid << 3 | 2); /* as clock_getcpuclockid makes it */
    uint64_t before = p->cpu_ns;
    p->cpu_ns = clock_gettime(clock, &t) == 0
                    ? (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec
                    : 0;
    return p->cpu_ns && p->cpu_ns == before;
}

int pp_process_thread_is_still(struct pp_stack_process *p, unsigned i)
{
    struct pp_process_thread *t = &p->thread[i];
    unsigned long long ran, waited, runs = 0;
    char text[96];
    uint64_t before = t->n_runs;
    ssize_t n = t->runs >= 0 ? pread(t->runs, text, sizeof(text) - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%llu %llu %llu", &ran, &waited, &runs) != 3)
        runs = 0;
    t->n_runs = runs;
    return runs && runs == before && t->state && t->state != 'R';
}

/* ---- the process ---- */

static void refuse(struct pp_stack_process *p, const char *why)
{
    p->state = PP_PROCESS_REFUSED;
    snprintf(p->why_not, sizeof(p->why_not), "%.*s", (int)sizeof(p->why_not) - 1, why);
}

static void name_function(void *ctx, struct pp_codes *codes, struct pp_code *code, const char *name,
                          const char *file)
{
    struct pp_stack_processes *all = ctx;
    const char *member = pp_members_local(name, file);
    code->function = pp_stack_tree_function(all->tree, name, file, code->first_line);
    /* a thread of multiprocessing's own runs in it, which feeds a queue or hands on what is shared */
    all->is_helper[code->function] = (pp_text_ends_in(name, "_feed") &&
                                      pp_text_ends_in(file, "multiprocessing/queues.py")) ||
                                     (pp_text_ends_in(name, "_serve") &&
                                      pp_text_ends_in(file, "multiprocessing/resource_sharer.py"));
    code->member = member ? (int16_t)pp_codes_local(codes, code, member) : -1;
}

static void try_to_open(struct pp_stack_processes *all, struct pp_stack_process *p, uint64_t now_ns)
{
    const struct pp_memory memory = {.readv = pp_memory_of_process, .ctx = (void *)(intptr_t)p->pid};
    struct pp_err err = {.code = PP_OK};
    char why[200];
    struct pp_python_runtime r = pp_python_runtime_find(p->pid);
    p->tries++;
    if (r.at && r.is_debug) {
        snprintf(why, sizeof(why), "Python 3.%u is a debug build, whose stacks cannot be read", r.minor);
        refuse(p, why);
        return;
    }
    pp_status status = r.is_denied ? PP_E_ACCESS
                       : !r.at
                           ? PP_E_NOT_FOUND
                           : pp_interpreter_open(&p->python, memory, r.at, r.minor, name_function, all, &err);
    if (status == PP_E_ACCESS) {
        pp_python_denied(p->pid, why, sizeof(why));
        refuse(p, why);
    } else if (status == PP_E_UNSUPPORTED) {
        refuse(p, err.text);
    } else if (!r.at && p->tries >= TRIES_NO_PYTHON) {
        refuse(p, "");
    }
    if (status)
        return;
    int is_like = pp_interpreter_check(&p->python, all->room, now_ns);
    if (is_like == 1) {
        p->state = PP_PROCESS_OPEN;
        return;
    }
    if (is_like == 0 && p->tries >= TRIES_UNLIKE) {
        snprintf(why, sizeof(why),
                 "Python 3.%u is laid out otherwise than its release: a debug build, or one that was changed",
                 p->python.layout.minor);
        refuse(p, why);
    }
    pp_interpreter_close(&p->python);
}

int pp_process_look(struct pp_stack_processes *all, struct pp_stack_process *p, uint64_t now_ns)
{
    if (now_ns - p->looked_ns < (p->state == PP_PROCESS_STARTING ? AGAIN_NS : LOOK_NS))
        return 1;
    p->looked_ns = now_ns;
    if (kill((pid_t)p->pid, 0) != 0 && errno == ESRCH)
        return 0;
    if (p->state == PP_PROCESS_STARTING)
        try_to_open(all, p, now_ns);
    else if (p->state == PP_PROCESS_OPEN && !pp_interpreter_threads(&p->python)) {
        /* It ends, or runs another program now. */
        close_threads(all, p->thread, p->threads);
        p->threads = p->tries = 0;
        pp_interpreter_close(&p->python);
        pp_members_free(&p->members);
        p->state = PP_PROCESS_STARTING;
    }
    if (p->state == PP_PROCESS_OPEN) {
        follow_threads(all, p);
        if (all->session_dir)
            pp_members_read(&p->members, all->tree, all->session_dir, p->pid);
    }
    return 1;
}

enum pp_frames_result pp_process_sample(struct pp_stack_processes *all, struct pp_stack_process *p,
                                        unsigned i)
{
    struct pp_process_thread *mine = &p->thread[i];
    struct pp_frame frames[PP_FRAMES_MAX];
    unsigned n;
    enum pp_frames_result r = pp_frames_read(all->room, &p->python.codes, &p->python.thread[i].stack,
                                             pp_now_ns(), frames, &n);
    if (r == PP_FRAMES_GONE)
        p->looked_ns = 0; /* soon, to see what has become of it */
    mine->state = pp_process_thread_state(p, i);
    mine->flags = r == PP_FRAMES_CUT ? PP_STACK_TOP_UNKNOWN : 0;
    mine->is_helper = 0;
    for (unsigned k = 0; k < n; k++)
        mine->is_helper |= all->is_helper[frames[k].function];
    mine->stack = 0;
    for (unsigned k = n; k > 0; k--) {
        const struct pp_frame *f = &frames[k - 1];
        uint32_t op = pp_members_op(&p->members, f->member);
        op = op ? op : pp_members_op(&p->members, f->first);
        uint32_t id = f->function ? pp_stack_tree_frame(all->tree, mine->stack, f->function, f->line, op) : 0;
        if (!id) {
            mine->flags |= PP_STACK_CUT;
            break;
        }
        mine->stack = id;
    }
    return r;
}

size_t pp_process_children(int64_t pid, int64_t *child, size_t max)
{
    char text[4096], *at = text, *end;
    size_t n = 0;
    pp_io_text(text, sizeof(text), "/proc/%lld/task/%lld/children", (long long)pid, (long long)pid);
    for (long long v; n < max && (v = strtoll(at, &end, 10)) > 0 && *end; at = end)
        child[n++] = v;
    return n;
}

#define SLOWER 1.25
#define MEASURED_NS UINT64_C(5000000000)

#define SHORT_TURN_NS 100000u /* the shortest that Linux gives */

void pp_take_short_turns(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t turn_ns, deadline, period;
        uint32_t clamp[2];
    } a = {.size = sizeof(a)};
    if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) == 0 && a.policy == SCHED_OTHER) {
        a.turn_ns = SHORT_TURN_NS;
        syscall(SYS_sched_setattr, 0, &a, 0);
    }
}

struct pp_pace pp_pace_begin(double hz, double share, uint64_t now_ns)
{
    pp_take_short_turns();
    double cpus = fmax((double)sysconf(_SC_NPROCESSORS_ONLN), 1);
    return (struct pp_pace){.asked_ns = 1e9 / hz,
                            .period_ns = 1e9 / hz,
                            .most = share * cpus,
                            .measured_ns = now_ns};
}

void pp_pace_adapt(struct pp_pace *p, uint64_t now_ns, uint64_t cpu_ns)
{
    if (now_ns - p->measured_ns < MEASURED_NS)
        return;
    double used = (double)(cpu_ns - p->measured_cpu_ns) / (double)(now_ns - p->measured_ns);
    if (used > p->most && p->measured_cpu_ns) /* not of the first time, in which all is new */
        p->period_ns = fmin(p->period_ns * SLOWER, 1e9);
    else if (SLOWER * SLOWER * used < p->most)
        p->period_ns = fmax(p->period_ns / SLOWER, p->asked_ns);
    p->measured_ns = now_ns;
    p->measured_cpu_ns = cpu_ns;
}
