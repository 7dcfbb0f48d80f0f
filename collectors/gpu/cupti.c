#include "collectors/gpu/cupti.h"

#include "collectors/gpu/cupti_records.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#define BUFFER_BYTES ((size_t)1 << 20)
#define GUEST_BUFFER_BYTES ((size_t)256 << 10) /* some 1,700 records: what a killed program takes with it */
#define BUFFERS 64                             /* at most: 12,000 batches/s fill some 20 between two polls */
#define GUEST_BUFFERS 16                       /* read as they are filled */
#define CLOCK_TRIES 16

struct buffer {
    struct buffer *next;
    size_t valid;
    _Alignas(8) uint8_t bytes[]; /* CUPTI asks for 8 */
};

struct pp_cupti {
    struct pp_cupti_api_table cupti;
    struct pp_cupti_sink sink;
    int guest;
    char name[128];
    pthread_mutex_t lock;
    struct buffer *pool, *full, **full_end; /* guarded by lock */
    int made;                               /* buffers; likewise */
    uint64_t dropped;                       /* likewise */
    pthread_mutex_t reading;       /* held while records go to the sink; what follows is its holder's */
    int closed;                    /* the sink is no more */
    struct pp_cupti_anchor anchor; /* the last */
    double slope;                  /* of the offset, in ns per ns, before it */
    struct pp_cupti_stats stats;   /* but for dropped */
};

/* CUPTI passes its callbacks no user pointer. Set before the first callback, cleared after the last. */
static struct pp_cupti *the_consumer;

/* The last one is ours, or a guest's: our calls are the driver's and carry their batch; a program's are the
 * runtime's as well. */
static const uint32_t kinds[] = {PP_CUPTI_MEMCPY,
                                 PP_CUPTI_MEMSET,
                                 PP_CUPTI_KERNEL,
                                 PP_CUPTI_DRIVER,
                                 PP_CUPTI_SYNCHRONIZATION,
                                 PP_CUPTI_OVERHEAD,
                                 0};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static uint32_t kind_of(const struct pp_cupti *c, size_t i)
{
    return kinds[i] ? kinds[i] : c->guest ? PP_CUPTI_RUNTIME : PP_CUPTI_EXTERNAL_CORRELATION;
}

static void read_full(struct pp_cupti *c);

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
    size_t n = c->guest ? GUEST_BUFFER_BYTES : BUFFER_BYTES;
    pthread_mutex_lock(&c->lock);
    if (c->pool) {
        b = c->pool;
        c->pool = b->next;
    } else if (c->made < (c->guest ? GUEST_BUFFERS : BUFFERS) && (b = malloc(sizeof(*b) + n))) {
        c->made++;
    }
    pthread_mutex_unlock(&c->lock);
    if (b) {
        *bytes = b->bytes;
        *size = n;
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
    if (c->guest)
        read_full(c);
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

static void note_clock(struct pp_cupti *c, const struct pp_cupti_anchor *a)
{
    c->sink.clock(c->sink.store, a->t_ns, a->offset_ns, a->error_ns);
    if (a->error_ns > c->stats.clock_error_ns)
        c->stats.clock_error_ns = a->error_ns;
}

/* ---- opening ---- */

static pp_status fail_refused(const struct pp_cupti_api_table *t, pp_cupti_result rc, const char *what,
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
        c->cupti.cuptiActivityDisable(kind_of(c, i));
}

static void on_call(void *ctx, uint32_t domain, uint32_t call, const void *data)
{
}

static pp_status turn_on(struct pp_cupti *c, struct pp_err *err)
{
    const struct pp_cupti_api_table *t = &c->cupti;
    pp_cupti_subscriber mine = NULL;
    pp_cupti_result rc = 0;
    /* CUPTI's rule for profilers that stand beside others: who subscribes first has it, also a tool that the
     * program was started by. Ours is given back at once: a profiler that the program itself starts later has
     * CUPTI, and not we. */
    if (c->guest && t->cuptiSubscribe && t->cuptiUnsubscribe)
        rc = t->cuptiSubscribe(&mine, on_call, NULL);
    if (rc != 0)
        return fail_refused(t, rc, "cuptiSubscribe", err);
    if (mine)
        t->cuptiUnsubscribe(mine);
    /* A version without the call, or that refuses, numbers threads its own way: their calls then belong to no
     * thread of ours. */
    if (t->cuptiSetThreadIdType)
        t->cuptiSetThreadIdType(PP_CUPTI_THREAD_SYSTEM);
    /* The clock comes before any kind; a version that refuses ours is converted from. */
    c->stats.own_clock = t->cuptiActivityRegisterTimestampCallback &&
                         t->cuptiActivityRegisterTimestampCallback(our_clock) == 0;
    c->anchor = compare_clocks(c);
    rc = t->cuptiActivityRegisterCallbacks(on_requested, on_completed);
    if (rc != 0)
        return fail_refused(t, rc, "cuptiActivityRegisterCallbacks", err);
    for (size_t i = 0; i < KINDS; i++) {
        rc = t->cuptiActivityEnable(kind_of(c, i));
        if (rc != 0) {
            turn_off(c, i);
            return fail_refused(t, rc, "cuptiActivityEnable", err);
        }
    }
    return PP_OK;
}

static void free_consumer(struct pp_cupti *c)
{
    struct buffer *lists[] = {c->pool, c->full};
    __atomic_store_n(&the_consumer, NULL, __ATOMIC_RELEASE);
    if (c->guest && c->made) /* its thread may be in a callback, and have a buffer: they stay */
        return;
    for (size_t i = 0; i < 2; i++) {
        while (lists[i]) {
            struct buffer *next = lists[i]->next;
            free(lists[i]);
            lists[i] = next;
        }
    }
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->reading);
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
    c->sink = opts->sink;
    c->guest = opts->guest;
    c->full_end = &c->full;
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->reading, NULL);
    pp_status st = pp_cupti_load(&c->cupti, opts->libraries, opts->driver_version, err);
    __atomic_store_n(&the_consumer, c, __ATOMIC_RELEASE); /* pairs with the acquires in the callbacks */
    if (st == PP_OK)
        st = turn_on(c, err);
    if (st != PP_OK) {
        free_consumer(c);
        return st;
    }
    snprintf(c->name, sizeof(c->name), "CUPTI of %s, interface %u", c->cupti.library, c->cupti.version);
    pthread_mutex_lock(&c->reading);
    note_clock(c, &c->anchor);
    pthread_mutex_unlock(&c->reading);
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

