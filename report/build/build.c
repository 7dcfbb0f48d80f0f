#include "report/build/build.h"

#include "probe/base/array.h"
#include "report/build/parts.h"

#include "probe/base/err.h"
#include "probe/base/text.h"
#include "report/findings/findings.h"
#include "report/gpu/gpu.h"
#include "report/source/rows.h"
#include "report/verdict/action.h"
#include "report/verdict/loader_words.h"
#include "report/verdict/verdict.h"

/* The report and what it points to share one arena; the caller sees the report. */
struct owned {
    struct pp_report report;
    struct pp_arena arena;
};

/* What the parts below are computed from. */
struct build {
    const struct pp_source *source;
    struct pp_report *r;
    struct pp_arena *arena;
    struct pp_timeline timeline;
    struct pp_gathered got;
    double usable_cpus; /* NAN: unknown */
    uint64_t counted_errors;
    double loss_share;
};

static double meta_num(const struct build *b, const char *section, const char *key)
{
    double v;
    return b->source->meta_num(b->source->ctx, section, key, &v) ? v : NAN;
}

static uint64_t result_or(const struct build *b, const char *key, uint64_t counted)
{
    double v = meta_num(b, "result", key);
    return v >= 0 ? (uint64_t)v : counted;
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

/* ---- phases, workers ---- */

static void add_phase(struct build *b, pp_lane lane, unsigned phase)
{
    const struct pp_tally_phase *t = b->got.tally.phase[lane][phase];
    if (!t || t->hist.count == 0)
        return;
    struct pp_report_phase *p = pp_arena_push(b->arena, (void **)&b->r->phases, &b->r->n_phases, sizeof(*p));
    if (!p)
        return;
    double lane_ns = b->r->window_s * 1e9 * (double)b->got.tally.lane_threads[lane];
    *p = (struct pp_report_phase){
        .phase = (pp_phase)phase,
        .lane = lane,
        .count = t->hist.count,
        .total_ns = t->hist.sum,
        .mean_ns = (double)t->hist.sum / (double)t->hist.count,
        .p50_ns = pp_hist_quantile(&t->hist, 0.50),
        .p95_ns = pp_hist_quantile(&t->hist, 0.95),
        .p99_ns = pp_hist_quantile(&t->hist, 0.99),
        .max_ns = t->hist.max,
        .bytes = t->bytes,
        .share = lane_ns > 0 ? t->inside.total_ns / lane_ns : NAN,
        .cpu_share = pp_split_cpu(&t->whole),
        .run_delay_share = pp_split_run_delay(&t->whole),
        .blocked_share = pp_split_blocked(&t->whole),
    };
}

PP_BY(by_id, struct pp_thread_row, id)

static int by_name(const void *a, const void *b)
{
    return strverscmp(((const struct pp_report_worker *)a)->name, ((const struct pp_report_worker *)b)->name);
}

static void add_workers(struct build *b)
{
    const struct pp_thread_row *rows;
    size_t n_rows = b->source->threads(b->source->ctx, &rows);
    for (size_t i = 0; i < b->got.tally.n_threads; i++) {
        const struct pp_tally_thread *t = &b->got.tally.threads[i];
        if (t->lane != PP_LANE_WORKER)
            continue;
        struct pp_report_worker *w = pp_arena_push(b->arena, (void **)&b->r->workers, &b->r->n_workers,
                                                   sizeof(*w));
        if (!w)
            return;
        const struct pp_thread_row key = {.id = t->id}, *row = NULL;
        if (n_rows) /* which come in the order of their ids */
            row = bsearch(&key, rows, n_rows, sizeof(key), by_id);
        int measured = t->inside.measured_ns > 0;
        double life_ns = t->life_ns;
        *w = (struct pp_report_worker){
            .thread = t->id,
            .name = row && row->name ? pp_arena_copy(b->arena, row->name) : "",
            .samples = t->samples,
            .errors = t->errors,
            .retries = t->retries,
            .bytes = t->bytes,
            .busy_share = life_ns > 0 ? t->busy_ns / life_ns : NAN,
            .wait_share = life_ns > 0 ? t->wait_ns / life_ns : NAN,
            .cpu_share = measured && life_ns > 0 ? t->inside.cpu_ns / life_ns : NAN,
            .run_delay_share = measured && life_ns > 0 ? t->inside.run_delay_ns / life_ns : NAN,
            .samples_per_s = life_ns > 0 ? (double)t->samples / (life_ns / 1e9) : NAN,
        };
    }
    if (b->r->n_workers && !pp_arena_failed(b->arena))
        qsort(b->r->workers, b->r->n_workers, sizeof(*b->r->workers),
              by_name); /* threads are numbered as they happened to start */
}

/* ---- losses, overhead ---- */

static void add_losses(struct build *b)
{
    const struct pp_thread_row *rows;
    size_t n = b->source->threads(b->source->ctx, &rows);
    uint64_t dropped = 0, told = 0, told_spans = 0;
    const char *recovery = b->source->meta(b->source->ctx, "run", "recovery");
    if (recovery)
        pp_rows_add_loss(b->arena, b->r, "recovery", 0, recovery);
    for (size_t i = 0; i < b->r->n_losses; i++) {
        told += b->r->losses[i].count;
        if (b->r->losses[i].what && strcmp(b->r->losses[i].what, "spans") == 0)
            told_spans += b->r->losses[i].count; /* full rings, which the threads count too, and spans over
                                                    the file's limit */
    }
    for (size_t i = 0; i < n; i++)
        dropped += rows[i].dropped;
    if (dropped && !told) /* a killed run could not say so itself */
        pp_rows_add_loss(b->arena, b->r, "spans", dropped, "the rings were full");
    if (b->timeline.bad_chunks)
        pp_rows_add_loss(
            b->arena, b->r, "chunks", b->timeline.bad_chunks,
            "their checksum does not match, or they hold spans whose phase or times cannot be: the file is damaged, or of a newer version");
    if (b->got.tally.unknown_phase)
        pp_rows_add_loss(b->arena, b->r, "spans", b->got.tally.unknown_phase,
                         "unknown phase: written by a newer version");
    double per_chunk = b->timeline.chunks ? (double)b->timeline.spans / (double)b->timeline.chunks : 0;
    double lost = (double)(dropped > told_spans ? dropped : told_spans) +
                  (double)b->timeline.bad_chunks * per_chunk + (double)b->got.tally.unknown_phase;
    b->loss_share = lost > 0 ? lost / ((double)b->timeline.spans + lost) : 0;
}

/* ---- totals ---- */

static uint64_t sum_of_workers(const struct pp_tally *t, size_t offset)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->n_threads; i++)
        if (t->threads[i].lane == PP_LANE_WORKER || t->threads[i].lane == PP_LANE_READER)
            sum += *(const uint64_t *)((const char *)&t->threads[i] + offset);
    return sum;
}

