/* trace/drain_side.h: the consuming end of a session, for the one thread (or process) that empties the rings.
 * Threads may be of several processes (a forked child that registered again); a thread whose ring is not
 * ready yet simply has no spans. */
#pragma once

#include "probe/trace/trace.h"

#include <pipeprobe/ring.h>

struct pp_ring_info {
    uint32_t thread; /* pp_thread_id */
    pp_lane lane;
    char name[32];
    int64_t pid, tid;
    uint64_t recorded; /* spans accepted into the ring since the start */
    uint64_t read;     /* those of them that pp_ring_read gave out */
    uint64_t dropped;  /* spans refused because the ring was full */
    int retired;
    uint32_t taken_over; /* threads that went on where the one before had ended (ring.h); pid and tid are the
                            last one's, the counts those of all */
};

/* Number of threads registered so far; they are numbered 0..n-1. */
uint32_t pp_session_threads(const struct pp_session *s);
void pp_session_ring_info(const struct pp_session *s, uint32_t thread, struct pp_ring_info *out);
/* Spans that could not be recorded because no ring could be made. */
uint64_t pp_session_unregistered(const struct pp_session *s);
/* Interned name by id, as a text that ends whatever another process has written there; out[0] is '\0' where
 * there is none. Returns out, or NULL where there is none. */
const char *pp_session_name(const struct pp_session *s, uint16_t name, char out[PP_NAME_BYTES]);

/* What a ring holds at one moment and has not been read, to be read piece by piece; what is recorded
 * meanwhile is for the next reader. One per ring at a time. */
struct pp_ring_reader {
    struct pp_ring_map *map; /* of the session; NULL: there is no ring yet */
    struct pp_clock_reader clock;
    uint64_t left; /* spans */
};
struct pp_ring_reader pp_ring_reader(struct pp_session *s, uint32_t thread);
/* Copies up to max of them into out (times already in ns) and returns how many. What was read
 * stays in the ring, so that a kill loses nothing, until pp_ring_release frees everything read: call it after
 * COMMIT. The ring of a thread that has retired gives the space of its records back then. */
size_t pp_ring_read(struct pp_ring_reader *r, struct pp_span *out, size_t max);
void pp_ring_release(struct pp_session *s, uint32_t thread);
/* After pp_ring_release: 1: the thread has retired and no other one goes on where it ended. That may change
 * for threads from PP_THREADS_ONCE on, which then have records again. */
int pp_ring_is_over(struct pp_session *s, uint32_t thread);
/* Largest fill of any ring, 0..1: the drain wakes early above one half. */
double pp_session_fill(const struct pp_session *s);

/* Spans the thread had begun and not ended, as unfinished ones up to end_ns, innermost first: at most max of
 * them. For a thread that records no more (its process has gone, or it is at rest). */
size_t pp_ring_unfinished(struct pp_session *s, uint32_t thread, uint64_t end_ns, struct pp_span *out,
                          size_t max);
/* What the thread is in right now: its innermost open span, up to now_ns, flagged unfinished; 0 when it is in
 * none. For a thread that goes on recording: it may just be leaving one phase for the next, so that what
 * comes back is for looking at, not for adding up. */
int pp_ring_open_now(struct pp_session *s, uint32_t thread, uint64_t now_ns, struct pp_span *out);
/* What the session's file says of it. */
struct pp_session_facts {
    uint64_t id; /* random; the store keeps it, so that recovery takes only the ring files of its own run */
    int64_t owner_pid; /* the process that opened the session */
    uint64_t created_ns;
    uint32_t stated[PP_STATED]; /* what the program said of its loader so far; 0: nothing */
};
struct pp_session_facts pp_session_facts(const struct pp_session *s);
/* Sleeps until timeout_ns has passed or a producer found its ring half full (returns 1), or pp_session_wake
 * was called (1). */
int pp_session_wait(struct pp_session *s, uint64_t timeout_ns);
/* Any thread: the drain comes before its poll is due. One system call per drain visit at most. */
void pp_session_wake(struct pp_session *s);
/* Re-reads the clock pair when one is due (about once a second). pp_ring_reader does it too. */
void pp_session_anchor(struct pp_session *s);

/* `pipeprobe drain` as the public API starts it (api.c): the descriptors that it inherits, and what it
 * writes. */
#define PP_COLLECTOR_READY "ready\n" /* what it writes, or else a sentence that says why it cannot */
enum { PP_COLLECTOR_LOCK_FD = 3, PP_COLLECTOR_READY_FD = 4 };
