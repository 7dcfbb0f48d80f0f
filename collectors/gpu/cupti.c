#include "collectors/gpu/cupti.h"

#include "collectors/gpu/cupti_holder.h"
#include "collectors/gpu/cupti_records.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)1 << 20)
#define BUFFERS 16
#define CLOCK_TRIES 16

struct buffer {
    struct buffer *next;
    size_t valid;
    _Alignas(8) uint8_t bytes[]; /* CUPTI asks for 8 */
};

struct pp_cupti {
    struct pp_cupti_api_table cupti;
    struct pp_store *store;
    char name[128];
    pthread_mutex_t lock;
    struct buffer *pool, *full, **full_end; /* guarded by lock */
    int made;                               /* buffers; likewise */
    uint64_t dropped;                       /* likewise */
    struct pp_cupti_anchor anchor;          /* the last; poll's */
    double slope;                           /* of the offset, in ns per ns, before it; likewise */
    struct pp_cupti_stats stats;            /* poll's, but for dropped */
};

/* CUPTI passes its callbacks no user pointer. Set before the first callback, cleared after the last. */
static struct pp_cupti *the_consumer;

static const uint32_t kinds[] = {
    PP_CUPTI_EXTERNAL_CORRELATION, PP_CUPTI_MEMCPY,  PP_CUPTI_MEMSET, PP_CUPTI_KERNEL, PP_CUPTI_DRIVER,
    PP_CUPTI_SYNCHRONIZATION,      PP_CUPTI_OVERHEAD};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* ---- buffers: CUPTI's thread ---- */

static void on_requested(uint8_t **bytes, size_t *size, size_t *max_records)
{
    struct pp_cupti *c = __atomic_load_n(&the_consumer,
                                         __ATOMIC_ACQUIRE); /* pairs with the release in pp_cupti_open */
    struct buffer *b = NULL;
    *bytes = NULL;
    *size = *max_records = 0;
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    if (c->pool) {
        b = c->pool;
        c->pool = b->next;
    } else if (c->made < BUFFERS && (b = malloc(sizeof(*b) + BUFFER_BYTES))) {
        c->made++;
    }
    pthread_mutex_unlock(&c->lock);
    if (b) {
        *bytes = b->bytes;
        *size = BUFFER_BYTES;
    }
}

static void on_completed(void *context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
    struct pp_cupti *c = __atomic_load_n(&the_consumer, __ATOMIC_ACQUIRE); /* as above */
    size_t dropped = 0;
    if (!c || !bytes)
        return;
    struct buffer *b = (struct buffer *)(bytes - offsetof(struct buffer, bytes));
    b->valid = valid;
    b->next = NULL;
    if (c->cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) != 0)
        dropped = 0;
    pthread_mutex_lock(&c->lock);
    *c->full_end = b;
    c->full_end = &b->next;
    c->dropped += dropped;
    pthread_mutex_unlock(&c->lock);
}

/* ---- clock ---- */

static uint64_t our_clock(void)
{
    return pp_now_ns();
}

/* The narrowest of a few brackets MONOTONIC - CUPTI - MONOTONIC. */
static struct pp_cupti_anchor compare_clocks(const struct pp_cupti *c)
{
    struct pp_cupti_anchor best = {.error_ns = UINT64_MAX};
    if (c->stats.own_clock)
        return (struct pp_cupti_anchor){.t_ns = pp_now_ns()};
    for (int i = 0; i < CLOCK_TRIES; i++) {
        uint64_t theirs = 0, from = pp_now_ns();
        if (c->cupti.cuptiGetTimestamp(&theirs) != 0)
            continue;
        uint64_t to = pp_now_ns(), middle = from + (to - from) / 2, error = (to - from + 1) / 2;
        if (error < best.error_ns)
            best = (struct pp_cupti_anchor){.t_ns = middle,
                                            .offset_ns = (int64_t)(middle - theirs),
                                            .error_ns = error};
    }
    return best.error_ns < UINT64_MAX ? best : c->anchor;
}

