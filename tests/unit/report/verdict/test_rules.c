/* The tables of the verdict: that rules, remedies and scenarios speak of the same things, and what a rule
 * says of facts made by hand. Their documentation: test_verdict_page.c. */
#include "report/build/parts.h"
#include "report/verdict/verdict.h"
#include "tests/lab/scenario.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct {
    const struct pp_rule *rules;
    const size_t *n;
} blocks[] = {{pp_cause_rules_replay, &pp_cause_rules_replay_n},
              {pp_cause_rules_shares, &pp_cause_rules_shares_n},
              {pp_cause_rules_threads, &pp_cause_rules_threads_n},
              {pp_outside_rules, &pp_outside_rules_n},
              {pp_trace_rules, &pp_trace_rules_n}};
enum { BLOCKS = sizeof(blocks) / sizeof(*blocks) };

static int known_name(const char *name, size_t len)
{
    for (int m = 0; m < PP_METRIC_COUNT; m++)
        if (strlen(pp_metric_facts[m].name) == len && memcmp(pp_metric_facts[m].name, name, len) == 0)
            return 1;
    return len == strlen("file") && memcmp(name, "file", len) == 0; /* of the ranks (ranks_rules.h) */
}

static void check_rules(const struct pp_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *texts[] = {rules[i].said, pp_remedies[rules[i].remedy].sentence};
        for (int t = 0; t < 2; t++)
            for (const char *p = strchr(texts[t], '{'); p; p = strchr(p + 1, '{'))
                if (!known_name(p + 1, strcspn(p + 1, "}|")))
                    fail_msg("%s/%s speaks of %.20s, which is no metric", rules[i].l1, rules[i].l2, p);
        for (int k = 0; k < PP_CONDITIONS_MOST && rules[i].when[k].compare != PP_NO_CONDITION; k++)
            assert_non_null(rules[i].when[k].source);
        assert_true(rules[i].relief.compare == PP_NO_CONDITION || rules[i].relief.source);
    }
}

/* A trainer that waits for data that part of its time, and whose step is stretched by the other part; nothing
 * else is known. */
static struct pp_facts starved_facts(double waits, double stretched)
{
    struct pp_facts f = {
        .has_step = 1, .has_steady_state = 1, .data_wait_se = 0.01, .starved = 1, .starved_alone = 1};
    for (int m = 0; m < PP_METRIC_COUNT; m++)
        f.metric[m] = NAN;
    f.metric[PP_METRIC_DATA_WAIT] = waits + stretched, f.metric[PP_METRIC_WAIT_ITSELF] = waits,
    f.metric[PP_METRIC_STRETCH] = stretched;
    f.metric[PP_METRIC_BATCHES] = 100, f.metric[PP_METRIC_WINDOW] = 5e9, f.metric[PP_METRIC_LOSS] = 0,
    f.metric[PP_METRIC_OWNER_SHARE] = 1, f.metric[PP_METRIC_OWNER] = PP_PHASE_NONE;
    return f;
}

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

/* Reads are what is waited for, and the parts of the requests behind them say why. What could have been left
 * out (refusals, new connections) comes before what more requests in flight would hide. */
