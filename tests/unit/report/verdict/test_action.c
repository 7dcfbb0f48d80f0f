/* What a verdict advises: which predicted change it names, with which line to paste, and when it names none.
 */
#include "report/build/parts.h"
#include "report/verdict/action.h"
#include "report/render/answer.h"
#include "report/rules/remedies.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct pp_remedy *remedy_of(const char *knob)
{
    int i = 0;
    while (!pp_remedies[i].knob || strcmp(pp_remedies[i].knob, knob) != 0)
        i++;
    return &pp_remedies[i];
}

static struct pp_report_fix fix(const char *knob, const char *change, double gain, double low, double high)
{
    return (struct pp_report_fix){.remedy = remedy_of(knob),
                                  .knob = knob,
                                  .to = "16",
                                  .text = "",
                                  .set = strcmp(knob, "inflight") == 0 ? "inflight=16" : change,
                                  .change = change,
                                  .gain = gain,
                                  .low = low,
                                  .high = high,
                                  .samples_per_s = 100 * (1 + gain)};
}

/* What the advice of these fixes says of the gain; "" where it says nothing. */
static const char *advised(struct pp_report *r, struct pp_report_fix *fixes, size_t n,
                           char text[PP_ANSWER_TEXT])
{
    static struct pp_arena arena;
    r->verdict.l1 = "loader";
    r->verdict.l0 = "input-bound";
    if (!r->verdict.remedy)
        r->verdict.remedy = &pp_remedies[PP_REMEDY_MORE_WORKERS];
    r->verdict.fixes = fixes;
    r->verdict.n_fixes = n;
    r->own_loader = 1;
    pp_changes_advise(r, &arena);
    pp_action_choose(r, &arena);
    return pp_answer(r, PP_ANSWER_PREDICTED, text) ? text : "";
}

static void test_a_gain_is_advised_with_its_number(void **state)
{
    struct pp_report r = {0};
    struct pp_report_fix fixes[] = {fix("workers", "num_workers=16", 0.5, 0.3, 0.7)};
    char text[PP_ANSWER_TEXT];
    assert_string_equal(advised(&r, fixes, 1, text), "num_workers=16: 150 samples/s, +50 % (+30 to +70 %)");
    assert_ptr_equal(r.verdict.action.fix, &r.verdict.fixes[0]);
    assert_string_equal(r.verdict.action.fix->knob, fixes[0].knob);
    assert_null(r.verdict.action.candidate);
    assert_non_null(strstr(r.verdict.action.python, "num_workers=16"));
}

/* The rate that it rests on was not measured: it is listed, and the next step promises what was recorded. */
static void test_a_published_rate_promises_nothing(void **state)
{
    struct pp_report r = {0};
    struct pp_report_fix fixes[] = {fix("gpu-decode", "decode on the GPU (nvJPEG)", 2, 1.5, 3),
                                    fix("workers", "num_workers=16", 0.5, 0.3, 0.7)};
    char text[PP_ANSWER_TEXT];
    assert_string_equal(advised(&r, fixes, 2, text), "num_workers=16: 150 samples/s, +50 % (+30 to +70 %)");
    assert_string_equal(advised(&r, fixes, 1, text), "");
    assert_null(r.verdict.action.candidate);
}

/* "+8 % (-10 to +28)" is no promise, and no line with that number is there to paste. */
static void test_an_interval_that_holds_nothing_is_no_gain(void **state)
{
    struct pp_report r = {0};
    struct pp_report_fix fixes[] = {fix("workers", "num_workers=16", 0.08, -0.1, 0.28)};
    char text[PP_ANSWER_TEXT];
    assert_string_equal(advised(&r, fixes, 1, text),
                        "uncertain. Best guess: num_workers=16, +8 % (-10 to +28 %)");
    assert_null(r.verdict.action.fix);
    assert_ptr_equal(r.verdict.action.candidate, &r.verdict.fixes[0]);
    assert_int_equal(r.verdict.fixes[0].advice, PP_ADVICE_MEASURE);
    assert_true(!r.verdict.action.python || !strstr(r.verdict.action.python, "16"));
    assert_true(!r.verdict.action.command || !strstr(r.verdict.action.command, "16"));

    r = (struct pp_report){0}; /* an end at 0 is none either */
    fixes[0].low = 0;
    advised(&r, fixes, 1, text);
    assert_null(r.verdict.action.fix);
}

/* The largest gain may be the least certain. */
static void test_a_sure_gain_goes_before_a_larger_one(void **state)
{
    struct pp_report r = {0};
    struct pp_report_fix fixes[] = {fix("cpus", "exclusive CPUs", 0.4, -0.2, 0.9),
                                    fix("workers", "num_workers=16", 0.2, 0.1, 0.3)};
    char text[PP_ANSWER_TEXT];
    advised(&r, fixes, 2, text);
    assert_ptr_equal(r.verdict.action.fix, &r.verdict.fixes[0]);
    assert_string_equal(r.verdict.action.fix->knob, fixes[1].knob);
    assert_null(r.verdict.action.candidate);
}

