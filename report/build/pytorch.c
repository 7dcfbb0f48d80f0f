#include "report/build/parts.h"

#include "probe/base/text.h"
#include "report/source/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* CPU time of a PyTorch DataLoader with PIL over that of our loader, on the same work. Of what is not listed
 * it was not measured. */
static const struct ratio {
    const char *transform; /* begins with */
    double low, high;
    const char *source;
} ratios[] = {
    {"rrc", 3.0, 3.6,
     "medians of five benchmarks on two machines, JPEG, RandomResizedCrop: pipeprobe help performance"},
    {"", 2.3, 3.6,
     "the same without region decoding (1.32 times), which only random crops gain from: pipeprobe help performance"},
};

static const char *config(const struct pp_report *r, const char *key)
{
    const struct pp_report_pair *p = pp_rows_find(r->config, r->n_config, key);
    return p && p->value ? p->value : "";
}

/* NULL: images of another kind, or no images. */
static const struct ratio *ratio_of(const struct pp_report *r)
{
    const char *format = config(r, "format"), *transform = config(r, "transform");
    if (!format[0] || strcmp(format, "tokens") == 0 || strstr(config(r, "dataset_description"), "PNG"))
        return NULL;
    size_t i = 0;
    while (strncmp(transform, ratios[i].transform, strlen(ratios[i].transform)) != 0)
        i++;
    return &ratios[i];
}

static pp_status replay_with(const struct pp_costs *c, double ratio, double *rate, double *wait)
{
    struct pp_knobs k = pp_knobs_none();
    k.decode = k.transform = k.collate = ratio;
    return pp_whatif_rate(c, &k, rate, wait, NULL);
}

/* "400 to 560", or one number where both read the same. */
static const char *range(struct pp_arena *arena, const char *low, const char *high)
{
    return strcmp(low, high) == 0 ? pp_arena_copy(arena, low) : pp_arena_printf(arena, "%s to %s", low, high);
}

static void say_expected(struct pp_report_pytorch *p, const struct pp_costs *c, struct pp_arena *arena,
                         const struct pp_report *r)
{
    char low[32], high[32], step[32];
    const char *wait = "", *rate = range(arena, pp_text_predicted(low, sizeof(low), p->samples_per_s_low),
                                         pp_text_predicted(high, sizeof(high), p->samples_per_s_high));
    if (r->has_step && !isnan(r->step_mean_ns)) {
        snprintf(low, sizeof(low), "%.0f", 100 * p->data_wait_share_low);
        snprintf(high, sizeof(high), "%.0f", 100 * p->data_wait_share_high);
        wait = pp_arena_printf(arena, ", with %s %% data wait at %s per step", range(arena, low, high),
                               pp_text_duration(step, sizeof(step), r->step_mean_ns));
    }
    p->sentence = pp_arena_printf(
        arena,
        "A PyTorch DataLoader with %d worker%s would make about %s samples/s of this data%s. Measure it: pipeprobe run --loader pytorch, or your own job: pipeprobe exec -- python train.py. (With PIL, on JPEG, pipeprobe's loader was measured %.1f to %.1f times as fast.)",
        c->workers, c->workers == 1 ? "" : "s", rate, wait, p->ratio_low, p->ratio_high);
}

void pp_pytorch_expect(const struct pp_costs *c, struct pp_arena *arena, struct pp_report *r)
{
    struct pp_report_pytorch *p = NULL;
    const struct ratio *of = ratio_of(r);
    size_t n = 0;
    if (r->subject_kind != PP_SUBJECT_OWN_LOADER || !(p = pp_arena_push(arena, (void **)&p, &n, sizeof(*p))))
        return;
    *p = (struct pp_report_pytorch){.ratio_low = NAN,
                                    .ratio_high = NAN,
                                    .samples_per_s_low = NAN,
                                    .samples_per_s_high = NAN,
                                    .data_wait_share_low = NAN,
                                    .data_wait_share_high = NAN};
    int known = of && c &&
                replay_with(c, of->high, &p->samples_per_s_low, &p->data_wait_share_high) == PP_OK &&
                replay_with(c, of->low, &p->samples_per_s_high, &p->data_wait_share_low) == PP_OK;
    if (known) {
        p->ratio_low = of->low;
        p->ratio_high = of->high;
        p->source = of->source;
        p->samples_per_s_low = fmin(p->samples_per_s_low,
                                    p->samples_per_s_high); /* of a replay, not exactly monotone */
        if (!r->has_step)
            p->data_wait_share_low = p->data_wait_share_high = NAN;
        say_expected(p, c, arena, r);
    } else {
        p->sentence = pp_arena_printf(
            arena,
            "What a PyTorch DataLoader would do with this data is not known from this run (%s). Measure it: pipeprobe run --loader pytorch, or your own job: pipeprobe exec -- python train.py",
            !of ? "its speed beside pipeprobe's was measured for JPEG images only" : "it cannot be replayed");
    }
    r->pytorch = p;
    if (r->verdict.l0 && strcmp(r->verdict.l0, "not-input-bound") == 0 && !r->verdict.outside)
        r->verdict.next_step = pp_arena_printf(
            arena,
            "pipeprobe's own loader keeps up with this step, and no change to it gains more than about %.2g %%; a loader in Python may not. %s",
            100 * r->verdict.exposed_share, p->sentence);
}
