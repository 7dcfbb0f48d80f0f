/* Which two batches are followed: see report/pictures/series.h. */
#include "report/pictures/series.h"

/* The batch the trainer is working on, for choosing which to follow. */
struct current {
    struct pp_series_target t;
    int open, warmup, boundary;
};

struct pass {
    struct current current;
    struct pp_series_target typical, worst;
    uint64_t median_ns;
    int any_batch, have_target;
};

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static void consider(struct pass *p)
{
    struct current *c = &p->current;
    if (!c->open || c->warmup || c->boundary)
        return;
    if (!p->have_target || distance(c->t.wait_ns, p->median_ns) < distance(p->typical.wait_ns, p->median_ns))
        p->typical = c->t;
    if (!p->have_target || c->t.wait_ns > p->worst.wait_ns)
        p->worst = c->t;
    p->have_target = 1;
}

static void follow_trainer(struct pass *p, const struct pp_span *s, uint64_t end)
{
    struct current *c = &p->current;
    if (!c->open || s->batch != c->t.batch) {
        int first = !p->any_batch, new_epoch = first || s->epoch != c->t.epoch;
        consider(p);
        *c = (struct current){.t = {.batch = s->batch,
                                    .epoch = s->epoch,
                                    .wait_start_ns = s->start_ns,
                                    .wait_end_ns = s->start_ns},
                              .open = 1,
                              .warmup = first,
                              .boundary = new_epoch};
        p->any_batch = 1;
    }
    c->warmup |= (s->flags & PP_SPAN_WARMUP) != 0;
    c->t.end_ns = end;
    if (s->phase == PP_PHASE_DATA_WAIT) {
        c->t.wait_ns += s->dur_ns;
        c->t.wait_end_ns = end;
    } else if (s->phase == PP_PHASE_EPOCH_BOUNDARY) {
        c->boundary = 1;
    } else {
        *(s->phase == PP_PHASE_STEP ? &c->t.step_ns
                                    : &c->t.sync_ns) += s->dur_ns; /* of the device and of other ranks */
    }
}

static int each_chunk(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct pass *p = ctx;
    for (size_t i = 0; i < n; i++) {
        const struct pp_span *s = &spans[i];
        int in_batch = s->phase == PP_PHASE_DATA_WAIT || s->phase == PP_PHASE_EPOCH_BOUNDARY ||
                       s->phase == PP_PHASE_STEP || s->phase == PP_PHASE_DEVICE_SYNC ||
                       s->phase == PP_PHASE_COLLECTIVE;
        if (in_batch && s->batch != PP_NO_BATCH && !(s->flags & PP_SPAN_UNFINISHED))
            follow_trainer(p, s, s->start_ns + s->dur_ns);
    }
    return 0;
}

/* No chunk that begins earlier has a span of the batch. */
static uint64_t since(const struct pp_series_begun begun[PP_SERIES_SLICES], uint32_t batch)
{
    size_t i = 0;
    while (i < PP_SERIES_SLICES - 1 && (batch < begun[i].least || batch > begun[i].most))
        i++;
    return begun[i].first_ns;
}

static void put_targets(struct pass *p, struct pp_series_targets *out)
{
    consider(p);
    out->n = 0;
    if (!p->have_target)
        return;
    out->target[out->n] = p->typical;
    out->target[out->n++].which = "typical";
    if (p->worst.batch != p->typical.batch) {
        out->target[out->n] = p->worst;
        out->target[out->n++].which = "worst";
    }
    for (size_t i = 0; i < out->n; i++)
        out->target[i].since_ns = since(out->begun, out->target[i].batch);
}

pp_status pp_series_choose(const struct pp_source *source, const struct pp_timeline *timeline,
                           const struct pp_tally *tally, struct pp_series_targets *targets,
                           struct pp_err *err)
{
    const struct pp_tally_phase *wait = tally->phase[PP_LANE_TRAINER][PP_PHASE_DATA_WAIT];
    const struct pp_wanted of_trainer = {.columns = PP_COLUMNS_TIMES | PP_COLUMN_BATCH | PP_COLUMN_EPOCH |
                                                    PP_COLUMN_FLAGS,
                                         .thread = &timeline->trainer};
    struct pass p = {.median_ns = wait ? pp_hist_quantile(&wait->hist, 0.5) : 0};
    targets->n = 0;
    if (!timeline->has_trainer)
        return PP_OK;
    pp_status status = source->each_chunk(source->ctx, &of_trainer, each_chunk, &p, NULL, err);
    if (status == PP_OK)
        put_targets(&p, targets);
    return status;
}
