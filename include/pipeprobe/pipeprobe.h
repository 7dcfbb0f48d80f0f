/* pipeprobe/pipeprobe.h: record your own data loader into a run that `pipeprobe report` reads like any other.
 *
 *     struct pp_recorder *rec;
 *     struct pp_err err;
 *     if (pp_open("run.sqlite", NULL, &rec, &err) != PP_OK)      one per process
 *         fprintf(stderr, "not recorded: %s\n", err.text);       rec is NULL; everything below accepts
 *                                                                that and does nothing
 *     struct pp_thread *t = pp_thread_open(rec, PP_LANE_WORKER, "worker-0");   in the thread that
 *       records, once
 *     pp_span_begin(t, PP_PHASE_READ, &(struct pp_lap){.batch = 7, .sample = 31});
 *     ...
 *     pp_span_end(t, bytes, 0);
 *     pp_thread_retire(t);
 *     pp_close(rec, NULL);
 *
 * Link with `pkg-config --cflags --libs pipeprobe`. samples/c_loader.c is a whole loader;
 * docs/reference/c-api.md says which spans the report wants.
 *
 * A span goes into a ring of the thread's own, in a file mapped beside the run ("run.sqlite.rings/"): no
 * system call, no lock, no allocation, and it survives the death of the process however that comes. A ring
 * that is full drops and counts; recording never blocks. pp_open starts `pipeprobe drain` as a process of its
 * own, which carries the rings into the SQLite file and finishes it when the last process has closed or died.
 * Where that program is not found, the rings stay, and the next `pipeprobe report run.sqlite` recovers what
 * they hold.
 *
 * Several processes: open the same path; the first makes the run, the others join it. A forked child inherits
 * rec, not the threads: each of its threads calls pp_thread_open again (inherited handles are silent there).
 *
 * Units: times are nanoseconds of CLOCK_MONOTONIC, sizes bytes. Errors: functions that can fail return a
 * pp_status and fill err (which may be NULL) with a sentence. Nothing here prints, exits or installs a signal
 * handler. */
#ifndef PIPEPROBE_PIPEPROBE_H
#define PIPEPROBE_PIPEPROBE_H

#include <pipeprobe/phase.h>
#include <pipeprobe/span.h>
#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pp_recorder; /* a run, as one process sees it */
struct pp_thread;   /* a recording thread */

/* Zero-initialise; NULL means all defaults. */
struct pp_open_opts {
    int replace;       /* an earlier run of that name gives way; without it PP_E_EXISTS */
    size_t ring_spans; /* per thread, rounded up to a power of two, 64 bytes each; 0: 65536 */
    int resources;     /* record CPU time and run-queue delay of each span too (about 0.5 us more per span) */
    const char *collector; /* the pipeprobe program; NULL: $PIPEPROBE_COLLECTOR, then "pipeprobe" in PATH,
                              then where it was installed.
                              "" starts none: the rings are recovered when the run is opened */
    /* What no span says of a loader and predictions need; 0: not said. Of several processes the first that
     * says a number has said it. */
    uint32_t workers, batch_size, prefetch; /* prefetch: batches per worker; 2 where it is not said */
};

/* Opens the run at path ("NAME.sqlite"), or joins it when another process records into it. One thread at a
 * time. The recorder belongs to the caller. PP_E_EXISTS, PP_E_NOT_FOUND or PP_E_ACCESS (its directory),
 * PP_E_NO_SPACE, PP_E_NO_MEMORY, PP_E_USAGE; *out is then NULL. */
pp_status pp_open(const char *path, const struct pp_open_opts *opts, struct pp_recorder **out,
                  struct pp_err *err);
/* Why the file is not written while the program runs (no collector was found, or it could not start); NULL:
 * it is, or rec is NULL. The spans are safe in the rings as far as these reach. Lives as long as rec. */
const char *pp_open_note(const struct pp_recorder *rec);
/* This process records no more: its handles end (spans still open become unfinished ones) and are freed. The
 * last process to close waits, up to 30 seconds, until the file is finished. PP_E_TRANSIENT: it was not
 * finished by then; PP_E_INCONCLUSIVE: no collector, the rings wait to be recovered; PP_E_NO_SPACE: the file
 * is there, but threads got no handle for want of room; PP_E_IO: the file went away. Threads must have
 * stopped recording. NULL is fine. */
pp_status pp_close(struct pp_recorder *rec, struct pp_err *err);

/* Called by the thread that will record, once. The handle belongs to the recorder and is valid until it is
 * closed; only that thread may use it. NULL when there is no room (counted in the file) or rec is NULL. lane
 * says what kind of thread it is: the report looks for data_wait and step on a PP_LANE_TRAINER. name is
 * copied, 31 bytes at most. Up to 16384 threads in the life of a run; from the 4096th on a thread goes on as
 * one of its lane and name that has retired, where there is one, so that workers may start anew for as long
 * as the run lasts. What a retired thread recorded takes room on disk only until it is stored. */