static void test_requests_name_their_cause(void **state)
{
    enum { SET = 5 };
    static const struct {
        const char *l2;
        struct {
            enum pp_metric metric;
            double value;
        } set[SET];
    } rows[] = {
        {"in-flight", {{PP_METRIC_REMOTE_FIRST_PART, 0.9}, {PP_METRIC_REMOTE_NEEDED, 60}}},
        {"in-flight", {{PP_METRIC_REMOTE_FIRST_PART, 0.9}}},
        {"small-objects",
         {{PP_METRIC_REMOTE_FIRST_PART, 0.9}, {PP_METRIC_REMOTE_NEEDED, 600}, {PP_METRIC_REMOTE_BYTES, 1e4}}},
        {"in-flight",
         {{PP_METRIC_REMOTE_FIRST_PART, 0.9}, {PP_METRIC_REMOTE_NEEDED, 600}, {PP_METRIC_REMOTE_BYTES, 4e6}}},
        {"small-objects",
         {{PP_METRIC_STREAMED, 1},
          {PP_METRIC_REMOTE_FIRST_PART, 0.9},
          {PP_METRIC_SMALL_SHARDS, 0.8},
          {PP_METRIC_REMOTE_SHARD, 1e5},
          {PP_METRIC_SHARD_REQUESTS, 3}}},
        {"in-flight",
         {{PP_METRIC_STREAMED, 1}, {PP_METRIC_REMOTE_FIRST_PART, 0.9}, {PP_METRIC_SMALL_SHARDS, 0.2}}},
        {"stream-bandwidth", {{PP_METRIC_REMOTE_TRANSFER_PART, 0.8}, {PP_METRIC_REMOTE_FIRST_PART, 0.2}}},
        {"bandwidth",
         {{PP_METRIC_REMOTE_TRANSFER_PART, 0.8}, {PP_METRIC_READ_SERIAL, 0.9}, {PP_METRIC_LINK, 1e6}}},
        {"latency-tail", {{PP_METRIC_REMOTE_FIRST_PART, 0.9}, {PP_METRIC_READ_TAIL, 30}}},
        {"throttled", {{PP_METRIC_W_ERRORS, 0.5}, {PP_METRIC_REMOTE_REFUSED, 0.2}}},
        {"throttled",
         {{PP_METRIC_W_ERRORS, 0.5},
          {PP_METRIC_REMOTE_REFUSED, 0.2},
          {PP_METRIC_HOT_PREFIX, 0.5},
          {PP_METRIC_HOT_PREFIX_PART, 0.5}}},
        {"hot-prefix",
         {{PP_METRIC_W_ERRORS, 0.5},
          {PP_METRIC_REMOTE_REFUSED, 0.2},
          {PP_METRIC_HOT_PREFIX, 0.99},
          {PP_METRIC_HOT_PREFIX_PART, 0.3}}},
        {"connections",
         {{PP_METRIC_REMOTE_SETUP_PART, 0.6},
          {PP_METRIC_G_KEPT, 1},
          {PP_METRIC_REMOTE_FIRST_PART, 0.3},
          {PP_METRIC_REMOTE_DNS_PART, 0.01}}},
        {"two-requests",
         {{PP_METRIC_REMOTE_FIRST_PART, 0.9}, {PP_METRIC_REMOTE_NEEDED, 60}, {PP_METRIC_G_ASK_ONCE, 0.6}}},
        {"in-flight",
         {{PP_METRIC_REMOTE_FIRST_PART, 0.9}, {PP_METRIC_REMOTE_NEEDED, 60}, {PP_METRIC_G_ASK_ONCE, 0.1}}},
        {"dns",
         {{PP_METRIC_REMOTE_SETUP_PART, 0.6},
          {PP_METRIC_G_KEPT, 1},
          {PP_METRIC_REMOTE_FIRST_PART, 0.3},
          {PP_METRIC_REMOTE_DNS_PART, 0.5}}},
        {"slow-host",
         {{PP_METRIC_SLOW_HOST, 5},
          {PP_METRIC_G_HOSTS, 0.5},
          {PP_METRIC_REMOTE_FIRST_PART, 0.9},
          {PP_METRIC_WORKER_SKEW, 4}}},
        {"latency", {{PP_METRIC_REMOTE_FIRST_PART, NAN}}}, /* no requests */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.8, 0);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_OWNER] = PP_PHASE_READ, f.owner_is_worker = 1;
        f.text[PP_METRIC_HOST] = "10.0.0.2:80", f.text[PP_METRIC_PREFIX] = "s3://bucket/a";
        f.metric[PP_METRIC_W_STORAGE] = 0.99, f.metric[PP_METRIC_W_WORK] = 0.01;
        for (int k = 0; k < SET && rows[i].set[k].value != 0; k++)
            f.metric[rows[i].set[k].metric] = rows[i].set[k].value;
        pp_verdict_judge(&f, &arena, &v);
        assert_string_equal(v.l1, "storage");
        if (strcmp(v.l2, rows[i].l2) != 0)
            fail_msg("row %zu: %s, not %s", i, v.l2, rows[i].l2);
        assert_null(strchr(v.cause, '{'));
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

/* Workers with nothing to do, and no change that gains: the trainer waits for what is ready. Where a change
 * gains, or the workers are at work, it waits for data; where free CPUs gain, for a CPU. */
