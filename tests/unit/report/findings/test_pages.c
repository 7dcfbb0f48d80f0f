/* Pages that are decoded for a part of their bytes: the finding, from counters that were made up for it. */
#include "tests/support/fake_run.h"

#include "report/build/build.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct use { /* of a second */
    double samples, used_bytes, decoded, decoded_bytes, decode_ms;
    double wait, read; /* of the trainer's time; of a worker's */
};

/* 8 s: 80 batches. */
static struct fake_run *begin(const struct use *u, int counted)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "trainer"),
             worker = fake_thread(f, PP_LANE_WORKER, "worker-0");
    for (uint32_t b = 0; b < 80; b++) {
        uint64_t t = FAKE_T0 + b * 100 * FAKE_MS, wait = (uint64_t)(u->wait * 100) * FAKE_MS,
                 read = (uint64_t)(u->read * 100) * FAKE_MS;
        fake_span(f, trainer, PP_PHASE_DATA_WAIT, t, wait)->batch = b;
        fake_span(f, trainer, PP_PHASE_STEP, t + wait, 100 * FAKE_MS - wait)->batch = b;
        fake_span(f, worker, PP_PHASE_READ, t, read)->batch = b;
        fake_span(f, worker, PP_PHASE_DECODE, t + read, 100 * FAKE_MS - read)->batch = b;
    }
    for (int s = 0; s <= 8 && counted; s++) {
        uint64_t t = FAKE_T0 + (uint64_t)s * 1000 * FAKE_MS;
        fake_counter(f, "pages_samples_total", t, 500 + s * u->samples);
        fake_counter(f, "pages_used_bytes_total", t, s * u->used_bytes);
        fake_counter(f, "pages_decoded_total", t, s * u->decoded);
        fake_counter(f, "pages_decoded_bytes_total", t, s * u->decoded_bytes);
        fake_counter(f, "pages_decode_ns_total", t, s * u->decode_ms * 1e6);
    }
    return f;
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

static const struct pp_report_finding *find_kind(const struct pp_report *r, const char *kind)
{
    for (size_t i = 0; i < r->n_findings; i++)
        if (strcmp(r->findings[i].kind, kind) == 0)
            return &r->findings[i];
    return NULL;
}

static const struct pp_report_finding *find(const struct pp_report *r)
{
    return find_kind(r, "read-amplification");
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
        struct fake_run *f = begin(&use, 1);
        for (int s = 0; s <= 8; s++) {
            uint64_t t = FAKE_T0 + (uint64_t)s * 1000 * FAKE_MS;
            fake_counter(f, "pages_lock_ns_total", t, s * rows[i].waiting_ms * 1e6);
            fake_counter(f, "pages_lock_held_ns_total", t, s * rows[i].held_ms * 1e6);
        }
        struct pp_report *r = report(f);
        const struct pp_report_finding *found = find_kind(r, "reader-lock");
        assert_non_null(found);
        assert_null(find(r));
        assert_int_equal(found->state, rows[i].state);
        if (i == 0)
            assert_string_equal(found->sentence,
                                "libhdf5 reads for one thread at a time: its lock was held 95.0 % of "
                                "the time, and 2.8 threads waited for it");
        pp_report_free(r);
        fake_free(f);
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
        struct fake_run *f = begin(&rows[i].use, 1);
        struct pp_report *r = report(f);
        const struct pp_report_finding *found = find(r);
        assert_non_null(found);
        if (found->state != rows[i].state ||
            (found->next_step != NULL) != (rows[i].state == PP_FINDING_FOUND))
            fail_msg("row %zu: %s", i, found->sentence);
        if (i == 0)
            assert_string_equal(found->sentence,
                                "a sample has 1.00 KiB, and 1.00 MiB of pages were decoded for it "
                                "(1024.0 times as many, 1.00 pages, 9.00 ms)");
        pp_report_free(r);
        fake_free(f);
    }
}

static void other_data_has_no_such_row(void **state)
{
    const struct use use = {.wait = 0.5, .read = 0.9};
    struct fake_run *f = begin(&use, 0);
    struct pp_report *r = report(f);
    assert_null(find(r));
    pp_report_free(r);
    fake_free(f);
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
