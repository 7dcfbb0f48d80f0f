/* A driver without a GPU: see fake_cuda.h. Build: a shared library with the soname libcuda.so.1. */
#include "probe/base/clock.h"
#include "probe/device/cuda_driver.h"
#include "tests/fake/fake_cuda.h"
#include "tests/fake/fake_kernels.h"
#include "tests/fake/fake_sms.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_THINGS 512
#define MAX_CALLS 64
#define MAX_FAULTS 8

enum thing_kind { NOTHING, HOST_MEMORY, DEVICE_MEMORY, STREAM, EVENT, MODULE };

struct thing {
    enum thing_kind kind;
    size_t size;
    unsigned flags;
    uint64_t at_ns;         /* STREAM: when its work is done; EVENT: when it fires */
    const struct thing *of; /* EVENT: the stream that it was recorded on */
};

struct fault {
    char call[40];
    unsigned nth;
    int rc;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int devices, version, initialised, contexts;
    char name[64];
    double gbps, pageable_gbps, combined_gbps;
    size_t host_limit, device_limit, host_used, device_used;
    uint64_t sync_ns, launch_ns, block_ns;
    int multiprocessors;
    struct fake_sms sms;
    int wrong;                                       /* kernels that normalise err */
    uint64_t link_free_ns, legacy_done_ns, timer_ns; /* legacy: of the default stream */
    struct fault fault[MAX_FAULTS];
    int n_faults;
    int poison;                       /* 0, or what every call returns */
    unsigned calls, lose_at, once_at; /* of any name; 0: none fails */
    int lose_rc;
    struct {
        const char *name;
        unsigned n;
    } call[MAX_CALLS];
    const void *last_copy, *last_normalized;
    uint32_t correlation;
    fake_observer *observer;
} fake;
/* Handles are pointers into this array, or the memory itself. */
static struct thing things[MAX_THINGS];
static void *memory_of[MAX_THINGS];
static _Thread_local int has_context;

static void read_fault(const char *text)
{
    struct fault *f = &fake.fault[fake.n_faults];
    if (fake.n_faults < MAX_FAULTS && sscanf(text, "%39[^:]:%u:%d", f->call, &f->nth, &f->rc) == 3)
        fake.n_faults++;
}

static void configure(const char *words)
{
    char copy[512], *rest = copy, *word;
    snprintf(copy, sizeof(copy), "%s", words ? words : "");
    fake.devices = 1;
    snprintf(fake.name, sizeof(fake.name), "Fake GPU");
    fake.version = 13000;
    fake.gbps = 25;
    fake.pageable_gbps = 6;
    fake.combined_gbps = 26;
    fake.host_limit = fake.device_limit = (size_t)-1;
    fake.timer_ns = 1;
    fake.block_ns = 1000;
    fake.multiprocessors = 8;
    while ((word = strsep(&rest, ";"))) {
        double v = 0;
        if (sscanf(word, "devices=%lf", &v) == 1)
            fake.devices = (int)v;
        else if (sscanf(word, "version=%lf", &v) == 1)
            fake.version = (int)v;
        else if (sscanf(word, "gbps=%lf", &v) == 1)
            fake.gbps = v;
        else if (sscanf(word, "pageable=%lf", &v) == 1)
            fake.pageable_gbps = v;
        else if (sscanf(word, "combined=%lf", &v) == 1)
            fake.combined_gbps = v;
        else if (sscanf(word, "host-mib=%lf", &v) == 1)
            fake.host_limit = (size_t)v << 20;
        else if (sscanf(word, "device-mib=%lf", &v) == 1)
            fake.device_limit = (size_t)v << 20;
        else if (sscanf(word, "timer-ns=%lf", &v) == 1)
            fake.timer_ns = (uint64_t)v;
        else if (sscanf(word, "sync-us=%lf", &v) == 1)
            fake.sync_ns = (uint64_t)(v * 1e3);
        else if (sscanf(word, "launch-us=%lf", &v) == 1)
            fake.launch_ns = (uint64_t)(v * 1e3);
        else if (sscanf(word, "block-ns=%lf", &v) == 1)
            fake.block_ns = (uint64_t)v;
        else if (sscanf(word, "wrong=%lf", &v) == 1)
            fake.wrong = (int)v;
        else if (sscanf(word, "lose=%u:%d", &fake.lose_at, &fake.lose_rc) == 2 ||
                 sscanf(word, "once=%u:%d", &fake.once_at, &fake.lose_rc) == 2)
            continue;
        else if (strncmp(word, "name=", 5) == 0)
            snprintf(fake.name, sizeof(fake.name), "%s", word + 5);
        else if (strncmp(word, "fail=", 5) == 0)
            read_fault(word + 5);
    }
}

