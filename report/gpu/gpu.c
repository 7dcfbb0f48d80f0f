#include "report/gpu/gpu.h"

#include "probe/base/array.h"
#include "probe/base/err.h"

/* The rows of table gpu that the idle split needs, in memory and sorted. */

struct pp_gpu_kernel {
    uint64_t start_ns, end_ns;
    uint32_t batch, correlation; /* UINT32_MAX: not known */
    uint64_t launch_ns;          /* when its launch was called; 0: not known */
    uint32_t thread;             /* that launched it; UINT32_MAX: not known */
    int trainer; /* of the step, not of what prepares a batch. In a job that is not ours autograd's threads
                    launch as well: all are the step's but those of lanes that are another's */
};
struct pp_gpu_copy {
    uint64_t start_ns, end_ns, bytes;
    uint32_t batch;
    int pageable, blocking;
};
struct pp_gpu_sync {
    uint64_t start_ns, end_ns;
    uint32_t correlation, thread;
    int whole; /* a context or stream synchronisation: waits for more than one event */
};
struct pp_gpu_call {
    uint64_t start_ns;
    uint32_t correlation, thread;
};

struct pp_gpu_rows {
    struct pp_gpu_kernel *kernels; /* by start */
    struct pp_gpu_copy *copies;    /* by batch, then start */
    struct pp_gpu_copy *blocking; /* those of the copies that block their caller: on the default stream, which
                                     takes turns with kernels; by start */
    struct pp_gpu_sync *syncs;    /* by start */
    struct pp_gpu_call *calls;    /* by correlation */
    size_t n_kernels, n_copies, n_blocking, n_syncs, n_calls;
};

#define NONE UINT32_MAX
#define MARGIN_NS 1000000000u /* a row of the window may have its copy or its call before it */

struct reading {
    struct pp_gpu_rows *rows;
    size_t cap_kernels, cap_copies, cap_syncs, cap_calls;
    uint64_t from_ns, to_ns;
    int out_of_memory;
};

static int room_for_one(struct reading *r, void *array, size_t n, size_t *cap, size_t size)
{
    int ok = pp_grow(array, cap, n + 1, size);
    r->out_of_memory |= !ok;
    return ok;
}

static int is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

static void take_row(void *ctx, const struct pp_gpu_row *g)
{
    struct reading *r = ctx;
    struct pp_gpu_rows *to = r->rows;
    uint64_t end_ns = g->start_ns + g->dur_ns;
    if (r->out_of_memory || g->start_ns > r->to_ns || end_ns + MARGIN_NS < r->from_ns)
        return;
    if (is(g->kind, "kernel")) {
        if (room_for_one(r, &to->kernels, to->n_kernels, &r->cap_kernels, sizeof(*to->kernels)))
            to->kernels[to->n_kernels++] = (struct pp_gpu_kernel){.start_ns = g->start_ns,
                                                                  .end_ns = end_ns,
                                                                  .batch = g->batch,
                                                                  .correlation = g->correlation,
                                                                  .thread = NONE};
    } else if (is(g->kind, "memcpy") && !is(g->source, "device")) { /* to the GPU: all that a loader copies */
        if (room_for_one(r, &to->copies, to->n_copies, &r->cap_copies, sizeof(*to->copies)))
            to->copies[to->n_copies++] = (struct pp_gpu_copy){.start_ns = g->start_ns,
                                                              .end_ns = end_ns,
                                                              .bytes = g->bytes,
                                                              .batch = g->batch,
                                                              .pageable = is(g->source, "pageable"),
                                                              .blocking = g->asynchronous == 0};
    } else if (is(g->kind, "sync")) {
        int whole = is(g->name, "context synchronize") || is(g->name, "stream synchronize");
        if (room_for_one(r, &to->syncs, to->n_syncs, &r->cap_syncs, sizeof(*to->syncs)))
            to->syncs[to->n_syncs++] = (struct pp_gpu_sync){.start_ns = g->start_ns,
                                                            .end_ns = end_ns,
                                                            .correlation = g->correlation,
                                                            .thread = NONE,
                                                            .whole = whole};
    } else if (is(g->kind, "api") && g->correlation != NONE) {
        if (room_for_one(r, &to->calls, to->n_calls, &r->cap_calls, sizeof(*to->calls)))
            to->calls[to->n_calls++] = (struct pp_gpu_call){.start_ns = g->start_ns,
                                                            .correlation = g->correlation,
                                                            .thread = g->thread};
    }
}