/* Counts, and the rates and shares of the steady state. */
static void set_totals(struct build *b)
{
    const struct pp_timeline *t = &b->timeline;
    struct pp_report *r = b->r;
    const struct pp_report_pair *step = pp_rows_find(b->r->config, b->r->n_config, "step");
    uint64_t bytes = 0, cached = 0, cached_of = 0;
    int reads = 0;
    r->window_samples = t->window_samples
                            ? t->window_samples
                            : sum_of_workers(&b->got.tally, offsetof(struct pp_tally_thread, samples));
    r->window_batches = t->window_batches;
    r->spans = t->spans;
    r->epochs = t->epochs;
    r->samples = result_or(b, "samples", t->samples ? t->samples : r->window_samples);
    r->batches = result_or(b, "batches", t->batches);
    r->errors = result_or(b, "errors", b->counted_errors);
    r->retries = result_or(b, "retries",
                           sum_of_workers(&b->got.tally, offsetof(struct pp_tally_thread, retries)));
    for (int lane = 0; lane < PP_LANE_COUNT; lane++) {
        const struct pp_tally_phase *read = b->got.tally.phase[lane][PP_PHASE_READ];
        reads |= read != NULL;
        bytes += read ? read->bytes : 0;
        cached += read ? read->cached_bytes : 0;
        cached_of += read ? read->cached_of_bytes : 0;
    }
    int timed = r->window_s > 0;
    r->has_step = !(step && strcmp(step->value, "none") == 0) && t->has_step;
    int counted = r->window_samples > 0 ||
                  r->window_batches == 0; /* a foreign program's ranges carry no sample counts */
    r->samples_per_s = timed && counted ? (double)r->window_samples / r->window_s : NAN;
    r->batches_per_s = timed ? (double)r->window_batches / r->window_s : NAN;
    r->bytes_per_s = timed && reads ? (double)bytes / r->window_s : NAN;
    r->cache_hit_share = cached_of ? (double)cached / (double)cached_of : NAN;
    r->step_mean_ns = r->has_step && t->judged_batches ? (double)t->step_ns / (double)t->judged_batches : NAN;
    r->data_wait_share = r->has_step ? pp_timeline_share(t, t->wait_ns + t->sync_ns) : NAN;
    /* pipeprobe's own step stands for an accelerator; a job without one has none to use */
    r->accelerator_utilization_share = r->has_step && t->has_steady_state &&
                                               (r->gpu || r->subject_kind != PP_SUBJECT_JOB)
                                           ? pp_timeline_accelerator_utilization(t)
                                           : NAN;
    r->collective_share = r->has_step && t->collective_ns ? pp_timeline_share(t, t->collective_ns) : NAN;
}

