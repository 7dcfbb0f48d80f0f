/* CUPTI without a GPU: see fake_cupti.h. Build: a shared library with the soname libcupti.so.13. */
#include "collectors/gpu/cupti_abi.h"
#include "probe/base/clock.h"
#include "tests/fake/fake_cuda.h"
#include "tests/fake/fake_cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_NAMES 64
#define MAX_HELD 64
#define ODD_KIND 37
#define JUMPS_AFTER_NS 8000000u

static struct {
    uint32_t version, enabled[2];
    int enable_rc, callbacks_rc, subscribe_rc, clock_rc, odd, small, thread_type, subscribed;
    double skew_ns, drift_ppm, jump_ns;
    uint64_t began_ns, enabled_ns; /* enabled: the first kind; 0: not yet */
    pp_cupti_requested *requested;
    pp_cupti_completed *completed;
    pp_cupti_clock *clock;
    uint8_t *buffer;
    size_t size, used;
    struct {
        uint8_t *buffer;
        size_t size, used;
    } held[MAX_HELD];
    int n_held;
    size_t dropped;
    uint64_t records, dropped_total;
    const char *name[MAX_NAMES];
} fake;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Thread_local uint64_t external[8];
static _Thread_local int n_external;

static void configure(const char *words)
{
    char copy[256], *rest = copy, *word;
    snprintf(copy, sizeof(copy), "%s", words ? words : "");
    memset(&fake, 0, sizeof(fake));
    fake.version = 130001;
    fake.skew_ns = 5e9;
    fake.began_ns = pp_now_ns();
    while ((word = strsep(&rest, ";"))) {
        double v = 0;
        if (sscanf(word, "version=%lf", &v) == 1)
            fake.version = (uint32_t)v;
        else if (sscanf(word, "enable=%lf", &v) == 1)
            fake.enable_rc = (int)v;
        else if (sscanf(word, "callbacks=%lf", &v) == 1)
            fake.callbacks_rc = (int)v;
        else if (sscanf(word, "subscribe=%lf", &v) == 1)
            fake.subscribe_rc = (int)v;
        else if (sscanf(word, "clock=%lf", &v) == 1)
            fake.clock_rc = (int)v;
        else if (sscanf(word, "skew-ns=%lf", &v) == 1)
            fake.skew_ns = v;
        else if (sscanf(word, "drift-ppm=%lf", &v) == 1)
            fake.drift_ppm = v;
        else if (sscanf(word, "jump-ns=%lf", &v) == 1)
            fake.jump_ns = v;
        else if (sscanf(word, "odd=%lf", &v) == 1)
            fake.odd = (int)v;
        else if (sscanf(word, "small=%lf", &v) == 1)
            fake.small = (int)v;
    }
}

__attribute__((constructor)) static void start(void)
{
    configure(getenv("PP_FAKE_CUPTI"));
}

EXPORT void fake_cupti_reset(const char *words)
{
    configure(words);
}

EXPORT uint32_t fake_cupti_enabled(void)
{
    uint32_t n = 0;
    for (uint32_t kind = 0; kind < 64; kind++)
        n += fake.enabled[kind / 32] >> kind % 32 & 1;
    return n;
}

EXPORT uint64_t fake_cupti_records(void)
{
    return fake.records;
}

EXPORT uint64_t fake_cupti_dropped(void)
{
    return fake.dropped_total;
}

/* ---- records ---- */

/* How long a record is, which only CUPTI knows. */
static size_t stride(uint32_t kind)
{
    int old = fake.version < 100000;
    switch (kind) {
    case PP_CUPTI_MEMCPY: return old ? 88 : 96;
    case PP_CUPTI_MEMSET: return 88;
    case PP_CUPTI_KERNEL: return old ? 200 : 216;
    case PP_CUPTI_DRIVER:
    case PP_CUPTI_RUNTIME: return 40;
    case PP_CUPTI_SYNCHRONIZATION: return old ? 40 : 56;
    case PP_CUPTI_OVERHEAD: return old ? 40 : 56;
    case PP_CUPTI_EXTERNAL_CORRELATION: return 24;
    default: return 32;
    }
}

