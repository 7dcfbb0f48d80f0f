/* One worker: claims rows and fills them: read -> decode -> transform straight into the pinned slot; the last
 * of a batch collates. */
#include "probe/loader/loader_impl.h"

#include "probe/base/err.h"
#include "probe/decode/decode.h"
#include "probe/trace/observe.h"
#include "probe/trace/trace.h"
#include "probe/transform/transform.h"
#include "probe/storage/storage.h"

/* A substitute is the next readable sample in dataset order, so that which one it is does not depend on the
 * worker. */
#define SUBSTITUTE_TRIES 16

pp_status pp_worker_init(struct pp_worker *w, struct pp_loader *l, int number, struct pp_err *err)
{
    const struct pp_decoder_opts decoder = {.content = pp_dataset_content(l->opts.dataset),
                                            .exif_rotate = l->opts.exif_rotate,
                                            .memory_limit = l->opts.sample_memory};
    w->loader = l;
    w->number = number;
    w->in_hand = &w->sample;
    w->sample.limit = l->opts.sample_memory;
    return pp_decoder_create(&decoder, &w->decoder, err);
}

void pp_worker_free(struct pp_worker *w)
{
    pp_buffer_free(&w->scratch);
    pp_decoder_destroy(w->decoder);
    pp_sample_free(&w->sample);
}

uint64_t pp_worker_grown(const struct pp_worker *w)
{
    return w->sample.grown + w->ahead_grown + pp_decoder_grown(w->decoder) + w->scratch.grown;
}

static struct pp_lap lap_of(const struct pp_worker *w, const struct pp_slot *slot, uint64_t index)
{
    return (struct pp_lap){.sample = index,
                           .batch = (uint32_t)slot->batch,
                           .epoch = (uint16_t)slot->epoch,
                           .flags = pp_batch_flags(w->loader, slot->batch)};
}

static void end_phase(struct pp_worker *w, pp_phase phase, struct pp_lap *l, pp_status st)
{
    struct pp_lap copy = *l;
    copy.flags |= st == PP_OK ? 0 : PP_SPAN_ERROR;
    pp_phase_end(w->trace, phase, &copy);
}

/* The first read of a sample may have been made ahead. */
static pp_status read_with_retries(struct pp_worker *w, const struct pp_slot *slot, uint64_t index,
                                   struct pp_err *err)
{
    const struct pp_loader_opts *o = &w->loader->opts;
    uint64_t backoff = o->retry_backoff_ns, wait_ns; /* before the next one */
    for (int attempt = 0;; attempt++) {
        struct pp_lap l = lap_of(w, slot, index);
        const struct pp_read_context context = {.epoch = slot->epoch,
                                                .sample = index,
                                                .worker = w->number,
                                                .attempt = attempt};
        pp_status st;
        pp_phase_begin_sample(w->trace, PP_PHASE_READ, l.batch, index);
        pp_gate_enter(&w->gate);
        if (w->ahead && attempt == 0 && pp_ahead_head(w->ahead)->index == index) {
            struct pp_ahead_result result;
            st = pp_ahead_wait(w->ahead, &result, err);
            w->in_hand = result.sample;
            wait_ns = result.wait_ns;
        } else {
            st = pp_dataset_read_for(o->dataset, &context, &w->sample, err);
            w->in_hand = &w->sample;
            wait_ns = st == PP_E_TRANSIENT ? pp_storage_retry_wait_ns(backoff) : 0;
        }
        pp_gate_leave(&w->gate);
        l.bytes = st == PP_OK ? w->in_hand->size : 0;
        if (st == PP_OK && w->in_hand->cache_known) {
            l.flags |= PP_SPAN_HAS_CACHE;
            l.cache_hit_kib = (uint32_t)((w->in_hand->cache_hit_bytes + 512) >> 10);
        }
        l.flags |= attempt ? PP_SPAN_RETRY : 0;
        end_phase(w, PP_PHASE_READ, &l, st);
        if (st != PP_E_TRANSIENT || attempt >= o->retries || pp_stop_is_requested(&w->loader->stop))
            return st;
        w->retries++;
        pp_phase_begin_sample(w->trace, PP_PHASE_RETRY, l.batch, index);
        pp_stop_sleep(&w->loader->stop, wait_ns);
        backoff *= 2;
        l = lap_of(w, slot, index);
        l.flags |= PP_SPAN_RETRY;
        end_phase(w, PP_PHASE_RETRY, &l, PP_OK);
    }
}

