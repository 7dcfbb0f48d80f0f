#include "probe/base/opts.h"

#include "probe/base/err.h"
#include "probe/base/opts_value.h"

#include <assert.h>
#include <ctype.h>

char *pp_opt_variable(char *buf, size_t size, const char *name)
{
    int n = snprintf(buf, size, "PIPEPROBE_%s", name);
    for (char *p = buf; n > 0 && *p; p++)
        *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
    return buf;
}

/* The rest of the command line while it is read. */
struct reading {
    struct pp_opt_set *set;
    char **arg, **end; /* arg: the next one */
    struct pp_err *err;
};

/* Row i has this value; NULL: the next argument, where "-1" and "-" are values, and "--force" a forgotten
 * one. */
static pp_status give(struct reading *r, int i, const char *value)
{
    const struct pp_opt *o = &r->set->table[i];
    char where[96];
    if (!value) {
        value = r->arg < r->end ? *r->arg : NULL;
        if (!value)
            return pp_fail(r->err, PP_E_USAGE, "--%s: a value is missing: --%s %s", o->name, o->name,
                           o->arg ? o->arg : "VALUE");
        if (strncmp(value, "--", 2) == 0)
            return pp_fail(r->err, PP_E_USAGE,
                           "--%s: a value is missing before %s (if it is the value, write --%s=%s)", o->name,
                           value, o->name, value);
        r->arg++;
    }
    snprintf(where, sizeof(where), "--%s", o->name);
    return pp_opt_store(r->set, i, PP_OPT_GIVEN, where, value, r->err);
}

static pp_status no_such_option(struct reading *r, const char *shown, int len, const char *near)
{
    for (const struct pp_opt *o = r->set->table; o->name && len > 2; o++) /* "--html" is --format html */
        for (const struct pp_opt_choice *c = o->choices; c && c->name; c++)
            if (strncmp(shown, "--", 2) == 0 && strlen(c->name) == (size_t)len - 2 &&
                strncmp(shown + 2, c->name, (size_t)len - 2) == 0)
                return pp_fail(r->err, PP_E_USAGE, "unknown option %.*s; did you mean --%s %s?", len, shown,
                               o->name, c->name);
    if (near)
        return pp_fail(r->err, PP_E_USAGE, "unknown option %.*s; did you mean --%s?", len, shown, near);
    return pp_fail(r->err, PP_E_USAGE, "unknown option %.*s; 'pipeprobe %s --help' lists them", len, shown,
                   r->set->command);
}

/* "--name", "--name=value", "-qn8": flags may share a dash; the first option with a value takes the rest. */
static pp_status read_option(struct reading *r, const char *arg)
{
    const struct pp_opt *table = r->set->table;
    int size = (int)strcspn(arg, "=");
    const char *value = arg[size] ? arg + size + 1 : NULL, *no = "false";
    if (arg[1] == '-') {
        const char *name = arg + 2;
        int len = size - 2, i = pp_opt_find_also(r->set, name, len, &value);
        if (i >= 0)
            return give(r, i, !value && table[i].type == PP_OPT_FLAG ? "true" : value);
        if (len > 3 && strncmp(name, "no-", 3) == 0) {
            i = pp_opt_find_also(r->set, name + 3, len - 3, &no);
            if (i >= 0 && table[i].type == PP_OPT_FLAG && !arg[size])
                return give(r, i, no);
        }
        char word[64];
        snprintf(word, sizeof(word), "%.*s", len, name);
        return no_such_option(r, arg, size, pp_opt_nearest(table, word));
    }
    int whole = size > 2 ? pp_opt_find(table, arg + 1, size - 1) : -1;
    if (whole >= 0) /* "-batch-size" is not "-b atch-size" */
        return no_such_option(r, arg, size, table[whole].name);
    pp_status status = PP_OK;
    for (const char *p = arg + 1; *p && status == PP_OK; p++) {
        int i = pp_opt_find_letter(table, *p);
        if (i < 0) {
            /* "-seed" was probably meant as "--seed" */
            const char *near = strlen(arg) > 3 ? pp_opt_nearest(table, arg + 1) : NULL;
            char letter[] = {'-', *p, '\0'};
            return near ? no_such_option(r, arg, (int)strlen(arg), near) : no_such_option(r, letter, 2, NULL);
        }
        if (table[i].type != PP_OPT_FLAG)
            return give(r, i, p[1] ? p + 1 : NULL);
        status = give(r, i, "true");
    }
    return status;
}

int pp_opts_program_at(const struct pp_opt_set *set, int argc, char **argv)
{
    int at = 1;
    for (; at < argc && argv[at][0] == '-' && argv[at][1] && strcmp(argv[at], "--") != 0; at++) {
        const char *word = argv[at], *value = NULL;
        int takes_next = 0,
            i = word[1] == '-' ? pp_opt_find_also(set, word + 2, (int)strlen(word + 2), &value) : -1;
        if (i >= 0) /* with "=" in it, it is no option's name */
            takes_next = set->table[i].type != PP_OPT_FLAG && !value;
        for (const char *p = word + 1; word[1] != '-' && *p; p++) {
            i = pp_opt_find_letter(set->table, *p);
            if (i < 0 || set->table[i].type != PP_OPT_FLAG) {
                takes_next = i >= 0 && !p[1];
                break;
            }
        }
        at += takes_next && at + 1 < argc;
    }
    return at;
}

