/* pipeprobe/ring.h: the files of a recording session, the ABI between the recording process and the one
 * that drains or recovers.
 *
 * A session is a directory:
 *   session         one struct pp_session_file: identity, clock, thread slots, interned names
 *   ring-0000 ...   one per recording thread: struct pp_ring_file, then `capacity` span records
 *   and the small files named below
 *
 * Everything is an offset or a number, nothing is a pointer, so the same bytes serve our threads, forked
 * children, another process that maps them, and the recovery of a run that was killed. Native byte order: a
 * session never leaves its machine.
 *
 * Ring: single producer, single consumer. Record i lies in slot i & (capacity - 1); records [tail, head) are
 * valid. The producer publishes with a release store of head, the consumer frees with a release store of
 * tail, each reads the other's with acquire. Fields marked (shared) are only touched through __atomic
 * builtins. */
#ifndef PIPEPROBE_RING_H
#define PIPEPROBE_RING_H

#include <pipeprobe/span.h>

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PP_SESSION_MAGIC "PPSESSN" /* 8 bytes with the NUL */
#define PP_RING_MAGIC "PPRING\0"
#define PP_RING_ABI 4
#define PP_SESSION_FILE_NAME "session"
#define PP_RING_FILE_FORMAT "ring-%04u"
#define PP_PRESENCE_FILE_NAME "alive" /* every process of the session holds a shared OFD lock on it */
/* Of `pipeprobe exec`: which name is which phase, written before the program starts; may be absent */
#define PP_MAP_FILE_NAME "names.map"
/* Of `pipeprobe exec`: what each process of the program says about itself; the rest of the name is its pid */
#define PP_PROCESS_FILE_PREFIX "process-"
/* Of `pipeprobe exec`: the DataLoaders of a Python process; the rest of the name is its pid */
#define PP_LOADERS_FILE_PREFIX "loaders-"
/* Of `pipeprobe exec`: the samples that a Python process's DataLoaders asked for; the rest of the name is its
 * pid */
#define PP_ORDER_FILE_PREFIX "order-"
/* Of `pipeprobe exec`: a process that is a rank asks for a recording of its own; the rest of the name is its
 * pid. Written as PP_RANK_ASKING_PREFIX, then renamed */
#define PP_RANK_FILE_PREFIX "rank-"
#define PP_RANK_ASKING_PREFIX "asking-"
/* Of `pipeprobe exec`: the session of that rank, which the rest of the name says */
#define PP_RANK_SESSION_PREFIX "session-of-"
/* Of `pipeprobe exec`: members of the transforms of a Python process; the rest of the name is its pid. "on":
 * they are to be noted */
#define PP_OPS_FILE_PREFIX "ops-"
/* Of `pipeprobe exec`: what the GPU does for a Python process */
#define PP_ACTIVITY_FILE_NAME "gpu-activity"
#define PP_ENTER_FILE_NAME "enter.py" /* scripts of pipeprobe attach, and what they answer */
#define PP_LEAVE_FILE_NAME "leave.py"
#define PP_ANSWER_FILE_PREFIX "answer-"
/* Of `pipeprobe exec`: why the first Python that could not be given the hooks has none */
#define PP_UNHOOKED_FILE_NAME "unhooked"

#define PP_THREADS_MAX 16384
/* Slots below this one have one thread each. From here on a thread takes over the slot and the ring of an
 * ended thread of its lane and name, where there is one: a job may start workers for months */
#define PP_THREADS_ONCE 4096
#define PP_NAMES_MAX 1024
#define PP_NAME_BYTES 60
#define PP_CLOCK_SEGMENTS 1024
#define PP_RING_SPANS_MAX (1u << 26)
#define PP_OPEN_SPANS_MAX 16

enum { PP_CLOCK_MONOTONIC_NS = 0, PP_CLOCK_TSC = 1 };

/* In a ring, pp_span.reserved says what start_ns and dur_ns hold; the drain leaves 0. */
enum { PP_STAMP_NS = 0, PP_STAMP_TICKS = 1 };

/* From tick0 on, ns = ns0 + (tick - tick0) * mult / 2^32. Each segment starts where the one before it ends,
 * so the conversion is continuous and one tick always becomes the same nanosecond, in every process and
 * at any time. */
struct pp_clock_segment {
    uint64_t tick0, ns0, mult;
};

