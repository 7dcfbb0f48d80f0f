/* The tables of the verdict: that rules, remedies and scenarios speak of the same things, and that each limit
 * decides. Their documentation: test_verdict_page.c. */
#include "report/build/parts.h"
#include "report/verdict/verdict.h"
#include "tests/lab/scenario.h"
#include "tests/support/made_facts.h"

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
    assert_int_equal(seen, 17);
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