pp_status pp_opts_parse(struct pp_opt_set *set, int argc, char **argv, const char **operands, int *n_operands,
                        struct pp_err *err)
{
    struct reading r = {.set = set, .arg = argv + (argc > 0), .end = argv + argc, .err = err};
    int n = 0, only_operands = 0;
    char name[96];
    pp_status status = PP_OK;
    for (int i = 0; set->table[i].name && status == PP_OK; i++) {
        const struct pp_opt *o = &set->table[i];
        assert(i < (int)sizeof(set->source));
        set->source[i] = PP_OPT_DEFAULT;
        if (o->dflt)
            status = pp_opt_store(set, i, PP_OPT_DEFAULT, o->name, o->dflt, err);
    }
    if (status == PP_OK)
        status = pp_opts_config(set, err);
    for (int i = 0; set->table[i].name && status == PP_OK; i++) {
        const char *value = getenv(pp_opt_variable(name, sizeof(name), set->table[i].name));
        if (value)
            status = pp_opt_store(set, i, PP_OPT_ENV, name, value, err);
    }
    while (status == PP_OK && r.arg < r.end) {
        const char *arg = *r.arg++;
        if (only_operands || arg[0] != '-' || arg[1] == '\0')
            operands[n++] = arg;
        else if (strcmp(arg, "--") == 0)
            only_operands = 1;
        else
            status = read_option(&r, arg);
    }
    operands[n] = NULL;
    *n_operands = n;
    return status;
}

enum { WIDEST_LEFT = 29, NARROWEST = 60 };

/* "  -o, --output FILE" */
static int left_column(const struct pp_opt *o, char *buf, size_t size)
{
    char letter[8] = "    ", value[80] = "";
    if (o->letter)
        snprintf(letter, sizeof(letter), "-%c, ", o->letter);
    if (o->type == PP_OPT_FLAG) {
        int on = o->dflt && (strcmp(o->dflt, "1") == 0 || strcmp(o->dflt, "true") == 0);
        return snprintf(buf, size, "  %s--%s%s", letter, on ? "[no-]" : "", o->name);
    }
    if (o->arg)
        snprintf(value, sizeof(value), "%s", o->arg);
    for (int i = 0; !o->arg && o->type == PP_OPT_CHOICE && o->choices[i].name; i++) {
        size_t at = strlen(value);
        snprintf(value + at, sizeof(value) - at, "%s%s", i ? "|" : "", o->choices[i].name);
    }
    return snprintf(buf, size, "  %s--%s %s", letter, o->name, value[0] ? value : "VALUE");
}

/* Words of text from column `column` on, wrapped at `width`; the cursor already stands there. */
static void put_wrapped(FILE *out, const char *text, int column, int width)
{
    int at = column;
    for (const char *p = text; *p;) {
        int len = (int)strcspn(p, " ");
        if (at > column && at + 1 + len > width) {
            fprintf(out, "\n%*s", column, "");
            at = column;
        } else if (at > column) {
            fputc(' ', out);
            at++;
        }
        fwrite(p, 1, (size_t)len, out);
        at += len;
        p += len;
        p += strspn(p, " ");
    }
    fputc('\n', out);
}

int pp_opts_help(const struct pp_opt *table, FILE *out, int columns, int all)
{
    int column = 0, width = columns < NARROWEST ? NARROWEST : columns, advanced = 0;
    const char *group = NULL;
    char left[160], text[480];
    for (const struct pp_opt *o = table; o->name; o++)
        advanced += o->advanced != 0;
    all |= advanced == 0;
    for (const struct pp_opt *o = table; o->name; o++) {
        int n = left_column(o, left, sizeof(left));
        if ((all || !o->advanced) && n <= WIDEST_LEFT && n > column)
            column = n;
    }
    column += 2; /* where the right one starts */
    for (const struct pp_opt *o = table; o->name; o++) {
        if (!all && o->advanced)
            continue;
        if (all && o->group && (!group || strcmp(group, o->group) != 0)) {
            fprintf(out, "%s:\n", o->group);
            group = o->group;
        }
        int n = left_column(o, left, sizeof(left));
        int shows_default = o->dflt && o->dflt[0] && o->type != PP_OPT_FLAG;
        snprintf(text, sizeof(text), "%s%s%s%s", o->help ? o->help : "", shows_default ? " [" : "",
                 shows_default ? o->dflt : "", shows_default ? "]" : "");
        if (n + 2 > column)
            fprintf(out, "%s\n%*s", left, column, "");
        else
            fprintf(out, "%-*s", column, left);
        put_wrapped(out, text, column, width);
        for (const struct pp_opt_choice *c = all && o->type == PP_OPT_CHOICE ? o->choices : NULL;
             c && c->name; c++)
            if (c->help)
                put_wrapped(out, c->help, fprintf(out, "%*s%-10s ", column, "", c->name), width);
    }
    return all ? 0 : advanced;
}