__attribute__((constructor)) static void start(void)
{
    configure(getenv("PP_FAKE_CUDA"));
}

EXPORT void fake_cuda_reset(const char *words)
{
    fake_observer *observer = fake.observer;
    for (int i = 0; i < MAX_THINGS; i++)
        free(memory_of[i]);
    memset(things, 0, sizeof(things));
    memset(memory_of, 0, sizeof(memory_of));
    memset(&fake, 0, sizeof(fake));
    fake.observer = observer;
    configure(words);
}

EXPORT unsigned fake_cuda_calls(const char *call)
{
    for (int i = 0; i < MAX_CALLS && fake.call[i].name; i++)
        if (strcmp(fake.call[i].name, call) == 0)
            return fake.call[i].n;
    return 0;
}

EXPORT unsigned fake_cuda_total(void)
{
    return fake.calls;
}

EXPORT size_t fake_cuda_leaks(void)
{
    size_t n = (size_t)fake.contexts;
    for (int i = 0; i < MAX_THINGS; i++)
        n += things[i].kind != NOTHING;
    return n;
}

EXPORT const void *fake_cuda_device_bytes(void)
{
    return fake.last_copy;
}

EXPORT const void *fake_cuda_normalized(void)
{
    return fake.last_normalized;
}

EXPORT void fake_cuda_observe(fake_observer *o)
{
    fake.observer = o;
}

/* ---- what every call begins and ends with ---- */

struct call {
    const char *name;
    uint64_t start_ns;
    uint32_t correlation;
};

/* Counts the call; what it is to return when it is to fail, else 0. */
static int begin(struct call *c, const char *name)
{
    int rc = 0;
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < MAX_CALLS - 1 && fake.call[i].name && strcmp(fake.call[i].name, name) != 0)
        i++;
    fake.call[i].name = name;
    unsigned n = ++fake.call[i].n;
    for (int k = 0; k < fake.n_faults; k++)
        if (strcmp(fake.fault[k].call, name) == 0 && n >= fake.fault[k].nth)
            rc = fake.fault[k].rc;
    fake.calls++;
    if ((fake.lose_at && fake.calls >= fake.lose_at) || fake.calls == fake.once_at)
        rc = fake.lose_rc;
    if (fake.poison)
        rc = fake.poison;
    *c = (struct call){name, pp_now_ns(), ++fake.correlation};
    pthread_mutex_unlock(&lock);
    return rc;
}

static int end(const struct call *c, int rc)
{
    if (fake.observer)
        fake.observer(&(struct fake_activity){.kind = FAKE_API,
                                              .start_ns = c->start_ns,
                                              .end_ns = pp_now_ns(),
                                              .name = c->name,
                                              .correlation = c->correlation,
                                              .result = rc});
    return rc;
}

#define CALL(name) \
    struct call call; \
    int rc = begin(&call, #name); \
    if (rc) \
    return end(&call, rc)
#define NEEDS_CONTEXT \
    if (!has_context) \
    return end(&call, 201)
#define DONE return end(&call, 0)

static struct thing *make(enum thing_kind kind, size_t size, unsigned flags)
{
    struct thing *t = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_THINGS && !t; i++)
        if (things[i].kind == NOTHING)
            t = &things[i];
    if (t)
        *t = (struct thing){.kind = kind, .size = size, .flags = flags};
    pthread_mutex_unlock(&lock);
    return t;
}

