#include "report/compare/render.h"

#include "probe/base/json_fields.h"

/* Keys carry their units; what is not known is null. docs/compare.schema.json describes the document. */

static void put_side(struct pp_json *j, const char *key, const char *label, size_t n)
{
    pp_json_key(j, key);
    pp_json_object(j);
    str(j, "label", label);
    whole(j, "runs", n);
    pp_json_object_end(j);
}

static void put_settings(struct pp_json *j, const struct pp_compare *c)
{
    pp_json_key(j, "settings");
    pp_json_object(j);
    num(j, "alpha", c->opts.alpha);
    num(j, "confidence", c->opts.confidence);
    num(j, "look_share", c->opts.look_share);
    boolean(j, "paired", c->opts.paired);
    whole(j, "resamples", c->opts.resamples);
    whole(j, "seed", c->opts.seed);
    boolean(j, "refuse_below_noise", c->opts.refuse_below_noise);
    pp_json_object_end(j);
}

static void put_values(struct pp_json *j, const char *key, const double *v, size_t n)
{
    pp_json_key(j, key);
    pp_json_array(j);
    for (size_t i = 0; i < n; i++)
        pp_json_num(j, v[i]);
    pp_json_array_end(j);
}

static void put_outliers(struct pp_json *j, const char *key, const struct pp_outliers *o)
{
    pp_json_key(j, key);
    pp_json_object(j);
    whole(j, "mild", o->mild);
    whole(j, "severe", o->severe);
    pp_json_object_end(j);
}

static void put_metric(struct pp_json *j, const struct pp_compare *c, const struct pp_compare_metric *m)
{
    const struct pp_cmp_metric *row = pp_cmp_metric(m->id);
    pp_json_object(j);
    str(j, "metric", row->key);
    str(j, "title", row->title);
    str(j, "unit", pp_cmp_unit_name(row->unit));
    str(j, "answer", pp_answer_name(m->answer));
    boolean(j, "gated", m->gated);
    boolean(j, "improved", m->improved);
    boolean(j, "exact", m->exact);
    str(j, "reason", m->reason[0] ? m->reason : NULL);
    num(j, "base_median", m->base_median);
    num(j, "head_median", m->head_median);
    num(j, "change_share", m->change);
    num(j, "times_worse", m->ratio);
    num(j, "times_worse_low", m->low);
    num(j, "times_worse_high", m->high);
    num(j, "threshold_share", m->threshold);
    num(j, "noise_floor_share", m->noise_floor);
    num(j, "mann_whitney_u", m->u);
    num(j, "p", m->p);
    num(j, "p_all", m->p_all);
    put_values(j, "base", m->base, c->n_base);
    put_values(j, "head", m->head, c->n_head);
    put_values(j, "pair_log_times_worse", m->pair, m->pair ? c->n_base : 0);
    put_outliers(j, "base_outliers", &m->base_outliers);
    put_outliers(j, "head_outliers", &m->head_outliers);
    pp_json_object_end(j);
}

static void put_verdict(struct pp_json *j, const struct pp_compare *c)
{
    const struct pp_compare_verdict *v = &c->verdict;
    pp_json_key(j, "verdict_change");
    pp_json_object(j);
    str(j, "answer", pp_answer_name(v->answer));
    boolean(j, "gated", c->opts.gate_verdict);
    boolean(j, "changed", v->changed);
    str(j, "base", v->base);
    str(j, "head", v->head);
    whole(j, "base_runs", v->base_runs);
    whole(j, "head_runs", v->head_runs);
    num(j, "p", v->p);
    num(j, "p_all", v->p_all);
    str(j, "sentence", v->sentence);
    pp_json_object_end(j);
}

static void put_attribution(struct pp_json *j, const struct pp_compare *c)
{
    pp_json_key(j, "attribution");
    pp_json_object(j);
    str(j, "sentence", c->attribution[0] ? c->attribution : NULL);
    num(j, "base_s_per_batch", c->base_batch_s);
    num(j, "head_s_per_batch", c->head_batch_s);
    pp_json_key(j, "parts");
    pp_json_array(j);
    for (size_t i = 0; i < c->n_parts; i++) {
        const struct pp_compare_part *p = &c->part[i];
        pp_json_object(j);
        str(j, "lane", pp_lane_name(p->lane));
        str(j, "phase", pp_phase_info(p->phase)->name);
        str(j, "part", p->part == PP_PART_UNSPLIT ? NULL : pp_part_name(p->part));
        num(j, "base_s_per_batch", p->base_s);
        num(j, "head_s_per_batch", p->head_s);
        num(j, "difference_s_per_batch", p->head_s - p->base_s);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
    pp_json_object_end(j);
}

static void put_differences(struct pp_json *j, const char *key, const struct pp_difference *d, size_t n)
{
    pp_json_key(j, key);
    pp_json_array(j);
    for (size_t i = 0; i < n; i++) {
        pp_json_object(j);
        str(j, "field", d[i].name);
        str(j, "base", d[i].base);
        str(j, "head", d[i].head);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
}

int pp_compare_json(const struct pp_compare *c, FILE *out)
{
    struct pp_json j;
    pp_json_begin(&j, out, 2);
    pp_json_object(&j);
    str(&j, "schema", "pipeprobe.compare/1");
    str(&j, "answer", pp_answer_name(c->answer));
    str(&j, "sentence", c->sentence);
    whole(&j, "regressed", c->regressed);
    whole(&j, "inconclusive", c->inconclusive);
    put_side(&j, "base", c->base_label, c->n_base);
    put_side(&j, "head", c->head_label, c->n_head);
    whole(&j, "runs_needed", c->runs_needed);
    put_settings(&j, c);
    pp_json_key(&j, "metrics");
    pp_json_array(&j);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        put_metric(&j, c, &c->metric[i]);
    pp_json_array_end(&j);
    put_verdict(&j, c);
    put_attribution(&j, c);
    put_differences(&j, "changed_options", c->change, c->n_changes);
    put_differences(&j, "environment_allowed", c->allowed, c->n_allowed);
    pp_json_object_end(&j);
    return pp_json_end(&j);
}
