#include "tui/cli/exec/exec_record.h"

#include "collectors/attach/session_files.h"
#include "probe/base/io.h"
#include "probe/trace/drain_side.h"
#include "tui/cli/recording_name.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static void clear_session_dir(struct exec_record *r)
{
    pp_process_files_take(pp_recording_rings_dir(r->recording), NULL, NULL);
    unlink(map_path(r).text);
}

static pp_status write_map(const struct exec_record *r, const char *text, struct pp_err *err)
{
    return *text ? pp_io_write_atomic(map_path(r).text, text, strlen(text), err) : PP_OK;
}

/* ---- beginning ---- */

pp_status exec_record_create(struct exec_record *r, const char *output, int force, size_t ring_spans,
                             const char *map_text, struct pp_err *err)
{
    struct pp_recording_opts opts = {.store = {.force = force},
                                     .ring_spans = ring_spans,
                                     .resources = 1, /* for programs that use the C API in place of NVTX */
                                     .tool = "pipeprobe"};
    pp_status st = pp_recording_name(output, force, r->path, sizeof(r->path), err);
    if (st == PP_OK)
        st = pp_recording_create_named(output, &opts, r->path, sizeof(r->path), &r->recording, err);
    if (st != PP_OK)
        return st;
    clear_session_dir(r); /* of a run that was killed */
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
    if (f->chained == 1 || f->chained == 2)
        r->totals.chained = (int)f->chained;
}

static void take_processes(struct exec_record *r)
{
    struct pp_session_taken t = pp_process_files_take(pp_recording_rings_dir(r->recording), take_process, r);
    struct pp_store *store = pp_recording_store(r->recording);
    if (t.unsound)
        pp_store_loss(store, "processes", t.unsound,
                      "their files in the session directory are incomplete or damaged");
    if (t.too_many)
        pp_store_loss(store, "processes", t.too_many,
                      "there were more of them than the 16,384 that are listed");
}

pp_status exec_record_end(struct exec_record *r, int exit_code, const char *outcome, struct pp_err *err)
{
    struct pp_session *session = pp_recording_session(r->recording);
    struct pp_store *store = pp_recording_store(r->recording);
    r->totals.threads = pp_session_threads(session);
    r->totals.ringless = pp_session_unregistered(session);
    const struct pp_drain_stats *drained = pp_recording_stop(r->recording);
    r->totals.spans = drained->spans;
    r->totals.dropped = drained->dropped;
    take_processes(r);
    clear_session_dir(r);
    pp_store_meta_num(store, "result", "exit_status", exit_code, NULL);
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