/* ---- order and joins ---- */

PP_BY(by_kernel_start, struct pp_gpu_kernel, start_ns)
PP_BY(by_sync_start, struct pp_gpu_sync, start_ns)
PP_BY(by_correlation, struct pp_gpu_call, correlation)
PP_BY(by_copy_start, struct pp_gpu_copy, start_ns)
PP_BY_BOTH(by_batch, struct pp_gpu_copy, batch, start_ns)

static const struct pp_gpu_call *call_of(const struct pp_gpu_rows *rows, uint32_t correlation)
{
    const struct pp_gpu_call key = {.correlation = correlation};
    return rows->n_calls && correlation != NONE
               ? bsearch(&key, rows->calls, rows->n_calls, sizeof(key), by_correlation)
               : NULL;
}

/* Those that touch [from_ns, to_ns]. The caller frees them, also after a failure. */
static pp_status read_rows(const struct pp_source *source, uint64_t from_ns, uint64_t to_ns,
                           struct pp_gpu_rows *out, struct pp_err *err)
{
    struct reading r = {.rows = out, .from_ns = from_ns, .to_ns = to_ns};
    memset(out, 0, sizeof(*out));
    if (!source->each_gpu)
        return PP_OK;
    pp_status st = source->each_gpu(source->ctx, take_row, &r, err);
    if (st != PP_OK)
        return st;
    out->blocking = malloc((out->n_copies + 1) * sizeof(*out->blocking));
    if (r.out_of_memory || !out->blocking)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the GPU activity of %s", source->path);
    for (size_t i = 0; i < out->n_copies; i++)
        if (out->copies[i].blocking)
            out->blocking[out->n_blocking++] = out->copies[i];
    const struct {
        void *rows;
        size_t n, size;
        int (*by)(const void *, const void *);
    } sorted[] = {{out->blocking, out->n_blocking, sizeof(*out->blocking), by_copy_start},
                  {out->kernels, out->n_kernels, sizeof(*out->kernels), by_kernel_start},
                  {out->copies, out->n_copies, sizeof(*out->copies), by_batch},
                  {out->syncs, out->n_syncs, sizeof(*out->syncs), by_sync_start},
                  {out->calls, out->n_calls, sizeof(*out->calls), by_correlation}};
    for (size_t i = 0; i < sizeof(sorted) / sizeof(*sorted); i++)
        if (sorted[i].n)
            qsort(sorted[i].rows, sorted[i].n, sorted[i].size, sorted[i].by);
    /* Who launched each kernel and when, who waited. If its launch is not known, it may be the trainer's. */
    const struct pp_thread_row *threads;
    size_t n_threads = source->threads(source->ctx, &threads);
    double from;
    int of_job = source->meta_num(source->ctx, "gpu", "from_ns", &from);
    for (size_t i = 0; i < out->n_kernels; i++) {
        struct pp_gpu_kernel *k = &out->kernels[i];
        const struct pp_gpu_call *c = call_of(out, k->correlation);
        if (c) {
            k->launch_ns = c->start_ns;
            k->thread = c->thread;
        }
        int known = 0, trains = 0; /* by any lane of the thread */
        for (size_t t = 0; c && !trains && t < n_threads; t++)
            if (threads[t].tid == (int64_t)k->thread) {
                known = 1;
                trains |= threads[t].lane == PP_LANE_TRAINER;
            }
        k->trainer = !c || (known ? trains : of_job);
    }
    for (size_t i = 0; i < out->n_syncs; i++) {
        const struct pp_gpu_call *c = call_of(out, out->syncs[i].correlation);
        if (c)
            out->syncs[i].thread = c->thread;
    }
    return PP_OK;
}

/* ---- the idle split ---- */

struct split {
    const struct pp_gpu_rows *rows;
    uint64_t from_ns, to_ns; /* the window */
    double idle_ns[PP_GPU_IDLES], busy_ns;
    const struct pp_timeline *timeline;
    double idle_in_wait_ns; /* while the trainer waited for data */
    size_t next_stall;
    size_t next_sync, next_blocking; /* what is before them ended before the stretch in hand */
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static double length(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) : 0;
}

/* ---- one idle stretch ---- */

/* A part of a stretch before the launch, less what of it the thread blocked in synchronising
 * calls. */
