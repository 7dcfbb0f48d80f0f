#include "tui/cli/exec/exec_record.h"

#include "collectors/attach/order_files.h"
#include "collectors/attach/session_files.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/trace/drain_side.h"
#include "tui/cli/recording_name.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BESIDE_MAX 1000

/* ---- the session directory: what is in it besides the rings ---- */

struct map_path {
    char text[PATH_MAX + sizeof(PP_MAP_FILE_NAME)];
};

static struct map_path map_path(const struct exec_record *r)
{
    struct map_path path;
    snprintf(path.text, sizeof(path.text), "%s/" PP_MAP_FILE_NAME, pp_recording_rings_dir(r->recording));
    return path;
}

/* What the first Python without hooks said, if any did; the file goes. */
static void take_unhooked(struct exec_record *r)
{
    char path[PATH_MAX + sizeof(PP_UNHOOKED_FILE_NAME)];
    snprintf(path, sizeof(path), "%s/" PP_UNHOOKED_FILE_NAME, pp_recording_rings_dir(r->recording));
    int fd = pp_io_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    ssize_t n = pp_io_pread_full(fd, r->unhooked, sizeof(r->unhooked) - 1, 0);
    r->unhooked[n > 0 ? n : 0] = '\0';
    close(fd);
    unlink(path);
}

static void clear_session_dir(struct exec_record *r)
{
    pp_process_files_take(pp_recording_rings_dir(r->recording), NULL, NULL);
    pp_loaders_files_take(pp_recording_rings_dir(r->recording), NULL, NULL);
    pp_rank_files_take(pp_recording_rings_dir(r->recording), NULL, NULL);
    pp_order_files_take(pp_recording_rings_dir(r->recording), NULL, NULL);
    take_unhooked(r);
    unlink(map_path(r).text);
}

static pp_status write_map(const struct exec_record *r, const char *text, struct pp_err *err)
{
    return *text ? pp_io_write_atomic(map_path(r).text, text, strlen(text), err) : PP_OK;
}

/* ---- beginning ---- */

/* r->path is taken: run.sqlite becomes run-2.sqlite, run-3.sqlite, ... What is no file is not avoided. */
static pp_status create_beside(struct exec_record *r, const struct pp_recording_opts *opts,
                               struct pp_err *err)
{
    struct pp_recording_opts beside = *opts;
    struct stat st;
    const char *slash, *dot;
    pp_status status = PP_E_EXISTS;
    if (stat(r->path, &st) == 0 && !S_ISREG(st.st_mode))
        return err->code;
    memcpy(r->taken, r->path, sizeof(r->taken));
    slash = strrchr(r->taken, '/');
    dot = strrchr(slash ? slash : r->taken, '.');
    int stem = (int)(dot && dot > r->taken && dot[-1] != '/' ? (size_t)(dot - r->taken) : strlen(r->taken));
    beside.store.path = r->path;
    beside.store.force = 0;
    for (int i = 2; status == PP_E_EXISTS && i < BESIDE_MAX; i++)
        status = (size_t)snprintf(r->path, sizeof(r->path), "%.*s-%d%s", stem, r->taken, i, r->taken + stem) <
                         sizeof(r->path)
                     ? pp_recording_create(&beside, &r->recording, err)
                     : pp_fail(err, PP_E_USAGE, "the name is too long: %s", r->taken);
    return status;
}

pp_status exec_record_create(struct exec_record *r, const char *output, int force, size_t ring_spans,
                             const char *map_text, struct pp_err *err)
{
    struct pp_recording_opts opts = {.store = {.force = force},
                                     .ring_spans = ring_spans,
                                     .resources = 1, /* for programs that use the C API in place of NVTX */
                                     .tool = "pipeprobe",
                                     .gpu_activity = r->gpu_records};
    if (!r->rank.launcher)
        pp_identity_read(&r->rank);
    opts.identity = r->rank;
    pp_status st = pp_recording_name(output, &r->rank, force, r->path, sizeof(r->path), err);
    if (st == PP_OK)
        st = pp_recording_create_named(output, &r->rank, &opts, r->path, &r->recording, err);
    if (st == PP_E_EXISTS && !r->asked_name_only)
        st = create_beside(r, &opts, err);
    if (st != PP_OK)
        return st;
    clear_session_dir(r); /* of a run that was killed */
    r->unhooked[0] = '\0';
    r->totals.loading = 0;
    st = write_map(r, map_text, err);
    if (st != PP_OK)
        exec_record_abandon(r);
    return st;
}

pp_status exec_record_start(struct exec_record *r, const char *command_line, struct pp_err *err)
{
    return pp_recording_start(r->recording, command_line, err);
}

/* ---- the end ---- */

