#include "tui/cli/exec/exec_record.h"
#include "collectors/attach/order_files.h"
#include "collectors/attach/session_files.h"
#include "collectors/system/cgroup.h"
#include "collectors/system/environment.h"
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "tui/cli/jobs/again.h"
#include "tui/cli/recording_name.h"
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#define BESIDE_MAX 1000

/* ---- the session directory: what is in it besides the rings ---- */

static void clear_session_dir(struct exec_record *r)
{
    char map[PATH_MAX + sizeof(PP_MAP_FILE_NAME)];
    snprintf(map, sizeof(map), "%s/" PP_MAP_FILE_NAME, pp_recording_rings_dir(r->recording));
    pp_process_files_take(pp_recording_rings_dir(r->recording), NULL, NULL);
    pp_loaders_files_take(pp_recording_rings_dir(r->recording), PP_FILES_GO, NULL, NULL);
    pp_rank_files_take(pp_recording_rings_dir(r->recording), NULL, NULL);
    pp_order_files_take(pp_recording_rings_dir(r->recording), PP_FILES_GO, NULL, NULL);
    exec_files_unhooked(pp_recording_rings_dir(r->recording), r->unhooked);
    unlink(map);
}

/* ---- beginning ---- */

pp_status exec_record_create(struct exec_record *r, const char *output, int force, size_t ring_spans,
                             const char *map_text, struct pp_err *err)
{
    struct pp_recording_opts opts = {.store = {.force = force},
                                     .ring_spans = ring_spans,
                                     .resources = 1, /* for programs that use the C API in place of NVTX */
                                     .tool = "pipeprobe",
                                     .gpu_activity = r->gpu_records,
                                     .lines_hz = r->lines_hz};
    if (!r->rank.launcher)
        pp_identity_read(&r->rank);
    opts.identity = r->rank;
    pp_status st = pp_recording_name(output, &r->rank, force, r->path, sizeof(r->path), err);
    if (st == PP_OK)
        st = pp_recording_create_named(output, &r->rank, &opts, r->path, &r->recording, err);
    /* r->path is taken: run.sqlite becomes run-2.sqlite, run-3.sqlite, ... What is no file is not avoided. */
    struct stat there;
    if (st == PP_E_EXISTS && stat(r->path, &there) == 0 && !S_ISREG(there.st_mode))
        return err->code;
    if (st == PP_E_EXISTS) {
        memcpy(r->taken, r->path, sizeof(r->taken));
        const char *slash = strrchr(r->taken, '/'), *dot = strrchr(slash ? slash : r->taken, '.');
        int stem = (int)(dot && dot > r->taken && dot[-1] != '/' ? (size_t)(dot - r->taken)
                                                                 : strlen(r->taken));
        opts.store.path = r->path;
        opts.store.force = 0;
        for (int i = 2; st == PP_E_EXISTS && i < BESIDE_MAX; i++)
            st = (size_t)snprintf(r->path, sizeof(r->path), "%.*s-%d%s", stem, r->taken, i, r->taken + stem) <
                         sizeof(r->path)
                     ? pp_recording_create(&opts, &r->recording, err)
                     : pp_fail(err, PP_E_USAGE, "the name is too long: %s", r->taken);
    }
    if (st != PP_OK)
        return st;
    clear_session_dir(r); /* of a run that was killed */
    r->unhooked[0] = '\0';
    r->totals.loading = 0;
    if (!pp_cgroup_oom_kills(&r->oom_kills))
        r->oom_kills = NAN;
    char map[PATH_MAX + sizeof(PP_MAP_FILE_NAME)];
    snprintf(map, sizeof(map), "%s/" PP_MAP_FILE_NAME, pp_recording_rings_dir(r->recording));
    st = *map_text ? pp_io_write_atomic(map, map_text, strlen(map_text), err) : PP_OK;
    if (st != PP_OK)
        exec_record_abandon(r);
    return st;
}

/* ---- the end ---- */

/* Sorts them, each once. */
static unsigned count_distinct(int64_t *pid, unsigned n)
{
    unsigned kept = 0;
    if (n)
        qsort(pid, n, sizeof(*pid), pp_by_i64);
    for (unsigned i = 0; i < n; i++)
        if (!kept || pid[i] != pid[kept - 1])
            pid[kept++] = pid[i];
    return kept;
}