/* A quick report has no intervals, and what gains under 3 % is no candidate. */
static void test_without_an_interval_the_number_stands(void **state)
{
    struct pp_report r = {0};
    struct pp_report_fix fixes[] = {fix("workers", "num_workers=16", 0.2, NAN, NAN)};
    char text[PP_ANSWER_TEXT];
    assert_string_equal(advised(&r, fixes, 1, text), "num_workers=16: 120 samples/s, +20 %");
    r = (struct pp_report){0};
    fixes[0] = fix("workers", "num_workers=16", 0.02, -0.01, 0.05);
    assert_string_equal(advised(&r, fixes, 1, text), "");
    assert_null(r.verdict.action.candidate);
}

static void test_the_assumption_is_the_advised_fix_s(void **state)
{
    struct pp_report r = {0};
    struct pp_report_fix fixes[] = {fix("workers", "num_workers=16", 5, 0.6, 5.2)};
    char text[PP_ANSWER_TEXT];
    fixes[0].assumes = "storage serves 16 parallel reads as fast as the 2 recorded";
    advised(&r, fixes, 1, text);
    assert_string_equal(pp_answer(&r, PP_ANSWER_ASSUMES, text), fixes[0].assumes);
    r = (struct pp_report){0};
    fixes[0].low = -0.1; /* what is not advised assumes nothing */
    advised(&r, fixes, 1, text);
    assert_null(pp_answer(&r, PP_ANSWER_ASSUMES, text));
}

/* Reads in flight are of each worker; a DataLoader's workers have one each. */
static void test_reads_in_flight_are_said_as_workers(void **state)
{
    static const struct {
        double workers_gain;
        const char *recorded, *line;
    } rows[] = {{0.1, "2", "num_workers=32"}, {0.95, "2", "num_workers=24"}, {0.1, "2; rm -rf", NULL}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_report_pair config = {.key = "workers", .value = rows[i].recorded};
        struct pp_report r = {.config = &config, .n_config = 1};
        struct pp_report_fix fixes[] = {fix("inflight", "more reads in flight per worker", 1, 0.8, 1.2),
                                        fix("workers", "num_workers=24", rows[i].workers_gain, 0.05, 1)};
        char text[PP_ANSWER_TEXT];
        fixes[1].to = "24";
        r.verdict.remedy = &pp_remedies[PP_REMEDY_REMOTE_IN_FLIGHT];
        advised(&r, fixes, 2, text);
        assert_ptr_equal(r.verdict.action.fix, &r.verdict.fixes[0]);
        assert_string_equal(r.verdict.action.fix->knob, fixes[0].knob);
        assert_non_null(strstr(r.verdict.action.command, "--inflight 16"));
        if (rows[i].line)
            assert_non_null(strstr(r.verdict.action.python, rows[i].line));
        else
            assert_true(!r.verdict.action.python || !strstr(r.verdict.action.python, "num_workers"));
    }
}

/* A DataLoader's job that ended early is not told to map ranges. */
static void test_a_job_of_one_batch_lacks_another(void **state)
{
    static const struct {
        const char *source;
        pp_phase wait;
        const char *advice;
    } rows[] = {{"pytorch", PP_PHASE_DATA_WAIT, "Record more batches"},
                {"pytorch", PP_PHASE_GET_WAIT, "--map"}, /* another thread takes them */
                {"nvtx", PP_PHASE_DATA_WAIT, "--map"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_report_pair config = {.key = "source", .value = rows[i].source};
        struct pp_report_phase wait = {.phase = rows[i].wait, .lane = PP_LANE_TRAINER, .count = 1};
        struct pp_report r = {.config = &config,
                              .n_config = 1,
                              .phases = &wait,
                              .n_phases = 1,
                              .spans = 9,
                              .batches = 1,
                              .subject_kind = PP_SUBJECT_JOB,
                              .verdict = {.l0 = "inconclusive"}};
        struct pp_arena arena = {0};
        pp_action_choose(&r, &arena);
        assert_non_null(strstr(r.verdict.next_step, rows[i].advice));
        assert_int_equal(strstr(r.verdict.sentence, "before its second batch") != NULL, i == 0);
        pp_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_gain_is_advised_with_its_number),
        cmocka_unit_test(test_a_published_rate_promises_nothing),
        cmocka_unit_test(test_an_interval_that_holds_nothing_is_no_gain),
        cmocka_unit_test(test_a_sure_gain_goes_before_a_larger_one),
        cmocka_unit_test(test_without_an_interval_the_number_stands),
        cmocka_unit_test(test_the_assumption_is_the_advised_fix_s),
        cmocka_unit_test(test_a_job_of_one_batch_lacks_another),
        cmocka_unit_test(test_reads_in_flight_are_said_as_workers),
    };
    return cmocka_run_group_tests_name("action", tests, NULL, NULL);
}
