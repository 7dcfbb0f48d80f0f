#include "report/build/slow.h"

#include "probe/base/text.h"
#include "probe/base/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_TIMES 2.0    /* the median */
#define LEAST_SLOW_NS 1e6 /* a sample of microseconds holds no batch up */

enum { MOST = PP_REPORT_SLOW_SAMPLES, IN_SENTENCE = 3 };

static double median_time(const struct pp_costs *c)
{
    float *v = malloc((c->n + 1) * sizeof(*v));
    double median = NAN;
    for (size_t i = 0; v && i < c->n; i++)
        v[i] = (float)pp_cost_occupancy(&c->samples[i]);
    if (v && c->n) {
        qsort(v, c->n, sizeof(*v), pp_by_float);
        median = v[(c->n - 1) / 2];
    }
    free(v);
    return median;
}

/* Places in c->samples of different samples, the slowest first. A sample without a number is one by itself.
 */
struct slowest {
    size_t at[MOST];
    size_t n;
};

static void keep(struct slowest *s, const struct pp_costs *c, size_t i)
{
    const struct pp_cost_sample *x = &c->samples[i];
    size_t to = 0;
    while (to < s->n && (x->sample == PP_NO_SAMPLE || c->samples[s->at[to]].sample != x->sample))
        to++;
    if (to < s->n && pp_cost_occupancy(x) <= pp_cost_occupancy(&c->samples[s->at[to]]))
        return;
    if (to == MOST && pp_cost_occupancy(x) <= pp_cost_occupancy(&c->samples[s->at[MOST - 1]]))
        return;
    to = to < MOST ? to : MOST - 1;
    s->n = to == s->n ? to + 1 : s->n;
    for (; to > 0 && pp_cost_occupancy(&c->samples[s->at[to - 1]]) < pp_cost_occupancy(x); to--)
        s->at[to] = s->at[to - 1];
    s->at[to] = i;
}

/* ---- names ---- */

struct naming {
    struct pp_arena *arena;
    const char *judged; /* "4711.0": PID and number of the loader; NULL: the recording has one */
    uint64_t sample;
    uint32_t batch, place; /* of a sample without a number: its place in the batch */
    const char *found;
};

/* "4711.0.3" has "SAMPLE BATCH PLACE NAME" (collectors/attach/loaders.c). */
static void on_name(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct naming *g = ctx;
    unsigned long long sample;
    unsigned batch, place;
    int at = 0;
    size_t n = g->judged ? strlen(g->judged) : 0;
    if (!value || (n && (strncmp(key, g->judged, n) != 0 || key[n] != '.')) ||
        sscanf(value, "%llu %u %u %n", &sample, &batch, &place, &at) != 3 || !value[at])
        return;
    if (sample == g->sample && (sample != PP_NO_SAMPLE || (batch == g->batch && place == g->place)))
        g->found = pp_arena_copy(g->arena, value + at);
}

static const char *name_of(const struct pp_source *source, const struct pp_costs *c, size_t i,
                           struct pp_arena *arena)
{
    const struct pp_cost_sample *x = &c->samples[i];
    const char *judged = source->meta(source->ctx, "config", "dataloader");
    struct naming g = {.arena = arena,
                       .judged = pp_arena_copy(arena, judged),
                       .sample = x->sample,
                       .batch = x->batch};
    for (size_t k = i; k > 0 && c->samples[k - 1].batch == x->batch; k--)
        g.place++;
    if (source->each_meta(source->ctx, "slow_sample", on_name, &g, NULL) != PP_OK)
        return NULL;
    return g.found;
}

/* ---- rows ---- */

static const char *worker_of(const struct pp_report *r, uint32_t thread)
{
    for (size_t i = 0; i < r->n_workers; i++)
        if (r->workers[i].thread == thread)
            return r->workers[i].name;
    return NULL;
}

static void add_row(const struct pp_source *source, const struct pp_costs *c, size_t i, double median,
                    struct pp_arena *arena, struct pp_report *r)
{
    const struct pp_cost_sample *x = &c->samples[i];
    int numbered = x->sample != PP_NO_SAMPLE;
    struct pp_report_slow_sample *to = pp_arena_push(arena, (void **)&r->slow_samples, &r->n_slow_samples,
                                                     sizeof(*to));
    if (!to)
        return;
    *to = (struct pp_report_slow_sample){
        .name = name_of(source, c, i, arena),
        .sample = numbered ? (double)x->sample : NAN,
        .epoch = x->epoch,
        .batch = x->batch == PP_NO_BATCH ? NAN : x->batch,
        .worker = worker_of(r, x->worker),
        .total_ns = pp_cost_occupancy(x),
        .read_ns = x->read_blocked + x->read_cpu + x->retry_blocked,
        .decode_ns = x->decode_cpu + x->decode_blocked,
        .transform_ns = x->transform_cpu + x->transform_blocked,
        .times_median = pp_cost_occupancy(x) / fmax(median, 1),
        .visits = numbered ? 0 : 1,
        .slow_visits = numbered ? 0 : 1,
    };
    for (size_t k = 0; numbered && k < c->n; k++)
        if (c->samples[k].sample == x->sample) {
            to->visits++;
            to->slow_visits += pp_cost_occupancy(&c->samples[k]) >= to->total_ns / 2;
        }
}

void pp_slow_samples_list(const struct pp_source *source, const struct pp_costs *c, struct pp_arena *arena,
                          struct pp_report *r)
{
    struct slowest s = {.n = 0};
    double median = median_time(c), least = fmax(SLOW_TIMES * median, LEAST_SLOW_NS);
    for (size_t i = 0; i < c->n; i++)
        if (pp_cost_occupancy(&c->samples[i]) >= least)
            keep(&s, c, i);
    for (size_t i = 0; i < s.n; i++)
        add_row(source, c, s.at[i], median, arena, r);
}

const char *pp_slow_samples_worst(const struct pp_report *r, struct pp_arena *arena)
{
    char text[600] = "", time[40];
    int n = 0;
    for (size_t i = 0; i < r->n_slow_samples && n < IN_SENTENCE; i++) {
        const struct pp_report_slow_sample *s = &r->slow_samples[i];
        if (!s->name)
            continue;
        size_t length = strlen(s->name), from = length > 80 ? length - 77 : 0;
        pp_text_add(text, sizeof(text), "%s%s%s (%s", n++ ? ", " : "", from ? "..." : "", s->name + from,
                    pp_text_duration(time, sizeof(time), s->total_ns));
        if (s->visits > 1)
            pp_text_add(text, sizeof(text), ", slow %.0f of %.0f times", s->slow_visits, s->visits);
        pp_text_add(text, sizeof(text), ")");
    }
    return n ? pp_arena_copy(arena, text) : NULL;
}
