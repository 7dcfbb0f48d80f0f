/* Lists of samples as bytes: what goes in comes out, and damage ends them. */
#include "probe/base/rng.h"
#include "probe/base/sample_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCHES = 50, MOST = 40 };

static uint64_t number(struct pp_rng *r, int i)
{
    static const uint64_t ends[] = {0, 1, 63, 64, UINT32_MAX, UINT64_MAX, UINT64_MAX / 2, 1u << 20};
    return i % 3 ? pp_rng_below(r, 1 << 20) : ends[pp_rng_below(r, 8)];
}

static size_t make(uint64_t seed, uint8_t *bytes, uint64_t sample[BATCHES][MOST], uint64_t *n)
{
    struct pp_rng r = pp_rng_key(seed, 0, 0, 0);
    uint64_t last = 0;
    uint8_t *end = bytes;
    for (int b = 0; b < BATCHES; b++) {
        n[b] = b % 7 == 3 ? UINT64_MAX : pp_rng_below(&r, MOST);
        end = pp_sample_list_put_batch(end, n[b]);
        for (uint64_t i = 0; n[b] != UINT64_MAX && i < n[b]; i++)
            end = pp_sample_list_put(end, sample[b][i] = number(&r, (int)i), &last);
    }
    return (size_t)(end - bytes);
}

static void what_goes_in_comes_out(void **state)
{
    static uint8_t bytes[BATCHES * (MOST + 1) * PP_SAMPLE_LIST_NUMBER];
    static uint64_t sample[BATCHES][MOST], n[BATCHES], got;
    for (uint64_t seed = 0; seed < 200; seed++) {
        size_t size = make(seed, bytes, sample, n);
        struct pp_sample_list l = {.at = bytes, .end = bytes + size};
        for (int b = 0; b < BATCHES; b++) {
            assert_true(pp_sample_list_batch(&l, &got));
            assert_true(got == n[b]);
            for (uint64_t i = 0; b % 2 && got != UINT64_MAX && i < got;
                 i++) { /* every other one is passed over */
                uint64_t s;
                assert_true(pp_sample_list_next(&l, &s));
                assert_true(s == sample[b][i]);
            }
        }
        assert_false(pp_sample_list_batch(&l, &got));
        assert_false(l.damaged);
    }
}

static void damage_ends_it(void **state)
{
    static uint8_t bytes[BATCHES * (MOST + 1) * PP_SAMPLE_LIST_NUMBER];
    static uint64_t sample[BATCHES][MOST], n[BATCHES], got;
    size_t size = make(7, bytes, sample, n);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = malloc(cut + 1); /* exactly as long: a sanitizer sees what is read behind it */
        memcpy(copy, bytes, cut);
        struct pp_sample_list l = {.at = copy, .end = copy + cut};
        int batches = 0;
        while (pp_sample_list_batch(&l, &got))
            batches++;
        assert_true(batches <= BATCHES && l.at <= l.end);
        free(copy);
    }
    uint8_t ones[64];
    memset(ones, 0xff, sizeof(ones));
    struct pp_sample_list l = {.at = ones, .end = ones + sizeof(ones)};
    assert_false(pp_sample_list_batch(&l, &got));
    assert_true(l.damaged);
}

static void a_sequential_list_takes_a_byte_each(void **state)
{
    uint8_t bytes[1200], *end = pp_sample_list_put_batch(bytes, 1000);
    uint64_t last = 0;
    for (uint64_t i = 0; i < 1000; i++)
        end = pp_sample_list_put(end, i, &last);
    assert_in_range(end - bytes, 1000, 1010);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(damage_ends_it),
        cmocka_unit_test(a_sequential_list_takes_a_byte_each),
    };
    return cmocka_run_group_tests_name("lists of samples", tests, NULL, NULL);
}
