/* trace/trace.h: what a thread of a pipeline calls to record spans. Runs inside somebody's training job: once warm it
 * allocates nothing, takes no lock and prints nothing; on trouble it goes quiet and counts.
 *
 *   session = a directory of ring files in shared memory (survives a kill); one ring per recording thread.
 *   thread  -> its own single-producer ring -> (another thread or process) drain -> store
 *
 * Recording off is a NULL struct pp_thread: every call below accepts it and does nothing.
 *
 * fork: handles a child inherits go silent in it; it may register again in the same session and gets its own ring. The only
 * process-wide state is the list of open sessions that the fork handlers walk. */
#ifndef PP_TRACE_TRACE_H
#define PP_TRACE_TRACE_H

#include <pipeprobe/phase.h>
#include <pipeprobe/span.h>
#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

struct pp_session;
struct pp_thread;

struct pp_session_opts {
    const char *dir;       /* where ring files live; made if missing (PP_E_EXISTS when it holds a session); NULL: a fresh private one in $XDG_RUNTIME_DIR, /dev/shm, $TMPDIR or /tmp */
    size_t ring_spans;     /* per thread, rounded up to a power of two; 0: 64 Ki */
    int resources;         /* record cpu_ns and run_delay_ns with every lap (1), or times alone (0) */
};

/* The session belongs to the caller; threads registered with it must have stopped recording before it is closed.
 * keep_files: leave rings that hold unread spans on disk for recovery. A path "RUN.sqlite.rings" as dir is where pp_store_recover looks. */
pp_status pp_session_open(const struct pp_session_opts *opts, struct pp_session **out, struct pp_err *err);
void pp_session_close(struct pp_session *s, int keep_files);
const char *pp_session_dir(const struct pp_session *s);

/* Called by the thread that will record, once. The handle belongs to the session and is valid until it is closed; only the
 * registering thread may record with it. NULL when there is no room (counted) or s is NULL: recording is then off for
 * this thread. name is copied ("pp-worker-3"; at most 31 bytes). */
struct pp_thread *pp_thread_register(struct pp_session *s, pp_lane lane, const char *name);
/* The thread has recorded its last span; the ring may be retired once drained. NULL is fine. */
void pp_thread_retire(struct pp_thread *t);
/* Small integer, 0 for the first registered thread; what the store calls thread id. UINT32_MAX for NULL. */
uint32_t pp_thread_id(const struct pp_thread *t);

/* What a lap carries beside its times. Zero-initialise, then set batch/sample. */
struct pp_lap {
    uint64_t sample;
    uint64_t bytes;
    uint32_t batch;
    uint32_t cache_hit_kib;
    uint16_t epoch;
    uint16_t flags; /* PP_SPAN_ERROR | _RETRY | _COUNT | _WARMUP | _HAS_CACHE; HAS_CPU/HAS_DELAY are set by the recorder */
};

/* Adjacent phases share one stamp. pp_lap_start stamps "now"; pp_lap_end records [last stamp, now) as phase and stamps;
 * pp_lap_skip stamps without recording (time that belongs to no phase). With resources on, each stamp also reads the
 * thread's CPU clock; run delay is read from schedstat only when the phase left more than 20 us unexplained by CPU time,
 * so what a short phase leaves out (< 20 us) shows up in the next long one on the same thread. Both are stored as measured, never
 * clamped to the duration: cpu_ns can exceed dur_ns by the clock's grain, run_delay_ns by what short phases before it left. What the readings
 * cost (about 0.3 us of CPU clock, 0.6 us more with schedstat) falls into the next phase. lap == NULL: no batch, no sample.
 * A lap_end before any lap_start only stamps. */
void pp_lap_start(struct pp_thread *t);
void pp_lap_end(struct pp_thread *t, pp_phase phase, const struct pp_lap *lap);
void pp_lap_skip(struct pp_thread *t);
/* The monotonic time of the last stamp (0 when recording is off or nothing was stamped). */
uint64_t pp_lap_stamp_ns(const struct pp_thread *t);

/* What one pp_lap_end costs on this machine, measured now on a scratch ring (median of batches, < 1 ms in all; without the looks at schedstat). For the
 * report's overhead line; not for the hot path. 0 when it cannot be measured. */
uint64_t pp_lap_cost_ns(struct pp_session *s);

/* Records a span whose times the caller knows (an event on another lane). */
void pp_span_put(struct pp_thread *t, const struct pp_span *span);

/* A counter value now. name is one of the interned counters; interning is not for the hot path: do it once. */
uint16_t pp_name_intern(struct pp_session *s, const char *name); /* 0 when the table is full or s is NULL */
void pp_counter_put(struct pp_thread *t, uint16_t name, uint64_t value);

#endif
