#include "report/verdict/causes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A metric that is unknown (NAN) meets no condition. */
static int holds(const struct pp_facts *f, const struct pp_condition *c)
{
    double v = f->metric[c->metric];
    return c->compare == PP_AT_LEAST ? v >= c->limit : v < c->limit;
}

/* A rule for any owner needs none; one for the hand-off (PP_PHASE_NONE) needs to know that it is the
 * hand-off. */
static int owner_fits(const struct pp_facts *f, const struct pp_cause_rule *rule)
{
    return rule->owners == PP_ANY_OWNER || (f->owner_known && (rule->owners & (1u << f->owner)) != 0);
}

/* The first condition that does not hold, or is unknown; NULL: all hold. */
static const struct pp_condition *first_missed(const struct pp_facts *f, const struct pp_cause_rule *rule)
{
    for (int k = 0; k < PP_CONDITIONS_MOST && rule->when[k].compare != PP_NO_CONDITION; k++)
        if (!holds(f, &rule->when[k]))
            return &rule->when[k];
    return NULL;
}

const struct pp_cause_rule *pp_cause_first(const struct pp_facts *f, const struct pp_cause_rule *rules,
                                           size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (owner_fits(f, &rules[i]) && !first_missed(f, &rules[i]))
            return &rules[i];
    return NULL;
}

const struct pp_cause_rule *pp_cause_of_starving(const struct pp_facts *f)
{
    for (size_t i = 0; i < pp_cause_rules_replay_n; i++) {
        const struct pp_cause_rule *rule = &pp_cause_rules_replay[i];
        if (rule->relief.compare != PP_NO_CONDITION && !first_missed(f, rule) && holds(f, &rule->relief))
            return rule;
    }
    return NULL;
}

const char *pp_condition_text(const struct pp_condition *c, char *buf, size_t size)
{
    char limit[48];
    snprintf(buf, size, "%s %s", c->compare == PP_AT_LEAST ? ">=" : "<",
             pp_unit_text(pp_metric_infos[c->metric].unit, c->limit, limit, sizeof(limit)));
    return buf;
}

static const char *why_not(const struct pp_facts *f, const struct pp_cause_rule *rule, struct pp_arena *arena)
{
    const struct pp_condition *c = first_missed(f, rule);
    if (!owner_fits(f, rule))
        return "another phase causes the stalls";
    if (!c)
        return "also true; an earlier rule named the cause";
    const struct pp_metric_info *m = &pp_metric_infos[c->metric];
    char value[48], limit[64];
    return pp_arena_printf(arena, "%s is %s, not %s", m->text,
                           isnan(f->metric[c->metric])
                               ? "unknown"
                               : pp_unit_text(m->unit, f->metric[c->metric], value, sizeof(value)),
                           pp_condition_text(c, limit, sizeof(limit)));
}

/* A cause may have several rows; the first is the one that needs a replay. */
static int named_already(const struct pp_report_verdict *v, const char *l1, const char *l2)
{
    for (size_t i = 0; i < v->n_rejected; i++)
        if (strcmp(v->rejected[i].l1, l1) == 0 && strcmp(v->rejected[i].l2, l2) == 0)
            return 1;
    return 0;
}

/* A row that misses what was not recorded says less than another row of its cause that misses by a number. */
static int says_less(const struct pp_facts *f, const struct pp_cause_rule *rules, size_t n, size_t i)
{
    const struct pp_condition *c = first_missed(f, &rules[i]);
    if (!c || !isnan(f->metric[c->metric]))
        return 0;
    for (size_t k = i + 1; k < n; k++)
        if (rules[k].l2 && strcmp(rules[k].l1, rules[i].l1) == 0 && strcmp(rules[k].l2, rules[i].l2) == 0)
            return 1;
    return 0;
}

static int is_verdict(const struct pp_report_verdict *v, const struct pp_cause_rule *r)
{
    return v->l1 && v->l2 && strcmp(v->l1, r->l1) == 0 && strcmp(v->l2, r->l2) == 0;
}

static void reject(const struct pp_facts *f, const struct pp_cause_rule *rules, size_t n,
                   struct pp_arena *arena, struct pp_report_verdict *v)
{
    struct pp_report_rejected *all = v->rejected;
    for (size_t i = 0; i < n; i++) {
        const struct pp_cause_rule *r = &rules[i];
        if (!r->l2 || is_verdict(v, r) || named_already(v, r->l1, r->l2) || says_less(f, rules, n, i))
            continue;
        struct pp_report_rejected *to = pp_arena_push(arena, (void **)&all, &v->n_rejected, sizeof(*to));
        if (!to)
            return;
        *to = (struct pp_report_rejected){.l1 = r->l1, .l2 = r->l2, .why = why_not(f, r, arena)};
        v->rejected = all;
    }
}

void pp_causes_reject(const struct pp_facts *f, struct pp_arena *arena, struct pp_report_verdict *v)
{
    reject(f, pp_cause_rules_replay, pp_cause_rules_replay_n, arena, v);
    reject(f, pp_cause_rules_shares, pp_cause_rules_shares_n, arena, v);
    reject(f, pp_outside_rules, pp_outside_rules_n, arena, v);
}
