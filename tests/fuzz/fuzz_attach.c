/* Fuzz target: what the processes of a recorded program left in the session directory, as the collector of
 * loaders reads it and `pipeprobe exec` takes it: a process file and a loaders file, one behind the other,
 * and the recording that is made of them; and the ring of a job's GPU activity, filled with the same bytes.
 * The first byte says what else is odd: names, lengths, links, pipes, directories, and many files. */
#include "collectors/collector.h"
#include "probe/base/sample_list.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch.h"

#include "collectors/attach/activity_file.h"
#include "collectors/attach/order_files.h"
#include "collectors/attach/session_files.h"
#include "collectors/store/reader.h"
#include "collectors/store/writer.h"
#include "probe/base/err.h"

#include <fcntl.h>
#include <pipeprobe/ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIPE = 1, LINK = 2, DIRECTORY = 4, OTHER_NAME = 8, MANY = 16, SHORT = 32 };
enum { PID = 4711, FILES_MANY = 40 };

struct seen {
    unsigned processes, loaders, ranks;
};

static void ends(const char *text, size_t size)
{
    if (!memchr(text, '\0', size))
        abort();
}

static void see_process(void *ctx, const struct pp_process_file *f)
{
    ends(f->note, sizeof(f->note));
    ends(f->command, sizeof(f->command));
    if (f->pid < 0)
        abort();
    ((struct seen *)ctx)->processes++;
}

static void see_loaders(void *ctx, const struct pp_loaders_file *f)
{
    if (f->n_loaders > PP_LOADERS_MAX)
        abort();
    for (unsigned i = 0; i < f->n_loaders; i++) {
        ends(f->loader[i].dataset, sizeof(f->loader[i].dataset));
        ends(f->loader[i].sampler, sizeof(f->loader[i].sampler));
        ends(f->loader[i].start_method, sizeof(f->loader[i].start_method));
    }
    ((struct seen *)ctx)->loaders++;
}

static void see_rank(void *ctx, const struct pp_rank_file *f)
{
    struct pp_identity id;
    char key[PP_RANK_KEY];
    ends(f->launcher, sizeof(f->launcher));
    ends(f->job, sizeof(f->job));
    if (pp_rank_file_identity(f, &id)) {
        pp_rank_key(&id, key, sizeof(key));
        if (!id.launcher || id.rank < 0 || id.rank >= id.world_size || strchr(key, '/'))
            abort();
    }
    ((struct seen *)ctx)->ranks++;
}

static const char *in_session(const char *prefix, const char *rest)
{
    char name[64];
    snprintf(name, sizeof(name), "session/%s%s", prefix, rest);
    return scratch_path(name);
}

static void put(const char *prefix, const uint8_t *data, size_t size, unsigned odd)
{
    char pid[24];
    snprintf(pid, sizeof(pid), "%d", PID);
    scratch_write(in_session(prefix, odd & OTHER_NAME ? "4712" : pid), data, odd & SHORT ? size / 2 : size);
    if (odd & PIPE)
        (void)!mkfifo(in_session(prefix, "1"), 0600);
    if (odd & LINK)
        (void)!symlink("/dev/zero", in_session(prefix, "2"));
    if (odd & DIRECTORY)
        (void)!mkdir(in_session(prefix, "3"), 0700);
    for (int i = 0; odd & MANY && i < FILES_MANY; i++) {
        snprintf(pid, sizeof(pid), i % 2 ? "%d" : "%dx", 100 + i);
        scratch_write(in_session(prefix, pid), data, size);
    }
}

static void clear(const char *prefix)
{
    rmdir(in_session(prefix, "3"));
}

/* What a process may write at any time: the head of the ring, names, rows; and the file may be cut. */
static void fill_ring(const uint8_t *data, size_t size, unsigned odd)
{
    const size_t head = offsetof(struct pp_activity_file, name), row = offsetof(struct pp_activity_file, row);
    struct pp_activity_file *f = MAP_FAILED;
    int fd = open(in_session(PP_ACTIVITY_FILE_NAME, ""), O_RDWR);
    if (fd >= 0)
        f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (f == MAP_FAILED)
        abort();
    memcpy(f, data, size < head ? size : head);
    memcpy(f->name, data, size < row - head ? size : row - head);
    memcpy(f->row, data, size < sizeof(f->row) ? size : sizeof(f->row));
    if (!(odd & MANY))
        f->head %= PP_ACTIVITY_ROWS / 64;
    munmap(f, sizeof(*f));
    if (odd & SHORT && ftruncate(fd, (off_t)(row / 2)) != 0)
        abort();
    close(fd);
}