struct pp_thread *pp_thread_open(struct pp_recorder *rec, pp_lane lane, const char *name);
/* The thread has recorded its last span. NULL is fine. */
void pp_thread_retire(struct pp_thread *t);

/* A name for pp_lap.name and pp_counter_put, the same for the same text in every process; 0 ("no name") when
 * the table of 1023 is full. 59 bytes at most. A linear look-up: do it once, not per span. Any thread. */
uint16_t pp_name(struct pp_recorder *rec, const char *text);

/* What a span carries beside its times. NULL where it is taken: no batch, no sample. */
struct pp_lap {
    uint64_t sample; /* dataset index, PP_NO_SAMPLE, or with PP_SPAN_COUNT a number of samples */
    uint64_t bytes;
    uint32_t batch;         /* counted from 0 over the run, or PP_NO_BATCH */
    uint32_t cache_hit_kib; /* with PP_SPAN_HAS_CACHE: of bytes, from the page cache */
    uint16_t epoch;
    uint16_t flags; /* PP_SPAN_ERROR | _RETRY | _COUNT | _WARMUP | _HAS_CACHE; HAS_CPU/HAS_DELAY are set by
                       the recorder */
    uint16_t name;  /* 0: the phase's own */
};

/* A span that begins here and ends at the matching pp_span_end of the same thread; they nest, 16 deep (deeper
 * ones are counted as dropped). One that the end of its process cut off is in the file with
 * PP_SPAN_UNFINISHED, up to the last moment the session was known to be alive. bytes and flags are added to
 * those of the beginning. An end without a beginning does nothing. */
void pp_span_begin(struct pp_thread *t, pp_phase phase, const struct pp_lap *lap);
void pp_span_end(struct pp_thread *t, uint64_t bytes, unsigned flags);

/* Laps: adjacent phases share one stamp, half the cost of a span. pp_lap_start stamps "now"; pp_lap_end
 * records [last stamp, now) as phase and stamps; pp_lap_skip stamps without recording (time that belongs to
 * no phase). With resources on, each stamp also reads the thread's CPU clock; run delay is read from
 * schedstat only when the phase left more than 20 us unexplained by CPU time, so what a short phase leaves
 * out (< 20 us) shows up in the next long one on the same thread. Both are stored as measured, never clamped
 * to the duration: cpu_ns can exceed dur_ns by the clock's grain, run_delay_ns by what short phases before it
 * left. What the readings cost (about 0.3 us of CPU clock, 0.6 us more with schedstat) falls into the next
 * phase. A lap_end before any lap_start only stamps. */
void pp_lap_start(struct pp_thread *t);
void pp_lap_end(struct pp_thread *t, pp_phase phase, const struct pp_lap *lap);
void pp_lap_skip(struct pp_thread *t);
/* Says which phase the running lap is, so that a kill leaves it in the file as unfinished. The next
 * pp_lap_end or pp_lap_skip takes it back. About 2 ns; for phases that may hang. */
void pp_lap_expect(struct pp_thread *t, pp_phase phase, const struct pp_lap *lap);
/* The monotonic time of the last stamp (0 when recording is off or nothing was stamped). */
uint64_t pp_lap_stamp_ns(const struct pp_thread *t);

/* Records a span whose times the caller knows (an event on another lane). */
void pp_span_put(struct pp_thread *t, const struct pp_span *span);
/* A counter has this value now. */
void pp_counter_put(struct pp_thread *t, uint16_t name, uint64_t value);

/* Recording switched off (t is NULL) is one test where the call stands, and no call. The names above stay
 * functions of the library as well: for programs that look them up (dlsym, ctypes), and for compilers that do
 * not know this attribute or do not optimise. */
#ifdef __GNUC__
#define PP_UNLESS_OFF(function, parameters, arguments) \
    void function##_on parameters __asm__(#function); \
    extern __inline__ __attribute__((__gnu_inline__)) void function parameters \
    { \
        if (t) \
            function##_on arguments; \
    }
PP_UNLESS_OFF(pp_span_begin, (struct pp_thread * t, pp_phase phase, const struct pp_lap *lap),
              (t, phase, lap))
PP_UNLESS_OFF(pp_span_end, (struct pp_thread * t, uint64_t bytes, unsigned flags), (t, bytes, flags))
PP_UNLESS_OFF(pp_lap_start, (struct pp_thread * t), (t))
PP_UNLESS_OFF(pp_lap_end, (struct pp_thread * t, pp_phase phase, const struct pp_lap *lap), (t, phase, lap))
PP_UNLESS_OFF(pp_lap_skip, (struct pp_thread * t), (t))
PP_UNLESS_OFF(pp_lap_expect, (struct pp_thread * t, pp_phase phase, const struct pp_lap *lap),
              (t, phase, lap))
PP_UNLESS_OFF(pp_span_put, (struct pp_thread * t, const struct pp_span *span), (t, span))
PP_UNLESS_OFF(pp_counter_put, (struct pp_thread * t, uint16_t name, uint64_t value), (t, name, value))
#undef PP_UNLESS_OFF
#endif

#ifdef __cplusplus
}
#endif
#endif
