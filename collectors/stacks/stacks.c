/* The collector of Python stacks: which line the job's threads are in. A thread of its own
 * wakes once a period, at a random moment of it, and reads the stack of every Python thread of the job's
 * processes from outside: they are not stopped, nothing is put into them. The rows are written once a second,
 * by the thread that polls.
 *
 * The rate is the one that was asked for, or less: reading takes PP_STACKS_SHARE (process.h) of the
 * machine's CPU at most. In the first DENSE_NS both are PP_STACKS_DENSER times as high, so that a short
 * recording names the line, too. */
#include "collectors/collector.h"
#include "collectors/stacks/process.h"
#include "collectors/store/writer.h"
#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/rng.h"

#include <pipeprobe/ring.h>

#include <fcntl.h>
#include <unistd.h>

#define PROCESSES 512
#define SAMPLES 65536u /* that wait to be written */
#define HELD_POLLS 3   /* until a process that has recorded nothing is taken for none of the job's */
#define DENSE_NS UINT64_C(30000000000)
#define LATE_NS UINT64_C(5000000)
#define LOOK_NS UINT64_C(400000000)       /* for new processes: workers may live for one epoch */
#define CHILDLESS_NS UINT64_C(2000000000) /* between looks for children of a process that had none */
#define HELPER_WAKES \
    8 /* a helper of multiprocessing is read in one wake of as many: it runs for every batch, and says \
         little */

struct taken {
    struct pp_stack_sample_row row;
    int64_t pid, tid;
    unsigned polls; /* that it has waited */
};

struct stacks {
    const struct pp_collect_opts *opts;
    double hz;
    pthread_t thread;
    int has_thread;
    pthread_mutex_t lock; /* of what is marked * */
    pthread_cond_t wake;
    int stop;                     /* * */
    struct pp_stack_tree tree;    /* * */
    struct taken *taken;          /* * */
    size_t n_taken, taken_cap;    /* * */
    int64_t listed[PROCESSES];    /* * that record, as the drain knows */
    size_t n_listed;              /* * */
    char why_not[280];            /* * of the first of them that cannot be read */
    uint64_t samples, lost, torn; /* * */
    uint64_t cpu_ns;              /* * */
    double rate_hz;               /* * now */
    /* of the thread that samples */
    struct pp_stack_processes all;
    struct pp_stack_process *process[PROCESSES];
    size_t processes;
    struct pp_rng rng;
    uint64_t wakes;
    int is_dense; /* in the first DENSE_NS */
    /* of the thread that polls */
    struct taken *held;
    size_t n_held, held_cap;
    size_t functions, frames, ops; /* written */
    unsigned polls;
};

/* ---- sampling ---- */

/* A thread that has not run since its last sample is where it was: most of a job's threads wait. */
static void sample_process(struct stacks *s, struct pp_stack_process *p, int is_late)
{
    const int is_still = pp_process_is_still(p);
    for (unsigned i = 0; i < p->threads; i++) {
        struct pp_process_thread *mine = &p->thread[i];
        if (!mine->tid || (mine->is_helper && s->wakes % HELPER_WAKES))
            continue;
        int is_known = p->python.thread[i].is_main ? is_still && mine->state && mine->state != 'R'
                                                   : pp_process_thread_is_still(p, i);
        struct taken t = {.pid = p->pid, .tid = mine->tid, .row = {.t_ns = pp_now_ns()}};
        enum pp_frames_result r = is_known ? PP_FRAMES_READ : pp_process_sample(&s->all, p, i);
        s->torn += r == PP_FRAMES_CUT;
        if (r == PP_FRAMES_NONE || r == PP_FRAMES_GONE || (is_known && !mine->stack))
            continue;
        t.row.state = mine->state;
        t.row.flags = mine->flags | (is_late ? PP_STACK_LATE : 0) | (s->is_dense ? PP_STACK_DENSE : 0);
        t.row.stack = mine->stack;
        s->samples++;
        if (t.row.stack && s->n_taken < SAMPLES &&
            pp_grow(&s->taken, &s->taken_cap, s->n_taken + 1, sizeof(t)))
            s->taken[s->n_taken++] = t;
        else
            s->lost++;
    }
}