/* Exposed time is the trainer's waits for data and for other ranks, and the time that its steps waited for a
 * CPU. A batch that is there still has to be taken, and workers still end and start again: that time stays,
 * unless a fix ends it. */
static void set_headroom(struct build *b, double starved_ns, double taking_ns, double epochs_ns)
{
    const struct pp_timeline *t = &b->timeline;
    struct pp_report *r = b->r;
    const struct pp_report_gpu *g = r->gpu;
    /* How long the GPU of a job that launches ahead idled: no more can be gained, however short its steps
     * are. */
    double idle_s = g && !g->not_measured && g->recorded_share >= PP_LEAST_RECORDED && !r->own_loader
                        ? r->window_s * (1 - g->busy_share)
                        : INFINITY,
           wait_s = fmin(((double)pp_timeline_exposed_ns(t) - taking_ns) / 1e9, idle_s);
    r->starved_s = starved_ns / 1e9;
    double exposed_s = fmin(wait_s + r->starved_s + epochs_ns / 1e9, idle_s);
    r->headroom_if = r->collective_share > r->data_wait_share ? "there were no waits for other ranks"
                     : r->drawn_for_free
                         ? "data were always available and the sampler drew nothing before an epoch"
                     : r->workers_stay && r->taken_for_free
                         ? "data were always available and workers cost nothing"
                     : r->workers_stay   ? "data were always available and workers stayed for all epochs"
                     : r->first_waits    ? "data were always available, from an epoch's first batch on"
                     : r->taken_for_free ? "data were always available and batches cost nothing to take"
                     : r->starved_s > 0  ? "data and CPUs were always available"
                                         : "data were always available";
    /* The rate without so much of the window; NAN where there is no step, or nothing would be left. */
    int counted = r->has_step && (r->window_samples > 0 || r->window_batches == 0);
    double samples = counted ? (double)r->window_samples : NAN;
    r->without_waits_samples_per_s = r->window_s > wait_s ? samples / (r->window_s - wait_s) : NAN;
    r->headroom_samples_per_s = r->window_s > exposed_s ? samples / (r->window_s - exposed_s) : NAN;
    r->headroom_gain = r->has_step && r->window_s > exposed_s ? exposed_s / (r->window_s - exposed_s) : NAN;
}

enum what_it_ends { WAITS, TAKING, RESTARTS, COPIES, WORKERS, DRAWS };

