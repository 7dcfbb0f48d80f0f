#include "collectors/attach/inject/inject.h"

#include "collectors/attach/rank_session.h"
#include "probe/base/array.h"
#include "probe/base/guard.h"
#include "probe/trace/join.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMED_EARLY_MAX 64

struct inject_process inject_process;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_exit;
static struct inject_thread *threads; /* of this process, with a ring; under lock */

/* Threads that another thread named before they made an event of their own; under lock. */
static struct {
    uint32_t tid;
    char name[32];
} named_early[NAMED_EARLY_MAX];
static unsigned n_named_early;

static __thread struct {
    struct inject_thread *thread;
    volatile sig_atomic_t busy; /* inside one of our own calls, or past the thread's end */
} self;

static struct pp_process_file nowhere; /* counted into when there is no process file */

void inject_lock(void)
{
    pthread_mutex_lock(&lock);
}

void inject_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* ---- the process file ---- */

static struct pp_process_file *map_process_file(void)
{
    struct pp_process_file *f = pp_process_file_map(pp_session_dir(inject_process.session));
    if (f)
        pp_guard_add(f, sizeof(*f));
    return f ? f : &nowhere;
}

/* ---- fork ---- */

/* The session has handlers of its own (trace.h); ours are registered after them, hence run around them. A
 * child that makes no event costs nothing: what it needs is made at its first one. */
static void fork_child(void)
{
    __atomic_store_n(&inject_process.fork_count, inject_fork_count() + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&inject_process.file, &nowhere, __ATOMIC_RELAXED);
    threads = NULL;
    n_named_early = 0;
    inject_unlock();
}

/* ---- threads ---- */

static void end_thread(void *arg)
{
    struct inject_thread *t = arg;
    self.busy = 1;
    self.thread = NULL;
    if (t->fork_count == inject_fork_count()) {
        if (t->trace)
            inject_unfinished(t);
        inject_lock();
        PP_UNLINK(threads, t);
        inject_unlock();
        pp_thread_retire(t->trace);
    }
    pp_accounts_close(&t->accounts.delay);
    munmap(t, sizeof(*t));
}

/* mmap, not malloc: the caller may be an annotated allocator. Memory that a forked child inherited is used
 * on, for what it has open. */
static struct inject_thread *begin_thread(struct inject_thread *t)
{
    int saved_errno = errno;
    char own_name[32] = "";
    const char *name = own_name;
    if (!t) {
        void *p = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        t = p == MAP_FAILED ? NULL : p;
    } else {
        for (unsigned i = 0; i < t->depth; i++) /* what is open was opened by the parent */
            t->stack[i].start = 0;
        pp_accounts_close(&t->accounts.delay);
    }
    if (t) {
        t->fork_count = inject_fork_count();
        t->lane_rank = 0;
        pp_accounts_open(&t->accounts.delay);
        t->tid = (int64_t)syscall(SYS_gettid);
        prctl(PR_GET_NAME, own_name);
        inject_lock();
        if (inject_file() == &nowhere)
            __atomic_store_n(&inject_process.file, map_process_file(),
                             __ATOMIC_RELEASE); /* pairs with the acquire in inject_file */
        for (unsigned i = 0; i < n_named_early && name == own_name; i++)
            if (named_early[i].tid == (uint32_t)t->tid)
                name = named_early[i].name;
        /* The lane is "main", which claims nothing, until a mapped range says what the thread does. */
        t->trace = pp_thread_register(inject_process.session, PP_LANE_MAIN, name);
        t->next = threads;
        threads = t;
        inject_unlock();
        pthread_setspecific(at_thread_exit, t);
        self.thread = t;
    }
    errno = saved_errno;
    return t;
}

struct inject_thread *inject_enter(void)
{
    if (self.busy) {
        INJECT_COUNT(reentrant);
        return NULL;
    }
    self.busy = 1;
    struct inject_thread *t = self.thread;
    if (__builtin_expect(!t || t->fork_count != inject_fork_count(), 0))
        t = begin_thread(t);
    if (!t || !t->trace) {
        INJECT_COUNT(unthreaded);
        self.busy = 0;
        return NULL;
    }
    return t;
}

void inject_leave(void)
{
    self.busy = 0;
}

