/* Requests to remote storages: the three findings, each from counters that were made up for it, and none
 * where the data are local. */
#include "tests/support/findings.h"

struct use { /* of a second */
    double requests, throttled, connections, busy_ms, first_ms, setup_ms;
    double read; /* share of a worker's time */
};

static void count(struct fake_run *f, const struct use *u)
{
    fake_counts(f, "remote_requests_total", 1000, u->requests);
    fake_counts(f, "remote_throttled_total", 0, u->throttled);
    fake_counts(f, "remote_failed_total", 0, u->throttled);
    fake_counts(f, "remote_retries_total", 0, u->throttled);
    fake_counts(f, "remote_connections_total", 900, u->connections);
    fake_counts(f, "remote_bytes_total", 0, 1e6);
    fake_counts(f, "remote_busy_ns_total", 7e9, u->busy_ms * 1e6);
    fake_counts(f, "remote_first_byte_ns_total", 6e9, u->first_ms * 1e6);
    fake_counts(f, "remote_connect_ns_total", 0, u->setup_ms / 2 * 1e6);
    fake_counts(f, "remote_tls_ns_total", 0, u->setup_ms / 2 * 1e6);
    fake_counts(f, "remote_other", -1, 0);
}

static void each_is_found_by_its_own_counters(void **state)
{
    static const char *const kinds[] = {"remote-latency", "remote-throttled", "remote-connections"};
    const struct {
        struct use use;
        int found[3];
    } rows[] = {
        /* 60 requests/s of 30 ms, 28 of them until the first byte: 1.8 in flight, twice that needed */
        {{60, 0, 0, 1800, 1680, 0, 0.9}, {1, 0, 0}},
        {{60, 0, 0, 1800, 1680, 0, 0.2}, {0, 0, 0}}, /* the workers decode */
        {{60, 0, 0, 1800, 400, 0, 0.9}, {0, 0, 0}},  /* the bytes take the time */
        {{60, 6, 0, 1800, 400, 0, 0.9}, {0, 1, 0}},
        {{60, 6, 0, 1800, 1680, 0, 0.9}, {0, 1, 0}}, /* a store that refuses takes no more at a time */
        {{60, 0, 60, 1800, 400, 600, 0.9}, {0, 0, 1}},
        {{60, 0, 60, 1800, 400, 60, 0.9}, {0, 0, 0}}, /* new connections, but cheap ones */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = fake_waits(2, 0.5, rows[i].use.read);
        count(f, &rows[i].use);
        struct pp_report *r = report_of(f);
        for (int k = 0; k < 3; k++) {
            const struct pp_report_finding *found = finding(r, kinds[k]);
            if ((found->state == PP_FINDING_FOUND) != rows[i].found[k] ||
                (found->next_step != NULL) != rows[i].found[k])
                fail_msg("row %zu, %s: %s", i, kinds[k], found->sentence);
        }
        if (i == 0) {
            const struct pp_report_finding *latency = finding(r, kinds[0]);
            assert_true(fabs(number(latency, "in_flight") - 1.8) < 0.01);
            assert_true(fabs(number(latency, "needed_in_flight") - 3.6) < 0.01);
            assert_true(fabs(number(latency, "mean_s") - 0.030) < 1e-6);
            assert_string_equal(
                latency->sentence,
                "too few requests in flight for the latency of the storage: a request takes 30.0 ms, of which "
                "28.0 ms (93 %) until its first byte; 1.8 in flight, and a trainer that does not wait needs 3.6");
        }
        report_done(r, f);
    }
}

static void local_data_has_no_such_rows(void **state)
{
    struct fake_run *f = fake_waits(2, 0.5, 0.9);
    struct pp_report *r = report_of(f);
    assert_null(finding_or_null(r, "remote-latency"));
    report_done(r, f);
}

static void few_requests_are_not_judged(void **state)
{
    const struct use use = {.requests = 1, .throttled = 1, .busy_ms = 100, .first_ms = 90, .read = 0.9};
    struct fake_run *f = fake_waits(2, 0.5, 0.9);
    count(f, &use);
    struct pp_report *r = report_of(f);
    assert_int_equal(finding(r, "remote-throttled")->state, PP_FINDING_NOT_MEASURED);
    assert_non_null(finding(r, "remote-throttled")->sentence);
    report_done(r, f);
}

/* A stranger's file: counters that go back, stand still, or are no numbers. */
static void odd_counters_harm_nothing(void **state)
{
    struct fake_run *f = fake_waits(2, 0.5, 0.9);
    const double values[] = {INFINITY, NAN, -5, 1e308, 0, 1e308, 3, 2};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        fake_counter(f, "remote_requests_total", i % 2 ? UINT64_MAX : i * 1000 * FAKE_MS, values[i]);
        fake_counter(f, "remote_busy_ns_total", FAKE_T0, values[i]);
    }
    struct pp_report *r = report_of(f);
    assert_int_equal(finding(r, "remote-latency")->state, PP_FINDING_NOT_MEASURED);
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_found_by_its_own_counters),
        cmocka_unit_test(local_data_has_no_such_rows),
        cmocka_unit_test(few_requests_are_not_judged),
        cmocka_unit_test(odd_counters_harm_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
