/* collectors/attach/inject/inject.h: the insides of libpipeprobe_inject.so, shared by its files. The library
 * lives in somebody else's program: it never prints, exits or waits for anybody, and on any trouble it goes
 * quiet and counts (process_file.h).
 *
 *   init.c     the entry point: joins the session once per process, installs our functions in each
 *              client's slots; the next tool: what it put into the slots, and its handles as keys of ours
 *   slots.c    the functions that stand in the slots: arguments -> calls below, and on to the next tool
 *              when there is one
 *   ranges.c   open ranges: a stack per thread, a table of start/end ids; a closed range becomes a span, with
 *              its CPU time and run-queue delay
 *   names.c    texts -> labels (an interned name and its phase), domains, handles given to the client
 *   process.c  the one state of the process: session, threads, fork, counters
 *
 * Once warm an event takes no lock and allocates nothing; a text that was never seen takes the lock of
 * process.c to be interned. */
#pragma once

#include "collectors/attach/inject/nvtx_abi.h"
#include "collectors/attach/process_file.h"
#include "collectors/attach/namemap.h"
#include "probe/trace/trace.h"

/* ---- names.c ---- */

/* What a text became. Fits in a pointer, so that it is also the handle of a registered string. */
struct label {
    uint16_t name;      /* interned; 0: none */
    uint8_t phase;      /* PP_PHASE_USER when no map names it */
    uint8_t of_process; /* other threads of the process do the work meanwhile: its CPU time is theirs */
};

/* Of the first of the three that is there. */
struct label inject_label_of(unsigned domain, const struct nvtx_attributes *a, const char *text,
                             const wchar_t *wide);
const char *inject_utf8(const wchar_t *text, char *out, size_t size); /* out */

/* Handles that the client gets. Never NULL. next is the next tool's handle, NULL without one; it is then what
 * the client gets. */
void *inject_string_register(unsigned domain, const char *text, void *next);
void *inject_domain_create(const char *name, void *next);
unsigned inject_domain_number(
    const void *handle); /* 0, the default domain, for NULL and for what is unknown */
/* The handle as the next tool knows it: NULL for one that only we gave. */
void *inject_handle_for_next(void *handle);

/* ---- ranges.c ---- */

#define INJECT_DEPTH_MAX 128
#define INJECT_OPEN_MAX 4096 /* start/end ranges open at once in a process */

struct open_range {
    uint64_t start; /* a stamp (trace/join.h); 0: not ours to record: opened before a fork, or by a thread
                       without a ring */
    uint64_t cpu_ns, run_delay_ns; /* the thread's clocks at the start */
    uint32_t domain, batch;
    struct label label;
    uint16_t measured; /* PP_SPAN_HAS_CPU, PP_SPAN_HAS_DELAY */
};

/* What a thread's CPU accounting needs (ranges.c). */
struct accounts {
    struct pp_accounts delay;
    uint8_t brief[PP_PHASE_COUNT]; /* the last range of the phase was too short to be worth measuring */
};

struct inject_thread {
    struct pp_thread *trace; /* NULL: no ring was to be had */
    struct inject_thread *next;
    uint64_t fork_count; /* of the process when it registered */
    int64_t tid;
    int lane_rank;
    struct accounts accounts;
    unsigned depth, beyond;            /* beyond: pushed deeper than INJECT_DEPTH_MAX */
    uint16_t in_phase[PP_PHASE_COUNT]; /* open ranges of each mapped phase */
    struct open_range stack[INJECT_DEPTH_MAX];
};

/* What a client calls, with the message that inject_label_of takes. The level is -1 where nothing can be
 * recorded. */
void inject_mark(unsigned domain, const struct nvtx_attributes *a, const char *text, const wchar_t *wide);
int inject_push(unsigned domain, const struct nvtx_attributes *a, const char *text, const wchar_t *wide);
int inject_pop(unsigned domain);
/* The id is good also where nothing can be recorded, as is ending it there. 0: too many are open. next_id:
 * the next tool's, kept beside ours. */
uint64_t inject_start(unsigned domain, const struct nvtx_attributes *a, const char *text, const wchar_t *wide,
                      uint64_t next_id);
void inject_end(uint64_t id);
uint64_t inject_next_id(uint64_t id);
/* Records what the thread has open as unfinished; and what the process has started and not ended. The thread
 * has a ring. */
void inject_unfinished(struct inject_thread *t);
void inject_unfinished_started(struct inject_thread *t);

/* ---- process.c ---- */

/* Joins the session named by PIPEPROBE_SESSION; again and again is fine. 0 when nothing can be recorded. */
int inject_begin(void);

/* Every event is bracketed: NULL when it cannot be recorded (off, reentrant, no ring), and then leave is not
 * called. */
struct inject_thread *inject_enter(void);
void inject_leave(void);

void inject_name_thread(uint32_t tid, const char *name); /* an event, too; NULL: none */
void inject_lane(struct inject_thread *t, pp_lane lane); /* the thread does work of this lane */
/* A span whose work other threads of the process do: into a ring of its own, as if one worker did all of it.
 * Several threads may hand such work out in turns; what overlaps a span that was put before is left out. */
void inject_put_of_process(const struct pp_span *s);

struct inject_process {
    struct pp_session *session;
    struct pp_namemap *map;
    struct pp_process_file *file; /* atomic; never NULL once begun */
    uint64_t fork_count;          /* atomic; forks between the process that began and this one */
};
extern struct inject_process inject_process;
/* The process's lock: interning, registering. Taken in the fork handlers too. */
void inject_lock(void);
void inject_unlock(void);

static inline struct pp_process_file *inject_file(void)
{
    return __atomic_load_n(&inject_process.file,
                           __ATOMIC_ACQUIRE); /* pairs with the release in begin_thread */
}

/* Relaxed: it changes only in a forked child, before that has a second thread. */
static inline uint64_t inject_fork_count(void)
{
    return __atomic_load_n(&inject_process.fork_count, __ATOMIC_RELAXED);
}

#define INJECT_COUNT(counter) ((void)__atomic_fetch_add(&inject_file()->counter, 1, __ATOMIC_RELAXED))

/* ---- slots.c, init.c ---- */

extern nvtx_function *const inject_core[CORE_SLOTS], *const inject_core2[CORE2_SLOTS];
/* What the next tool put into the slots, by number; NULL where it put nothing. */
extern nvtx_function *inject_next_core[CORE_SLOTS], *inject_next_core2[CORE2_SLOTS];

/* A small map from the next tool's handles to what they mean to us. No entry ever leaves. */
int inject_handle_put(const void *key, uint64_t value); /* 0 when full; with the process's lock held */
uint64_t inject_handle_get(const void *key);            /* 0: not there */