static void add_part(struct split *s, enum pp_gpu_idle kind, uint32_t thread, uint64_t from, uint64_t to)
{
    double ns = length(from, to), sync = 0;
    /* A thread makes one call at a time, so parts do not overlap. */
    for (size_t i = s->next_sync; i < s->rows->n_syncs && s->rows->syncs[i].start_ns < to; i++)
        if (s->rows->syncs[i].thread == thread)
            sync += length(later(from, s->rows->syncs[i].start_ns), earlier(to, s->rows->syncs[i].end_ns));
    s->idle_ns[PP_GPU_IDLE_SYNC] += sync;
    s->idle_ns[kind] += ns - sync;
}

/* Launched, and not begun. */
static void add_launched(struct split *s, uint64_t from, uint64_t to)
{
    double copying = 0;
    for (size_t i = s->next_blocking; i < s->rows->n_blocking && s->rows->blocking[i].start_ns < to; i++)
        copying += length(later(from, s->rows->blocking[i].start_ns),
                          earlier(to, s->rows->blocking[i].end_ns));
    s->idle_ns[PP_GPU_IDLE_COPY] += copying;
    s->idle_ns[PP_GPU_IDLE_LAUNCH] += length(from, to) - copying;
}

/* ---- the window ---- */

/* Idle from one to the other, before the trainer's first kernel from `to` on; *cursor moves on with it. */
static void idle_stretch(struct split *s, uint64_t from, uint64_t to, size_t *cursor)
{
    if (from >= to)
        return;
    s->idle_in_wait_ns += (double)pp_timeline_stalled_between(s->timeline, from, to, &s->next_stall);
    while (s->next_sync < s->rows->n_syncs && s->rows->syncs[s->next_sync].end_ns <= from)
        s->next_sync++;
    while (s->next_blocking < s->rows->n_blocking && s->rows->blocking[s->next_blocking].end_ns <= from)
        s->next_blocking++;
    while (*cursor < s->rows->n_kernels &&
           (!s->rows->kernels[*cursor].trainer || s->rows->kernels[*cursor].start_ns < to))
        ++*cursor;
    const struct pp_gpu_kernel *k = *cursor < s->rows->n_kernels ? &s->rows->kernels[*cursor] : NULL;
    if (!k || !k->launch_ns) {
        s->idle_ns[PP_GPU_IDLE_OTHER] += length(from, to);
        return;
    }
    /* A call that began after the launch waits for this kernel, and delays nothing. */
    uint64_t launch = earlier(later(k->launch_ns, from), to);
    const struct pp_gpu_copy *copies = s->rows->copies;
    size_t n = s->rows->n_copies, first = PP_BEFORE(n, i, copies[i].batch < k->batch);
    if (k->batch == NONE || first == n || copies[first].batch != k->batch) {
        add_part(s, PP_GPU_IDLE_OTHER, k->thread, from, launch);
        add_launched(s, launch, to);
        return;
    }
    /* When the batch's copy began and ended, all of its parts together. */
    uint64_t copy_from = earlier(later(copies[first].start_ns, from), to), copy_to = 0;
    for (size_t i = first; i < n && copies[i].batch == k->batch; i++)
        copy_to = later(copies[i].end_ns, copy_to);
    copy_to = earlier(later(copy_to, copy_from), to);
    launch = later(launch, copy_to); /* before its data is there, it waits for it in its stream */
    add_part(s, PP_GPU_IDLE_DATA, k->thread, from, copy_from);
    s->idle_ns[PP_GPU_IDLE_COPY] += length(copy_from, copy_to);
    add_part(s, PP_GPU_IDLE_LAUNCH, k->thread, copy_to, launch);
    add_launched(s, launch, to);
}

/* ---- copies, calls ---- */