/* decode, then transform, straight into the slot; or what the device needs for both */
static pp_status fill_from_pixels(struct pp_worker *w, const struct pp_claim *c, const struct pp_encoded *in,
                                  void *out, struct pp_err *err)
{
    const struct pp_loader_opts *o = &w->loader->opts;
    struct pp_lap l = lap_of(w, c->slot, in->index);
    struct pp_image_info info;
    struct pp_transform_plan plan;
    struct pp_pixels pixels;
    struct pp_read_context at = {.epoch = c->slot->epoch, .sample = in->index, .worker = w->number};
    int later = 0; /* on the device */
    pp_phase_begin_sample(w->trace, PP_PHASE_DECODE, l.batch, in->index);
    uint64_t token = pp_fault_decode_begin(o->faults);
    pp_status st = pp_decoder_open(w->decoder, in, &info, err);
    if (c->slot->inputs)
        c->slot->inputs[c->row].on_device = 0;
    if (st == PP_OK) {
        /* What a JPEG engine takes, and how large: for the what-if of decoding on a GPU. */
        w->images.n++;
        w->images.pixels += (uint64_t)info.width * (uint64_t)info.height;
        w->images.baseline_jpeg += strcmp(info.format, "JPEG") == 0 && !info.progressive &&
                                   (info.channels == 1 || info.channels == 3);
        pp_transform_draw(o->transform, info.width, info.height,
                          (struct pp_sample_key){o->seed, c->slot->epoch, in->index}, &plan);
        later = w->parser && pp_decoding_take(w, c, in, &info, &plan);
        st = later ? PP_OK : pp_decoder_region(w->decoder, plan.crop, &pixels, err);
    }
    pp_fault_decode_end(o->faults, &at, token);
    l.bytes = st != PP_OK ? 0 : later ? in->size : (uint64_t)pixels.width * (uint64_t)pixels.height * 3;
    end_phase(w, PP_PHASE_DECODE, &l, st);
    if (st != PP_OK || later)
        return st;
    pp_phase_begin_sample(w->trace, PP_PHASE_TRANSFORM, l.batch, in->index);
    st = pp_transform_apply(o->transform, &plan, &pixels, &w->scratch, out, err);
    pp_fault_pass(o->faults, PP_FAULT_TRANSFORM);
    l.bytes = w->loader->row_bytes;
    end_phase(w, PP_PHASE_TRANSFORM, &l, st);
    return st;
}

/* Brings dataset sample `index` (or the streamed item's bytes) into the row. */
static pp_status fill_row(struct pp_worker *w, const struct pp_claim *c, uint64_t index, struct pp_err *err)
{
    pp_status st = c->item ? PP_OK : read_with_retries(w, c->slot, index, err);
    if (st != PP_OK)
        return st;
    const struct pp_sample *s = c->item ? &c->item->sample : w->in_hand;
    struct pp_encoded in = {.data = s->data, .size = s->size, .index = index};
    const struct pp_decode_ops *ops = pp_decoder_choose(w->decoder, &in);
    void *out = c->slot->data + c->row * w->loader->row_bytes;
    if (ops && ops->result == PP_DECODED_ROW) { /* the decoder makes the row itself, in one phase */
        struct pp_lap l = lap_of(w, c->slot, index);
        pp_phase_begin_sample(w->trace, ops->phase, l.batch, index);
        st = pp_decoder_row(w->decoder, &in, out, w->loader->row_bytes, err);
        l.bytes = st == PP_OK ? in.size : 0;
        end_phase(w, ops->phase, &l, st);
    } else {
        st = fill_from_pixels(w, c, &in, out, err);
    }
    if (st == PP_OK) {
        c->slot->labels[c->row] = s->label;
        c->slot->indexes[c->row] = index;
    }
    return st;
}

