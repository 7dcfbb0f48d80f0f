#include "report/replay/costs_impl.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "report/replay/requests.h"

#define MOST_SAMPLES 1000000
enum { RESOURCES = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY };

/* Wall time that was neither on a CPU nor waiting for one; without accounting, all of it. */
static double blocked_of(const struct pp_span *s)
{
    if ((s->flags & RESOURCES) != RESOURCES)
        return (double)s->dur_ns;
    double rest = (double)s->dur_ns - (double)s->cpu_ns - (double)s->run_delay_ns;
    return rest > 0 ? rest : 0;
}

static double cpu_of(const struct pp_span *s)
{
    return (s->flags & PP_SPAN_HAS_CPU) ? (double)s->cpu_ns : 0;
}

static double delay_of(const struct pp_span *s)
{
    return (s->flags & PP_SPAN_HAS_DELAY) ? (double)s->run_delay_ns : 0;
}

/* When what it slept for had come, and waking up began. */
static uint64_t answered_ns(const struct pp_span *s)
{
    return s->start_ns + s->dur_ns -
           ((s->flags & PP_SPAN_HAS_DELAY) && s->run_delay_ns < s->dur_ns ? s->run_delay_ns : 0);
}

/* More than it computed: its run-queue delay is one of waking up. */
static int slept(const struct pp_span *s)
{
    return blocked_of(s) > cpu_of(s);
}

static void add_wake(struct pp_wakes *w, const struct pp_span *s)
{
    w->ns += delay_of(s);
    w->n++;
}

/* A wait this short is a hand-over without sleep, or as good as one. */
#define SLEEP_NS 50000

static void add_wait(struct pp_costs_pass *p, struct pp_wakes *w, const struct pp_span *s)
{
    if (s->dur_ns < SLEEP_NS || !slept(s))
        return;
    add_wake(w, s);
    add_wake(&p->sleeps, s);
}

struct pp_cost_sample pp_costs_part(const struct pp_cost_sample *all, uint64_t i, uint64_t n)
{
    struct pp_cost_sample x = *all;
    float *const times[] = {&x.read_blocked, &x.read_cpu,       &x.retry_blocked, &x.read_wake,
                            &x.decode_cpu,   &x.decode_blocked, &x.transform_cpu, &x.transform_blocked};
    for (size_t k = 0; k < sizeof(times) / sizeof(*times); k++)
        *times[k] /= (float)n;
    uint64_t ns = all->read_end_ns > all->read_start_ns ? all->read_end_ns - all->read_start_ns : 0;
    x.bytes = (uint32_t)(all->bytes / n);
    x.read_start_ns += ns / n * i;
    if (all->read_end_ns)
        x.read_end_ns = x.read_start_ns + ns / n;
    return x;
}

/* The sample in this worker's hand goes to the others. Which of them are whole is known at the end. */
static void finish_sample(struct pp_costs_pass *p, struct pp_costs_worker *w)
{
    int whole = w->busy && w->hand.reached;
    w->busy = 0;
    for (uint64_t i = 0; whole && i < w->many && p->c->n < MOST_SAMPLES; i++) {
        struct pp_cost_sample x = w->many == 1 ? w->hand : pp_costs_part(&w->hand, i, w->many);
        if (!x.read_end_ns)
            x.read_end_ns = x.read_start_ns; /* it read nothing, at that time */
        if (!pp_grow(&p->c->samples, &p->c->room, p->c->n + 1, sizeof(x))) {
            p->no_memory = 1;
            return;
        }
        p->c->samples[p->c->n++] = x;
    }
}

static void begin_sample(struct pp_costs_pass *p, struct pp_costs_worker *w, const struct pp_span *s)
{
    int counts = (s->flags & PP_SPAN_COUNT) && s->sample > 0;
    finish_sample(p, w);
    w->busy = 1;
    w->many = counts ? s->sample : 1;
    w->hand = (struct pp_cost_sample){.sample = counts ? PP_NO_SAMPLE : s->sample,
                                      .read_start_ns = s->start_ns,
                                      .batch = s->batch,
                                      .worker = w->thread,
                                      .epoch = s->epoch};
}