static void sum_steps(const struct split *s, struct pp_report_gpu *g)
{
    uint32_t batch = UINT32_MAX, waiter = UINT32_MAX;
    uint64_t steps = 0, syncs = 0;
    double ns = 0;
    int waits = 0;
    for (size_t i = 0; i < s->rows->n_kernels; i++) {
        const struct pp_gpu_kernel *k = &s->rows->kernels[i];
        if (!k->trainer || k->start_ns < s->from_ns || k->start_ns >= s->to_ns)
            continue;
        steps += steps == 0 || k->batch != batch || batch == UINT32_MAX;
        batch = k->batch;
        ns += length(k->start_ns, k->end_ns);
        g->kernels++;
    }
    for (size_t i = 0; i < s->rows->n_syncs; i++) {
        const struct pp_gpu_sync *y = &s->rows->syncs[i];
        if (!y->whole || y->thread == UINT32_MAX || y->start_ns < s->from_ns || y->start_ns >= s->to_ns)
            continue;
        if (y->thread != waiter) {
            waiter = y->thread;
            waits = 0; /* it counts when the thread launches kernels of steps */
            for (size_t k = 0; k < s->rows->n_kernels && !waits; k++)
                waits = s->rows->kernels[k].trainer && s->rows->kernels[k].thread == waiter;
        }
        syncs += waits != 0;
    }
    g->kernel_ns = steps ? ns / (double)steps : NAN;
    g->exposed_copy_ns = steps ? g->exposed_copy_ns / (double)steps : NAN;
    g->idle_in_wait_ns = steps ? s->idle_in_wait_ns / (double)steps : NAN;
    g->syncs_per_step = steps ? (double)syncs / (double)steps : NAN;
}

/* ---- NVML's readings of the window, summed up ---- */

enum { UTILIZATION, MEMORY, RX, TX, COUNTERS };
static const char *const counter_names[COUNTERS] = {"gpu_utilization_percent", "gpu_memory_used_bytes",
                                                    "gpu_pcie_rx_bytes_per_s", "gpu_pcie_tx_bytes_per_s"};

struct readings {
    uint64_t from_ns, to_ns;
    size_t n[COUNTERS];
    double sum[COUNTERS], most[COUNTERS];
};

static void add_reading(void *ctx, uint64_t t_ns, const char *name, double value)
{
    struct readings *r = ctx;
    if (t_ns < r->from_ns || t_ns > r->to_ns || strncmp(name, "gpu_", 4) != 0)
        return;
    for (int i = 0; i < COUNTERS; i++) {
        if (strcmp(name, counter_names[i]) != 0)
            continue;
        r->most[i] = r->n[i] ? fmax(r->most[i], value) : value;
        r->sum[i] += value;
        r->n[i]++;
    }
}

static pp_status read_counters(const struct pp_source *source, uint64_t from_ns, uint64_t to_ns,
                               struct pp_arena *arena, struct pp_report_gpu *g, struct pp_err *err)
{
    struct readings r = {.from_ns = from_ns, .to_ns = to_ns};
    const char *told = source->meta(source->ctx, "gpu", "counters");
    pp_status st = source->each_counter ? source->each_counter(source->ctx, add_reading, &r, err) : PP_OK;
    double mean[COUNTERS];
    for (int i = 0; i < COUNTERS; i++)
        mean[i] = r.n[i] ? r.sum[i] / (double)r.n[i] : NAN;
    g->utilization_share = mean[UTILIZATION] / 100;
    g->memory_used_bytes = r.n[MEMORY] ? r.most[MEMORY] : NAN;
    g->pcie_rx_bytes_per_s = mean[RX];
    g->pcie_tx_bytes_per_s = mean[TX];
    if (!told)
        g->counters_missing = "NVML was not recorded";
    else if (strncmp(told, "not recorded", 12) == 0)
        g->counters_missing = pp_arena_copy(arena, told);
    else if (!r.n[MEMORY] && !r.n[UTILIZATION])
        g->counters_missing = "no NVML sample in the steady state (one per second)";
    return st;
}

/* ---- the model ---- */

static double meta_num(const struct pp_source *source, const char *key)
{
    double v;
    return source->meta_num(source->ctx, "gpu", key, &v) ? v : NAN;
}

/* The part of the steady state that has records: in another program they may begin later, and end sooner. */
struct window {
    uint64_t from_ns, to_ns;
};