static void report_error(struct pp_worker *w, const struct pp_claim *c, uint64_t index, pp_status st,
                         const struct pp_err *err, const char *action)
{
    char path[512];
    struct pp_loader_error e = {.sample = index, .batch = (uint32_t)c->slot->batch, .action = action};
    e.path = c->item ? c->item->path : pp_dataset_path(w->loader->opts.dataset, index, path, sizeof(path));
    w->errors++;
    pp_loader_report_error(w->loader, w->trace, e, st, err);
}

/* The policy for a sample that cannot be used. Returns whether the row holds a sample after all. */
static int recover_row(struct pp_worker *w, const struct pp_claim *c, pp_status st, struct pp_err *err)
{
    struct pp_loader *l = w->loader;
    if (l->opts.on_error == PP_ON_ERROR_FAIL || pp_stop_is_machines(st)) {
        report_error(w, c, c->index, st, err, "failed");
        pp_stop_fail(&l->stop, st, err);
        return 0;
    }
    if (l->opts.on_error == PP_ON_ERROR_SUBSTITUTE && !c->item) {
        uint64_t n = pp_dataset_len(l->opts.dataset);
        report_error(w, c, c->index, st, err, "substituted");
        for (uint64_t k = 1; k <= SUBSTITUTE_TRIES && k < n; k++)
            if (fill_row(w, c, (c->index + k) % n, err) == PP_OK) {
                w->substituted++;
                return 1;
            }
    } else {
        report_error(w, c, c->index, st, err, "skipped");
    }
    w->skipped++;
    return 0;
}

int pp_worker_make_row(struct pp_worker *w, struct pp_slot *s, uint32_t row, const struct pp_encoded *in)
{
    struct pp_item streamed = {.sample = {0}};
    struct pp_claim c = {.slot = s, .row = row, .index = in->index};
    struct pp_err err;
    pp_err_clear(&err);
    if (w->loader->opts.streaming) { /* its item has gone; what is left of it is a number */
        snprintf(streamed.path, sizeof(streamed.path), "sample %llu of the stream",
                 (unsigned long long)in->index);
        c.item = &streamed;
    }
    pp_status st = fill_from_pixels(w, &c, in, s->data + row * w->loader->row_bytes, &err);
    return st == PP_OK || recover_row(w, &c, st, &err);
}

uint32_t pp_slot_close_up(const struct pp_loader *l, struct pp_slot *s, uint32_t n, const uint8_t *usable)
{
    uint32_t to = 0;
    for (uint32_t from = 0; from < n; from++) {
        if (!usable[from])
            continue;
        if (to != from) {
            memcpy(s->data + to * l->row_bytes, s->data + from * l->row_bytes, l->row_bytes);
            s->labels[to] = s->labels[from];
            s->indexes[to] = s->indexes[from];
            if (s->inputs) { /* the memory of the row that is left out is still the slot's */
                struct pp_row_input moved = s->inputs[from];
                s->inputs[from] = s->inputs[to];
                s->inputs[to] = moved;
            }
        }
        to++;
    }
    return to;
}