static int unmake(void *handle, enum thing_kind kind)
{
    struct thing *t = handle;
    int known = t >= things && t < things + MAX_THINGS && t->kind == kind;
    pthread_mutex_lock(&lock);
    if (known)
        t->kind = NOTHING;
    pthread_mutex_unlock(&lock);
    return known ? 0 : 400;
}

/* ---- driver and device ---- */

EXPORT int cuInit(unsigned flags)
{
    CALL(cuInit);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (flags || fake.devices == 0 || (visible && (!*visible || *visible == '-')))
        return end(&call, PP_CU_NO_DEVICE);
    fake.initialised = 1;
    DONE;
}

EXPORT int cuDriverGetVersion(int *version)
{
    CALL(cuDriverGetVersion);
    *version = fake.version;
    DONE;
}

EXPORT int cuGetErrorString(int rc, const char **text)
{
    static const struct {
        int rc;
        const char *text;
    } words[] = {{0, "no error"},
                 {2, "out of memory"},
                 {3, "initialization error"},
                 {100, "no CUDA-capable device is detected"},
                 {201, "invalid device context"},
                 {222, "the provided PTX was compiled with an unsupported toolchain."},
                 {700, "an illegal memory access was encountered"},
                 {719, "unspecified launch failure"},
                 {803, "system has unsupported display driver / cuda driver combination"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i].rc == rc) {
            *text = words[i].text;
            return 0;
        }
    }
    return 1;
}

EXPORT int cuDeviceGetCount(int *n)
{
    CALL(cuDeviceGetCount);
    *n = fake.devices;
    if (!fake.initialised)
        return end(&call, PP_CU_NOT_INITIALIZED);
    DONE;
}

EXPORT int cuDeviceGet(int *out, int ordinal)
{
    CALL(cuDeviceGet);
    *out = ordinal;
    return end(&call, ordinal < fake.devices ? 0 : PP_CU_INVALID_DEVICE);
}

EXPORT int cuDeviceGetName(char *name, int size, int dev)
{
    CALL(cuDeviceGetName);
    snprintf(name, (size_t)size, "%s %d", fake.name, dev);
    DONE;
}

EXPORT int cuDeviceGetPCIBusId(char *id, int size, int dev)
{
    CALL(cuDeviceGetPCIBusId);
    snprintf(id, (size_t)size, "0000:%02x:00.0", 0x3b + dev);
    DONE;
}

EXPORT int cuDeviceGetAttribute(int *out, int attribute, int dev)
{
    CALL(cuDeviceGetAttribute);
    *out = attribute == PP_CU_ATTRIBUTE_MAJOR             ? 9
           : attribute == PP_CU_ATTRIBUTE_MULTIPROCESSORS ? fake.multiprocessors
                                                          : 0;
    DONE;
}

EXPORT int cuDevicePrimaryCtxRetain(pp_cu_context *out, int dev)
{
    CALL(cuDevicePrimaryCtxRetain);
    fake.contexts++;
    *out = (pp_cu_context)&fake;
    DONE;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int dev)
{
    CALL(cuDevicePrimaryCtxRelease_v2);
    fake.contexts--;
    DONE;
}

EXPORT int cuCtxSetCurrent(pp_cu_context ctx)
{
    CALL(cuCtxSetCurrent);
    has_context = ctx != NULL;
    DONE;
}

/* What a profiler asks that is a guest in the program. */
EXPORT int cuCtxGetCurrent(pp_cu_context *out)
{
    CALL(cuCtxGetCurrent);
    *out = has_context ? (pp_cu_context)&fake : NULL;
    return end(&call, fake.initialised ? 0 : PP_CU_NOT_INITIALIZED);
}

EXPORT int cuCtxGetDevice(int *dev)
{
    CALL(cuCtxGetDevice);
    NEEDS_CONTEXT;
    *dev = 0;
    DONE;
}

/* ---- memory ---- */

