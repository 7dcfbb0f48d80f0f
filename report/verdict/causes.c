#include "report/verdict/verdict.h"

/* Of the rule, or of what the lanes did, as far as that is known. */
static const struct pp_condition *missed_by(const struct pp_values *v, const struct pp_rule *rule)
{
    const struct pp_condition *c = pp_rule_missed(rule, v);
    for (size_t i = 0; !c && rule->l2 && i < pp_lane_rules_n; i++) {
        const struct pp_lane_rule *r = &pp_lane_rules[i];
        if (strcmp(rule->l1, r->l1) == 0 && strcmp(rule->l2, r->l2) == 0 && !isnan(v->number[r->when.fact]) &&
            !pp_condition_holds(&r->when, v))
            c = &r->when;
    }
    return c;
}

const struct pp_rule *pp_cause_first(const struct pp_facts *f, const struct pp_rule *rules, size_t n)
{
    const struct pp_values v = pp_facts_values(f);
    for (size_t i = 0; i < n; i++)
        if (!missed_by(&v, &rules[i]))
            return &rules[i];
    return NULL;
}

const struct pp_rule *pp_cause_of_starving(const struct pp_facts *f)
{
    const struct pp_values v = pp_facts_values(f);
    for (size_t i = 0; i < pp_cause_rules_replay_n; i++) {
        const struct pp_rule *rule = &pp_cause_rules_replay[i];
        if (rule->relief.compare != PP_NO_CONDITION && !pp_rule_missed(rule, &v) &&
            pp_condition_holds(&rule->relief, &v))
            return rule;
    }
    return NULL;
}

/* A row that misses what was not recorded says less than another row of its cause that misses by a number. */
static int says_less(const struct pp_values *v, const struct pp_rule *rules, size_t n, size_t i)
{
    const struct pp_condition *c = pp_rule_missed(&rules[i], v);
    if (!c || c->fact == PP_METRIC_OWNER || !isnan(v->number[c->fact]))
        return 0;
    for (size_t k = i + 1; k < n; k++)
        if (rules[k].l2 && strcmp(rules[k].l1, rules[i].l1) == 0 && strcmp(rules[k].l2, rules[i].l2) == 0)
            return 1;
    return 0;
}

void pp_causes_reject(const struct pp_facts *f, struct pp_arena *arena, struct pp_report_verdict *verdict)
{
    const struct pp_values v = pp_facts_values(f);
    const struct {
        const struct pp_rule *rules;
        size_t n;
    } sets[] = {{pp_cause_rules_replay, pp_cause_rules_replay_n},
                {pp_cause_rules_shares, pp_cause_rules_shares_n},
                {pp_outside_rules, pp_outside_rules_n}};
    for (size_t s = 0; s < sizeof(sets) / sizeof(*sets); s++)
        for (size_t i = 0; i < sets[s].n; i++) {
            struct pp_report_rejected *all = verdict->rejected, *to;
            const struct pp_condition *c;
            char value[48], limit[160];
            const struct pp_rule *r = &sets[s].rules[i];
            int said = !r->l2 || (verdict->l1 && verdict->l2 && strcmp(verdict->l1, r->l1) == 0 &&
                                  strcmp(verdict->l2, r->l2) == 0);
            /* A cause may have several rows; the first is the one that needs a replay. */
            for (size_t k = 0; !said && k < verdict->n_rejected; k++)
                said = strcmp(all[k].l1, r->l1) == 0 && strcmp(all[k].l2, r->l2) == 0;
            if (said || says_less(&v, sets[s].rules, sets[s].n, i) ||
                !(to = pp_arena_push(arena, (void **)&all, &verdict->n_rejected, sizeof(*to))))
                continue;
            *to = (struct pp_report_rejected){.l1 = r->l1, .l2 = r->l2};
            if (!(c = missed_by(&v, r)))
                to->why = "also true; an earlier rule named the cause";
            else if (c->fact == PP_METRIC_OWNER)
                to->why = "another phase causes the stalls";
            else
                to->why = pp_arena_printf(arena, "%s is %s, not %s", v.facts[c->fact].text,
                                          isnan(v.number[c->fact])
                                              ? "unknown"
                                              : pp_fact_value(&v, c->fact, value, sizeof(value)),
                                          pp_condition_text(c, v.facts, limit, sizeof(limit)));
            verdict->rejected = all;
        }
}