static void add_process(struct stacks *s, int64_t pid)
{
    for (size_t i = 0; i < s->processes; i++)
        if (s->process[i]->pid == pid)
            return;
    struct pp_stack_process *p = pid != (int64_t)getpid() && s->processes < PROCESSES ? pp_process_new(pid)
                                                                                      : NULL;
    if (p)
        s->process[s->processes++] = p;
}

/* Those that record, and children of what has a Python: workers record their first span a moment later. */
static void look_for_processes(struct stacks *s, uint64_t now_ns)
{
    int64_t child[PROCESSES];
    for (size_t i = 0; i < s->n_listed; i++)
        add_process(s, s->listed[i]);
    for (size_t i = 0, n = s->processes; i < n; i++) {
        struct pp_stack_process *p = s->process[i];
        if (p->state != PP_PROCESS_OPEN || (!p->has_children && now_ns - p->children_ns < CHILDLESS_NS))
            continue;
        size_t children = pp_process_children(p->pid, child, PROCESSES);
        p->has_children |= children > 0;
        p->children_ns = now_ns;
        for (size_t k = 0; k < children; k++)
            add_process(s, child[k]);
    }
}

static void sample_all(struct stacks *s, int is_late)
{
    for (size_t i = 0; i < s->processes; i++) {
        struct pp_stack_process *p = s->process[i];
        if (!pp_process_look(&s->all, p, pp_now_ns())) {
            pp_process_free(&s->all, p);
            s->process[i--] = s->process[--s->processes];
            continue;
        }
        for (size_t k = 0; p->state == PP_PROCESS_REFUSED && k < s->n_listed && !s->why_not[0]; k++)
            if (s->listed[k] == p->pid)
                snprintf(s->why_not, sizeof(s->why_not), "the stacks of process %lld cannot be read: %s",
                         (long long)p->pid, p->why_not[0] ? p->why_not : "no Python was found in it");
        if (p->state == PP_PROCESS_OPEN)
            sample_process(s, p, is_late);
    }
}

