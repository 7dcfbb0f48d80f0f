#include "probe/dataset/dataset_each.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"

#include <pthread.h>
#include <time.h>
#include <sys/resource.h>

enum { MAX_THREADS = 32, PROGRESS_MS = 100 };

struct pool {
    const struct pp_each *each;
    atomic_uint_least64_t next, finished; /* relaxed: results are read after pthread_join */
    atomic_int stop;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int running; /* below: under lock */
    uint64_t failed_at;
    pp_status status;
    struct pp_err err;
};

static void keep_failure(struct pool *p, uint64_t i, pp_status st, const struct pp_err *err)
{
    pthread_mutex_lock(&p->lock);
    if (p->status == PP_OK || i < p->failed_at) {
        p->status = st;
        p->failed_at = i;
        p->err = *err;
    }
    pthread_mutex_unlock(&p->lock);
    atomic_store_explicit(&p->stop, 1, memory_order_relaxed);
}

static void do_pieces(struct pool *p)
{
    while (!atomic_load_explicit(&p->stop, memory_order_relaxed)) {
        uint64_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (i >= p->each->n)
            break;
        struct pp_err err;
        pp_err_clear(&err);
        pp_status st = p->each->piece(p->each->ctx, i, &err);
        if (st != PP_OK)
            keep_failure(p, i, st, &err);
        else
            atomic_fetch_add_explicit(&p->finished, 1, memory_order_relaxed);
    }
}

static void *thread_main(void *arg)
{
    struct pool *p = arg;
    pthread_setname_np(pthread_self(), "pp-open");
    do_pieces(p);
    pthread_mutex_lock(&p->lock);
    p->running--;
    pthread_cond_signal(&p->ended);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

pp_status pp_each_run(const struct pp_each *each, struct pp_err *err)
{
    struct pool p = {.each = each, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread[MAX_THREADS];
    pthread_condattr_t attr;
    int want = each->threads < MAX_THREADS ? each->threads : MAX_THREADS, started = 0;

    if ((uint64_t)want > each->n)
        want = (int)each->n;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p.ended, &attr);
    pthread_condattr_destroy(&attr);

    pthread_mutex_lock(&p.lock);
    for (; started < want; started++, p.running++)
        if (pthread_create(&thread[started], NULL, thread_main, &p) != 0)
            break;
    /* Reports every PROGRESS_MS until no thread is left, or the report says stop. */
    int (*report)(void *, const char *, uint64_t, uint64_t) = each->opts->progress;
    uint64_t due = pp_now_ns() + PROGRESS_MS * 1000000u;
    while (p.running > 0) {
        struct timespec ts = {.tv_sec = (time_t)(due / 1000000000u), .tv_nsec = (long)(due % 1000000000u)};
        pthread_cond_timedwait(&p.ended, &p.lock, &ts);
        if (p.running == 0 || pp_now_ns() < due)
            continue;
        due = pp_now_ns() + PROGRESS_MS * 1000000u;
        if (!report)
            continue;
        pthread_mutex_unlock(&p.lock);
        uint64_t done = atomic_load_explicit(each->done ? each->done : &p.finished, memory_order_relaxed);
        if (report(each->opts->progress_ctx, each->what, done, each->done ? 0 : each->n)) {
            struct pp_err stopped;
            pp_fail(&stopped, PP_E_INTERRUPTED, "stopped while %s", each->what);
            keep_failure(&p, UINT64_MAX, PP_E_INTERRUPTED, &stopped);
            report = NULL;
        }
        pthread_mutex_lock(&p.lock);
    }
    pthread_mutex_unlock(&p.lock);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    if (started == 0) /* no thread to be had: do it here, without progress */
        do_pieces(&p);

    pthread_cond_destroy(&p.ended);
    pthread_mutex_destroy(&p.lock);
    if (p.status != PP_OK && err)
        *err = p.err;
    return p.status;
}

uint64_t pp_each_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 256;
    return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > 1 << 16 ? 1 << 15 : limit.rlim_cur / 2;
}
