#include "report/findings/findings.h"

#include "report/rules/remedies.h"

void pp_findings_conclude(const struct pp_rule *rules, size_t n_rules, const struct pp_values *v,
                          struct pp_arena *arena, struct pp_report *r)
{
    static const struct {
        enum pp_finding_state state;
        const char *name;
    } states[] = {[PP_SAYS_SO] = {PP_FINDING_FOUND, "found"},
                  [PP_SAYS_NOT] = {PP_FINDING_NOT_FOUND, "not-found"},
                  [PP_SAYS_UNKNOWN] = {PP_FINDING_NOT_MEASURED, "not-measured"}};
    for (size_t i = 0, n; i < n_rules; i += n) { /* the n rules of one code */
        const struct pp_rule *code = &rules[i];
        for (n = 1; i + n < n_rules && !rules[i + n].l1;)
            n++;
        if (code->asked && !pp_fact_is_known(v, code->asked))
            continue;
        const char *unknown = code->unknown ? v->text[code->unknown] : NULL;
        const struct pp_rule *rule = unknown ? NULL : pp_rules_first(code, n, v);
        enum pp_says says = unknown ? PP_SAYS_UNKNOWN : rule ? rule->says : PP_SAYS_NOT;
        struct pp_report_finding *f = pp_arena_push(arena, (void **)&r->findings, &r->n_findings, sizeof(*f));
        if (!f)
            continue;
        *f = (struct pp_report_finding){.kind = code->l1,
                                        .state = states[says].state,
                                        .state_name = states[says].name};
        f->sentence = unknown ? unknown
                      : rule  ? pp_rules_fill(rule->said, v, arena)
                              : pp_rules_fill(code->not_said ? code->not_said : code->said, v, arena);
        if (says == PP_SAYS_SO)
            f->remedy = &pp_remedies[rule->remedy], f->next_step = f->remedy->sentence;
        /* The facts that a rule shows, by name. */
        const char *shows = says == PP_SAYS_UNKNOWN ? NULL
                            : rule                  ? rule->shows
                            : code->not_shown       ? NULL
                                                    : code->shows;
        for (const char *p = shows; p && *p && f->numbers < PP_FINDING_NUMBERS; p += strspn(p, " ")) {
            size_t len = strcspn(p, " ");
            unsigned fact = pp_fact_find(v, p, len);
            p += len;
            if (fact == v->n)
                continue;
            f->number[f->numbers].name = v->facts[fact].key ? v->facts[fact].key : v->facts[fact].name;
            f->number[f->numbers++].value = v->number[fact];
        }
    }
}

void pp_findings_add(const struct pp_findings_from *from, struct pp_report *r)
{
    static pp_finding_measure *const measures[] = {
        pp_measure_run,        pp_measure_visits, pp_measure_workers, pp_measure_remote,
        pp_measure_cache,      pp_measure_leases, pp_measure_pages,   pp_measure_shuffle,
        pp_measure_hooks,      pp_measure_handed, pp_measure_numa,    pp_measure_device_decode,
        pp_measure_step_lines,
    };
    struct pp_finding_values f = {.text = {NULL}};
    const struct pp_values v = {pp_finding_facts, PP_FINDING_FACTS, f.number, f.text};
    for (size_t i = 0; i < PP_FINDING_FACTS; i++)
        f.number[i] = NAN;
    for (size_t i = 0; i < sizeof(measures) / sizeof(*measures); i++)
        measures[i](from, &f);
    pp_findings_conclude(pp_finding_rules, pp_finding_rules_n, &v, from->arena, r);
}
