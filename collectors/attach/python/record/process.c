#include "collectors/attach/python/record/record.h"
#include "probe/base/array.h"
#include "probe/base/guard.h"
#include "probe/trace/run_delay.h"
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* As the recorder: less wall time beyond CPU time is not worth a look at schedstat */
#define UNEXPLAINED_NS 20000u

struct record_process record_process;

static struct {
    struct pp_process_file *file; /* NULL: not to be had, or inherited and not yet this process's own */
    int presence;
    struct stat presence_is;
    struct record_local *locals; /* of all threads */
    void (*before_leave[3])(void);
} process = {.presence = -1};

static pthread_key_t at_thread_exit;
static pthread_mutex_t locals_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct record_local *self;

/* ---- the process ---- */

static void fork_child(void)
{
    record_process.forks++;
    process.file = NULL;
    process.locals = self; /* the other threads stayed in the parent */
    if (self) {
        self->next = NULL;
        self->consumer.beginning = 0; /* the iter(loader) that starts this worker is the parent's */
        if (self->loop.making)
            self->sample.depth = 0;
        self->loop = (struct record_loop){0};
    }
    record_process.own_loop = 0;
    record_process.taken = record_process.aside = 0;
    pthread_mutex_init(&locals_lock, NULL);
}

static void close_lanes(struct record_local *l)
{
    record_lane_close(&l->worker.lane);
    record_lane_close(&l->consumer.lane);
    record_lane_close(&l->pin.lane);
}

/* Handles retire with their thread; the session's own fork handlers silence what a child inherits. */
static void end_thread(void *arg)
{
    struct record_local *l = arg;
    pthread_mutex_lock(&locals_lock); /* the session is not left meanwhile */
    if (l->before_end)
        l->before_end(l);
    PP_UNLINK(process.locals, l);
    close_lanes(l);
    pthread_mutex_unlock(&locals_lock);
    self = NULL;
    free(l->worker.files);
    free(l);
}

static struct pp_process_file *process_file(void)
{
    if (!process.file && record_process.session) {
        process.file = pp_process_file_map(record_process.dir);
        if (process.file) {
            pp_guard_add(process.file, sizeof(*process.file));
            process.file->python = PP_PROCESS_HOOKED;
        }
    }
    return process.file;
}

int record_join(const char *dir)
{
    static int prepared; /* once in the life of a process, which may join several sessions in turn */
    char path[PATH_MAX + 32];
    if (record_process.session || record_process.off)
        return !record_process.off;
    if (strlen(dir) >= sizeof(record_process.dir))
        return 0;
    if (!prepared)
        prepared = pthread_key_create(&at_thread_exit, end_thread) == 0 &&
                   pthread_atfork(NULL, NULL, fork_child) == 0;
    if (!prepared || pp_session_join(dir, &record_process.session, NULL) != PP_OK)
        return 0;
    record_process.sessions++;
    record_process.has_loader = record_process.own_loop = 0;
    record_process.taken = record_process.aside = 0;
    const char *content = getenv("PIPEPROBE_CONTENT");
    record_process.content = !content                        ? RECORD_CONTENT_NONE
                             : strcmp(content, "whole") == 0 ? RECORD_CONTENT_WHOLE
                             : strcmp(content, "part") == 0  ? RECORD_CONTENT_PART
                                                             : RECORD_CONTENT_NONE;
    memcpy(record_process.dir, dir, strlen(dir) + 1);
    /* Held until the process has gone, and by the children it forks: should exec be killed, the rings are not
     * taken for abandoned while they fill. */
    process.presence = pp_presence_enter(dir);
    if (process.presence >= 0)
        (void)fstat(process.presence, &process.presence_is);

    /* A process says who it is when it is the first of its kind, takes batches or has something to note: a
     * job may start thousands of workers. */
    snprintf(path, sizeof(path), "%s/" PP_PROCESS_FILE_PREFIX "%d", record_process.dir, (int)getppid());
    if (access(path, F_OK) != 0)
        (void)process_file();
    return 1;
}

