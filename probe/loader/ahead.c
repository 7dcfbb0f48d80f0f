#include "probe/loader/loader_impl.h"

#include "probe/base/err.h"
#include "probe/storage/storage.h"

struct entry {
    struct pp_claim claim;
    struct pp_sample sample;
    uint64_t grown; /* of sample, when it was popped last */
    pp_status st;
    struct pp_err err;
    uint64_t wait_ns;
    int done; /* guarded by lock; the rest is the reading thread's until it is set, then the worker's */
};

struct pp_ahead {
    const struct pp_loader_opts *opts;
    int worker, n, threads;
    pthread_t *thread;
    pthread_mutex_t lock;
    pthread_cond_t pushed, ended;
    int stop;       /* guarded by lock, as the next two */
    uint64_t next;  /* the read that begins next */
    uint64_t end;   /* behind the one pushed last; entries are counted, and lie modulo n */
    uint64_t first; /* the worker's own: the head */
    struct entry entry[];
};

static struct entry *entry_of(const struct pp_ahead *a, uint64_t number)
{
    return (struct entry *)&a->entry[number % (uint64_t)a->n];
}

static void *thread_main(void *arg)
{
    struct pp_ahead *a = arg;
    char name[16];
    snprintf(name, sizeof(name), "pp-ahead-%d", a->worker % 10000);
    pthread_setname_np(pthread_self(), name);
    pthread_mutex_lock(&a->lock);
    while (!a->stop) {
        if (a->next == a->end) {
            pthread_cond_wait(&a->pushed, &a->lock);
            continue;
        }
        struct entry *e = entry_of(a, a->next++);
        pthread_mutex_unlock(&a->lock);
        const struct pp_read_context context = {.epoch = e->claim.slot->epoch,
                                                .sample = e->claim.index,
                                                .worker = a->worker,
                                                .attempt = 0};
        pp_err_clear(&e->err);
        e->st = pp_dataset_read_for(a->opts->dataset, &context, &e->sample, &e->err);
        e->wait_ns = e->st == PP_E_TRANSIENT ? pp_storage_retry_wait_ns(a->opts->retry_backoff_ns) : 0;
        pthread_mutex_lock(&a->lock);
        e->done = 1;
        pthread_cond_signal(&a->ended); /* the worker alone waits */
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

pp_status pp_ahead_create(const struct pp_loader_opts *opts, int worker, struct pp_ahead **out,
                          struct pp_err *err)
{
    int n = opts->inflight, rc = 0;
    struct pp_ahead *a = calloc(1, sizeof(*a) + (size_t)n * sizeof(a->entry[0]));
    *out = NULL;
    if (!a || !(a->thread = calloc((size_t)n, sizeof(*a->thread)))) {
        free(a);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %d reads in flight", n);
    }
    a->opts = opts;
    a->worker = worker;
    a->n = n;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->pushed, NULL);
    pthread_cond_init(&a->ended, NULL);
    for (int i = 0; i < n; i++)
        a->entry[i].sample.limit = opts->sample_memory;
    for (; a->threads < n && rc == 0; a->threads += rc == 0)
        rc = pthread_create(&a->thread[a->threads], NULL, thread_main, a);
    if (rc) {
        pp_ahead_destroy(a);
        return pp_fail_errno(err, rc,
                             "starting the threads for %d reads in flight failed; try a lower --inflight", n);
    }
    *out = a;
    return PP_OK;
}

uint64_t pp_ahead_destroy(struct pp_ahead *a)
{
    if (!a)
        return 0;
    pthread_mutex_lock(&a->lock);
    a->stop = 1;
    pthread_cond_broadcast(&a->pushed);
    pthread_mutex_unlock(&a->lock);
    for (int i = 0; i < a->threads; i++)
        pthread_join(a->thread[i], NULL);
    uint64_t held = sizeof(*a);
    for (int i = 0; i < a->n; i++) {
        held += sizeof(a->entry[i]) + a->entry[i].sample.cap;
        pp_sample_free(&a->entry[i].sample);
    }
    pthread_cond_destroy(&a->ended);
    pthread_cond_destroy(&a->pushed);
    pthread_mutex_destroy(&a->lock);
    free(a->thread);
    free(a);
    return held;
}

int pp_ahead_count(const struct pp_ahead *a)
{
    return (int)(a->end - a->first); /* end is written by the worker alone, which asks */
}

void pp_ahead_push(struct pp_ahead *a, const struct pp_claim *claim)
{
    pthread_mutex_lock(&a->lock);
    struct entry *e = entry_of(a, a->end);
    e->claim = *claim;
    e->done = 0;
    a->end++;
    pthread_cond_signal(&a->pushed);
    pthread_mutex_unlock(&a->lock);
}

const struct pp_claim *pp_ahead_head(const struct pp_ahead *a)
{
    return &entry_of(a, a->first)->claim;
}

pp_status pp_ahead_wait(struct pp_ahead *a, struct pp_ahead_result *out, struct pp_err *err)
{
    struct entry *e = entry_of(a, a->first);
    pthread_mutex_lock(&a->lock);
    while (!e->done)
        pthread_cond_wait(&a->ended, &a->lock);
    pthread_mutex_unlock(&a->lock);
    *out = (struct pp_ahead_result){.sample = &e->sample, .wait_ns = e->wait_ns};
    if (e->st != PP_OK && err)
        *err = e->err;
    return e->st;
}

uint64_t pp_ahead_pop(struct pp_ahead *a)
{
    struct pp_ahead_result result;
    struct entry *e = entry_of(a, a->first);
    pp_ahead_wait(a, &result, NULL);
    uint64_t grew = e->sample.grown - e->grown;
    e->grown = e->sample.grown;
    a->first++;
    return grew;
}