static void test_a_hand_over_is_no_want_of_data(void **state)
{
    static const struct {
        double idle, input, cpus;
        const char *l0;
    } rows[] = {{0.95, 0.05, 0.05, "not-input-bound"},
                {0.95, 0.2, 0.05, "input-bound"},
                {0.3, 0.05, 0.05, "input-bound"},
                {0.95, NAN, NAN, "cpu-starved"},
                {0.95, 0.05, 0.3, "cpu-starved"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.14, 0);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_WORKER_IDLE] = rows[i].idle;
        f.metric[PP_METRIC_G_INPUT] = rows[i].input, f.metric[PP_METRIC_G_CPUS] = rows[i].cpus;
        f.metric[PP_METRIC_LEAD_CPUS] = 0;
        f.metric[PP_METRIC_CONTENDED] = 0.5, f.metric[PP_METRIC_IDLE_CPUS] = 0.02;
        pp_verdict_judge(&f, &arena, &v);
        if (strcmp(v.l0, rows[i].l0) != 0)
            fail_msg("row %zu: %s, not %s", i, v.l0, rows[i].l0);
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

/* Epochs of a few batches: the trainer waits within them too, but most of the time goes by between them. */
static void test_the_larger_of_boundaries_and_waits_is_named(void **state)
{
    static const struct {
        double wait, epoch;
        const char *l2;
    } rows[] = {{0.3, 0.6, "epoch-drain"},
                {0.3, 0.14, "cpu-saturated"},
                {0.9, 0.4, "cpu-saturated"},
                {0.01, 0.2, "epoch-drain"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(rows[i].wait, 0);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_OWNER] = PP_PHASE_DECODE;
        f.metric[PP_METRIC_W_WORK] = 0.99, f.metric[PP_METRIC_IDLE_CPUS] = 0.02;
        f.metric[PP_METRIC_EPOCH] = f.metric[PP_METRIC_BOUNDARY] = rows[i].epoch;
        pp_verdict_judge(&f, &arena, &v);
        assert_string_equal(v.l0, "input-bound");
        if (!v.l2 || strcmp(v.l2, rows[i].l2) != 0)
            fail_msg("row %zu: %s", i, v.cause ? v.cause : v.reason);
        pp_arena_free(&arena);
    }
}

/* Time between epochs in which no loader is at work is the input's where data sets are made in it, and the
 * job's own else: that is said before waits that hardly count for the whole. */
static void test_time_between_epochs_has_its_cause(void **state)
{
    static const struct {
        double wait, between, epoch, made;
        const char *code, *l0, *l2, *says;
    } rows[] = {
        {0.1, 0.5, 0.01, 1, "Tracks.__init__ (train.py:23)", "input-bound", "between-epochs", "made anew"},
        {0.2, 0.5, 0.01, 0, "evaluate (train.py:40)", "input-bound", "", "evaluate (train.py:40)"},
        {0.9, 0.2, 0.01, 0, "evaluate (train.py:40)", "input-bound", "cpu-saturated", "all CPUs"},
        {0.09, 0.5, 0.01, 0, "evaluate (train.py:40)", "not-input-bound", "", "evaluate (train.py:40)"},
        {0.01, 0.5, 0.01, NAN, NULL, "not-input-bound", "", "No stacks name a line"},
        {0.01, 0.14, 0.01, 1, "Tracks.__init__ (train.py:23)", "not-input-bound", "", "keeps up"},
        {0.01, 0.2, 0.4, 1, "Tracks.__init__ (train.py:23)", "input-bound", "epoch-drain", "every epoch"},
        {0.9, 0.2, 0.01, 1, "Tracks.__init__ (train.py:23)", "input-bound", "cpu-saturated", "all CPUs"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(rows[i].wait, 0);
        double *m = f.metric;
        f.starved = f.starved_alone = 0;
        m[PP_METRIC_OWNER] = PP_PHASE_DECODE;
        m[PP_METRIC_W_WORK] = 0.99, m[PP_METRIC_IDLE_CPUS] = 0.02;
        m[PP_METRIC_EPOCH] = m[PP_METRIC_BOUNDARY] = rows[i].epoch;
        m[PP_METRIC_BETWEEN] = rows[i].between;
        m[PP_METRIC_BETWEEN_PART] = rows[i].between / (rows[i].between + rows[i].epoch);
        m[PP_METRIC_BETWEEN_TIME] = 2e8, m[PP_METRIC_BETWEEN_MADE] = rows[i].made;
        f.text[PP_METRIC_BETWEEN_CODE] = rows[i].code;
        pp_verdict_judge(&f, &arena, &v);
        const char *said = v.cause ? v.cause : v.next_step;
        if (strcmp(v.l0, rows[i].l0) != 0 || strcmp(v.l2 ? v.l2 : "", rows[i].l2) != 0 ||
            !strstr(said, rows[i].says))
            fail_msg("row %zu: %s, %s: %s", i, v.l0, v.l2, said);
        pp_arena_free(&arena);
    }
}

static void test_workers_that_stay_are_not_advised_to(void **state)
{
    for (int kept = 0; kept < 2; kept++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.01, 0);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_EPOCH] = f.metric[PP_METRIC_BOUNDARY] = 0.2;
        f.metric[PP_METRIC_KEPT_WORKERS] = kept;
        pp_verdict_judge(&f, &arena, &v);
        assert_string_equal(v.l2, "epoch-drain");
        assert_int_equal(strstr(v.next_step, "persistent_workers=True") != NULL, !kept);
        assert_int_equal(strstr(v.next_step, "one iteration of the loader") != NULL, kept);
        pp_arena_free(&arena);
    }
}

