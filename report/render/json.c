#include "report/render/render.h"

#include "probe/base/json_fields.h"
#include "report/gpu/gpu.h"

#include <stdlib.h>

/* Keys carry their units; what is not known is null. docs/report.schema.json describes the document. */

static void put_totals(struct pp_json *j, const struct pp_report *r)
{
    str(j, "schema", "pipeprobe.report/1");
    str(j, "file", r->path);
    str(j, "outcome", r->outcome);
    num(j, "samples_per_s", r->samples_per_s);
    num(j, "batches_per_s", r->batches_per_s);
    num(j, "bytes_per_s", r->bytes_per_s);
    num(j, "data_wait_share", r->data_wait_share);
    num(j, "collective_share", r->collective_share);
    num(j, "step_mean_ns", r->step_mean_ns);
    num(j, "cache_hit_share", r->cache_hit_share);
    num(j, "duration_s", r->duration_s);
    num(j, "startup_s", r->startup_s);
    num(j, "first_batch_s", r->first_batch_s);
    whole(j, "samples", r->samples);
    whole(j, "batches", r->batches);
    whole(j, "epochs", r->epochs);
    whole(j, "error_count", r->errors);
    whole(j, "retry_count", r->retries);
    whole(j, "span_count", r->spans);
    pp_json_key(j, "window");
    pp_json_object(j);
    boolean(j, "steady_state", r->has_steady_state);
    num(j, "duration_s", r->window_s);
    num(j, "boundary_s", r->boundary_s);
    whole(j, "samples", r->window_samples);
    whole(j, "batches", r->window_batches);
    pp_json_object_end(j);
}

