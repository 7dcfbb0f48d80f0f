#include "report/measure/timeline.h"

#include "probe/base/err.h"

enum { MOST_WARMUP = 1 << 20 };

/* Of the trainer; where that is not told, of the recording. NAN: it still goes on. */
static double when(const struct pp_source *source, const char *trainer, const char *recording)
{
    double ns = pp_source_number(source, "result", trainer, NAN);
    return isnan(ns) ? pp_source_number(source, "run", recording, NAN) : ns;
}

/* ---- a loader that was changed ---- */

enum { CHANGES_MAX = 1000 };

struct stretch {
    uint64_t from_ns;
    unsigned workers, prefetch;
};

struct stretches {
    const char *loader;
    struct stretch at[CHANGES_MAX + 1], decided; /* decided: what the loader has by the last decision */
    size_t n;
};

/* A row of exec --tune. What is "trial" or "kept" has the candidate from then on, all else what it was. */
static void take_change(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    struct stretches *all = ctx;
    char loader[48], why[16];
    unsigned long long at;
    unsigned workers, prefetch, old_workers, old_prefetch;
    if (!value || all->n > CHANGES_MAX ||
        sscanf(value, "at_ns=%llu loader=%47s batch=%*u num_workers=%u prefetch_factor=%u was=%u/%u why=%15s",
               &at, loader, &workers, &prefetch, &old_workers, &old_prefetch, why) != 7 ||
        strcmp(loader, all->loader) != 0 || (all->n && at < all->at[all->n - 1].from_ns))
        return;
    all->decided = strcmp(why, "kept") == 0 ? (struct stretch){at, workers, prefetch}
                                            : (struct stretch){at, old_workers, old_prefetch};
    if (!all->n)
        all->at[all->n++] = (struct stretch){0, old_workers, old_prefetch};
    int changed = strcmp(why, "trial") == 0 || strcmp(why, "kept") == 0;
    struct stretch now = {at, changed ? workers : old_workers, changed ? prefetch : old_prefetch};
    const struct stretch *last = &all->at[all->n - 1];
    if (now.workers != last->workers || now.prefetch != last->prefetch)
        all->at[all->n++] = now;
}

static void judge_stretch(const struct pp_source *source, double start, double end, struct pp_part *part)
{
    struct stretches all = {.loader = source->meta(source->ctx, "config", "dataloader")};
    uint64_t began = start > 0 && start < 0x1p63 ? (uint64_t)start : 0,
             ended = end > 0 && end < 0x1p63 ? (uint64_t)end : UINT64_MAX, longest = 0;
    if (!all.loader ||
        source->each_meta(source->ctx, "loader_change", take_change, &all, &(struct pp_err){0}))
        return;
    for (size_t i = 0; i < all.n; i++) {
        const struct stretch *s = &all.at[i], *last = &all.at[all.n - 1];
        uint64_t from = s->from_ns > began ? s->from_ns : began, to = s == last ? ended : s[1].from_ns;
        if (all.n < 2 || s->workers != all.decided.workers || s->prefetch != all.decided.prefetch ||
            to <= from || to - from < longest)
            continue;
        longest = to - from;
        part->which = PP_PART_SETTING;
        part->from_ns = s->from_ns;
        part->to_ns = s == last ? UINT64_MAX : to;
        part->warmup = i && s->workers < MOST_WARMUP ? s->workers : 0; /* made under the setting before */
    }
}

/* ---- batches that come before training ---- */

/* The first step in which backward was called. */
static int find_trained(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    uint64_t *at_ns = ctx;
    for (size_t i = 0; i < n && !*at_ns; i++)
        if (spans[i].phase == PP_PHASE_STEP && (spans[i].flags & PP_SPAN_TRAINED))
            *at_ns = spans[i].start_ns;
    return *at_ns > 0;
}

/* ---- batches that were read ahead ---- */

enum { FEW_BATCHES = 10, FEW_WAITS = 3 };
#define LEAST_WAIT 0.05

