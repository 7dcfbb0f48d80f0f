/* Which samples came in which epoch: exact while the data set is small, an estimate with a known error
 * beyond, in memory that does not grow. */
#include "tests/support/findings.h"
#include "probe/base/rng.h"
#include "report/findings/watch.h"

static void test_watch_is_exact_below_its_limit(void **state)
{
    struct pp_watch w = {0};
    for (uint64_t i = 0; i < 5000; i++)
        assert_int_equal(pp_watch_see(&w, i * 7919, 3), PP_WATCH_FIRST);
    for (uint64_t i = 0; i < 5000; i++) {
        assert_int_equal(pp_watch_see(&w, i * 7919, 3), PP_WATCH_AGAIN);
        assert_int_equal(pp_watch_see(&w, i * 7919, 5), PP_WATCH_FIRST);
        assert_int_equal(pp_watch_see(&w, i * 7919, 4), PP_WATCH_FIRST); /* later: another thread's chunk */
        assert_int_equal(pp_watch_see(&w, i * 7919, 4), PP_WATCH_AGAIN);
        assert_int_equal(pp_watch_see(&w, i * 7919, 3), PP_WATCH_AGAIN);
    }
    assert_int_equal(w.n, 5000);
    assert_true(pp_watch_scale(&w) == 1);
    assert_int_equal(pp_watch_see(&w, 0, 60), PP_WATCH_FIRST);
    assert_int_equal(pp_watch_see(&w, 0, 5), PP_WATCH_NOT_WATCHED); /* 55 epochs ago */
    pp_watch_free(&w);
}

/* Three million samples, of which every hundredth comes again in epoch 0 and every fiftieth is missing from
 * epoch 1. */
static void test_watch_estimates_beyond_it(void **state)
{
    enum { N = 3000000 };
    struct pp_watch w = {0};
    double again = 0, in[2] = {0};
    for (uint64_t i = 0; i < N; i++)
        pp_watch_see(&w, i, 0);
    for (uint64_t i = 0; i < N; i += 100)
        again += pp_watch_see(&w, i, 0) == PP_WATCH_AGAIN ? pp_watch_scale(&w) : 0;
    for (uint64_t i = 0; i < N; i++)
        if (i % 50)
            pp_watch_see(&w, i, 1);
    for (size_t i = 0; i < w.room; i++)
        for (uint16_t e = 0; e < 2; e++)
            in[e] += w.entries[i].used && pp_watch_was_seen(&w.entries[i], e) ? pp_watch_scale(&w) : 0;
    assert_true(w.n <= PP_WATCH_MOST && w.room <= 2 * PP_WATCH_MOST);
    double scale = pp_watch_scale(&w);
    assert_true(scale >= 4);
    assert_true(fabs(again - N / 100) < 5 * sqrt(N / 100 * scale)); /* five standard errors */
    assert_true(fabs(in[0] - N) < 5 * sqrt(N * scale));
    assert_true(fabs(in[0] - in[1] - N / 50) <
                5 * sqrt(N / 50 * scale)); /* the same samples are watched in both, so their difference is as
                                              exact as it is small */
    pp_watch_free(&w);
}

/* ---- in a run ---- */

struct epochs {
    int epochs, batches, batch;
    int same_order, leave_out, repeat, with_number, read_twice, merged, drop_last, with_replacement,
        opens; /* all are transformed, and the first is read besides: the file is opened for it */
    const char *dataset_samples; /* NULL: not recorded */
};

static struct fake_run *run_of(const struct epochs *p)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "t"),
             workers[2] = {fake_thread(f, PP_LANE_WORKER, "w0"), fake_thread(f, PP_LANE_WORKER, "w1")};
    int n = p->batches * p->batch, number = 0;
    uint64_t *order = calloc((size_t)n, sizeof(*order)), t = FAKE_T0;
    for (int e = 0; e < p->epochs; e++) {
        struct pp_rng r = pp_rng_key(p->same_order ? 0 : (uint64_t)e, 1, 2, 3);
        for (int i = 0; i < n; i++)
            order[i] = (uint64_t)i;
        for (int i = n - 1; i > 0 && !p->with_number; i--) {
            int j = (int)pp_rng_below(&r, (uint64_t)i + 1);
            uint64_t held = order[i];
            order[i] = order[j];
            order[j] = held;
        }
        for (int b = 0; b < p->batches - (e == 1 ? p->leave_out : 0); b++, number++, t += 10 * FAKE_MS) {
            for (int k = 0; k < 2; k++) {
                struct pp_span *s = fake_span(f, trainer, k ? PP_PHASE_STEP : PP_PHASE_DATA_WAIT,
                                              t + (uint64_t)k * FAKE_MS, k ? 9 * FAKE_MS : FAKE_MS);
                s->batch = (uint32_t)number, s->epoch = (uint16_t)e;
            }
            for (int i = 0; i < p->batch; i++)
                for (int twice = 0; twice <= (p->read_twice || (p->opens && number + i == 0)); twice++) {
                    struct pp_span *s = fake_span(f, workers[(b * p->batch + i) % 2], PP_PHASE_READ,
                                                  t + (uint64_t)i * 1000, 400);
                    s->batch = (uint32_t)number, s->epoch = (uint16_t)e, s->sample = order[b * p->batch + i];
                    if (p->merged)
                        s->flags |= PP_SPAN_COUNT;
                    if (p->opens)
                        s->phase = number + i + twice ? PP_PHASE_TRANSFORM : PP_PHASE_READ;
                }
            for (int i = 0; i < p->repeat; i++) {
                struct pp_span *s = fake_span(f, workers[i % 2], PP_PHASE_READ,
                                              t + 500000 + (uint64_t)i * 1000, 400);
                s->batch = (uint32_t)number, s->epoch = (uint16_t)e,
                s->sample = order[(b * p->batch + i + 2) % n];
            }
        }
    }
    free(order);
    if (p->dataset_samples)
        fake_num(f, "config", "dataset_samples", p->dataset_samples, "samples");
    if (p->drop_last)
        fake_num(f, "config", "batch_size", "8", "samples"), fake_num(f, "config", "drop_last", "1", NULL);
    if (p->with_replacement)
        fake_num(f, "config", "with_replacement", "1", NULL);
    return f;
}