static void add_read(struct pp_costs_pass *p, struct pp_costs_worker *w, const struct pp_span *s)
{
    if (!(s->flags & PP_SPAN_RETRY))
        begin_sample(p, w, s);
    w->hand.reached = s->flags & PP_SPAN_ERROR ? 0 : PP_PHASE_READ;
    w->hand.read_end_ns = answered_ns(s);
    if (slept(s)) {
        w->hand.read_wake += (float)delay_of(s);
        add_wake(&p->sleeps, s);
    }
    w->hand.read_blocked += (float)blocked_of(s);
    w->hand.read_cpu += (float)cpu_of(s);
    w->hand.bytes = s->bytes < UINT32_MAX ? (uint32_t)s->bytes : UINT32_MAX;
    w->hand.hit_known = (s->flags & PP_SPAN_HAS_CACHE) != 0;
    w->hand.hit = w->hand.hit_known && ((uint64_t)s->cache_hit_kib << 10) * 2 >= s->bytes;
}

static void add_worker_span(struct pp_costs_pass *p, struct pp_costs_worker *w, const struct pp_span *s)
{
    struct pp_costs *c = p->c;
    double blocked = blocked_of(s), cpu = cpu_of(s);
    if (s->phase == PP_PHASE_COLLATE) {
        c->collate_cpu_ns += cpu;
        c->collate_blocked_ns += blocked;
        p->collates++;
    }
    if (s->phase == PP_PHASE_READ)
        add_read(p, w, s);
    /* where this worker reads nothing, or not for this sample, it begins with the first of its other stages;
       samples that stand in one span may have been read before */
    int counts = (s->flags & PP_SPAN_COUNT) != 0,
        differs = !counts && s->sample != PP_NO_SAMPLE && w->hand.sample != PP_NO_SAMPLE &&
                  s->sample != w->hand.sample && s->phase >= PP_PHASE_DECODE &&
                  s->phase <= PP_PHASE_TRANSFORM;
    w->staged |= w->busy && differs && w->hand.reached == PP_PHASE_READ;
    int another = differs && !w->staged && w->hand.reached > PP_PHASE_READ,
        unread = another || counts || !w->hand.read_end_ns;
    if ((s->phase == PP_PHASE_DECODE || s->phase == PP_PHASE_TRANSFORM) && unread &&
        (another || s->phase <= w->hand.reached))
        finish_sample(p, w);
    if ((s->phase == PP_PHASE_DECODE || s->phase == PP_PHASE_TRANSFORM) && !w->busy && unread)
        begin_sample(p, w, s);
    if (s->phase == PP_PHASE_RETRY)
        w->hand.retry_blocked += (float)blocked;
    if (s->phase == PP_PHASE_DECODE) {
        w->hand.decode_cpu += (float)cpu;
        w->hand.decode_blocked += (float)blocked;
        p->decoded_bytes += (double)s->bytes;
        p->decoded += !s->bytes ? 0 : s->flags & PP_SPAN_COUNT ? (double)s->sample : 1;
        c->decode_busy_ns += (double)s->dur_ns - blocked;
    }
    if (s->phase == PP_PHASE_TRANSFORM) {
        w->hand.transform_cpu += (float)cpu;
        w->hand.transform_blocked += (float)blocked;
    }
    if (s->phase == PP_PHASE_DECODE || s->phase == PP_PHASE_TRANSFORM) {
        w->hand.reached = s->flags & PP_SPAN_ERROR ? 0 : (uint8_t)s->phase;
        c->work_wall_ns += (double)s->dur_ns;
        c->work_blocked_ns += blocked;
        c->work_unread_ns += (s->flags & PP_SPAN_HAS_CPU) ? 0 : (double)s->dur_ns;
        c->has_resources |= (s->flags & RESOURCES) == RESOURCES;
    }
    w->made_ns += s->phase >= PP_PHASE_READ && s->phase <= PP_PHASE_COLLATE ? (double)s->dur_ns : 0;
    p->all_ns += cpu + delay_of(s);
    p->all_cpu_ns += cpu;
    p->worker_ns += (double)s->dur_ns;
    p->idle_ns += s->phase == PP_PHASE_DISPATCH_WAIT || s->phase == PP_PHASE_SLOT_WAIT ? (double)s->dur_ns
                                                                                       : 0;
    if ((s->phase == PP_PHASE_READ && !slept(s)) || s->phase == PP_PHASE_DECODE ||
        s->phase == PP_PHASE_TRANSFORM || s->phase == PP_PHASE_COLLATE) {
        c->cpu_ns += cpu;
        c->delay_ns += delay_of(s);
    }
}

