#include "tui/cli/exec/exec_record.h"

#include "collectors/system/environment.h"
#include "collectors/attach/inject/process_file.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the session directory: what is in it besides the rings ---- */

typedef void process_fn(struct exec_record *r, const struct pp_process_file *f);

/* Hands every process file to fn (unless NULL) and removes it. */
static void take_processes(struct exec_record *r, process_fn *fn)
{
    char path[PATH_MAX];
    struct pp_process_file f;
    DIR *d = opendir(r->rings);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        if (strncmp(e->d_name, PP_PROCESS_FILE_PREFIX, strlen(PP_PROCESS_FILE_PREFIX)) != 0 ||
            (size_t)snprintf(path, sizeof(path), "%s/%s", r->rings, e->d_name) >= sizeof(path))
            continue;
        int fd = fn ? pp_io_open(path, O_RDONLY | O_NOFOLLOW, 0) : -1;
        if (fd >= 0 && pp_io_pread_full(fd, &f, sizeof(f), 0) == (ssize_t)sizeof(f) &&
            memcmp(f.magic, PP_PROCESS_MAGIC, sizeof(f.magic)) == 0) {
            f.command[sizeof(f.command) - 1] = '\0';
            fn(r, &f);
        }
        if (fd >= 0)
            close(fd);
        unlink(path);
    }
    closedir(d);
}

struct map_path {
    char text[sizeof(((struct exec_record *)0)->rings) + sizeof(PP_MAP_FILE_NAME)];
};

static struct map_path map_path(const struct exec_record *r)
{
    struct map_path path;
    snprintf(path.text, sizeof(path.text), "%s/" PP_MAP_FILE_NAME, r->rings);
    return path;
}

static void clear_session_dir(struct exec_record *r)
{
    take_processes(r, NULL);
    unlink(map_path(r).text);
}

static pp_status write_map(const struct exec_record *r, const char *text, struct pp_err *err)
{
    return *text ? pp_io_write_atomic(map_path(r).text, text, strlen(text), err) : PP_OK;
}

/* ---- beginning ---- */

static void store_start(struct exec_record *r)
{
    uint64_t now = pp_now_ns();
    pp_store_meta_text(r->store, "run", "tool", "pipeprobe");
    pp_store_meta_text(r->store, "run", "version", PP_VERSION);
    pp_store_meta_num(r->store, "run", "started_mono_ns", (double)now, "ns");
    pp_store_meta_num(r->store, "run", "started_utc_ns", (double)pp_clock_of(CLOCK_REALTIME), "ns");
}

pp_status exec_record_begin(struct exec_record *r, int force, size_t ring_spans, const char *map_text,
                            struct pp_err *err)
{
    snprintf(r->rings, sizeof(r->rings), "%s.rings", r->path);
    pp_status st = pp_store_create(&(struct pp_store_opts){.path = r->path, .force = force}, &r->store, err);
    if (st == PP_OK)
        st = pp_session_open(&(struct pp_session_opts){.dir = r->rings, .ring_spans = ring_spans},
                             &r->session, err);
    if (st != PP_OK)
        return st;
    clear_session_dir(r); /* of a run that was killed */
    st = write_map(r, map_text, err);
    if (st != PP_OK)
        return st;
    store_start(r);
    st = pp_environment_store(r->store, NULL, err);
    if (st == PP_OK)
        st = pp_store_commit(r->store, err);
    if (st == PP_OK)
        st = pp_drain_start(&(struct pp_drain_opts){.session = r->session, .store = r->store}, &r->drain,
                            err);
    return st;
}

/* ---- the end ---- */

static void take_process(struct exec_record *r, const struct pp_process_file *f)
{
    const struct {
        const char *what, *why;
        uint64_t count;
    } losses[] = {
        {"ranges", "pushed deeper than the 128 levels kept per thread", f->too_deep},
        {"ranges", "started while 4,096 start/end ranges were open", f->too_many},
        {"names", "the table of names was full: their spans are there, without a name", f->unnamed},
        {"events", "their thread could not be given a ring", f->unthreaded},
        {"events", "made inside a call of the recorder itself, by a signal handler or an annotated allocator",
         f->reentrant},
    };
    char pid[24], text[sizeof(f->command) + 40];
    snprintf(pid, sizeof(pid), "%lld", (long long)f->pid);
    snprintf(text, sizeof(text), "%s (child of %lld)", f->command, (long long)f->parent_pid);
    pp_store_meta_text(r->store, "process", pid, text);
    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
        if (losses[i].count)
            pp_store_loss(r->store, losses[i].what, losses[i].count, losses[i].why);
    r->totals.processes++;
    if (f->chained)
        r->totals.chained = (int)f->chained;
}

static void store_result(struct exec_record *r, int exit_code, const char *outcome)
{
    pp_store_meta_num(r->store, "result", "exit_status", exit_code, NULL);
    pp_store_meta_num(r->store, "result", "processes", r->totals.processes, "processes");
    pp_store_meta_num(r->store, "run", "ended_mono_ns", (double)pp_now_ns(), "ns");
    pp_store_meta_text(r->store, "run", "outcome", outcome);
}

pp_status exec_record_end(struct exec_record *r, int exit_code, const char *outcome, struct pp_err *err)
{
    struct pp_drain_stats drained = {0};
    r->totals.threads = pp_session_threads(r->session);
    r->totals.ringless = pp_session_unregistered(r->session);
    pp_drain_stop(r->drain, &drained);
    r->drain = NULL;
    r->totals.spans = drained.spans;
    r->totals.dropped = drained.dropped;
    take_processes(r, take_process);
    clear_session_dir(r);
    store_result(r, exit_code, outcome);
    pp_status st = pp_store_finish(r->store, err);
    if (drained.first_failure != PP_OK)
        st = pp_fail(err, drained.first_failure, "%s", drained.err_text);
    pp_session_close(r->session, st != PP_OK && !pp_store_lost(r->store));
    r->session = NULL;
    return st;
}

void exec_record_free(struct exec_record *r)
{
    pp_drain_stop(r->drain, NULL);
    if (r->session)
        clear_session_dir(r);
    pp_session_close(r->session, 0);
    pp_store_close(r->store);
    r->drain = NULL;
    r->session = NULL;
    r->store = NULL;
}

void exec_record_abandon(struct exec_record *r)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char path[sizeof(r->path) + 8];
    int created = r->store != NULL;
    exec_record_free(r);
    for (size_t i = 0; created && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", r->path, suffixes[i]);
        unlink(path);
    }
}