void record_before_leave(void (*flush)(void))
{
    for (size_t i = 0; i < sizeof(process.before_leave) / sizeof(*process.before_leave); i++) {
        if (!process.before_leave[i])
            process.before_leave[i] = flush;
        if (process.before_leave[i] == flush)
            return;
    }
}

void record_leave(void)
{
    struct stat now;
    int busy = 0;
    if (!record_process.session)
        return;
    for (size_t i = 0; i < sizeof(process.before_leave) / sizeof(*process.before_leave); i++)
        if (process.before_leave[i])
            process.before_leave[i]();

    pthread_mutex_lock(&locals_lock);
    for (struct record_local *l = process.locals; l; l = l->next) {
        /* Within one of these the thread has a span open, and writes its end into its ring. */
        if (l->loop.making) { /* it takes up the next one anew */
            l->loop.making = l->sample.depth = 0;
            l->sample.reads->counting = 0;
        }
        if (l->consumer.taking || l->loop.waiting || l->sample.depth || l->calls)
            busy = 1;
        else
            close_lanes(l);
        /* Nothing of this session is to reach the next one. */
        l->consumer.step_from.stamp = l->loop.first.stamp = 0;
        l->worker.row = NULL; /* it is in the file of the loaders */
    }
    if (process.file) {
        pp_guard_remove(process.file);
        munmap(process.file, sizeof(*process.file));
    }
    if (!busy) /* else its rings stay mapped: they are read no more */
        pp_session_close(record_process.session, 0);
    if (process.presence >= 0 && fstat(process.presence, &now) == 0 &&
        now.st_dev == process.presence_is.st_dev && now.st_ino == process.presence_is.st_ino)
        close(process.presence); /* else the job has closed it, and the number is another file's */
    process.file = NULL;
    record_process.session = NULL;
    process.presence = -1;
    record_process.forks++;
    pthread_mutex_unlock(&locals_lock); /* a thread that ends now has lanes of no session */
}

void record_own_loop(int on)
{
    struct pp_process_file *f = record_process.own_loop == on ? NULL : process_file();
    record_process.own_loop = on;
    if (f)
        __atomic_store_n(&f->own_loop, (uint32_t)on, __ATOMIC_RELAXED);
}

void record_saw_loader(void)
{
    struct pp_process_file *f = process_file();
    if (f)
        f->python = PP_PROCESS_LOADER;
}

void record_note(const char *what)
{
    struct pp_process_file *f = process_file();
    size_t n = f ? strnlen(f->note, sizeof(f->note) - 1) : 0;
    if (f && !memmem(f->note, n, what, strlen(what)))
        snprintf(f->note + n, sizeof(f->note) - n, "%s%s", n ? "; " : "", what);
}

void record_ended(const char *how)
{
    struct pp_process_file *f = process_file();
    if (f)
        snprintf(f->ended, sizeof(f->ended), "%s", how);
}

void record_made_of(const char *versions, const char *data)
{
    struct pp_process_file *f = process_file();
    if (!f || f->versions[0])
        return;
    snprintf(f->data, sizeof(f->data), "%s", strlen(data) < sizeof(f->data) ? data : "");
    snprintf(f->versions, sizeof(f->versions), "%s", versions);
}

void record_seen(const char *loader, const char *mixed)
{
    struct pp_process_file *f = process_file();
    if (!f)
        return;
    snprintf(f->seen, sizeof(f->seen), "%s", loader);
    snprintf(f->mixed, sizeof(f->mixed), "%s", mixed);
}

void record_off(const char *why)
{
    char text[200];
    if (record_process.off)
        return;
    snprintf(text, sizeof(text), "the Python hooks are off: %s", why);
    record_note(text);
    record_process.off = 1;
}

/* ---- threads ---- */

