/* The host device: page-locked memory, and a copy engine played by a clock. A real copy engine moves a batch
 * without the CPU; a memcpy here would take up to 20 % of a core from the loader under test, so a copy is
 * only timed: it starts when the link is free and ends size / bandwidth later. What costs CPU on a real
 * machine costs it here: with pageable memory every byte is copied into a staging buffer first. */
#include "probe/device/ops.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define DEFAULT_LINK_BYTES_PER_S 25e9
#define STAGING_BYTES ((size_t)4 << 20) /* as the CUDA driver's: a few MiB, used alternately */

struct host {
    struct pp_device base;
    double bytes_per_s;
    int pageable, unlocked;
    char name[64], note[160];
    pthread_mutex_t lock;
    uint64_t link_free_ns; /* guarded by lock: when the last issued copy ends */
    uint8_t *staging[2];   /* pageable only */
};

static void host_close(struct pp_device *d)
{
    struct host *h = (struct host *)d;
    for (int i = 0; i < 2; i++)
        pp_pages_unmap(h->staging[i], STAGING_BYTES);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

static void host_info(const struct pp_device *d, struct pp_device_info *out)
{
    const struct host *h = (const struct host *)d;
    out->name = h->name;
    out->pinned = !h->pageable && !h->unlocked;
    out->note = h->note[0] ? h->note : NULL;
}

static pp_status host_alloc(struct pp_device *d, size_t size, void **out, struct pp_err *err)
{
    struct host *h = (struct host *)d;
    pp_status st = pp_pages_map(size, out, err);
    if (st == PP_OK && !h->pageable && mlock(*out, size) != 0 && !h->unlocked) {
        struct rlimit lim = {0};
        getrlimit(RLIMIT_MEMLOCK, &lim);
        h->unlocked = 1;
        snprintf(h->note, sizeof(h->note),
                 "batch slots are not page-locked (%s; the limit is %llu KiB, see ulimit -l)",
                 strerror(errno), (unsigned long long)lim.rlim_cur >> 10);
    }
    return st;
}

/* Issues one transfer on the link and returns when it will be done. */
static uint64_t issue(struct host *h, size_t size)
{
    uint64_t took = (uint64_t)((double)size / h->bytes_per_s * 1e9);
    pthread_mutex_lock(&h->lock);
    uint64_t now = pp_now_ns();
    uint64_t begin = h->link_free_ns > now ? h->link_free_ns : now;
    uint64_t done = h->link_free_ns = begin + took;
    pthread_mutex_unlock(&h->lock);
    return done;
}

/* A ticket is the time at which the copy is done. */
static pp_status host_copy_start(struct pp_device *d, const void *src, size_t size, uint64_t *ticket,
                                 struct pp_err *err)
{
    struct host *h = (struct host *)d;
    if (!h->pageable) {
        *ticket = issue(h, size);
        return PP_OK;
    }
    uint64_t busy_until[2] = {0, 0};
    *ticket = pp_now_ns();
    for (size_t at = 0, i = 0; at < size; at += STAGING_BYTES, i ^= 1) {
        size_t n = size - at < STAGING_BYTES ? size - at : STAGING_BYTES;
        pp_sleep_until_ns(busy_until[i]);
        memcpy(h->staging[i], (const uint8_t *)src + at, n);
        *ticket = busy_until[i] = issue(h, n);
    }
    return PP_OK;
}

static pp_status host_copy_wait(struct pp_device *d, uint64_t ticket, struct pp_err *err)
{
    if (pp_now_ns() < ticket)
        pp_sleep_until_ns(ticket);
    return PP_OK;
}

static pp_status host_sync(struct pp_device *d, struct pp_err *err)
{
    struct host *h = (struct host *)d;
    pthread_mutex_lock(&h->lock);
    uint64_t done = h->link_free_ns;
    pthread_mutex_unlock(&h->lock);
    return host_copy_wait(d, done, err);
}

static pp_status host_open(const struct pp_device_opts *opts, struct pp_device **out, struct pp_err *err)
{
    pp_status st = PP_OK;
    struct host *h = calloc(1, sizeof(*h));
    if (!h)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the host device");
    h->base.ops = &pp_device_host;
    h->bytes_per_s = opts->link_bytes_per_s > 0 ? opts->link_bytes_per_s : DEFAULT_LINK_BYTES_PER_S;
    h->pageable = opts->pageable;
    pthread_mutex_init(&h->lock, NULL);
    snprintf(h->name, sizeof(h->name), "host device, simulated %.1f GB/s link, %s", h->bytes_per_s / 1e9,
             h->pageable ? "pageable" : "pinned");
    for (int i = 0; h->pageable && i < 2 && st == PP_OK; i++)
        st = pp_pages_map(STAGING_BYTES, (void **)&h->staging[i], err);
    if (st != PP_OK) {
        host_close(&h->base);
        return st;
    }
    *out = &h->base;
    return PP_OK;
}

const struct pp_device_ops pp_device_host = {
    .kind = "host",
    .text = "simulated GPU: page-locked memory and a link of given bandwidth",
    .open = host_open,
    .close = host_close,
    .info = host_info,
    .alloc = host_alloc,
    .copy_start = host_copy_start,
    .copy_wait = host_copy_wait,
    .sync = host_sync,
};

pp_status pp_pages_map(size_t size, void **out, struct pp_err *err)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return pp_fail_errno(err, errno,
                             "no memory for %zu MiB of batch slots; try a smaller --batch-size or --prefetch",
                             size >> 20);
    madvise(p, size, MADV_HUGEPAGE); /* a wish: refused, the pages are small */
    memset(p, 0, size);
    *out = p;
    return PP_OK;
}

void pp_pages_unmap(void *p, size_t size)
{
    if (p)
        munmap(p, size);
}
