/* `pipeprobe explain`: one code of a verdict, a finding or the audit, from the tables that a report is made
 * of: what it means, on what evidence it rests, what refutes it, and what to change. Without a recording. */
#include "probe/base/err.h"
#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/rules/remedies.h"
#include "report/verdict/labels.h"
#include "tui/cli/cli.h"

struct options {
    int json;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json), .group = "Options",
     .help = "one document of schema pipeprobe.explain/1"},
    {.name = NULL},
};
/* clang-format on */

/* ---- the codes ---- */

enum { CODES = 160, NAME = 64 };

struct code {
    const char *l1, *l2, *meaning, *symptom;
    char name[NAME]; /* "storage/latency", "first-batch" */
};

/* The labels of verdicts, then the rules of each set. */
static size_t list_codes(struct code codes[CODES])
{
    size_t n = 0, n_sets;
    const struct pp_rule_set *sets = pp_rule_sets(&n_sets);
    for (size_t s = 0; s <= n_sets; s++)
        for (size_t i = 0; i < (s ? sets[s - 1].n_rules : pp_labels_n) && n < CODES; i++) {
            const struct pp_rule *rule = s ? &sets[s - 1].rules[i] : NULL;
            struct code c = rule ? (struct code){rule->l1, rule->l2, rule->meaning, rule->symptom, ""}
                                 : (struct code){pp_labels[i].l1, pp_labels[i].l2, pp_labels[i].meaning,
                                                 pp_labels[i].symptom, ""};
            if (!c.l1 || (rule && !rule->meaning))
                continue;
            snprintf(c.name, sizeof(c.name), "%s%s%s", c.l1, c.l2 ? "/" : "", c.l2 ? c.l2 : "");
            codes[n++] = c;
        }
    return n;
}

/* ---- one of them ---- */

typedef void rule_fn(void *ctx, const struct pp_rule_set *set, const struct pp_rule *rule);

/* The rules that say it; of a level 1 alone, those that name no level 2. */
static void each_rule(const struct code *c, rule_fn *fn, void *ctx)
{
    size_t n;
    const struct pp_rule_set *sets = pp_rule_sets(&n);
    for (size_t s = 0; s < n; s++)
        for (size_t i = 0; i < sets[s].n_rules; i++)
            if (pp_rule_is_of(sets[s].rules, i, c->l1, c->l2))
                fn(ctx, &sets[s], &sets[s].rules[i]);
}

static const char *name_of(const struct pp_rule_set *set, unsigned fact)
{
    const struct pp_fact *f = &set->facts[fact];
    return f->text ? f->text : f->name;
}

/* A rule's sentence for people: where a value goes <what it is>, the plural, and without what may be left
 * out. */
static const char *words_of(const struct pp_rule_set *set, const char *said, char *text, size_t size)
{
    const struct pp_values names = {.facts = set->facts, .n = set->n_facts};
    *text = '\0';
    for (size_t n, all; *said; said += all + (said[all] == '}' || said[all] == ']')) {
        n = strcspn(said, "{[");
        pp_text_add(text, size, "%.*s", (int)n, said);
        said += n;
        all = strcspn(said, *said == '[' ? "]" : "}");
        if (*said == '{') {
            const char *many = memchr(said, '|', all), *fit = many ? strchr(many + 1, '|') : NULL;
            unsigned fact = pp_fact_find(&names, said + 1, strcspn(said + 1, "|}"));
            const char *name = fact < names.n ? name_of(set, fact) : "?";
            pp_text_add(text, size, "<%s>%s%.*s", name, fit ? " " : "", fit ? (int)(said + all - fit - 1) : 0,
                        fit ? fit + 1 : "");
        }
    }
    return text;
}

struct printing {
    const struct pp_rule_set *set;    /* of the rule before */
    const struct pp_rule_set *of[16]; /* each remedy: the last that says it, with the plainer names */
    unsigned remedies[16], n_remedies;
};

static void print_rule(void *ctx, const struct pp_rule_set *set, const struct pp_rule *rule)
{
    struct printing *p = ctx;
    char limit[160], text[1024];
    unsigned k = 0;
    if (p->set != set)
        printf("\nEvidence (%s): %s\n", set->name, set->decides);
    else
        puts("  or");
    p->set = set;
    for (int i = 0; i < PP_CONDITIONS_MOST && rule->when[i].compare != PP_NO_CONDITION; i++) {
        const struct pp_condition *c = &rule->when[i];
        printf("  %-44s %-12s (%s)\n", name_of(set, c->fact),
               pp_condition_text(c, set->facts, limit, sizeof(limit)), c->source);
    }
    if (rule->relief.compare != PP_NO_CONDITION)
        printf("  %-44s %-12s (of a step that is stretched, besides)\n", name_of(set, rule->relief.fact),
               pp_condition_text(&rule->relief, set->facts, limit, sizeof(limit)));
    if (rule->when[0].compare == PP_NO_CONDITION)
        puts("  what the rules before it leave");
    printf("  says: %s\n", words_of(set, rule->said, text, sizeof(text)));
    while (k < p->n_remedies && p->remedies[k] != rule->remedy)
        k++;
    if (rule->says == PP_SAYS_SO && rule->remedy && k < sizeof(p->remedies) / sizeof(*p->remedies)) {
        p->of[k] = set;
        p->remedies[k] = rule->remedy;
        p->n_remedies += k == p->n_remedies;
    }
}