/* Between comparisons rows are converted by a line. Where the offset leaves the line it was on (a step of the
 * wall clock), the time of the step in between is unknown, and the rows there are off by up to as much. */
static void follow_clock(struct pp_cupti *c, struct pp_cupti_anchor *now)
{
    double passed = now->t_ns > c->anchor.t_ns ? (double)(now->t_ns - c->anchor.t_ns) : 0,
           moved = (double)(now->offset_ns - c->anchor.offset_ns);
    if (passed > 0) {
        now->error_ns += (uint64_t)fabs(moved - c->slope * passed);
        c->slope = moved / passed;
    }
}

static void note_clock(struct pp_cupti *c, const struct pp_cupti_anchor *a)
{
    pp_store_gpu_clock(c->store, a->t_ns, a->offset_ns, a->error_ns);
    if (a->error_ns > c->stats.clock_error_ns)
        c->stats.clock_error_ns = a->error_ns;
}

/* ---- opening ---- */

static pp_status refused(const struct pp_cupti_api_table *t, pp_cupti_result rc, const char *what,
                         struct pp_err *err)
{
    const char *text = NULL;
    char holder[200];
    if (t->cuptiGetResultString(rc, &text) != 0 || !text)
        text = "unknown error";
    if (rc == PP_CUPTI_MULTIPLE_SUBSCRIBERS || rc == PP_CUPTI_HARDWARE_BUSY)
        return pp_fail(err, PP_E_EXISTS, "another profiler owns CUPTI (%s): %s returned %s (%d)",
                       pp_cupti_holder(holder, sizeof(holder)), what, text, rc);
    return pp_fail(
        err, rc == PP_CUPTI_INSUFFICIENT_PRIVILEGES ? PP_E_ACCESS : PP_E_UNSUPPORTED, "%s failed: %s (%d)%s",
        what, text, rc,
        rc == PP_CUPTI_INSUFFICIENT_PRIVILEGES
            ? "; the driver allows profiling to administrators only (NVreg_RestrictProfilingToAdminUsers)"
        : rc == PP_CUPTI_UNKNOWN || rc == PP_CUPTI_NOT_INITIALIZED
            ? "; there is no device, or the driver is older than this CUPTI"
            : "");
}

static void turn_off(struct pp_cupti *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c->cupti.cuptiActivityDisable(kinds[i]);
}

static pp_status turn_on(struct pp_cupti *c, struct pp_err *err)
{
    const struct pp_cupti_api_table *t = &c->cupti;
    /* A version without the call, or that refuses, numbers threads its own way: their calls then belong to no
     * thread of ours. */
    if (t->cuptiSetThreadIdType)
        t->cuptiSetThreadIdType(PP_CUPTI_THREAD_SYSTEM);
    /* The clock comes before any kind; a version that refuses ours is converted from. */
    c->stats.own_clock = t->cuptiActivityRegisterTimestampCallback &&
                         t->cuptiActivityRegisterTimestampCallback(our_clock) == 0;
    c->anchor = compare_clocks(c);
    pp_cupti_result rc = t->cuptiActivityRegisterCallbacks(on_requested, on_completed);
    if (rc != 0)
        return refused(t, rc, "cuptiActivityRegisterCallbacks", err);
    for (size_t i = 0; i < KINDS; i++) {
        rc = t->cuptiActivityEnable(kinds[i]);
        if (rc != 0) {
            turn_off(c, i);
            return refused(t, rc, "cuptiActivityEnable", err);
        }
    }
    return PP_OK;
}

