/* The comparison on runs made up for it: answers, refusals, attribution, and how often it is wrong. */
#include "tests/support/fake_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static pp_status try_compare(struct pp_runs *base, struct pp_runs *head, const struct pp_compare_opts *opts,
                             struct pp_compare *c, struct pp_err *err)
{
    struct pp_compare_opts quick;
    fake_quick(&quick);
    return pp_compare_build(&(struct pp_compare_side){"base", base}, &(struct pp_compare_side){"head", head},
                            opts ? opts : &quick, c, err);
}

static struct pp_compare compare(struct pp_runs *base, struct pp_runs *head,
                                 const struct pp_compare_opts *opts)
{
    struct pp_compare c;
    struct pp_err err;
    if (try_compare(base, head, opts, &c, &err) != PP_OK)
        fail_msg("%s", err.text);
    return c;
}

static void done(struct pp_compare *c, struct pp_runs *base, struct pp_runs *head)
{
    pp_compare_free(c);
    pp_runs_free(base);
    pp_runs_free(head);
}

static void contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' does not say '%s'", text, part);
}

static void every_metric_has_a_row_that_makes_sense(void **state)
{
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        const struct pp_cmp_metric *m = &pp_cmp_metrics[i];
        assert_int_equal(pp_cmp_find(m->key), i);
        assert_string_equal(pp_cmp_keys[i], m->key);
        assert_true(m->threshold >= 0 && m->threshold < 1 && m->floor >= 0);
        assert_true(m->kind != PP_CMP_COUNT || m->threshold == 0);
    }
    assert_null(pp_cmp_keys[PP_CMP_COUNT_OF_METRICS]);
    assert_int_equal(pp_cmp_find("nonsense"), -1);
}