/* Copies from pageable memory are a part of the step to the trainer's clock. */
static void test_copies_that_block_the_steps(void **state)
{
    static const struct {
        double wait, blocks, gain, least, epoch;
        const char *l2, *says;
    } rows[] = {{0.02, 0.25, 0.3, 0.1, 0, "pageable", "copies come from pageable memory"},
                {0.06, 0.25, 0.3, 0.1, 0, "pageable", "copies come from pageable memory"},
                {0.5, 0.25, 0.3, 0.1, 0, "cpu-saturated", "all CPUs are busy"},
                {0.02, 0.25, 0.3, 0.1, 0.2, "pageable", "copies come from pageable memory"},
                {0.02, 0.25, 0.3, 0.1, 0.3, "epoch-drain", "every epoch starts anew"},
                {0.02, 0.25, 0.3, -0.02, 0, "", "a gain of 30 % is predicted"},
                {0.02, 0.25, 0.1, 0.05, 0, "", "a gain of 10 % is predicted"},
                {0.02, 0.25, 0.01, 0, 0, "", "take the training thread 25 % of the time."},
                {0.02, 0.04, 0.3, 0.1, 0, "", "keeps up"},
                {0.02, NAN, 0, 0, 0, "", "keeps up"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(rows[i].wait, 0);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_OWNER] = PP_PHASE_DECODE;
        f.metric[PP_METRIC_W_WORK] = 0.99, f.metric[PP_METRIC_IDLE_CPUS] = 0.02;
        f.metric[PP_METRIC_EPOCH] = f.metric[PP_METRIC_BOUNDARY] = rows[i].epoch;
        f.metric[PP_METRIC_COPY_BLOCKS] = rows[i].blocks;
        f.metric[PP_METRIC_G_PINNED] = rows[i].gain;
        f.metric[PP_METRIC_G_PINNED_LEAST] = rows[i].least;
        pp_verdict_judge(&f, &arena, &v);
        const char *said = !v.l1 ? v.next_step : v.sentence ? v.sentence : v.cause;
        if (!said || !strstr(said, rows[i].says) || strcmp(v.l2 ? v.l2 : "", rows[i].l2) != 0)
            fail_msg("row %zu: %s", i, said);
        assert_string_equal(v.l0, *rows[i].l2 ? "input-bound" : "not-input-bound");
        pp_arena_free(&arena);
    }
}

/* Then what the step copies is not what the loader gave it. */
static void test_pinned_batches_are_not_advised_to_be(void **state)
{
    for (int pins = 0; pins < 2; pins++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.02, 0);
        f.starved = f.starved_alone = f.own_loader = 0;
        f.metric[PP_METRIC_GPU_TOLD] = 1, f.metric[PP_METRIC_GPU_PAGEABLE] = 0.9;
        f.metric[PP_METRIC_PINS] = pins;
        pp_verdict_judge(&f, &arena, &v);
        assert_int_equal(strstr(v.next_step, "pin_memory=True") != NULL, !pins);
        assert_int_equal(strstr(v.next_step, "though the loader pins its batches") != NULL, pins);
        pp_arena_free(&arena);
    }
}