/* The rate with the best fix of those that end this. */
static double best_fix(const struct pp_diagnosis *d, enum what_it_ends what)
{
    double best = 0;
    for (int i = 0; d->replayed && i < d->signals.fixes; i++) {
        const struct pp_knobs *k = &d->signals.fix[i].knobs;
        enum what_it_ends ends = k->workers == PP_NO_WORKERS ? WORKERS
                                 : k->persistent             ? RESTARTS
                                 : k->sampler < 1            ? DRAWS
                                 : k->unpickle < 1           ? TAKING
                                 : k->pinned                 ? COPIES
                                                             : WAITS;
        if (ends == what)
            best = fmax(best, d->signals.fix[i].p.samples_per_s);
    }
    return best;
}

/* No fix is said to gain more than there is to gain. */
static void find_headroom(struct build *b, const struct pp_diagnosis *d)
{
    const struct pp_costs *c = &b->got.costs;
    double starved_ns = d->starved_ns, taking_ns = d->taking_ns, epochs_ns = 0;
    set_headroom(b, starved_ns, taking_ns, 0);
    if (!(starved_ns > 0) && best_fix(d, WAITS) > b->r->headroom_samples_per_s) {
        starved_ns = d->stretch_ns; /* it frees the CPUs that the steps wait for, too */
        set_headroom(b, starved_ns, taking_ns, 0);
    }
    if (c->drains && best_fix(d, WAITS) > b->r->headroom_samples_per_s) {
        b->r->first_waits = 1;
        epochs_ns = (double)b->timeline.starts.wait_ns;
        set_headroom(b, starved_ns, taking_ns, epochs_ns);
    }
    if (best_fix(d, TAKING) > b->r->headroom_samples_per_s) {
        b->r->taken_for_free = 1;
        taking_ns = 0;
        set_headroom(b, starved_ns, taking_ns, epochs_ns);
    }
    int no_workers = best_fix(d, WORKERS) > b->r->headroom_samples_per_s;
    if (no_workers) {
        b->r->taken_for_free = 1;
        taking_ns = 0;
    }
    if (no_workers || best_fix(d, RESTARTS) > b->r->headroom_samples_per_s) {
        b->r->workers_stay = 1;
        epochs_ns = fmax(epochs_ns, c->restart_ns * (double)b->timeline.starts.n);
        epochs_ns += c->epoch_workers_ns * (double)b->timeline.starts.n;
        set_headroom(b, starved_ns, taking_ns, epochs_ns);
    }
    if (best_fix(d, DRAWS) > b->r->headroom_samples_per_s) {
        b->r->drawn_for_free = 1;
        set_headroom(b, starved_ns, taking_ns, epochs_ns + (double)b->timeline.starts.sampler_ns);
    }
}

