/* The weighted sampler: frequencies, refusals, and the file of weights. */
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/sampler/sampler.h"
#include "probe/sampler/sampler_alias.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define Z_LIMIT 5.0 /* two-sided chance below 1e-6; see test_sampler_random.c */

static struct pp_sampler *make(const struct pp_sampler_opts *opts)
{
    struct pp_err err = {0};
    struct pp_sampler *s = NULL;
    if (pp_sampler_create(opts, &s, &err) != PP_OK)
        fail_msg("create: %s", err.text);
    return s;
}

/* How often each index came in one epoch. */
static uint64_t *tally(const struct pp_sampler_opts *opts, uint64_t epoch)
{
    struct pp_sampler *s = make(opts);
    struct pp_order *o = NULL;
    uint64_t *count = calloc(opts->n, sizeof(*count));
    assert_int_equal(pp_order_create(s, epoch, &o, NULL), PP_OK);
    for (uint64_t p = 0; p < pp_sampler_len(s); p++)
        count[pp_order_at(o, p)]++;
    pp_order_destroy(o);
    pp_sampler_destroy(s);
    return count;
}

static double z_against(const uint64_t *count, const double *w, uint64_t n, uint64_t draws)
{
    double sum = 0, chi2 = 0, df = -1;
    for (uint64_t i = 0; i < n; i++)
        sum += w[i];
    for (uint64_t i = 0; i < n; i++) {
        double expected = (double)draws * (w[i] / sum);
        if (w[i] == 0) {
            assert_int_equal(count[i], 0);
            continue;
        }
        chi2 += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
        df++;
    }
    return (chi2 - df) / sqrt(2 * df);
}

static void frequencies_follow_the_weights(void **state)
{
    enum { N = 400, DRAWS = 400000 };
    double w[4][N], even[N];
    for (int i = 0; i < N; i++) {
        w[0][i] = 1;                                 /* all alike */
        w[1][i] = i + 1;                             /* a ramp */
        w[2][i] = i % 4 == 3 ? 0 : 1 + (i * i) % 17; /* zeros between */
        w[3][i] = i == 0 ? 4000 : 1;                 /* one that dominates */
        even[i] = 1;
    }
    for (int k = 0; k < 4; k++) {
        struct pp_sampler_opts opts = {
            .kind = PP_SAMPLER_WEIGHTED, .n = N, .seed = 3, .weights = w[k], .draws = DRAWS};
        uint64_t *count = tally(&opts, (uint64_t)k);
        assert_true(fabs(z_against(count, w[k], N, DRAWS)) < Z_LIMIT);
        if (k == 1)
            assert_true(z_against(count, even, N, DRAWS) > 100); /* the statistic tells a ramp from a plain */
        free(count);
    }
}

/* By powers of two, which round nothing: the very same draws, from the edge of overflow to that of underflow.
 */
static void scale_of_weights_does_not_matter(void **state)
{
    static const double scales[] = {0x1p1020, 0x1p-1020, 0x1p-20};
    double w[100], scaled[100];
    for (int i = 0; i < 100; i++)
        w[i] = 1 + i % 10;
    struct pp_sampler_opts opts = {.kind = PP_SAMPLER_WEIGHTED, .n = 100, .weights = w, .draws = 10000};
    uint64_t *want = tally(&opts, 0);
    for (size_t k = 0; k < sizeof(scales) / sizeof(scales[0]); k++) {
        for (int i = 0; i < 100; i++)
            scaled[i] = w[i] * scales[k];
        opts.weights = scaled;
        uint64_t *got = tally(&opts, 0);
        assert_memory_equal(got, want, 100 * sizeof(*want));
        free(got);
    }
    free(want);
}

/* Weights that do not add up evenly in binary leave rounding behind; a zero must stay a zero through it. */
static void zero_is_never_drawn(void **state)
{
    for (uint64_t n = 2; n < 200; n++) {
        double w[200];
        for (uint64_t i = 0; i < n; i++)
            w[i] = i % 2 ? 0 : 0.1 * (double)(i + 1) / 3;
        struct pp_sampler_opts opts = {.kind = PP_SAMPLER_WEIGHTED, .n = n, .weights = w, .draws = 2000};
        uint64_t *count = tally(&opts, n);
        for (uint64_t i = 1; i < n; i += 2)
            assert_int_equal(count[i], 0);
        free(count);
    }
    double only[] = {0, 0, 5e-324, 0};
    struct pp_sampler_opts opts = {.kind = PP_SAMPLER_WEIGHTED, .n = 4, .weights = only, .draws = 100};
    uint64_t *count = tally(&opts, 0);
    assert_int_equal(count[2], 100);
    free(count);
}

static void weights_are_copied(void **state)
{
    double w[] = {0, 1};
    struct pp_sampler_opts opts = {.kind = PP_SAMPLER_WEIGHTED, .n = 2, .weights = w};
    struct pp_sampler *s = make(&opts);
    struct pp_order *o = NULL;
    w[0] = 1, w[1] = 0;
    assert_int_equal(pp_order_create(s, 0, &o, NULL), PP_OK);
    assert_int_equal(pp_order_at(o, 0), 1);
    assert_int_equal(pp_sampler_len(s), 2);
    pp_order_destroy(o);
    pp_sampler_destroy(s);
}