/* The lock is held but for the waits: the one that polls takes it for a moment only. */
static void *sampler_main(void *arg)
{
    struct stacks *s = arg;
    uint64_t begin = pp_now_ns(), looked = 0;
    const uint64_t dense_until = begin + DENSE_NS;
    struct pp_pace pace = pp_pace_begin(PP_STACKS_DENSER * s->hz, PP_STACKS_DENSER * PP_STACKS_SHARE, begin);
    s->is_dense = 1;
    pthread_setname_np(pthread_self(), "pp-stacks");
    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        uint64_t due = begin + (uint64_t)(pace.period_ns * pp_rng_unit(&s->rng));
        begin += (uint64_t)pace.period_ns;
        while (!s->stop && pp_now_ns() < due)
            pp_cond_wait_until(&s->wake, &s->lock, due);
        uint64_t now = pp_now_ns();
        if (s->stop ||
            now - due > 2 * (uint64_t)pace.period_ns) { /* stopped meanwhile, with the job perhaps */
            begin = now;
            continue;
        }
        if (s->is_dense && now >= dense_until) {
            double slower = pace.period_ns / pace.asked_ns;
            s->is_dense = 0;
            pace = pp_pace_begin(s->hz, PP_STACKS_SHARE, now);
            pace.period_ns *= slower;
            pace.measured_cpu_ns = s->cpu_ns;
        }
        if (now - looked >= LOOK_NS) {
            look_for_processes(s, now);
            looked = now;
        }
        s->wakes++;
        sample_all(s, now - due > LATE_NS);
        s->cpu_ns = pp_thread_cpu_ns();
        pp_pace_adapt(&pace, now, s->cpu_ns);
        s->rate_hz = 1e9 / pace.period_ns;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- writing ---- */

/* A copy of rows [from, n), to be written without the lock; NULL: none, or no memory, and they wait. */
static void *copy_rows(const void *rows, size_t item, size_t from, size_t n)
{
    void *copy = n > from ? malloc((n - from) * item) : NULL;
    return copy ? memcpy(copy, (const char *)rows + from * item, (n - from) * item) : NULL;
}

/* What is new of the tree goes before the samples. Texts stay where they are. */
static void write_rows(struct stacks *s)
{
    pthread_mutex_lock(&s->lock);
    const size_t functions = s->tree.n_functions, frames = s->tree.n_frames, ops = s->tree.n_ops;
    struct pp_stack_function_row *function = copy_rows(s->tree.functions, sizeof(*function), s->functions,
                                                       functions);
    struct pp_stack_row *frame = copy_rows(s->tree.frames, sizeof(*frame), s->frames, frames);
    struct pp_stack_op_row *op = copy_rows(s->tree.ops, sizeof(*op), s->ops, ops);
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; function && s->functions < functions; i++, s->functions++)
        pp_store_stack_function(s->opts->store, &function[i]);
    for (size_t i = 0; op && s->ops < ops; i++, s->ops++)
        pp_store_stack_op(s->opts->store, &op[i]);
    for (size_t i = 0; frame && s->frames < frames; i++, s->frames++)
        pp_store_stack(s->opts->store, &frame[i]);
    free(function);
    free(frame);
    free(op);
    /* One whose process has not recorded yet waits a little. Those of a thread mostly follow each other at
     * the period of the sampler, so that the number of the thread is asked for once a poll. */
    struct number {
        int64_t pid, tid;
        uint32_t thread;
    } known[256];
    size_t kept = 0, n = 0;
    for (size_t i = 0; i < s->n_held; i++) {
        struct taken t = s->held[i];
        size_t k = 0;
        while (k < n && (known[k].tid != t.tid || known[k].pid != t.pid))
            k++;
        if (k == n) {
            k = n < 256 ? n++ : 255;
            known[k] = (struct number){.pid = t.pid, .tid = t.tid};
            pp_store_stack_thread(s->opts->store, t.pid, t.tid, &known[k].thread);
        }
        t.row.thread = known[k].thread;
        if (t.row.thread != UINT32_MAX)
            pp_store_stack_sample(s->opts->store, &t.row);
        else if (++t.polls < HELD_POLLS)
            s->held[kept++] = t;
    }
    s->n_held = kept;
}

static void stacks_poll(void *state)
{
    struct stacks *s = state;
    struct pp_store *store = s->opts->store;
    int64_t pid[PROCESSES];
    /* stop: it is this thread that sets it */
    size_t n = s->opts->processes && !s->stop ? s->opts->processes(s->opts->processes_ctx, pid, PROCESSES)
                                              : 0;
    pthread_mutex_lock(&s->lock);
    memcpy(s->listed, pid, n * sizeof(*pid));
    s->n_listed = n;
    /* The samples are taken before the tree: all that they name is in it then. */
    if (pp_grow(&s->held, &s->held_cap, s->n_held + s->n_taken + 1, sizeof(*s->held))) {
        memcpy(s->held + s->n_held, s->taken, s->n_taken * sizeof(*s->taken));
        s->n_held += s->n_taken;
        s->n_taken = 0;
    }
    pthread_mutex_unlock(&s->lock);
    write_rows(s);
    if (s->polls++ % 8 != 0)
        return;
    pthread_mutex_lock(&s->lock);
    const double rate = s->rate_hz, cpu = (double)s->cpu_ns;
    const uint64_t samples = s->samples, lost = s->lost, torn = s->torn;
    char why_not[sizeof(s->why_not)];
    memcpy(why_not, s->why_not, sizeof(why_not));
    pthread_mutex_unlock(&s->lock);
    pp_store_meta_num(store, "stacks", "rate_hz", rate, "Hz");
    pp_store_meta_num(store, "stacks", "samples", (double)samples, "samples");
    pp_store_meta_num(store, "stacks", "lost", (double)lost, "samples");
    pp_store_meta_num(store, "stacks", "torn", (double)torn, "samples");
    pp_store_meta_num(store, "stacks", "cpu_ns", cpu, "ns");
    if (why_not[0])
        pp_store_meta_text(store, "stacks", "why_not", why_not);
}

