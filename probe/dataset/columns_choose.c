#include "probe/dataset/columns_choose.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_columns.h"

#include <string.h>

#define NONE SIZE_MAX

const char *const pp_label_names[] = {"label", "class", "cls", "target", NULL};

/* "image" is a column of its own, or the struct of image.bytes. */
static int is_called(const struct pp_column *c, const char *name)
{
    size_t n = strlen(name);
    return strcmp(c->name, name) == 0 ||
           (strncmp(c->name, name, n) == 0 && strcmp(c->name + n, ".bytes") == 0);
}

static int is_whole(const struct pp_column *c)
{
    return c->number != PP_COLUMN_FLOAT;
}

static int is_binary(const struct pp_column *c)
{
    return c->kind == PP_COLUMN_BYTES && !c->is_text;
}

static int is_tokens(const struct pp_column *c)
{
    return c->kind == PP_COLUMN_NUMBERS && is_whole(c);
}

static int is_fractions(const struct pp_column *c)
{
    return c->kind == PP_COLUMN_NUMBERS && !is_whole(c);
}

static int is_number(const struct pp_column *c)
{
    return c->kind == PP_COLUMN_NUMBER;
}

static int is_text(const struct pp_column *c)
{
    return c->kind == PP_COLUMN_BYTES && c->is_text;
}

static size_t find_label(const struct pp_table *t)
{
    for (const char *const *name = pp_label_names; *name; name++)
        for (size_t i = 0; i < t->columns; i++)
            if (t->column[i].kind == PP_COLUMN_NUMBER && is_whole(&t->column[i]) &&
                strcmp(t->column[i].name, *name) == 0)
                return i;
    return NONE;
}

static pp_status fail_none(const struct pp_table *t, const char *feature, const char *spec,
                           struct pp_err *err)
{
    char columns[240] = "";
    for (size_t i = 0; i < t->columns; i++)
        pp_text_add(columns, sizeof(columns), "%s%s (%s)", i ? ", " : "", t->column[i].name,
                    t->column[i].type);
    if (feature)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%s has no column %s of bytes, numbers or lists of numbers: its columns are %s", spec,
                       feature, columns);
    return pp_fail(
        err, PP_E_UNSUPPORTED,
        "%s has no column of bytes, numbers or lists of numbers (its columns are %s): record your own "
        "loader with 'pipeprobe exec -- python train.py'",
        spec, columns);
}

/* All numbers but the label are one row. */
static void take_row(const struct pp_table *t, size_t label, struct pp_columns_choice *out)
{
    for (size_t i = 0; i < t->columns && out->parts < PP_TABLE_USED - 1; i++)
        if (is_number(&t->column[i]) && i != label)
            out->column[out->parts++] = i;
}

pp_status pp_columns_choose(const struct pp_table *t, const char *feature, const char *spec,
                            struct pp_columns_choice *out, struct pp_err *err)
{
    static const struct {
        int (*is)(const struct pp_column *c);
        enum pp_content content;
    } kinds[] = {
        {is_binary, PP_CONTENT_IMAGE},  {is_tokens, PP_CONTENT_TOKENS}, {is_fractions, PP_CONTENT_TOKENS},
        {is_number, PP_CONTENT_TOKENS}, {is_text, PP_CONTENT_TEXT},
    };
    size_t label = find_label(t);
    *out = (struct pp_columns_choice){0};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds) && out->parts == 0; k++)
        for (size_t i = 0; i < t->columns && out->parts == 0; i++) {
            const struct pp_column *c = &t->column[i];
            if (!kinds[k].is(c) || (feature ? !is_called(c, feature) : i == label))
                continue;
            out->content = kinds[k].content;
            if (!feature && is_number(c))
                take_row(t, label, out);
            else
                out->column[out->parts++] = i;
        }
    if (out->parts == 0)
        return fail_none(t, feature, spec, err);
    out->n = out->parts;
    if (label != NONE)
        out->column[out->n++] = label;
    return PP_OK;
}

static size_t place_of(const struct pp_table *t, const char *name)
{
    for (size_t i = 0; i < t->columns; i++)
        if (strcmp(t->column[i].name, name) == 0)
            return i;
    return NONE;
}

pp_status pp_columns_match(const struct pp_table *first, const struct pp_columns_choice *choice,
                           const struct pp_table *t, size_t *column, struct pp_err *err)
{
    for (size_t i = 0; i < choice->n; i++) {
        const struct pp_column *want = &first->column[choice->column[i]];
        size_t at = place_of(t, want->name);
        if (at == NONE)
            return pp_fail(err, PP_E_UNSUPPORTED,
                           "%s has no column %s, which %s has: only files of one schema are read",
                           t->place.path, want->name, first->place.path);
        const struct pp_column *c = &t->column[at];
        if (c->kind != want->kind || c->width != want->width || c->number != want->number)
            return pp_fail(err, PP_E_UNSUPPORTED,
                           "column %s is %s in %s and %s in %s: only files of one schema are read",
                           want->name, c->type, t->place.path, want->type, first->place.path);
        column[i] = at;
    }
    return PP_OK;
}
