#include "probe/loader/dispatch.h"

#include "probe/base/clock.h"
#include "probe/base/cond.h"
#include "probe/base/err.h"
#include "probe/sampler/sampler.h"
#include "probe/trace/observe.h"

pp_status pp_dispatch_init(struct pp_dispatch *d, const struct pp_loader_opts *opts, struct pp_queue *ready,
                           const struct pp_slot_memory *memory, struct pp_err *err)
{
    uint64_t rows = opts->batch_size;
    *d = (struct pp_dispatch){.opts = opts,
                              .ready = ready,
                              .n_slots = memory->n_slots,
                              .row_bytes = memory->row_bytes,
                              .max_steps = opts->max_steps,
                              .epoch = opts->start_epoch,
                              .position = opts->start_position};
    /* Enough for every worker to hold one while a batch's worth waits. */
    if (opts->streaming)
        d->n_items = (size_t)opts->workers * 2 + (rows < 256 ? rows : 256);
    pthread_mutex_init(&d->lock, NULL);
    pp_cond_init(&d->slot_free);
    pp_cond_init(&d->item_ready);
    pp_cond_init(&d->item_free);
    uint64_t now = pp_now_ns();
    d->slot_meter = (struct pp_meter){.capacity = d->n_slots,
                                      .depth = d->n_slots,
                                      .started_ns = now,
                                      .changed_ns = now};
    d->item_meter = (struct pp_meter){.capacity = d->n_items, .started_ns = now, .changed_ns = now};
    d->slots = calloc(d->n_slots, sizeof(*d->slots));
    d->free_slots = calloc(d->n_slots, sizeof(struct pp_slot *));
    d->finished = calloc(d->n_slots, sizeof(struct pp_slot *));
    int lacks = !d->slots || !d->free_slots || !d->finished;
    for (size_t i = 0; !lacks && i < d->n_slots; i++) {
        struct pp_slot *s = &d->slots[i];
        s->data = (uint8_t *)memory->data + i * rows * d->row_bytes;
        s->labels = calloc(rows, sizeof(*s->labels));
        s->indexes = calloc(rows, sizeof(*s->indexes));
        s->usable = calloc(rows, 1);
        lacks = !s->labels || !s->indexes || !s->usable;
        d->free_slots[d->n_free++] = s;
    }
    if (lacks)
        return pp_fail(err, PP_E_NO_MEMORY,
                       "no memory for %zu batch slots of %llu samples; try a smaller --batch-size",
                       d->n_slots, (unsigned long long)rows);
    if (!opts->streaming)
        return PP_OK;
    d->items = calloc(d->n_items, sizeof(*d->items));
    d->item_free_list = calloc(d->n_items, sizeof(struct pp_item *));
    d->item_queue = calloc(d->n_items, sizeof(struct pp_item *));
    if (!d->items || !d->item_free_list || !d->item_queue)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu streamed samples", d->n_items);
    for (size_t i = 0; i < d->n_items; i++)
        d->item_free_list[d->n_item_free++] = &d->items[i];
    return PP_OK;
}

void pp_dispatch_free(struct pp_dispatch *d)
{
    for (size_t i = 0; d->slots && i < d->n_slots; i++) {
        free(d->slots[i].labels);
        free(d->slots[i].indexes);
        free(d->slots[i].usable);
    }
    for (size_t i = 0; d->items && i < d->n_items; i++)
        pp_sample_free(&d->items[i].sample);
    free(d->slots);
    free(d->free_slots);
    free(d->finished);
    free(d->items);
    free(d->item_free_list);
    free(d->item_queue);
    pp_order_destroy(d->order);
    if (d->opts) {
        pthread_cond_destroy(&d->item_free);
        pthread_cond_destroy(&d->item_ready);
        pthread_cond_destroy(&d->slot_free);
        pthread_mutex_destroy(&d->lock);
    }
}

/* ---- everything below runs under d->lock unless it says otherwise ---- */

/* Waits on cond and records the wait as phase, from the end of the thread's last one: coming here (d->lock, a
 * CPU) is waiting too. */
static void wait_recorded(struct pp_dispatch *d, pthread_cond_t *cond, struct pp_thread *t, pp_phase phase,
                          uint64_t *wait_ns)
{
    pp_phase_begin(t, phase, (uint32_t)d->next_batch);
    uint64_t t0 = pp_now_ns();
    pthread_cond_wait(cond, &d->lock);
    *wait_ns += pp_now_ns() - t0;
    pp_phase_end(t, phase,
                 &(struct pp_lap){.sample = PP_NO_SAMPLE,
                                  .batch = (uint32_t)d->next_batch,
                                  .epoch = (uint16_t)d->epoch,
                                  .flags = d->next_batch < d->opts->warmup_steps ? PP_SPAN_WARMUP : 0});
}

static void no_more(struct pp_dispatch *d)
{
    d->no_more = 1;
    pthread_cond_broadcast(&d->slot_free);
    pthread_cond_broadcast(&d->item_ready);
    pthread_cond_broadcast(&d->item_free);
    if (!d->open && d->making == 0)
        pp_queue_close(d->ready);
}

