/* Orders, repeats and skips by what the samplers of a PyTorch job gave, where its samples were recorded as
 * sums; and workers of an iterable data set that give the same samples. */
#include "tests/support/findings.h"
#include "probe/base/rng.h"
#include "probe/base/sample_list.h"
#include "report/findings/visits.h"

enum { EPOCHS = 4, BATCHES = 10, BATCH = 8, SAMPLES = BATCHES * BATCH };

struct job {
    const char *sampler;
    int evaluates, same_order, in_order, repeats, skips, cut; /* cut: the last epoch ends early */
    const char *says;                                         /* order, repeats, skips: as in test_visits.c */
};

static const struct job *job;

static size_t list_of(uint32_t epoch, uint8_t *out, uint64_t *samples)
{
    uint64_t order[SAMPLES], last = 0;
    struct pp_rng r = pp_rng_key(job->same_order ? 0 : epoch, 1, 2, 3);
    for (uint64_t i = 0; i < SAMPLES; i++)
        order[i] = i;
    for (uint64_t i = SAMPLES - 1; i > 0 && !job->in_order; i--) {
        uint64_t k = pp_rng_below(&r, i + 1), held = order[i];
        order[i] = order[k];
        order[k] = held;
    }
    uint8_t *at = out;
    size_t batches = job->cut && epoch == EPOCHS - 1 ? 3 : BATCHES - (size_t)(job->skips && epoch == 2);
    for (size_t b = 0; b < batches; b++) {
        at = pp_sample_list_put_batch(at, BATCH);
        for (size_t i = 0; i < BATCH; i++)
            at = pp_sample_list_put(at, order[job->repeats && b && !i ? 0 : b * BATCH + i], &last);
    }
    *samples = batches * BATCH;
    return (size_t)(at - out);
}

static pp_status each_order(void *ctx, const struct pp_order_row *only, pp_order_fn *fn, void *fn_ctx,
                            struct pp_err *err)
{
    static uint8_t list[SAMPLES * 2 * PP_SAMPLE_LIST_NUMBER];
    for (uint32_t e = 0; e < EPOCHS; e++) {
        struct pp_order_row row = {.pid = 9, .loader = 1, .epoch = e, .first_batch = e * BATCHES};
        size_t n = list_of(e, list, &row.samples);
        row.batches = (uint32_t)(row.samples / BATCH);
        row.ended = row.batches == BATCHES || (job->skips && e == 2);
        if (only && only->epoch == e)
            row.list = list, row.list_bytes = n;
        if (!only || only->epoch == e)
            fn(fn_ctx, &row);
    }
    fn(fn_ctx,
       &(struct pp_order_row){.pid = 9, .loader = 0, .batches = 3, .samples = 3}); /* another loader */
    return PP_OK;
}

/* The trainer alone is known, batch by batch. */
static struct fake_run *trainer_of(int epochs)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "t");
    uint64_t t = FAKE_T0;
    for (int e = 0; e < epochs; e++)
        for (int b = 0; b < (job && job->cut && e == epochs - 1 ? 3 : BATCHES); b++, t += 10 * FAKE_MS)
            for (int k = 0; k < 2; k++) {
                struct pp_span *s = fake_span(f, trainer, k ? PP_PHASE_STEP : PP_PHASE_DATA_WAIT,
                                              t + (uint64_t)k * FAKE_MS, k ? 9 * FAKE_MS : FAKE_MS);
                s->batch = (uint32_t)(e * BATCHES + b), s->epoch = (uint16_t)e;
                s->flags |= k && job && !job->evaluates ? PP_SPAN_TRAINED : 0;
            }
    return f;
}

static void visits_of(struct fake_run *f, struct pp_source *source, struct pp_visits *out)
{
    struct pp_timeline tl;
    struct pp_err err;
    assert_int_equal(pp_timeline_build(source, &tl, &err), PP_OK);
    struct pp_visits_pass *p = pp_visits_begin(source, &tl);
    for (uint32_t t = 0; t < f->n_threads; t++)
        assert_int_equal(pp_visits_chunk(p, t, f->span[t], f->n_spans[t]), 0);
    pp_visits_end(p, 1, out); /* spans may be missing: the lists are not */
    pp_timeline_free(&tl);
}

