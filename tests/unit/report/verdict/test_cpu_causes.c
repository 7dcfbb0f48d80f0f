/* What the rules of the verdict say of CPUs that are short, busy or taken by others. */
#include "report/build/parts.h"
#include "report/verdict/verdict.h"
#include "tests/support/made_facts.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The trainer's own step does not get a CPU: it is this run's workers that take it, or somebody else; the
 * cause is never called waiting for data. */
static void test_who_crowds_the_trainer(void **state)
{
    static const struct {
        double own_crowd, workers_per_cpu;
        const char *l1, *l2;
    } rows[] = {{0.7, 4, "loader", "oversubscribed"},
                {0.2, 4, "transform", "cpu-contended"},
                {0.7, 1, "transform", "cpu-contended"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.03, 0.82);
        f.metric[PP_METRIC_W_WORK] = 0.99, f.metric[PP_METRIC_G_WORK] = 0.3, f.metric[PP_METRIC_G_FEWER] = 0,
        f.metric[PP_METRIC_G_CPUS] = 2, f.metric[PP_METRIC_CPUS_LEAD] = f.metric[PP_METRIC_LEAD_CPUS] = 1,
        f.metric[PP_METRIC_CONTENDED] = 0.3, f.metric[PP_METRIC_IDLE_CPUS] = 0.05;
        f.metric[PP_METRIC_WORKERS] = 8, f.metric[PP_METRIC_CPUS] = 8 / rows[i].workers_per_cpu,
        f.metric[PP_METRIC_WORKERS_PER_CPU] = rows[i].workers_per_cpu;
        f.metric[PP_METRIC_OWN_CROWD] = rows[i].own_crowd;
        pp_verdict_judge(&f, &arena, &v);
        assert_string_equal(v.l1, rows[i].l1);
        assert_string_equal(v.l2, rows[i].l2);
        assert_true(fabs(v.exposed_share - 0.85) < 1e-9);
        assert_null(strstr(v.cause, "waits for data"));
        assert_null(strchr(v.cause, '{'));
        assert_null(strstr(v.cause, " - ")); /* no value that is not known */
        pp_arena_free(&arena);
    }
}

/* One worker on two CPUs. Other processes use a fifth to a half of the CPUs: whether they lack is decided by
 * what is idle, and not by how much the others use. */
static void test_cpus_are_contended_only_where_they_are_short(void **state)
{
    static const struct {
        double contended, idle;
        const char *l1, *l2;
    } rows[] = {{0.19, 0.31, "loader", "under-parallel"},   {0.22, 0.3, "loader", "under-parallel"},
                {0.44, 0.2, "loader", "under-parallel"},    {0.44, 0.04, "transform", "cpu-contended"},
                {0.19, 0.04, "transform", "cpu-contended"}, {0.02, 0.04, "transform", "cpu-saturated"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.6, 0);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_OWNER] = PP_PHASE_DECODE;
        f.metric[PP_METRIC_OWNER_BLOCKED] = 0, f.metric[PP_METRIC_SATURATION] = 0.48;
        f.metric[PP_METRIC_W_WORK] = 0.99, f.metric[PP_METRIC_G_WORKERS] = 0.03,
        f.metric[PP_METRIC_G_CPUS] = 0.02;
        f.metric[PP_METRIC_G_CPUS_WORKERS] = 1, f.metric[PP_METRIC_CPUS_LEAD] = -0.2;
        f.metric[PP_METRIC_WORKERS] = 1, f.metric[PP_METRIC_CPUS] = 2,
        f.metric[PP_METRIC_WORKERS_PER_CPU] = 0.5;
        f.metric[PP_METRIC_CONTENDED] = rows[i].contended, f.metric[PP_METRIC_IDLE_CPUS] = rows[i].idle;
        f.metric[PP_METRIC_BUSY_CPUS] = 1 - rows[i].idle;
        pp_verdict_judge(&f, &arena, &v);
        if (!v.l1 || !v.l2 || strcmp(v.l1, rows[i].l1) != 0 || strcmp(v.l2, rows[i].l2) != 0)
            fail_msg("row %zu: %s", i, v.cause ? v.cause : v.reason);
        pp_arena_free(&arena);
    }
}

/* Workers that start and end with every epoch leave CPUs idle meanwhile. With one for every usable CPU, and
 * without a gain of more, it is not that they are too few. */