/* Where the epoch that is being dealt ends: at its last sample, or with drop_last at its last whole batch. */
static uint64_t epoch_end(const struct pp_dispatch *d)
{
    uint64_t len = pp_sampler_len(d->opts->sampler), left = len - d->position;
    return d->opts->drop_last_batch ? len - left % d->opts->batch_size : len;
}

/* Opens a batch when a slot comes free; the caller looks again in any case: another worker may have opened
 * one meanwhile, or the end came. What a waiting worker knew before (whose epoch, which item) may be stale
 * then, so nothing but the wait happens in that case. */
static void open_batch(struct pp_dispatch *d, struct pp_thread *t)
{
    if (!d->n_free) {
        wait_recorded(d, &d->slot_free, t, PP_PHASE_SLOT_WAIT, &d->slot_meter.get_wait_ns);
        return;
    }
    uint64_t left = d->opts->streaming ? UINT64_MAX : epoch_end(d) - d->position;
    struct pp_slot *s = d->free_slots[--d->n_free];
    d->slot_meter.gets++;
    pp_meter_set(&d->slot_meter, d->n_free, pp_now_ns());
    s->batch = d->next_batch++;
    s->epoch = d->epoch;
    s->rows = s->valid = 0;
    s->discard = 0;
    s->planned = (uint32_t)(left < d->opts->batch_size ? left : d->opts->batch_size);
    atomic_store_explicit(&s->remaining, s->planned, memory_order_relaxed);
    d->open = s;
    d->making++;
}

/* Whether a further batch may be opened; turns on no_more when not. */
static int may_open(struct pp_dispatch *d)
{
    if (!d->no_more && d->max_steps && d->next_batch >= d->max_steps)
        no_more(d);
    return !d->no_more;
}

static void take_row(struct pp_dispatch *d, struct pp_claim *claim)
{
    struct pp_slot *s = d->open;
    claim->slot = s;
    claim->row = s->rows++;
    s->end_position = ++d->position;
    if (s->rows == s->planned)
        d->open = NULL;
}

/* Random access: rows follow the sampler's order. PP_OK with claim->slot NULL means look again. */
static pp_status claim_sampled(struct pp_dispatch *d, struct pp_thread *t, struct pp_claim *claim)
{
    pp_status st = PP_OK;
    if (d->open) {
        claim->index = pp_order_at(d->order, d->position);
        take_row(d, claim);
        return PP_OK;
    }
    if (!may_open(d))
        return PP_END;
    /* Between batches: on to the epoch that the next row belongs to, and its order. It ends: create() refuses
     * a dataset without one whole batch under drop_last. */
    while (d->position >= epoch_end(d)) {
        d->epoch++;
        d->position = 0;
        pp_order_destroy(d->order);
        d->order = NULL;
    }
    if (d->opts->max_epochs && d->epoch >= d->opts->max_epochs) {
        no_more(d);
        return PP_END;
    }
    if (!d->order) {
        pp_phase_skip(t);
        pp_phase_begin(t, PP_PHASE_SAMPLER, PP_NO_BATCH);
        st = pp_order_create(d->opts->sampler, d->epoch, &d->order, &d->failure_err);
        pp_phase_end(t, PP_PHASE_SAMPLER,
                     &(struct pp_lap){.sample = PP_NO_SAMPLE,
                                      .batch = PP_NO_BATCH,
                                      .epoch = (uint16_t)d->epoch});
    }
    if (st != PP_OK) {
        d->failure = st;
        no_more(d);
        return PP_END;
    }
    open_batch(d, t);
    return PP_OK;
}

static pp_status claim_streamed(struct pp_dispatch *d, struct pp_thread *t, struct pp_claim *claim)
{
    struct pp_slot *open = d->open;
    if (!d->item_count && !d->stream_ended && !(d->flushing && open)) {
        wait_recorded(d, &d->item_ready, t, PP_PHASE_DISPATCH_WAIT, &d->item_meter.get_wait_ns);
        return PP_OK;
    }
    struct pp_item *item = d->item_count ? d->item_queue[d->item_head] : NULL;
    if (open && (!item || item->epoch != open->epoch)) {
        /* Where an epoch ends is learnt from the next item: the open batch then closes short. It is never
         * empty: the look after opening a batch, under the same hold of the lock, gives it its first row.
         * When its rows are all finished already, this worker is the only one left to collate it: the claim
         * says so. */
        uint32_t missing = open->planned - open->rows;
        d->open = NULL;
        open->discard = d->opts->drop_last_batch;
        if (open->discard)
            d->max_steps += d->max_steps != 0; /* it is no step of the trainer */
        /* acq_rel: pairs with the workers' (do_claim); the thread that reaches zero sees all rows */
        if (atomic_fetch_sub_explicit(&open->remaining, missing, memory_order_acq_rel) == missing) {
            claim->slot = open;
            claim->only_collate = 1;
        }
        return PP_OK;
    }
    if (!item || (!open && !may_open(d))) {
        no_more(d);
        return PP_END;
    }
    if (!open) {
        if (item->epoch != d->epoch) {
            d->epoch = item->epoch;
            d->position = 0;
        }
        open_batch(d, t); /* may have waited, and another worker taken the item seen above: look again */
        return PP_OK;
    }
    d->item_head = (d->item_head + 1) % d->n_items;
    pp_meter_set(&d->item_meter, --d->item_count, pp_now_ns());
    d->item_meter.gets++;
    claim->item = item;
    item->with_worker = 1;
    claim->index = item->sample.index;
    open->cursor = item->cursor;
    take_row(d, claim);
    return PP_OK;
}

