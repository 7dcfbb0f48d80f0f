#include "tests/support/fixing_page.h"

#include "report/verdict/labels.h"
#include "report/verdict/verdict_rules.h"

#include <stdio.h>
#include <string.h>

static int same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int same_words(const struct pp_remedy *a, const struct pp_remedy *b)
{
    return same(a->pytorch, b->pytorch) && same(a->webdataset, b->webdataset) && same(a->dali, b->dali);
}

static void put_fix(FILE *out, const struct pp_remedy *r)
{
    const struct {
        const char *in, *words;
    } rows[] = {{"PyTorch", r->pytorch},
                {"WebDataset", r->webdataset},
                {"DALI", r->dali},
                {"pipeprobe run", r->pipeprobe}};
    fprintf(out, "- Do: %s\n", r->sentence);
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
        if (rows[k].words)
            fprintf(out, "  - %s: %s\n", rows[k].in, rows[k].words);
    if (r->line)
        fprintf(out, "  - To paste: `%s`\n", r->line);
}

/* The remedies of all rules of that label, each change once. */
static void put_fixes(FILE *out, const char *l1, const char *l2)
{
    const struct {
        const struct pp_rule *rules;
        size_t n;
    } blocks[] = {{pp_cause_rules_replay, pp_cause_rules_replay_n},
                  {pp_cause_rules_shares, pp_cause_rules_shares_n},
                  {pp_cause_rules_threads, pp_cause_rules_threads_n},
                  {pp_outside_rules, pp_outside_rules_n},
                  {pp_trace_rules, pp_trace_rules_n}};
    const struct pp_remedy *told[16];
    size_t n = 0;
    for (size_t b = 0; b < sizeof(blocks) / sizeof(*blocks); b++)
        for (size_t i = 0; i < blocks[b].n; i++) {
            const struct pp_rule *rule = &blocks[b].rules[i];
            const struct pp_remedy *r = &pp_remedies[rule->remedy];
            size_t k = 0;
            if (!same(rule->l1, l1) || !same(rule->l2, l2))
                continue;
            while (k < n && !same_words(told[k], r))
                k++;
            if (k == n && n < sizeof(told) / sizeof(*told)) {
                told[n++] = r;
                put_fix(out, r);
            }
        }
}

char *fixing_page(void)
{
    char *page = NULL;
    size_t size;
    FILE *out = open_memstream(&page, &size);
    const char *class = "";
    if (!out)
        return NULL;
    fputs(
        "# Fixing a stall\n\n"
        "<!-- Generated from report/verdict/labels.c and report/rules/remedies.c by `make golden`; edit those, not this page. -->\n\n"
        "Symptom, verdict, fix. A report gives the line with this recording's numbers and the gain to expect; here is the same change in each\n"
        "program. {name} stands for a value of the run. What each verdict rests on: [verdicts](../reference/verdicts.md); words:\n"
        "[glossary](../reference/glossary.md). To try a fix before writing it: [what-if and proof](whatif-and-prove.md).\n",
        out);
    for (size_t i = 0; i < pp_labels_n; i++) {
        if (!pp_labels[i].symptom)
            continue;
        const char *l1 = pp_labels[i].l1 ? pp_labels[i].l1 : "not measured", *l2 = pp_labels[i].l2;
        if (strcmp(class, l1) != 0)
            fprintf(out, "\n## %s\n", l1);
        class = l1;
        fprintf(out, "\n### %s%s%s\n\n%s\n\n", l1, l2 ? " / " : ", no cause named", l2 ? l2 : "",
                pp_labels[i].symptom);
        put_fixes(out, pp_labels[i].l1, pp_labels[i].l2);
    }
    if (fclose(out) != 0)
        return NULL;
    return page;
}
