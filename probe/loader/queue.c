#include "probe/loader/queue.h"

#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/err.h"
#include "probe/loader/loader.h"

/* ---- the meter ---- */

void pp_meter_set(struct pp_meter *m, uint64_t depth, uint64_t now_ns)
{
    /* Two threads' clock reads may arrive out of order by a few ns: time runs forwards in the account. */
    uint64_t span = now_ns > m->changed_ns ? now_ns - m->changed_ns : 0;
    m->area += (double)m->depth * (double)span;
    if (m->depth == 0)
        m->empty_ns += span;
    if (m->depth >= m->capacity)
        m->full_ns += span;
    m->changed_ns += span;
    m->depth = depth;
}

void pp_meter_report(struct pp_meter *m, const char *name, uint64_t now_ns, struct pp_loader_queue *out)
{
    pp_meter_set(m, m->depth, now_ns);
    uint64_t total = m->changed_ns - m->started_ns;
    double per = total ? 1.0 / (double)total : 0;
    *out = (struct pp_loader_queue){
        .name = name,
        .capacity = m->capacity,
        .puts = m->puts,
        .gets = m->gets,
        .put_wait_ns = m->put_wait_ns,
        .get_wait_ns = m->get_wait_ns,
        .mean_depth = m->area * per,
        .share_empty = (double)m->empty_ns * per,
        .share_full = (double)m->full_ns * per,
    };
}

/* ---- the queue ---- */

pp_status pp_queue_init(struct pp_queue *q, size_t capacity, struct pp_err *err)
{
    *q = (struct pp_queue){.capacity = capacity};
    q->items = calloc(capacity, sizeof(*q->items));
    if (!q->items)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a queue of %zu batches", capacity);
    pthread_mutex_init(&q->lock, NULL);
    pp_cond_init(&q->not_empty);
    pp_cond_init(&q->not_full);
    uint64_t now = pp_now_ns();
    q->meter = (struct pp_meter){.capacity = capacity, .started_ns = now, .changed_ns = now};
    return PP_OK;
}

void pp_queue_free(struct pp_queue *q)
{
    if (!q->items)
        return;
    pthread_cond_destroy(&q->not_full);
    pthread_cond_destroy(&q->not_empty);
    pthread_mutex_destroy(&q->lock);
    free(q->items);
    q->items = NULL;
}

pp_status pp_queue_put(struct pp_queue *q, void *item)
{
    pp_status st = PP_OK;
    pthread_mutex_lock(&q->lock);
    if (q->count == q->capacity && !q->closed) {
        uint64_t t0 = pp_now_ns();
        while (q->count == q->capacity && !q->closed)
            pthread_cond_wait(&q->not_full, &q->lock);
        q->meter.put_wait_ns += pp_now_ns() - t0;
    }
    if (q->closed) {
        st = PP_END;
    } else {
        q->items[(q->head + q->count++) % q->capacity] = item;
        q->meter.puts++;
        pp_meter_set(&q->meter, q->count, pp_now_ns());
        pthread_cond_signal(&q->not_empty);
    }
    pthread_mutex_unlock(&q->lock);
    return st;
}

pp_status pp_queue_get(struct pp_queue *q, void **item, uint64_t deadline_ns)
{
    pp_status st = PP_OK;
    pthread_mutex_lock(&q->lock);
    if (!q->count && !q->closed) {
        uint64_t t0 = pp_now_ns();
        while (!q->count && !q->closed && st == PP_OK)
            if (pp_cond_wait_until(&q->not_empty, &q->lock, deadline_ns) != 0)
                st = PP_E_INTERRUPTED;
        q->meter.get_wait_ns += pp_now_ns() - t0;
    }
    if (q->count) {
        *item = q->items[q->head];
        q->head = (q->head + 1) % q->capacity;
        q->count--;
        q->meter.gets++;
        pp_meter_set(&q->meter, q->count, pp_now_ns());
        pthread_cond_signal(&q->not_full);
        st = PP_OK;
    } else if (q->closed) {
        st = PP_END;
    }
    pthread_mutex_unlock(&q->lock);
    return st;
}

void pp_queue_close(struct pp_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = 1;
    pthread_cond_broadcast(&q->not_empty);
    pthread_cond_broadcast(&q->not_full);
    pthread_mutex_unlock(&q->lock);
}

size_t pp_queue_depth(struct pp_queue *q)
{
    pthread_mutex_lock(&q->lock);
    size_t n = q->count;
    pthread_mutex_unlock(&q->lock);
    return n;
}