/* A step that was interrupted, by a wait for other ranks or a checkpoint, has several spans. */
static void keep_step(struct pp_costs_pass *p, const struct pp_span *s)
{
    struct pp_costs_step step = {(float)s->dur_ns, (float)cpu_of(s), (float)delay_of(s)};
    if (p->n_steps && s->batch != PP_NO_BATCH && s->batch == p->step_batch) {
        struct pp_costs_step *last = &p->step[p->n_steps - 1];
        last->ns += step.ns;
        last->cpu_ns += step.cpu_ns;
        last->delay_ns += step.delay_ns;
        return;
    }
    p->steps++;
    p->step_batch = s->batch;
    if (pp_grow(&p->step, &p->step_room, p->n_steps + 1, sizeof(*p->step)))
        p->step[p->n_steps++] = step;
    else
        p->no_memory = 1;
}

static void keep_stretch(struct pp_costs_pass *p, struct pp_stretches *k, uint64_t start_ns, uint64_t end_ns)
{
    if (!pp_grow(&k->at, &k->room, k->n + 1, sizeof(*k->at))) {
        p->no_memory = 1;
        return;
    }
    k->at[k->n].start_ns = start_ns;
    k->at[k->n++].end_ns = end_ns < start_ns ? start_ns : end_ns;
}

/* The reader of a stream. What it takes until it has a sample counts for that sample: a piece of a shard
 * holds many, of which the first pays for all. */
static void add_reader_span(struct pp_costs_pass *p, uint32_t thread, const struct pp_span *s)
{
    struct pp_stream_read *r = &p->stream_next;
    p->all_ns += cpu_of(s) + delay_of(s);
    p->all_cpu_ns += cpu_of(s);
    if (s->phase == PP_PHASE_RETRY)
        r->retry += (float)blocked_of(s);
    if (s->phase != PP_PHASE_READ)
        return;
    r->start_ns = r->start_ns ? r->start_ns : s->start_ns;
    r->blocked += (float)blocked_of(s);
    r->cpu += (float)cpu_of(s);
    if (slept(s)) {
        r->wake += (float)delay_of(s);
        add_wake(&p->sleeps, s);
    } else {
        p->c->cpu_ns += cpu_of(s);
        p->c->delay_ns += delay_of(s);
    }
    if ((s->flags & PP_SPAN_ERROR) || s->sample == PP_NO_SAMPLE)
        return; /* it goes on with the next */
    r->sample = s->sample;
    r->epoch = s->epoch;
    r->end_ns = answered_ns(s);
    r->thread = thread;
    r->bytes = s->bytes < UINT32_MAX ? (uint32_t)s->bytes : UINT32_MAX;
    r->hit_known = (s->flags & PP_SPAN_HAS_CACHE) != 0;
    r->hit = r->hit_known && ((uint64_t)s->cache_hit_kib << 10) * 2 >= s->bytes;
    struct pp_stream_reads *to = &p->stream;
    int room = to->n < MOST_SAMPLES && pp_grow(&to->at, &to->room, to->n + 1, sizeof(*to->at));
    p->no_memory |= to->n < MOST_SAMPLES && !room;
    if (room)
        to->at[to->n++] = *r;
    *r = (struct pp_stream_read){0};
}

static void add_other_span(struct pp_costs_pass *p, pp_lane lane, const struct pp_span *s)
{
    struct pp_costs *c = p->c;
    p->all_ns += cpu_of(s) + delay_of(s);
    p->all_cpu_ns += cpu_of(s);
    if (s->phase == PP_PHASE_DATA_WAIT) {
        add_wait(p, &p->trainer_waits, s);
        p->data_waits++;
        p->data_wait_ns += (double)s->dur_ns;
        p->data_wait_cpu_ns += cpu_of(s);
        p->data_wait_blocked_ns += blocked_of(s);
        p->data_wait_delay_ns += delay_of(s);
    }
    if (s->phase == PP_PHASE_GET_WAIT || s->phase == PP_PHASE_PUT_WAIT)
        add_wait(p, &p->copy_waits, s);
    if (s->phase == PP_PHASE_GET_WAIT && lane == PP_LANE_COPY)
        p->get_cpu_ns += cpu_of(s);
    if (s->phase == PP_PHASE_H2D || s->phase == PP_PHASE_PIN) {
        c->copy_cpu_ns += cpu_of(s);
        c->copy_blocked_ns += blocked_of(s);
        p->copy_delay_ns += delay_of(s);
        p->copies++;
        if (slept(s))
            add_wake(&p->sleeps, s);
        c->copy_bytes += (double)s->bytes;
        if (s->phase == PP_PHASE_H2D) /* on the link: behind the staging, until the lane was woken */
            keep_stretch(p, &p->copy, s->start_ns + (uint64_t)cpu_of(s), answered_ns(s));
    } else if (s->phase == PP_PHASE_GPU_DECODE && lane == PP_LANE_COPY) { /* it does so for each batch */
        c->copy_cpu_ns += cpu_of(s);
        c->gpu_decode_ns += blocked_of(s);
        p->decodings++;
        p->copy_delay_ns += delay_of(s);
    } else if (s->phase == PP_PHASE_STEP) {
        c->step_cpu_ns += cpu_of(s);
        c->step_blocked_ns += blocked_of(s);
        c->step_stretch_ns += delay_of(s);
        if (slept(s))
            add_wake(&p->sleeps, s);
        keep_step(p, s);
    } else if (s->phase == PP_PHASE_COLLECTIVE) {
        p->collective_cpu_ns += cpu_of(s);
        p->collective_blocked_ns += blocked_of(s);
        p->collective_delay_ns += delay_of(s);
    } else if (s->phase == PP_PHASE_DEVICE_SYNC) {
        p->sync_delay_ns += delay_of(s);
        keep_stretch(p, &p->sync, s->start_ns, answered_ns(s));
    }
}

