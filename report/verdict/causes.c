#include "report/verdict/causes.h"

#include "probe/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum truth { NO, YES, UNKNOWN };
enum {
    MOST_CONDITIONS = sizeof(((struct pp_cause_rule *)0)->when) / sizeof(((struct pp_cause_rule *)0)->when[0])
};

const char *pp_unit_text(enum pp_unit unit, double v, char *buf, size_t size)
{
    switch (unit) {
    case PP_UNIT_SHARE: return pp_text_percent(buf, size, v);
    case PP_UNIT_COUNT: return pp_text_count(buf, size, v);
    case PP_UNIT_RATE: return pp_text_rate(buf, size, v);
    case PP_UNIT_TIME: return pp_text_duration(buf, size, v);
    case PP_UNIT_NUMBER: break;
    }
    snprintf(buf, size, "%.3g", v);
    return isnan(v) ? "-" : buf;
}

static enum truth holds(const struct pp_facts *f, enum pp_condition_id id)
{
    double v = f->metric[pp_conditions[id].metric];
    return isnan(v) ? UNKNOWN : v >= pp_conditions[id].at_least ? YES : NO;
}

/* A rule for any owner needs none; one for the hand-off (PP_PHASE_NONE) needs to know that it is the
 * hand-off. */
static int owner_fits(const struct pp_facts *f, const struct pp_cause_rule *rule)
{
    return rule->owners == PP_ANY_OWNER || (f->owner_known && (rule->owners & (1u << f->owner)) != 0);
}

/* Index of the first condition that does not come out as the rule wants it; MOST_CONDITIONS: all do. */
static int first_missed(const struct pp_facts *f, const struct pp_cause_rule *rule)
{
    for (int k = 0; k < MOST_CONDITIONS && rule->when[k].id != PP_IF_END; k++)
        if (holds(f, rule->when[k].id) != (rule->when[k].holds ? YES : NO))
            return k;
    return MOST_CONDITIONS;
}

const struct pp_cause_rule *pp_cause_first(const struct pp_facts *f, const struct pp_cause_rule *rules,
                                           size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (owner_fits(f, &rules[i]) && first_missed(f, &rules[i]) == MOST_CONDITIONS)
            return &rules[i];
    return NULL;
}

const struct pp_cause_rule *pp_cause_of_starving(const struct pp_facts *f)
{
    for (size_t i = 0; i < pp_cause_rules_n; i++) {
        const struct pp_cause_rule *rule = &pp_cause_rules[i];
        if (rule->relief != PP_IF_END && first_missed(f, rule) == MOST_CONDITIONS &&
            holds(f, rule->relief) == YES)
            return rule;
    }
    return NULL;
}

static const char *why_not(const struct pp_facts *f, const struct pp_cause_rule *rule, struct pp_arena *arena)
{
    int k = first_missed(f, rule);
    if (!owner_fits(f, rule))
        return "another phase owns the stalls";
    if (k == MOST_CONDITIONS)
        return "it holds too; an earlier rule named the cause";
    const struct pp_condition *c = &pp_conditions[rule->when[k].id];
    const struct pp_metric_info *m = &pp_metric_infos[c->metric];
    char value[48], limit[48];
    return pp_arena_printf(arena, "%s is %s, not %s %s", m->text,
                           isnan(f->metric[c->metric])
                               ? "unknown"
                               : pp_unit_text(m->unit, f->metric[c->metric], value, sizeof(value)),
                           rule->when[k].holds ? ">=" : "<",
                           pp_unit_text(m->unit, c->at_least, limit, sizeof(limit)));
}

/* A cause may have several rows; the first is the one that needs a replay. */
static int named_already(const struct pp_report_verdict *v, const char *l1, const char *l2)
{
    for (size_t i = 0; i < v->n_rejected; i++)
        if (strcmp(v->rejected[i].l1, l1) == 0 && strcmp(v->rejected[i].l2, l2) == 0)
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
        if (!r->l2 || is_verdict(v, r) || named_already(v, r->l1, r->l2))
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
    reject(f, pp_cause_rules, pp_cause_rules_n, arena, v);
    reject(f, pp_outside_rules, pp_outside_rules_n, arena, v);
}