static void put_fixes(struct pp_json *j, const struct pp_report_verdict *v)
{
    pp_json_key(j, "fixes");
    pp_json_array(j);
    for (size_t i = 0; i < v->n_fixes; i++) {
        const struct pp_report_fix *f = &v->fixes[i];
        pp_json_object(j);
        str(j, "knob", f->knob);
        str(j, "to", f->to);
        num(j, "gain", f->gain);
        num(j, "low", f->low);
        num(j, "high", f->high);
        num(j, "samples_per_s", f->samples_per_s);
        str(j, "text", f->text);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
    str(j, "why_no_fixes", v->why_no_fixes);
    pp_json_key(j, "ruled_out");
    pp_json_array(j);
    for (size_t i = 0; i < v->n_ruled_out; i++)
        pp_json_str(j, v->ruled_out[i]);
    pp_json_array_end(j);
    num(j, "replay_error", v->replay_error);
}

static void put_verdict(struct pp_json *j, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    pp_json_key(j, "verdict");
    pp_json_object(j);
    str(j, "l0", v->l0);
    str(j, "l1", v->l1);
    str(j, "l2", v->l2);
    str(j, "level", v->level);
    num(j, "confidence", v->confidence);
    boolean(j, "ceiling", v->ceiling);
    str(j, "sentence", v->sentence);
    str(j, "reason", v->reason);
    str(j, "next_step", v->next_step);
    num(j, "headroom_samples_per_s", r->headroom_samples_per_s);
    num(j, "headroom_gain", r->headroom_gain);
    pp_json_key(j, "evidence");
    pp_json_array(j);
    for (size_t i = 0; i < v->evidences; i++) {
        pp_json_object(j);
        str(j, "name", v->evidence[i].name);
        str(j, "value", v->evidence[i].value);
        str(j, "threshold", v->evidence[i].threshold);
        pp_json_key(j, "supports");
        pp_json_int(j, v->evidence[i].supports);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
    put_fixes(j, v);
    pp_json_object_end(j);
}

static void put_phases(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "phases");
    pp_json_array(j);
    for (size_t i = 0; i < r->n_phases; i++) {
        const struct pp_report_phase *p = &r->phases[i];
        const struct pp_phase_info *info = pp_phase_info(p->phase);
        pp_json_object(j);
        str(j, "phase", info ? info->name : NULL);
        str(j, "lane", pp_lane_name(p->lane));
        str(j, "kind", info && info->kind == PP_KIND_WORK ? "work" : "wait");
        whole(j, "count", p->count);
        whole(j, "total_ns", p->total_ns);
        num(j, "mean_ns", p->mean_ns);
        whole(j, "p50_ns", p->p50_ns);
        whole(j, "p95_ns", p->p95_ns);
        whole(j, "p99_ns", p->p99_ns);
        whole(j, "max_ns", p->max_ns);
        whole(j, "bytes", p->bytes);
        num(j, "share", p->share);
        num(j, "cpu_share", p->cpu_share);
        num(j, "run_delay_share", p->run_delay_share);
        num(j, "blocked_share", p->blocked_share);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

static void put_workers(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "workers");
    pp_json_array(j);
    for (size_t i = 0; i < r->n_workers; i++) {
        const struct pp_report_worker *w = &r->workers[i];
        pp_json_object(j);
        whole(j, "thread", w->thread);
        str(j, "name", w->name);
        whole(j, "samples", w->samples);
        num(j, "samples_per_s", w->samples_per_s);
        whole(j, "errors", w->errors);
        whole(j, "retries", w->retries);
        whole(j, "bytes", w->bytes);
        num(j, "busy_share", w->busy_share);
        num(j, "wait_share", w->wait_share);
        num(j, "cpu_share", w->cpu_share);
        num(j, "run_delay_share", w->run_delay_share);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

static void put_queues(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "queues");
    pp_json_array(j);
    for (size_t i = 0; i < r->n_queues; i++) {
        const struct pp_report_queue *q = &r->queues[i];
        pp_json_object(j);
        str(j, "name", q->name);
        whole(j, "capacity", q->capacity);
        whole(j, "puts", q->puts);
        whole(j, "gets", q->gets);
        whole(j, "put_wait_ns", q->put_wait_ns);
        whole(j, "get_wait_ns", q->get_wait_ns);
        num(j, "mean_depth", q->mean_depth);
        num(j, "share_empty", q->share_empty);
        num(j, "share_full", q->share_full);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

static void put_errors(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "errors");
    pp_json_array(j);
    for (size_t i = 0; i < r->n_error_kinds; i++) {
        const struct pp_report_error_kind *e = &r->error_kinds[i];
        pp_json_object(j);
        str(j, "kind", e->kind);
        str(j, "action", e->action);
        whole(j, "count", e->count);
        str(j, "example_path", e->example_path);
        str(j, "example_reason", e->example_reason);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

static void put_losses(struct pp_json *j, const struct pp_report *r)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < r->n_losses; i++)
        lost |= r->losses[i].count;
    pp_json_key(j, "losses");
    pp_json_object(j);
    boolean(j, "complete", lost == 0);
    pp_json_key(j, "items");
    pp_json_array(j);
    for (size_t i = 0; i < r->n_losses; i++) {
        pp_json_object(j);
        str(j, "what", r->losses[i].what);
        whole(j, "count", r->losses[i].count);
        str(j, "why", r->losses[i].why);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
    pp_json_object_end(j);
    pp_json_key(j, "overhead");
    pp_json_object(j);
    num(j, "cpu_s", r->overhead_cpu_s);
    num(j, "share", r->overhead_share);
    pp_json_object_end(j);
}

static void put_pairs(struct pp_json *j, const char *key, const struct pp_report_pair *pairs, size_t n)
{
    pp_json_key(j, key);
    pp_json_object(j);
    for (size_t i = 0; i < n; i++) {
        if (pairs[i].numeric && pairs[i].value)
            num(j, pairs[i].key, strtod(pairs[i].value, NULL));
        else
            str(j, pairs[i].key, pairs[i].value);
    }
    pp_json_object_end(j);
}

static void put_notes(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "config_notes");
    pp_json_object(j);
    for (size_t i = 0; i < r->n_config; i++)
        if (r->config[i].note)
            str(j, r->config[i].key, r->config[i].note);
    pp_json_object_end(j);
}

/* ---- the pictures ---- */

/* One field of all slices, on one line: a column. */
static void put_column(struct pp_json *j, const char *key, const struct pp_report *r, size_t offset)
{
    int indent = j->indent;
    pp_json_key(j, key);
    j->indent = 0;
    pp_json_array(j);
    for (size_t i = 0; i < r->n_slices; i++)
        pp_json_num(j, *(const double *)((const char *)&r->slices[i] + offset));
    pp_json_array_end(j);
    j->indent = indent;
}

/* clang-format off */
#define SLICE_COLUMNS(X) \
    X(start_s) X(end_s) X(wait_share) X(sync_share) X(step_share) X(apart_share) X(h2d_share) \
    X(ready_batches) X(device_batches) X(samples_per_s)
/* clang-format on */

static void put_slices(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "slices");
    pp_json_object(j);
#define COLUMN(field) put_column(j, #field, r, offsetof(struct pp_report_slice, field));
    SLICE_COLUMNS(COLUMN)
#undef COLUMN
    pp_json_key(j, "errors");
    pp_json_array(j);
    for (size_t i = 0, indent = (size_t)j->indent; i < r->n_slices; i++) {
        j->indent = 0;
        pp_json_uint(j, r->slices[i].errors);
        j->indent = (int)indent;
    }
    pp_json_array_end(j);
    pp_json_object_end(j);
}

static void put_coarse(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "coarse");
    pp_json_array(j);
    for (size_t i = 0; i < r->n_coarse; i++) {
        const struct pp_report_slice *s = &r->coarse[i];
        pp_json_object(j);
#define FIELD(field) num(j, #field, s->field);
        SLICE_COLUMNS(FIELD)
#undef FIELD
        whole(j, "errors", s->errors);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

static void put_heat(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "worker_time");
    pp_json_array(j);
    for (size_t i = 0; i < r->n_heat; i++) {
        int indent = j->indent;
        pp_json_object(j);
        str(j, "name", r->heat[i].name);
        num(j, "busy_share", r->heat[i].busy_share);
        pp_json_key(j, "busy");
        j->indent = 0;
        pp_json_array(j);
        for (size_t k = 0; k < r->n_slices; k++)
            pp_json_num(j, r->heat[i].busy[k]);
        pp_json_array_end(j);
        j->indent = indent;
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

static void put_wait_cdf(struct pp_json *j, const struct pp_report *r)
{
    int indent = j->indent;
    pp_json_key(j, "wait_quantiles_ns");
    j->indent = 0;
    pp_json_array(j);
    for (size_t i = 0; i < r->n_wait_cdf; i++)
        pp_json_num(j, r->wait_cdf[i].x);
    pp_json_array_end(j);
    j->indent = indent;
}

static void put_leg(struct pp_json *j, const struct pp_report_leg *leg)
{
    const struct pp_phase_info *info = pp_phase_info(leg->phase);
    pp_json_object(j);
    str(j, "what", leg->what);
    str(j, "phase", info ? info->name : NULL);
    str(j, "thread", leg->thread);
    boolean(j, "for_other_batch", leg->other);
    whole(j, "spans", leg->spans);
    num(j, "total_ns", leg->total_ns);
    num(j, "in_wait_ns", leg->in_wait_ns);
    pp_json_object_end(j);
}

static void put_waterfalls(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "waterfalls");
    pp_json_array(j);
    for (size_t i = 0; i < r->n_waterfalls; i++) {
        const struct pp_report_batch *b = &r->waterfalls[i];
        pp_json_object(j);
        str(j, "which", b->which);
        whole(j, "batch", b->batch);
        whole(j, "epoch", b->epoch);
        num(j, "wait_ns", b->wait_ns);
        num(j, "sync_ns", b->sync_ns);
        num(j, "step_ns", b->step_ns);
        num(j, "ready_ns", b->ready_ns);
        pp_json_key(j, "legs");
        pp_json_array(j);
        for (size_t k = 0; k < b->n_legs; k++)
            put_leg(j, &b->legs[k]);
        pp_json_array_end(j);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

static void put_curves(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "curves");
    pp_json_array(j);
    for (size_t i = 0; i < r->n_curves; i++) {
        pp_json_object(j);
        str(j, "knob", r->curves[i].knob);
        num(j, "now", r->curves[i].now);
        pp_json_key(j, "points");
        pp_json_array(j);
        for (size_t k = 0; k < r->curves[i].n_points; k++) {
            const struct pp_report_curve_point *p = &r->curves[i].points[k];
            pp_json_object(j);
            num(j, "value", p->value);
            num(j, "samples_per_s", p->samples_per_s);
            num(j, "low", p->low);
            num(j, "high", p->high);
            pp_json_object_end(j);
        }
        pp_json_array_end(j);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

static void put_gpu_items(struct pp_json *j, const struct pp_gpu_item *item, size_t n, int idle)
{
    for (size_t i = 0; i < n; i++)
        if ((item[i].part == PP_GPU_IDLE_PART) == idle)
            num(j, item[i].key, item[i].value);
}

static void put_gpu(struct pp_json *j, const struct pp_report *r)
{
    struct pp_gpu_item item[PP_GPU_ITEMS];
    pp_json_key(j, "gpu");
    if (!r->gpu) {
        pp_json_null(j);
        return;
    }
    size_t n = pp_gpu_items(r->gpu, item);
    pp_json_object(j);
    str(j, "name", r->gpu->name);
    str(j, "activity", r->gpu->activity);
    str(j, "not_measured", r->gpu->not_measured);
    str(j, "nvml_not_measured", r->gpu->counters_missing);
    put_gpu_items(j, item, n, 0);
    pp_json_key(j, "idle");
    pp_json_object(j);
    put_gpu_items(j, item, n, 1);
    pp_json_object_end(j);
    pp_json_object_end(j);
}

static void put_pictures(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "series");
    pp_json_object(j);
    num(j, "window_start_s", r->window_start_s);
    num(j, "window_end_s", r->window_end_s);
    put_slices(j, r);
    put_coarse(j, r);
    put_heat(j, r);
    put_wait_cdf(j, r);
    put_waterfalls(j, r);
    put_curves(j, r);
    pp_json_object_end(j);
}

static void put_proofs(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "proof");
    pp_json_array(j);
    for (size_t i = 0; i < r->n_proofs; i++) {
        const struct pp_report_proof *p = &r->proofs[i];
        pp_json_object(j);
        str(j, "kind", p->kind);
        str(j, "change", p->change);
        str(j, "value", p->value);
        num(j, "base_samples_per_s", p->base);
        num(j, "predicted_samples_per_s", p->predicted);
        num(j, "predicted_low", p->low);
        num(j, "predicted_high", p->high);
        num(j, "measured_samples_per_s", p->measured);
        num(j, "measured_low", p->measured_low);
        num(j, "measured_high", p->measured_high);
        num(j, "prediction_error", p->error);
        whole(j, "rounds", p->rounds);
        num(j, "ballast_cpus", p->ballast_cpus);
        str(j, "recording", p->recording);
        str(j, "sentence", p->sentence);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

static void put_findings(struct pp_json *j, const struct pp_report *r)
{
    pp_json_key(j, "findings");
    pp_json_array(j);
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct pp_report_finding *f = &r->findings[i];
        pp_json_object(j);
        str(j, "kind", f->kind);
        str(j, "state", f->state_name);
        str(j, "sentence", f->sentence);
        str(j, "next_step", f->next_step);
        pp_json_key(j, "numbers");
        pp_json_object(j);
        for (size_t k = 0; k < f->numbers; k++)
            num(j, f->number[k].name, f->number[k].value);
        pp_json_object_end(j);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

int pp_render_json(const struct pp_report *r, FILE *out)
{
    struct pp_json j;
    pp_json_begin(&j, out, 2);
    pp_json_object(&j);
    put_totals(&j, r);
    put_verdict(&j, r);
    put_findings(&j, r);
    put_proofs(&j, r);
    put_phases(&j, r);
    put_workers(&j, r);
    put_queues(&j, r);
    put_errors(&j, r);
    put_losses(&j, r);
    put_gpu(&j, r);
    put_pairs(&j, "environment", r->environment, r->n_environment);
    put_pairs(&j, "config", r->config, r->n_config);
    put_notes(&j, r);
    put_pictures(&j, r);
    pp_json_object_end(&j);
    return pp_json_end(&j);
}
