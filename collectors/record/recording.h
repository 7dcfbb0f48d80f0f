/* collectors/record/recording.h: one recording from its first row to its finished file: the rings of a
 * session, the drain that empties them, one SQLite file. Every recorder has this lifecycle: `run` (threads of
 * its own), `exec` (processes that join the session), the collector of the public API (a session that exists
 * already), an importer (no rings at all). A run of N ranks is N recordings, one per rank.
 *
 *   create   the file and the rings; the recorder then writes its own rows (config, chosen, ...) into the store
 *   start    run.tool, version, command_line, started_*, the environment; first commit; the drain starts
 *   ...      the run
 *   stop     the drain ends: everything in the rings is in the file; the recorder writes its totals
 *   finish   run.ended_mono_ns, run.outcome, the plain rows: one ordinary file
 *   free     and what could not be stored stays in the ring files for recovery (store/recover.h)
 *
 * The collectors (collectors/collector.h) start with the drain in pp_recording_start, are polled by it once a
 * second, and stop with it in pp_recording_stop.
 *
 * The calls are for one thread; the store may be written to by any (store/writer.h). */
#pragma once

#include "collectors/record/drain.h"
#include "collectors/store/writer.h"
#include "probe/ranks/identity.h"

struct pp_recording;

enum pp_recording_rings {
    PP_RINGS_OWN,     /* a new session "<path>.rings"; ring_spans and resources as in pp_session_opts */
    PP_RINGS_ADOPTED, /* the session "<path>.rings" of another process, whose lock is lock_fd */
    PP_RINGS_NONE     /* the spans come from elsewhere, by pp_store_append: no session, no drain, and no
                         environment,     which is that of another machine */
};

/* Strings are borrowed until pp_recording_start returns, sample_ctx until pp_recording_stop. */
struct pp_recording_opts {
    struct pp_store_opts store; /* path, force, limits; session_id is filled in */
    enum pp_recording_rings rings;
    size_t ring_spans;
    int resources;
    int lock_fd;             /* taken over, on failure too */
    const char *tool;        /* run.tool: "pipeprobe", "libpipeprobe" */
    uint64_t started_ns;     /* CLOCK_MONOTONIC; 0: when the adopted session was made, or now */
    uint64_t started_utc_ns; /* 0: as this machine's clocks tell it from started_ns */
    const char *data_path;   /* whose file system the environment describes; NULL: none */
    int (*sample_path)(void *ctx, uint64_t sample, char *buf,
                       size_t size); /* as in pp_drain_opts; may be NULL */
    void *sample_ctx;
    struct pp_identity identity; /* whose recording this is; launcher NULL: of no rank */
    struct pp_device *device;    /* as in pp_collect_opts (collectors/collector.h); NULL: none */
    int gpu_activity;
    double lines_hz;
};

/* Makes the file and, beside it, the rings. PP_E_EXISTS, PP_E_NO_SPACE, ... as pp_store_create and
 * pp_session_open. On failure nothing new is left on disk, and *out is NULL. */
pp_status pp_recording_create(const struct pp_recording_opts *opts, struct pp_recording **out,
                              struct pp_err *err);
/* command_line: of the program that is recorded; NULL: not known. After a failure only pp_recording_abandon
 * or pp_recording_free may follow. */
pp_status pp_recording_start(struct pp_recording *r, const char *command_line, struct pp_err *err);
/* What was recorded; belongs to r. Called again it only returns that. */
const struct pp_drain_stats *pp_recording_stop(struct pp_recording *r);
/* outcome: "finished", "interrupted", "failed", "ended without closing". ended_ns: 0 is now. Stops first if
 * need be. The file stays readable whatever fails; err says what is missing, the first failure of the drain
 * before any other. */
pp_status pp_recording_finish(struct pp_recording *r, const char *outcome, uint64_t ended_ns,
                              struct pp_err *err);

/* The recording never began, as when the program to be recorded could not be started: removes file and rings,
 * frees. */
void pp_recording_abandon(struct pp_recording *r);
/* Stops what still goes on and closes the file as it is. The rings go if the recording is finished or its
 * file was taken away; else those that hold spans stay. NULL is fine. */
void pp_recording_free(struct pp_recording *r);

struct pp_store *pp_recording_store(struct pp_recording *r);     /* until it is freed */
struct pp_session *pp_recording_session(struct pp_recording *r); /* likewise; NULL without rings */
const char *pp_recording_rings_dir(const struct pp_recording *r);
/* What pp_collectors_describe says of the recording's collectors; NULL when it has not started. */
const char *pp_recording_describe(const struct pp_recording *r, const struct pp_collector *row);
/* 1: the file was deleted, moved or replaced meanwhile: under its name there is nothing to be read. */
int pp_recording_lost(const struct pp_recording *r);
