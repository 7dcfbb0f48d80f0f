/* Requests to remote storages: the three findings, each from counters that were made up for it, and none
 * where the data are local. */
#include "tests/support/fake_run.h"

#include "report/build/build.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct use { /* of a second */
    double requests, throttled, connections, busy_ms, first_ms, setup_ms;
    double read; /* share of a worker's time */
};

/* 8 s: 80 batches, of each of which half is a wait. */
static struct fake_run *begin(const struct use *u)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"), worker[2];
    worker[0] = fake_thread(f, PP_LANE_WORKER, "worker-0");
    worker[1] = fake_thread(f, PP_LANE_WORKER, "worker-1");
    for (uint32_t b = 0; b < 80; b++) {
        uint64_t t = FAKE_T0 + b * 100 * FAKE_MS, read = (uint64_t)(u->read * 100) * FAKE_MS;
        fake_span(f, trainer, PP_PHASE_DATA_WAIT, t, 50 * FAKE_MS)->batch = b;
        fake_span(f, trainer, PP_PHASE_STEP, t + 50 * FAKE_MS, 50 * FAKE_MS)->batch = b;
        for (int i = 0; i < 2; i++) {
            fake_span(f, worker[i], PP_PHASE_READ, t, read)->batch = b;
            fake_span(f, worker[i], PP_PHASE_DECODE, t + read, 100 * FAKE_MS - read)->batch = b;
        }
    }
    return f;
}

static void count(struct fake_run *f, const struct use *u)
{
    for (int s = 0; s <= 8; s++) {
        uint64_t t = FAKE_T0 + (uint64_t)s * 1000 * FAKE_MS;
        fake_counter(f, "remote_requests_total", t, 1000 + s * u->requests);
        fake_counter(f, "remote_throttled_total", t, s * u->throttled);
        fake_counter(f, "remote_failed_total", t, s * u->throttled);
        fake_counter(f, "remote_retries_total", t, s * u->throttled);
        fake_counter(f, "remote_connections_total", t, 900 + s * u->connections);
        fake_counter(f, "remote_bytes_total", t, s * 1e6);
        fake_counter(f, "remote_busy_ns_total", t, 7e9 + s * u->busy_ms * 1e6);
        fake_counter(f, "remote_first_byte_ns_total", t, 6e9 + s * u->first_ms * 1e6);
        fake_counter(f, "remote_connect_ns_total", t, s * u->setup_ms / 2 * 1e6);
        fake_counter(f, "remote_tls_ns_total", t, s * u->setup_ms / 2 * 1e6);
        fake_counter(f, "remote_other", t, -1);
    }
}

static const struct pp_report_finding *find(const struct pp_report *r, const char *kind)
{
    for (size_t i = 0; i < r->n_findings; i++)
        if (strcmp(r->findings[i].kind, kind) == 0)
            return &r->findings[i];
    return NULL;
}

static double number(const struct pp_report_finding *f, const char *name)
{
    for (size_t i = 0; i < f->numbers; i++)
        if (strcmp(f->number[i].name, name) == 0)
            return f->number[i].value;
    fail_msg("%s has no number %s", f->kind, name);
    return NAN;
}

static struct pp_report *report(struct fake_run *f)
{
    struct pp_source source = fake_source(f);
    struct pp_report *r = NULL;
    struct pp_err err = {0};
    if (pp_report_from(&source, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    return r;
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
        {{60, 0, 60, 1800, 400, 600, 0.9}, {0, 0, 1}},
        {{60, 0, 60, 1800, 400, 60, 0.9}, {0, 0, 0}}, /* new connections, but cheap ones */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = begin(&rows[i].use);
        count(f, &rows[i].use);
        struct pp_report *r = report(f);
        for (int k = 0; k < 3; k++) {
            const struct pp_report_finding *found = find(r, kinds[k]);
            assert_non_null(found);
            if ((found->state == PP_FINDING_FOUND) != rows[i].found[k] ||
                (found->next_step != NULL) != rows[i].found[k])
                fail_msg("row %zu, %s: %s", i, kinds[k], found->sentence);
        }
        if (i == 0) {
            const struct pp_report_finding *latency = find(r, kinds[0]);
            assert_true(fabs(number(latency, "in_flight") - 1.8) < 0.01);
            assert_true(fabs(number(latency, "needed_in_flight") - 3.6) < 0.01);
            assert_true(fabs(number(latency, "mean_s") - 0.030) < 1e-6);
            assert_string_equal(
                latency->sentence,
                "too few requests in flight for the latency of the storage: a request takes 30.0 ms, of which "
                "28.0 ms (93.3 %) until its first byte; 1.8 in flight, and a trainer that does not wait needs 3.6");
        }
        pp_report_free(r);
        fake_free(f);
    }
}

static void local_data_has_no_such_rows(void **state)
{
    const struct use use = {.read = 0.9};
    struct fake_run *f = begin(&use);
    struct pp_report *r = report(f);
    assert_null(find(r, "remote-latency"));
    pp_report_free(r);
    fake_free(f);
}

static void few_requests_are_not_judged(void **state)
{
    const struct use use = {.requests = 1, .throttled = 1, .busy_ms = 100, .first_ms = 90, .read = 0.9};
    struct fake_run *f = begin(&use);
    count(f, &use);
    struct pp_report *r = report(f);
    assert_int_equal(find(r, "remote-throttled")->state, PP_FINDING_NOT_MEASURED);
    assert_non_null(find(r, "remote-throttled")->sentence);
    pp_report_free(r);
    fake_free(f);
}

/* A stranger's file: counters that go back, stand still, or are no numbers. */
static void odd_counters_harm_nothing(void **state)
{
    const struct use use = {.read = 0.9};
    struct fake_run *f = begin(&use);
    const double values[] = {INFINITY, NAN, -5, 1e308, 0, 1e308, 3, 2};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        fake_counter(f, "remote_requests_total", i % 2 ? UINT64_MAX : i * 1000 * FAKE_MS, values[i]);
        fake_counter(f, "remote_busy_ns_total", FAKE_T0, values[i]);
    }
    struct pp_report *r = report(f);
    assert_int_equal(find(r, "remote-latency")->state, PP_FINDING_NOT_MEASURED);
    pp_report_free(r);
    fake_free(f);
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