static void answers_follow_the_effect(void **state)
{
    static const struct {
        double slow, noise;
        enum pp_answer rate, all;
        int improved, exit_code;
    } rows[] = {
        {1.00, 0.010, PP_NOT_REGRESSED, PP_NOT_REGRESSED, 0, 0},
        {1.10, 0.010, PP_REGRESSED, PP_REGRESSED, 0, 1},
        {1.02, 0.005, PP_NOT_REGRESSED, PP_NOT_REGRESSED, 0, 0}, /* real, but below the threshold */
        {0.90, 0.010, PP_NOT_REGRESSED, PP_NOT_REGRESSED, 1, 0},
        {1.05, 0.030, PP_INCONCLUSIVE, PP_INCONCLUSIVE, 0, 3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_runs base = fake_side("base", 7, 1, rows[i].noise, 4),
                       head = fake_side("head", 7, rows[i].slow, rows[i].noise, 5);
        struct pp_compare c = compare(&base, &head, NULL);
        const struct pp_compare_metric *m = &c.metric[PP_CMP_SAMPLES_PER_S];
        if (m->answer != rows[i].rate || c.answer != rows[i].all)
            fail_msg("row %zu: throughput %s (%.4f .. %.4f, p %.2g), all %s", i, pp_answer_names[m->answer],
                     m->low, m->high, m->p_all, c.sentence);
        if (rows[i].rate != PP_INCONCLUSIVE) /* between the two, noise decides for each metric */
            assert_int_equal(c.metric[PP_CMP_CPU_S_PER_SAMPLE].answer, rows[i].rate);
        assert_int_equal(m->improved, rows[i].improved);
        assert_int_equal(pp_compare_exit_code(&c, 0), rows[i].exit_code);
        assert_int_equal(pp_compare_exit_code(&c, 1), rows[i].exit_code == 3 ? 1 : rows[i].exit_code);
        if (m->answer == PP_REGRESSED)
            assert_true(m->low > 1.05 && m->p_all < 0.01);
        if (m->answer == PP_NOT_REGRESSED)
            assert_true(m->high < 1.05);
        done(&c, &base, &head);
    }
}

/* With n = 3 no p can be below 0.1: the answer is that, not "fine". */
static void too_few_runs_are_inconclusive(void **state)
{
    for (size_t n = 1; n <= 8; n++) {
        struct pp_runs base = fake_side("base", n, 1, 0.01, 1), head = fake_side("head", n, 1.5, 0.01, 2);
        struct pp_compare c = compare(&base, &head, NULL);
        const struct pp_compare_metric *m = &c.metric[PP_CMP_SAMPLES_PER_S];
        assert_int_equal(c.runs_needed, 7);
        assert_int_equal(m->answer, n < 7 ? PP_INCONCLUSIVE : PP_REGRESSED);
        if (n < 7)
            contains(m->reason, "need at least 7 runs");
        assert_int_equal(c.metric[PP_CMP_READS].answer, PP_NOT_REGRESSED); /* a count needs no repetition */
        assert_int_equal(isnan(m->noise_floor) != 0, n == 1);              /* unknown, not zero */
        done(&c, &base, &head);
    }
}

static void counts_are_exact(void **state)
{
    static const struct {
        enum pp_cmp_id id;
        double base, head;
        enum pp_answer answer;
        int improved;
    } rows[] = {
        {PP_CMP_BYTES_READ, 115e6, 115e6 + 1, PP_REGRESSED, 0},
        {PP_CMP_BYTES_READ, 115e6, 115e6 - 1, PP_NOT_REGRESSED, 1},
        {PP_CMP_BYTES_READ, 115e6, 115e6, PP_NOT_REGRESSED, 0},
        {PP_CMP_SAMPLES, 1000, 999, PP_REGRESSED, 0},
        {PP_CMP_SAMPLES, 1000, 1001, PP_REGRESSED, 0},
        {PP_CMP_BATCHES, 32, 31, PP_REGRESSED, 0},
        {PP_CMP_ERRORS, 0, 1, PP_REGRESSED, 0},
        {PP_CMP_ERRORS, 2, 0, PP_NOT_REGRESSED, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t n = 1; n <= 7; n += 6) {
            struct pp_runs base = fake_side("base", n, 1, 0.01, 1), head = fake_side("head", n, 1, 0.01, 2);
            for (size_t k = 0; k < n; k++) {
                base.run[k].metric[rows[i].id] = rows[i].base;
                head.run[k].metric[rows[i].id] = rows[i].head;
            }
            struct pp_compare c = compare(&base, &head, NULL);
            const struct pp_compare_metric *m = &c.metric[rows[i].id];
            assert_true(m->exact);
            assert_int_equal(m->answer, rows[i].answer);
            assert_int_equal(m->improved, rows[i].improved);
            assert_int_equal(pp_compare_exit_code(&c, 0), m->answer == PP_REGRESSED ? 1 : n == 7 ? 0 : 3);
            done(&c, &base, &head);
        }
}

static void counts_that_vary_are_tested_like_timings(void **state)
{
    struct pp_runs base = fake_side("base", 7, 1, 0.01, 1), head = fake_side("head", 7, 1, 0.01, 2);
    for (size_t k = 0; k < 7; k++) {
        base.run[k].metric[PP_CMP_ERRORS] = (double)(k % 3);
        head.run[k].metric[PP_CMP_ERRORS] = (double)(20 + k % 3);
    }
    struct pp_compare c = compare(&base, &head, NULL);
    assert_false(c.metric[PP_CMP_ERRORS].exact);
    assert_int_equal(c.metric[PP_CMP_ERRORS].answer, PP_REGRESSED);
    done(&c, &base, &head);
}

static void small_shares_and_waits_do_not_triple(void **state)
{
    struct pp_runs base = fake_side("base", 7, 1, 0.001, 1), head = fake_side("head", 7, 1, 0.001, 2);
    for (size_t k = 0; k < 7; k++) {
        base.run[k].metric[PP_CMP_DATA_WAIT_SHARE] = 0.001 + 1e-5 * (double)k;
        head.run[k].metric[PP_CMP_DATA_WAIT_SHARE] = 0.004 + 1e-5 * (double)k;
        base.run[k].metric[PP_CMP_DATA_WAIT_P99_S] = 20e-6 + 1e-7 * (double)k;
        head.run[k].metric[PP_CMP_DATA_WAIT_P99_S] = 900e-6 + 1e-7 * (double)k;
    }
    struct pp_compare c = compare(&base, &head, NULL);
    assert_int_equal(c.metric[PP_CMP_DATA_WAIT_SHARE].answer, PP_NOT_REGRESSED);
    assert_int_equal(c.metric[PP_CMP_DATA_WAIT_P99_S].answer, PP_NOT_REGRESSED);
    done(&c, &base, &head);
    /* 5 % -> 20 % is 19 % more time for the same work */
    base = fake_side("base", 7, 1, 0.001, 1), head = fake_side("head", 7, 1, 0.001, 2);
    for (size_t k = 0; k < 7; k++) {
        base.run[k].metric[PP_CMP_DATA_WAIT_SHARE] = 0.05 + 1e-4 * (double)k;
        head.run[k].metric[PP_CMP_DATA_WAIT_SHARE] = 0.20 + 1e-4 * (double)k;
    }
    c = compare(&base, &head, NULL);
    assert_int_equal(c.metric[PP_CMP_DATA_WAIT_SHARE].answer, PP_REGRESSED);
    assert_true(fabs(c.metric[PP_CMP_DATA_WAIT_SHARE].ratio - 0.95 / 0.8) < 1e-3);
    done(&c, &base, &head);
}

static void missing_metrics_are_said(void **state)
{
    struct pp_runs base = fake_side("base", 7, 1, 0.01, 1), head = fake_side("head", 7, 1, 0.01, 2);
    for (size_t k = 0; k < 7; k++) {
        base.run[k].metric[PP_CMP_OPENS] = head.run[k].metric[PP_CMP_OPENS] = NAN;
        base.run[k].metric[PP_CMP_READS] = head.run[k].metric[PP_CMP_READS] = NAN;
        base.run[k].why[PP_CMP_READS] = PP_WHY_NO_EPOCH;
        head.run[k].why[PP_CMP_READS] = PP_WHY_NOT_COUNTED;
        base.run[k].metric[PP_CMP_CPU_S_PER_SAMPLE] = NAN;
    }
    head.run[3].metric[PP_CMP_FIRST_BATCH_S] = NAN;
    base.run[0].why[PP_CMP_CPU_S_PER_SAMPLE] = PP_WHY_NO_CPU_TIME;
    struct pp_compare c = compare(&base, &head, NULL);
    assert_int_equal(c.metric[PP_CMP_OPENS].answer, PP_NOT_MEASURED);
    assert_int_equal(c.metric[PP_CMP_CPU_S_PER_SAMPLE].answer, PP_INCONCLUSIVE);
    assert_string_equal(c.metric[PP_CMP_OPENS].reason, "measured on neither side");
    contains(
        c.metric[PP_CMP_READS].reason,
        "neither side; BASE: no epoch was completed; give --epochs; HEAD: not recorded; the recording is from an older version");
    assert_string_equal(c.metric[PP_CMP_CPU_S_PER_SAMPLE].reason,
                        "measured in HEAD only: CPU time was not recorded");
    contains(c.metric[PP_CMP_FIRST_BATCH_S].reason, "7 of 7 runs of BASE and 6 of 7 of HEAD");
    assert_int_equal(pp_compare_exit_code(&c, 0), 3);
    done(&c, &base, &head);
}

static void ungated_metrics_do_not_decide(void **state)
{
    struct pp_compare_opts o;
    struct pp_runs base = fake_side("base", 7, 1, 0.01, 1), head = fake_side("head", 7, 1.2, 0.01, 2);
    fake_quick(&o);
    memset(o.gated, 0, sizeof(o.gated));
    o.gated[PP_CMP_READS] = 1;
    struct pp_compare c = compare(&base, &head, &o);
    assert_int_equal(c.metric[PP_CMP_SAMPLES_PER_S].answer, PP_REGRESSED);
    assert_int_equal(pp_compare_exit_code(&c, 0), 0);
    done(&c, &base, &head);
    base = fake_side("base", 7, 1, 0.01, 1), head = fake_side("head", 7, 1, 0.01, 2);
    memset(o.gated, 0, sizeof(o.gated));
    o.gate_verdict = 0;
    c = compare(&base, &head, &o);
    assert_int_equal(pp_compare_exit_code(&c, 0), 3);
    contains(c.sentence, "no gated metric was measured");
    done(&c, &base, &head);
}

static void other_samples_are_refused(void **state)
{
    static const struct {
        const char *outcome, *says;
        double rate;
        pp_status status;
    } rows[] = {
        {"unfinished", "unfinished", 1000, PP_E_INCONCLUSIVE},
        {"interrupted", "interrupted", 1000, PP_E_INCONCLUSIVE},
        {"", "unfinished", 1000, PP_E_INCONCLUSIVE},
        {"finished", "no batch was measured", 0, PP_E_INCONCLUSIVE},
        {"finished", "no batch was measured", NAN, PP_E_INCONCLUSIVE},
        {"finished", "no batch was measured", INFINITY, PP_E_INCONCLUSIVE},
        {"finished", "no batch was measured", -3, PP_E_INCONCLUSIVE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_runs base = fake_side("base", 7, 1, 0.01, 1), head = fake_side("head", 7, 1, 0.01, 2);
        struct pp_compare c;
        struct pp_err err;
        snprintf(head.run[4].outcome, sizeof(head.run[4].outcome), "%s", rows[i].outcome);
        head.run[4].metric[PP_CMP_SAMPLES_PER_S] = rows[i].rate;
        assert_int_equal(try_compare(&base, &head, NULL, &c, &err), rows[i].status);
        contains(err.text, "head-05.sqlite");
        contains(err.text, rows[i].says);
        pp_runs_free(&base);
        pp_runs_free(&head);
    }
    struct pp_runs base = fake_side("base", 2, 1, 0.01, 1), none = {0};
    struct pp_compare c;
    struct pp_err err;
    assert_int_equal(try_compare(&base, &none, NULL, &c, &err), PP_E_EMPTY);
    base.run[1].metric[PP_CMP_FIRST_BATCH_S] = INFINITY;
    assert_int_equal(try_compare(&base, &base, NULL, &c, &err), PP_E_CORRUPT);
    pp_runs_free(&base);
}

static void set(struct pp_runs *side, const char *name, const char *value)
{
    for (size_t i = 0; i < side->n; i++)
        assert_true(pp_run_set_field(&side->run[i], name, value));
}

static void other_environments_are_refused(void **state)
{
    const char *allow_cpu[] = {"cpu_model", NULL}, *allow_all[] = {"all", NULL};
    struct pp_compare_opts o;
    struct pp_runs base = fake_side("base", 7, 1, 0.01, 1), head = fake_side("head", 7, 1, 0.01, 2);
    struct pp_compare c;
    struct pp_err err;
    fake_quick(&o);
    set(&head, "memory_total", "8100000000"); /* 1.2 % more: the same machine */
    c = compare(&base, &head, &o);
    pp_compare_free(&c);
    set(&head, "cpu_model", "Other CPU");
    set(&head, "kernel", "6.1");
    assert_int_equal(try_compare(&base, &head, &o, &c, &err), PP_E_INCONCLUSIVE);
    contains(err.text, "cpu_model is 'Test CPU'");
    contains(err.text, "'Other CPU'");
    contains(err.text, "also different: kernel");
    contains(err.text, "--allow-env cpu_model");
    o.allow = allow_cpu;
    assert_int_equal(try_compare(&base, &head, &o, &c, &err), PP_E_INCONCLUSIVE);
    contains(err.text, "kernel is 'unknown'");
    o.allow = allow_all;
    c = compare(&base, &head, &o);
    assert_int_equal(c.n_allowed, 2);
    assert_string_equal(c.allowed[0].name, "cpu_model");
    pp_compare_free(&c);
    o.allow = NULL;
    set(&head, "cpu_model", "Test CPU");
    set(&base, "kernel", "6.1");
    for (size_t i = 0; i < base.n; i++) { /* of each run's own: a process id is in it */
        char loader[16];
        snprintf(loader, sizeof(loader), "%zu.0", 100 + i);
        assert_true(pp_run_set_field(&base.run[i], "config.dataloader", loader));
    }
    set(&head, "config.workers", "4"); /* changed on purpose: shown, not refused */
    c = compare(&base, &head, &o);
    assert_int_equal(c.n_changes, 1);
    assert_string_equal(c.change[0].name, "config.workers");
    assert_string_equal(c.change[0].head, "4");
    pp_compare_free(&c);
    assert_true(pp_run_set_field(&head.run[2], "config.workers", "3"));
    assert_int_equal(try_compare(&base, &head, &o, &c, &err), PP_E_INCONCLUSIVE);
    contains(err.text, "differ in configuration: config.workers is 4");
    set(&head, "config.workers", "2");
    assert_true(pp_run_set_field(&head.run[5], "kernel", "6.2")); /* among the runs of one side, too */
    assert_int_equal(try_compare(&base, &head, &o, &c, &err), PP_E_INCONCLUSIVE);
    contains(err.text, "kernel");
    pp_runs_free(&base);
    pp_runs_free(&head);
}

static void verdict_of(struct pp_runs *side, size_t from, const char *l0, const char *l1)
{
    for (size_t i = from; i < side->n; i++) {
        snprintf(side->run[i].l0, sizeof(side->run[i].l0), "%s", l0);
        snprintf(side->run[i].l1, sizeof(side->run[i].l1), "%s", l1);
    }
}

static void verdict_changes_are_findings(void **state)
{
    static const struct {
        const char *base0, *base1, *head0, *head1;
        size_t head_from; /* the runs of head before it show base's class */
        int changed;
        enum pp_answer answer;
    } rows[] = {
        {"input-bound", "storage", "input-bound", "storage", 0, 0, PP_NOT_REGRESSED},
        {"not-input-bound", "", "input-bound", "storage", 0, 1, PP_REGRESSED},
        {"input-bound", "storage", "not-input-bound", "", 0, 1, PP_NOT_REGRESSED},
        {"input-bound", "storage", "input-bound", "transform", 0, 1, PP_NOT_REGRESSED},
        {"not-input-bound", "", "input-bound", "storage", 3, 0, PP_INCONCLUSIVE},
        {"not-input-bound", "", "input-bound", "storage", 5, 0, PP_NOT_REGRESSED},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_runs base = fake_side("base", 7, 1, 0.01, 1), head = fake_side("head", 7, 1, 0.01, 2);
        verdict_of(&base, 0, rows[i].base0, rows[i].base1);
        verdict_of(&head, 0, rows[i].base0, rows[i].base1);
        verdict_of(&head, rows[i].head_from, rows[i].head0, rows[i].head1);
        struct pp_compare c = compare(&base, &head, NULL);
        if (c.verdict.changed != rows[i].changed || c.verdict.answer != rows[i].answer)
            fail_msg("row %zu: %s (p %.3g)", i, c.verdict.sentence, c.verdict.p_all);
        assert_int_equal(pp_compare_exit_code(&c, 0), rows[i].answer == PP_REGRESSED      ? 1
                                                      : rows[i].answer == PP_INCONCLUSIVE ? 3
                                                                                          : 0);
        if (rows[i].answer == PP_REGRESSED)
            contains(
                c.sentence,
                "the verdict changed from not-input-bound (7 of 7 runs) to input-bound/storage (7 of 7)");
        done(&c, &base, &head);
    }
}

static void differences_are_attributed(void **state)
{
    struct pp_runs base = fake_side("base", 7, 1, 0, 1), head = fake_side("head", 7, 1.1, 0, 2);
    struct pp_compare c = compare(&base, &head, NULL);
    assert_string_equal(c.attribution,
                        "+3.20 ms per batch (32.0 ms -> 35.2 ms), of which decode cpu +3.20 ms");
    assert_int_equal(c.n_parts, 2);
    done(&c, &base, &head);
    base = fake_side("base", 7, 1, 0, 1), head = fake_side("head", 7, 1, 0, 2);
    c = compare(&base, &head, NULL);
    assert_string_equal(c.attribution, "");
    done(&c, &base, &head);
    /* the trainer's own lane: a longer step is not the loader's */
    base = fake_side("base", 7, 1, 0, 1), head = fake_side("head", 7, 1, 0, 2);
    for (size_t i = 0; i < 7; i++) {
        head.run[i].batch_s += 0.005;
        head.run[i].part_s[PP_LANE_TRAINER][PP_PHASE_STEP][PP_PART_CPU] += 0.005;
    }
    c = compare(&base, &head, NULL);
    contains(c.attribution, "of which step cpu +5.00 ms");
    done(&c, &base, &head);
}

static void thresholds_below_the_noise_are_refused(void **state)
{
    struct pp_compare_opts o;
    fake_quick(&o);
    o.refuse_below_noise = 1;
    for (int large = 0; large < 2; large++) {
        struct pp_runs base = fake_side("base", 7, 1, 0.06, 1),
                       head = fake_side("head", 7, large ? 2 : 0.97, 0.06, 2);
        struct pp_compare c = compare(&base, &head, &o);
        const struct pp_compare_metric *m = &c.metric[PP_CMP_CPU_S_PER_SAMPLE];
        assert_true(m->noise_floor > m->threshold);
        assert_int_equal(m->answer, large ? PP_REGRESSED : PP_INCONCLUSIVE);
        if (!large)
            contains(m->reason, "below the noise floor");
        done(&c, &base, &head);
    }
}

static void looks_share_alpha(void **state)
{
    struct pp_compare_opts o;
    struct pp_runs base = fake_side("base", 7, 1, 0.01, 1), head = fake_side("head", 7, 1.1, 0.01, 2);
    fake_quick(&o);
    struct pp_compare one = compare(&base, &head, &o);
    o.look_share = 0.5;
    struct pp_compare two = compare(&base, &head, &o);
    assert_int_equal(two.metric[0].answer, PP_REGRESSED);
    assert_true(two.metric[0].low <= one.metric[0].low && two.metric[0].high >= one.metric[0].high);
    o.look_share = 0.1;
    struct pp_compare ten = compare(&base, &head, &o);
    assert_true(ten.runs_needed > one.runs_needed);
    assert_int_equal(ten.metric[0].answer, PP_INCONCLUSIVE);
    pp_compare_free(&one);
    pp_compare_free(&two);
    done(&ten, &base, &head);
}

/* A machine whose speed drifts by 15 % between pairs: side against side shows nothing, pair against pair
 * the drift is gone. */
static void what_pairs_share_is_no_noise(void **state)
{
    static const struct {
        double slow;
        enum pp_answer runs, pairs;
        int improved;
    } rows[] = {{1, PP_INCONCLUSIVE, PP_NOT_REGRESSED, 0},
                {1.1, PP_INCONCLUSIVE, PP_REGRESSED, 0},
                {0.9, PP_NOT_REGRESSED, PP_NOT_REGRESSED, 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int paired = 0; paired < 2; paired++) {
            struct pp_compare_opts o;
            struct pp_runs base = fake_side("base", 7, 1, 0.01, 4),
                           head = fake_side("head", 7, rows[i].slow, 0.01, 5);
            fake_drift(&base, &head, 0.15, 6);
            fake_quick(&o);
            o.paired = paired;
            struct pp_compare c = compare(&base, &head, &o);
            const struct pp_compare_metric *m = &c.metric[PP_CMP_CPU_S_PER_SAMPLE];
            if (m->answer != (paired ? rows[i].pairs : rows[i].runs))
                fail_msg("row %zu, %s: %s (%.4f .. %.4f, p %.2g)", i, paired ? "pairs" : "runs",
                         pp_answer_names[m->answer], m->low, m->high, m->p_all);
            assert_int_equal(m->improved, paired && rows[i].improved);
            if (paired) {
                assert_true(fabs(m->ratio - rows[i].slow) <
                            0.017); /* three standard errors of 1 % noise in seven pairs */
                assert_true(m->low < m->ratio && m->ratio < m->high);
                assert_true(m->noise_floor < 0.02);
                for (size_t k = 0; k < 7; k++)
                    assert_true(fabs(m->pair[k] - log(m->head[k] / m->base[k])) < 1e-12);
            }
            done(&c, &base, &head);
        }
}

static void pairs_need_as_many_on_each_side_and_seven(void **state)
{
    struct pp_compare_opts o;
    struct pp_compare c;
    struct pp_err err;
    fake_quick(&o);
    o.paired = 1;
    for (size_t n = 1; n <= 8; n++) {
        struct pp_runs base = fake_side("base", n, 1, 0.01, 1), head = fake_side("head", n, 1.5, 0.01, 2);
        c = compare(&base, &head, &o);
        assert_int_equal(c.runs_needed, 7);
        assert_int_equal(c.metric[PP_CMP_SAMPLES_PER_S].answer, n < 7 ? PP_INCONCLUSIVE : PP_REGRESSED);
        assert_int_equal(isnan(c.metric[PP_CMP_SAMPLES_PER_S].noise_floor) != 0, n == 1);
        if (n < 7)
            contains(c.metric[PP_CMP_SAMPLES_PER_S].reason, "need at least 7 runs");
        done(&c, &base, &head);
    }
    struct pp_runs base = fake_side("base", 7, 1, 0.01, 1), head = fake_side("head", 8, 1, 0.01, 2);
    assert_int_equal(try_compare(&base, &head, &o, &c, &err), PP_E_USAGE);
    contains(err.text, "base has 7 and head has 8");
    pp_runs_free(&base);
    pp_runs_free(&head);
}

static void verdict_changes_in_pairs_are_findings(void **state)
{
    for (size_t from = 0; from <= 7; from++) { /* the runs of head before it show base's class */
        struct pp_compare_opts o;
        struct pp_runs base = fake_side("base", 7, 1, 0.01, 1), head = fake_side("head", 7, 1, 0.01, 2);
        verdict_of(&base, 0, "not-input-bound", "");
        verdict_of(&head, 0, "not-input-bound", "");
        verdict_of(&head, from, "input-bound", "storage");
        fake_quick(&o);
        o.paired = 1;
        struct pp_compare c = compare(&base, &head, &o);
        assert_int_equal(c.verdict.changed, from == 0);
        assert_int_equal(c.verdict.answer, from == 0   ? PP_REGRESSED
                                           : from <= 3 ? PP_INCONCLUSIVE
                                                       : PP_NOT_REGRESSED);
        done(&c, &base, &head);
    }
}

static void options_are_checked(void **state)
{
    struct pp_compare_opts o;
    struct pp_runs base = fake_side("base", 2, 1, 0.01, 1);
    struct pp_compare c;
    struct pp_err err;
    fake_quick(&o);
    o.alpha = 0;
    assert_int_equal(try_compare(&base, &base, &o, &c, &err), PP_E_USAGE);
    fake_quick(&o);
    o.threshold[3] = NAN;
    assert_int_equal(try_compare(&base, &base, &o, &c, &err), PP_E_USAGE);
    contains(err.text, "first_batch_s");
    pp_runs_free(&base);
}

/* How often the whole comparison is wrong, at 2 % noise and n = 7. tests/bench/bench_ci.c measures the same
 * with more draws and on real runs. */
static void gate_is_right(void **state)
{
    enum { TRIALS = 200 };
    int alarms = 0, found = 0;
    for (uint64_t t = 0; t < TRIALS; t++) {
        struct pp_compare_opts o;
        fake_quick(&o);
        o.resamples = 400;
        struct pp_runs base = fake_side("base", 7, 1, 0.02, 10 + 3 * t),
                       same = fake_side("head", 7, 1, 0.02, 11 + 3 * t),
                       slow = fake_side("head", 7, 1.1, 0.02, 12 + 3 * t);
        struct pp_compare c = compare(&base, &same, &o);
        alarms += c.answer == PP_REGRESSED;
        pp_compare_free(&c);
        c = compare(&base, &slow, &o);
        found += c.answer == PP_REGRESSED;
        done(&c, &base, &slow);
        pp_runs_free(&same);
    }
    print_message("# 2 %% noise, n = 7: false alarms %d of %d, a 10 %% slow-down found %d of %d\n", alarms,
                  TRIALS, found, TRIALS);
    assert_in_range(alarms, 0, TRIALS / 100);
    assert_in_range(found, TRIALS * 95 / 100, TRIALS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_metric_has_a_row_that_makes_sense),
        cmocka_unit_test(answers_follow_the_effect),
        cmocka_unit_test(too_few_runs_are_inconclusive),
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(counts_that_vary_are_tested_like_timings),
        cmocka_unit_test(small_shares_and_waits_do_not_triple),
        cmocka_unit_test(missing_metrics_are_said),
        cmocka_unit_test(ungated_metrics_do_not_decide),
        cmocka_unit_test(other_samples_are_refused),
        cmocka_unit_test(other_environments_are_refused),
        cmocka_unit_test(verdict_changes_are_findings),
        cmocka_unit_test(differences_are_attributed),
        cmocka_unit_test(thresholds_below_the_noise_are_refused),
        cmocka_unit_test(looks_share_alpha),
        cmocka_unit_test(what_pairs_share_is_no_noise),
        cmocka_unit_test(pairs_need_as_many_on_each_side_and_seven),
        cmocka_unit_test(verdict_changes_in_pairs_are_findings),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(gate_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
