/* The file "loaders-PID" of the session (loaders_file.h), and the numbers that batches have over the run. All
 * of it under the interpreter's lock. */
#include "collectors/attach/python/record/record.h"
#include "probe/base/guard.h"
#include <fcntl.h>
#include <pipeprobe/ring.h> /* PP_LOADERS_FILE_PREFIX */
#include <sys/mman.h>
#include <unistd.h>

static struct {
    struct pp_loaders_file *file; /* NULL: not to be had, or not yet; the parent's in a forked worker */
    int64_t pid;                  /* whose it is */
    int is_mapped;
    uint32_t next_batch; /* first_batch of the next iteration */
    struct record_iteration *newest;
} loaders;

static void leave(void)
{
    if (loaders.file && loaders.is_mapped) {
        pp_guard_remove(loaders.file);
        munmap(loaders.file, sizeof(*loaders.file));
    } else {
        free(loaders.file);
    }
    loaders.file = NULL;
    loaders.newest = NULL;
    loaders.next_batch = 0;
}

/* flags: O_CREAT, or 0 to open one that is there. */
static void map_file(int64_t pid, int flags)
{
    const size_t size = sizeof(*loaders.file);
    char path[PATH_MAX + 32];
    void *at = MAP_FAILED;
    record_before_leave(leave);
    loaders.pid = pid;
    loaders.file = NULL;
    loaders.is_mapped = 0;
    if (!record_dir())
        return;
    snprintf(path, sizeof(path), "%s/" PP_LOADERS_FILE_PREFIX "%lld", record_dir(), (long long)pid);
    /* O_NONBLOCK: a pipe in its place is not waited for. */
    int fd = open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return;
    if (flags & O_CREAT ? posix_fallocate(fd, 0, (off_t)size) == 0 : lseek(fd, 0, SEEK_END) >= (off_t)size)
        at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        return;
    pp_guard_add(at, size);
    loaders.file = at;
    loaders.is_mapped = 1;
}

/* This process's, made at its first loader. NULL: there is no memory, or nothing is recorded. */
static struct pp_loaders_file *own_file(void)
{
    if (!record_is_on())
        return NULL;
    if (loaders.file && loaders.pid == getpid())
        return loaders.file;
    map_file(getpid(), O_CREAT);
    if (!loaders.file) /* then the numbers are kept for this process alone */
        loaders.file = calloc(1, sizeof(*loaders.file));
    if (loaders.file) {
        loaders.file->pid = loaders.pid;
        memcpy(loaders.file->magic, PP_LOADERS_MAGIC, sizeof(loaders.file->magic));
    }
    return loaders.file;
}

uint32_t record_loader_new(const struct pp_loader_row *row)
{
    struct pp_loaders_file *f = own_file();
    if (!f)
        return 0;
    uint32_t number = __atomic_fetch_add(&f->n_loaders, 1, __ATOMIC_RELEASE);
    if (number < PP_LOADERS_MAX)
        f->loader[number] = *row;
    return number;
}

struct pp_loader_row *record_loader_row(uint32_t loader)
{
    struct pp_loaders_file *f = own_file();
    return f && loader < PP_LOADERS_MAX ? &f->loader[loader] : NULL;
}

void record_loader_pickled(uint64_t bytes)
{
    const struct record_local *l = record_local_peek();
    int begins = l && l->consumer.beginning && loaders.newest;
    struct pp_loader_row *row = begins ? record_loader_row(loaders.newest->loader) : NULL;
    if (row)
        row->pickled_bytes = bytes;
}

struct pp_slow_table *record_slow_table(uint32_t loader)
{
    return loaders.file && record_is_on() && loader < PP_LOADERS_MAX ? &loaders.file->slow[loader] : NULL;
}

void record_iteration_begin(struct record_iteration *it)
{
    struct pp_loaders_file *f = own_file();
    const struct record_iteration *before = loaders.newest;
    /* Batches are numbered over the run. An iteration of known length takes that many numbers; one of unknown
     * length as many as it had when the next begins (what the workers were asked for, some of which may not
     * have been taken), and room behind them while it goes on. */
    if (before && !before->batches)
        loaders.next_batch = before->first_batch +
                             (before->sent > before->taken ? before->sent : before->taken) +
                             (before->ended         ? 0
                              : before->ask_lengths ? 1u << 24 /* its length comes later */
                                                    : 1u << 16);
    it->first_batch = loaders.next_batch;
    it->taken = it->sent = it->given = 0;
    it->ended = 0;
    it->session = record_session();
    it->row = NULL;
    record_uses.iterations++;
    loaders.newest = it;
    record_process.has_loader = 1;
    record_own_loop(0);
    loaders.next_batch += (uint32_t)it->batches;
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
    struct pp_loader_row *row = it->session == record_session() ? record_loader_row(it->loader) : NULL;
    it->ask_lengths = 0;
    if (!batches || it->batches)
        return;
    it->batches = batches;
    it->samples = epoch_samples;
    if (loaders.newest == it)
        loaders.next_batch += (uint32_t)batches;
    if (row) {
        row->samples = samples;
        row->batches = batches;
    }
}

void record_iteration_reseed(struct record_iteration *it, uint64_t base_seed)
{
    struct pp_iteration_row *row = it->session == record_session() ? it->row : NULL; /* else gone with it */
    if (row && row->base_seed == it->base_seed)
        row->base_seed = base_seed;
    it->base_seed = base_seed;
}

void record_iteration_resume(struct record_iteration *it, uint32_t taken, uint32_t sent)
{
    it->taken = it->given = taken;
    it->sent = sent;
    it->resumed = 1;
}

void record_iteration_forget(const struct record_iteration *it)
{
    record_order_forget(it);
    if (loaders.newest != it)
        return;
    if (!it->batches)
        loaders.next_batch = it->first_batch + (it->sent > it->taken ? it->sent : it->taken);
    loaders.newest = NULL;
}

struct pp_iteration_row *record_iteration_find(int64_t parent_pid, uint64_t base_seed, uint32_t round)
{
    /* A forked worker has its parent's mapping; others open it. */
    if (!loaders.file || loaders.pid != parent_pid)
        map_file(parent_pid, 0);
    struct pp_loaders_file *f = loaders.file;
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
    /* release: pairs with the acquire in find; the batch comes after it, through a pipe */
    if (n < PP_SHORT_MAX)
        __atomic_store_n(&row->short_batch[n], ((uint64_t)index + 1) << 32 | samples, __ATOMIC_RELEASE);
}

uint64_t record_short_find(const struct record_iteration *it, uint32_t index)
{
    const struct pp_iteration_row *row = it->session == record_session() ? it->row : NULL;
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
