#include "report/compare/parts.h"

#include "probe/base/err.h"
#include "probe/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORTH_SAYING 0.01 /* of the time per batch: smaller differences get no sentence */
#define PART_WORTH 0.05   /* of the difference: smaller parts are not listed */
#define PARTS_NAMED 3

static double median_of(const struct pp_runs *runs,
                        double (*value)(const struct pp_run *, const struct pp_compare_part *),
                        const struct pp_compare_part *part)
{
    double *v = malloc(runs->n * sizeof(*v)), median;
    size_t n = 0;
    for (size_t i = 0; v && i < runs->n; i++) {
        double x = value(&runs->run[i], part);
        if (!isnan(x))
            v[n++] = x;
    }
    median = v ? pp_stats_median(v, n) : NAN;
    free(v);
    return median;
}

static double batch_of(const struct pp_run *r, const struct pp_compare_part *part)
{
    (void)part;
    return r->batch_s;
}

static double part_of(const struct pp_run *r, const struct pp_compare_part *part)
{
    return r->part_s[part->lane][part->phase][part->part];
}

static double difference(const struct pp_compare_part *p)
{
    return p->head_s - p->base_s;
}

static int larger_first(const void *a, const void *b)
{
    double x = fabs(difference(a)), y = fabs(difference(b));
    return (x < y) - (x > y);
}

static pp_status collect(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head,
                         struct pp_err *err)
{
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
                p.base_s = median_of(base, part_of, &p);
                p.head_s = median_of(head, part_of, &p);
                if (fabs(difference(&p)) > least)
                    c->part[c->n_parts++] = p;
            }
    qsort(c->part, c->n_parts, sizeof(*c->part), larger_first);
    return PP_OK;
}

/* When the trainer's data wait is what moved, the cause is among the work of the lanes that feed it; else on
 * the trainer's own lane. */
static int data_wait_moved(const struct pp_compare *c, double moved)
{
    double wait = 0;
    for (size_t i = 0; i < c->n_parts; i++)
        if (c->part[i].lane == PP_LANE_TRAINER && c->part[i].phase == PP_PHASE_DATA_WAIT)
            wait += difference(&c->part[i]);
    return fabs(wait) >= fabs(moved) / 2 && wait * moved > 0;
}

static int is_cause(const struct pp_compare_part *p, int feeding)
{
    const struct pp_phase_info *info = pp_phase_info(p->phase);
    if (!feeding)
        return p->lane == PP_LANE_TRAINER && p->phase != PP_PHASE_DATA_WAIT;
    return p->lane != PP_LANE_TRAINER && info && (info->kind == PP_KIND_WORK || p->phase == PP_PHASE_RETRY);
}

static void describe(struct pp_compare *c)
{
    double moved = c->head_batch_s - c->base_batch_s;
    char base[32], head[32], by[32];
    int feeding = data_wait_moved(c, moved), named = 0;
    size_t at = 0, size = sizeof(c->attribution);
    if (!(fabs(moved) >= WORTH_SAYING * c->base_batch_s))
        return;
    at += (size_t)snprintf(c->attribution, size, "%c%s per batch (%s -> %s)", moved < 0 ? '-' : '+',
                           pp_text_duration(by, sizeof(by), fabs(moved) * 1e9),
                           pp_text_duration(base, sizeof(base), c->base_batch_s * 1e9),
                           pp_text_duration(head, sizeof(head), c->head_batch_s * 1e9));
    for (size_t i = 0; i < c->n_parts && named < PARTS_NAMED && at < size; i++) {
        const struct pp_compare_part *p = &c->part[i];
        const char *part = pp_part_name(p->part);
        if (!is_cause(p, feeding) || difference(p) * moved <= 0)
            continue;
        at += (size_t)snprintf(c->attribution + at, size - at, "%s %s%s%s %c%s", named++ ? "," : ", of which",
                               pp_phase_info(p->phase)->name, part[0] ? " " : "", part, moved < 0 ? '-' : '+',
                               pp_text_duration(by, sizeof(by), fabs(difference(p)) * 1e9));
    }
}

pp_status pp_compare_attribute(struct pp_compare *c, const struct pp_runs *base, const struct pp_runs *head,
                               struct pp_err *err)
{
    c->base_batch_s = median_of(base, batch_of, NULL);
    c->head_batch_s = median_of(head, batch_of, NULL);
    if (isnan(c->base_batch_s) || isnan(c->head_batch_s))
        return PP_OK;
    pp_status st = collect(c, base, head, err);
    if (st == PP_OK)
        describe(c);
    return st;
}
