/* The log of requests: nothing is kept before it is on, order and places are kept, what does not fit is
 * counted. */
#include "probe/storage/request_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct pp_request taken[PP_REQUESTS_KEPT + 1];

static void add(uint64_t start_ns, const char *address, const char *name)
{
    pp_request_log_add(&(struct pp_request){.start_ns = start_ns, .status = 200}, address, name);
}

static void off_it_keeps_nothing(void **state)
{
    struct pp_request_place p;
    pp_request_log_set(0);
    add(1, "a:1", "s3://b/k");
    assert_int_equal(pp_request_log_take(taken, 10), 0);
    assert_int_equal(pp_request_log_lost(), 0);
    assert_int_equal(pp_request_log_place(0, &p), 0);
}

static void order_and_places_are_kept(void **state)
{
    static const struct {
        const char *address, *name, *prefix;
        int place;
    } rows[] = {
        {"10.0.0.1:80", "http://h/a/b.tar", "http://h/a", 1},
        {"10.0.0.2:80", "http://h/a/c.tar", "http://h/a", 2},
        {"10.0.0.1:80", "http://h/a/d.tar?versionId=a/b", "http://h/a", 1},
        {"", "s3://bucket/key", "s3://bucket", 3},
        {"", "s3://bucket/x//key", "s3://bucket/x", 4},
        {"", "key", "", 5},
    };
    struct pp_request_place p;
    assert_true(pp_request_log_set(1));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        add(i, rows[i].address, rows[i].name);
    assert_int_equal(pp_request_log_take(taken, 2), 2);
    assert_int_equal(pp_request_log_take(taken + 2, 100), sizeof(rows) / sizeof(*rows) - 2);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(taken[i].start_ns, i);
        assert_int_equal(taken[i].place, rows[i].place);
        assert_int_equal(pp_request_log_place(taken[i].place, &p), 1);
        assert_string_equal(p.address, rows[i].address);
        assert_string_equal(p.prefix, rows[i].prefix);
    }
    assert_int_equal(pp_request_log_place(6, &p), 0);
}

static void what_does_not_fit_is_counted(void **state)
{
    assert_true(pp_request_log_set(1));
    for (uint64_t i = 0; i < PP_REQUESTS_KEPT + 7; i++)
        add(i, "a:1", "s3://b/k");
    assert_int_equal(pp_request_log_lost(), 7);
    assert_int_equal(pp_request_log_take(taken, PP_REQUESTS_KEPT + 1), PP_REQUESTS_KEPT);
    assert_int_equal(taken[PP_REQUESTS_KEPT - 1].start_ns, PP_REQUESTS_KEPT - 1);
    add(9, "a:1", "s3://b/k");
    assert_int_equal(pp_request_log_take(taken, 10), 1);
    assert_true(pp_request_log_set(1));
    assert_int_equal(pp_request_log_lost(), 0);
}

static void too_many_places_are_one(void **state)
{
    char name[64];
    struct pp_request_place p;
    assert_true(pp_request_log_set(1));
    for (int i = 0; i < PP_REQUEST_PLACES + 5; i++) {
        snprintf(name, sizeof(name), "s3://b/%d/k", i);
        add((uint64_t)i, "a:1", name);
    }
    assert_int_equal(pp_request_log_take(taken, PP_REQUESTS_KEPT), PP_REQUEST_PLACES + 5);
    assert_int_equal(taken[PP_REQUEST_PLACES - 2].place, PP_REQUEST_PLACES - 1);
    assert_int_equal(taken[PP_REQUEST_PLACES + 4].place, 0);
    assert_int_equal(pp_request_log_place(0, &p), 1);
    assert_string_equal(p.prefix, "");
    pp_request_log_set(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_it_keeps_nothing),
        cmocka_unit_test(order_and_places_are_kept),
        cmocka_unit_test(what_does_not_fit_is_counted),
        cmocka_unit_test(too_many_places_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