/* The recording must be one that can be read. */
static void store_and_read(const uint8_t *data, size_t size, unsigned odd)
{
    struct pp_collect_opts opts = {.session_dir = scratch_path("session"), .gpu_activity = 200};
    struct pp_store *s = NULL;
    void *collector = NULL, *activity = NULL;
    struct pp_reader *r = NULL;
    struct pp_err err;
    const char *path = scratch_path("taken.sqlite");
    if (pp_store_create(&(struct pp_store_opts){.path = path, .force = 1}, &s, &err) != PP_OK)
        abort();
    opts.store = s;
    if (pp_collector_loaders.start(&opts, &collector, &err) != PP_OK)
        abort();
    for (int i = 0; i < 2; i++) /* the second time nothing is new */
        pp_collector_loaders.poll(collector);
    pp_collector_loaders.stop(collector);
    if (pp_collector_activity.start(&opts, &activity, &err) != PP_OK)
        abort();
    fill_ring(data, size, odd);
    for (int i = 0; i < 2; i++)
        pp_collector_activity.poll(activity);
    pp_collector_activity.stop(activity);
    if (pp_store_finish(s, &err) != PP_OK)
        abort();
    pp_store_close(s);
    if (pp_reader_open(scratch_path("taken.sqlite"), &r, &err) != PP_OK)
        abort();
    pp_reader_close(r);
}

static void see_order(void *ctx, int64_t pid, const struct pp_order_block *b, const uint8_t *list)
{
    struct pp_sample_list l = {.at = list, .end = list + b->bytes};
    uint64_t n, sample;
    while (pp_sample_list_batch(&l, &n))
        while (pp_sample_list_next(&l, &sample)) {
        }
    if (l.at > l.end)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen seen = {0};
    if (!size)
        return 0;
    unsigned odd = *data++;
    size--;
    size_t process = size < sizeof(struct pp_process_file) ? size : sizeof(struct pp_process_file);
    mkdir(scratch_path("session"), 0700);
    put(PP_PROCESS_FILE_PREFIX, data, process, odd);
    put(PP_LOADERS_FILE_PREFIX, data + process, size - process, odd);
    put(PP_RANK_FILE_PREFIX, data, size < sizeof(struct pp_rank_file) ? size : sizeof(struct pp_rank_file),
        odd);
    struct pp_session_taken taken = pp_process_files_take(scratch_path("session"), see_process, &seen);
    if (taken.taken != seen.processes || taken.taken > 1)
        abort(); /* one name fits the pid in it at most */
    store_and_read(data, size, odd);
    taken = pp_loaders_files_take(scratch_path("session"), PP_FILES_GO, see_loaders, &seen);
    if (taken.taken != seen.loaders || taken.taken > 1)
        abort();
    taken = pp_rank_files_take(scratch_path("session"), see_rank, &seen);
    if (taken.taken != seen.ranks || taken.taken > 1)
        abort();
    clear(PP_RANK_FILE_PREFIX);
    put(PP_ORDER_FILE_PREFIX, data, size, odd);
    pp_order_files_take(scratch_path("session"), PP_FILES_GO, see_order, &seen);
    clear(PP_ORDER_FILE_PREFIX);
    clear(PP_PROCESS_FILE_PREFIX);
    clear(PP_LOADERS_FILE_PREFIX);
    if (rmdir(scratch_path("session")) != 0)
        abort(); /* all of a kind are removed */
    return 0;
}

/* The process file comes first in the input, and both begin with what they are known by. */
static void seed_rank(struct pp_process_file *p)
{
    struct pp_rank_file r = {.pid = PID, .rank = 3, .world_size = 4, .local_rank = 1, .node = -1};
    memcpy(r.magic, PP_RANK_MAGIC, sizeof(r.magic));
    memcpy(r.launcher, "torchrun", 9);
    memset(r.job, '/', sizeof(r.job));
    memcpy(p, &r, sizeof(r));
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    static const uint8_t odd[] = {0, PIPE | LINK | DIRECTORY, MANY, OTHER_NAME, SHORT, 0};
    struct pp_process_file p = {.pid = PID, .parent_pid = 1, .clients = 1, .python = 1};
    struct pp_loaders_file *l = calloc(1, sizeof(*l));
    if (!l || i >= sizeof(odd)) {
        free(l);
        return 0;
    }
    memcpy(p.magic, PP_PROCESS_MAGIC, sizeof(p.magic));
    memset(p.note, 'n', sizeof(p.note));
    memset(p.command, 'c', sizeof(p.command));
    memcpy(l->magic, PP_LOADERS_MAGIC, sizeof(l->magic));
    l->pid = PID;
    l->n_loaders = i % 2 ? 40 : 2;
    l->n_iterations = 300;
    for (unsigned k = 0; k < PP_LOADERS_MAX; k++) {
        l->loader[k] = (struct pp_loader_row){
            .samples = 100, .batches = 10, .workers = 2, .batch_size = 8, .iterations = 3};
        memset(l->loader[k].dataset, 'd', sizeof(l->loader[k].dataset));
        memset(l->loader[k].sampler, 's', sizeof(l->loader[k].sampler));
        memset(l->loader[k].start_method, 'f', sizeof(l->loader[k].start_method));
    }
    if (i + 1 == sizeof(odd))
        seed_rank(&p);
    *size = 1 + sizeof(p) + sizeof(*l);
    *data = malloc(*size);
    (*data)[0] = odd[i];
    memcpy(*data + 1, &p, sizeof(p));
    memcpy(*data + 1 + sizeof(p), l, sizeof(*l));
    free(l);
    return 1;
}