static void test_a_worker_for_every_cpu_is_not_too_few(void **state)
{
    static const struct {
        double workers_per_cpu, more, work;
        const char *l1, *l2;
    } rows[] = {{1, 0, 0.76, "transform", "cpu-saturated"},    {2, 0.05, 0.76, "transform", "cpu-saturated"},
                {0.5, 0.05, 0.76, "loader", "under-parallel"}, {1, 0.2, 0.76, "loader", "under-parallel"},
                {1, 0, 0.05, "loader", "under-parallel"},      {1, NAN, NAN, "loader", "under-parallel"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.78, 0.07);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_OWNER] = PP_PHASE_COLLATE;
        f.metric[PP_METRIC_OWNER_BLOCKED] = 0, f.metric[PP_METRIC_OWNER_DELAY] = 0.02,
        f.metric[PP_METRIC_SATURATION] = 0.83, f.metric[PP_METRIC_IDLE_CPUS] = 0.16,
        f.metric[PP_METRIC_BUSY_CPUS] = 0.84, f.metric[PP_METRIC_CONTENDED] = 0;
        f.metric[PP_METRIC_W_WORK] = rows[i].work > 0 ? 0.99 : NAN, f.metric[PP_METRIC_G_WORK] = rows[i].work,
        f.metric[PP_METRIC_G_WORKERS] = rows[i].more;
        f.metric[PP_METRIC_WORKERS] = 2, f.metric[PP_METRIC_CPUS] = 2 / rows[i].workers_per_cpu,
        f.metric[PP_METRIC_WORKERS_PER_CPU] = rows[i].workers_per_cpu;
        pp_verdict_judge(&f, &arena, &v);
        if (!v.l1 || !v.l2 || strcmp(v.l1, rows[i].l1) != 0 || strcmp(v.l2, rows[i].l2) != 0)
            fail_msg("row %zu: %s", i, v.cause ? v.cause : v.reason);
        assert_null(strchr(v.cause, '{'));
        pp_arena_free(&arena);
    }
}

/* Batches that are delayed on their way: a shallow prefetch, or no CPU for what passes them on. */
static void test_a_late_hand_off_may_lack_a_cpu(void **state)
{
    static const struct {
        double contended, idle;
        const char *l1, *l2;
    } rows[] = {{0.5, 0.02, "transform", "cpu-contended"},
                {0.5, 0.3, "loader", ""},
                {0.02, 0.02, "loader", ""},
                {NAN, NAN, "loader", ""}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.06, 0);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_WORKER_IDLE] = 0.6;
        f.metric[PP_METRIC_CONTENDED] = rows[i].contended, f.metric[PP_METRIC_IDLE_CPUS] = rows[i].idle;
        pp_verdict_judge(&f, &arena, &v);
        if (!v.l1 || strcmp(v.l1, rows[i].l1) != 0 || strcmp(v.l2 ? v.l2 : "", rows[i].l2) != 0)
            fail_msg("row %zu: %s", i, v.cause ? v.cause : v.reason);
        assert_null(strchr(v.cause, '{'));
        pp_arena_free(&arena);
    }
}

/* Others take the CPUs; the job's own work comes second, where it is worth a change once they are gone. */
static void test_the_jobs_own_cause_comes_second(void **state)
{
    for (int worth = 0; worth < 2; worth++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.1, 0.5);
        f.metric[PP_METRIC_OWNER] = PP_PHASE_TRANSFORM;
        f.metric[PP_METRIC_W_WORK] = 1, f.metric[PP_METRIC_G_WORK] = 0.1, f.metric[PP_METRIC_G_CPUS] = 0.8;
        f.metric[PP_METRIC_TRANSFORM_PART] = 0.9, f.text[PP_METRIC_SAMPLE_CODE] = "Rows.__getitem__";
        f.metric[PP_METRIC_CPUS_LEAD] = f.metric[PP_METRIC_LEAD_CPUS] = 0.5;
        f.metric[PP_METRIC_OWNER_DELAY] = 0.7, f.metric[PP_METRIC_OWNER_BLOCKED] = 0;
        f.metric[PP_METRIC_CONTENDED] = 0.5, f.metric[PP_METRIC_IDLE_CPUS] = 0.01;
        memcpy(f.own, f.metric, sizeof(f.own));
        f.has_own = 1;
        f.own[PP_METRIC_CONTENDED] = f.own[PP_METRIC_G_CPUS] = f.own[PP_METRIC_STRETCH] = 0;
        f.own[PP_METRIC_DATA_WAIT] = 0.3, f.own[PP_METRIC_G_WORK] = worth ? 0.4 : 0.1;
        pp_verdict_judge(&f, &arena, &v);
        assert_string_equal(v.l2, "cpu-contended");
        assert_int_equal(v.then_l2 && strcmp(v.then_l2, "getitem") == 0, worth);
        if (worth)
            assert_non_null(strstr(v.then, "Find the expensive line of Rows.__getitem__"));
        pp_arena_free(&arena);
    }
}