/* Letters: Found, Not there, not Measured; of order, repeats and skips. */
static void expect(const struct epochs *p, const char *states)
{
    static const char *const kinds[] = {"epoch-order", "samples-repeated", "samples-skipped"};
    struct fake_run *f = run_of(p);
    struct pp_report *r = report_of(f);
    char got[4] = "";
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < r->n_findings; i++)
            if (strcmp(r->findings[i].kind, kinds[k]) == 0)
                got[k] = "FNM"[r->findings[i].state];
    assert_string_equal(got, states);
    report_done(r, f);
}

static void test_what_is_found(void **state)
{
    expect(&(struct epochs){.epochs = 3, .batches = 20, .batch = 8}, "NNN");
    expect(&(struct epochs){.epochs = 3, .batches = 20, .batch = 8, .same_order = 1}, "FNN");
    expect(&(struct epochs){.epochs = 3, .batches = 20, .batch = 8, .with_number = 1}, "NNN");
    expect(&(struct epochs){.epochs = 3, .batches = 20, .batch = 1, .with_number = 1}, "NNN");
    expect(&(struct epochs){.epochs = 3, .batches = 20, .batch = 1, .same_order = 1}, "FNN");
    expect(&(struct epochs){.epochs = 3, .batches = 2, .batch = 32, .same_order = 1}, "FNN");
    expect(&(struct epochs){.epochs = 3, .batches = 1, .batch = 32, .same_order = 1},
           "MNN"); /* one batch has one order */
    expect(&(struct epochs){.epochs = 3, .batches = 3, .batch = 2, .same_order = 1},
           "NNN"); /* 6 samples: chance does that */
    expect(&(struct epochs){.epochs = 3, .batches = 20, .batch = 8, .leave_out = 2}, "NNF");
    expect(&(struct epochs){.epochs = 3, .batches = 20, .batch = 8, .repeat = 1}, "NFN");
    expect(&(struct epochs){.epochs = 3, .batches = 20, .batch = 8, .read_twice = 1},
           "NNN"); /* a sample read in two parts */
    expect(&(struct epochs){.epochs = 3, .batches = 20, .batch = 8, .opens = 1, .dataset_samples = "160"},
           "NNN"); /* what was transformed was there */
    expect(&(struct epochs){.epochs = 3, .batches = 20, .batch = 8, .merged = 1}, "MMM");
    expect(&(struct epochs){.epochs = 1, .batches = 20, .batch = 8}, "MNM");
    expect(&(struct epochs){.epochs = 2, .batches = 20, .batch = 8},
           "NNM"); /* one whole epoch, of what length? */
    expect(&(struct epochs){.epochs = 2, .batches = 20, .batch = 8, .dataset_samples = "160"}, "NNN");
    expect(&(struct epochs){.epochs = 2, .batches = 20, .batch = 8, .dataset_samples = "161"}, "NNF");
    expect(&(struct epochs){.epochs = 2, .batches = 20, .batch = 8, .dataset_samples = "161", .drop_last = 1},
           "NNN");
    expect(&(struct epochs){.epochs = 2, .batches = 20, .batch = 8, .dataset_samples = "168", .drop_last = 1},
           "NNF"); /* a whole batch is missing */
    expect(&(struct epochs){.epochs = 3, .batches = 20, .batch = 8, .repeat = 1, .with_replacement = 1},
           "NMM");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_watch_is_exact_below_its_limit),
        cmocka_unit_test(test_watch_estimates_beyond_it),
        cmocka_unit_test(test_what_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