static void draws_are_dealt_to_ranks(void **state)
{
    double w[] = {1, 2, 3};
    struct pp_sampler_opts opts = {.kind = PP_SAMPLER_WEIGHTED,
                                   .n = 3,
                                   .seed = 4,
                                   .weights = w,
                                   .draws = 10,
                                   .world_size = 4,
                                   .rank = 3};
    struct pp_sampler *s = make(&opts);
    assert_int_equal(pp_sampler_len(s), 3);
    pp_sampler_destroy(s);
    opts.drop_last = 1;
    s = make(&opts);
    assert_int_equal(pp_sampler_len(s), 2);
    pp_sampler_destroy(s);
}

static void bad_weights_get_one_sentence(void **state)
{
    static const struct {
        double w[3];
        const char *says;
    } rows[] = {
        {{1, -1, 1}, "weight 1 is -1"},
        {{1, 1, NAN}, "weight 2 is nan"},
        {{INFINITY, 1, 1}, "weight 0 is inf"},
        {{0, 0, 0}, "all 3 weights are zero"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_err err = {0};
        struct pp_sampler *s = NULL;
        struct pp_sampler_opts opts = {.kind = PP_SAMPLER_WEIGHTED, .n = 3, .weights = rows[i].w};
        assert_int_equal(pp_sampler_create(&opts, &s, &err), PP_E_USAGE);
        assert_null(s);
        if (!strstr(err.text, rows[i].says))
            fail_msg("row %zu says: %s", i, err.text);
    }
}

/* ---- the file ---- */

static char path[64];

static int make_file(void **state)
{
    strcpy(path, "/tmp/pp-test-weights-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    pp_io_fault(0, 0, 0, 0);
    return unlink(path);
}

static pp_status load(const char *text, size_t size, uint64_t n, double **w, struct pp_err *err)
{
    FILE *f = fopen(path, "w");
    assert_int_equal(fwrite(text, 1, size, f), size);
    fclose(f);
    return pp_weights_load(path, n, w, err);
}

static void file_of_weights_is_read(void **state)
{
    static const char *const texts[] = {"1\n2.5\n3e2\n", "1 2.5\t3e2",
                                        "# by class\n1 # rare\n\n2.5\r\n3e2#end", "\n\n 1 2.5 3e2 \n\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        double *w = NULL;
        struct pp_err err = {0};
        if (load(texts[i], strlen(texts[i]), 3, &w, &err) != PP_OK)
            fail_msg("text %zu: %s", i, err.text);
        assert_true(w[0] == 1 && w[1] == 2.5 && w[2] == 300);
        free(w);
    }
}

static void bad_files_get_one_sentence(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        pp_status code;
        const char *says;
    } rows[] = {
        {"", 0, PP_E_USAGE, "holds 0 weights, but the dataset has 3"},
        {"1\n2\n", 4, PP_E_USAGE, "holds 2 weights, but the dataset has 3"},
        {"1 2 3 4", 7, PP_E_USAGE, "holds 4 weights, but the dataset has 3"},
        {"1\n2\nthree\n", 10, PP_E_CORRUPT, "line 3: \"three\" is not a number"},
        {"1\n2x\n3\n", 7, PP_E_CORRUPT, "line 2: \"2x\""},
        {"1\n2\0"
         "7\n3\n",
         8, PP_E_CORRUPT, "line 2"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double *w = (double *)path;
        struct pp_err err = {0};
        assert_int_equal(load(rows[i].text, rows[i].size, 3, &w, &err), rows[i].code);
        assert_null(w);
        if (!strstr(err.text, rows[i].says))
            fail_msg("row %zu says: %s", i, err.text);
    }
}

static void missing_and_failing_files_are_said(void **state)
{
    double *w = NULL;
    struct pp_err err = {0};
    assert_int_equal(pp_weights_load("/nonexistent/weights", 3, &w, &err), PP_E_NOT_FOUND);
    FILE *f = fopen(path, "w");
    fputs("1 2 3", f);
    fclose(f);
    pp_io_fault(PP_IO_FAULT_READ, 1, EIO, 1);
    assert_int_equal(pp_weights_load(path, 3, &w, &err), PP_E_TRANSIENT);
    assert_null(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies_follow_the_weights),
        cmocka_unit_test(scale_of_weights_does_not_matter),
        cmocka_unit_test(zero_is_never_drawn),
        cmocka_unit_test(weights_are_copied),
        cmocka_unit_test(draws_are_dealt_to_ranks),
        cmocka_unit_test(bad_weights_get_one_sentence),
        cmocka_unit_test_setup_teardown(file_of_weights_is_read, make_file, remove_file),
        cmocka_unit_test_setup_teardown(bad_files_get_one_sentence, make_file, remove_file),
        cmocka_unit_test_setup_teardown(missing_and_failing_files_are_said, make_file, remove_file),
    };
    return cmocka_run_group_tests_name("sampler_weighted", tests, NULL, NULL);
}