EXPORT int cuMemHostAlloc(void **out, size_t size, unsigned flags)
{
    CALL(cuMemHostAlloc);
    NEEDS_CONTEXT;
    if (fake.host_used + size > fake.host_limit)
        return end(&call, PP_CU_OUT_OF_MEMORY);
    struct thing *t = make(HOST_MEMORY, size, flags);
    *out = memory_of[t - things] = malloc(size);
    fake.host_used += size;
    DONE;
}

/* The thing that holds address p, or NULL. */
static struct thing *holder(const void *p, enum thing_kind kind)
{
    for (int i = 0; i < MAX_THINGS; i++)
        if (things[i].kind == kind && (const char *)p >= (char *)memory_of[i] &&
            (const char *)p < (char *)memory_of[i] + things[i].size)
            return &things[i];
    return NULL;
}

static int drop(void *p, enum thing_kind kind, size_t *used)
{
    struct thing *t = holder(p, kind);
    if (!t || memory_of[t - things] != p)
        return 1;
    free(p);
    memory_of[t - things] = NULL;
    *used -= t->size;
    return unmake(t, kind);
}

EXPORT int cuMemFreeHost(void *p)
{
    CALL(cuMemFreeHost);
    NEEDS_CONTEXT;
    return end(&call, drop(p, HOST_MEMORY, &fake.host_used));
}

EXPORT int cuMemAlloc_v2(pp_cu_pointer *out, size_t size)
{
    CALL(cuMemAlloc_v2);
    NEEDS_CONTEXT;
    if (fake.device_used + size > fake.device_limit)
        return end(&call, PP_CU_OUT_OF_MEMORY);
    struct thing *t = make(DEVICE_MEMORY, size, 0);
    memory_of[t - things] = malloc(size);
    *out = (pp_cu_pointer)(uintptr_t)memory_of[t - things];
    fake.device_used += size;
    DONE;
}

EXPORT int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    CALL(cuMemGetInfo_v2);
    NEEDS_CONTEXT;
    *total = fake.device_limit == (size_t)-1 ? (size_t)80 << 30 : fake.device_limit;
    *available = *total - fake.device_used;
    DONE;
}

EXPORT int cuMemFree_v2(pp_cu_pointer p)
{
    CALL(cuMemFree_v2);
    NEEDS_CONTEXT;
    return end(&call, drop((void *)(uintptr_t)p, DEVICE_MEMORY, &fake.device_used));
}

/* ---- streams, events, copies ---- */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When everything that the legacy default stream waits for is done. Lock held. */
static uint64_t blocking_streams_done(void)
{
    uint64_t done = 0;
    for (int i = 0; i < MAX_THINGS; i++)
        if (things[i].kind == STREAM && !(things[i].flags & PP_CU_STREAM_NON_BLOCKING))
            done = later(done, things[i].at_ns);
    return done;
}

static int copy(const struct call *call, pp_cu_pointer to, const void *from, size_t size,
                struct thing *stream)
{
    const struct thing *src = holder(from, HOST_MEMORY);
    struct thing *dst = holder((void *)(uintptr_t)to, DEVICE_MEMORY);
    if (!dst || (size_t)((char *)(uintptr_t)to - (char *)memory_of[dst - things]) + size > dst->size)
        return 1;
    double gbps = !src                                     ? fake.pageable_gbps
                  : src->flags & PP_CU_HOST_WRITE_COMBINED ? fake.combined_gbps
                                                           : fake.gbps;
    pthread_mutex_lock(&lock);
    uint64_t from_ns = later(pp_now_ns(), fake.link_free_ns);
    from_ns = later(from_ns, stream ? stream->at_ns : blocking_streams_done());
    uint64_t done = from_ns + (uint64_t)((double)size / gbps);
    fake.link_free_ns = done;
    *(stream ? &stream->at_ns : &fake.legacy_done_ns) = done;
    fake.last_copy = (void *)(uintptr_t)to;
    pthread_mutex_unlock(&lock);
    memcpy((void *)(uintptr_t)to, from, size);
    if (fake.observer)
        fake.observer(&(struct fake_activity){.kind = FAKE_COPY,
                                              .start_ns = from_ns,
                                              .end_ns = done,
                                              .bytes = size,
                                              .pinned = src != NULL,
                                              .asynchronous = stream != NULL,
                                              .correlation = call->correlation,
                                              .stream = stream ? (uint32_t)(stream - things) + 13 : 7});
    if (!src || !stream)
        pp_sleep_until_ns(done);
    return 0;
}

