/* The cache over a storage: its three findings, each from counters that were made up for it, and none where
 * there was no cache. */
#include "tests/support/findings.h"

struct use { /* of a second */
    double requests, hits, cold, again, coalesced;
    double limit, damaged; /* of the run */
    double read;           /* share of a worker's time */
    const char *trouble, *policy;
};

static struct fake_run *begin(const struct use *u)
{
    struct fake_run *f = fake_waits(1, 0.5, u->read);
    if (u->trouble)
        fake_text(f, "cache", "trouble", u->trouble);
    if (u->policy)
        fake_text(f, "config", "cache_policy", u->policy);
    return f;
}

static void count(struct fake_run *f, const struct use *u)
{
    fake_counts(f, "cache_requests_total", 5000, u->requests);
    fake_counts(f, "cache_hits_total", 1000, u->hits);
    fake_counts(f, "cache_cold_total", 4000, u->cold);
    fake_counts(f, "cache_again_total", 0, u->again);
    fake_counts(f, "cache_coalesced_total", 0, u->coalesced);
    fake_counts(f, "cache_wait_ns_total", 0, u->coalesced * 3e6);
    fake_counts(f, "cache_bytes_total", 1e9, u->requests * 1e5);
    fake_counts(f, "cache_hit_bytes_total", 0, u->hits * 1e5);
    fake_counts(f, "cache_page_cache_bytes_total", 0, u->hits * 0.25e5);
    fake_counts(f, "cache_fetched_bytes_total", 0, (u->requests - u->hits) * 1e5);
    fake_counts(f, "cache_limit_bytes", u->limit, 0);
    fake_counts(f, "cache_other", 3, 0);
    for (int s = 0; s <= 8; s++) {
        uint64_t t = FAKE_T0 + (uint64_t)s * 1000 * FAKE_MS;
        fake_counter(f, "cache_damaged_total", t, s < 2 ? 0 : u->damaged);
        fake_counter(f, "cache_data_bytes", t, s < 4 ? 1e8 : 2 * 1024 * 1024 * 1024.0);
    }
}

#define GIB (1024.0 * 1024 * 1024)

static void each_is_found_by_its_own_counters(void **state)
{
    static const char *const kinds[] = {"cache-hits", "cache-thrash", "cache-trouble"};
    static const struct {
        struct use use;
        int found[3];
    } rows[] = {
        {{.requests = 200, .hits = 100, .coalesced = 2, .limit = GIB, .read = 0.9}, {1, 0, 0}},
        {{.requests = 200, .hits = 100, .limit = GIB, .read = 0.2}, {0, 0, 0}}, /* the worker decodes */
        {{.requests = 200, .hits = 20, .cold = 180, .limit = GIB, .read = 0.9},
         {0, 0, 0}}, /* the first epoch */
        {{.requests = 200, .hits = 200, .limit = 4 * GIB, .read = 0.9}, {0, 0, 0}},
        {{.requests = 200, .again = 190, .limit = GIB, .read = 0.9, .policy = "fifo"}, {1, 1, 0}},
        {{.requests = 200, .hits = 199, .again = 1, .limit = GIB, .read = 0.9}, {0, 0, 0}},
        {{.requests = 200, .hits = 200, .limit = 4 * GIB, .damaged = 2}, {0, 0, 1}},
        {{.requests = 200, .hits = 200, .limit = 4 * GIB, .trouble = "the disk is full"}, {0, 0, 1}},
        {{.requests = 1, .hits = 1, .limit = GIB, .trouble = "the disk is full"}, {0, 0, 1}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = begin(&rows[i].use);
        count(f, &rows[i].use);
        struct pp_report *r = report_of(f);
        for (int k = 0; k < 3; k++) {
            const struct pp_report_finding *found = finding(r, kinds[k]);
            if ((found->state == PP_FINDING_FOUND) != rows[i].found[k] ||
                (found->next_step != NULL) != rows[i].found[k])
                fail_msg("row %zu, %s: %s", i, kinds[k], found->sentence);
        }
        const struct pp_report_finding *hits = finding(r, kinds[0]);
        if (i == 0) {
            assert_true(fabs(number(hits, "hit_rate") - 0.5) < 1e-9);
            assert_true(fabs(number(hits, "attainable_rate") - 0.5) < 1e-9);
            assert_true(fabs(number(hits, "page_cache_rate_bytes") - 0.125) < 1e-9);
            assert_string_equal(
                hits->sentence,
                "50 % of 1,600 reads were answered from the cache; of the bytes 50 %: 12 % page cache, 38 % the cache's "
                "disk, and 50 % the storage; attainable 50 % (cache 1.00 GiB, data 2.00 GiB so far); 0.50 bytes fetched per "
                "byte used; 16 reads waited 3.00 ms for another of the same bytes");
        }
        if (i == 4)
            assert_string_equal(
                finding(r, kinds[1])->sentence,
                "1,520 of 1,600 reads fetched again what had made room in this run (policy fifo): 0 % were "
                "hits, 50 % is attainable, by the policy keep");
        if (i == 8)
            assert_int_equal(hits->state, PP_FINDING_NOT_MEASURED);
        report_done(r, f);
    }
}

static void a_run_without_a_cache_has_no_such_rows(void **state)
{
    const struct use use = {.read = 0.9};
    struct fake_run *f = begin(&use);
    struct pp_report *r = report_of(f);
    assert_null(finding_or_null(r, "cache-hits"));
    assert_null(finding_or_null(r, "cache-trouble"));
    report_done(r, f);
}

/* A stranger's file: counters that go back, or are no numbers. */
static void odd_counters_harm_nothing(void **state)
{
    const struct use use = {.read = 0.9};
    const double values[] = {INFINITY, NAN, -5, 1e308, 0, 1e308, 3, 2};
    struct fake_run *f = begin(&use);
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        fake_counter(f, "cache_requests_total", i % 2 ? UINT64_MAX : i * 1000 * FAKE_MS, values[i]);
        fake_counter(f, "cache_bytes_total", FAKE_T0 + i, values[i]);
        fake_counter(f, "cache_data_bytes", FAKE_T0 + i, values[i]);
    }
    struct pp_report *r = report_of(f);
    assert_non_null(finding(r, "cache-hits"));
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_found_by_its_own_counters),
        cmocka_unit_test(a_run_without_a_cache_has_no_such_rows),
        cmocka_unit_test(odd_counters_harm_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
