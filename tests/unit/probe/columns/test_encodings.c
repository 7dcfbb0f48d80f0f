/* Runs, deltas, Thrift and codecs on small inputs: what the specifications give as examples, and what is cut
 * or nests too deep. */
#include "probe/columns/codec.h"
#include "probe/columns/pages.h"
#include "probe/columns/thrift.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pipeprobe/status.h>

/* Encodings.md: 0 to 7 in 3 bits are 0x88 0xc6 0xfa. */
static void runs_and_groups(void **state)
{
    static const uint8_t bytes[] = {3, 0x88, 0xc6, 0xfa, 10, 6};
    uint32_t out[13];
    struct pp_runs r = {.at = bytes, .end = bytes + sizeof(bytes), .width = 3};
    assert_int_equal(pp_runs_take(&r, out, 5), 0);
    assert_int_equal(pp_runs_take(&r, out + 5, 8), 0);
    for (uint32_t i = 0; i < 13; i++)
        assert_int_equal(out[i], i < 8 ? i : 6);
    assert_int_equal(pp_runs_take(&r, out, 1), -1);
    for (size_t n = 0; n < sizeof(bytes); n++) {
        r = (struct pp_runs){.at = bytes, .end = bytes + n, .width = 3};
        assert_int_equal(pp_runs_take(&r, out, 13), -1);
    }
    /* a width of no bits: as many zeros as are asked for */
    static const uint8_t none[] = {0xfe, 0xff, 3};
    r = (struct pp_runs){.at = none, .end = none + 3, .width = 0};
    assert_int_equal(pp_runs_take(&r, out, 13), 0);
    assert_int_equal(out[12], 0);
    /* a run of no values would go on for ever */
    static const uint8_t zero[] = {0, 0, 0, 0};
    r = (struct pp_runs){.at = zero, .end = zero + 4, .width = 1};
    assert_int_equal(pp_runs_take(&r, out, 1), -1);
}

/* Encodings.md: 1, 2, 3, 4, 5 in blocks of 128, 4 miniblocks: the least delta is 1, widths are 0. */
static void deltas(void **state)
{
    static const uint8_t bytes[] = {128, 1, 4, 5, 2, 2, 0, 0, 0, 0, 9};
    int64_t out[5];
    size_t used;
    assert_int_equal(pp_delta_take(bytes, sizeof(bytes), out, 5, &used), 0);
    assert_int_equal(used, 10);
    for (int i = 0; i < 5; i++)
        assert_int_equal(out[i], i + 1);
    assert_int_equal(pp_delta_take(bytes, sizeof(bytes), out, 4, &used), -1);
    for (size_t n = 0; n < 10; n++)
        assert_int_equal(pp_delta_take(bytes, n, out, 5, &used), -1);
    static const uint8_t hostile[][8] = {
        {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}, /* a number without an end */
        {128, 1, 0, 5, 2, 2, 0, 0},                       /* no miniblocks */
        {128, 1, 3, 5, 2, 2, 0, 0},                       /* that do not divide the block */
        {0, 1, 5, 2, 2, 0, 0, 0},                         /* an empty block */
        {128, 1, 4, 5, 2, 2, 65, 0},                      /* wider than a number */
    };
    for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++)
        assert_int_equal(pp_delta_take(hostile[i], 8, out, 5, &used), -1);
}

static void thrift_is_bounded(void **state)
{
    static const uint8_t fields[] = {0x15, 3, 0x18, 2, 'a', 'b', 0x25, 1, 0};
    struct pp_thrift t = {.at = fields, .end = fields + sizeof(fields)};
    size_t size;
    int id = 0;
    assert_int_equal(pp_thrift_field(&t, &id), PP_THRIFT_I32);
    assert_int_equal(pp_thrift_int(&t, PP_THRIFT_I32), -2);
    assert_int_equal(pp_thrift_field(&t, &id), PP_THRIFT_BINARY);
    assert_int_equal(id, 2);
    assert_memory_equal(pp_thrift_bytes(&t, PP_THRIFT_BINARY, &size), "ab", 2);
    assert_int_equal(pp_thrift_field(&t, &id), PP_THRIFT_I32);
    assert_int_equal(id, 4);
    pp_thrift_skip(&t, PP_THRIFT_I32);
    assert_int_equal(pp_thrift_field(&t, &id), 0);
    assert_false(t.bad);
    /* structs in structs in structs, and a list that claims four thousand million of them */
    static uint8_t deep[100000];
    memset(deep, 0x1c, sizeof(deep));
    t = (struct pp_thrift){.at = deep, .end = deep + sizeof(deep)};
    pp_thrift_skip(&t, PP_THRIFT_STRUCT);
    assert_true(t.bad);
    static const uint8_t many[] = {0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0};
    t = (struct pp_thrift){.at = many, .end = many + sizeof(many)};
    assert_int_equal(pp_thrift_list(&t, PP_THRIFT_LIST, &id), 0);
    assert_true(t.bad);
}