/* What a program says of its loader, X(symbol, key in section "config", unit). */
#define PP_STATED_MAP(X) \
    X(WORKERS, "workers", "threads") \
    X(BATCH_SIZE, "batch_size", "samples") \
    X(PREFETCH, "prefetch", "batches")
enum {
#define PP_STATED_ENUM(symbol, key, unit) PP_STATED_##symbol,
    PP_STATED_MAP(PP_STATED_ENUM)
#undef PP_STATED_ENUM
        PP_STATED
};

/* FREE to FAILED: of threads and names. A thread of a slot from PP_THREADS_ONCE on that retires leaves it
 * ENDED; once its records are stored and their pages given back the drain makes that EMPTY. Either may be
 * taken over: CLAIMED, then READY again. */
enum {
    PP_SLOT_FREE = 0,
    PP_SLOT_CLAIMED = 1,
    PP_SLOT_READY = 2,
    PP_SLOT_FAILED = 3,
    PP_SLOT_ENDED = 4,
    PP_SLOT_EMPTY = 5
};
/* thread_state holds one of them in its lower bits; with ENDED and EMPTY, the others are a hash of the lane
 * and the name that the thread had. */
#define PP_SLOT_KIND(state) ((state)&7u)

struct pp_name_slot {
    uint32_t state; /* (shared) PP_SLOT_* */
    char text[PP_NAME_BYTES];
};

struct pp_session_file {
    char magic[8];
    uint32_t abi, file_bytes;
    uint64_t session_id; /* random; also in every ring and in the run's SQLite file */
    int64_t owner_pid;   /* the process that opened the session holds an OFD write lock on this file for as
                            long as it lives */
    uint64_t created_ns;
    uint64_t ring_spans;
    uint32_t clock; /* PP_CLOCK_* */
    uint32_t resources;
    uint32_t stated[PP_STATED]; /* (shared) 0: not said */
    uint32_t reserved;

    uint32_t threads;      /* (shared) slots handed out: ids 0..threads-1 */
    uint32_t unregistered; /* (shared) registrations that failed */
    uint32_t wake;         /* (shared) futex: 1 once a producer has asked the drain to come early */
    uint32_t
        segments; /* (shared) published since the start; segment i lies in segment[i % PP_CLOCK_SEGMENTS] */
    struct pp_clock_segment segment[PP_CLOCK_SEGMENTS];
    uint32_t thread_state[PP_THREADS_MAX];  /* (shared) PP_SLOT_KIND() */
    struct pp_name_slot name[PP_NAMES_MAX]; /* name[0] stays empty: 0 means "the phase's own name" */
};

/* A span that has begun. It is over once ends_at is set and head has reached it: a kill between the two
 * leaves it open, never doubled. */
struct pp_open_span {
    uint64_t start; /* as pp_span.start_ns in a ring */
    uint64_t sample;
    uint64_t ends_at; /* 0, or the head that publishes its record */
    uint32_t batch;
    uint16_t epoch, name;
    uint16_t flags;
    uint8_t phase, stamp; /* stamp: PP_STAMP_* */
    uint32_t reserved;
};

struct pp_ring_file {
    char magic[8];
    uint32_t abi, file_bytes_header; /* the records start at this offset */
    uint64_t session_id;
    uint64_t capacity; /* records, a power of two */
    int64_t pid, tid;
    uint32_t thread, lane;
    char name[32];
    uint8_t pad0[128 - 88];

    /* written by the producer alone */
    uint64_t head;          /* (shared) records published since the start */
    uint64_t dropped;       /* (shared) records refused because the ring was full */
    uint32_t retired;       /* (shared) */
    uint32_t open;          /* (shared) spans that have begun: opened[0..open-1], the outermost first; beyond
                               PP_OPEN_SPANS_MAX they are only counted */
    uint32_t taken_over;    /* (shared) threads after the first: head and dropped go on from what they were */
    uint8_t pad1[128 - 28]; /* its own cache lines, and those the prefetcher pairs with them */

    /* written by the consumer alone */
    uint64_t tail; /* (shared) records freed since the start */
    uint8_t pad2[128 - 8];

    /* written by the producer alone */
    struct pp_open_span opened[PP_OPEN_SPANS_MAX];
    uint8_t pad3[4096 - 3 * 128 - PP_OPEN_SPANS_MAX * sizeof(struct pp_open_span)];
};

#ifdef __cplusplus
static_assert(sizeof(struct pp_ring_file) == 4096, "the ring header is one page");
#else
_Static_assert(sizeof(struct pp_ring_file) == 4096, "the ring header is one page");
#endif