EXPORT int cuMemcpyHtoD_v2(pp_cu_pointer to, const void *from, size_t size)
{
    CALL(cuMemcpyHtoD_v2);
    NEEDS_CONTEXT;
    return end(&call, copy(&call, to, from, size, NULL));
}

EXPORT int cuMemcpyHtoDAsync_v2(pp_cu_pointer to, const void *from, size_t size, pp_cu_stream stream)
{
    CALL(cuMemcpyHtoDAsync_v2);
    NEEDS_CONTEXT;
    return end(&call, copy(&call, to, from, size, (struct thing *)stream));
}

/* As the real one: on the legacy default stream, and back when the bytes are there. */
EXPORT int cuMemcpyDtoH_v2(void *to, pp_cu_pointer from, size_t size)
{
    CALL(cuMemcpyDtoH_v2);
    NEEDS_CONTEXT;
    const struct thing *src = holder((void *)(uintptr_t)from, DEVICE_MEMORY);
    if (!src || (size_t)((char *)(uintptr_t)from - (char *)memory_of[src - things]) + size > src->size)
        return end(&call, 1);
    pthread_mutex_lock(&lock);
    uint64_t done = later(later(pp_now_ns(), blocking_streams_done()), fake.legacy_done_ns);
    pthread_mutex_unlock(&lock);
    pp_sleep_until_ns(done);
    memcpy(to, (void *)(uintptr_t)from, size);
    DONE;
}

EXPORT int cuStreamCreate(pp_cu_stream *out, unsigned flags)
{
    CALL(cuStreamCreate);
    NEEDS_CONTEXT;
    *out = (pp_cu_stream)make(STREAM, 0, flags);
    DONE;
}

/* The end of work that is waited for moves while the wait goes on: a decoder may slow that work down. */
static void wait_for(const struct thing *t)
{
    uint64_t at = 0, before;
    do {
        before = at;
        pthread_mutex_lock(&lock);
        at = t->at_ns;
        pthread_mutex_unlock(&lock);
        pp_sleep_until_ns(at);
    } while (at != before);
}

EXPORT int cuStreamSynchronize(pp_cu_stream stream)
{
    CALL(cuStreamSynchronize);
    wait_for((struct thing *)stream);
    DONE;
}

EXPORT int cuStreamDestroy_v2(pp_cu_stream stream)
{
    CALL(cuStreamDestroy_v2);
    return end(&call, unmake(stream, STREAM));
}

EXPORT int cuEventCreate(pp_cu_event *out, unsigned flags)
{
    CALL(cuEventCreate);
    NEEDS_CONTEXT;
    *out = (pp_cu_event)make(EVENT, 0, flags);
    DONE;
}

EXPORT int cuEventRecord(pp_cu_event event, pp_cu_stream stream)
{
    CALL(cuEventRecord);
    NEEDS_CONTEXT;
    pthread_mutex_lock(&lock);
    struct thing *e = (struct thing *)event;
    e->of = (struct thing *)stream;
    e->at_ns = later(e->of ? e->of->at_ns : fake.legacy_done_ns, pp_now_ns());
    pthread_mutex_unlock(&lock);
    DONE;
}

EXPORT int cuEventSynchronize(pp_cu_event event)
{
    CALL(cuEventSynchronize);
    wait_for((struct thing *)event);
    DONE;
}

EXPORT int cuEventElapsedTime(float *ms, pp_cu_event from, pp_cu_event to)
{
    CALL(cuEventElapsedTime);
    *ms = (float)((double)(((struct thing *)to)->at_ns - ((struct thing *)from)->at_ns) / 1e6);
    DONE;
}

EXPORT int cuEventDestroy_v2(pp_cu_event event)
{
    CALL(cuEventDestroy_v2);
    return end(&call, unmake(event, EVENT));
}