struct record_local *record_local(void)
{
    if (self || !(self = calloc(1, sizeof(*self))))
        return self;
    pp_reads_of_thread *of_thread = (pp_reads_of_thread *)dlsym(RTLD_DEFAULT, PP_READS_OF_THREAD);
    self->sample.reads = of_thread ? of_thread() : &self->sample.own_reads;
    self->slot = -1;
    self->worker.detailed = 1;
    self->worker.worth_cpu = 1;
    self->worker.lane.accounts.fd = self->consumer.lane.accounts.fd = self->pin.lane.accounts.fd = -1;
    pthread_setspecific(at_thread_exit, self);
    pthread_mutex_lock(&locals_lock);
    self->next = process.locals;
    process.locals = self;
    pthread_mutex_unlock(&locals_lock);
    return self;
}

struct record_local *record_local_peek(void)
{
    return self;
}

/* ---- lanes ---- */

int record_lane_open(struct record_lane *lane, pp_lane kind, const char *name)
{
    if (record_lane_is_open(lane))
        return 1;
    if (!record_is_on())
        return 0;
    if (kind != PP_LANE_WORKER)
        (void)process_file();
    pp_accounts_close(&lane->accounts);
    pp_accounts_open(&lane->accounts);
    lane->forks = record_process.forks;
    lane->delay_ns = 0;
    lane->seen = (struct record_mark){0};
    lane->trace = pp_thread_register(record_process.session, kind, name);
    return lane->trace != NULL;
}

void record_lane_close(struct record_lane *lane)
{
    if (record_lane_is_open(lane))
        pp_thread_retire(lane->trace);
    lane->trace = NULL;
    pp_accounts_close(&lane->accounts);
}

struct record_mark record_now_delayed(struct record_lane *lane)
{
    struct record_mark m = record_now(lane, 1), *seen = &lane->seen;
    if (seen->delay_ns &&
        pp_thread_stamps_ns(lane->trace, seen->stamp, m.stamp) <= m.cpu_ns - seen->cpu_ns + UNEXPLAINED_NS)
        m.delay_ns = seen->delay_ns;
    else if (pp_run_delay_read(lane->accounts.fd, &m.delay_ns))
        *seen = m;
    else
        m.delay_ns = 0;
    return m;
}

struct record_mark record_ago(const struct record_lane *lane, uint64_t ns)
{
    const uint64_t probe = 1000000;
    struct record_mark m = {.stamp = pp_thread_stamp(lane->trace)};
    double ns_per_stamp = (double)pp_thread_stamps_ns(lane->trace, m.stamp - probe, m.stamp) / (double)probe;
    m.stamp -= (uint64_t)((double)ns / (ns_per_stamp > 0 ? ns_per_stamp : 1));
    return m;
}

int record_run_delay(struct record_lane *lane, uint64_t wall_ns, uint64_t cpu_ns, uint64_t known,
                     uint64_t *out)
{
    uint64_t now = known;
    *out = 0;
    if (!known && wall_ns <= cpu_ns + UNEXPLAINED_NS)
        return 1;
    if (!known && !pp_run_delay_read(lane->accounts.fd, &now))
        return 0;
    if (lane->delay_ns && now > lane->delay_ns)
        *out = pp_run_delay_within(now - lane->delay_ns, wall_ns, cpu_ns);
    lane->delay_ns = now > lane->delay_ns ? now : lane->delay_ns;
    return 1;
}

struct pp_span record_span(struct record_lane *lane, pp_phase phase, const struct record_mark *from,
                           const struct record_mark *to, const struct record_about *about)
{
    struct pp_span s = {.start_ns = from->stamp,
                        .dur_ns = to->stamp - from->stamp,
                        .sample = about->sample,
                        .bytes = about->bytes,
                        .batch = about->batch,
                        .epoch = about->epoch,
                        .flags = about->flags,
                        .phase = (uint8_t)phase};
    if (from->cpu_ns && to->cpu_ns) {
        s.cpu_ns = to->cpu_ns - from->cpu_ns;
        s.flags |= PP_SPAN_HAS_CPU;
        if (record_run_delay(lane, pp_thread_stamps_ns(lane->trace, from->stamp, to->stamp), s.cpu_ns,
                             to->delay_ns, &s.run_delay_ns))
            s.flags |= PP_SPAN_HAS_DELAY;
    }
    return s;
}
