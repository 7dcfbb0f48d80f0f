#include "collectors/attach/python/record.h"

#include "collectors/attach/process_file.h"
#include "probe/base/guard.h"
#include "probe/trace/join.h"
#include "probe/trace/presence.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    struct pp_session *session;
    struct pp_process_file *file;    /* NULL: not to be had, or inherited and not yet this process's own */
    struct pp_loaders_file *loaders; /* likewise; the parent's in a forked worker */
    char dir[PATH_MAX];
    uint64_t forks;    /* and sessions that were left: lanes of another number are silent */
    uint32_t sessions; /* joined so far */
    int64_t pid;
    int off, presence, loaders_are_mapped;
    struct stat presence_is;
    uint32_t next_batch; /* first_batch of the next iteration */
    struct record_iteration *newest;
    struct record_local *locals; /* of all threads */
} process = {.presence = -1};

static pthread_key_t at_thread_exit;
static pthread_mutex_t locals_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct record_local *self;

/* ---- the process ---- */

static void fork_child(void)
{
    process.forks++;
    process.file = NULL;
    process.locals = self; /* the other threads stayed in the parent */
    if (self)
        self->next = NULL;
    pthread_mutex_init(&locals_lock, NULL);
}

/* Handles retire with their thread; the session's own fork handlers silence what a child inherits. */
static void end_thread(void *arg)
{
    struct record_local *l = arg;
    pthread_mutex_lock(&locals_lock); /* the session is not left meanwhile */
    record_taker_end(l);
    for (struct record_local **p = &process.locals; *p; p = &(*p)->next) {
        if (*p == l) {
            *p = l->next;
            break;
        }
    }
    record_lane_close(&l->worker);
    record_lane_close(&l->trainer);
    record_lane_close(&l->copy);
    pthread_mutex_unlock(&locals_lock);
    self = NULL;
    free(l);
}

/* Once in the life of a process, which may join several sessions, one after the other. */
static int prepare(void)
{
    static int done;
    if (!done)
        done = pthread_key_create(&at_thread_exit, end_thread) == 0 &&
               pthread_atfork(NULL, NULL, fork_child) == 0;
    return done;
}

static struct pp_process_file *process_file(void)
{
    if (!process.file && process.session) {
        process.file = pp_process_file_map(process.dir);
        if (process.file) {
            pp_guard_add(process.file, sizeof(*process.file));
            process.file->python = PP_PROCESS_HOOKED;
        }
    }
    return process.file;
}

/* A process says who it is when it is the first of its kind, takes batches or has something to note: a job
 * may start thousands of workers. */
static int child_of_hooked(void)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/" PP_PROCESS_FILE_PREFIX "%d", process.dir, (int)getppid());
    return access(path, F_OK) == 0;
}

int record_join(const char *dir)
{
    if (process.session || process.off)
        return !process.off;
    if (strlen(dir) >= sizeof(process.dir) || !prepare() ||
        pp_session_join(dir, &process.session, NULL) != PP_OK)
        return 0;
    process.sessions++;
    memcpy(process.dir, dir, strlen(dir) + 1);
    /* Held until the process has gone, and by the children it forks: should exec be killed, the rings are not
     * taken for abandoned while they fill. */
    process.presence = pp_presence_enter(dir);
    if (process.presence >= 0)
        (void)fstat(process.presence, &process.presence_is);
    if (!child_of_hooked())
        (void)process_file();
    return 1;
}

/* 1: its thread has a span open, and writes its end. Nothing of this session is to reach the
 * next one. */
static int let_go(struct record_local *l)
{
    int busy = l->taking || l->depth || l->calls;
    if (!busy) {
        record_lane_close(&l->worker);
        record_lane_close(&l->trainer);
        record_lane_close(&l->copy);
    }
    l->step_from.stamp = 0;
    l->row = NULL; /* it is in the file of the loaders */
    return busy;
}

static void unmap(void *at, size_t bytes)
{
    if (!at)
        return;
    pp_guard_remove(at);
    munmap(at, bytes);
}