/* Whether a name in a session directory is one of ours to remove; the session file, which makes it a session,
 * goes last and is not among them. */
static inline int pp_session_has_file(const char *name)
{
    return strncmp(name, "ring-", 5) == 0 ||
           strncmp(name, PP_PROCESS_FILE_PREFIX, sizeof(PP_PROCESS_FILE_PREFIX) - 1) == 0 ||
           strncmp(name, PP_LOADERS_FILE_PREFIX, sizeof(PP_LOADERS_FILE_PREFIX) - 1) == 0 ||
           strncmp(name, PP_ORDER_FILE_PREFIX, sizeof(PP_ORDER_FILE_PREFIX) - 1) == 0 ||
           strncmp(name, PP_OPS_FILE_PREFIX, sizeof(PP_OPS_FILE_PREFIX) - 1) == 0 ||
           strncmp(name, PP_RANK_FILE_PREFIX, sizeof(PP_RANK_FILE_PREFIX) - 1) == 0 ||
           strncmp(name, PP_RANK_ASKING_PREFIX, sizeof(PP_RANK_ASKING_PREFIX) - 1) == 0 ||
           strncmp(name, PP_RANK_SESSION_PREFIX, sizeof(PP_RANK_SESSION_PREFIX) - 1) == 0 ||
           strncmp(name, PP_ENTER_FILE_NAME, sizeof(PP_ENTER_FILE_NAME) - 1) == 0 ||
           strncmp(name, PP_LEAVE_FILE_NAME, sizeof(PP_LEAVE_FILE_NAME) - 1) == 0 ||
           strncmp(name, PP_ANSWER_FILE_PREFIX, sizeof(PP_ANSWER_FILE_PREFIX) - 1) == 0 ||
           strcmp(name, PP_PRESENCE_FILE_NAME) == 0 || strcmp(name, PP_MAP_FILE_NAME) == 0 ||
           strcmp(name, PP_ACTIVITY_FILE_NAME) == 0 || strcmp(name, PP_UNHOOKED_FILE_NAME) == 0;
}

static inline uint64_t pp_clock_apply(const struct pp_clock_segment *s, uint64_t tick)
{
    __extension__ typedef __int128 wide;
    return s->ns0 + (uint64_t)(((wide)(int64_t)(tick - s->tick0) * (wide)s->mult) >> 32);
}

/* The segment of a tick: the newest that had begun by then, of those still kept; *until: where the next one
 * begins. A tick from before the oldest (more than 1000 segments, that is a quarter of an hour, back) belongs
 * to the oldest. NULL: there is none yet. */
static inline const struct pp_clock_segment *pp_clock_segment_of(const struct pp_session_file *f,
                                                                 uint64_t tick, uint64_t *until)
{
    uint32_t n = __atomic_load_n(&f->segments,
                                 __ATOMIC_ACQUIRE); /* pairs with the release in publish_segment */
    if (!n)
        return (const struct pp_clock_segment *)0;
    uint32_t kept = n < PP_CLOCK_SEGMENTS - 24 ? n : PP_CLOCK_SEGMENTS - 24;
    const struct pp_clock_segment *s = &f->segment[(n - 1) % PP_CLOCK_SEGMENTS];
    *until = s->tick0 + INT64_MAX;
    for (uint32_t i = 2; (int64_t)(tick - s->tick0) < 0 && i <= kept; i++) {
        *until = s->tick0;
        s = &f->segment[(n - i) % PP_CLOCK_SEGMENTS];
    }
    return s;
}

static inline uint64_t pp_clock_ns_of(const struct pp_session_file *f, uint64_t tick)
{
    uint64_t until;
    if (f->clock != PP_CLOCK_TSC)
        return tick;
    const struct pp_clock_segment *s = pp_clock_segment_of(f, tick, &until);
    return s ? pp_clock_apply(s, tick) : 0;
}

/* Converts the stamps of many records: laps touch, so an end is usually the next start, and nearly all lie in
 * the segment of the one before. */
struct pp_clock_reader {
    const struct pp_session_file *file;
    uint64_t tick0, ns0, per_tick; /* of a segment; per_tick: its mult as a fraction of 2^64, so that a
                                      product's upper half is the time */
    uint64_t length;   /* ticks from tick0 on that belong to it; 0: none was looked up, or a tick is a
                          nanosecond or more */
    uint64_t tick, ns; /* the last one converted */
};

