/* What the rules of the verdict say of facts made by hand. Of CPUs: test_cpu_causes.c. */
#include "report/build/parts.h"
#include "report/verdict/verdict.h"
#include "tests/support/made_facts.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

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

/* Workers with nothing to do, and no change that gains: the trainer waits for what is ready. Where a change
 * gains, or the workers or other threads are at work, it waits for data; where free CPUs gain, for a CPU. */
static void test_a_hand_over_is_no_want_of_data(void **state)
{
    static const struct {
        double idle, input, cpus, at_work; /* threads */
        const char *l0;
    } rows[] = {{0.95, 0.05, 0.05, NAN, "not-input-bound"}, {0.95, 0.05, 0.05, 0.2, "not-input-bound"},
                {0.95, 0.05, 0.05, 1, "input-bound"},       {0.95, 0.2, 0.05, NAN, "input-bound"},
                {0.3, 0.05, 0.05, NAN, "input-bound"},      {0.95, NAN, NAN, NAN, "cpu-starved"},
                {0.95, 0.05, 0.3, NAN, "cpu-starved"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_arena arena = {0};
        struct pp_report_verdict v;
        struct pp_facts f = starved_facts(0.14, 0);
        f.starved = f.starved_alone = 0;
        f.metric[PP_METRIC_WORKER_IDLE] = rows[i].idle;
        f.metric[PP_METRIC_G_INPUT] = rows[i].input, f.metric[PP_METRIC_G_CPUS] = rows[i].cpus;
        f.metric[PP_METRIC_LEAD_CPUS] = 0;
        f.metric[PP_METRIC_THREADS_LOOKS] = 50, f.metric[PP_METRIC_THREADS_WORK] = rows[i].at_work;
        f.metric[PP_METRIC_THREADS_COMPUTE] = 1, f.metric[PP_METRIC_THREADS_READY] = 0;
        f.metric[PP_METRIC_CONTENDED] = 0.5, f.metric[PP_METRIC_IDLE_CPUS] = 0.02;
        pp_verdict_judge(&f, &arena, &v);
        if (strcmp(v.l0, rows[i].l0) != 0)
            fail_msg("row %zu: %s, not %s", i, v.l0, rows[i].l0);
        pp_arena_free(&arena);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_name_their_cause),
        cmocka_unit_test(test_a_hand_over_is_no_want_of_data),
        cmocka_unit_test(test_the_larger_of_boundaries_and_waits_is_named),
        cmocka_unit_test(test_time_between_epochs_has_its_cause),
        cmocka_unit_test(test_workers_that_stay_are_not_advised_to),
        cmocka_unit_test(test_copies_that_block_the_steps),
        cmocka_unit_test(test_pinned_batches_are_not_advised_to_be),
        cmocka_unit_test(test_few_dear_samples_are_late_batches),
        cmocka_unit_test(test_what_the_replay_lacks_is_advised),
    };
    return cmocka_run_group_tests_name("causes", tests, NULL, NULL);
}