void record_leave(void)
{
    struct stat now;
    int busy = 0;
    if (!process.session)
        return;
    record_order_flush();
    record_gpu_end();
    pthread_mutex_lock(&locals_lock);
    for (struct record_local *l = process.locals; l; l = l->next)
        busy |= let_go(l);
    unmap(process.file, sizeof(*process.file));
    if (process.loaders_are_mapped)
        unmap(process.loaders, sizeof(*process.loaders));
    else
        free(process.loaders);
    if (!busy) /* else its rings stay mapped: they are read no more */
        pp_session_close(process.session, 0);
    if (process.presence >= 0 && fstat(process.presence, &now) == 0 &&
        now.st_dev == process.presence_is.st_dev && now.st_ino == process.presence_is.st_ino)
        close(process.presence); /* else the job has closed it, and the number is another file's */
    process.file = NULL;
    process.loaders = NULL;
    process.newest = NULL;
    process.session = NULL;
    process.presence = -1;
    process.next_batch = 0;
    process.forks++;
    pthread_mutex_unlock(&locals_lock); /* a thread that ends now has lanes of no session */
}

int record_is_on(void)
{
    return process.session && !process.off;
}

void record_saw_loader(void)
{
    struct pp_process_file *f = process_file();
    if (f)
        f->python = PP_PROCESS_LOADER;
}

const char *record_dir(void)
{
    return process.session ? process.dir : NULL;
}

uint32_t record_session(void)
{
    return record_is_on() ? process.sessions : 0;
}

void record_note(const char *what)
{
    struct pp_process_file *f = process_file();
    size_t n = f ? strnlen(f->note, sizeof(f->note) - 1) : 0;
    if (f && !memmem(f->note, n, what, strlen(what)))
        snprintf(f->note + n, sizeof(f->note) - n, "%s%s", n ? "; " : "", what);
}

void record_off(const char *why)
{
    char text[200];
    if (process.off)
        return;
    snprintf(text, sizeof(text), "the Python hooks are off: %s", why);
    record_note(text);
    process.off = 1;
}

/* ---- threads ---- */

struct record_local *record_local(void)
{
    if (!self) {
        self = calloc(1, sizeof(*self));
        if (self) {
            pp_reads_of_thread *of_thread = (pp_reads_of_thread *)dlsym(RTLD_DEFAULT, PP_READS_OF_THREAD);
            self->reads = of_thread ? of_thread() : &self->own_reads;
            self->slot = -1;
            self->detailed = 1;
            self->every = 1;
            self->worth_cpu = 1;
            self->worker.accounts.fd = self->trainer.accounts.fd = self->copy.accounts.fd = -1;
            pthread_setspecific(at_thread_exit, self);
            pthread_mutex_lock(&locals_lock);
            self->next = process.locals;
            process.locals = self;
            pthread_mutex_unlock(&locals_lock);
        }
    }
    return self;
}

struct record_local *record_local_peek(void)
{
    return self;
}

uint64_t record_forks(void)
{
    return process.forks;
}

int record_lane_open(struct record_lane *lane, pp_lane kind, const char *name)
{
    if (lane->trace && lane->forks == process.forks)
        return 1;
    if (!record_is_on())
        return 0;
    if (kind != PP_LANE_WORKER)
        (void)process_file();
    pp_accounts_close(&lane->accounts);
    pp_accounts_open(&lane->accounts);
    lane->forks = process.forks;
    lane->delay_ns = 0;
    lane->trace = pp_thread_register(process.session, kind, name);
    return lane->trace != NULL;
}

void record_count(const struct record_lane *lane, const char *name, uint64_t value)
{
    if (lane->trace && lane->forks == process.forks)
        pp_counter_put(lane->trace, pp_name_intern(process.session, name), value);
}

void record_lane_close(struct record_lane *lane)
{
    if (lane->trace && lane->forks == process.forks)
        pp_thread_retire(lane->trace);
    lane->trace = NULL;
    pp_accounts_close(&lane->accounts);
}

/* ---- loaders ---- */