static inline struct pp_clock_reader pp_clock_reader(const struct pp_session_file *f)
{
    struct pp_clock_reader c;
    uint32_t n = __atomic_load_n(&f->segments, __ATOMIC_ACQUIRE);
    c.file = f;
    c.tick0 = c.ns0 = c.per_tick = c.length = 0;
    c.tick = n ? f->segment[(n - 1) % PP_CLOCK_SEGMENTS].tick0 : 0;
    c.ns = pp_clock_ns_of(f, c.tick);
    return c;
}

/* The long way, which also remembers the segment. By value: the caller's reader can stay in registers. */
static inline struct pp_clock_reader pp_clock_read_afresh(struct pp_clock_reader c, uint64_t tick)
{
    uint64_t until = 0;
    const struct pp_clock_segment *s = c.file->clock == PP_CLOCK_TSC
                                           ? pp_clock_segment_of(c.file, tick, &until)
                                           : (const struct pp_clock_segment *)0;
    if (s && (int64_t)(tick - s->tick0) >= 0) {
        c.tick0 = s->tick0;
        c.ns0 = s->ns0;
        c.per_tick = s->mult << 32;
        c.length = s->mult >> 32 ? 0 : until - s->tick0;
    }
    c.tick = tick;
    c.ns = pp_clock_ns_of(c.file, tick);
    return c;
}

static inline uint64_t pp_clock_read(struct pp_clock_reader *c, uint64_t tick)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t since = tick - c->tick0;
    if (since >= c->length) {
        *c = pp_clock_read_afresh(*c, tick);
        return c->ns;
    }
    c->tick = tick;
    c->ns = c->ns0 + (uint64_t)(((wide)since * c->per_tick) >> 64);
    return c->ns;
}

/* Turns a record as it lies in a ring into a span as it is stored, elsewhere. What is copied whole and then
 * changed would be written twice: the times are not. */
static inline void pp_ring_record_to_span(struct pp_clock_reader *c, const struct pp_span *record,
                                          struct pp_span *span)
{
    uint64_t start = record->start_ns, dur = record->dur_ns;
    if (record->reserved == PP_STAMP_TICKS) {
        uint64_t end_tick = start + dur;
        start = start == c->tick ? c->ns : pp_clock_read(c, start);
        dur = pp_clock_read(c, end_tick) - start;
    }
    span->start_ns = start;
    span->dur_ns = dur;
    memcpy(&span->sample, &record->sample, sizeof(*span) - 2 * sizeof(uint64_t));
    span->reserved = 0;
}

/* What a thread had begun and not ended, as spans up to end_ns with PP_SPAN_UNFINISHED, the innermost first
 * as they would have been recorded; returns how many of out[PP_OPEN_SPANS_MAX]. For a ring that is no longer
 * written. */
static inline unsigned pp_ring_open_spans(const struct pp_ring_file *r, struct pp_clock_reader *c,
                                          uint64_t end_ns, struct pp_span *out)
{
    unsigned n = 0, open = __atomic_load_n(&r->open, __ATOMIC_RELAXED); /* once: a stranger's may change */
    open = open < PP_OPEN_SPANS_MAX ? open : PP_OPEN_SPANS_MAX;
    while (open--) {
        const struct pp_open_span *o = &r->opened[open];
        if (o->ends_at && r->head >= o->ends_at)
            continue;
        uint64_t start = o->stamp == PP_STAMP_TICKS ? pp_clock_read(c, o->start) : o->start;
        struct pp_span *s = &out[n++];
        s->start_ns = start;
        s->dur_ns = end_ns > start ? end_ns - start : 0;
        s->sample = o->sample;
        s->bytes = s->cpu_ns = s->run_delay_ns = 0;
        s->batch = o->batch;
        s->cache_hit_kib = 0;
        s->epoch = o->epoch;
        s->name = o->name;
        s->phase = o->phase;
        s->reserved = 0;
        s->flags = (uint16_t)(o->flags | PP_SPAN_UNFINISHED);
    }
    return n;
}

/* When the session was last known to be alive: the newest clock segment, which the drain appends once a
 * second. 0: not known. */
static inline uint64_t pp_session_last_seen_ns(const struct pp_session_file *f)
{
    uint32_t n = __atomic_load_n(&f->segments, __ATOMIC_ACQUIRE);
    return n ? f->segment[(n - 1) % PP_CLOCK_SEGMENTS].ns0 : 0;
}

#ifdef __cplusplus
}
#endif
#endif