void inject_name_thread(uint32_t tid, const char *name)
{
    struct inject_thread *t = name ? inject_enter() : NULL;
    if (!t)
        return;
    inject_lock();
    for (t = threads; t && t->tid != (int64_t)tid; t = t->next) {
    }
    if (t) {
        pp_thread_rename(t->trace, name);
    } else if (n_named_early < NAMED_EARLY_MAX) {
        named_early[n_named_early].tid = tid;
        snprintf(named_early[n_named_early++].name, sizeof(named_early[0].name), "%s", name);
    }
    inject_unlock();
    inject_leave();
}

/* A thread that does several kinds of work is known by the one that says most about its place: the trainer's
 * before the copy lane's before a worker's (a loader without workers decodes in the trainer's thread). */
void inject_lane(struct inject_thread *t, pp_lane lane)
{
    static const int rank[PP_LANE_COUNT] = {
        [PP_LANE_MAIN] = 0, [PP_LANE_WORKER] = 1,  [PP_LANE_READER] = 2,
        [PP_LANE_COPY] = 3, [PP_LANE_TRAINER] = 4,
    };
    if (rank[lane] <= t->lane_rank)
        return;
    t->lane_rank = rank[lane];
    pp_thread_set_lane(t->trace, lane);
}

static struct {
    struct pp_thread *trace;
    uint64_t fork_count, until; /* until: where its last span ended, as a stamp */
} of_process;                   /* under the lock */

void inject_put_of_process(const struct pp_span *span)
{
    struct pp_span s = *span;
    uint64_t end = s.start_ns + s.dur_ns;
    inject_lock();
    if (!of_process.trace || of_process.fork_count != inject_fork_count()) {
        of_process.trace = pp_thread_register(inject_process.session, (pp_lane)pp_phase_info(s.phase)->lane,
                                              "of process");
        of_process.fork_count = inject_fork_count();
        of_process.until = 0;
    }
    if (s.start_ns < of_process.until) {
        s.start_ns = of_process.until < end ? of_process.until : end;
        double left = s.dur_ns ? (double)(end - s.start_ns) / (double)s.dur_ns : 0;
        s.dur_ns = end - s.start_ns;
        s.cpu_ns = (uint64_t)((double)s.cpu_ns * left);
        s.run_delay_ns = (uint64_t)((double)s.run_delay_ns * left);
    }
    if (of_process.trace && s.dur_ns) {
        pp_span_put_stamped(of_process.trace, &s);
        of_process.until = end;
    }
    inject_unlock();
}

/* ---- the process ---- */

static void begin_once(void)
{
    char own[PATH_MAX], path[PATH_MAX + sizeof(PP_MAP_FILE_NAME)];
    const char *dir = getenv("PIPEPROBE_SESSION");
    inject_process.file = &nowhere;
    if (dir && pp_rank_session(dir, -1, -1, own, sizeof(own)))
        dir = own;
    if (!dir || pthread_key_create(&at_thread_exit, end_thread) != 0 ||
        pp_session_join(dir, &inject_process.session, NULL) != PP_OK)
        return;
    /* Held until the process and the children it forks have ended: if exec is killed, no other process
     * removes the rings while they are filled. */
    (void)!pp_presence_enter(dir);
    struct pp_namemap *map = pp_namemap_new();
    snprintf(path, sizeof(path), "%s/" PP_MAP_FILE_NAME, dir);
    if (map && pp_namemap_add_file(map, path, NULL) != PP_OK) {
        pp_namemap_free(map);
        map = NULL;
    }
    inject_process.map = map;
    inject_process.file = map_process_file();
    pthread_atfork(inject_lock, inject_unlock, fork_child);
}

int inject_begin(void)
{
    int saved_errno = errno;
    pthread_once(&once, begin_once);
    errno = saved_errno;
    return inject_process.session != NULL;
}

/* At an orderly exit: what this thread and the process have open ends here. Other threads may still run, so
 * their stacks are theirs. */
__attribute__((destructor)) static void end_process(void)
{
    struct inject_thread *t = self.thread;
    if (!inject_process.session || self.busy || !t || !t->trace || t->fork_count != inject_fork_count())
        return;
    self.busy = 1;
    inject_unfinished(t);
    inject_unfinished_started(t);
    pp_thread_retire(t->trace);
}