struct emptied {
    int behind; /* an epoch's end */
    uint32_t epoch;
    uint64_t before, since, waits; /* batches; of those since, the ones that were waited for */
    uint64_t at_ns, end_ns, step_ns, wait_ns;
};

/* The first wait that is none of an epoch's first batch, and what follows it. */
static int find_emptied(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct emptied *e = ctx;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        e->step_ns = s->phase == PP_PHASE_STEP ? s->dur_ns : e->step_ns;
        e->behind |= s->phase == PP_PHASE_EPOCH_BOUNDARY;
        if (s->phase != PP_PHASE_DATA_WAIT)
            continue;
        int begins = !(e->before + e->since) || e->behind || s->epoch != e->epoch;
        int waited = !begins && (double)s->dur_ns >= LEAST_WAIT * ((double)s->dur_ns + (double)e->step_ns);
        e->behind = 0;
        e->epoch = s->epoch;
        e->at_ns = !e->at_ns && waited ? s->start_ns : e->at_ns;
        e->before += !e->at_ns;
        e->since += e->at_ns > 0;
        e->waits += waited;
        e->wait_ns += e->at_ns && !begins ? s->dur_ns : 0;
        e->end_ns = s->start_ns + s->dur_ns;
    }
    return 0;
}

struct pp_part pp_part_judged(const struct pp_source *source)
{
    struct pp_part part = {.which = PP_PART_WHOLE, .to_ns = UINT64_MAX};
    double lost = pp_source_number(source, "decode", "lost_mono_ns", NAN),
           gave_up = pp_source_number(source, "decode", "gave_up_mono_ns", NAN),
           start = when(source, "trainer_start_mono_ns", "started_mono_ns"),
           end = when(source, "trainer_end_mono_ns", "ended_mono_ns"),
           warmup = pp_source_number(source, "config", "warmup", 0), changed = isnan(lost) ? gave_up : lost;
    if (!(changed > 0 && changed < 0x1p63) || changed <= start || changed >= end) {
        judge_stretch(source, start, end, &part);
        static const struct pp_wanted wanted = {.columns = PP_COLUMNS_TIMES | PP_COLUMN_FLAGS |
                                                           PP_COLUMN_EPOCH};
        uint64_t at_ns = 0, bad = 0;
        if (part.which == PP_PART_WHOLE && pp_source_is(source, "source", "pytorch"))
            (void)source->each_chunk(source->ctx, &wanted, find_trained, &at_ns, &bad, &(struct pp_err){0});
        /* Where less than a quarter is left behind it, that is not the run. */
        if (at_ns && !((double)at_ns < start || end - (double)at_ns < (end - start) / 4)) {
            part.which = PP_PART_TRAINED;
            part.from_ns = at_ns;
        }
        /* Other loaders than PyTorch's read hundreds of batches ahead while the first step compiles. How fast
         * they are shows from the first wait on, where there is more than one, and a quarter of the run is
         * left.
         */
        struct emptied e = {0};
        if (part.which == PP_PART_WHOLE && source->meta(source->ctx, "config", "loader") &&
            pp_source_is(source, "source", "nvtx"))
            (void)source->each_chunk(source->ctx, &wanted, find_emptied, &e, &bad, &(struct pp_err){0});
        double left_ns = (double)e.end_ns - (double)e.at_ns, run_ns = (double)e.end_ns - start;
        if (e.at_ns && e.before >= FEW_BATCHES && e.since >= FEW_BATCHES && e.waits >= FEW_WAITS &&
            left_ns >= 1e9 && !(left_ns < run_ns / 4) && (double)e.wait_ns >= LEAST_WAIT * left_ns) {
            part.which = PP_PART_EMPTIED;
            part.from_ns = e.at_ns;
        }
        return part;
    }
    if (changed - start >= end - changed) { /* false where one of them is not known */
        part.which = PP_PART_BEFORE;
        part.to_ns = (uint64_t)changed;
    } else {
        part.which = PP_PART_AFTER;
        part.from_ns = (uint64_t)changed;
        part.warmup = warmup > 0 && warmup < MOST_WARMUP ? (uint64_t)warmup : 0;
    }
    return part;
}