/* Where the trainer's time went, with the batches of all loaders, and its checkpoints. Returns 1 for a batch
 * of another loader. */
static int add_trainer_time(struct pp_costs_pass *p, const struct pp_span *s)
{
    int waits = s->phase == PP_PHASE_DATA_WAIT || s->phase == PP_PHASE_DEVICE_SYNC ||
                s->phase == PP_PHASE_COLLECTIVE;
    if (p->whole->other.n && s->phase != PP_PHASE_COUNTER) {
        p->at_other = s->batch == PP_NO_BATCH ? p->at_other
                                              : pp_other_batches_has(&p->whole->other, s->batch);
        if (s->phase == PP_PHASE_DATA_WAIT && s->batch != PP_NO_BATCH && (s->flags & PP_SPAN_COUNT)) {
            p->batches[p->at_other]++;
            p->samples[p->at_other] += (double)s->sample;
        }
        p->exposed_ns += waits ? (double)s->dur_ns : 0;
        p->all_steps_ns += s->phase == PP_PHASE_STEP ? (double)s->dur_ns : 0;
        p->other_wait_ns += p->at_other && waits ? (double)s->dur_ns : 0;
        p->other_ns += p->at_other && (waits || s->phase == PP_PHASE_STEP) ? (double)s->dur_ns : 0;
    }
    p->saving &= s->phase != PP_PHASE_DATA_WAIT;
    if (!p->at_other && s->phase == PP_PHASE_DATA_WAIT)
        p->between_epochs = 0;
    if (!p->at_other && s->phase == PP_PHASE_EPOCH_BOUNDARY && s->batch == PP_NO_BATCH)
        p->between_epochs = 1;
    if (s->phase != PP_PHASE_CHECKPOINT || p->between_epochs)
        return p->at_other;
    /* However many files it writes between two waits for data, the workers fill what is prefetched once. */
    if (p->saving && p->checkpoint.n)
        p->checkpoint.at[p->checkpoint.n - 1].end_ns += s->dur_ns;
    else
        keep_stretch(p, &p->checkpoint, s->start_ns, s->start_ns + s->dur_ns);
    p->saving = 1;
    return p->at_other;
}

int pp_costs_chunk(void *pass, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct pp_costs_pass *p = pass;
    size_t at = 0;
    while (at < p->n_threads && p->threads[at].id != thread)
        at++;
    if (at == p->n_threads)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        if (s->start_ns < p->tl->start_ns || s->start_ns >= p->tl->end_ns || (s->flags & PP_SPAN_UNFINISHED))
            continue;
        int other = p->threads[at].lane == PP_LANE_TRAINER ? add_trainer_time(p, s)
                    : s->phase == PP_PHASE_COUNTER
                        ? p->at_other
                        : s->batch != PP_NO_BATCH && pp_other_batches_has(&p->whole->other, s->batch);
        if (other)
            continue;
        if (s->phase == PP_PHASE_COUNTER) {
            for (int k = 0; k < PP_COST_COUNTERS; k++)
                if (pp_counter_is(&p->counter[k].id, p->source, s)) {
                    p->counter[k].sum += (double)s->bytes;
                    p->counter[k].n++;
                }
            if (!pp_counter_is(&p->others, p->source, s))
                continue;
            if (pp_grow(&p->c->others_ns, &p->others_room, p->c->n_others + 1, sizeof(*p->c->others_ns)))
                p->c->others_ns[p->c->n_others++] = (float)s->bytes;
            else
                p->no_memory = 1;
        } else if (p->threads[at].lane == PP_LANE_WORKER)
            add_worker_span(p, &p->workers[at], s);
        else if (p->threads[at].lane == PP_LANE_READER)
            add_reader_span(p, thread, s);
        else
            add_other_span(p, p->threads[at].lane, s);
    }
    return p->no_memory;
}