/* Workers that sleep in code of their own: not the CPUs are short, and no file is read. */
static void test_blocked_work_is_no_want_of_cpu(void **state)
{
    static const struct {
        double elsewhere, faults, helpers, idle;
        const char *l1, *l2;
    } rows[] = {{0.8, 0, NAN, NAN, "loader", "blocked"},
                {0.3, 0, NAN, NAN, "transform", "augment"},
                {0.8, 40, NAN, NAN, "transform", "augment"},
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

/* Dear samples among cheap ones are the cause where a batch need not wait for those before it. */
static void test_few_dear_samples_are_late_batches(void **state)
{
    static const struct {
        double tail, order, blocked; /* of computing, or of all their time */
        const char *l1, *l2;
    } rows[] = {{30, 0.3, 0.1, "loader", "straggler-sample"}, {30, 0, 0.1, "transform", "augment"},
                {3, 0.3, 0.1, "transform", "augment"},        {30, 0.3, 0.85, "loader", "straggler-sample"},
                {30, 0.1, 0.85, "transform", "augment"},      {3, 0.3, 0.85, "transform", "augment"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.6, 0);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_OWNER] = PP_PHASE_TRANSFORM, f.metric[PP_METRIC_OWNER_BLOCKED] = rows[i].blocked;
        f.metric[PP_METRIC_W_WORK] = 0.99, f.metric[PP_METRIC_TRANSFORM_PART] = 0.9;
        f.metric[rows[i].blocked > 0.5 ? PP_METRIC_SAMPLE_TAIL : PP_METRIC_WORK_TAIL] = rows[i].tail,
                                                                 f.metric[PP_METRIC_G_ORDER] = rows[i].order;
        pp_verdict_judge(&f, &arena, &v);
        if (!v.l1 || !v.l2 || strcmp(v.l1, rows[i].l1) != 0 || strcmp(v.l2, rows[i].l2) != 0)
            fail_msg("row %zu: %s", i, v.cause ? v.cause : v.reason);
        pp_arena_free(&arena);
    }
}

/* No phase has half of the wait: without a replay, what keeps it from being made is what to change. */
static void test_what_the_replay_lacks_is_advised(void **state)
{
    static const struct {
        double off;
        uint64_t errors;
        const char *why_not, *reason, *next_step;
    } rows[] = {{0.65, 3, NULL, "misses this run's rate by 65 %", "Fix or take out the files that fail"},
                {-0.4, 0, NULL, "misses this run's rate by 40 %", "Record longer"},
                {NAN, 0, "run.sqlite has 3 samples", "no phase has half", "run.sqlite has 3 samples"},
                {NAN, 0, NULL, "no phase has half", "Record again with the time on a CPU"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.6, 0);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_OWNER] = PP_PHASE_DECODE, f.owner_is_worker = 1, f.has_workers = 1;
        f.phase_share[PP_PHASE_DECODE] = 0.4;
        f.metric[PP_METRIC_OWNER_SHARE] = 0.4, f.metric[PP_METRIC_OWNER_BLOCKED] = 0,
        f.metric[PP_METRIC_OWNER_DELAY] = 0, f.metric[PP_METRIC_SATURATION] = 0.5,
        f.metric[PP_METRIC_BUSY_CPUS] = 0.5, f.metric[PP_METRIC_WORKER_IDLE] = 0,
        f.metric[PP_METRIC_UNNAMED] = 0.1;
        f.replay_off = rows[i].off, f.errors = rows[i].errors, f.why_no_replay = rows[i].why_not;
        pp_verdict_judge(&f, &arena, &v);
        if (!v.reason || !strstr(v.reason, rows[i].reason) || !strstr(v.next_step, rows[i].next_step))
            fail_msg("row %zu: %s -> %s", i, v.reason ? v.reason : v.cause, v.next_step);
        pp_arena_free(&arena);
    }
}

static void test_rules_speak_of_metrics(void **state)
{
    for (size_t b = 0; b < BLOCKS; b++)
        check_rules(blocks[b].rules, *blocks[b].n);
}

/* A change is advised in one row: no sentence and no knob stands twice, and a fix has words of its own. */
static void test_a_remedy_is_one_row(void **state)
{
    for (int i = PP_REMEDY_NONE + 1; i < PP_REMEDIES; i++) {
        const struct pp_remedy *a = &pp_remedies[i];
        if ((!a->sentence && !a->offer) || !a->knob != !a->offer)
            fail_msg("remedy %d has no text, or a knob without an offer", i);
        if (!a->pipeprobe && !a->pytorch && !a->webdataset && !a->dali)
            fail_msg("remedy %d (%s) says of no program what to change", i, a->sentence);
        for (const char *p = a->sentence ? strchr(a->sentence, '{') : NULL; p; p = strchr(p + 1, '{'))
            if (!known_name(p + 1, strcspn(p + 1, "}|")))
                fail_msg("remedy %d speaks of %.20s, which is no metric", i, p);
        for (int k = 0; k < i; k++) {
            const struct pp_remedy *b = &pp_remedies[k];
            if ((a->sentence && b->sentence && strcmp(a->sentence, b->sentence) == 0) ||
                (a->knob && b->knob && strcmp(a->knob, b->knob) == 0))
                fail_msg("remedies %d and %d say the same", k, i);
        }
    }
}

/* What is said under recordings of any program names no option of pipeprobe run, and what is offered to be
 * pasted is of the row's own knob: a value where the knob has one. */
