#include "probe/base/opts.h"

#include <string.h>

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

static void put_row(FILE *out, const struct pp_opt *o, int column, int width)
{
    char left[160], text[480];
    int n = left_column(o, left, sizeof(left));
    int shows_default = o->dflt && o->dflt[0] && o->type != PP_OPT_FLAG;
    snprintf(text, sizeof(text), "%s%s%s%s", o->help ? o->help : "", shows_default ? " [" : "",
             shows_default ? o->dflt : "", shows_default ? "]" : "");
    if (n + 2 > column)
        fprintf(out, "%s\n%*s", left, column, "");
    else
        fprintf(out, "%-*s", column, left);
    put_wrapped(out, text, column, width);
}

/* Where the right column starts. */
static int right_column(const struct pp_opt *table, int advanced_too)
{
    int column = 0;
    for (const struct pp_opt *o = table; o->name; o++) {
        char left[160];
        int n = left_column(o, left, sizeof(left));
        if ((advanced_too || !o->advanced) && n <= WIDEST_LEFT && n > column)
            column = n;
    }
    return column + 2;
}

void pp_opts_help(const struct pp_opt *table, FILE *out, int columns)
{
    int column = right_column(table, 1), width = columns < NARROWEST ? NARROWEST : columns;
    const char *group = NULL;
    for (const struct pp_opt *o = table; o->name; o++) {
        if (o->group && (!group || strcmp(group, o->group) != 0)) {
            fprintf(out, "%s:\n", o->group);
            group = o->group;
        }
        put_row(out, o, column, width);
        for (const struct pp_opt_choice *c = o->type == PP_OPT_CHOICE ? o->choices : NULL; c && c->name; c++)
            if (c->help)
                put_wrapped(out, c->help, fprintf(out, "%*s%-10s ", column, "", c->name), width);
    }
}

void pp_opts_help_short(const struct pp_opt *table, FILE *out, int columns)
{
    int column = right_column(table, 0), width = columns < NARROWEST ? NARROWEST : columns;
    for (const struct pp_opt *o = table; o->name; o++)
        if (!o->advanced)
            put_row(out, o, column, width);
}

int pp_opts_advanced(const struct pp_opt *table)
{
    int n = 0;
    for (const struct pp_opt *o = table; o->name; o++)
        n += o->advanced != 0;
    return n;
}