static void release(struct pp_cupti *c)
{
    struct buffer *lists[] = {c->pool, c->full};
    __atomic_store_n(&the_consumer, NULL, __ATOMIC_RELEASE);
    for (size_t i = 0; i < 2; i++) {
        while (lists[i]) {
            struct buffer *next = lists[i]->next;
            free(lists[i]);
            lists[i] = next;
        }
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

pp_status pp_cupti_open(const struct pp_cupti_opts *opts, struct pp_cupti **out, struct pp_err *err)
{
    *out = NULL;
    if (__atomic_load_n(&the_consumer, __ATOMIC_ACQUIRE))
        return pp_fail(err, PP_E_EXISTS, "this process already records GPU activity");
    struct pp_cupti *c = calloc(1, sizeof(*c));
    if (!c)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to record GPU activity");
    c->store = opts->store;
    c->full_end = &c->full;
    pthread_mutex_init(&c->lock, NULL);
    pp_status st = pp_cupti_load(&c->cupti, opts->libraries, opts->driver_version, err);
    __atomic_store_n(&the_consumer, c, __ATOMIC_RELEASE); /* pairs with the acquires in the callbacks */
    if (st == PP_OK)
        st = turn_on(c, err);
    if (st != PP_OK) {
        release(c);
        return st;
    }
    snprintf(c->name, sizeof(c->name), "CUPTI of %s, interface %u", c->cupti.library, c->cupti.version);
    note_clock(c, &c->anchor);
    *out = c;
    return PP_OK;
}

const char *pp_cupti_name(const struct pp_cupti *c)
{
    return c->name;
}

/* ---- batches ---- */

static void on_begin(void *ctx, uint64_t batch)
{
    struct pp_cupti *c = ctx;
    c->cupti.cuptiActivityPushExternalCorrelationId(PP_CUPTI_CUSTOM0, batch);
}

static void on_end(void *ctx)
{
    struct pp_cupti *c = ctx;
    uint64_t last;
    c->cupti.cuptiActivityPopExternalCorrelationId(PP_CUPTI_CUSTOM0, &last);
}

struct pp_device_watch pp_cupti_watch(struct pp_cupti *c)
{
    return (struct pp_device_watch){.ctx = c, .begin = on_begin, .end = on_end};
}

/* ---- records: poll's thread ---- */

static void store_record(struct pp_cupti *c, const struct pp_cupti_record *r,
                         const struct pp_cupti_anchor *now)
{
    struct pp_store_gpu row;
    uint32_t correlation;
    uint64_t batch;
    switch (pp_cupti_read(&c->cupti, r, &row, &correlation, &batch)) {
    case PP_CUPTI_ROW:
        row.start_ns = pp_cupti_to_monotonic(&c->anchor, now, row.start_ns);
        pp_store_gpu(c->store, &row);
        c->stats.rows++;
        break;
    case PP_CUPTI_BATCH:
        pp_store_gpu_batch(c->store, correlation, batch);
        c->stats.batches++;
        break;
    case PP_CUPTI_IGNORED: c->stats.ignored++; break;
    }
}

static struct buffer *take_full(struct pp_cupti *c)
{
    pthread_mutex_lock(&c->lock);
    struct buffer *b = c->full;
    if (b && !(c->full = b->next))
        c->full_end = &c->full;
    pthread_mutex_unlock(&c->lock);
    return b;
}

static void give_back(struct pp_cupti *c, struct buffer *b)
{
    pthread_mutex_lock(&c->lock);
    b->next = c->pool;
    c->pool = b;
    pthread_mutex_unlock(&c->lock);
}

static void drain(struct pp_cupti *c, uint32_t flush)
{
    struct pp_cupti_anchor now = compare_clocks(c);
    struct buffer *b;
    follow_clock(c, &now);
    c->cupti.cuptiActivityFlushAll(flush);
    while ((b = take_full(c))) {
        struct pp_cupti_record *r = NULL;
        while (b->valid && c->cupti.cuptiActivityGetNextRecord(b->bytes, b->valid, &r) == 0)
            store_record(c, r, &now);
        give_back(c, b);
    }
    note_clock(c, &now);
    c->anchor = now;
}

void pp_cupti_poll(struct pp_cupti *c)
{
    drain(c, 0);
}

void pp_cupti_close(struct pp_cupti *c, struct pp_cupti_stats *stats)
{
    if (!c)
        return;
    drain(c, 1); /* 1: also buffers with unfinished records */
    turn_off(c, KINDS);
    drain(c, 1);
    pthread_mutex_lock(&c->lock);
    c->stats.dropped = c->dropped;
    pthread_mutex_unlock(&c->lock);
    if (stats)
        *stats = c->stats;
    release(c);
}