static void test_a_remedy_speaks_pytorch(void **state)
{
    for (int i = 0; i < PP_REMEDIES; i++) {
        const struct pp_remedy *r = &pp_remedies[i];
        const char *texts[] = {r->sentence, r->offer, r->set, r->line};
        for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
            if (texts[k] && i != PP_REMEDY_ANNOTATE && i != PP_REMEDY_NUMA && i != PP_REMEDY_TIMED_READS &&
                strstr(texts[k], "--")) /* of exec and of numactl */
                fail_msg("remedy %d names an option of ours: %s", i, texts[k]);
        for (const char *p = r->by; p && *p; p += strcspn(p, " "), p += strspn(p, " ")) {
            int known = 0;
            for (int k = 0; k < PP_REMEDIES; k++)
                known |= pp_remedies[k].knob && strlen(pp_remedies[k].knob) == strcspn(p, " ") &&
                         strncmp(pp_remedies[k].knob, p, strcspn(p, " ")) == 0;
            if (!known)
                fail_msg("remedy %d is carried out by no fix: %s", i, p);
        }
        if (r->options && strncmp(r->options, "--", 2) != 0)
            fail_msg("remedy %d: %s is no option", i, r->options);
    }
}

/* Fewer workers are no less work: a knob is a whole word. */
static void test_a_remedy_is_done_by_whole_knobs(void **state)
{
    assert_true(pp_remedy_is_done_by(&pp_remedies[PP_REMEDY_LESS_WORK], "work"));
    assert_true(pp_remedy_is_done_by(&pp_remedies[PP_REMEDY_LESS_WORK_THREADS], "work"));
    assert_true(pp_remedy_is_done_by(&pp_remedies[PP_REMEDY_WORKER_THREADS], "fewer-workers"));
    assert_false(pp_remedy_is_done_by(&pp_remedies[PP_REMEDY_WORKER_THREADS], "work"));
    assert_false(pp_remedy_is_done_by(&pp_remedies[PP_REMEDY_WORKER_THREADS], "workers"));
    assert_true(pp_remedies[PP_REMEDY_WORKER_THREADS].looks_first); /* other processes may stay */
    (void)state;
}

/* ---- every rule on both sides of each of its limits ---- */

/* On the side of the limit on which the condition holds, or just beyond it. */
static double beside(const struct pp_condition *c, int holds)
{
    if (c->compare == PP_ONE_OF)
        return holds ? __builtin_ctz((unsigned)c->limit) : __builtin_ctz(~(unsigned)c->limit);
    int above = (c->compare == PP_AT_LEAST) == (holds != 0);
    return above ? c->limit : nextafter(c->limit, -INFINITY);
}

static void meet(struct pp_facts *f, const struct pp_condition *c, int holds)
{
    int is_known = c->compare == PP_KNOWN || c->compare == PP_UNKNOWN;
    int known = is_known && (c->compare == PP_KNOWN) == (holds != 0);
    f->metric[c->fact] = known ? 1 : is_known ? NAN : beside(c, holds);
    f->text[c->fact] = known ? "known" : NULL;
}

/* Facts of which nothing is known but what the rule asks for, which holds by a hair. */
static struct pp_facts facts_for(const struct pp_rule *r)
{
    struct pp_facts f = {.has_step = 0};
    for (int m = 0; m < PP_METRIC_COUNT; m++)
        f.metric[m] = NAN;
    for (int k = 0; k < PP_CONDITIONS_MOST && r->when[k].compare != PP_NO_CONDITION; k++)
        meet(&f, &r->when[k], 1);
    return f;
}

/* What the lanes did comes before what a rule would say: case by case, with its rules met to the letter. */
static void test_no_cause_contradicts_the_lanes(void **state)
{
    for (size_t k = 0; k < pp_lane_rules_n; k++) {
        const struct pp_lane_rule *lane = &pp_lane_rules[k];
        int met = 0;
        for (size_t b = 0; b < BLOCKS; b++)
            for (size_t i = 0; i < *blocks[b].n; i++) {
                const struct pp_rule *r = &blocks[b].rules[i];
                struct pp_facts f = facts_for(r);
                if (!r->l2 || strcmp(r->l1, lane->l1) != 0 || strcmp(r->l2, lane->l2) != 0)
                    continue;
                meet(&f, &lane->when, 1);
                assert_ptr_equal(pp_cause_first(&f, r, 1), r);
                meet(&f, &lane->when, 0);
                assert_null(pp_cause_first(&f, r, 1));
                met++;
            }
        if (!met)
            fail_msg("%s/%s is no cause of any rule", lane->l1, lane->l2);
    }
}

static void fail_rule(const struct pp_rule *r, const char *what)
{
    fail_msg("%s/%s, remedy \"%s\": %s", r->l1 ? r->l1 : "-", r->l2 ? r->l2 : "-",
             pp_remedies[r->remedy].sentence, what);
}

/* Each condition decides: by a hair on its other side, or unknown, the rule does not hold. And no row of the
 * same table, before it, asks for less and hides it. */