static void test_what_samplers_gave_is_judged(void **state)
{
    static const struct job jobs[] = {
        {"torch.utils.data.sampler.RandomSampler", .says = "NNN"},
        {"torch.utils.data.sampler.RandomSampler", .cut = 1, .says = "NNN"},
        {"torch.utils.data.distributed.DistributedSampler", .same_order = 1, .says = "FNN"},
        {"torch.utils.data.distributed.DistributedSampler", .same_order = 1, .evaluates = 1, .says = "MNN"},
        {"torch.utils.data.sampler.SequentialSampler", .in_order = 1, .says = "NNN"},
        {"torch.utils.data.sampler.SequentialSampler", .in_order = 1, .evaluates = 1, .says = "NNN"},
        {"torch.utils.data.sampler.SequentialSampler", .same_order = 1,
         .says = "MNN"}, /* an own batch sampler */
        {"job.ByLength", .same_order = 1, .says = "MNN"},
        {"job.ByClass", .repeats = 1, .says = "NMM"},
        {"torch.utils.data.distributed.DistributedSampler", .repeats = 1, .says = "NFN"},
        {"torch.utils.data.distributed.DistributedSampler", .skips = 1, .says = "NNF"},
        {"job.Growing", .skips = 1, .says = "NNM"},
    };
    for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
        job = &jobs[i];
        struct fake_run *f = trainer_of(EPOCHS);
        struct pp_source source = fake_source(f);
        struct pp_visits v;
        fake_text(f, "config", "dataloader", "9.1");
        fake_text(f, "config", "sampler", job->sampler);
        source.each_order = each_order;
        visits_of(f, &source, &v);
        const char got[] = {v.order_unknown ? 'M'
                            : v.repeated    ? 'F'
                                            : 'N',
                            v.repeats_unknown ? 'M'
                            : v.repeats > 0   ? 'F'
                                              : 'N',
                            v.skips_unknown ? 'M'
                            : v.skips > 0   ? 'F'
                                            : 'N',
                            '\0'};
        /* A sample in the place of another leaves that one out. */
        if (strcmp(got, job->says) != 0 && !(job->repeats && !strncmp(got, job->says, 2)))
            fail_msg("row %zu: %s, not %s", i, got, job->says);
        fake_free(f);
    }
}

/* ---- iterable data sets ---- */

static const char *name_of(void *ctx, uint16_t id)
{
    return id == 3 ? "sample_print" : "another";
}

static void test_workers_that_give_the_same_are_named(void **state)
{
    static const struct {
        uint64_t apart, kinds; /* of the second worker's samples; kinds of sample */
        int prints;
        double workers, epochs;
    } rows[] = {{0, 100, 16, 2, 2}, {1000, 100, 16, 0, 0}, {0, 100, 7, 0, 0}, {0, 1, 16, 0, 0}};
    job = NULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = trainer_of(2);
        struct pp_source source = fake_source(f);
        struct pp_visits v;
        uint32_t w[2] = {fake_thread(f, PP_LANE_WORKER, "w0"), fake_thread(f, PP_LANE_WORKER, "w1")};
        for (int e = 0; e < 2; e++)
            for (int n = 0; n < rows[i].prints; n++)
                for (uint32_t k = 0; k < 2; k++) {
                    uint64_t t = FAKE_T0 + (uint64_t)(e * 100 + n) * FAKE_MS;
                    struct pp_span *s = fake_span(f, w[k], PP_PHASE_TRANSFORM, t, 1000);
                    s->batch = (uint32_t)(e * BATCHES) + k, s->epoch = (uint16_t)e;
                    s = fake_span(f, w[k], PP_PHASE_COUNTER, t + 1000, 0);
                    s->batch = PP_NO_BATCH;
                    s->name = 3;
                    s->bytes = 1 + (uint64_t)n % rows[i].kinds + k * rows[i].apart;
                }
        source.name = name_of;
        visits_of(f, &source, &v);
        if (v.alike_workers != rows[i].workers || v.alike_epochs != rows[i].epochs)
            fail_msg("row %zu: %.0f workers, %.0f epochs", i, v.alike_workers, v.alike_epochs);
        fake_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_samplers_gave_is_judged),
        cmocka_unit_test(test_workers_that_give_the_same_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
