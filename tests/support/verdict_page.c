#include "tests/support/verdict_page.h"

#include "report/verdict/verdict.h"
#include "report/verdict/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* ---- tables ---- */

struct block {
    const char *name, *meaning;
    const struct pp_rule *rules;
    size_t n;
};
enum { BLOCKS = 5 };

static void get_blocks(struct block b[BLOCKS])
{
    b[0] = (struct block){"replay", "by the GPU's own records, or by the replay", pp_cause_rules_replay,
                          pp_cause_rules_replay_n};
    b[1] = (struct block){"shares", "by the phase that owns the stalls, and its shares of time",
                          pp_cause_rules_shares, pp_cause_rules_shares_n};
    b[2] = (struct block){
        "threads",
        "by what the job's threads do in the stalls: where no span tells what makes the batches, or where spans say blocked and threads compute",
        pp_cause_rules_threads, pp_cause_rules_threads_n};
    b[3] = (struct block){
        "outside",
        "outside the steady state; asked when it is not input-bound, or when epoch boundaries take more than its waits",
        pp_outside_rules, pp_outside_rules_n};
    b[4] = (struct block){
        "trace", "of a trace that another profiler wrote (`pipeprobe import`), in place of the others",
        pp_trace_rules, pp_trace_rules_n};
}

static const char *measured_by(enum pp_metric m)
{
    static const char *const names[] = {[PP_FROM_RUN] = "the run's totals and configuration",
                                        [PP_FROM_WAIT] = "the trainer's timeline",
                                        [PP_FROM_OWNER] = "the spans in the stalls",
                                        [PP_FROM_LAWS] = "operational laws",
                                        [PP_FROM_RANKS] = "the collective steps",
                                        [PP_FROM_COSTS] = "costs of samples and steps",
                                        [PP_FROM_COUNTERS] = "counters of the machine and costs of samples",
                                        [PP_FROM_REPLAY] = "the replay and its costs",
                                        [PP_FROM_THREADS] = "looks at the job's threads in the stalls",
                                        [PP_FROM_GPU] = "the GPU's own records (CUPTI)"};
    return names[pp_metric_facts[m].from];
}

static void put_condition(FILE *out, const struct pp_condition *c)
{
    char limit[160];
    fprintf(out, "%s %s", c->fact == PP_METRIC_OWNER ? "owner" : pp_metric_facts[c->fact].text,
            pp_condition_text(c, pp_metric_facts, limit, sizeof(limit)));
}

/* ---- level 0 ---- */

static void put_levels(FILE *out)
{
    fputs(
        "## Level 0: does the trainer wait?\n\n"
        "Decided by the stall: the trainer's waits for data, for the device and for other ranks, and the part of its steps that is\n"
        "stretched by waiting for a CPU or spent without a kernel, as a share of the steady state.\n\n"
        "| code | level | meaning | evidence |\n|---|---|---|---|\n",
        out);
    for (size_t i = 0; i == 0 || pp_level_rules[i - 1].at_least > 0; i++) /* the last row takes everything */
        fprintf(out, "| `%s` | %s | %s | %s %s |\n", pp_level_rules[i].l0, pp_level_rules[i].level,
                pp_level_rules[i].at_least > 0 ? "The trainer waits for its input."
                                               : "The input keeps up; look at the step itself.",
                pp_metric_facts[PP_METRIC_DATA_WAIT].text, pp_level_rules[i].threshold);
    fputs(
        "| `inconclusive` | - | The recording does not allow a verdict. | one of the guards below fails |\n"
        "| `inconclusive` | ceiling | The trainer had no step (`--step none`): the rate is a ceiling, not a verdict. | the configuration of the run |\n\n"
        "### Guards: when the verdict is `inconclusive`\n\n"
        "| evidence | needed | where the limit comes from | when it is unknown | next step |\n|---|---|---|---|---|\n",
        out);
    for (size_t i = 0; i < pp_guard_rules_n; i++) {
        const struct pp_guard_rule *g = &pp_guard_rules[i];
        char limit[48];
        fprintf(out, "| %s | %s %s | %s | %s | %s |\n", pp_metric_facts[g->metric].text,
                g->at_least ? ">=" : "<=",
                pp_unit_text(pp_metric_facts[g->metric].unit, g->limit, limit, sizeof(limit)), g->source,
                g->if_known ? "passes" : "fails", pp_remedies[g->remedy].sentence);
    }
    fputs("\n## Level 1: which part of the pipeline?\n\n| code | meaning |\n|---|---|\n", out);
    for (size_t i = 0; i < pp_labels_n; i++)
        if (pp_labels[i].l1 && !pp_labels[i].l2)
            fprintf(out, "| `%s` | %s |\n", pp_labels[i].l1, pp_labels[i].meaning);
    fputs(
        "\nWithout a level 1 the wait is known and its cause is not established; the report says what is missing.\n",
        out);
}