static void test_each_rule_on_both_sides_of_its_limits(void **state)
{
    for (size_t b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < *blocks[b].n; i++) {
            const struct pp_rule *r = &blocks[b].rules[i];
            struct pp_facts f = facts_for(r);
            if (pp_cause_first(&f, blocks[b].rules, *blocks[b].n) != r)
                fail_rule(r, "an earlier row holds wherever it does, or it does not hold at its limits");
            for (int k = 0; k < PP_CONDITIONS_MOST && r->when[k].compare != PP_NO_CONDITION; k++) {
                unsigned m = r->when[k].fact;
                meet(&f, &r->when[k], 0);
                if (pp_cause_first(&f, r, 1))
                    fail_rule(r, pp_metric_facts[m].text);
                f.metric[m] = NAN, f.text[m] = NULL;
                if (r->when[k].compare != PP_UNKNOWN && pp_cause_first(&f, r, 1))
                    fail_rule(r, "holds although a metric is unknown");
                meet(&f, &r->when[k], 1);
            }
        }
}

/* A want of CPU is charged with the trainer's stretched step only where its remedy gains. */
static void test_a_want_of_cpu_needs_its_relief(void **state)
{
    int seen = 0;
    for (size_t i = 0; i < pp_cause_rules_replay_n; i++) {
        const struct pp_rule *r = &pp_cause_rules_replay[i], *got;
        if (r->relief.compare == PP_NO_CONDITION)
            continue;
        struct pp_facts f = facts_for(r);
        f.metric[r->relief.fact] = beside(&r->relief, 1);
        got = pp_cause_of_starving(&f);
        if (!got || got > r)
            fail_rule(r, "its relief holds");
        f.metric[r->relief.fact] = beside(&r->relief, 0);
        if (pp_cause_of_starving(&f) == r)
            fail_rule(r, "its relief does not hold");
        seen++;
    }
    assert_int_equal(seen, 16);
}

/* Guards: at the limit nothing is refused, beyond it the verdict is inconclusive with the guard's reason. */
static void test_each_guard_on_both_sides_of_its_limit(void **state)
{
    for (size_t i = 0; i < pp_guard_rules_n; i++) {
        const struct pp_guard_rule *g = &pp_guard_rules[i];
        for (int beyond = 0; beyond < 2; beyond++) {
            struct pp_arena arena = {0};
            struct pp_report_verdict v;
            struct pp_facts f = starved_facts(0.03, 0);
            f.starved = f.starved_alone = 0;
            f.metric[g->metric] = beyond ? nextafter(g->limit, g->at_least ? -INFINITY : INFINITY) : g->limit;
            pp_verdict_judge(&f, &arena, &v);
            if ((strcmp(v.l0, "inconclusive") == 0) != beyond ||
                (beyond && strcmp(v.next_step, pp_remedies[g->remedy].sentence) != 0))
                fail_msg("guard %zu (%s): %s", i, pp_metric_facts[g->metric].text, v.l0);
            pp_arena_free(&arena);
        }
    }
}

static int some_rule_says(const struct scenario *s, const struct pp_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rules[i].l2 && scenario_lists(s->l1, rules[i].l1) && scenario_lists(s->l2, rules[i].l2))
            return 1;
    return 0;
}

/* Every scenario reads, and its truth is a label that some rule can give: else it would be lost before it is
 * run. */
static void test_scenarios_have_labels_the_rules_know(void **state)
{
    struct scenario *s;
    size_t n;
    struct pp_err err = {0};
    assert_int_equal(scenarios_read("samples/scenarios", &s, &n, &err), PP_OK);
    assert_true(n >= 30);
    for (size_t i = 0; i < n; i++) {
        struct intervention knobs[INTERVENTIONS_MAX];
        int control = strcmp(s[i].l0, "not-input-bound") == 0,
            turned = scenario_interventions(&s[i], 1, knobs), fixes = 0;
        for (int k = 0; k < turned; k++)
            fixes += scenario_lists(s[i].fix, knobs[k].knob);
        int known = control;
        for (size_t b = 0; b < BLOCKS; b++)
            known |= some_rule_says(&s[i], blocks[b].rules, *blocks[b].n);
        if (!known)
            fail_msg("%s: no rule says %s/%s", s[i].name, s[i].l1, s[i].l2);
        if (!control && !fixes)
            fail_msg("%s: none of its fixes (%s) is an intervention", s[i].name, s[i].fix);
        assert_true(control == (s[i].fix[0] == '\0'));
    }
    free(s);
}

/* The knob beside more workers is half the decoding, as the report offers it, and what the what-if calls the
 * same. */