static uint64_t their_time(uint64_t monotonic_ns)
{
    if (fake.clock)
        return monotonic_ns;
    double jump = fake.enabled_ns && monotonic_ns > fake.enabled_ns + JUMPS_AFTER_NS ? fake.jump_ns : 0;
    return monotonic_ns +
           (uint64_t)(int64_t)(fake.skew_ns + jump +
                               (double)(int64_t)(monotonic_ns - fake.began_ns) * fake.drift_ppm * 1e-6);
}

static void hand_over(uint8_t *buffer, size_t size, size_t used)
{
    fake.completed(NULL, 0, buffer, size, used);
}

/* Room for a record whose tail is filled with rubbish that must not be read; NULL when it is dropped. */
static void *room(uint32_t kind)
{
    size_t n = stride(kind), limit = fake.small ? 256 : fake.size;
    if (kind != ODD_KIND && !(fake.enabled[kind / 32] >> kind % 32 & 1))
        return NULL;
    if (fake.buffer && fake.used + n > limit) {
        if (fake.small && fake.n_held < MAX_HELD) {
            fake.held[fake.n_held].buffer = fake.buffer;
            fake.held[fake.n_held].size = fake.size;
            fake.held[fake.n_held++].used = fake.used;
        } else {
            hand_over(fake.buffer, fake.size, fake.used);
        }
        fake.buffer = NULL;
    }
    if (!fake.buffer) {
        size_t max = 0;
        fake.requested(&fake.buffer, &fake.size, &max);
        fake.used = 0;
        if (!fake.buffer || (uintptr_t)fake.buffer % 8) {
            fake.dropped++;
            fake.dropped_total++;
            return NULL;
        }
    }
    uint8_t *at = fake.buffer + fake.used;
    memset(at, 0xee, n);
    *(uint32_t *)at = kind;
    fake.used += n;
    fake.records++;
    return at;
}

static uint32_t number_of(const char *name)
{
    uint32_t i = 1;
    while (i < MAX_NAMES - 1 && fake.name[i] && strcmp(fake.name[i], name) != 0)
        i++;
    fake.name[i] = name;
    return i;
}

static void put_external(uint32_t correlation)
{
    struct pp_cupti_external *x = n_external ? room(PP_CUPTI_EXTERNAL_CORRELATION) : NULL;
    if (x) {
        x->external_kind = PP_CUPTI_CUSTOM0;
        x->external = external[n_external - 1];
        x->correlation = correlation;
    }
}

static void put_api(const struct fake_activity *a, uint64_t start, uint64_t end)
{
    struct pp_cupti_api *r = room(PP_CUPTI_DRIVER);
    if (r) {
        *r = (struct pp_cupti_api){PP_CUPTI_DRIVER,
                                   number_of(a->name),
                                   start,
                                   end,
                                   (uint32_t)getpid(),
                                   fake.thread_type ? (uint32_t)syscall(SYS_gettid)
                                                    : (uint32_t)pthread_self(),
                                   a->correlation,
                                   (uint32_t)a->result};
    }
    int type = strcmp(a->name, "cuEventSynchronize") == 0 ? 1
               : strcmp(a->name, "cuCtxSynchronize") == 0 ? 4
                                                          : 0;
    struct pp_cupti_sync *s = type ? room(PP_CUPTI_SYNCHRONIZATION) : NULL;
    if (s) {
        s->type = (uint32_t)type;
        s->start = start, s->end = end;
        s->correlation = a->correlation, s->context = 1, s->stream = 0;
    }
}

static void on_activity(const struct fake_activity *a)
{
    pthread_mutex_lock(&lock);
    uint64_t start = their_time(a->start_ns), end = their_time(a->end_ns);
    if (!fake.requested) {
        pthread_mutex_unlock(&lock);
        return;
    }
    if (a->kind == FAKE_API) {
        put_external(a->correlation);
        put_api(a, start, end);
    } else if (a->kind == FAKE_COPY) {
        struct pp_cupti_memcpy *m = room(PP_CUPTI_MEMCPY);
        if (m)
            *m = (struct pp_cupti_memcpy){PP_CUPTI_MEMCPY,
                                          1,
                                          a->pinned ? 2 : 1,
                                          3,
                                          (uint8_t)a->asynchronous,
                                          a->bytes,
                                          start,
                                          end,
                                          0,
                                          1,
                                          a->stream,
                                          a->correlation};
    } else {
        struct pp_cupti_kernel *k = room(PP_CUPTI_KERNEL);
        if (k) {
            k->start = start, k->end = end;
            k->device = 0, k->context = 1, k->stream = a->stream;
            k->correlation = a->correlation;
            k->name = a->name;
        }
    }
    if (fake.odd)
        room(ODD_KIND);
    pthread_mutex_unlock(&lock);
}