/* ---- level 2 ---- */

/* The sentences of these remedies; what they are in each program is on one page, the guide's. */
static void put_changes(FILE *out, const enum pp_remedy_id *id, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "Next step: %s\n\n", pp_remedies[id[i]].sentence);
}

static void put_evidence(FILE *out, const struct block *b, const struct pp_rule *r)
{
    char limit[160];
    for (int k = 0; k < PP_CONDITIONS_MOST && r->when[k].compare != PP_NO_CONDITION; k++) {
        const struct pp_condition *c = &r->when[k];
        fprintf(out, "| %s | %s | %s | %s | %s |\n", b->name, pp_metric_facts[c->fact].text,
                pp_condition_text(c, pp_metric_facts, limit, sizeof(limit)), c->source, measured_by(c->fact));
    }
}

const struct pp_label *verdict_label(const char *l1, const char *l2)
{
    for (size_t i = 0; i < pp_labels_n; i++)
        if (same(pp_labels[i].l1, l1) && same(pp_labels[i].l2, l2))
            return &pp_labels[i];
    return NULL;
}

/* A label with all of its rules: what it means, its evidence, and each change that one of them advises. */
static void put_label(FILE *out, const struct block blocks[BLOCKS], const char *l1, const char *l2)
{
    int ways = 0;
    enum pp_remedy_id told[16];
    size_t n_told = 0;
    const struct pp_label *label = verdict_label(l1, l2);
    const char *meaning = label ? label->meaning : NULL;
    fprintf(out, "### %s%s%s\n\n%s\n\n", l1 ? l1 : "not measured",
            l2   ? " / "
            : l1 ? ", no cause named"
                 : "",
            l2 ? l2 : "", meaning ? meaning : "");
    fputs("| rule | evidence | limit | where the limit comes from | measured by |\n|---|---|---|---|---|\n",
          out);
    for (int b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < blocks[b].n; i++) {
            const struct pp_rule *r = &blocks[b].rules[i];
            if (!same(r->l1, l1) || !same(r->l2, l2))
                continue;
            if (ways++)
                fputs("| or | | | | |\n", out);
            put_evidence(out, &blocks[b], r);
            size_t k = 0;
            while (k < n_told && told[k] != r->remedy)
                k++;
            if (k == n_told && n_told < sizeof(told) / sizeof(*told))
                told[n_told++] = r->remedy;
        }
    fputc('\n', out);
    put_changes(out, told, n_told);
}

static int has_rule(const struct block blocks[BLOCKS], const char *l1, const char *l2)
{
    for (int b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < blocks[b].n; i++)
            if (same(blocks[b].rules[i].l1, l1) && same(blocks[b].rules[i].l2, l2))
                return 1;
    return 0;
}

static void put_labels(FILE *out, const struct block blocks[BLOCKS])
{
    fputs(
        "\n## Level 2: what is it bound by?\n\n"
        "A label holds when all evidence of one of its rules holds; \"or\" stands between its rules. Evidence that "
        "is unknown does not hold.\n\n"
        "| rule | decides |\n|---|---|\n",
        out);
    for (int b = 0; b < BLOCKS; b++)
        fprintf(out, "| %s | %s |\n", blocks[b].name, blocks[b].meaning);
    fputc('\n', out);
    for (int named = 1; named >= 0; named--)
        for (size_t i = 0; i < pp_labels_n; i++)
            if (!pp_labels[i].l2 == !named && has_rule(blocks, pp_labels[i].l1, pp_labels[i].l2))
                put_label(out, blocks, pp_labels[i].l1, pp_labels[i].l2);
}

