#include "probe/loader/ballast.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SLICE_NS 10000000.0

struct pp_ballast {
    atomic_int stop;
    double share; /* of each slice */
    int started;
    pthread_t thread[];
};

void pp_burn_cpu_ns(double ns)
{
    uint64_t end = pp_thread_cpu_ns() + (uint64_t)ns;
    volatile uint64_t x = 1;
    while (pp_thread_cpu_ns() < end)
        for (int i = 0; i < 200; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
}

static void *ballast_main(void *arg)
{
    struct pp_ballast *b = arg;
    pthread_setname_np(pthread_self(), "pp-ballast");
    uint64_t slice_end = pp_now_ns();
    while (!atomic_load_explicit(&b->stop, memory_order_relaxed)) {
        uint64_t now = pp_now_ns();
        slice_end = (slice_end > now ? slice_end : now) + (uint64_t)SLICE_NS;
        pp_burn_cpu_ns(b->share * SLICE_NS);
        if (pp_now_ns() < slice_end)
            pp_sleep_until_ns(slice_end);
    }
    return NULL;
}

pp_status pp_ballast_start(double cpus, int threads, struct pp_ballast **out, struct pp_err *err)
{
    struct pp_ballast *b = calloc(1, sizeof(*b) + (size_t)threads * sizeof(b->thread[0]));
    int rc = 0;
    *out = NULL;
    if (!b)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a ballast of %d threads", threads);
    b->share = cpus / threads;
    while (b->started < threads && (rc = pthread_create(&b->thread[b->started], NULL, ballast_main, b)) == 0)
        b->started++;
    if (rc != 0) {
        pp_ballast_stop(b);
        return pp_fail_errno(err, rc, "starting a ballast of %d threads failed", threads);
    }
    *out = b;
    return PP_OK;
}

void pp_ballast_stop(struct pp_ballast *b)
{
    if (!b)
        return;
    atomic_store_explicit(&b->stop, 1, memory_order_relaxed); /* the flag guards no other memory */
    for (int i = 0; i < b->started; i++)
        pthread_join(b->thread[i], NULL);
    free(b);
}