static const struct {
    const char *program, *key;
} programs[] = {{"PyTorch", "pytorch"},
                {"WebDataset", "webdataset"},
                {"DALI", "dali"},
                {"pipeprobe run", "pipeprobe"}};
enum { PROGRAMS = sizeof(programs) / sizeof(*programs) };

static const char *change_in(const struct pp_remedy *r, int program)
{
    const char *const changes[PROGRAMS] = {r->pytorch, r->webdataset, r->dali, r->pipeprobe};
    return changes[program];
}

static void print_code(const struct code *c)
{
    struct printing p = {0};
    char text[1024];
    printf("%s: %s\n", c->name, c->meaning);
    if (c->symptom)
        printf("Seen as: %s\n", c->symptom);
    each_rule(c, print_rule, &p);
    if (p.set)
        puts(
            "\nRefuted where, in each of these ways, a limit is not met. Evidence that is unknown meets none.");
    for (unsigned i = 0; i < p.n_remedies; i++) {
        const struct pp_remedy *r = &pp_remedies[p.remedies[i]];
        printf("\nDo: %s\n", words_of(p.of[i], r->sentence, text, sizeof(text)));
        for (int k = 0; k < PROGRAMS; k++)
            if (change_in(r, k))
                printf("  %-14s %s\n", programs[k].program, change_in(r, k));
    }
}

static void write_rule(void *ctx, const struct pp_rule_set *set, const struct pp_rule *rule)
{
    struct pp_json *j = ctx;
    char limit[160];
    pp_json_object(j);
    pp_json_put_str(j, "set", set->name);
    pp_json_put_array(j, "evidence");
    for (int i = 0; i < PP_CONDITIONS_MOST && rule->when[i].compare != PP_NO_CONDITION; i++) {
        pp_json_object(j);
        pp_json_put_str(j, "name", name_of(set, rule->when[i].fact));
        pp_json_put_str(j, "limit", pp_condition_text(&rule->when[i], set->facts, limit, sizeof(limit)));
        pp_json_put_str(j, "source", rule->when[i].source);
        pp_json_object_end(j);
    }
    pp_json_array_end(j);
    pp_json_put_str(j, "sentence", rule->said);
    const struct pp_remedy *r = rule->says == PP_SAYS_SO ? &pp_remedies[rule->remedy] : NULL;
    pp_json_put_str(j, "next_step", r ? r->sentence : NULL);
    for (int k = 0; k < PROGRAMS; k++)
        pp_json_put_str(j, programs[k].key, r ? change_in(r, k) : NULL);
    pp_json_object_end(j);
}

static pp_status act(void *fields, const char **operands, int n_operands, int *code, struct pp_err *err)
{
    const struct options *o = fields;
    const char *name = n_operands ? operands[0] : NULL;
    static struct code codes[CODES];
    const char *names[2 * CODES + 1];
    size_t n = list_codes(codes), n_names = 0;
    const struct code *one = NULL;
    if (n_operands > 1)
        return pp_fail(err, PP_E_USAGE, "explain takes one code");
    for (size_t i = 0; name && !one && i < 2 * n; i++) { /* by its whole name, or by its second part */
        const char *called = i < n ? codes[i].name : codes[i - n].l2;
        if (called && strcmp(called, name) == 0)
            one = &codes[i % n];
    }
    for (size_t i = 0; i < n; i++) {
        names[n_names++] = codes[i].name;
        if (codes[i].l2)
            names[n_names++] = codes[i].l2;
    }
    names[n_names] = NULL;
    if (name && !one) {
        char near[128];
        return pp_fail(err, PP_E_USAGE, "%s is no code%s; without a code, explain lists them", name,
                       pp_did_you_mean(near, name, names));
    }
    if (o->json) {
        struct pp_json j;
        pp_json_begin(&j, stdout, 2);
        pp_json_object(&j);
        pp_json_put_str(&j, "schema", "pipeprobe.explain/1");
        pp_json_put_array(&j, "codes");
        for (size_t i = 0; i < n; i++)
            if (!one || one == &codes[i]) {
                const struct code *c = &codes[i];
                pp_json_object(&j);
                pp_json_put_str(&j, "code", c->name);
                pp_json_put_str(&j, "meaning", c->meaning);
                pp_json_put_str(&j, "symptom", c->symptom);
                if (one != NULL) {
                    pp_json_put_array(&j, "rules");
                    each_rule(c, write_rule, &j);
                    pp_json_array_end(&j);
                }
                pp_json_object_end(&j);
            }
        pp_json_array_end(&j);
        pp_json_object_end(&j);
        pp_json_end(&j);
    } else if (one) {
        print_code(one);
    } else {
        for (size_t i = 0; i < n; i++)
            printf("%-28s %s\n", codes[i].name, codes[i].meaning);
    }
    return fflush(stdout) != 0 || ferror(stdout)
               ? pp_fail_errno(err, errno, "cannot write to standard output")
               : PP_OK;
}

const struct pp_command pp_cmd_explain = {
    .name = "explain",
    .summary = "what a verdict, a finding or a fault of the audit means; what to do",
    .usage = "explain [CODE] [--json]",
    .opts = opts,
    .notes = "Without CODE: all codes. A code is level 1 and 2 of a verdict (storage/latency,\n"
             "or latency alone), a finding (first-batch), or what `ranks` says of a job.\n"
             "Exit codes: 0 success, 2 usage.",
    .examples = {"pipeprobe explain storage/latency", "pipeprobe explain first-batch --json"},
    .fields = sizeof(struct options),
    .act = act,
};
