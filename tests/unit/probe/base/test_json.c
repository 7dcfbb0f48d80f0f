/* What the writer emits, byte for byte, and that a strict reader (jansson) gets back what was put in. */
#include "probe/base/json.h"
#include "probe/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static char *text;
static size_t text_size;

static FILE *begin(struct pp_json *j, int indent)
{
    FILE *out = open_memstream(&text, &text_size);
    assert_non_null(out);
    pp_json_begin(j, out, indent);
    return out;
}

static void expect(struct pp_json *j, FILE *out, const char *wanted)
{
    assert_int_equal(pp_json_end(j), 0);
    fclose(out);
    assert_string_equal(text, wanted);
    free(text);
}

static void put_sample(struct pp_json *j)
{
    pp_json_object(j);
    pp_json_key(j, "a");
    pp_json_int(j, -3);
    pp_json_key(j, "list");
    pp_json_array(j);
    pp_json_bool(j, 1);
    pp_json_null(j);
    pp_json_str(j, NULL);
    pp_json_array_end(j);
    pp_json_key(j, "empty");
    pp_json_object(j);
    pp_json_object_end(j);
    pp_json_object_end(j);
}

static void test_layout(void **state)
{
    struct pp_json j;
    FILE *out = begin(&j, 0);
    put_sample(&j);
    expect(&j, out, "{\"a\":-3,\"list\":[true,null,null],\"empty\":{}}\n");
    out = begin(&j, 2);
    put_sample(&j);
    expect(&j, out,
           "{\n  \"a\": -3,\n  \"list\": [\n    true,\n    null,\n    null\n  ],\n  \"empty\": {}\n}\n");
}

static void test_numbers(void **state)
{
    static const struct {
        double v;
        const char *wanted;
    } rows[] = {
        {0, "0\n"},
        {0.1, "0.1\n"},
        {1.0 / 3, "0.3333333333333333\n"},
        {100000, "100000\n"},
        {1e300, "1e+300\n"},
        {-2.5, "-2.5\n"},
        {0.1 + 0.2, "0.30000000000000004\n"},
        {NAN, "null\n"},
        {INFINITY, "null\n"},
        {-INFINITY, "null\n"},
        {5e-324, "4.94065645841247e-324\n"},
    };
    struct pp_json j;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        FILE *out = begin(&j, 0);
        pp_json_num(&j, rows[i].v);
        expect(&j, out, rows[i].wanted);
    }
    FILE *out = begin(&j, 0);
    pp_json_uint(&j, UINT64_MAX);
    expect(&j, out, "18446744073709551615\n");
    out = begin(&j, 0);
    pp_json_int(&j, INT64_MIN);
    expect(&j, out, "-9223372036854775808\n");
}

static void test_strings(void **state)
{
    static const struct {
        const char *s, *wanted;
    } rows[] = {
        {"", "\"\"\n"},
        {"a\"b\\c", "\"a\\\"b\\\\c\"\n"},
        {"\b\f\n\r\t\x01\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"\n"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"\n"},
        {"\xff", "\"\xef\xbf\xbd\"\n"},
        {"\xc3", "\"\xef\xbf\xbd\"\n"},                                 /* cut short */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"\n"},                 /* overlong "/" */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n"}, /* surrogate */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n"},
        {"\xe2\x82x", "\"\xef\xbf\xbd\xef\xbf\xbdx\"\n"},
    };
    struct pp_json j;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        FILE *out = begin(&j, 0);
        pp_json_str(&j, rows[i].s);
        expect(&j, out, rows[i].wanted);
    }
}

/* Any bytes as key and value, any bits as a number: always a document, numbers exact. */
static void test_random_round_trip(void **state)
{
    struct pp_rng r = pp_rng_key(3, 0, 0, 0);
    for (int round = 0; round < 3000; round++) {
        char bytes[24];
        size_t n = pp_rng_below(&r, sizeof(bytes));
        for (size_t i = 0; i < n; i++)
            bytes[i] = (char)(1 + pp_rng_below(&r, 255));
        bytes[n] = '\0';
        uint64_t bits = pp_rng_next(&r);
        double v;
        memcpy(&v, &bits, sizeof(v));

        struct pp_json j;
        FILE *out = begin(&j, (int)pp_rng_below(&r, 3));
        pp_json_object(&j);
        pp_json_key(&j, bytes);
        pp_json_str(&j, bytes);
        pp_json_key(&j, "number");
        pp_json_num(&j, v);
        pp_json_object_end(&j);
        assert_int_equal(pp_json_end(&j), 0);
        fclose(out);
        json_error_t why;
        json_t *doc = json_loads(text, JSON_REJECT_DUPLICATES, &why);
        assert_non_null(doc);
        json_t *number = json_object_get(doc, "number");
        if (isfinite(v))
            assert_true(json_number_value(number) == v);
        else
            assert_true(json_is_null(number));
        json_decref(doc);
        free(text);
    }
}

static void test_write_failure_is_told(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full) {
        puts("# skip: there is no /dev/full that we may write");
        skip();
    }
    struct pp_json j;
    pp_json_begin(&j, full, 0);
    pp_json_str(&j, "x");
    assert_int_equal(pp_json_end(&j), -1);
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_random_round_trip),
        cmocka_unit_test(test_write_failure_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