/* ---- the order of the rules, fixes, findings ---- */

static void put_order(FILE *out, const struct block blocks[BLOCKS])
{
    fputs(
        "## Order of the rules\n\n"
        "The first rule that holds names the cause. \"replay: weight of X\" is the part that X has in what all causes gain, each made a quarter\n"
        "better. Where the trainer hardly waits for data and its own step is stretched, only a rule with an entry in the last column may name\n"
        "the cause, and only if that holds too.\n\n"
        "| rule | class | cause | holds when | of a stretched step besides |\n|---|---|---|---|---|\n",
        out);
    for (int b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < blocks[b].n; i++) {
            const struct pp_rule *r = &blocks[b].rules[i];
            const char *between = "";
            fprintf(out, "| %s | %s | %s | ", blocks[b].name, r->l1 ? r->l1 : "-", r->l2 ? r->l2 : "-");
            for (int k = 0; k < PP_CONDITIONS_MOST && r->when[k].compare != PP_NO_CONDITION; k++) {
                fputs(between, out);
                put_condition(out, &r->when[k]);
                between = "; ";
            }
            fputs(" | ", out);
            if (r->relief.compare != PP_NO_CONDITION)
                put_condition(out, &r->relief);
            else
                fputc('-', out);
            fputs(" |\n", out);
        }
}

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

static int of_a_rule(const struct block blocks[BLOCKS], int remedy)
{
    for (int b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < blocks[b].n; i++)
            if ((int)blocks[b].rules[i].remedy == remedy)
                return 1;
    return 0;
}

static void put_remedies(FILE *out, const struct block blocks[BLOCKS])
{
    fputs("\n## Ranked fixes\n\n"
          "What a report lists with a predicted gain. The knob is its name in JSON and CSV.\n\n"
          "| knob | fix | pipeprobe run | PyTorch | WebDataset | DALI |\n|---|---|---|---|---|---|\n",
          out);
    for (int i = 0; i < PP_REMEDIES; i++) {
        const struct pp_remedy *r = &pp_remedies[i];
        if (r->knob)
            fprintf(out, "| `%s` | %s | %s | %s | %s | %s |\n", r->knob, r->offer, or_dash(r->pipeprobe),
                    or_dash(r->pytorch), or_dash(r->webdataset), or_dash(r->dali));
    }
    fputs("\n## Next steps of findings\n\n"
          "| next step | pipeprobe run | PyTorch | WebDataset | DALI |\n|---|---|---|---|---|\n",
          out);
    for (int i = 0; i < PP_REMEDIES; i++) {
        const struct pp_remedy *r = &pp_remedies[i];
        if (r->sentence && !of_a_rule(blocks, i))
            fprintf(out, "| %s | %s | %s | %s | %s |\n", r->sentence, or_dash(r->pipeprobe),
                    or_dash(r->pytorch), or_dash(r->webdataset), or_dash(r->dali));
    }
}

char *verdict_page(void)
{
    struct block blocks[BLOCKS];
    char *page = NULL;
    size_t size;
    FILE *out = open_memstream(&page, &size);
    if (!out)
        return NULL;
    get_blocks(blocks);
    fputs(
        "# Verdicts\n\n"
        "<!-- Generated from report/verdict/ (verdict_rules.c, remedies.c, metrics.h) by `make golden`; edit the tables, not this page. -->\n\n"
        "A verdict has three codes: level 0 says whether the trainer waits for its input, level 1 which part of the pipeline it waits for, and level 2\n"
        "what that part is bound by. `pipeprobe report` shows the evidence of the verdict beside its limits, and for every other cause the first limit\n"
        "that it misses. {name} in a next step stands for a value of the run. The same from the command line: `pipeprobe explain CODE`. What to change in\n"
        "PyTorch, WebDataset and DALI: [fixing a stall](../guide/fixing-a-stall.md).\n\n",
        out);
    put_levels(out);
    put_labels(out, blocks);
    put_order(out, blocks);
    put_remedies(out, blocks);
    if (fclose(out) != 0)
        return NULL;
    return page;
}
