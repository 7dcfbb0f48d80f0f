/* The stratified sampler: classes in proportion in every batch of every rank, the same by seed, and the file
 * of classes. That ranks cover the epoch: test_sampler.c. */
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/rng.h"
#include "probe/sampler/sampler.h"
#include "probe/sampler/sampler_strata.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct pp_err err;

/* The whole of one (epoch, rank), freed by the caller. */
static uint64_t *draw(const struct pp_sampler_opts *opts, uint64_t epoch, uint64_t *len)
{
    struct pp_sampler *s;
    struct pp_order *o;
    if (pp_sampler_create(opts, &s, &err) != PP_OK || pp_order_create(s, epoch, &o, &err) != PP_OK)
        fail_msg("%s", err.text);
    *len = pp_sampler_len(s);
    uint64_t *out = malloc(*len * sizeof(*out));
    pp_order_fill(o, 0, out, *len);
    pp_order_destroy(o);
    pp_sampler_destroy(s);
    return out;
}

enum { MOST_CLASSES = 1000 };

/* Shapes of class sizes, as a share of n. */
static int64_t *classes_of(int shape, uint64_t n, struct pp_rng *rng)
{
    int64_t *of = malloc((n + 1) * sizeof(*of));
    for (uint64_t i = 0; i < n; i++) {
        double u = pp_rng_unit(rng);
        switch (shape) {
        case 0: of[i] = (int64_t)(i % 10); break;                     /* even */
        case 1: of[i] = (int64_t)(-log(u + 1e-9) * 3); break;         /* a long tail */
        case 2: of[i] = i == n / 2 ? 1 : 0; break;                    /* one against all others */
        case 3: of[i] = (int64_t)(u * u * (MOST_CLASSES - 1)); break; /* many, some with one sample */
        default: of[i] = 7; break;                                    /* one class */
        }
    }
    return of;
}

/* Any b samples in a row have less than 2 more or fewer of a class than its share. */
static void check_windows(const uint64_t *order, uint64_t len, const int64_t *class_of)
{
    static const uint64_t sizes[] = {1, 2, 7, 16, 64, 250};
    uint64_t *before = malloc((len + 1) * sizeof(*before));
    for (int c = 0; c < MOST_CLASSES; c++) {
        before[0] = 0;
        for (uint64_t p = 0; p < len; p++)
            before[p + 1] = before[p] + (class_of[order[p]] == c);
        for (size_t k = 0; before[len] && k < sizeof(sizes) / sizeof(*sizes); k++)
            for (uint64_t p = 0, b = sizes[k]; p + b <= len; p++) {
                double share = (double)b * (double)before[len] / (double)len;
                assert_true(fabs((double)(before[p + b] - before[p]) - share) < 2);
            }
    }
    free(before);
}

static void batches_have_classes_in_proportion(void **state)
{
    struct pp_rng rng = pp_rng_key(1, 2, 3, 4);
    for (int shape = 0; shape < 5; shape++)
        for (uint64_t n = 1; n <= 4000; n = n * 3 + 5)
            for (uint64_t world = 1; world <= 8; world += world < 3 ? 1 : 5) {
                int64_t *of = classes_of(shape, n, &rng);
                for (uint64_t rank = 0; rank < world; rank++) {
                    struct pp_sampler_opts opts = {.kind = PP_SAMPLER_STRATIFIED,
                                                   .n = n,
                                                   .seed = n,
                                                   .rank = rank,
                                                   .world_size = world,
                                                   .classes = of};
                    uint64_t len, *order = draw(&opts, shape, &len);
                    check_windows(order, len, of);
                    free(order);
                }
                free(of);
            }
}