/* What it says of the CPUs is of those that it would have: 5 % in use, where others take 85 %, is no
 * shortage. More workers are none of it where they gain nothing then. */
static void second_cause_with(double g_workers)
{
    struct pp_arena arena = {0};
    struct pp_report_verdict v;
    struct pp_facts f = starved_facts(0.9, 0.05);
    f.metric[PP_METRIC_OWNER] = PP_PHASE_TRANSFORM, f.metric[PP_METRIC_WORKERS] = 1;
    f.metric[PP_METRIC_W_WORK] = 1, f.metric[PP_METRIC_G_CPUS] = 2.7;
    f.metric[PP_METRIC_CPUS_LEAD] = f.metric[PP_METRIC_LEAD_CPUS] = 0.5;
    f.metric[PP_METRIC_OWNER_DELAY] = 0.7, f.metric[PP_METRIC_OWNER_BLOCKED] = 0;
    f.metric[PP_METRIC_CONTENDED] = 0.85, f.metric[PP_METRIC_IDLE_CPUS] = 0.01,
    f.metric[PP_METRIC_BUSY_CPUS] = 0.99;
    memcpy(f.own, f.metric, sizeof(f.own));
    f.has_own = 1;
    f.own[PP_METRIC_CONTENDED] = f.own[PP_METRIC_G_CPUS] = f.own[PP_METRIC_STRETCH] = 0;
    f.own[PP_METRIC_DATA_WAIT] = 0.9, f.own[PP_METRIC_G_WORKERS] = g_workers;
    f.own[PP_METRIC_BUSY_CPUS] = 0.52, f.own[PP_METRIC_IDLE_CPUS] = 0.48;
    pp_verdict_judge(&f, &arena, &v);
    assert_string_equal(v.l2, "cpu-contended");
    if (g_workers >= PP_WORTH_A_FIX) {
        assert_string_equal(v.then_l2, "under-parallel");
        assert_ptr_equal(strstr(v.then, "alone on these CPUs, there are too few workers."), v.then);
        assert_non_null(strstr(v.then, "while only 52 % of the CPUs are in use"));
    } else {
        assert_null(v.then);
    }
    pp_arena_free(&arena);
}

static void test_the_second_cause_has_its_own_cpus(void **state)
{
    second_cause_with(0.8);
    second_cause_with(-0.12);
}

/* CPUs that the job takes from itself are no other job's. */
static void test_subprocesses_of_the_job_are_no_strangers(void **state)
{
    for (int own = 0; own < 2; own++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.06, 0);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_WORKER_IDLE] = 0.6;
        f.metric[PP_METRIC_CONTENDED] = 0.5, f.metric[PP_METRIC_IDLE_CPUS] = 0.02;
        f.metric[PP_METRIC_SUBPROCESSES] = own ? 0.26 : 0.24;
        pp_verdict_judge(&f, &arena, &v);
        assert_string_equal(v.l2, "cpu-contended");
        assert_int_equal(strstr(v.cause, "Subprocesses of the job take 50 %") != NULL, own);
        assert_int_equal(strstr(v.cause, "Other processes take 50 %") != NULL, !own);
        assert_int_equal(strstr(v.next_step, "Start fewer subprocesses") != NULL, own);
        assert_int_equal(strstr(v.next_step, "Move other processes") != NULL, !own);
        int shown = 0;
        for (size_t i = 0; i < v.evidences; i++)
            shown += strcmp(v.evidence[i].name, pp_metric_facts[PP_METRIC_SUBPROCESSES].text) == 0;
        assert_int_equal(shown, 1);
        pp_arena_free(&arena);
    }
}