EXPORT int cuCtxSynchronize(void)
{
    CALL(cuCtxSynchronize);
    NEEDS_CONTEXT;
    uint64_t done = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_THINGS; i++)
        if (things[i].kind == STREAM)
            done = later(done, things[i].at_ns);
    pthread_mutex_unlock(&lock);
    pp_sleep_until_ns(later(done, pp_now_ns()) + fake.sync_ns);
    DONE;
}

/* ---- kernels ---- */

EXPORT int cuModuleLoadData(pp_cu_module *out, const void *image)
{
    CALL(cuModuleLoadData);
    NEEDS_CONTEXT;
    if (!strstr(image, ".version") || !strstr(image, ".entry"))
        return end(&call, 200);
    *out = (pp_cu_module)make(MODULE, 0, 0);
    DONE;
}

EXPORT int cuModuleUnload(pp_cu_module module)
{
    CALL(cuModuleUnload);
    return end(&call, unmake(module, MODULE));
}

EXPORT int cuModuleGetFunction(pp_cu_function *out, pp_cu_module module, const char *name)
{
    CALL(cuModuleGetFunction);
    *out = (pp_cu_function)fake_kernel_named(name);
    return end(&call, *out ? 0 : 500);
}

static int is_on_device(const void *p, size_t size)
{
    const struct thing *t = holder(p, DEVICE_MEMORY);
    return t && (size_t)((const char *)p - (char *)memory_of[t - things]) + size <= t->size;
}

EXPORT int fake_cuda_owns(const void *p, size_t size)
{
    pthread_mutex_lock(&lock);
    int owned = is_on_device(p, size);
    pthread_mutex_unlock(&lock);
    return owned;
}

EXPORT int fake_cuda_pins(const void *p, size_t size)
{
    pthread_mutex_lock(&lock);
    const struct thing *t = holder(p, HOST_MEMORY);
    int pinned = t && (size_t)((const char *)p - (char *)memory_of[t - things]) + size <= t->size;
    pthread_mutex_unlock(&lock);
    return pinned;
}

EXPORT void fake_cuda_occupy(void *stream, uint64_t ns)
{
    struct thing *s = stream;
    pthread_mutex_lock(&lock);
    uint64_t *done = s ? &s->at_ns : &fake.legacy_done_ns;
    *done = later(*done, pp_now_ns()) + ns;
    pthread_mutex_unlock(&lock);
}

EXPORT void fake_cuda_occupy_sms(void *stream, uint64_t ns, double share)
{
    struct thing *s = stream;
    pthread_mutex_lock(&lock);
    uint64_t now = pp_now_ns(), *done = s ? &s->at_ns : &fake.legacy_done_ns, was = fake.sms.end_ns;
    *done = later(*done, now) + ns;
    uint64_t longer = fake_sms_take(&fake.sms, now, *done, share);
    for (int i = 0; i < MAX_THINGS && longer; i++) {
        struct thing *t = &things[i];
        int behind = t == fake.sms.stream || (t->kind == EVENT && t->of == fake.sms.stream);
        t->at_ns += behind && t->at_ns >= was ? longer : 0;
    }
    pthread_mutex_unlock(&lock);
}

EXPORT void fake_cuda_poison(int rc)
{
    fake.poison = rc;
}

/* Does the work now and says how long a device with 500 GB/s takes for it; 0 when an address is not its own.
 * Lock held. */
static uint64_t normalize(const struct fake_kernel *k, void **args, struct fake_index grid,
                          struct fake_index block)
{
    struct fake_normalize_args a = fake_normalize_args(args);
    size_t n = (size_t)a.plane * a.images * 3;
    if (!is_on_device(a.in, n) || !is_on_device(a.out, n * k->value_bytes) ||
        !is_on_device(a.table, 768 * k->value_bytes))
        return 0;
    fake_normalize(k, &a, grid, block);
    fake.last_normalized = a.out;
    if (fake.wrong)
        *((char *)a.out + (n - 1) * k->value_bytes) ^= 1;
    return 1000 + n * (1 + k->value_bytes) / 500;
}