/* ---- records: one thread at a time, poll's or CUPTI's ---- */

static void read_full(struct pp_cupti *c)
{
    pthread_mutex_lock(&c->reading);
    struct pp_cupti_anchor now = compare_clocks(c);
    /* Between comparisons rows are converted by a line. Where the offset leaves the line it was on (a step of
     * the wall clock), the time of the step in between is unknown, and the rows there are off by up to as
     * much. */
    double passed = now.t_ns > c->anchor.t_ns ? (double)(now.t_ns - c->anchor.t_ns) : 0,
           moved = (double)(now.offset_ns - c->anchor.offset_ns);
    if (passed > 0) {
        now.error_ns += (uint64_t)fabs(moved - c->slope * passed);
        c->slope = moved / passed;
    }
    while (!c->closed) {
        struct pp_cupti_record *r = NULL;
        pthread_mutex_lock(&c->lock);
        struct buffer *b = c->full;
        if (b && !(c->full = b->next))
            c->full_end = &c->full;
        pthread_mutex_unlock(&c->lock);
        if (!b)
            break;
        while (b->valid && c->cupti.cuptiActivityGetNextRecord(b->bytes, b->valid, &r) == 0) {
            struct pp_store_gpu row;
            uint32_t correlation;
            uint64_t batch;
            switch (pp_cupti_read(&c->cupti, r, &row, &correlation, &batch)) {
            case PP_CUPTI_ROW:
                row.start_ns = pp_cupti_to_monotonic(&c->anchor, &now, row.start_ns);
                c->sink.row(c->sink.store, &row);
                c->stats.rows++;
                break;
            case PP_CUPTI_BATCH:
                c->sink.batch(c->sink.store, correlation, batch);
                c->stats.batches++;
                break;
            case PP_CUPTI_IGNORED: c->stats.ignored++; break;
            }
        }
        pthread_mutex_lock(&c->lock);
        b->next = c->pool;
        c->pool = b;
        pthread_mutex_unlock(&c->lock);
    }
    if (!c->closed)
        note_clock(c, &now);
    c->anchor = now;
    pthread_mutex_unlock(&c->reading);
}

void pp_cupti_poll(struct pp_cupti *c)
{
    c->cupti.cuptiActivityFlushAll(0);
    read_full(c);
}

