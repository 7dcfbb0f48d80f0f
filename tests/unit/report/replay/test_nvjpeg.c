/* Decoding that leaves the CPU for a GPU: the replay's device stage against pipelines worked out by hand, the
 * limits of the knob decode=nvjpeg, its intervals and its refusals. */
#include "tests/support/made_costs.h"
#include "report/replay/whatif.h"
#include "report/replay/nvjpeg.h"

/* ---- the device stage ---- */

#define MS 1e6

/* Workers that are never late, batches of 8, a copy of 6 ms, a step of 10 ms. */
static const struct pp_replay_setup base = {.workers = 4,
                                            .prefetch = 2,
                                            .copy_buffers = 2,
                                            .in_order = 1,
                                            .batch_size = 8,
                                            .cpus = 8,
                                            .machine_cpus = 8,
                                            .copy_ns = 6 * MS,
                                            .step_ns = 10 * MS};

static double batch_ms(struct pp_replay_setup s, const struct pp_replay_sample *x, size_t n)
{
    struct pp_replay_result r;
    struct pp_err err = {0};
    if (pp_replay(&s, x, n, 400, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    return (double)s.batch_size * 1e3 / r.samples_per_s;
}

/* With B buffers on the device a batch takes the longest of its step, its copy, its decode, and all three
 * over B: behind its copy it waits for the decoder, and a buffer is free when its step is done. */
static void test_copy_and_decode_come_in_series(void **state)
{
    static const struct {
        int buffers;
        double per_s, floor_ms, ms;
    } rows[] = {
        {1, 1000, 0, 24},     /* 6 + 8 + 10, one after another */
        {2, 1000, 0, 12},     /* half of that */
        {3, 1000, 0, 10},     /* the step */
        {3, 500, 0, 16},      /* the decoder */
        {2, 1000, 20, 20},    /* its least time */
        {2, 1000, 7, 12},     /* which is not added to the other */
        {2, INFINITY, 0, 10}, /* as without a decoder */
        {2, 0, 0, 10},        /* without one */
        {2, 2, 0, 4000},      /* bound by it */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_replay_setup s = base;
        const struct pp_replay_sample x = {.on_device = rows[i].per_s > 0};
        s.copy_buffers = rows[i].buffers;
        s.decoder_per_s = rows[i].per_s;
        s.decoder_floor_ns = rows[i].floor_ms * MS;
        double ms = batch_ms(s, &x, 1);
        if (fabs(ms / rows[i].ms - 1) > 0.01)
            fail_msg("row %zu: %g ms a batch instead of %g", i, ms, rows[i].ms);
    }
    (void)state;
}

/* Two of eight samples are the CPU's: six are decoded, and a batch without any for the device passes at once,
 * in its turn. */
static void test_a_batch_may_be_mixed(void **state)
{
    struct pp_replay_setup s = base;
    struct pp_replay_sample x[16] = {{0}};
    s.copy_buffers = 3;
    s.decoder_per_s = 400;
    for (int i = 0; i < 16; i++)
        x[i].on_device = i % 4 != 0;
    assert_near(batch_ms(s, x, 16), 15, 0.15);
    for (int i = 0; i < 16; i++)
        x[i].on_device = i < 8; /* every other batch: 20 ms, and nothing */
    s.copy_ns = 1 * MS;
    s.copy_buffers = 4;
    assert_near(batch_ms(s, x, 16), 10, 0.1);
    s.step_ns = 1 * MS;
    assert_near(batch_ms(s, x, 16), 10, 0.1);
    (void)state;
}

/* Behind the step a device sync waits for the decode under way: 14 ms of copy and decode, in place of the 12
 * that two buffers leave without it. */
static void test_a_device_sync_waits_for_the_decode(void **state)
{
    struct pp_replay_setup s = base;
    const struct pp_replay_sample x = {.on_device = 1};
    s.decoder_per_s = 1000;
    s.sync = 1;
    assert_near(batch_ms(s, &x, 1), 14, 0.15);
    (void)state;
}

/* ---- the knob ---- */

/* Reads of no time; 8 ms of decoding and 2 ms of transforms a sample, by two workers: 200 samples/s, where
 * the trainer could take 1600. */
static struct pp_costs decoding(void)
{
    struct pp_costs c = made_costs_new();
    for (size_t i = 0; i < c.n; i++) {
        c.samples[i].read_blocked = 0;
        c.samples[i].decode_cpu = 8e6f;
        c.samples[i].transform_cpu = 2e6f;
    }
    c.samples_per_s = 200;
    return c;
}

static struct pp_prediction predict(const struct pp_costs *c, const char *one, const char *two,
                                    struct pp_knobs *k)
{
    struct pp_prediction p;
    struct pp_err err = {0};
    *k = pp_knobs_none();
    if (pp_knobs_set(k, c, one, &err) != PP_OK || (two && pp_knobs_set(k, c, two, &err) != PP_OK) ||
        pp_whatif(c, k, &p, &err) != PP_OK)
        fail_msg("%s: %s", one, err.text);
    assert_true(p.low <= p.samples_per_s && p.samples_per_s <= p.high);
    return p;
}

static double predicted(const struct pp_costs *c, const char *set)
{
    struct pp_knobs k;
    return predict(c, set, NULL, &k).samples_per_s;
}

static void test_an_infinite_rate_leaves_no_decoding(void **state)
{
    struct pp_costs c = decoding();
    struct pp_knobs k;
    double none = predict(&c, "decode=0", "transform=0", &k).samples_per_s;
    assert_near(none, 1600, 16);
    assert_near(predicted(&c, "decode=nvjpeg:1e11"), none, 1e-3 * none);
    assert_near(predict(&c, "decode=nvjpeg:1e11", "step=4", &k).samples_per_s, 400, 4);
    pp_costs_free(&c);
    (void)state;
}

/* 5 ms of step, 0.1 ms of copy, batches of 8. */
static void test_a_rate_is_the_bound(void **state)
{
    struct pp_costs c = decoding();
    double before = 0;
    assert_near(predicted(&c, "decode=nvjpeg:0.5"), 0.5, 0.01);
    assert_near(predicted(&c, "decode=nvjpeg:20"), 20, 0.2); /* slower than the CPU: a loss */
    assert_near(predicted(&c, "decode=nvjpeg:800"), 800, 8);
    assert_near(predicted(&c, "decode=nvjpeg:1e11:20"), 8 / 0.020, 4); /* at least 20 ms a batch */
    assert_near(predicted(&c, "decode=nvjpeg:1e11:1"), 1600, 16);
    for (double rate = 10; rate < 1e5; rate *= 1.7) {
        char set[64];
        snprintf(set, sizeof(set), "decode=nvjpeg:%.3f", rate);
        double now = predicted(&c, set);
        if (now < before * 0.999 || now > rate * 1.01)
            fail_msg("%s: %g samples/s, and %g with less", set, now, before);
        before = now;
    }
    pp_costs_free(&c);
    (void)state;
}

/* A stated rate at which the device hides behind the step asks for fewer workers, and is a bound of its own.
 */
static void test_an_estimate_names_the_decoder(void **state)
{
    struct pp_costs c = decoding();
    struct pp_knobs k = pp_knobs_none();
    struct pp_estimate e;
    struct pp_err err = {0};
    assert_int_equal(pp_knobs_set(&k, &c, "decode=nvjpeg:500", &err), PP_OK);
    assert_int_equal(pp_estimate(&c, &k, 5e6, &e, &err), PP_OK);
    assert_near(e.most_per_s, 500, 1);
    assert_string_equal(e.most_of, "the GPU's JPEG decoder");
    pp_costs_free(&c);
    (void)state;
}

/* Half of the images are progressive: they stay, with their transforms, at 10 ms of two workers each. */
static void test_what_the_engine_refuses_stays_on_the_cpu(void **state)
{
    struct pp_costs c = decoding();
    struct pp_knobs k;
    char text[PP_NVJPEG_TEXT];
    c.images.n = 1000, c.images.baseline = 500;
    assert_near(predict(&c, "decode=nvjpeg:1e11", NULL, &k).samples_per_s, 400, 20);
    assert_non_null(pp_nvjpeg_assumes(&k, text));
    assert_non_null(strstr(text, "50.0 % of the images are no baseline JPEG and stay on the CPU"));
    c.images.baseline = 1000;
    assert_near(predict(&c, "decode=nvjpeg:1e11", NULL, &k).samples_per_s, 1600, 16);
    assert_non_null(strstr(pp_nvjpeg_assumes(&k, text), "All images are baseline JPEG."));
    c.images.n = 0;
    predict(&c, "decode=nvjpeg:1e11", NULL, &k);
    assert_non_null(strstr(pp_nvjpeg_assumes(&k, text), "all are assumed to be"));
    k = pp_knobs_none();
    assert_null(pp_nvjpeg_assumes(&k, text));
    pp_costs_free(&c);
    (void)state;
}

/* 224 x 224 x 3 bytes a sample were copied; what is copied now are 20 kB. */
static void test_encoded_bytes_are_copied(void **state)
{
    struct pp_costs c = decoding();
    struct pp_knobs k;
    struct pp_demand d;
    double bytes = 0;
    for (size_t i = 0; i < c.n; i++)
        bytes += c.samples[i].bytes / (double)c.n;
    c.copy_bytes = 8 * 224 * 224 * 3;
    predict(&c, "decode=nvjpeg:1e11", NULL, &k);
    assert_near(k.gpu_decode.copied, bytes / (224 * 224 * 3), 1e-9);
    pp_whatif_demand(&c, &k, &d);
    assert_near(d.copy_ns, 1e5 * k.gpu_decode.copied, 1);
    assert_near(d.on_device, 1, 1e-9);
    c.copy_bytes = 0; /* not known: the copy stays as it was */
    predict(&c, "decode=nvjpeg:1e11", NULL, &k);
    assert_near(k.gpu_decode.copied, 1, 0);
    pp_costs_free(&c);
    (void)state;
}

/* Images as large as those of the source: its own rates are the ends of the interval, and its times of a
 * batch of one. */
static void test_a_published_rate_has_its_interval(void **state)
{
    const struct pp_nvjpeg_rate *r = &pp_nvjpeg_published;
    struct pp_costs c = decoding();
    struct pp_knobs k;
    char text[PP_NVJPEG_TEXT];
    c.step_blocked_ns = 1e5;
    c.images.n = c.images.baseline = 10;
    c.image_pixels = 551.0 * 676.0;
    struct pp_prediction p = predict(&c, "decode=nvjpeg", NULL, &k);
    assert_near(k.gpu_decode.low_per_s, 7785, 5);
    assert_near(k.gpu_decode.high_per_s / k.gpu_decode.low_per_s, r->high_pixels_per_s / r->low_pixels_per_s,
                1e-9);
    assert_near(k.gpu_decode.per_s, sqrt(k.gpu_decode.low_per_s * k.gpu_decode.high_per_s), 1e-6);
    assert_true(p.low <= 8 / 0.005 && p.high >= 8 / 0.0006 * 0.99); /* a batch of 8: 5 ms, and 0.6 ms */
    for (size_t i = 0; i < 2; i++) {                                /* 16 times the pixels */
        c.image_pixels *= i ? 16 : 1;
        c.batch_size = 256; /* the rate is the bound, and no longer the batch's least time */
        for (size_t s = 0; s < c.n; s++)
            c.samples[s].batch = (uint32_t)(s / 256);
        p = predict(&c, "decode=nvjpeg", NULL, &k);
        assert_true(p.low <= k.gpu_decode.low_per_s && p.high >= 0.99 * k.gpu_decode.high_per_s);
    }
    assert_non_null(pp_nvjpeg_assumes(&k, text));
    assert_non_null(strstr(text, "published for an A100"));
    assert_non_null(strstr(text, "not measured"));
    predict(&c, "decode=nvjpeg:900", NULL, &k);
    assert_non_null(strstr(pp_nvjpeg_assumes(&k, text), "stated, not measured: 900 images/s"));
    pp_costs_free(&c);
    (void)state;
}

static void test_what_cannot_be_predicted_is_refused(void **state)
{
    static const struct {
        const char *set, *word;
        double images, baseline, pixels, decode_cpu;
        pp_status status;
    } rows[] = {
        {"decode=nvjpeg", "size of the images", 0, 0, 0, 8e6, PP_E_UNSUPPORTED},
        {"decode=nvjpeg", "baseline JPEG", 9, 0, 9e6, 8e6, PP_E_UNSUPPORTED},
        {"decode=nvjpeg:100", "baseline JPEG", 9, 0, 9e6, 8e6, PP_E_UNSUPPORTED},
        {"decode=nvjpeg:100", "nothing is decoded", 0, 0, 0, 0, PP_E_UNSUPPORTED},
        {"decode=nvjpeg:", "IMAGES_PER_S", 0, 0, 0, 8e6, PP_E_USAGE},
        {"decode=nvjpeg:0", "IMAGES_PER_S", 0, 0, 0, 8e6, PP_E_USAGE},
        {"decode=nvjpeg:-3", "IMAGES_PER_S", 0, 0, 0, 8e6, PP_E_USAGE},
        {"decode=nvjpeg:nan", "IMAGES_PER_S", 0, 0, 0, 8e6, PP_E_USAGE},
        {"decode=nvjpeg:5:", "IMAGES_PER_S", 0, 0, 0, 8e6, PP_E_USAGE},
        {"decode=nvjpeg:5:-1", "IMAGES_PER_S", 0, 0, 0, 8e6, PP_E_USAGE},
        {"decode=nvjpegs", "IMAGES_PER_S", 0, 0, 0, 8e6, PP_E_USAGE},
        {"decode=nvjpe", "FACTOR", 0, 0, 0, 8e6, PP_E_USAGE},
    };
    struct pp_costs c = decoding();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_knobs k = pp_knobs_none();
        struct pp_err err = {0};
        c.images.n = rows[i].images, c.images.baseline = rows[i].baseline, c.image_pixels = rows[i].pixels;
        for (size_t s = 0; s < c.n; s++)
            c.samples[s].decode_cpu = (float)rows[i].decode_cpu;
        assert_int_equal(pp_knobs_set(&k, &c, rows[i].set, &err), rows[i].status);
        if (!strstr(err.text, rows[i].word))
            fail_msg("%s: '%s' does not name '%s'", rows[i].set, err.text, rows[i].word);
        assert_true(k.gpu_decode.per_s == 0);
    }
    pp_costs_free(&c);
    (void)state;
}

/* ---- what a report lists ---- */

/* Only where the recording has a GPU with an engine, decoding is the largest cause, and the images are such
 * as an engine takes. */
static void test_it_is_listed_where_it_applies(void **state)
{
    static const struct {
        const char *gpu;
        double baseline;
        float decode_ms, transform_ms;
        int listed;
    } rows[] = {
        {"NVIDIA A100-SXM4-80GB", 10, 8, 2, 1},
        {"NVIDIA H100 80GB HBM3", 10, 8, 2, 1},
        {"NVIDIA A100-SXM4-80GB", 10, 2, 8, 0}, /* transforms are what takes the CPU */
        {"NVIDIA A100-SXM4-80GB", 0, 8, 2, 0},  /* no baseline JPEG */
        {"Tesla T4", 10, 8, 2, 0},              /* no engine */
        {"", 10, 8, 2, 0},                      /* no GPU */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_costs c = decoding();
        for (size_t s = 0; s < c.n; s++) {
            c.samples[s].decode_cpu = rows[i].decode_ms * 1e6f;
            c.samples[s].transform_cpu = rows[i].transform_ms * 1e6f;
        }
        c.images.n = 10, c.images.baseline = rows[i].baseline, c.image_pixels = 4e5;
        snprintf(c.gpu, sizeof(c.gpu), "%s", rows[i].gpu);
        struct pp_signals s = made_costs_signals(&c);
        const struct pp_fix *f = pp_signals_fix(&s, "gpu-decode");
        if ((f != NULL) != rows[i].listed)
            fail_msg("row %zu: listed %d", i, f != NULL);
        if (f) {
            assert_string_equal(f->to, "nvJPEG (A100)");
            assert_non_null(strstr(f->text, "published, not measured"));
            assert_true(f->p.gain > 1);
        }
        pp_costs_free(&c);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy_and_decode_come_in_series),
        cmocka_unit_test(test_a_batch_may_be_mixed),
        cmocka_unit_test(test_a_device_sync_waits_for_the_decode),
        cmocka_unit_test(test_an_infinite_rate_leaves_no_decoding),
        cmocka_unit_test(test_a_rate_is_the_bound),
        cmocka_unit_test(test_an_estimate_names_the_decoder),
        cmocka_unit_test(test_what_the_engine_refuses_stays_on_the_cpu),
        cmocka_unit_test(test_encoded_bytes_are_copied),
        cmocka_unit_test(test_a_published_rate_has_its_interval),
        cmocka_unit_test(test_what_cannot_be_predicted_is_refused),
        cmocka_unit_test(test_it_is_listed_where_it_applies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