static void *map_file(const char *path, int flags, size_t size)
{
    void *p = MAP_FAILED;
    int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600); /* a pipe is not waited for */
    if (fd < 0)
        return NULL;
    if (flags & O_CREAT ? posix_fallocate(fd, 0, (off_t)size) == 0 : lseek(fd, 0, SEEK_END) >= (off_t)size)
        p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return NULL;
    pp_guard_add(p, size);
    return p;
}

static const char *loaders_path(char *path, size_t size, int64_t pid)
{
    snprintf(path, size, "%s/" PP_LOADERS_FILE_PREFIX "%lld", process.dir, (long long)pid);
    return path;
}

/* This process's, made at its first loader. */
static struct pp_loaders_file *loaders(void)
{
    char path[PATH_MAX + 32];
    if (process.loaders && process.pid == getpid())
        return process.loaders;
    process.pid = getpid();
    process.loaders = map_file(loaders_path(path, sizeof(path), process.pid), O_RDWR | O_CREAT,
                               sizeof(*process.loaders));
    process.loaders_are_mapped = process.loaders != NULL;
    if (!process.loaders) /* then the numbers are kept for this process alone */
        process.loaders = calloc(1, sizeof(*process.loaders));
    if (process.loaders) {
        process.loaders->pid = process.pid;
        memcpy(process.loaders->magic, PP_LOADERS_MAGIC, sizeof(process.loaders->magic));
    }
    return process.loaders;
}

uint32_t record_loader_new(const struct pp_loader_row *row)
{
    struct pp_loaders_file *f = loaders();
    if (!f)
        return 0;
    uint32_t number = __atomic_fetch_add(&f->n_loaders, 1, __ATOMIC_RELEASE);
    if (number < PP_LOADERS_MAX)
        f->loader[number] = *row;
    return number;
}

void record_loader_waited(const struct record_iteration *it, uint64_t wait_ns)
{
    struct pp_loaders_file *f = it->session == record_session() ? loaders() : NULL;
    if (!f || it->loader >= PP_LOADERS_MAX)
        return;
    f->loader[it->loader].taken++;
    f->loader[it->loader].wait_ns += wait_ns;
}

/* What the workers were asked for; some of it may not have been taken. */
static uint32_t numbers_used(const struct record_iteration *it)
{
    return it->sent > it->taken ? it->sent : it->taken;
}

/* Batches are numbered over the run. An iteration of known length takes that many numbers; one of unknown
 * length as many as it had when the next begins, and room behind them while it goes on. */
static uint32_t first_batch(void)
{
    const struct record_iteration *before = process.newest;
    if (before && !before->batches)
        process.next_batch = before->first_batch + numbers_used(before) +
                             (before->ended ? 0
                              : before->ask ? 1u << 24 /* its length comes later */
                                            : 1u << 16);
    return process.next_batch;
}

/* Another epoch of a loader whose workers do not stay. */
static int starts_again(const struct record_iteration *it)
{
    const struct pp_loaders_file *f = loaders();
    return f && it->epoch && !it->round && it->loader < PP_LOADERS_MAX && f->loader[it->loader].workers;
}

void record_iteration_begin(struct record_iteration *it)
{
    struct pp_loaders_file *f = loaders();
    it->first_batch = first_batch();
    it->taken = it->sent = it->given = 0;
    it->ended = 0;
    it->session = process.sessions;
    it->row = NULL;
    struct record_local *l = starts_again(it) ? record_local() : NULL;
    it->made = (struct record_mark){0};
    if (l && record_taker_is_open(l)) {
        it->made = record_now_delayed(&l->trainer);
        it->made_by = l;
    }
    process.newest = it;
    if (it->batches)
        process.next_batch += (uint32_t)it->batches;
    if (!f)
        return;
    if (it->loader < PP_LOADERS_MAX) {
        f->loader[it->loader].iterations++;
        f->loader[it->loader].made_again = it->made_again != 0;
    }
    uint32_t number = __atomic_load_n(&f->n_iterations, __ATOMIC_RELAXED);
    it->row = &f->iteration[number % PP_ITERATIONS_MAX];
    *it->row = (struct pp_iteration_row){.base_seed = it->base_seed,
                                         .round = it->round,
                                         .first_batch = it->first_batch,
                                         .epoch = it->epoch,
                                         .loader = it->loader};
    __atomic_fetch_add(&f->n_iterations, 1, __ATOMIC_RELEASE); /* pairs with the acquire in find */
}

