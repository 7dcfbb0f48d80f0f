#include "report/build/parts.h"

#include "probe/base/array.h"
#include "probe/base/text.h"

/* ---- the slowest samples ---- */

#define SLOW_TIMES 2.0    /* the median */
#define LEAST_SLOW_NS 1e6 /* a sample of microseconds holds no batch up */

enum { MOST = PP_REPORT_SLOW_SAMPLES, IN_SENTENCE = 3 };

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

/* ---- rows ---- */

static void add_row(const struct pp_source *source, const struct pp_costs *c, size_t i, double median,
                    struct pp_arena *arena, struct pp_report *r)
{
    const struct pp_cost_sample *x = &c->samples[i];
    int numbered = x->sample != PP_NO_SAMPLE;
    const char *worker = NULL;
    for (size_t k = 0; k < r->n_workers; k++)
        worker = r->workers[k].thread == x->worker ? r->workers[k].name : worker;
    struct pp_report_slow_sample *to = pp_arena_push(arena, (void **)&r->slow_samples, &r->n_slow_samples,
                                                     sizeof(*to));
    if (!to)
        return;
    struct naming g = {.arena = arena,
                       .judged = pp_arena_copy(arena, source->meta(source->ctx, "config", "dataloader")),
                       .sample = x->sample,
                       .batch = x->batch};
    for (size_t k = i; k > 0 && c->samples[k - 1].batch == x->batch; k--)
        g.place++;
    int told = source->each_meta(source->ctx, "slow_sample", on_name, &g, NULL) == PP_OK;
    *to = (struct pp_report_slow_sample){
        .name = told ? g.found : NULL,
        .sample = numbered ? (double)x->sample : NAN,
        .epoch = x->epoch,
        .batch = x->batch == PP_NO_BATCH ? NAN : x->batch,
        .worker = worker,
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
    /* Places in c->samples of different samples, slowest first. A sample without a number is one by itself.
     */
    size_t slow[MOST], n = 0;
    double median = NAN;
    float *v = malloc((c->n + 1) * sizeof(*v));
    for (size_t i = 0; v && i < c->n; i++)
        v[i] = (float)pp_cost_occupancy(&c->samples[i]);
    if (v && c->n) {
        qsort(v, c->n, sizeof(*v), pp_by_float);
        median = v[(c->n - 1) / 2];
    }
    free(v);
    double least = fmax(SLOW_TIMES * median, LEAST_SLOW_NS);
    for (size_t i = 0; i < c->n; i++) {
        const struct pp_cost_sample *x = &c->samples[i];
        double takes = pp_cost_occupancy(x);
        size_t to = 0;
        if (!(takes >= least))
            continue;
        while (to < n && (x->sample == PP_NO_SAMPLE || c->samples[slow[to]].sample != x->sample))
            to++;
        if ((to < n && takes <= pp_cost_occupancy(&c->samples[slow[to]])) ||
            (to == MOST && takes <= pp_cost_occupancy(&c->samples[slow[MOST - 1]])))
            continue;
        to = to < MOST ? to : MOST - 1;
        n = to == n ? to + 1 : n;
        for (; to > 0 && pp_cost_occupancy(&c->samples[slow[to - 1]]) < takes; to--)
            slow[to] = slow[to - 1];
        slow[to] = i;
    }
    for (size_t i = 0; i < n; i++)
        add_row(source, c, slow[i], median, arena, r);
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

/* ---- where the time of a sample goes ---- */

void pp_spent_list(const struct pp_timeline *tl, const struct pp_tally *tally, const double *wait_share,
                   struct pp_arena *arena, struct pp_report *r)
{
    static const unsigned char waited_for[PP_PHASE_COUNT] = {
        [PP_PHASE_READ] = 1 + PP_SPENT_READ,           [PP_PHASE_RETRY] = 1 + PP_SPENT_READ,
        [PP_PHASE_DECODE] = 1 + PP_SPENT_DECODE,       [PP_PHASE_GPU_DECODE] = 1 + PP_SPENT_DECODE,
        [PP_PHASE_TRANSFORM] = 1 + PP_SPENT_TRANSFORM, [PP_PHASE_COLLATE] = 1 + PP_SPENT_COLLATE,
        [PP_PHASE_PUT_WAIT] = 1 + PP_SPENT_HANDOVER,   [PP_PHASE_DISPATCH_WAIT] = 1 + PP_SPENT_IDLE,
        [PP_PHASE_SLOT_WAIT] = 1 + PP_SPENT_IDLE}; /* 0: PP_SPENT_WAIT */
    const struct pp_tally_phase *step = tally->phase[PP_LANE_TRAINER][PP_PHASE_STEP];
    double ns[PP_SPENT_KINDS] = {0}, window_ns = r->window_s * 1e9, told = 0,
           per = r->window_samples ? (double)r->window_samples : (double)r->window_batches,
           steps = (double)tl->step_ns + (double)tl->boundary_step_ns;
    if (!tl->has_steady_state || !r->has_step || !(window_ns > 0) || !(per > 0))
        return;
    steps = fmax(steps - (double)tl->gap_step_ns, 0);
    ns[PP_SPENT_CPU] = step ? fmin(step->inside.run_delay_ns, steps) : 0;
    ns[PP_SPENT_STEP] = steps - ns[PP_SPENT_CPU];
    ns[PP_SPENT_BETWEEN] = (double)tl->gap_ns;
    ns[PP_SPENT_DEVICE] = (double)tl->sync_ns;
    ns[PP_SPENT_RANKS] = (double)tl->collective_ns;
    ns[PP_SPENT_BOUNDARY] = (double)tl->boundary_ns;
    /* The trainer's wait, divided as its workers' time in it was. */
    double wait_ns = (double)tl->wait_ns;
    double left = 1;
    for (unsigned phase = 0; wait_share && phase < PP_PHASE_COUNT; phase++) {
        double part = fmin(fmax(wait_share[phase], 0), left);
        ns[waited_for[phase] ? waited_for[phase] - 1 : PP_SPENT_WAIT] += part * wait_ns;
        left -= part;
    }
    ns[PP_SPENT_WAIT] += left * wait_ns;
    for (int kind = 0; kind < PP_SPENT_OTHER; kind++)
        told += ns[kind];
    ns[PP_SPENT_OTHER] = window_ns - told; /* spans that overlap by a clock's grain make it negative */
    for (int kind = 0; kind < PP_SPENT_KINDS; kind++) {
        struct pp_report_spent *to = fabs(ns[kind]) >= 1
                                         ? pp_arena_push(arena, (void **)&r->spent, &r->n_spent, sizeof(*to))
                                         : NULL;
        if (to)
            *to = (struct pp_report_spent){(enum pp_spent)kind, ns[kind] / per, ns[kind] / window_ns};
    }
}

/* ---- what the GPU decoded ---- */

/* Kinds of images that a recording may tell of: in its keys, and as people write them. */
static const struct {
    const char *key, *name;
} samplings[] = {{"444", "4:4:4"}, {"422", "4:2:2"}, {"420", "4:2:0"},
                 {"440", "4:4:0"}, {"gray", "gray"}, {"other", "other"}};
enum { SAMPLINGS = sizeof(samplings) / sizeof(samplings[0]) };

static double number(const struct pp_source *s, const char *key)
{
    double v;
    return s->meta_num(s->ctx, "decode", key, &v) ? v : NAN;
}

static const char *text(const struct pp_source *s, struct pp_arena *arena, const char *key)
{
    const char *value = s->meta(s->ctx, "decode", key);
    return value && value[0] ? pp_arena_copy(arena, value) : NULL;
}

static double difference(const struct pp_source *s, const char *kind, const char *what)
{
    char key[48];
    snprintf(key, sizeof(key), "difference_%s_%s", kind, what);
    return number(s, key);
}

const struct pp_report_decode *pp_decode_read(const struct pp_source *source,
                                              const struct pp_timeline *timeline, struct pp_arena *arena)
{
    static const char *const parts[] = {
        [PP_PART_WHOLE] = NULL,   [PP_PART_SETTING] = NULL,    [PP_PART_TRAINED] = NULL,
        [PP_PART_EMPTIED] = NULL, [PP_PART_BEFORE] = "before", [PP_PART_AFTER] = "after"};
    if (!source->meta(source->ctx, "decode", "backend"))
        return NULL;
    struct pp_report_decode *d = pp_arena_alloc(arena, sizeof(*d));
    struct pp_report_difference *rows = pp_arena_alloc(arena, SAMPLINGS * sizeof(*rows));
    if (!d || !rows)
        return NULL;
    *d = (struct pp_report_decode){.library = text(source, arena, "library"),
                                   .backend = text(source, arena, "backend"),
                                   .engines = number(source, "engines"),
                                   .cores = number(source, "cores"),
                                   .images = number(source, "images"),
                                   .regions = number(source, "regions"),
                                   .too_large = number(source, "too_large"),
                                   .refused = number(source, "refused"),
                                   .passed_over = text(source, arena, "passed_over"),
                                   .gave_up = text(source, arena, "gave_up"),
                                   .lost = text(source, arena, "lost"),
                                   .judged_part = timeline->has_steady_state ? parts[timeline->part] : NULL,
                                   .difference_mean = number(source, "difference_mean"),
                                   .difference_max = number(source, "difference_max"),
                                   .differences = rows};
    for (int i = 0; i < SAMPLINGS; i++) {
        double images = difference(source, samplings[i].key, "images");
        if (images >= 1 && images < 1e15)
            d->differences[d->n_differences++] = (struct pp_report_difference){
                .sampling = samplings[i].name,
                .images = (uint64_t)images,
                .mean = difference(source, samplings[i].key, "mean"),
                .largest = difference(source, samplings[i].key, "max"),
            };
    }
    return d;
}