/* Every address that the jobs of the kernel reach is the device's, as far as that can be told before it runs.
 */
static int jobs_are_sound(const struct fake_kernel *k, const struct fake_resize_args *a)
{
    size_t sample = (size_t)a->width * a->height * 3 * k->value_bytes;
    if (!is_on_device(a->jobs, a->images * sizeof(*a->jobs)) ||
        (k->value_bytes > 1 && !is_on_device(a->table, 768 * k->value_bytes)))
        return 0;
    for (unsigned i = 0; i < a->images; i++) {
        const struct pp_resize_job *j = &a->jobs[i];
        const int *x = (const int *)(uintptr_t)j->tables, *x_start = x + j->x_count * j->x_taps,
                  *y = x_start + j->x_count, *y_start = y + j->y_count * j->y_taps;
        size_t tables = sizeof(int) * ((size_t)j->x_count * (size_t)(j->x_taps + 1) +
                                       (size_t)j->y_count * (size_t)(j->y_taps + 1));
        if (!is_on_device(x, tables) || !is_on_device((void *)(uintptr_t)j->out, sample))
            return 0;
        for (int r = 0; r<j->y_count; r += j->y_count> 1 ? j->y_count - 1 : 1)
            for (int c = 0; c<j->x_count; c += j->x_count> 1 ? j->x_count - 1 : 1) {
                const char *p = (const char *)(uintptr_t)j->pixels;
                if (!is_on_device(p + (size_t)j->pitch * (size_t)(y_start[r] + j->y_taps - 1) +
                                      3 * (size_t)x_start[c],
                                  3 * (size_t)j->x_taps) ||
                    !is_on_device(p + (size_t)j->pitch * (size_t)y_start[r] + 3 * (size_t)x_start[c], 1))
                    return 0;
            }
    }
    return 1;
}

/* As normalize. */
static uint64_t resize(const struct fake_kernel *k, void **args, struct fake_index grid,
                       struct fake_index block)
{
    struct fake_resize_args a = fake_resize_args(args);
    if (!jobs_are_sound(k, &a))
        return 0;
    fake_resize(k, &a, grid, block);
    fake.last_normalized = (void *)(uintptr_t)a.jobs[0].out;
    return 1000 + (size_t)a.width * a.height * a.images * 3 * k->value_bytes / 500;
}

EXPORT int cuLaunchKernel(pp_cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared_bytes, pp_cu_stream stream, void **args, void **extra)
{
    CALL(cuLaunchKernel);
    NEEDS_CONTEXT;
    const struct fake_kernel *k = (const struct fake_kernel *)f;
    struct thing *s = (struct thing *)stream;
    pthread_mutex_lock(&lock);
    struct fake_index grid = {gx, gy}, block = {bx, by};
    uint64_t ns = k->works     ? fake.block_ns * gx
                  : k->resizes ? resize(k, args, grid, block)
                  : k->value_bytes
                      ? normalize(k, args, grid, block)
                      : (*(unsigned long long *)args[0] + fake.timer_ns - 1) / fake.timer_ns * fake.timer_ns;
    uint64_t *done = s ? &s->at_ns : &fake.legacy_done_ns;
    uint64_t from = later(pp_now_ns() + fake.launch_ns, *done);
    if (!s)
        from = later(from, blocking_streams_done());
    else if (!(s->flags & PP_CU_STREAM_NON_BLOCKING))
        from = later(from, fake.legacy_done_ns);
    uint64_t to = *done = k->works ? fake_sms_work(&fake.sms, s, from, ns) : from + ns;
    pthread_mutex_unlock(&lock);
    if (k->value_bytes && !ns)
        return end(&call, 700);
    if (fake.observer)
        fake.observer(&(struct fake_activity){.kind = FAKE_KERNEL,
                                              .start_ns = from,
                                              .end_ns = to,
                                              .name = k->name,
                                              .correlation = call.correlation,
                                              .stream = s ? (uint32_t)(s - things) + 13 : 7});
    DONE;
}