/* ---- the pass ---- */

static struct pp_copy_call *call_of(struct pp_copy_calls *k, uint32_t correlation)
{
    for (size_t i = 0; correlation != UINT32_MAX && i < k->n && i < PP_COPY_CALLS; i++)
        if (k->call[i].correlation == correlation)
            return &k->call[i];
    return NULL;
}

/* Of the window, and not of another loader's batches. Rows come in the order of their starts. */
static void on_gpu(void *ctx, const struct pp_gpu_row *row)
{
    struct pp_costs_pass *p = ctx;
    struct pp_copy_calls *k = &p->calls;
    if (row->start_ns < p->tl->start_ns || row->start_ns >= p->tl->end_ns ||
        row->dur_ns >= p->tl->end_ns - row->start_ns ||
        (row->batch != UINT32_MAX && pp_other_batches_has(&p->whole->other, row->batch)))
        return;
    if (strcmp(row->kind, "kernel") == 0) {
        keep_stretch(p, &p->kernel, row->start_ns, row->start_ns + row->dur_ns);
        return;
    }
    if (strcmp(row->kind, "api") == 0) {
        if (!row->name || row->thread != p->trainer_tid)
            return;
        /* A call of the runtime has the driver's within it, which may be recorded as well. */
        if (row->start_ns >= k->wait_end_ns &&
            (strstr(row->name, "StreamSynchronize") || strstr(row->name, "DeviceSynchronize") ||
             strstr(row->name, "CtxSynchronize"))) {
            k->waits++;
            k->wait_end_ns = row->start_ns + row->dur_ns;
        }
        if (strstr(row->name, "Memcpy") && !call_of(k, row->correlation))
            k->call[k->n++ % PP_COPY_CALLS] = (struct pp_copy_call){row->correlation, (double)row->dur_ns};
        return;
    }
    if (strcmp(row->kind, "memcpy") != 0 || !row->source || strcmp(row->source, "pageable") != 0)
        return;
    struct pp_copy_call *call = call_of(k, row->correlation);
    k->matched += call != NULL;
    k->unmatched += call == NULL;
    if (!call)
        return;
    k->call_ns += call->ns;
    k->copy_ns += (double)row->dur_ns;
    call->ns = 0; /* it may make several copies */
}

#define NEARLY_MADE 0.4 /* workers are ahead, or the batches of two loops have two sizes */

static pp_status refuse(const struct pp_costs *c, const struct pp_timeline *tl, const char *path,
                        struct pp_err *err)
{
    if (!c->n && tl->window_batches)
        return pp_fail(
            err, PP_E_INCONCLUSIVE,
            "%s tells when the trainer waits for data, and not how each sample is made: there is nothing to replay; make the change, record again, and compare the two (pipeprobe compare)",
            path);
    if (c->n < 8)
        return pp_fail(err, PP_E_INCONCLUSIVE,
                       "%s has %zu samples in the steady state, too few to replay; record longer", path,
                       c->n);
    if (!c->has_resources)
        return pp_fail(
            err, PP_E_INCONCLUSIVE,
            "%s has no CPU time and CPU wait in its spans (no /proc/thread-self/schedstat?); wall times alone give wrong predictions",
            path);
    if (c->workers < 1 || c->batch_size < 1)
        return pp_fail(err, PP_E_INCONCLUSIVE,
                       "%s does not say %s; state %s to whatif: --workers N, --batch-size N", path,
                       c->workers < 1 ? "how many workers there were" : "how large its batches are",
                       c->workers < 1 && c->batch_size < 1 ? "both" : "it");
    if (c->made_per_batch >= A_BATCH && fabs(c->made_per_batch / c->batch_size - 1) > NEARLY_MADE)
        return pp_fail(err, PP_E_USAGE,
                       "--batch-size %.0f: in %s a batch is made of %.1f samples; leave the option out",
                       c->batch_size, path, c->made_per_batch);
    return PP_OK;
}