void pp_cupti_close(struct pp_cupti *c, struct pp_cupti_stats *stats)
{
    if (!c)
        return;
    c->cupti.cuptiActivityFlushAll(1); /* 1: also buffers with unfinished records */
    read_full(c);
    turn_off(c, KINDS);
    c->cupti.cuptiActivityFlushAll(1);
    read_full(c);
    pthread_mutex_lock(&c->reading); /* a guest's callback may be on its way still */
    c->closed = 1;
    pthread_mutex_unlock(&c->reading);
    pthread_mutex_lock(&c->lock);
    c->stats.dropped = c->dropped;
    pthread_mutex_unlock(&c->lock);
    if (stats)
        *stats = c->stats;
    free_consumer(c);
}

/* ---- opening CUPTI ---- */

/* Newest first. The last are where NVIDIA's installer puts it without telling the loader. */
const char *const pp_cupti_places[] = {"libcupti.so.13",
                                       "libcupti.so.12",
                                       "libcupti.so.11.8",
                                       "libcupti.so",
                                       "/usr/local/cuda/lib64/libcupti.so",
                                       "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                       NULL};

pp_status pp_cupti_load(struct pp_cupti_api_table *t, const char *const *libraries, int driver_version,
                        struct pp_err *err)
{
    pp_status st = pp_fail(
        err, PP_E_NOT_FOUND,
        "CUPTI (libcupti.so) is not installed: it comes with the CUDA toolkit, or as the package libcupti-dev");
    libraries = libraries ? libraries : pp_cupti_places;
    for (int mapped = 1; mapped >= 0; mapped--) {
        for (int i = 0; libraries[i]; i++) {
            void *lib = dlopen(libraries[i],
                               RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | (mapped ? RTLD_NOLOAD : 0));
            const char *missing = NULL;
            if (!lib)
                continue;
            memset(t, 0, sizeof(*t));
            snprintf(t->library, sizeof(t->library), "%s", libraries[i]);
#define FIND(symbol, args) *(void **)&t->symbol = dlsym(lib, #symbol);
            PP_CUPTI_ALL(FIND)
#undef FIND
#define MISSES(symbol, args) missing = t->symbol ? missing : #symbol;
            PP_CUPTI_CALLS(MISSES)
#undef MISSES
            if (!missing && t->cuptiGetVersion(&t->version) != 0)
                missing = "version";
            /* Of CUDA, by the version of CUPTI's interface; the old numbering does not tell. */
            int major = t->version >= 100000 ? (int)(t->version / 10000) : 0;
            if (missing)
                st = pp_fail(err, PP_E_UNSUPPORTED, "%s is not a usable CUPTI: it has no %s", libraries[i],
                             missing);
            else if (major > driver_version / 1000)
                st = pp_fail(
                    err, PP_E_UNSUPPORTED,
                    "%s is for CUDA %d and the driver supports CUDA %d.%d: install the CUPTI of the driver's version, or a newer driver",
                    libraries[i], major, driver_version / 1000, driver_version % 1000 / 10);
            else
                return PP_OK;
        }
    }
    return st;
}

/* Parts of file names, the surest sign first: torch brings Kineto along whether it profiles or not. */
static const struct {
    const char *part, *holder;
} known[] = {
    {"libToolsInjection", "Nsight Systems"},
    {"libcuda-injection", "Nsight Compute"},
    {"libTreeLauncherTargetInjection", "Nsight Compute"},
    {"libnvprof", "nvprof"},
    {"libkineto", "PyTorch's profiler"},
    {"libtorch_cuda", "PyTorch's profiler"},
};
#define KNOWN (sizeof(known) / sizeof(known[0]))

struct search {
    size_t best; /* KNOWN: none yet */
    char library[128];
};

static void consider(struct search *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    for (size_t i = 0; i < s->best; i++)
        if (strstr(file, known[i].part)) {
            s->best = i;
            snprintf(s->library, sizeof(s->library), "%s", file);
        }
}

static int on_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
    consider(ctx, info->dlpi_name);
    return 0;
}

const char *pp_cupti_holder(char *buf, size_t size)
{
    const char *injection = getenv("CUDA_INJECTION64_PATH");
    struct search s = {.best = KNOWN};
    if (injection)
        consider(&s, injection);
    dl_iterate_phdr(on_library, &s);
    if (s.best < KNOWN)
        snprintf(buf, size, "%s (%s)", known[s.best].holder, s.library);
    else if (getenv("NSYS_PROFILING_SESSION_ID"))
        snprintf(buf, size, "Nsight Systems");
    else
        snprintf(buf, size, "%s", injection && *injection ? injection : "nsys, ncu or PyTorch's");
    return buf;
}
