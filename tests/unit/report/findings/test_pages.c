/* Pages that are decoded for a part of their bytes: the finding, from counters that were made up for it. */
#include "tests/support/findings.h"

struct use { /* of a second */
    double samples, used_bytes, decoded, decoded_bytes, decode_ms;
    double wait, read; /* of the trainer's time; of a worker's */
};

static struct fake_run *begin(const struct use *u)
{
    struct fake_run *f = fake_waits(1, u->wait, u->read);
    fake_counts(f, "pages_samples_total", 500, u->samples);
    fake_counts(f, "pages_used_bytes_total", 0, u->used_bytes);
    fake_counts(f, "pages_decoded_total", 0, u->decoded);
    fake_counts(f, "pages_decoded_bytes_total", 0, u->decoded_bytes);
    fake_counts(f, "pages_decode_ns_total", 0, u->decode_ms * 1e6);
    return f;
}

static void a_lock_that_is_held_is_found(void **state)
{
    static const struct {
        double held_ms, waiting_ms; /* of a second */
        enum pp_finding_state state;
    } rows[] = {{950, 2800, PP_FINDING_FOUND},
                {950, 100, PP_FINDING_NOT_FOUND},
                {300, 700, PP_FINDING_NOT_FOUND}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct use use = {100, 100 * 1024, 0, 0, 0, 0.5, 0.9};
        struct fake_run *f = begin(&use);
        fake_counts(f, "pages_lock_ns_total", 0, rows[i].waiting_ms * 1e6);
        fake_counts(f, "pages_lock_held_ns_total", 0, rows[i].held_ms * 1e6);
        struct pp_report *r = report_of(f);
        const struct pp_report_finding *found = finding(r, "reader-lock");
        assert_null(finding_or_null(r, "read-amplification"));
        assert_int_equal(found->state, rows[i].state);
        if (i == 0)
            assert_string_equal(found->sentence,
                                "libhdf5 reads for one thread at a time: its lock was held 95 % of "
                                "the time, and 2.8 threads waited for it");
        report_done(r, f);
    }
}

static void it_is_found_where_it_owns_the_wait(void **state)
{
    static const struct {
        struct use use;
        enum pp_finding_state state;
    } rows[] = {
        {{100, 100 * 1024, 100, 100 * 1048576.0, 900, 0.5, 0.9}, PP_FINDING_FOUND},
        {{100, 100 * 1024, 100, 100 * 1048576.0, 100, 0.5, 0.2},
         PP_FINDING_NOT_FOUND}, /* the workers decode */
        {{100, 100 * 1024, 100, 100 * 1048576.0, 900, 0.0, 0.9},
         PP_FINDING_NOT_FOUND}, /* the trainer waits for nothing */
        {{100, 100 * 1024, 1, 101 * 1024, 900, 0.5, 0.9}, PP_FINDING_NOT_FOUND}, /* in order */
        {{1, 1024, 1, 1048576, 900, 0.5, 0.9}, PP_FINDING_NOT_MEASURED},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_run *f = begin(&rows[i].use);
        struct pp_report *r = report_of(f);
        const struct pp_report_finding *found = finding(r, "read-amplification");
        if (found->state != rows[i].state ||
            (found->next_step != NULL) != (rows[i].state == PP_FINDING_FOUND))
            fail_msg("row %zu: %s", i, found->sentence);
        if (i == 0)
            assert_string_equal(found->sentence,
                                "read amplification 1,024x: 1.00 MiB of pages decoded per 1.00 KiB sample "
                                "(1.00 pages, 9.00 ms)");
        report_done(r, f);
    }
}

static void other_data_has_no_such_row(void **state)
{
    struct fake_run *f = fake_waits(1, 0.5, 0.9);
    struct pp_report *r = report_of(f);
    assert_null(finding_or_null(r, "read-amplification"));
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_found_where_it_owns_the_wait),
        cmocka_unit_test(a_lock_that_is_held_is_found),
        cmocka_unit_test(other_data_has_no_such_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