static const char *const counters[PP_COST_COUNTERS] = {
    [PP_COST_UNPICKLE] = "unpickle_ns",     [PP_COST_UNPICKLE_CPU] = "unpickle_cpu_ns",
    [PP_COST_TENSORS] = "unpickle_tensors", [PP_COST_DRAWS] = "sampler_ns",
    [PP_COST_HELPER_CPU] = "helper_cpu_ns", [PP_COST_THREADS] = "worker_threads",
};

struct pp_costs_pass *pp_costs_begin(const struct pp_source *source, const struct pp_timeline *tl,
                                     struct pp_costs *out)
{
    struct pp_costs_pass *p = calloc(1, sizeof(*p));
    memset(out, 0, sizeof(*out));
    if (!p)
        return NULL;
    p->c = out;
    p->tl = p->whole = tl;
    p->source = source;
    p->others.text = "collective_others_ns";
    for (int k = 0; k < PP_COST_COUNTERS; k++)
        p->counter[k].id.text = counters[k];
    p->n_threads = source->threads(source->ctx, &p->threads);
    p->workers = calloc(p->n_threads + 1, sizeof(*p->workers));
    if (!p->workers) {
        free(p);
        return NULL;
    }
    p->trainer_tid = -1;
    for (size_t i = 0; i < p->n_threads; i++) {
        p->workers[i].thread = p->threads[i].id;
        if (tl->has_trainer && p->threads[i].id == tl->trainer)
            p->trainer_tid = p->threads[i].tid;
    }
    pp_costs_cut(p);
    out->glance = source->glance;
    out->base = calloc(PP_BASE_RATES,
                       sizeof(*out->base)); /* without memory for it everything takes longer, no more */
    return p;
}

pp_status pp_costs_end(struct pp_costs_pass *p, const struct pp_source *source, struct pp_err *err)
{
    if (!p)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the threads of %s", source->path);
    struct pp_costs *c = p->c;
    pp_status st = pp_costs_facts(source, c, p->tl, err);
    for (size_t i = 0; i < p->n_threads; i++)
        finish_sample(p, &p->workers[i]);
    if (p->no_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the samples of %s", source->path);
    if (st == PP_OK && c->streaming)
        pp_stream_reads_join(&p->stream, c);
    if (st == PP_OK)
        st = pp_requests_read(source, p->tl, c, err);
    if (st == PP_OK && c->per_worker && source->each_gpu)
        st = source->each_gpu(source->ctx, on_gpu, p, err);
    if (st == PP_OK && source->glance != PP_GLANCE_SHORT)
        st = pp_ops_read(source, p->tl, &c->ops, err);
    struct pp_thread_work looks = {0};
    if (st == PP_OK)
        st = pp_thread_work_read(source, p->whole, &looks, err);
    c->threads_locked = pp_thread_steps_locked(&looks) >= PP_LOCKED_STEPS ||
                        (looks.looks >= PP_LEAST_LOOKS && pp_thread_work_locked(&looks) >= PP_LOCKED_MUCH);
    if (st == PP_OK) {
        pp_costs_sum_up(p);
        st = refuse(c, p->whole, source->path, err);
    }
    free(p->sync.at);
    free(p->copy.at);
    free(p->checkpoint.at);
    free(p->kernel.at);
    free(p->stream.at);
    free(p->step);
    free(p->workers);
    free(p);
    return st;
}

pp_status pp_costs_read(const struct pp_source *source, const struct pp_timeline *tl, struct pp_costs *out,
                        struct pp_err *err)
{
    struct pp_costs_pass *p = pp_costs_begin(source, tl, out);
    pp_status st = p ? source->each_chunk(source->ctx, NULL, pp_costs_chunk, p, NULL, err) : PP_OK;
    pp_status ended = pp_costs_end(p, source, st == PP_OK ? err : NULL);
    return st == PP_OK ? ended : st;
}

void pp_costs_free(struct pp_costs *c)
{
    free(c->requests.first_byte);
    c->requests = (struct pp_requests){0};
    pp_ops_free(&c->ops);
    free(c->outages);
    free(c->samples);
    free(c->others_ns);
    free(c->base);
    c->samples = NULL;
    c->others_ns = NULL;
    c->n_others = 0;
    c->outages = NULL;
    c->n_outages = 0;
    c->base = NULL;
    c->n = c->room = 0;
}
