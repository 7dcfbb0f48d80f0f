#include "report/compare/compare.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/text.h"

const char *const pp_answer_names[] = {[PP_NOT_REGRESSED] = "not-regressed",
                                       [PP_REGRESSED] = "regressed",
                                       [PP_INCONCLUSIVE] = "inconclusive",
                                       [PP_NOT_MEASURED] = "not-measured",
                                       NULL};

void pp_compare_defaults(struct pp_compare_opts *o)
{
    *o = (struct pp_compare_opts){
        .alpha = 0.01, .confidence = 0.95, .resamples = 10000, .seed = 1, .look_share = 1, .gate_verdict = 1};
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        o->threshold[i] = pp_cmp_metrics[i].threshold;
        o->gated[i] = 1;
    }
}

/* ---- what may be compared ---- */

/* A run counts once: the same one again, in a copy or on the other side, only looks like more of them. */
static pp_status check_distinct(const struct pp_runs *a, const struct pp_runs *b, struct pp_err *err)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = a == b ? i + 1 : 0; k < b->n; k++)
            if (a->run[i].session[0] && strcmp(a->run[i].session, b->run[k].session) == 0)
                return pp_fail(err, PP_E_USAGE, "%s and %s are the same run%s; record another run",
                               a->run[i].path, b->run[k].path, a == b ? "" : ", on both sides");
    return PP_OK;
}

pp_status pp_compare_check_side(const struct pp_compare_side *side, struct pp_err *err)
{
    struct pp_difference d;
    if (side->runs->n == 0)
        return pp_fail(err, PP_E_EMPTY, "%s holds no runs", side->label);
    for (size_t i = 0; i < side->runs->n; i++) {
        const struct pp_run *r = &side->runs->run[i];
        double samples = r->metric[PP_CMP_SAMPLES_PER_S], batches = r->metric[PP_CMP_BATCHES],
               rate = isnan(samples) ? r->metric[PP_CMP_BATCHES_PER_S] : samples;
        if (strcmp(r->outcome, "finished") != 0)
            return pp_fail(err, PP_E_INCONCLUSIVE,
                           "%s cannot be used: the run is %s; only finished runs count", r->path,
                           r->outcome[0] ? r->outcome : "unfinished");
        if (isnan(rate) || rate <= 0 || !isfinite(rate) || batches == 0)
            return pp_fail(
                err, PP_E_INCONCLUSIVE,
                "%s cannot be used: no batch was measured in its steady state; record a longer run", r->path);
        for (int k = 0; k < PP_CMP_COUNT_OF_METRICS; k++)
            if (isinf(r->metric[k]) || r->metric[k] < 0)
                return pp_fail(err, PP_E_CORRUPT, "%s: %s is %g, which is not possible", r->path,
                               pp_cmp_metrics[k].title, r->metric[k]);
    }
    pp_status st = check_distinct(side->runs, side->runs, err);
    for (size_t i = 1; st == PP_OK && i < side->runs->n; i++) /* repetitions of each other */
        if (pp_config_changes(&side->runs->run[0], &side->runs->run[i], &d, 1))
            st = pp_fail(err, PP_E_INCONCLUSIVE,
                         "the runs of %s differ in configuration: %s is %s in %s and %s in %s", side->label,
                         d.name, d.base, d.base_path, d.head, d.head_path);
    return st;
}

pp_status pp_compare_check_environment(const struct pp_runs *base, const struct pp_runs *head,
                                       const struct pp_compare_opts *o, struct pp_err *err)
{
    struct pp_difference d[PP_COMPARE_DIFFERENCES];
    size_t n = pp_differences(base, head, o->allow, d, PP_COMPARE_DIFFERENCES);
    char more[160] = "";
    if (n == 0)
        return PP_OK;
    for (size_t i = 1, at = 0; i < n && at < sizeof(more) - 1; i++)
        at += (size_t)snprintf(more + at, sizeof(more) - at, "%s%s",
                               i > 1 ? ", " : "; also different: ", d[i].name);
    return pp_fail(err, PP_E_INCONCLUSIVE,
                   "not comparable: %s is '%.60s' in %s and '%.60s' in %s%s; --allow-env %s compares anyway",
                   d[0].name, d[0].base, d[0].base_path, d[0].head, d[0].head_path, more, d[0].name);
}

/* ---- where the difference in time per batch sits ---- */

#define WORTH_SAYING 0.01 /* of the time per batch: smaller differences get no sentence */
#define PART_WORTH 0.05   /* of the difference: smaller parts are not listed */
#define PARTS_NAMED 3

