/* Properties of all tables of rules: what they name exists, each limit decides, each remedy is said by
 * somebody; the engine itself; and that a finding is a row and its measurement. */
#include "report/findings/findings.h"
#include "report/rules/advice.h"
#include "report/rules/remedies.h"
#include "report/verdict/labels.h"
#include "report/verdict/verdict_rules.h"
#include "tui/cli/cli.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- what sentences name ---- */

#define COMMAND_ROW(name, heading) &pp_cmd_##name,
static const struct pp_command *const rows[] = {PP_COMMANDS(COMMAND_ROW)};

static int is_command(const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strlen(rows[i]->name) == len && memcmp(rows[i]->name, word, len) == 0)
            return 1;
    return (len == 7 && memcmp(word, "version", len) == 0) || (len == 4 && memcmp(word, "help", len) == 0);
}

static int is_option(const char *name, size_t len)
{
    /* of programs that are no part of pipeprobe: numactl, vmtouch, jpegtran, docker, Slurm, torchrun, py-spy
     */
    static const char *const others[] = {"cpunodebind", "preferred", "numa-binding",
                                         "exclusive",   "memory",    "pid"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (strlen(others[i]) == len && memcmp(others[i], name, len) == 0)
            return 1;
    for (size_t c = 0; c < sizeof(rows) / sizeof(*rows); c++)
        for (const struct pp_opt *o = rows[c]->opts; o && o->name; o++)
            if ((strlen(o->name) == len && memcmp(o->name, name, len) == 0) ||
                (len > 3 && memcmp(name, "no-", 3) == 0 && strlen(o->name) == len - 3 &&
                 memcmp(o->name, name + 3, len - 3) == 0))
                return 1;
    return 0;
}

static void check_sentence(const char *text)
{
    static const char program[] = "pipeprobe ";
    for (const char *p = text ? strstr(text, program) : NULL; p; p = strstr(p + 1, program)) {
        const char *word = p + sizeof(program) - 1;
        size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz");
        int begins = p == text || strchr("`(", p[-1]) ||
                     (p > text + 1 && p[-1] == ' ' && strchr(";:,.", p[-2]));
        if (len && begins && !is_command(word, len))
            fail_msg("pipeprobe %.*s is no command: %s", (int)len, word, text);
    }
    for (const char *p = text ? strstr(text, "--") : NULL; p; p = strstr(p + 2, "--")) {
        size_t len = strspn(p + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
        if (len && !is_option(p + 2, len))
            fail_msg("--%.*s is no option of a command: %s", (int)len, p + 2, text);
    }
}

static void check_names(const struct pp_rule_set *set, const char *text)
{
    const struct pp_values v = {set->facts, set->n_facts, NULL, NULL};
    int open = 0;
    for (const char *p = text; p && *p; p++) {
        open += (*p == '[') - (*p == ']');
        if (open < 0 || open > 1)
            fail_msg("brackets do not fit: %s", text);
        if (*p == '{' && pp_fact_find(&v, p + 1, strcspn(p + 1, "|}")) == v.n)
            fail_msg("%.24s is no fact of the set %s: %s", p, set->name, text);
    }
    assert_int_equal(open, 0);
}

static void test_names_commands_and_options_exist(void **state)
{
    size_t n;
    const struct pp_rule_set *sets = pp_rule_sets(&n);
    for (size_t s = 0; s < n; s++)
        for (size_t i = 0; i < sets[s].n_rules; i++) {
            const struct pp_rule *r = &sets[s].rules[i];
            const char *texts[] = {r->said, r->not_said, r->meaning, r->symptom};
            assert_non_null(r->said);
            for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++) {
                check_names(&sets[s], texts[k]);
                check_sentence(texts[k]);
            }
            const struct pp_values v = {sets[s].facts, sets[s].n_facts, NULL, NULL};
            for (const char *p = r->shows; p && *p; p += strcspn(p, " "), p += strspn(p, " "))
                if (pp_fact_find(&v, p, strcspn(p, " ")) == v.n)
                    fail_msg("%s shows %.20s, which is no fact", r->l1, p);
            for (int k = 0; k < PP_CONDITIONS_MOST && r->when[k].compare != PP_NO_CONDITION; k++) {
                assert_non_null(r->when[k].source);
                if (r->when[k].compare == PP_BELOW && strncmp(r->when[k].source, "more than", 9) == 0)
                    fail_msg("%s: below its limit, and the reason is \"%s\"", r->said, r->when[k].source);
                if (!sets[s].facts[r->when[k].fact].text)
                    fail_msg("%s: the fact %s has no name for people", r->said,
                             sets[s].facts[r->when[k].fact].name);
            }
        }
    for (int i = 0; i < PP_REMEDIES; i++) {
        const struct pp_remedy *r = &pp_remedies[i];
        const char *texts[] = {r->sentence, r->offer, r->pipeprobe};
        for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
            check_sentence(texts[k]);
    }
    for (size_t i = 0; i < pp_labels_n; i++) {
        check_sentence(pp_labels[i].meaning);
        check_sentence(pp_labels[i].symptom);
    }
}

static void test_facts_have_names_of_their_own(void **state)
{
    size_t n;
    const struct pp_rule_set *sets = pp_rule_sets(&n);
    for (size_t s = 0; s < n; s++) {
        const struct pp_values v = {sets[s].facts, sets[s].n_facts, NULL, NULL};
        for (unsigned i = 0; i < v.n; i++)
            if (pp_fact_find(&v, v.facts[i].name, strlen(v.facts[i].name)) != i)
                fail_msg("two facts of the set %s are called %s", sets[s].name, v.facts[i].name);
    }
}

/* ---- remedies ---- */

/* What is no rule's next step is said by code: of a verdict that is inconclusive, or as a fix that is
 * offered. */
static void test_every_remedy_is_reached(void **state)
{
    static const enum pp_remedy_id by_code[] = {
        PP_REMEDY_ERRORS_FIRST, PP_REMEDY_SUBPROCESSES, PP_REMEDY_MORE_DATA,
        PP_REMEDY_ANNOTATE,     PP_REMEDY_MORE_BATCHES, PP_REMEDY_MAIN_LINE,
    };
    int reached[PP_REMEDIES] = {0};
    size_t n;
    const struct pp_rule_set *sets = pp_rule_sets(&n);
    for (size_t s = 0; s < n; s++)
        for (size_t i = 0; i < sets[s].n_rules; i++)
            reached[sets[s].rules[i].remedy] |= sets[s].rules[i].says == PP_SAYS_SO;
    for (size_t i = 0; i < pp_guard_rules_n; i++)
        reached[pp_guard_rules[i].remedy] = 1;
    for (size_t i = 0; i < sizeof(by_code) / sizeof(*by_code); i++)
        reached[by_code[i]] = 1;
    for (int i = PP_REMEDY_NONE + 1; i < PP_REMEDIES; i++)
        if (!reached[i] && !pp_remedies[i].offer)
            fail_msg("no rule says remedy %d: %s", i, pp_remedies[i].sentence);
}

/* ---- each limit decides ---- */

static double beside(const struct pp_condition *c, int holds)
{
    if (c->compare == PP_ONE_OF)
        return holds ? __builtin_ctz((unsigned)c->limit) : __builtin_ctz(~(unsigned)c->limit);
    if (c->compare == PP_KNOWN || c->compare == PP_UNKNOWN)
        return (c->compare == PP_KNOWN) == (holds != 0) ? 1 : NAN;
    if (c->compare == PP_AT_MOST)
        return holds ? c->limit : nextafter(c->limit, INFINITY);
    int above = (c->compare == PP_AT_LEAST) == (holds != 0);
    return above ? c->limit : nextafter(c->limit, -INFINITY);
}

static void set(double *number, const char **text, const struct pp_condition *c, int holds)
{
    number[c->fact] = beside(c, holds);
    text[c->fact] = isnan(number[c->fact]) ? NULL : "x";
}

static void test_each_limit_decides(void **state)
{
    size_t n;
    const struct pp_rule_set *sets = pp_rule_sets(&n);
    for (size_t s = 0; s < n; s++)
        for (size_t i = 0; i < sets[s].n_rules; i++) {
            const struct pp_rule *r = &sets[s].rules[i];
            double *number = malloc(sets[s].n_facts * sizeof(*number));
            const char **text = calloc(sets[s].n_facts, sizeof(*text));
            const struct pp_values v = {sets[s].facts, sets[s].n_facts, number, text};
            assert_true(number && text);
            for (size_t k = 0; k < sets[s].n_facts; k++)
                number[k] = NAN;
            for (int k = 0; k < PP_CONDITIONS_MOST && r->when[k].compare != PP_NO_CONDITION; k++)
                set(number, text, &r->when[k], 1);
            if (pp_rule_missed(r, &v))
                fail_msg("does not hold at its limits: %s", r->said);
            for (int k = 0; k < PP_CONDITIONS_MOST && r->when[k].compare != PP_NO_CONDITION; k++) {
                set(number, text, &r->when[k], 0);
                if (!pp_rule_missed(r, &v))
                    fail_msg("holds beyond the limit of %s: %s", v.facts[r->when[k].fact].text, r->said);
                set(number, text, &r->when[k], 1);
            }
            free(number);
            free(text);
        }
}

/* ---- the engine ---- */

static void test_sentences_are_filled(void **state)
{
    static const struct pp_fact facts[] = {{.name = "n", .unit = PP_UNIT_COUNT},
                                           {.name = "who"},
                                           {.name = "phase", .words = pp_phase_words},
                                           {.name = "part", .unit = PP_UNIT_SHARE}};
    static const struct {
        const char *form, *text;
    } forms[] = {{"{n|worker is|workers are} busy", "1,200 workers are busy"},
                 {"in {phase}[ of {who}]", "in read"},
                 {"[{part} of it, ]all", "25 % of it, all"},
                 {"{nobody} of {n|one|many}", "{nobody} of 1,200 many"},
                 {"who: {who}.", "who: ."},
                 {"", ""}};
    const double number[] = {1200, NAN, PP_PHASE_READ, 0.25};
    const char *text[] = {NULL, NULL, NULL, NULL};
    const struct pp_values v = {facts, 4, number, text};
    struct pp_arena arena = {0};
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        assert_string_equal(pp_rules_fill(forms[i].form, &v, &arena), forms[i].text);
    assert_null(pp_rules_fill(NULL, &v, &arena));
    pp_arena_free(&arena);
}

/* A finding is a row and its measurement: nothing else knows of it. */
static void test_a_finding_is_a_row_and_its_measurement(void **state)
{
    static const struct pp_rule rows_of[] = {{.l1 = "odd-batches",
                                              .meaning = "a batch in ten is odd",
                                              .when = {{PP_FINDING_STALL, PP_AT_LEAST, 0.1, "one in ten"}},
                                              .said = "{stall} of the batches are odd",
                                              .not_said = "batches are even",
                                              .remedy = PP_REMEDY_MORE_WORKERS,
                                              .shows = "stall"}};
    double number[PP_FINDING_FACTS];
    const char *text[PP_FINDING_FACTS] = {NULL};
    for (int found = 0; found < 2; found++) {
        const struct pp_values v = {pp_finding_facts, PP_FINDING_FACTS, number, text};
        struct pp_arena arena = {0};
        struct pp_report r = {.n_findings = 0};
        for (int i = 0; i < PP_FINDING_FACTS; i++)
            number[i] = NAN;
        number[PP_FINDING_STALL] = found ? 0.125 : 0.05; /* the measurement */
        pp_findings_conclude(rows_of, 1, &v, &arena, &r);
        assert_int_equal(r.n_findings, 1);
        assert_string_equal(r.findings[0].kind, "odd-batches");
        assert_string_equal(r.findings[0].sentence,
                            found ? "12 % of the batches are odd" : "batches are even");
        assert_int_equal(r.findings[0].next_step != NULL, found);
        assert_string_equal(r.findings[0].number[0].name, "stall");
        pp_arena_free(&arena);
    }
}

/* What a stack was in, as measure/ops.c lists it, has the advice of that library or module. */
static void test_code_has_its_advice(void **state)
{
    static const struct {
        const char *code, *begins;
    } cases[] = {
        {"/home/u/train.py:Scans.path_of /usr/lib/python3.11/genericpath.py:exists", "List the folder once"},
        {"<frozen genericpath>:exists", "List the folder once"},
        {"/usr/lib/python3.13/glob.py:glob", "List the folder once"},
        {"/usr/lib/python3.11/pathlib.py:Path.stat", "List the folder once"},
        {"/usr/lib/python3.11/pathlib.py:Path.read_bytes", NULL},
        {"numpy/lib/_npyio_impl.py:loadtxt", "Parse the file once"},
        {"zarr/core/array.py:Array.__getitem__", "Read a batch in one slice"},
        {"PIL/ImageDraw.py:ImageDraw.text PIL/ImageFont.py:FreeTypeFont.getmask2", "If a font is loaded"},
        {"PIL/ImageFont.py:truetype PIL/ImageFont.py:FreeTypeFont.__init__", "If a font is loaded"},
        {"PIL/ImageFont.py:load_default", "If a font is loaded"},
        {"yaml/__init__.py:safe_load yaml/constructor.py:BaseConstructor.get_data", "Parse it once"},
        {"/usr/lib/python3.11/_strptime.py:_strptime", "Parse it once"},
        {"/usr/lib/python3.11/dbm/dumb.py:open", "Open the file once"},
        {"/home/u/train.py:globs", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *advice = pp_op_advice_find(cases[i].code), *begins = cases[i].begins;
        assert_int_equal(advice != NULL, begins != NULL);
        assert_true(!begins || strncmp(advice, begins, strlen(begins)) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code_has_its_advice),
        cmocka_unit_test(test_names_commands_and_options_exist),
        cmocka_unit_test(test_facts_have_names_of_their_own),
        cmocka_unit_test(test_every_remedy_is_reached),
        cmocka_unit_test(test_each_limit_decides),
        cmocka_unit_test(test_sentences_are_filled),
        cmocka_unit_test(test_a_finding_is_a_row_and_its_measurement),
    };
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