/* ---- beginning and end ---- */

static int can_read(char *text, size_t size)
{
    char scope[16], why[160];
    uint64_t word = 1, copy = 0;
    struct pp_memory own = {.readv = pp_memory_of_process, .ctx = (void *)(intptr_t)getpid()};
    int is_limited = pp_io_line(scope, sizeof(scope), "/proc/sys/kernel/yama/ptrace_scope"),
        works = pp_memory_get(&own, &copy, sizeof(copy), (uint64_t)(uintptr_t)&word) && copy == word;
    snprintf(why, sizeof(why), "kernel.yama.ptrace_scope is %d", atoi(scope));
    if (!works)
        snprintf(text, size, "process_vm_readv: %s", strerror(errno));
    else
        snprintf(text, size, "%s", is_limited ? why : "no rule of the kernel is against it");
    return works && (atoi(scope) < 2 || (atoi(scope) == 2 && geteuid() == 0));
}

static void stacks_stop(void *state)
{
    struct stacks *s = state;
    if (s->has_thread) {
        pthread_mutex_lock(&s->lock);
        s->stop = 1;
        pthread_cond_signal(&s->wake);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
        s->polls = 0;
        stacks_poll(s);
        pp_members_files_remove(s->opts->session_dir);
    }
    for (size_t i = 0; i < s->processes; i++)
        pp_process_free(&s->all, s->process[i]);
    free(s->all.room);
    pp_stack_tree_free(&s->tree);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s->taken);
    free(s->held);
    free(s);
}

static pp_status stacks_start(const struct pp_collect_opts *opts, void **state, struct pp_err *err)
{
    if (!(opts->lines_hz > 0) || !opts->session_dir)
        return pp_fail(err, PP_E_USAGE, "not asked for");
    struct stacks *s = calloc(1, sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for stacks");
    s->opts = opts;
    s->hz = s->rate_hz = opts->lines_hz;
    pthread_mutex_init(&s->lock, NULL);
    pp_cond_init(&s->wake);
    s->rng = pp_rng_key((uint64_t)getpid(), 0, pp_now_ns(), 0);
    s->all = (struct pp_stack_processes){.tree = &s->tree,
                                         .room = pp_frames_room_new(),
                                         .session_dir = opts->session_dir,
                                         .id_offset = pp_process_id_offset()};
    int rc = ENOMEM;
    if (pp_stack_tree_init(&s->tree) && s->all.room)
        rc = pthread_create(&s->thread, NULL, sampler_main, s);
    if (rc) {
        stacks_stop(s);
        return pp_fail_errno(err, rc, "cannot start the thread that reads stacks");
    }
    s->has_thread = 1;
    /* The hooks note members while this file is there. Without it: no names, and no more. */
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/" PP_OPS_FILE_PREFIX "on", opts->session_dir);
    int fd = pp_io_open(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
    if (fd >= 0)
        close(fd);
    *state = s;
    return PP_OK;
}

const struct pp_collector pp_collector_stacks = {
    .name = "lines",
    .with = "exec records which line of the job's Python costs how much",
    .without = "exec does not record which line of the job's Python costs how much",
    .available = can_read,
    .start = stacks_start,
    .poll = stacks_poll,
    .stop = stacks_stop,
};