static void any_bytes_are_safe(void **state)
{
    enum { MOST = 64 };
    uint32_t runs[100];
    int64_t deltas_out[100];
    size_t used;
    unsigned seed = 1;
    for (int round = 0; round < 50000; round++) {
        size_t n = (size_t)rand_r(&seed) % MOST;
        uint8_t *exact = malloc(n + 1); /* a sanitizer sees a byte too many */
        for (size_t i = 0; i < n; i++)
            exact[i] = (uint8_t)rand_r(&seed);
        struct pp_runs r = {.at = exact, .end = exact + n, .width = (unsigned)round % 33};
        pp_runs_take(&r, runs, 100);
        pp_delta_take(exact, n, deltas_out, 100, &used);
        struct pp_thrift t = {.at = exact, .end = exact + n};
        pp_thrift_skip(&t, PP_THRIFT_STRUCT);
        free(exact);
    }
}

static void codecs_give_the_size_or_nothing(void **state)
{
    static const uint8_t snappy[] = {4, 3 << 2, 'a', 'b', 'c', 'd'}, block[] = {0x40, 'a', 'b', 'c', 'd'},
                         hadoop[] = {0, 0, 0, 4, 0, 0, 0, 5, 0x40, 'a', 'b', 'c', 'd'};
    static const struct {
        enum pp_codec codec;
        const uint8_t *bytes;
        size_t n;
    } rows[] = {{PP_CODEC_SNAPPY, snappy, sizeof(snappy)},
                {PP_CODEC_LZ4, block, sizeof(block)},
                {PP_CODEC_LZ4_HADOOP, hadoop, sizeof(hadoop)},
                {PP_CODEC_NONE, (const uint8_t *)"abcd", 4}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint8_t out[8];
        struct pp_err err = {0};
        if (pp_codec_ready(rows[i].codec, &err) != PP_OK) {
            print_message("%s\n", err.text);
            continue;
        }
        assert_int_equal(pp_codec_unpack(rows[i].codec, rows[i].bytes, rows[i].n, out, 4), 0);
        assert_memory_equal(out, "abcd", 4);
        assert_int_equal(pp_codec_unpack(rows[i].codec, rows[i].bytes, rows[i].n, out, 3), -1);
        assert_int_equal(pp_codec_unpack(rows[i].codec, rows[i].bytes, rows[i].n, out, 5), -1);
        assert_int_equal(pp_codec_unpack(rows[i].codec, rows[i].bytes, rows[i].n - 1, out, 4), -1);
    }
}

/* ---- pages that are kept ---- */

static int alive, made;

static void free_it(struct pp_page *p)
{
    alive--;
    free(p);
}

static pp_status make_it(void *ctx, struct pp_page **out, struct pp_err *err)
{
    if (!ctx)
        return PP_E_CORRUPT;
    *out = calloc(1, sizeof(**out));
    (*out)->bytes = 100;
    (*out)->free = free_it;
    alive++;
    made++;
    return PP_OK;
}

static void the_oldest_page_goes_first(void **state)
{
    struct pp_pages *c;
    struct pp_page *p, *held;
    int some = 0;
    assert_int_equal(pp_pages_create(350, &c, NULL), PP_OK);
    assert_int_equal(pp_pages_get(c, &(struct pp_page_key){.page = 99}, make_it, NULL, &p, NULL),
                     PP_E_CORRUPT);
    assert_int_equal(pp_pages_get(c, &(struct pp_page_key){.page = 0}, make_it, &some, &held, NULL), PP_OK);
    for (uint32_t i = 1; i < 6; i++) {
        assert_int_equal(pp_pages_get(c, &(struct pp_page_key){.page = i}, make_it, &some, &p, NULL), PP_OK);
        pp_pages_put(c, p);
    }
    assert_int_equal(alive, 3); /* the one in use, and the latest two */
    assert_int_equal(made, 6);
    pp_pages_get(c, &(struct pp_page_key){.page = 0}, make_it, &some, &p, NULL);
    assert_ptr_equal(p, held);
    pp_pages_put(c, p);
    pp_pages_get(c, &(struct pp_page_key){.page = 5}, make_it, &some, &p, NULL);
    pp_pages_put(c, p);
    assert_int_equal(made, 6);
    pp_pages_put(c, held);
    pp_pages_destroy(c);
    assert_int_equal(alive, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_and_groups),
        cmocka_unit_test(deltas),
        cmocka_unit_test(thrift_is_bounded),
        cmocka_unit_test(any_bytes_are_safe),
        cmocka_unit_test(codecs_give_the_size_or_nothing),
        cmocka_unit_test(the_oldest_page_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