static void take_process(void *ctx, const struct pp_process_file *f)
{
    struct exec_record *r = ctx;
    struct pp_store *store = pp_recording_store(r->recording);
    const struct {
        const char *what, *why;
        uint64_t count;
    } losses[] = {
        {"ranges", "pushed deeper than the 128 levels kept per thread", f->too_deep},
        {"ranges", "started while 4,096 start/end ranges were open", f->too_many},
        {"names", "the table of names was full: their spans are recorded without a name", f->unnamed},
        {"events", "their thread got no ring", f->unthreaded},
        {"events", "called inside the recorder, from a signal handler or an annotated allocator",
         f->reentrant},
    };
    char pid[24], text[sizeof(f->command) + 40];
    snprintf(pid, sizeof(pid), "%lld", (long long)f->pid);
    snprintf(text, sizeof(text), "%s (child of %lld)", f->command, (long long)f->parent_pid);
    pp_store_meta_text(store, "process", pid, text);
    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
        if (losses[i].count)
            pp_store_loss(store, losses[i].what, losses[i].count, losses[i].why);
    if (f->note[0])
        pp_store_meta_text(store, "process_note", pid, f->note);
    r->totals.processes++;
    r->totals.hooked += f->python != 0;
    r->totals.with_loader += f->python == PP_PROCESS_LOADER;
    if (f->chained == 1 || f->chained == 2)
        r->totals.chained = (int)f->chained;
}

static void lose_files(struct pp_store *store, const char *what, struct pp_session_taken t)
{
    if (t.unsound)
        pp_store_loss(store, what, t.unsound,
                      "their files in the session directory are incomplete or damaged");
    if (t.too_many)
        pp_store_loss(store, what, t.too_many, "there were more of them than the 16,384 that are listed");
}

/* They are stored already (collectors/attach/loaders.h); damage is counted here, once. */
static void stored_already(void *ctx, const struct pp_loaders_file *f)
{
}

static void take_order(void *ctx, int64_t pid, const struct pp_order_block *b, const uint8_t *list)
{
    struct exec_record *r = ctx;
    pp_store_order(pp_recording_store(r->recording),
                   &(struct pp_order_row){.pid = pid,
                                          .loader = b->loader,
                                          .epoch = b->epoch,
                                          .first_batch = b->first_batch,
                                          .batches = b->batches,
                                          .samples = b->samples,
                                          .ended = (b->flags & PP_ORDER_ENDED) != 0,
                                          .list = list,
                                          .list_bytes = b->bytes});
}

static void take_files(struct exec_record *r)
{
    const char *dir = pp_recording_rings_dir(r->recording);
    struct pp_store *store = pp_recording_store(r->recording);
    lose_files(store, "processes", pp_process_files_take(dir, take_process, r));
    struct pp_session_taken loaders = pp_loaders_files_take(dir, stored_already, NULL);
    lose_files(store, "loaders", loaders);
    r->totals.loading = loaders.taken;
    lose_files(store, "sample lists", pp_order_files_take(dir, take_order, r));
}

/* A process that took batches has a thread of the trainer's lane. Of a job, a handful have. */
static unsigned count_trainers(const struct pp_session *s)
{
    enum { MOST = 64 };
    int64_t seen[MOST];
    unsigned n = 0;
    struct pp_ring_info info;
    for (uint32_t i = 0, threads = pp_session_threads(s); i < threads && n < MOST; i++) {
        unsigned k = 0;
        pp_session_ring_info(s, i, &info);
        while (k < n && seen[k] != info.pid)
            k++;
        if (info.lane == PP_LANE_TRAINER && info.recorded && k == n)
            seen[n++] = info.pid;
    }
    return n;
}

uint64_t exec_record_stop(struct exec_record *r)
{
    struct pp_session *session = pp_recording_session(r->recording);
    r->totals.threads = pp_session_threads(session);
    r->totals.ringless = pp_session_unregistered(session);
    r->totals.trainers = count_trainers(session);
    const struct pp_drain_stats *drained = pp_recording_stop(r->recording);
    r->totals.spans = drained->spans;
    r->totals.dropped = drained->dropped;
    return drained->spans;
}

pp_status exec_record_end(struct exec_record *r, int exit_code, const char *outcome, struct pp_err *err)
{
    struct pp_store *store = pp_recording_store(r->recording);
    exec_record_stop(r);
    take_files(r);
    clear_session_dir(r);
    if (r->unhooked[0])
        pp_store_meta_text(store, "process_note", PP_UNHOOKED_FILE_NAME, r->unhooked);
    if (exit_code >= 0)
        pp_store_meta_num(store, "result", "exit_status", exit_code, NULL);
    if (strcmp(outcome, "failed") != 0)
        r->first_by_ns = 0;
    if (r->first_by_ns)
        pp_store_meta_num(store, "result", "ended_first_by_ns", (double)r->first_by_ns, "ns");
    pp_store_meta_num(store, "result", "processes", r->totals.processes, "processes");
    return pp_recording_finish(r->recording, outcome, 0, err);
}

void exec_record_free(struct exec_record *r)
{
    pp_recording_free(r->recording);
    r->recording = NULL;
}

void exec_record_abandon(struct exec_record *r)
{
    if (r->recording)
        clear_session_dir(r);
    pp_recording_abandon(r->recording);
    r->recording = NULL;
}