static void do_claim(struct pp_worker *w, const struct pp_claim *c)
{
    struct pp_loader *loader = w->loader;
    struct pp_dispatch *d = &loader->dispatch;
    struct pp_slot *s = c->slot;
    if (!c->only_collate && !(loader->opts.cached_batches && s->usable[c->row])) {
        struct pp_err err;
        pp_err_clear(&err);
        pp_status st = fill_row(w, c, c->index, &err);
        s->usable[c->row] = (uint8_t)(st == PP_OK || recover_row(w, c, st, &err));
        if (c->item)
            pp_dispatch_item_done(d, c->item);
    }
    /* acq_rel: releases this row to, and acquires every other row for, the one who reaches zero */
    if (!c->only_collate && atomic_fetch_sub_explicit(&s->remaining, 1, memory_order_acq_rel) != 1)
        return;
    /* Collate. With no errors there is nothing to move: the workers wrote in place. The phase begins where
     * the worker's last one ended, so that no time between the two is without a phase. */
    pp_phase_begin(w->trace, PP_PHASE_COLLATE, (uint32_t)s->batch);
    s->valid = pp_slot_close_up(loader, s, s->rows, s->usable);
    if (!(loader->opts.cached_batches && s->copied)) /* else it is delivered again as it is */
        pp_fault_pass(loader->opts.faults, PP_FAULT_COLLATE);
    struct pp_lap l = lap_of(w, s, s->valid);
    l.flags |= PP_SPAN_COUNT;
    l.bytes = s->valid == s->rows ? 0 : s->valid * loader->row_bytes;
    end_phase(w, PP_PHASE_COLLATE, &l, PP_OK);
    pp_dispatch_finish(d, s);
}

/* With reads ahead as many rows are claimed as there is room for, but a worker that holds some waits for no
 * further one: the slot that it would wait for may be behind its own rows. What is claimed is finished,
 * unless all is stopped: other workers' batches wait for it. 0: there is nothing more to do. */
static int next_claim(struct pp_worker *w, struct pp_claim *c)
{
    struct pp_dispatch *d = &w->loader->dispatch;
    pp_status st = PP_OK;
    if (!w->ahead)
        return pp_dispatch_claim(d, w->trace, 1, c) == PP_OK;
    while (st == PP_OK && pp_ahead_count(w->ahead) < w->loader->opts.inflight) {
        st = pp_dispatch_claim(d, w->trace, pp_ahead_count(w->ahead) == 0, c);
        if (st == PP_OK)
            pp_ahead_push(w->ahead, c);
    }
    if (pp_ahead_count(w->ahead) == 0 || pp_dispatch_look(d).stopped)
        return 0;
    *c = *pp_ahead_head(w->ahead);
    return 1;
}

void *pp_worker_main(void *arg)
{
    struct pp_worker *w = arg;
    struct pp_loader *l = w->loader;
    struct pp_faults *faults = l->opts.faults;
    struct pp_claim c;
    uint64_t epoch = l->opts.start_epoch;
    char name[16];
    snprintf(name, sizeof(name), "pp-worker-%d", w->number);
    pthread_setname_np(pthread_self(), name);
    w->trace = pp_thread_register(l->opts.session, PP_LANE_WORKER, name);
    pp_lap_start(w->trace);
    if (faults) { /* a worker that is slow to start, as a spawned process is */
        pp_fault_pass(faults, PP_FAULT_START);
        pp_phase_end(w->trace, PP_PHASE_STARTUP, NULL);
    }
    while (next_claim(w, &c)) {
        if (!w->warm && c.slot->batch >= l->opts.warmup_steps) {
            w->warm = 1;
            w->grown_before_warm = pp_worker_grown(w);
        }
        if (faults && c.slot->epoch != epoch) {
            epoch = c.slot->epoch;
            pp_fault_pass(faults, PP_FAULT_EPOCH);
            struct pp_lap restart = lap_of(w, c.slot, PP_NO_SAMPLE);
            end_phase(w, PP_PHASE_STARTUP, &restart, PP_OK);
        }
        do_claim(w, &c);
        if (w->ahead)
            w->ahead_grown += pp_ahead_pop(w->ahead);
    }
    if (w->ahead) { /* reads that do not return are waited for as any other: within the gate */
        pp_gate_enter(&w->gate);
        w->ahead_bytes = pp_ahead_destroy(w->ahead);
        w->ahead = NULL;
        pp_gate_leave(&w->gate);
    }
    w->io = pp_io_tally();
    pp_thread_retire(w->trace);
    pp_gate_end(&w->gate);
    return NULL;
}