static const char *why_not(const struct pp_source *source, const struct pp_timeline *tl, struct window w,
                           const struct pp_gpu_rows *rows, const char *activity, struct pp_arena *arena)
{
    double dropped = meta_num(source, "records_dropped"), kept = meta_num(source, "records");
    const char *lost = source->meta(source->ctx, "decode", "lost");
    size_t kernels = 0;
    for (size_t i = 0; i < rows->n_kernels; i++)
        kernels += rows->kernels[i].trainer && rows->kernels[i].start_ns >= w.from_ns &&
                   rows->kernels[i].start_ns < w.to_ns;
    if (lost)
        return pp_arena_printf(arena, "the GPU was lost, and the run went on without it: %s", lost);
    if (!activity)
        return "GPU activity was not recorded";
    if (strncmp(activity, "not recorded", 12) == 0)
        return activity;
    if (dropped > PP_MOST_DROPPED * (kept + dropped))
        return pp_arena_printf(
            arena, "%.0f of %.0f records were dropped, and above 1 %% the shares are not reliable", dropped,
            kept + dropped);
    if (w.to_ns <= w.from_ns && tl->end_ns > tl->start_ns)
        return "GPU activity was recorded outside the steady state only";
    if (!tl->has_trainer || tl->end_ns <= tl->start_ns || !kernels)
        return isnan(meta_num(source, "from_ns"))
                   ? "no kernel of a step ran in the steady state (--step cuda runs one)"
                   : "no kernel of a step ran in the steady state";
    return NULL;
}

static void measure(const struct pp_timeline *tl, struct window w, const struct pp_gpu_rows *rows,
                    struct pp_gpu_copy *copies, struct pp_report_gpu *g)
{
    struct split s = {.rows = rows, .timeline = tl, .from_ns = w.from_ns, .to_ns = w.to_ns};
    double window = length(s.from_ns, s.to_ns);
    g->recorded_share = window / length(tl->start_ns, tl->end_ns);
    /* Busy is the union of all kernels; what lies between is idle. */
    uint64_t at = s.from_ns;
    size_t cursor = 0;
    for (size_t i = 0; i < s.rows->n_kernels && at < s.to_ns; i++) {
        const struct pp_gpu_kernel *k = &s.rows->kernels[i];
        uint64_t start = earlier(k->start_ns, s.to_ns), end = earlier(k->end_ns, s.to_ns);
        idle_stretch(&s, at, start, &cursor);
        s.busy_ns += length(later(at, start), end);
        at = later(at, end);
    }
    idle_stretch(&s, at, s.to_ns, &cursor);
    g->busy_share = s.busy_ns / window;
    for (int i = 0; i < PP_GPU_IDLES; i++)
        g->idle_share[i] = s.idle_ns[i] / window;
    double ns = 0, pageable = 0, blocking = 0, overlapped = 0; /* overlapped: a kernel ran as well */
    size_t n = 0, first = 0;
    const struct pp_gpu_kernel *kernels = s.rows->kernels;
    for (size_t i = 0; i < s.rows->n_copies; i++)
        if (s.rows->copies[i].start_ns >= s.from_ns && s.rows->copies[i].start_ns < s.to_ns)
            copies[n++] = s.rows->copies[i];
    qsort(copies, n, sizeof(*copies), by_copy_start);
    for (size_t i = 0; i < n; i++) {
        ns += length(copies[i].start_ns, copies[i].end_ns);
        g->copied_bytes += copies[i].bytes;
        pageable += copies[i].pageable ? (double)copies[i].bytes : 0;
        blocking += copies[i].blocking;
        while (first < s.rows->n_kernels && kernels[first].end_ns <= copies[i].start_ns)
            first++; /* both go forward */
        for (size_t k = first; k < s.rows->n_kernels && kernels[k].start_ns < copies[i].end_ns; k++)
            overlapped += length(later(copies[i].start_ns, kernels[k].start_ns),
                                 earlier(copies[i].end_ns, kernels[k].end_ns));
    }
    g->copies = n;
    double under = fmin(overlapped, ns), hidden = fmax(fmin(ns, s.busy_ns) - under, 0);
    g->exposed_copy_ns = ns - under;
    g->copy_bytes_per_s = ns > 0 ? (double)g->copied_bytes * 1e9 / ns : NAN;
    g->overlap_share = ns > 0 ? under / ns : NAN;
    g->overlap_gain = hidden < window ? window / (window - hidden) - 1 : NAN;
    g->pageable_share = g->copied_bytes ? pageable / (double)g->copied_bytes : NAN;
    g->blocking_share = n ? blocking / (double)n : NAN;
    sum_steps(&s, g);
}