static void judge(struct build *b)
{
    const struct pp_facts_from from = {.source = b->source,
                                       .arena = b->arena,
                                       .report = b->r,
                                       .timeline = &b->timeline,
                                       .gathered = &b->got,
                                       .usable_cpus = b->usable_cpus,
                                       .loss_share = b->loss_share};
    struct pp_facts facts;
    struct pp_diagnosis d;
    pp_facts_build(&from, &facts, &d);
    pp_spent_list(&b->timeline, &b->got.tally,
                  isnan(facts.metric[PP_METRIC_WORKER_IDLE]) ? NULL : facts.phase_share, b->arena, b->r);
    find_headroom(b, &d);
    pp_verdict_judge(&facts, b->arena, &b->r->verdict);
    /* What was ruled out, and the replay's own error. */
    struct pp_report_verdict *v = &b->r->verdict;
    v->replay_error = d.replayed ? d.signals.replay_error : NAN;
    for (int i = 0; d.replayed && v->l1 && i < PP_WEIGHED_CAUSES; i++) {
        double weight = d.signals.metric[pp_weighed_causes[i].weight];
        int said = strcmp(pp_weighed_causes[i].name, v->l1) == 0; /* by evidence that no replay has */
        if (weight < 0.1 && !said && v->n_ruled_out < sizeof(v->ruled_out) / sizeof(*v->ruled_out))
            v->ruled_out[v->n_ruled_out++] = pp_arena_printf(
                b->arena, "%s: 25 %% less of it gains %.1f %% in the replay", pp_weighed_causes[i].name,
                100 * (weight * d.signals.sensitivity));
    }
    pp_changes_list(&d, b->arena, b->r);
    pp_changes_leave_out(&b->timeline, &b->got.costs.ops.between, b->arena, b->r);
    pp_pytorch_expect(d.replayed ? &b->got.costs : NULL, b->arena, b->r);
    pp_ops_tell(&b->got.costs, d.replayed, b->arena, b->r);
    pp_changes_advise(b->r, b->arena);
    if (d.replayed && !b->source->glance)
        pp_path_find(&b->got.costs, &b->r->verdict);
    pp_ops_speak(b->r, b->arena);
    pp_action_choose(b->r, b->arena);
    for (size_t i = 0; i < b->r->n_loaders; i++) /* where the line to paste belongs */
        if (b->r->loaders[i].judged && v->action.python && strncmp(v->action.python, "DataLoader(", 11) == 0)
            v->action.at = b->r->loaders[i].at;
    pp_sentence_compose(b->arena, b->r);
    pp_report_price(b->r, 0);
    if (d.replayed && b->r->has_step && !b->source->glance)
        pp_series_curve(&b->got.costs, b->arena, b->r);
}

static void compute(struct build *b)
{
    b->usable_cpus = meta_num(b, "environment", "usable_cpus");
    /* Only pipeprobe run stores a step. */
    b->r->own_loader = pp_rows_find(b->r->config, b->r->n_config, "step") &&
                       b->r->subject_kind != PP_SUBJECT_PYTORCH_LOADER;
    const struct pp_timeline *t = &b->timeline;
    double started = meta_num(b, "run", "started_mono_ns"), ended = meta_num(b, "run", "ended_mono_ns");
    uint64_t first = started >= 0 ? (uint64_t)started
                     : t->spans   ? t->first_ns
                                  : 0,
             last = ended >= 0 ? (uint64_t)ended : t->last_ns;
    const char *outcome = b->source->meta(b->source->ctx, "run", "outcome");
    b->r->outcome = outcome ? pp_arena_copy(b->arena, outcome) : "unfinished";
    b->r->session = pp_arena_copy(b->arena, b->source->meta(b->source->ctx, "run", "session_id"));
    b->r->duration_s = seconds(first, last);
    b->r->window_s = seconds(t->start_ns, t->end_ns);
    b->r->startup_s = t->startup_end_ns ? seconds(t->startup_start_ns, t->startup_end_ns) : NAN;
    b->r->first_batch_s = t->first_batch_ns ? seconds(first, t->first_batch_ns) : NAN;
    b->r->has_steady_state = t->has_steady_state;
    b->r->boundary_s = (double)t->boundary_ns / 1e9;
    set_totals(b);
    pp_ending_read(b->source, b->arena, b->r);
    static const pp_lane order[] = {PP_LANE_READER, PP_LANE_WORKER,  PP_LANE_COPY,
                                    PP_LANE_DEVICE, PP_LANE_TRAINER, PP_LANE_MAIN};
    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
        for (unsigned phase = 0; phase < PP_PHASE_COUNT; phase++)
            add_phase(b, order[i], phase);
    add_workers(b);
    pp_loaders_tell(&b->timeline, &b->got.tally, b->arena, b->r);
    pp_slow_samples_list(b->source, &b->got.costs, b->arena, b->r);
    add_losses(b);
    /* The drain's CPU time is measured; the hot path's is the number of spans times one's measured cost. */
    double drain_ns = meta_num(b, "result", "recorder_cpu_ns"),
           span_ns = meta_num(b, "result", "span_cost_ns");
    double cpu_s = (drain_ns + (isnan(span_ns) ? 0 : span_ns * (double)b->timeline.spans)) / 1e9;
    b->r->overhead_cpu_s = cpu_s;
    b->r->overhead_share = b->r->duration_s > 0 ? cpu_s / (b->r->duration_s * b->usable_cpus) : NAN;
    judge(b);
    pp_findings_add(&(struct pp_findings_from){.source = b->source,
                                               .timeline = &b->timeline,
                                               .checks = &b->got.checks,
                                               .report = b->r,
                                               .arena = b->arena,
                                               .given_length = pp_run_ended_by_itself(b->source)},
                    b->r);
    pp_ops_read_less(&b->got.costs, b->arena, b->r);
    pp_changes_agree(b->r, b->arena);
    pp_neighbours_name(b->arena, b->r);
    pp_ops_other_way(b->r, b->arena);
    pp_loader_words_speak(b->r, b->arena);
}