/* ---- CUPTI ---- */

EXPORT int cuptiGetVersion(uint32_t *version)
{
    *version = fake.version;
    return 0;
}

EXPORT int cuptiGetTimestamp(uint64_t *ns)
{
    *ns = their_time(pp_now_ns());
    return 0;
}

EXPORT int cuptiGetResultString(int rc, const char **text)
{
    *text = rc == 39   ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
            : rc == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
            : rc == 15 ? "CUPTI_ERROR_NOT_INITIALIZED"
                       : NULL;
    return *text ? 0 : 1;
}

EXPORT int cuptiGetCallbackName(uint32_t domain, uint32_t call, const char **name)
{
    *name = domain == 1 && call < MAX_NAMES ? fake.name[call] : NULL;
    return *name ? 0 : 1;
}

EXPORT int cuptiActivityRegisterCallbacks(pp_cupti_requested *requested, pp_cupti_completed *completed)
{
    if (fake.callbacks_rc)
        return fake.callbacks_rc;
    fake.requested = requested;
    fake.completed = completed;
    return 0;
}

EXPORT int cuptiSubscribe(pp_cupti_subscriber *subscriber, pp_cupti_called *called, void *ctx)
{
    int taken = fake.subscribed;
    if (fake.subscribe_rc || taken)
        return taken ? PP_CUPTI_MULTIPLE_SUBSCRIBERS : fake.subscribe_rc;
    fake.subscribed = 1;
    *subscriber = (pp_cupti_subscriber)&fake;
    return 0;
}

EXPORT int cuptiUnsubscribe(pp_cupti_subscriber subscriber)
{
    int known = fake.subscribed && subscriber == (pp_cupti_subscriber)&fake;
    fake.subscribed = 0;
    return known ? 0 : 1;
}

EXPORT int cuptiActivityEnable(uint32_t kind)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void (*observe)(fake_observer *) = NULL;
    if (fake.enable_rc)
        return fake.enable_rc;
    if (driver)
        *(void **)&observe = dlsym(driver, "fake_cuda_observe");
    if (!observe)
        return PP_CUPTI_NOT_INITIALIZED;
    observe(on_activity);
    pthread_mutex_lock(&lock);
    fake.enabled[kind / 32] |= 1u << kind % 32;
    if (!fake.enabled_ns)
        fake.enabled_ns = pp_now_ns();
    pthread_mutex_unlock(&lock);
    return 0;
}

EXPORT int cuptiActivityDisable(uint32_t kind)
{
    pthread_mutex_lock(&lock);
    fake.enabled[kind / 32] &= ~(1u << kind % 32);
    pthread_mutex_unlock(&lock);
    return 0;
}

EXPORT int cuptiActivityFlushAll(uint32_t flag)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < fake.n_held; i++)
        hand_over(fake.held[i].buffer, fake.held[i].size, fake.held[i].used);
    fake.n_held = 0;
    if (fake.buffer && flag) {
        uint8_t *buffer = fake.buffer;
        fake.buffer = NULL;
        hand_over(buffer, fake.size, fake.used);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct pp_cupti_record **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + stride((*record)->kind) : buffer;
    if (next >= buffer + valid)
        return PP_CUPTI_MAX_LIMIT_REACHED;
    *record = (struct pp_cupti_record *)next;
    return 0;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    pthread_mutex_lock(&lock);
    *dropped = fake.dropped;
    fake.dropped = 0;
    pthread_mutex_unlock(&lock);
    return 0;
}

EXPORT int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id)
{
    if (kind != PP_CUPTI_CUSTOM0 || n_external == 8)
        return 1;
    external[n_external++] = id;
    return 0;
}

EXPORT int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last)
{
    if (kind != PP_CUPTI_CUSTOM0 || !n_external)
        return 1;
    *last = external[--n_external];
    return 0;
}

EXPORT int cuptiSetThreadIdType(int type)
{
    fake.thread_type = type;
    return 0;
}

EXPORT int cuptiActivityRegisterTimestampCallback(pp_cupti_clock *clock)
{
    if (fake.clock_rc)
        return fake.clock_rc;
    fake.clock = clock;
    return 0;
}
