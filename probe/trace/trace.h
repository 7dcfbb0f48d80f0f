/* trace/trace.h: sessions and threads below the public API (pipeprobe/pipeprobe.h, which has what a recording
 * thread calls). Runs inside somebody's training job: once warm it allocates nothing, takes no lock and
 * prints nothing; on trouble it goes quiet and counts.
 *
 *   session = a directory of ring files in shared memory (survives a kill); one ring per recording thread.
 *   thread  -> its own single-producer ring -> (another thread or process) drain -> store
 *
 * Recording off is a NULL struct pp_thread: every call below accepts it and does nothing.
 *
 * fork: handles a child inherits go silent in it; it may register again in the same session and gets its own
 * ring. The only process-wide state is the list of open sessions that the fork handlers walk. */
#pragma once

#include <pipeprobe/pipeprobe.h>

struct pp_session;

struct pp_session_opts {
    const char *dir; /* where ring files live; made if missing (PP_E_EXISTS when it holds a session); NULL: a
                        fresh private one in $XDG_RUNTIME_DIR, /dev/shm, $TMPDIR or /tmp */
    size_t ring_spans; /* per thread, rounded up to a power of two; 0: 64 Ki */
    int resources;     /* record cpu_ns and run_delay_ns with every lap (1), or times alone (0) */
};

/* The session belongs to the caller; threads registered with it must have stopped recording before it is
 * closed. keep_files: leave rings that hold unread spans on disk for recovery. A path "RUN.sqlite.rings" as
 * dir is where pp_store_recover looks. */
pp_status pp_session_open(const struct pp_session_opts *opts, struct pp_session **out, struct pp_err *err);
void pp_session_close(struct pp_session *s, int keep_files);
const char *pp_session_dir(const struct pp_session *s);

/* Called by the thread that will record, once. The handle belongs to the session and is valid until it is
 * closed; only the registering thread may record with it. NULL when there is no room (counted) or s is NULL:
 * recording is then off for this thread. name is copied ("pp-worker-3"; at most 31 bytes). */
struct pp_thread *pp_thread_register(struct pp_session *s, pp_lane lane, const char *name);
/* Small integer, 0 for the first registered thread; what the store calls thread id. UINT32_MAX for NULL. */
uint32_t pp_thread_id(const struct pp_thread *t);

/* What one pp_lap_end costs on this machine, measured now on a scratch ring (median of batches, < 1 ms in
 * all; without the looks at schedstat). For the report's overhead line; not for the hot path. 0 when it
 * cannot be measured. */
uint64_t pp_lap_cost_ns(struct pp_session *s);

/* An interned name or counter (pipeprobe.h, pp_name) of a session. */
uint16_t pp_name_intern(struct pp_session *s, const char *name); /* 0 when the table is full or s is NULL */
