/* docs/reference/verdicts.md is what the tables of the verdict make of it, and speaks of every label. */
#include "report/verdict/labels.h"
#include "tests/support/fixing_page.h"
#include "tests/support/golden.h"
#include "tests/support/verdict_page.h"

static void test_the_page_is_what_the_tables_say(void **state)
{
    char *page = verdict_page();
    assert_non_null(page);
    golden_check("../../docs/reference/verdicts.md", page);
    free(page);
}

static void test_the_guide_has_every_verdict_and_its_fix(void **state)
{
    char *page = fixing_page();
    assert_non_null(page);
    golden_check("../../docs/guide/fixing-a-stall.md", page);
    for (size_t i = 0; i < pp_cause_rules_replay_n; i++) {
        const struct pp_remedy *r = &pp_remedies[pp_cause_rules_replay[i].remedy];
        if (!strstr(page, r->pytorch ? r->pytorch : r->sentence))
            fail_msg("the guide has no fix for %s/%s", pp_cause_rules_replay[i].l1,
                     pp_cause_rules_replay[i].l2);
    }
    free(page);
}

static void check_meanings(const struct pp_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!verdict_label(rules[i].l1, rules[i].l2) || !verdict_label(rules[i].l1, rules[i].l2)->symptom)
            fail_msg("%s/%s has no meaning or no symptom: report/verdict/labels.c",
                     rules[i].l1 ? rules[i].l1 : "-", rules[i].l2 ? rules[i].l2 : "-");
}

static void test_every_label_has_a_meaning(void **state)
{
    check_meanings(pp_cause_rules_replay, pp_cause_rules_replay_n);
    check_meanings(pp_cause_rules_shares, pp_cause_rules_shares_n);
    check_meanings(pp_cause_rules_threads, pp_cause_rules_threads_n);
    check_meanings(pp_outside_rules, pp_outside_rules_n);
    check_meanings(pp_trace_rules, pp_trace_rules_n);
}

/* Every condition of every rule stands on the page with its limit and where that comes from. */
static void test_every_limit_has_its_source_on_the_page(void **state)
{
    char *page = verdict_page();
    assert_non_null(page);
    for (size_t i = 0; i < pp_cause_rules_replay_n; i++)
        for (int k = 0; k < PP_CONDITIONS_MOST; k++) {
            const struct pp_condition *c = &pp_cause_rules_replay[i].when[k];
            if (c->compare != PP_NO_CONDITION &&
                (!strstr(page, c->source) || !strstr(page, pp_metric_facts[c->fact].text)))
                fail_msg("%s is not on the page", pp_metric_facts[c->fact].text);
        }
    for (int i = 0; i < PP_REMEDIES; i++)
        if (pp_remedies[i].sentence && !strstr(page, pp_remedies[i].sentence))
            fail_msg("the page does not advise: %s", pp_remedies[i].sentence);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_page_is_what_the_tables_say),
        cmocka_unit_test(test_the_guide_has_every_verdict_and_its_fix),
        cmocka_unit_test(test_every_label_has_a_meaning),
        cmocka_unit_test(test_every_limit_has_its_source_on_the_page),
    };
    return cmocka_run_group_tests_name("verdict page", tests, NULL, NULL);
}