/* Over the runs that have it: seconds per batch of a part; of all of it where part is NULL. */
static double median_of(const struct pp_runs *runs, const struct pp_compare_part *part)
{
    double *v = malloc(runs->n * sizeof(*v)), median;
    size_t n = 0;
    for (size_t i = 0; v && i < runs->n; i++) {
        const struct pp_run *r = &runs->run[i];
        double x = part ? r->part_s[part->lane][part->phase][part->part] : r->batch_s;
        if (!isnan(x))
            v[n++] = x;
    }
    median = v ? pp_stats_median(v, n) : NAN;
    free(v);
    return median;
}

static double difference_of(const struct pp_compare_part *p)
{
    return p->head_s - p->base_s;
}

static int larger_first(const void *a, const void *b)
{
    return PP_COMPARE(fabs(difference_of(b)), fabs(difference_of(a)));
}

static pp_status attribute_difference(struct pp_compare *c, const struct pp_runs *base,
                                      const struct pp_runs *head, struct pp_err *err)
{
    c->base_batch_s = median_of(base, NULL);
    c->head_batch_s = median_of(head, NULL);
    if (isnan(c->base_batch_s) || isnan(c->head_batch_s))
        return PP_OK;
    double least = fabs(c->head_batch_s - c->base_batch_s) * PART_WORTH;
    c->part = malloc(sizeof(*c->part) * PP_LANE_COUNT * PP_PHASE_COUNT * PP_PART_COUNT);
    if (!c->part)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the attribution of time");
    for (int lane = 0; lane < PP_LANE_COUNT; lane++)
        for (int phase = 0; phase < PP_PHASE_COUNT; phase++)
            for (int part = 0; part < PP_PART_COUNT; part++) {
                struct pp_compare_part p = {.lane = (pp_lane)lane,
                                            .phase = (pp_phase)phase,
                                            .part = (enum pp_part)part};
                p.base_s = median_of(base, &p);
                p.head_s = median_of(head, &p);
                if (fabs(difference_of(&p)) > least)
                    c->part[c->n_parts++] = p;
            }
    qsort(c->part, c->n_parts, sizeof(*c->part), larger_first);
    double moved = c->head_batch_s - c->base_batch_s;
    char was[32], is[32], by[32];
    /* When the trainer's data wait is what moved, the cause is among the work of the lanes that feed it; else
     * on the trainer's own lane. */
    double wait = 0;
    for (size_t i = 0; i < c->n_parts; i++)
        if (c->part[i].lane == PP_LANE_TRAINER && c->part[i].phase == PP_PHASE_DATA_WAIT)
            wait += difference_of(&c->part[i]);
    int feeding = (fabs(wait) >= fabs(moved) / 2 && wait * moved > 0), named = 0;
    size_t at = 0, size = sizeof(c->attribution);
    if (!(fabs(moved) >= WORTH_SAYING * c->base_batch_s))
        return PP_OK;
    at += (size_t)snprintf(c->attribution, size, "%c%s per batch (%s -> %s)", moved < 0 ? '-' : '+',
                           pp_text_duration(by, sizeof(by), fabs(moved) * 1e9),
                           pp_text_duration(was, sizeof(was), c->base_batch_s * 1e9),
                           pp_text_duration(is, sizeof(is), c->head_batch_s * 1e9));
    for (size_t i = 0; i < c->n_parts && named < PARTS_NAMED && at < size; i++) {
        const struct pp_compare_part *p = &c->part[i];
        const char *part = pp_part_names[p->part];
        const struct pp_phase_info *info = pp_phase_info(p->phase);
        int is_cause = feeding ? p->lane != PP_LANE_TRAINER && info &&
                                     (info->kind == PP_KIND_WORK || p->phase == PP_PHASE_RETRY)
                               : p->lane == PP_LANE_TRAINER && p->phase != PP_PHASE_DATA_WAIT;
        if (!is_cause || difference_of(p) * moved <= 0)
            continue;
        at += (size_t)snprintf(c->attribution + at, size - at, "%s %s%s%s %c%s", named++ ? "," : ", of which",
                               pp_phase_info(p->phase)->name, part[0] ? " " : "", part, moved < 0 ? '-' : '+',
                               pp_text_duration(by, sizeof(by), fabs(difference_of(p)) * 1e9));
    }
    return PP_OK;
}

/* ---- where the time of a sample goes ---- */