uint64_t exec_record_stop(struct exec_record *r)
{
    struct exec_totals *t = &r->totals;
    struct pp_ring_info info;
    struct pp_session *session = pp_recording_session(r->recording);
    t->threads = pp_session_threads(session);
    t->ringless = pp_session_unregistered(session);
    free(t->pids);
    t->pids = calloc(t->threads + 1, 2 * sizeof(*t->pids));
    int64_t *trainer = t->pids ? t->pids + t->threads + 1
                               : NULL; /* a process that took batches has a thread of its lane */
    t->n_pids = t->trainers = 0;
    for (uint32_t i = 0; t->pids && i < t->threads; i++) {
        pp_session_ring_info(session, i, &info);
        t->pids[t->n_pids++] = info.pid;
        if (info.lane == PP_LANE_TRAINER && info.recorded)
            trainer[t->trainers++] = info.pid;
    }
    t->n_pids = count_distinct(t->pids, t->n_pids);
    t->trainers = count_distinct(trainer, t->trainers);
    t->processes = t->n_pids;
    const struct pp_drain_stats *drained = pp_recording_stop(r->recording);
    r->totals.spans = drained->spans;
    r->totals.dropped = drained->dropped;
    return drained->spans;
}

pp_status exec_record_end(struct exec_record *r, int exit_code, const char *outcome, struct pp_err *err)
{
    struct pp_store *store = pp_recording_store(r->recording);
    exec_record_stop(r);
    exec_files_take(store, pp_recording_rings_dir(r->recording), &r->totals);
    pp_environment_store_data(store, *r->totals.data ? r->totals.data : NULL);
    if (*r->totals.seen || r->totals.own_loop)
        pp_store_meta_text(store, "config", "loader", *r->totals.seen ? r->totals.seen : "own");
    clear_session_dir(r);
    if (r->unhooked[0])
        pp_store_meta_text(store, "process_note", PP_UNHOOKED_FILE_NAME, r->unhooked);
    if (exit_code >= 0)
        pp_store_meta_num(store, "result", "exit_status", exit_code, NULL);
    if (r->ended_by_duration)
        pp_store_meta_text(store, "result", "ended_by", "duration");
    if (r->interrupted_by)
        pp_store_meta_num(store, "result", "interrupted_by", r->interrupted_by, "signal");
    double kills;
    if (pp_cgroup_oom_kills(&kills) && kills > r->oom_kills)
        pp_store_meta_num(store, "result", "oom_kills", kills - r->oom_kills, "processes");
    if (strcmp(outcome, "failed") != 0)
        r->first_by_ns = 0;
    if (r->first_by_ns)
        pp_store_meta_num(store, "result", "ended_first_by_ns", (double)r->first_by_ns, "ns");
    pp_store_meta_num(store, "result", "processes", r->totals.processes, "processes");
    return pp_recording_finish(r->recording, outcome, 0, err);
}

int exec_record_is_empty(const struct exec_record *r)
{
    const struct exec_totals *t = &r->totals;
    return !t->spans && !t->dropped && !t->ringless && r->recording && !pp_recording_lost(r->recording);
}

void exec_record_free(struct exec_record *r)
{
    free(r->totals.pids);
    r->totals.pids = NULL;
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

/* ---- what a recording was made of ---- */

void exec_origin_store(struct pp_store *store)
{
    char directory[PATH_MAX], commit[80];
    if (getcwd(directory, sizeof(directory)))
        pp_store_meta_text(store, "run", "directory", directory);
    /* "NVIDIA H100 80GB HBM3", with how many; the driver says so in /proc, and is not woken. */
    glob_t found = {0};
    char line[256], model[128] = "", text[160];
    size_t n = glob("/proc/driver/nvidia/gpus/*/information", 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    FILE *in = n ? fopen(found.gl_pathv[0], "re") : NULL;
    while (in && fgets(line, sizeof(line), in))
        if (strncmp(line, "Model:", 6) == 0)
            snprintf(model, sizeof(model), "%.*s", (int)strcspn(line + 6 + strspn(line + 6, " \t"), "\n"),
                     line + 6 + strspn(line + 6, " \t"));
    if (in)
        fclose(in);
    globfree(&found);
    if (n > 1)
        snprintf(text, sizeof(text), "%zu x %s", n, model);
    else
        snprintf(text, sizeof(text), "%s", model);
    if (model[0])
        pp_store_meta_text(store, "environment", "gpu", text);
    /* "": there is no git, no repository or no commit. */
    int ends[2];
    size_t got = 0;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        struct again git = {.program = "git", .in = AGAIN_NULL, .out = ends[1], .errors = AGAIN_NULL};
        pid_t pid;
        ssize_t more = 0;
        again_add(&git, "git", "rev-parse", "--verify", "--quiet", "HEAD", NULL);
        int failed = again_start(&git, &pid) != 0;
        close(ends[1]);
        while (!failed && got < sizeof(commit) - 1 &&
               (more = read(ends[0], commit + got, sizeof(commit) - 1 - got)) > 0)
            got += (size_t)more;
        close(ends[0]);
        if (failed || again_code(again_wait(pid)) != 0)
            got = 0;
    }
    commit[got] = '\0';
    commit[strspn(commit, "0123456789abcdef")] = '\0';
    if (commit[0])
        pp_store_meta_text(store, "run", "git_commit", commit);
}