static void test_costly_decoding_is_halved_and_not_taken_away(void **state)
{
    static const struct scenario s = {.remedy = "work",
                                      .options = "--workers 1 --batch-size 16",
                                      .level = {"--inject decode-cost=3", "--inject decode-cost=5",
                                                "--inject transform-cost=2ms"}};
    struct intervention knobs[INTERVENTIONS_MAX];
    int n = scenario_interventions(&s, 1, knobs);
    assert_string_equal(knobs[n - 1].knob, "work");
    assert_string_equal(knobs[n - 1].options, "--inject decode-cost=2.5");
    assert_string_equal(knobs[n - 1].set, "decode=0.5");
    assert_false(knobs[n - 1].without_faults);
    n = scenario_interventions(&s, 2, knobs);
    assert_true(knobs[n - 1].without_faults && strcmp(knobs[n - 1].knob, "work") == 0);
}

/* Words of the longest sentence, a value being two of them ("84 %"), and values that are numbers. */
static size_t words_of(const char *said, size_t *numbers)
{
    size_t n = 0, most = 0;
    *numbers = 0;
    for (const char *p = said; *p; p++) {
        if (*p == '{') {
            size_t len = strcspn(p + 1, "|}"), f = 0;
            while (f < PP_METRIC_COUNT &&
                   (strncmp(pp_metric_facts[f].name, p + 1, len) != 0 || pp_metric_facts[f].name[len]))
                f++;
            assert_true(f < PP_METRIC_COUNT);
            *numbers += pp_metric_facts[f].unit != PP_UNIT_NONE;
            n += 2 - (pp_metric_facts[f].unit == PP_UNIT_NONE);
            p += strcspn(p, "}");
        } else if (*p == ' ' && p[1] != '{' && p[1] != '[') {
            n += 1;
        }
        if (strncmp(p, ". ", 2) == 0)
            most = n > most ? n : most, n = 0;
    }
    return n > most ? n : most;
}

/* The first page is read once: a sentence has 25 words at most, and the rate, what is waited for and the
 * cause six numbers, of which the head has two. */
static void test_a_cause_is_read_once(void **state)
{
    (void)state;
    for (size_t b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < *blocks[b].n; i++) {
            size_t numbers, words = words_of(blocks[b].rules[i].said, &numbers);
            if (words > 25 || numbers > 4)
                fail_msg("%zu words, %zu numbers: %s", words, numbers, blocks[b].rules[i].said);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cause_is_read_once),
        cmocka_unit_test(test_who_crowds_the_trainer),
        cmocka_unit_test(test_requests_name_their_cause),
        cmocka_unit_test(test_cpus_are_contended_only_where_they_are_short),
        cmocka_unit_test(test_a_worker_for_every_cpu_is_not_too_few),
        cmocka_unit_test(test_a_late_hand_off_may_lack_a_cpu),
        cmocka_unit_test(test_subprocesses_of_the_job_are_no_strangers),
        cmocka_unit_test(test_the_jobs_own_cause_comes_second),
        cmocka_unit_test(test_the_second_cause_has_its_own_cpus),
        cmocka_unit_test(test_a_hand_over_is_no_want_of_data),
        cmocka_unit_test(test_nobody_else_is_told_to_move),
        cmocka_unit_test(test_a_starved_trainer_is_not_charged_to_who_owns_the_waits),
        cmocka_unit_test(test_the_larger_of_boundaries_and_waits_is_named),
        cmocka_unit_test(test_time_between_epochs_has_its_cause),
        cmocka_unit_test(test_workers_that_stay_are_not_advised_to),
        cmocka_unit_test(test_copies_that_block_the_steps),
        cmocka_unit_test(test_pinned_batches_are_not_advised_to_be),
        cmocka_unit_test(test_blocked_work_is_no_want_of_cpu),
        cmocka_unit_test(test_few_dear_samples_are_late_batches),
        cmocka_unit_test(test_what_the_replay_lacks_is_advised),
        cmocka_unit_test(test_rules_speak_of_metrics),
        cmocka_unit_test(test_a_remedy_is_one_row),
        cmocka_unit_test(test_a_remedy_speaks_pytorch),
        cmocka_unit_test(test_a_remedy_is_done_by_whole_knobs),
        cmocka_unit_test(test_no_cause_contradicts_the_lanes),
        cmocka_unit_test(test_each_rule_on_both_sides_of_its_limits),
        cmocka_unit_test(test_a_want_of_cpu_needs_its_relief),
        cmocka_unit_test(test_each_guard_on_both_sides_of_its_limit),
        cmocka_unit_test(test_scenarios_have_labels_the_rules_know),
        cmocka_unit_test(test_costly_decoding_is_halved_and_not_taken_away),
    };
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