pp_status pp_gpu_build(const struct pp_source *source, const struct pp_timeline *tl, struct pp_arena *arena,
                       const struct pp_report_gpu **out, struct pp_err *err)
{
    const char *kind = source->meta(source->ctx, "config", "device_kind"),
               *name = source->meta(source->ctx, "config", "device_name"),
               *activity = source->meta(source->ctx, "gpu", "activity");
    struct pp_gpu_rows rows;
    *out = NULL;
    if (!activity && !(kind && strcmp(kind, "cuda") == 0))
        return PP_OK;
    struct pp_report_gpu *g = pp_arena_alloc(arena, sizeof(*g));
    pp_status st = read_rows(source, tl->start_ns, tl->end_ns, &rows, err);
    struct pp_gpu_copy *copies = st == PP_OK ? pp_arena_alloc(arena, (rows.n_copies + 1) * sizeof(*copies))
                                             : NULL;
    if (st == PP_OK && g && copies) { /* an arena without memory fails the report as a whole */
        name = name ? name : source->meta(source->ctx, "environment", "gpu");
        *g = (struct pp_report_gpu){.name = pp_arena_copy(arena, name),
                                    .activity = pp_arena_copy(arena, activity ? activity : "not recorded"),
                                    .recorded_share = NAN,
                                    .busy_share = NAN,
                                    .exposed_copy_ns = NAN,
                                    .idle_in_wait_ns = NAN,
                                    .copy_bytes_per_s = NAN,
                                    .overlap_share = NAN,
                                    .overlap_gain = NAN,
                                    .pageable_share = NAN,
                                    .blocking_share = NAN,
                                    .syncs_per_step = NAN,
                                    .kernel_ns = NAN,
                                    .clock_error_ns = meta_num(source, "clock_error_ns")};
        for (int i = 0; i < PP_GPU_IDLES; i++)
            g->idle_share[i] = NAN;
        double from = meta_num(source, "from_ns"), until = meta_num(source, "until_ns");
        struct window w = {tl->start_ns, tl->end_ns};
        if (from > (double)w.from_ns)
            w.from_ns = from < (double)w.to_ns ? (uint64_t)from : w.to_ns;
        if (until < (double)w.to_ns)
            w.to_ns = until > (double)w.from_ns ? (uint64_t)until : w.from_ns;
        g->not_measured = pp_arena_copy(arena, why_not(source, tl, w, &rows, activity, arena));
        if (!g->not_measured)
            measure(tl, w, &rows, copies, g);
        st = read_counters(source, tl->start_ns, tl->end_ns, arena, g, err);
        *out = g;
    }
    void *const owned[] = {rows.kernels, rows.copies, rows.blocking, rows.syncs, rows.calls};
    for (size_t i = 0; i < sizeof(owned) / sizeof(*owned); i++)
        free(owned[i]);
    return st;
}

/* ---- evidence for the verdict ---- */

void pp_gpu_facts(const struct pp_report_gpu *g, const struct pp_timeline *tl, struct pp_facts *f)
{
    double *m = f->metric, idle = 0;
    if (!g)
        return;
    f->text[PP_METRIC_GPU_NOT_MEASURED] = g->not_measured;
    m[PP_METRIC_GPU_TOLD] = !g->not_measured;
    if (g->not_measured)
        return;
    for (int i = 0; i < PP_GPU_IDLES; i++)
        idle += g->idle_share[i];
    /* What was recorded of a few seconds bounds no wait of an hour. */
    m[PP_METRIC_GPU_IDLE] = g->recorded_share >= PP_LEAST_RECORDED ? fmax(1 - g->busy_share, 0) : NAN;
    double host = g->idle_share[PP_GPU_IDLE_SYNC] + g->idle_share[PP_GPU_IDLE_LAUNCH];
    m[PP_METRIC_GPU_COPY] = idle > 0 ? g->idle_share[PP_GPU_IDLE_COPY] / idle : 0;
    m[PP_METRIC_GPU_HOST] = idle > 0 ? host / idle : 0;
    m[PP_METRIC_GPU_PAGEABLE] = g->pageable_share;
    m[PP_METRIC_GPU_OVERLAP] = g->overlap_gain;
    m[PP_METRIC_GPU_SYNCS] = g->syncs_per_step;
    /* Of the trainer's step time: what steps take beyond their kernels (waking up, launching), less what the
     * CPU is known to owe. */
    double all = (double)(pp_timeline_exposed_ns(tl) + tl->step_ns), judged = (double)tl->judged_batches;
    double beyond = (double)tl->step_ns - judged * g->kernel_ns, stretch = m[PP_METRIC_STRETCH];
    m[PP_METRIC_GPU_OVERHEAD] = all > 0 && judged > 0 ? fmax(beyond / all - (stretch > 0 ? stretch : 0), 0)
                                                      : NAN;
}