static void ranks_share_every_class(void **state)
{
    enum { N = 1003, WORLD = 4 };
    struct pp_rng rng = pp_rng_key(5, 6, 7, 8);
    int64_t *of = classes_of(1, N, &rng);
    uint64_t all[MOST_CLASSES] = {0};
    for (int i = 0; i < N; i++)
        all[of[i]]++;
    for (uint64_t rank = 0; rank < WORLD; rank++) {
        struct pp_sampler_opts opts = {.kind = PP_SAMPLER_STRATIFIED,
                                       .n = N,
                                       .rank = rank,
                                       .world_size = WORLD,
                                       .drop_last = 1,
                                       .classes = of};
        uint64_t len, *order = draw(&opts, 1, &len), own[MOST_CLASSES] = {0};
        for (uint64_t p = 0; p < len; p++)
            own[of[order[p]]]++;
        for (int c = 0; c < MOST_CLASSES; c++)
            assert_true(fabs((double)own[c] - (double)all[c] / WORLD) < 2); /* the cut takes up to 3 of one */
        free(order);
    }
    free(of);
}

static void a_rare_class_comes_anywhere(void **state)
{
    enum { N = 400, EPOCHS = 400 };
    struct pp_rng rng = pp_rng_key(1, 1, 1, 1);
    int64_t *of = classes_of(2, N, &rng);
    int quarter[4] = {0};
    struct pp_sampler_opts opts = {.kind = PP_SAMPLER_STRATIFIED, .n = N, .classes = of};
    for (uint64_t e = 0; e < EPOCHS; e++) {
        uint64_t len, *order = draw(&opts, e, &len), p = 0;
        while (of[order[p]] != 1)
            p++;
        quarter[p * 4 / len]++;
        free(order);
    }
    for (int q = 0; q < 4; q++) /* 100 +- 8.7: five standard deviations */
        assert_in_range(quarter[q], 57, 143);
    free(of);
}

static void within_a_class_orders_are_shuffled(void **state)
{
    enum { N = 300, EPOCHS = 600 };
    int64_t of[N];
    double sum = 0;
    for (int i = 0; i < N; i++)
        of[i] = i % 3;
    struct pp_sampler_opts opts = {.kind = PP_SAMPLER_STRATIFIED, .n = N, .classes = of};
    for (uint64_t e = 0; e < EPOCHS; e++) {
        uint64_t len, *order = draw(&opts, e, &len), p = 0;
        while (order[p] != 42)
            p++;
        sum += (double)p;
        free(order);
    }
    double mean = sum / EPOCHS, error = N / sqrt(12.0 * EPOCHS);
    assert_true(fabs(mean - (N - 1) / 2.0) < 5 * error);
}

static void classes_come_from_a_file(void **state)
{
    char path[] = "/tmp/pp-classes-XXXXXX";
    int64_t *of;
    int fd = mkstemp(path);
    static const struct {
        const char *text, *say; /* say NULL: fine */
        pp_status status;
    } rows[] = {{"3 -1\n3 # three\n9", NULL, PP_OK},
                {"1 2 3", "holds 3 classes", PP_E_USAGE},
                {"1 2 3 4 5", "holds 5 classes", PP_E_USAGE},
                {"1\n2.5 3 4", "line 2", PP_E_CORRUPT},
                {"1 2 3 99999999999999999999", "not a whole number", PP_E_CORRUPT}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(pp_io_write_atomic(path, rows[i].text, strlen(rows[i].text), &err), PP_OK);
        assert_int_equal(pp_classes_load(path, 4, &of, &err), rows[i].status);
        if (rows[i].say)
            assert_non_null(strstr(err.text, rows[i].say));
        else
            assert_true(of[0] == 3 && of[1] == -1 && of[2] == 3 && of[3] == 9);
        free(of);
    }
    close(fd);
    unlink(path);
}

static void without_classes_is_refused(void **state)
{
    struct pp_sampler *s;
    assert_int_equal(pp_sampler_create(&(struct pp_sampler_opts){.kind = PP_SAMPLER_STRATIFIED, .n = 4}, &s,
                                       &err),
                     PP_E_USAGE);
    assert_non_null(strstr(err.text, "needs classes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_have_classes_in_proportion),
        cmocka_unit_test(ranks_share_every_class),
        cmocka_unit_test(a_rare_class_comes_anywhere),
        cmocka_unit_test(within_a_class_orders_are_shuffled),
        cmocka_unit_test(classes_come_from_a_file),
        cmocka_unit_test(without_classes_is_refused),
    };
    return cmocka_run_group_tests_name("stratified sampler", tests, NULL, NULL);
}