pp_status pp_dispatch_claim(struct pp_dispatch *d, struct pp_thread *t, int wait, struct pp_claim *claim)
{
    pp_status st = PP_OK;
    *claim = (struct pp_claim){0};
    pthread_mutex_lock(&d->lock);
    while (st == PP_OK && !claim->slot) {
        if (d->stopped || (d->no_more && !d->open))
            st = PP_END;
        else if (!wait && !d->open && !d->n_free)
            st = PP_E_TRANSIENT;
        else
            st = d->opts->streaming ? claim_streamed(d, t, claim) : claim_sampled(d, t, claim);
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}

void pp_dispatch_finish(struct pp_dispatch *d, struct pp_slot *slot)
{
    pthread_mutex_lock(&d->lock);
    /* The queue never blocks: it holds every slot there is. */
    if (!d->opts->in_order) {
        d->making--;
        pp_queue_put(d->ready, slot);
    } else {
        /* Slots come free in batch order, so batches in flight are a window of n_slots numbers: modulo cannot
         * collide. */
        d->finished[slot->batch % d->n_slots] = slot;
        struct pp_slot *next;
        while ((next = d->finished[d->next_ready % d->n_slots]) && next->batch == d->next_ready) {
            d->finished[d->next_ready % d->n_slots] = NULL;
            d->next_ready++;
            d->making--;
            pp_queue_put(d->ready, next);
        }
    }
    if (d->no_more && !d->open && d->making == 0)
        pp_queue_close(d->ready);
    pthread_mutex_unlock(&d->lock);
}

void pp_dispatch_release(struct pp_dispatch *d, struct pp_slot *slot)
{
    pthread_mutex_lock(&d->lock);
    d->free_slots[d->n_free++] = slot;
    d->slot_meter.puts++;
    pp_meter_set(&d->slot_meter, d->n_free, pp_now_ns());
    pthread_cond_broadcast(&d->slot_free);
    pthread_mutex_unlock(&d->lock);
}

pp_status pp_dispatch_item_get(struct pp_dispatch *d, struct pp_item **item)
{
    pp_status st = PP_END;
    pthread_mutex_lock(&d->lock);
    while (!d->n_item_free && !d->no_more && !d->stopped) {
        uint64_t t0 = pp_now_ns();
        pthread_cond_wait(&d->item_free, &d->lock);
        d->item_meter.put_wait_ns += pp_now_ns() - t0;
    }
    if (!d->no_more && !d->stopped) {
        *item = d->item_free_list[--d->n_item_free];
        st = PP_OK;
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}

void pp_dispatch_item_put(struct pp_dispatch *d, struct pp_item *item)
{
    pthread_mutex_lock(&d->lock);
    if (item) {
        d->item_queue[(d->item_head + d->item_count++) % d->n_items] = item;
        d->flushing = 0;
        d->item_meter.puts++;
        pp_meter_set(&d->item_meter, d->item_count, pp_now_ns());
        pthread_cond_signal(&d->item_ready);
    } else {
        d->stream_ended = 1;
        pthread_cond_broadcast(&d->item_ready);
    }
    pthread_mutex_unlock(&d->lock);
}

int pp_dispatch_flush(struct pp_dispatch *d)
{
    pthread_mutex_lock(&d->lock);
    d->flushing = 1;
    pthread_cond_broadcast(&d->item_ready);
    int wanted = !d->no_more && !d->stopped;
    pthread_mutex_unlock(&d->lock);
    return wanted;
}

void pp_dispatch_item_done(struct pp_dispatch *d, struct pp_item *item)
{
    pthread_mutex_lock(&d->lock);
    item->with_worker = 0;
    d->item_free_list[d->n_item_free++] = item;
    pthread_cond_signal(&d->item_free);
    pthread_mutex_unlock(&d->lock);
}

struct pp_dispatch_now pp_dispatch_look(struct pp_dispatch *d)
{
    struct pp_dispatch_now now;
    pthread_mutex_lock(&d->lock);
    now.free_slots = d->n_free;
    now.idle = !d->item_count && d->n_item_free == d->n_items && !d->open && d->n_free == d->n_slots;
    now.stopped = d->stopped;
    pthread_mutex_unlock(&d->lock);
    return now;
}

void pp_dispatch_end(struct pp_dispatch *d, int at_once)
{
    pthread_mutex_lock(&d->lock);
    d->stopped |= at_once;
    no_more(d);
    if (at_once)
        pp_queue_close(d->ready);
    pthread_mutex_unlock(&d->lock);
}
