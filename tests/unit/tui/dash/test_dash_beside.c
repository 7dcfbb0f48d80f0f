/* What is worked out beside the display, on threads of its own: the verdict and the prediction. */
#include "tests/support/dash_fixture.h"

#include "report/build/build.h"
#include "tui/dash/verdict.h"

#include <math.h>

/* What is judged at a glance is judged the same; only intervals and series are left out. */
static void test_glance_is_the_verdict(void **state)
{
    struct pp_report *whole, *glance;
    assert_int_equal(pp_report_build(dash_run->path, &whole, NULL), PP_OK);
    assert_int_equal(pp_verdict_of(dash_run->path, NULL, NULL, &glance, NULL), PP_OK);
    assert_string_equal(glance->verdict.sentence, whole->verdict.sentence);
    assert_string_equal(glance->verdict.next_step, whole->verdict.next_step);
    assert_true(glance->verdict.confidence == whole->verdict.confidence &&
                isfinite(whole->verdict.confidence));
    assert_true(whole->verdict.n_fixes > 0);
    assert_int_equal(glance->verdict.n_fixes, whole->verdict.n_fixes);
    for (size_t i = 0; i < whole->verdict.n_fixes; i++) {
        assert_string_equal(glance->verdict.fixes[i].knob, whole->verdict.fixes[i].knob);
        assert_true(glance->verdict.fixes[i].gain == whole->verdict.fixes[i].gain &&
                    isnan(glance->verdict.fixes[i].low) && isfinite(whole->verdict.fixes[i].low));
    }
    pp_report_free(whole);
    pp_report_free(glance);
}

/* The two threads beside the display: verdict and prediction come, and an answer says which question it is
 * for. */
static void test_threads_beside(void **state)
{
    struct pp_verdicts *v = pp_verdicts_start(dash_run->path, PP_VERDICTS_SHARE, 0);
    struct pp_predictor *p = pp_predictor_start(dash_run->path);
    const struct pp_report *r = NULL;
    struct pp_predicted answer = {.set = "none"};
    assert_true(v && p);
    for (int i = 0; i < 600 && (!r || strcmp(answer.set, "num_workers=4") != 0); i++) {
        pp_predictor_ask(p, i < 3 ? "workers=2" : "num_workers=4", &answer);
        r = pp_verdicts_newest(v, NULL);
        usleep(50000);
    }
    assert_non_null(r);
    assert_string_equal(r->outcome, "finished");
    assert_true(r->verdict.sentence && r->verdict.sentence[0]);
    assert_string_equal(answer.set, "num_workers=4");
    if (answer.status == PP_OK)
        assert_true(answer.p.low <= answer.p.samples_per_s && answer.p.samples_per_s <= answer.p.high &&
                    answer.measured > 0);
    else
        assert_true(answer.why[0]);
    pp_verdicts_wake(v);
    pp_verdicts_stop(v);
    pp_predictor_stop(p);
    /* of a part: the seconds that stall, and those before, get different verdicts, and each says which part
     * it is of */
    static const struct {
        uint64_t from_s, to_s;
        const char *level;
    } parts[] = {{1030, 1035, "highly"}, {1010, 1025, "not"}, {1030, 1035, "highly"}};
    v = pp_verdicts_start(dash_run->path, PP_VERDICTS_SHARE, 1);
    assert_null(pp_verdicts_newest(v, NULL));
    for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++) {
        uint64_t from = parts[k].from_s * MADE_S, to = parts[k].to_s * MADE_S;
        struct pp_verdict_part of = {0, 0};
        for (int i = 0; i < 600 && (of.from_ns != from || of.to_ns != to); i++) {
            pp_verdicts_ask(v, from, to, 1);
            r = pp_verdicts_newest(v, &of);
            usleep(20000);
        }
        assert_true(r && of.from_ns == from && of.to_ns == to);
        assert_string_equal(r->verdict.level, parts[k].level);
    }
    pp_verdicts_stop(v);
    /* a file that is not there gives no verdict, and stopping does not wait for one */
    v = pp_verdicts_start("/tmp/there/is/no/such.sqlite", PP_VERDICTS_SHARE, 0);
    assert_null(pp_verdicts_newest(v, NULL));
    pp_verdicts_stop(v);
}

/* A share that no time of a test pays for: nothing is built, whatever is asked, and stopping waits for none.
 */
static void test_a_patient_one_is_paid_for_first(void **state)
{
    struct pp_verdicts *v = pp_verdicts_start(dash_run->path, 1e-9, 0),
                       *parts = pp_verdicts_start(dash_run->path, 1e-9, 1);
    assert_true(v && parts);
    for (int i = 0; i < 10; i++) {
        pp_verdicts_wake(v);
        pp_verdicts_ask(parts, 1010 * MADE_S, (1025 + (uint64_t)i) * MADE_S, i % 2);
        usleep(20000);
        assert_null(pp_verdicts_newest(v, NULL));
        assert_null(pp_verdicts_newest(parts, NULL));
    }
    pp_verdicts_stop(v);
    pp_verdicts_stop(parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_glance_is_the_verdict),
        cmocka_unit_test(test_a_patient_one_is_paid_for_first),
        cmocka_unit_test(test_threads_beside),
    };
    return cmocka_run_group_tests_name("dash_beside", tests, dash_setup, dash_teardown);
}