static void set_spent(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head)
{
    const struct pp_runs *side[] = {base, head};
    double ns[2][PP_SPENT_KINDS] = {{0}};
    int by_sample = !isnan(base->run[0].metric[PP_CMP_SAMPLES_PER_S]);
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < side[s]->n; i++) {
            const struct pp_run *r = &side[s]->run[i];
            if (!r->has_spent || by_sample != !isnan(r->metric[PP_CMP_SAMPLES_PER_S]))
                return;
            for (int kind = 0; kind < PP_SPENT_KINDS; kind++)
                ns[s][kind] += r->spent_ns[kind] / (double)side[s]->n;
        }
    for (int kind = 0; kind < PP_SPENT_KINDS; kind++)
        if (ns[0][kind] != 0 || ns[1][kind] != 0)
            c->spent[c->n_spent++] = (struct pp_compare_spent){(enum pp_spent)kind, ns[0][kind], ns[1][kind]};
}

/* ---- building ---- */

pp_status pp_compare_build(const struct pp_compare_side *base, const struct pp_compare_side *head,
                           const struct pp_compare_opts *opts, struct pp_compare *out, struct pp_err *err)
{
    *out = (struct pp_compare){.base_label = base->label,
                               .head_label = head->label,
                               .n_base = base->runs->n,
                               .n_head = head->runs->n,
                               .opts = *opts,
                               .level = opts->alpha * opts->look_share,
                               .confidence = 1 - (1 - opts->confidence) * opts->look_share,
                               .base_batch_s = NAN,
                               .head_batch_s = NAN};
    if (!(opts->alpha > 0 && opts->alpha < 1) || !(opts->confidence > 0 && opts->confidence < 1) ||
        !(opts->look_share > 0 && opts->look_share <= 1))
        return pp_fail(
            err, PP_E_USAGE,
            "alpha (%g), confidence (%g) and the share of each interim analysis (%g) must be between 0 and 1",
            opts->alpha, opts->confidence, opts->look_share);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        if (!(opts->threshold[i] >= 0) || !isfinite(opts->threshold[i]))
            return pp_fail(err, PP_E_USAGE, "the threshold of %s, %g, is not a share of 0 or more",
                           pp_cmp_metrics[i].key, opts->threshold[i]);
    pp_status st = pp_compare_check_side(base, err);
    if (st == PP_OK)
        st = pp_compare_check_side(head, err);
    if (st == PP_OK && opts->paired && base->runs->n != head->runs->n)
        st = pp_fail(
            err, PP_E_USAGE,
            "--paired needs equally many runs on each side, but %s has %zu and %s has %zu; leave out --paired, or add the missing runs",
            base->label, base->runs->n, head->label, head->runs->n);
    if (st == PP_OK)
        st = pp_compare_check_environment(base->runs, head->runs, opts, err);
    if (st == PP_OK)
        st = check_distinct(base->runs, head->runs, err);
    if (st != PP_OK)
        return st;
    out->base_subject = base->runs->run[0].subject;
    out->head_subject = head->runs->run[0].subject;
    out->base_spread = base->runs->run[0].spread;
    out->head_spread = head->runs->run[0].spread;
    out->n_allowed = pp_differences(base->runs, head->runs, NULL, out->allowed, PP_COMPARE_DIFFERENCES);
    out->n_changes = pp_config_changes(&base->runs->run[0], &head->runs->run[0], out->change,
                                       PP_COMPARE_DIFFERENCES);
    st = pp_compare_judge(out, base->runs, head->runs, err);
    if (st == PP_OK)
        st = attribute_difference(out, base->runs, head->runs, err);
    if (st == PP_OK)
        set_spent(out, base->runs, head->runs);
    if (st != PP_OK)
        pp_compare_free(out);
    return st;
}

void pp_compare_free(struct pp_compare *c)
{
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        free(c->metric[i].base);
        free(c->metric[i].head);
        free(c->metric[i].pair);
        c->metric[i].base = c->metric[i].head = c->metric[i].pair = NULL;
    }
    free(c->verdict.pair);
    free(c->part);
    c->verdict.pair = NULL;
    c->part = NULL;
    c->n_parts = 0;
}

int pp_compare_more_runs_help(const struct pp_compare *c)
{
    int open = c->opts.gate_verdict && c->verdict.answer == PP_INCONCLUSIVE;
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        open |= c->metric[i].gated && c->metric[i].answer == PP_INCONCLUSIVE && !isnan(c->metric[i].p);
    return c->answer == PP_INCONCLUSIVE && open;
}

int pp_compare_exit_code(const struct pp_compare *c, int strict)
{
    if (c->answer == PP_REGRESSED)
        return 1;
    if (c->answer == PP_NOT_REGRESSED)
        return 0;
    return strict ? 1 : pp_status_exit_code(PP_E_INCONCLUSIVE);
}
