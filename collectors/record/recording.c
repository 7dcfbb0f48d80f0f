#include "collectors/record/recording.h"

#include "collectors/system/environment.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/trace/join.h"

#include <unistd.h>

struct pp_recording {
    struct pp_recording_opts opts;
    char path[PATH_MAX], rings[PATH_MAX];
    struct pp_session *session; /* NULL: PP_RINGS_NONE */
    struct pp_store *store;
    struct pp_drain *drain; /* from start until stop */
    struct pp_drain_stats drained;
    int stillborn; /* it could not start: there is nothing to keep */
    int finished;  /* everything is in the file: what the rings may still hold is not of this recording */
};

/* ---- the beginning ---- */

pp_status pp_recording_create(const struct pp_recording_opts *opts, struct pp_recording **out,
                              struct pp_err *err)
{
    int adopts = opts->rings == PP_RINGS_ADOPTED;
    *out = NULL;
    struct pp_recording *r = calloc(1, sizeof(*r));
    if (!r) {
        if (adopts)
            close(opts->lock_fd);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to record %s", opts->store.path);
    }
    r->opts = *opts;
    r->opts.store.path = r->path;
    if ((size_t)snprintf(r->path, sizeof(r->path), "%s", opts->store.path) >= sizeof(r->path) ||
        (size_t)snprintf(r->rings, sizeof(r->rings), "%s.rings", r->path) >= sizeof(r->rings)) {
        if (adopts)
            close(opts->lock_fd);
        free(r);
        return pp_fail(err, PP_E_USAGE, "the name of the run is too long: %s", opts->store.path);
    }
    pp_status st = PP_OK;
    if (adopts) { /* first: its spans are to be in no other file */
        st = pp_session_adopt(r->rings, r->opts.lock_fd, &r->session, err);
        if (st == PP_OK)
            r->opts.store.session_id = pp_session_facts(r->session).id;
    }
    if (st == PP_OK)
        st = pp_store_create(&r->opts.store, &r->store, err);
    if (st == PP_OK && r->opts.rings == PP_RINGS_OWN)
        st = pp_session_open(&(struct pp_session_opts){.dir = r->rings,
                                                       .ring_spans = r->opts.ring_spans,
                                                       .resources = r->opts.resources},
                             &r->session, err);
    if (st == PP_OK)
        *out = r;
    else if (r->store)
        pp_recording_abandon(r);
    else
        pp_recording_free(r);
    return st;
}

pp_status pp_recording_start(struct pp_recording *r, const char *command_line, struct pp_err *err)
{
    const struct pp_recording_opts *o = &r->opts;
    const struct pp_identity *id = &o->identity;
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"rank", id->rank},
                   {"world_size", id->world_size},
                   {"local_rank", id->local_rank},
                   {"local_size", id->local_size},
                   {"node", id->node},
                   {"attempt", id->attempt}};
    uint64_t now = pp_now_ns(), started = o->started_ns ? o->started_ns
                                          : o->rings == PP_RINGS_ADOPTED
                                              ? pp_session_facts(r->session).created_ns
                                              : now;
    uint64_t utc = o->started_utc_ns ? o->started_utc_ns : pp_clock_of(CLOCK_REALTIME) - (now - started);
    pp_store_meta_text(r->store, "run", "tool", o->tool);
    pp_store_meta_text(r->store, "run", "version", PP_VERSION);
    if (command_line)
        pp_store_meta_text(r->store, "run", "command_line", command_line);
    if (id->launcher)
        pp_store_meta_text(r->store, "rank", "launcher", id->launcher);
    if (id->launcher && *id->job)
        pp_store_meta_text(r->store, "rank", "job", id->job);
    for (size_t i = 0; id->launcher && i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i].value >= 0) /* what is not known has no row */
            pp_store_meta_num(r->store, "rank", numbers[i].key, (double)numbers[i].value, NULL);
    pp_store_meta_num(r->store, "run", "started_mono_ns", (double)started, "ns");
    pp_store_meta_num(r->store, "run", "started_utc_ns", (double)utc, "ns");
    pp_status st = PP_OK;
    if (r->session)
        st = pp_environment_store(r->store, r->opts.data_path, err);
    if (st == PP_OK)
        st = pp_store_commit(r->store, err);
    if (st == PP_OK && r->session)
        st = pp_drain_start(&(struct pp_drain_opts){.session = r->session,
                                                    .store = r->store,
                                                    .sample_path = r->opts.sample_path,
                                                    .sample_ctx = r->opts.sample_ctx,
                                                    .device = r->opts.device,
                                                    .gpu_activity = r->opts.gpu_activity,
                                                    .lines_hz = r->opts.lines_hz,
                                                    .data_path = r->opts.data_path},
                            &r->drain, err);
    r->stillborn = st != PP_OK && r->opts.rings != PP_RINGS_ADOPTED; /* whose spans are another's */
    return st;
}

const char *pp_recording_describe(const struct pp_recording *r, const struct pp_collector *row)
{
    return pp_drain_describe(r->drain, row);
}

/* ---- the end ---- */

const struct pp_drain_stats *pp_recording_stop(struct pp_recording *r)
{
    pp_drain_stop(r->drain, &r->drained);
    r->drain = NULL;
    return &r->drained;
}

pp_status pp_recording_finish(struct pp_recording *r, const char *outcome, uint64_t ended_ns,
                              struct pp_err *err)
{
    pp_recording_stop(r);
    /* What the program said of its loader; one that exec recorded is described by exec. */
    if (r->opts.rings == PP_RINGS_ADOPTED)
        pp_store_stated(r->store, pp_session_facts(r->session).stated);
    pp_store_meta_num(r->store, "run", "ended_mono_ns", (double)(ended_ns ? ended_ns : pp_now_ns()), "ns");
    pp_store_meta_text(r->store, "run", "outcome", outcome);
    pp_status st = pp_store_finish(r->store, err);
    if (r->drained.first_failure != PP_OK && st == PP_OK)
        st = pp_fail(err, r->drained.first_failure, "%s", r->drained.err_text);
    r->finished = st == PP_OK;
    return st;
}

int pp_recording_lost(const struct pp_recording *r)
{
    return r && r->store && pp_store_progress(r->store).lost;
}

void pp_recording_free(struct pp_recording *r)
{
    if (!r)
        return;
    if (r->stillborn) {
        pp_recording_abandon(r);
        return;
    }
    pp_recording_stop(r);
    int keep = !r->finished && !pp_recording_lost(r); /* half a run without its file is none */
    pp_store_close(r->store);
    pp_session_close(r->session, keep);
    free(r);
}

void pp_recording_abandon(struct pp_recording *r)
{
    char rings[PATH_MAX];
    if (!r)
        return;
    memcpy(rings, r->rings, sizeof(rings));
    if (r->store)
        pp_store_discard(r->store);
    r->finished = 1;
    r->stillborn = 0;
    pp_recording_free(r);
    rmdir(rings); /* one that a session could not be opened in */
}

struct pp_store *pp_recording_store(struct pp_recording *r)
{
    return r->store;
}

struct pp_session *pp_recording_session(struct pp_recording *r)
{
    return r->session;
}

const char *pp_recording_rings_dir(const struct pp_recording *r)
{
    return r->rings;
}