pp_status pp_report_from(const struct pp_source *source, struct pp_report **out, struct pp_err *err)
{
    struct owned *o = calloc(1, sizeof(*o));
    *out = NULL;
    if (!o)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the report of %s", source->path);
    struct build b = {.source = source, .r = &o->report, .arena = &o->arena};
    char *shown = pp_text_plain(source->path); /* the recording may be a stranger's, name and all */
    o->report.path = pp_arena_copy(&o->arena, shown ? shown : "");
    free(shown);
    pp_status status = pp_rows_read(source, &o->arena, &o->report, &b.counted_errors, err);
    if (status == PP_OK)
        pp_subject_read(source, &o->arena, &o->report);
    if (status == PP_OK && pp_arena_failed(&o->arena))
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the rows of %s", source->path);
    if (status == PP_OK)
        status = pp_timeline_build(source, &b.timeline, err);
    if (status == PP_OK)
        status = pp_gather(source, &b.timeline, b.arena, b.r, &b.got, err);
    if (status == PP_OK)
        status = pp_gpu_build(source, &b.timeline, b.arena, &b.r->gpu, err);
    b.r->decode = pp_decode_read(source, &b.timeline, b.arena);
    if (status == PP_OK)
        compute(&b);
    if (status == PP_OK && b.r->n_slices)
        status = pp_series_choose(source, &b.timeline, &b.got.tally, &b.got.targets, err);
    if (status == PP_OK && b.r->n_slices)
        status = pp_series_follow(source, &b.got.targets, b.arena, b.r, err);
    if (status == PP_OK && pp_arena_failed(&o->arena))
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the report of %s", source->path);
    pp_tally_free(&b.got.tally);
    pp_costs_free(&b.got.costs);
    pp_timeline_free(&b.timeline);
    if (status == PP_OK)
        *out = &o->report;
    else
        pp_report_free(&o->report);
    return status;
}

pp_status pp_report_build(const char *path, struct pp_report **out, struct pp_err *err)
{
    return pp_report_build_of(path, NULL, out, err);
}

pp_status pp_report_build_of(const char *path, const char *loader, struct pp_report **out, struct pp_err *err)
{
    struct pp_source source;
    pp_status status = pp_source_open(path, &source, err);
    if (status == PP_OK && loader)
        status = pp_source_judge(&source, loader, err);
    if (status == PP_OK)
        status = pp_report_from(&source, out, err);
    pp_source_close(&source);
    return status;
}

void pp_report_price(struct pp_report *r, double gpu_hour)
{
    r->gpu_hour = gpu_hour > 0 ? gpu_hour : NAN;
    r->wait_cost_per_day = pp_report_wait_cost(r, gpu_hour);
}

void pp_report_free(struct pp_report *r)
{
    if (!r)
        return;
    struct owned *o = (struct owned *)r; /* its first member */
    pp_arena_free(&o->arena);
    free(o);
}

int pp_report_exit_code(const struct pp_report *r)
{
    int inconclusive = r->verdict.l0 && strcmp(r->verdict.l0, "inconclusive") == 0;
    return inconclusive && !r->verdict.ceiling ? pp_status_exit_code(PP_E_INCONCLUSIVE) : 0;
}