void record_iteration_lengths(struct record_iteration *it, uint64_t samples, uint64_t batches,
                              uint64_t epoch_samples)
{
    struct pp_loaders_file *f = it->session == record_session() ? loaders() : NULL;
    it->ask = 0;
    if (!batches || it->batches)
        return;
    it->batches = batches;
    it->samples = epoch_samples;
    if (process.newest == it)
        process.next_batch += (uint32_t)batches;
    if (f && it->loader < PP_LOADERS_MAX) {
        f->loader[it->loader].samples = samples;
        f->loader[it->loader].batches = batches;
    }
}

/* Its row goes with the session. */
static struct pp_iteration_row *row_of(const struct record_iteration *it)
{
    return it->session == record_session() ? it->row : NULL;
}

void record_iteration_reseed(struct record_iteration *it, uint64_t base_seed)
{
    struct pp_iteration_row *row = row_of(it);
    if (row && row->base_seed == it->base_seed)
        row->base_seed = base_seed; /* before the workers have a task */
    it->base_seed = base_seed;
    record_workers_started(it);
}

void record_iteration_resume(struct record_iteration *it, uint32_t taken, uint32_t sent)
{
    it->taken = it->given = taken;
    it->sent = sent;
    it->late = 1;
}

void record_iteration_forget(const struct record_iteration *it)
{
    record_order_forget(it);
    if (process.newest != it)
        return;
    if (!it->batches)
        process.next_batch = it->first_batch + numbers_used(it);
    process.newest = NULL;
}

struct pp_iteration_row *record_iteration_find(int64_t parent_pid, uint64_t base_seed, uint32_t round)
{
    char path[PATH_MAX + 32];
    /* A forked worker has its parent's mapping; others open it. */
    if (!process.loaders || process.pid != parent_pid) {
        process.pid = parent_pid;
        process.loaders = map_file(loaders_path(path, sizeof(path), parent_pid), O_RDWR,
                                   sizeof(*process.loaders));
        process.loaders_are_mapped = process.loaders != NULL;
    }
    struct pp_loaders_file *f = process.loaders;
    uint32_t n = f ? __atomic_load_n(&f->n_iterations, __ATOMIC_ACQUIRE) : 0;
    for (uint32_t back = 1; back <= n && back <= PP_ITERATIONS_MAX; back++) {
        struct pp_iteration_row *row = &f->iteration[(n - back) % PP_ITERATIONS_MAX];
        if (row->base_seed == base_seed && row->round == round)
            return row;
    }
    return NULL;
}

void record_short_add(struct pp_iteration_row *row, uint32_t index, uint64_t samples)
{
    uint32_t n = __atomic_fetch_add(&row->n_short, 1, __ATOMIC_RELAXED);
    if (n <
        PP_SHORT_MAX) /* release: pairs with the acquire in find; the batch comes after it, through a pipe */
        __atomic_store_n(&row->short_batch[n], ((uint64_t)index + 1) << 32 | samples, __ATOMIC_RELEASE);
}

uint64_t record_short_find(const struct record_iteration *it, uint32_t index)
{
    const struct pp_iteration_row *row = row_of(it);
    if (!row || row->base_seed != it->base_seed || row->round != it->round) /* its place was needed */
        return 0;
    uint32_t n = __atomic_load_n(&row->n_short, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < n && i < PP_SHORT_MAX; i++) {
        uint64_t entry = __atomic_load_n(&row->short_batch[i], __ATOMIC_ACQUIRE);
        if (entry >> 32 == (uint64_t)index + 1)
            return entry & UINT32_MAX;
    }
    return 0;
}
