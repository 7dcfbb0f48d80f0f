/* CSV in long form, one number or text per row: section,item,field,value. docs/REPORT.md describes it; fields
 * and values are those of the JSON document. Quoting is RFC 4180's. A text that a spreadsheet would take for
 * a formula gets an apostrophe before it: file names are not ours. */
#include "report/render/render.h"

#include "probe/base/json.h"
#include "report/gpu/gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct csv {
    FILE *out;
    const char *section, *item;
    char made[80]; /* an item put together */
};

static void put_quoted(FILE *out, const char *text)
{
    if (!text)
        return;
    int formula = strchr("=+-@\t\r", text[0]) != NULL && text[0];
    fputs(formula ? "\"'" : "\"", out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void put_field(const struct csv *c, const char *field)
{
    fprintf(c->out, "%s,", c->section);
    put_quoted(c->out, c->item);
    fprintf(c->out, ",%s,", field);
}

/* What is not known is an empty value. */
static void num(const struct csv *c, const char *field, double value)
{
    struct pp_json j;
    put_field(c, field);
    pp_json_begin(&j, c->out, 0);
    if (isfinite(value))
        pp_json_num(&j, value);
    fputs("\r\n", c->out);
}

static void whole(const struct csv *c, const char *field, uint64_t value)
{
    put_field(c, field);
    fprintf(c->out, "%llu\r\n", (unsigned long long)value);
}

static void text(const struct csv *c, const char *field, const char *value)
{
    put_field(c, field);
    put_quoted(c->out, value);
    fputs("\r\n", c->out);
}

static void put_run(struct csv *c, const struct pp_report *r)
{
    c->section = "run";
    c->item = "";
    text(c, "schema", "pipeprobe.report/1");
    text(c, "file", r->path);
    text(c, "outcome", r->outcome);
    num(c, "samples_per_s", r->samples_per_s);
    num(c, "batches_per_s", r->batches_per_s);
    num(c, "bytes_per_s", r->bytes_per_s);
    num(c, "data_wait_share", r->data_wait_share);
    num(c, "collective_share", r->collective_share);
    num(c, "step_mean_ns", r->step_mean_ns);
    num(c, "cache_hit_share", r->cache_hit_share);
    num(c, "duration_s", r->duration_s);
    num(c, "startup_s", r->startup_s);
    num(c, "first_batch_s", r->first_batch_s);
    whole(c, "samples", r->samples);
    whole(c, "batches", r->batches);
    whole(c, "epochs", r->epochs);
    whole(c, "error_count", r->errors);
    whole(c, "retry_count", r->retries);
    whole(c, "span_count", r->spans);
    c->section = "window";
    num(c, "duration_s", r->window_s);
    num(c, "boundary_s", r->boundary_s);
    whole(c, "samples", r->window_samples);
    whole(c, "batches", r->window_batches);
}

static void put_verdict(struct csv *c, const struct pp_report *r)
{
    const struct pp_report_verdict *v = &r->verdict;
    c->section = "verdict";
    c->item = "";
    text(c, "l0", v->l0);
    text(c, "l1", v->l1);
    text(c, "l2", v->l2);
    text(c, "level", v->level);
    num(c, "confidence", v->confidence);
    text(c, "sentence", v->sentence);
    text(c, "reason", v->reason);
    text(c, "next_step", v->next_step);
    num(c, "headroom_samples_per_s", r->headroom_samples_per_s);
    num(c, "headroom_gain", r->headroom_gain);
    num(c, "replay_error", v->replay_error);
    text(c, "why_no_fixes", v->why_no_fixes);
    c->section = "fixes";
    c->item = c->made;
    for (size_t i = 0; i < v->n_fixes; i++) {
        const struct pp_report_fix *f = &v->fixes[i];
        snprintf(c->made, sizeof(c->made), "%s=%s", f->knob, f->to);
        num(c, "gain", f->gain);
        num(c, "low", f->low);
        num(c, "high", f->high);
        num(c, "samples_per_s", f->samples_per_s);
        text(c, "text", f->text);
    }
    c->section = "ruled_out";
    c->item = "";
    for (size_t i = 0; i < v->n_ruled_out; i++)
        text(c, "text", v->ruled_out[i]);
    c->section = "evidence";
    for (size_t i = 0; i < v->evidences; i++) {
        c->item = v->evidence[i].name;
        text(c, "value", v->evidence[i].value);
        text(c, "threshold", v->evidence[i].threshold);
        num(c, "supports", v->evidence[i].supports);
    }
}

static void put_phases(struct csv *c, const struct pp_report *r)
{
    c->section = "phases";
    c->item = c->made;
    for (size_t i = 0; i < r->n_phases; i++) {
        const struct pp_report_phase *p = &r->phases[i];
        const struct pp_phase_info *info = pp_phase_info(p->phase);
        snprintf(c->made, sizeof(c->made), "%s/%s", pp_lane_name(p->lane), info ? info->name : "?");
        whole(c, "count", p->count);
        whole(c, "total_ns", p->total_ns);
        num(c, "mean_ns", p->mean_ns);
        whole(c, "p50_ns", p->p50_ns);
        whole(c, "p95_ns", p->p95_ns);
        whole(c, "p99_ns", p->p99_ns);
        whole(c, "max_ns", p->max_ns);
        whole(c, "bytes", p->bytes);
        num(c, "share", p->share);
        num(c, "cpu_share", p->cpu_share);
        num(c, "run_delay_share", p->run_delay_share);
        num(c, "blocked_share", p->blocked_share);
    }
}

static void put_workers(struct csv *c, const struct pp_report *r)
{
    c->section = "workers";
    for (size_t i = 0; i < r->n_workers; i++) {
        const struct pp_report_worker *w = &r->workers[i];
        c->item = w->name;
        whole(c, "samples", w->samples);
        num(c, "samples_per_s", w->samples_per_s);
        whole(c, "errors", w->errors);
        whole(c, "retries", w->retries);
        whole(c, "bytes", w->bytes);
        num(c, "busy_share", w->busy_share);
        num(c, "wait_share", w->wait_share);
        num(c, "cpu_share", w->cpu_share);
        num(c, "run_delay_share", w->run_delay_share);
    }
}

static void put_queues(struct csv *c, const struct pp_report *r)
{
    c->section = "queues";
    for (size_t i = 0; i < r->n_queues; i++) {
        const struct pp_report_queue *q = &r->queues[i];
        c->item = q->name;
        whole(c, "capacity", q->capacity);
        whole(c, "puts", q->puts);
        whole(c, "gets", q->gets);
        whole(c, "put_wait_ns", q->put_wait_ns);
        whole(c, "get_wait_ns", q->get_wait_ns);
        num(c, "mean_depth", q->mean_depth);
        num(c, "share_empty", q->share_empty);
        num(c, "share_full", q->share_full);
    }
}

static void put_proofs(struct csv *c, const struct pp_report *r)
{
    c->section = "proof";
    c->item = c->made;
    for (size_t i = 0; i < r->n_proofs; i++) {
        const struct pp_report_proof *p = &r->proofs[i];
        snprintf(c->made, sizeof(c->made), "%s/%s%s%s", p->kind, p->change, p->value[0] ? "=" : "", p->value);
        num(c, "base_samples_per_s", p->base);
        num(c, "predicted_samples_per_s", p->predicted);
        num(c, "predicted_low", p->low);
        num(c, "predicted_high", p->high);
        num(c, "measured_samples_per_s", p->measured);
        num(c, "measured_low", p->measured_low);
        num(c, "measured_high", p->measured_high);
        num(c, "prediction_error", p->error);
        whole(c, "rounds", p->rounds);
        num(c, "ballast_cpus", p->ballast_cpus);
        text(c, "recording", p->recording);
    }
}

static void put_findings(struct csv *c, const struct pp_report *r)
{
    c->section = "findings";
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct pp_report_finding *f = &r->findings[i];
        c->item = f->kind;
        text(c, "state", f->state_name);
        text(c, "sentence", f->sentence);
        text(c, "next_step", f->next_step);
        for (size_t k = 0; k < f->numbers; k++)
            num(c, f->number[k].name, f->number[k].value);
    }
}

static void put_rest(struct csv *c, const struct pp_report *r)
{
    c->section = "errors";
    c->item = c->made;
    for (size_t i = 0; i < r->n_error_kinds; i++) {
        const struct pp_report_error_kind *e = &r->error_kinds[i];
        snprintf(c->made, sizeof(c->made), "%s/%s", e->kind, e->action);
        whole(c, "count", e->count);
        text(c, "example_path", e->example_path);
        text(c, "example_reason", e->example_reason);
    }
    c->section = "losses";
    for (size_t i = 0; i < r->n_losses; i++) {
        c->item = r->losses[i].what;
        whole(c, "count", r->losses[i].count);
        text(c, "why", r->losses[i].why);
    }
    c->section = "overhead";
    c->item = "";
    num(c, "cpu_s", r->overhead_cpu_s);
    num(c, "share", r->overhead_share);
}

static void put_gpu(struct csv *c, const struct pp_report_gpu *g)
{
    struct pp_gpu_item item[PP_GPU_ITEMS];
    c->section = g ? "gpu" : "run";
    c->item = "";
    if (!g) {
        text(c, "gpu", NULL);
        return;
    }
    size_t n = pp_gpu_items(g, item);
    text(c, "name", g->name);
    text(c, "activity", g->activity);
    text(c, "not_measured", g->not_measured);
    text(c, "nvml_not_measured", g->counters_missing);
    for (size_t i = 0; i < n; i++) {
        c->item = item[i].part == PP_GPU_IDLE_PART ? "idle" : "";
        num(c, item[i].key, item[i].value);
    }
}

static void put_slices(struct csv *c, const struct pp_report *r)
{
    c->section = "slices";
    c->item = c->made;
    for (size_t i = 0; i < r->n_slices; i++) {
        const struct pp_report_slice *s = &r->slices[i];
        snprintf(c->made, sizeof(c->made), "%zu", i);
        num(c, "start_s", s->start_s);
        num(c, "end_s", s->end_s);
        num(c, "wait_share", s->wait_share);
        num(c, "sync_share", s->sync_share);
        num(c, "step_share", s->step_share);
        num(c, "apart_share", s->apart_share);
        num(c, "h2d_share", s->h2d_share);
        num(c, "ready_batches", s->ready_batches);
        num(c, "device_batches", s->device_batches);
        num(c, "samples_per_s", s->samples_per_s);
        whole(c, "errors", s->errors);
    }
}

static void put_pairs(struct csv *c, const char *section, const struct pp_report_pair *pairs, size_t n)
{
    c->section = section;
    for (size_t i = 0; i < n; i++) {
        c->item = pairs[i].key;
        if (pairs[i].numeric && pairs[i].value)
            num(c, "value", strtod(pairs[i].value, NULL));
        else
            text(c, "value", pairs[i].value);
    }
}

int pp_render_csv(const struct pp_report *r, FILE *out)
{
    struct csv c = {.out = out};
    fputs("section,item,field,value\r\n", out);
    put_run(&c, r);
    put_verdict(&c, r);
    put_findings(&c, r);
    put_proofs(&c, r);
    put_phases(&c, r);
    put_workers(&c, r);
    put_queues(&c, r);
    put_rest(&c, r);
    put_gpu(&c, r->gpu);
    put_slices(&c, r);
    put_pairs(&c, "environment", r->environment, r->n_environment);
    put_pairs(&c, "config", r->config, r->n_config);
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
