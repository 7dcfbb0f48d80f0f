/* Which batches are of other loaders than the one that is judged. */
#include "report/source/one_loader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct made {
    const char *judged; /* config.dataloader */
    size_t loaders, n;
    struct pp_order_row rows[8];
    pp_status fails;
};

static const char *meta(void *ctx, const char *section, const char *key)
{
    const struct made *m = ctx;
    return strcmp(section, "config") == 0 && strcmp(key, "dataloader") == 0 ? m->judged : NULL;
}

static pp_status each_meta(void *ctx, const char *section, pp_meta_fn *fn, void *fn_ctx, struct pp_err *err)
{
    const struct made *m = ctx;
    for (size_t i = 0; i < m->loaders && strcmp(section, "loader") == 0; i++)
        fn(fn_ctx, "1.0", "", NULL, 0);
    return PP_OK;
}

static pp_status each_order(void *ctx, const struct pp_order_row *only, pp_order_fn *fn, void *fn_ctx,
                            struct pp_err *err)
{
    const struct made *m = ctx;
    for (size_t i = 0; i < m->n; i++)
        fn(fn_ctx, &m->rows[i]);
    return m->fails;
}

static struct pp_other_batches read_of(struct made *m, pp_status expected)
{
    struct pp_other_batches o;
    struct pp_err err;
    const struct pp_source s = {.ctx = m, .meta = meta, .each_meta = each_meta, .each_order = each_order};
    assert_int_equal(pp_other_batches_read(&s, &o, &err), expected);
    return o;
}

/* Training in two parts, validation between and behind; and the validation of another process. */
static struct made two_loaders(void)
{
    return (struct made){.judged = "7.0",
                         .loaders = 2,
                         .n = 5,
                         .rows = {{.pid = 7, .loader = 0, .first_batch = 0, .batches = 40},
                                  {.pid = 7, .loader = 1, .first_batch = 100, .batches = 10},
                                  {.pid = 7, .loader = 0, .first_batch = 40, .batches = 60},
                                  {.pid = 8, .loader = 0, .first_batch = 60000, .batches = 5},
                                  {.pid = 7, .loader = 1, .first_batch = 110, .batches = 1}}};
}

static void the_others_are_told(void **state)
{
    struct made m = two_loaders();
    struct pp_other_batches o = read_of(&m, PP_OK);
    const uint32_t others[] = {100, 109, 110, 60000, 60004},
                   own[] = {0, 39, 40, 99, 111, 59999, 60005, UINT32_MAX};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_true(pp_other_batches_has(&o, others[i]));
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        assert_false(pp_other_batches_has(&o, own[i]));
    assert_int_equal(pp_other_batches_find(&o, 60004)->pid, 8);
    assert_int_equal(pp_other_batches_find(&o, 99)->loader, 0);
    assert_null(pp_other_batches_find(&o, 111));
    free(o.range);
}

static void nothing_is_left_out_where_it_is_not_known(void **state)
{
    static const char *const judged[] = {NULL, "", "7", "x.0", "7.5", "9.0"};
    for (size_t i = 0; i < sizeof(judged) / sizeof(*judged); i++) {
        struct made m = two_loaders();
        m.judged = judged[i];
        struct pp_other_batches o = read_of(&m, PP_OK);
        assert_int_equal(o.n, 0);
        assert_false(pp_other_batches_has(&o, 100));
        free(o.range);
    }
    struct made one = two_loaders();
    one.loaders = 1; /* rows without their loader: not believed */
    struct pp_other_batches o = read_of(&one, PP_OK);
    assert_int_equal(o.n, 0);
    struct made damaged = two_loaders();
    damaged.fails = PP_E_CORRUPT;
    o = read_of(&damaged, PP_E_CORRUPT);
    assert_int_equal(o.n, 0);
    free(o.range);
}

/* A stranger's row may say that it has more batches than there are numbers. */
static void a_row_ends_with_the_numbers(void **state)
{
    struct made m = two_loaders();
    m.rows[1].batches = UINT32_MAX;
    struct pp_other_batches o = read_of(&m, PP_OK);
    assert_false(pp_other_batches_has(&o, 99));
    assert_true(pp_other_batches_has(&o, 100));
    assert_true(pp_other_batches_has(&o, 60004));
    free(o.range);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_others_are_told),
        cmocka_unit_test(nothing_is_left_out_where_it_is_not_known),
        cmocka_unit_test(a_row_ends_with_the_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