/* Delays for a CPU, where neither others nor subprocesses used one: a quota may be the reason. */
static void test_nobody_else_is_told_to_move(void **state)
{
    struct pp_arena arena = {0};
    struct pp_report_verdict v;
    struct pp_facts f = starved_facts(0.06, 0);
    f.starved = f.starved_alone = 0;
    f.metric[PP_METRIC_OWNER] = PP_PHASE_DECODE;
    f.metric[PP_METRIC_OWNER_BLOCKED] = 0, f.metric[PP_METRIC_OWNER_DELAY] = 0.3;
    f.metric[PP_METRIC_SATURATION] = 0.5;
    f.metric[PP_METRIC_CONTENDED] = f.metric[PP_METRIC_SUBPROCESSES] = 0;
    f.metric[PP_METRIC_IDLE_CPUS] = 0.02;
    pp_verdict_judge(&f, &arena, &v);
    assert_string_equal(v.l2, "oversubscribed");
    assert_null(strstr(v.next_step, "other processes"));
    pp_arena_free(&arena);
}

/* Where the replay does not come out, whose threads take the trainer's CPU is not known; and the owner of the
 * little wait there is has not taken it. */
static void test_a_starved_trainer_is_not_charged_to_who_owns_the_waits(void **state)
{
    struct pp_arena arena = {0};
    struct pp_report_verdict v;
    struct pp_facts f = starved_facts(0.04, 0.76);
    pp_verdict_judge(&f, &arena, &v);
    assert_string_equal(v.l0, "input-bound");
    assert_null(v.l1);
    assert_non_null(strstr(v.reason, "does not reproduce the run"));
    assert_non_null(strstr(v.next_step, "without background load"));
    pp_arena_free(&arena);
}

/* Workers that wait in code of their own: not the CPUs are short, and no file is read. */
static void test_blocked_work_is_no_want_of_cpu(void **state)
{
    static const struct {
        double elsewhere, faults, helpers, idle;
        const char *l1, *l2;
    } rows[] = {{0.8, 0, NAN, NAN, "loader", "blocked"},
                {0.3, 0, NAN, NAN, "transform", "augment"},
                {0.8, 40, NAN, NAN, "storage", "major-faults"}, /* what it touches is not in memory */
                {0.3, 40, NAN, NAN, "transform", "augment"},
                /* a decoder's threads: they wait for a CPU, and the sample for them */
                {0.8, 0, 0.7, 0.01, "transform", "getitem"},
                {0.8, 0, 0.7, 0.5, "loader", "blocked"},
                {0.8, 0, 0.1, 0.01, "loader", "blocked"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.6, 0);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_OWNER] = PP_PHASE_TRANSFORM;
        f.metric[PP_METRIC_OWNER_BLOCKED] = rows[i].elsewhere;
        f.metric[PP_METRIC_W_WORK] = 0.99, f.metric[PP_METRIC_TRANSFORM_PART] = 0.9;
        f.metric[PP_METRIC_BLOCKED_ELSEWHERE] = rows[i].elsewhere,
        f.metric[PP_METRIC_MAJOR_FAULTS] = rows[i].faults;
        f.metric[PP_METRIC_HELPER_PART] = rows[i].helpers, f.metric[PP_METRIC_IDLE_CPUS] = rows[i].idle;
        if (!isnan(rows[i].helpers))
            f.metric[PP_METRIC_SAMPLE_CODE] = 1, f.text[PP_METRIC_SAMPLE_CODE] = "Clips.__getitem__";
        pp_verdict_judge(&f, &arena, &v);
        if (!v.l1 || !v.l2 || strcmp(v.l1, rows[i].l1) != 0 || strcmp(v.l2, rows[i].l2) != 0)
            fail_msg("row %zu: %s", i, v.cause ? v.cause : v.reason);
        pp_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_crowds_the_trainer),
        cmocka_unit_test(test_cpus_are_contended_only_where_they_are_short),
        cmocka_unit_test(test_a_worker_for_every_cpu_is_not_too_few),
        cmocka_unit_test(test_a_late_hand_off_may_lack_a_cpu),
        cmocka_unit_test(test_subprocesses_of_the_job_are_no_strangers),
        cmocka_unit_test(test_the_jobs_own_cause_comes_second),
        cmocka_unit_test(test_the_second_cause_has_its_own_cpus),
        cmocka_unit_test(test_nobody_else_is_told_to_move),
        cmocka_unit_test(test_a_starved_trainer_is_not_charged_to_who_owns_the_waits),
        cmocka_unit_test(test_blocked_work_is_no_want_of_cpu),
    };
    return cmocka_run_group_tests_name("cpu_causes", tests, NULL, NULL);
}
