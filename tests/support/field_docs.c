#include "tests/support/field_docs.h"

#include "probe/base/json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 64 };

/* The fields of one object in the order of the document, those of inline objects among them. */
struct list {
    const struct pp_field *field[MOST_FIELDS];
    size_t n;
};

static void collect(struct list *l, const struct pp_field *fields)
{
    for (unsigned last = 0; last <= PP_FIELD_LAST; last += PP_FIELD_LAST)
        for (const struct pp_field *f = fields; f->type != PP_FIELD_END; f++) {
            if ((f->flags & PP_FIELD_LAST) != last)
                continue;
            if (f->type == PP_FIELD_INLINE) {
                collect(l, f->fields);
                continue;
            }
            for (size_t i = 0; i < l->n; i++)
                assert(strcmp(l->field[i]->key, f->key) != 0);
            assert(l->n < MOST_FIELDS);
            l->field[l->n++] = f;
        }
}

static int is_nullable(const struct pp_field *f)
{
    if (f->flags & PP_FIELD_ALWAYS)
        return 0;
    switch (f->type) {
    case PP_FIELD_TEXT:
    case PP_FIELD_NUMBER:
    case PP_FIELD_ANY: return 1;
    case PP_FIELD_OBJECT: return (f->flags & PP_FIELD_INDIRECT) != 0;
    default: return (f->flags & PP_FIELD_EMPTY_UNKNOWN) != 0;
    }
}

static const char *json_type(const struct pp_field *f)
{
    switch (f->type) {
    case PP_FIELD_TEXT:
    case PP_FIELD_CHARS: return "string";
    case PP_FIELD_NUMBER: return "number";
    case PP_FIELD_UINT64:
    case PP_FIELD_UINT32:
    case PP_FIELD_INT: return "integer";
    case PP_FIELD_BOOL: return "boolean";
    case PP_FIELD_ROWS:
    case PP_FIELD_LIST: return "array";
    case PP_FIELD_OBJECT:
    case PP_FIELD_COLUMNS:
    case PP_FIELD_MAP: return "object";
    case PP_FIELD_ANY: return "number";
    default: break;
    }
    assert(!"a field with a type");
    return NULL;
}

/* ---- schema ---- */

static void put_text(struct pp_json *j, const char *key, const char *text)
{
    pp_json_key(j, key);
    pp_json_str(j, text);
}

static void put_type(struct pp_json *j, const struct pp_field *f)
{
    pp_json_key(j, "type");
    if (!is_nullable(f)) {
        pp_json_str(j, json_type(f));
        return;
    }
    pp_json_array(j);
    pp_json_str(j, json_type(f));
    if (f->type == PP_FIELD_ANY)
        pp_json_str(j, "string");
    pp_json_str(j, "null");
    pp_json_array_end(j);
}

static void put_values(struct pp_json *j, const struct pp_field *f)
{
    if (!f->values[1] && !is_nullable(f)) {
        put_text(j, "const", f->values[0]);
        return;
    }
    pp_json_key(j, "enum");
    pp_json_array(j);
    for (const char *const *v = f->values; *v; v++)
        pp_json_str(j, *v);
    if (is_nullable(f))
        pp_json_null(j);
    pp_json_array_end(j);
}

static void put_range(struct pp_json *j, const struct pp_field *f)
{
    int whole = f->type == PP_FIELD_UINT32 || f->type == PP_FIELD_UINT64;
    const char *range = f->range ? f->range : whole ? "0.." : NULL, *to = range ? strstr(range, "..") : NULL;
    if (!range)
        return;
    assert(to);
    pp_json_key(j, "minimum");
    pp_json_num(j, strtod(range, NULL));
    if (!to[2])
        return;
    pp_json_key(j, "maximum");
    pp_json_num(j, strtod(to + 2, NULL));
}

static void put_schema(struct pp_json *j, const struct pp_field *f);

static void put_properties(struct pp_json *j, const struct pp_field *fields, int as_columns)
{
    struct list l = {.n = 0};
    collect(&l, fields);
    pp_json_key(j, "required");
    pp_json_array(j);
    for (size_t i = 0; i < l.n; i++)
        pp_json_str(j, l.field[i]->key);
    pp_json_array_end(j);
    pp_json_key(j, "additionalProperties");
    pp_json_bool(j, 0);
    pp_json_key(j, "properties");
    pp_json_object(j);
    for (size_t i = 0; i < l.n; i++) {
        struct pp_field column = {.key = l.field[i]->key,
                                  .type = PP_FIELD_LIST,
                                  .fields = l.field[i],
                                  .help = l.field[i]->help};
        pp_json_key(j, l.field[i]->key);
        put_schema(j, as_columns ? &column : l.field[i]);
    }
    pp_json_object_end(j);
}

static void put_schema(struct pp_json *j, const struct pp_field *f)
{
    pp_json_object(j);
    if (f->values)
        put_values(j, f);
    else
        put_type(j, f);
    if (pp_field_is_scalar(f))
        put_range(j, f);
    if (f->help)
        put_text(j, "description", f->help);
    if (f->type == PP_FIELD_OBJECT || f->type == PP_FIELD_COLUMNS)
        put_properties(j, f->fields, f->type == PP_FIELD_COLUMNS);
    if (f->type == PP_FIELD_ROWS) {
        pp_json_key(j, "items");
        pp_json_object(j);
        put_text(j, "type", "object");
        put_properties(j, f->fields, 0);
        pp_json_object_end(j);
    }
    if (f->type == PP_FIELD_LIST || f->type == PP_FIELD_MAP) {
        struct pp_field element = f->fields[f->type == PP_FIELD_MAP];
        element.help = NULL;
        pp_json_key(j, f->type == PP_FIELD_MAP ? "additionalProperties" : "items");
        put_schema(j, &element);
    }
    pp_json_object_end(j);
}

void field_docs_schema(const struct field_docs *d, FILE *out)
{
    struct pp_json j;
    pp_json_begin(&j, out, 2);
    pp_json_object(&j);
    put_text(&j, "$schema", "https://json-schema.org/draft/2020-12/schema");
    put_text(&j, "$id", d->id);
    put_text(&j, "title", d->title);
    put_text(&j, "description", d->description);
    put_text(&j, "type", "object");
    put_properties(&j, d->fields, 0);
    pp_json_object_end(&j);
    pp_json_end(&j);
}

/* ---- page ---- */

static const char *type_for_readers(const struct pp_field *f)
{
    switch (f->type) {
    case PP_FIELD_TEXT:
    case PP_FIELD_CHARS: return "text";
    case PP_FIELD_UINT64:
    case PP_FIELD_UINT32:
    case PP_FIELD_INT: return "whole number";
    case PP_FIELD_BOOL: return "true or false";
    case PP_FIELD_ANY: return "number or text";
    case PP_FIELD_ROWS: return "list of objects";
    case PP_FIELD_LIST: return "list";
    case PP_FIELD_COLUMNS: return "object of lists";
    case PP_FIELD_MAP: return "object";
    default: return json_type(f);
    }
}

static const char *unit_for_readers(enum pp_field_unit unit)
{
    switch (unit) {
    case PP_UNIT_NS: return "ns";
    case PP_UNIT_S: return "s";
    case PP_UNIT_SHARE: return "share";
    case PP_UNIT_BYTES: return "bytes";
    case PP_UNIT_BYTES_PER_S: return "bytes/s";
    default: return "";
    }
}

static void put_row(const struct pp_field *f, FILE *out)
{
    assert(!f->help || !strchr(f->help, '|'));
    fprintf(out, "| %s | %s%s | %s%s%s | %s", f->key, type_for_readers(f), is_nullable(f) ? ", null" : "",
            unit_for_readers(f->unit), f->range && unit_for_readers(f->unit)[0] ? " " : "",
            f->range ? f->range : "", f->help ? f->help : "");
    for (const char *const *v = f->values; v && *v; v++)
        fprintf(out, "%s`%s`", v == f->values ? (f->help ? ": " : "") : ", ", *v);
    fputs(" |\n", out);
}

static void put_objects(const struct pp_field *fields, const char *path, const char *help, FILE *out)
{
    struct list l = {.n = 0};
    char below[128];
    collect(&l, fields);
    fprintf(out, "\n## %s%s%s\n\n", path[0] ? "`" : "The document", path, path[0] ? "`" : "");
    if (help)
        fprintf(out, "%c%s.\n\n", help[0] >= 'a' && help[0] <= 'z' ? help[0] - 'a' + 'A' : help[0], help + 1);
    fputs("| field | type | unit, range | what it is |\n|---|---|---|---|\n", out);
    for (size_t i = 0; i < l.n; i++)
        put_row(l.field[i], out);
    for (size_t i = 0; i < l.n; i++) {
        const struct pp_field *f = l.field[i];
        if (f->type != PP_FIELD_OBJECT && f->type != PP_FIELD_ROWS && f->type != PP_FIELD_COLUMNS)
            continue;
        snprintf(below, sizeof(below), "%s%s%s%s", path, path[0] ? "." : "", f->key,
                 f->type == PP_FIELD_ROWS ? "[]" : "");
        put_objects(f->fields, below, f->help, out);
    }
}

void field_docs_page(const struct field_docs *d, FILE *out)
{
    fprintf(out, "# Fields of the %s\n\n", d->title);
    fprintf(out, "%s\n\n", d->description);
    fprintf(
        out,
        "Schema `%s`. This page and the schema are written from %s by `make golden`. `null` is unknown.\n",
        d->id, d->source);
    put_objects(d->fields, "", NULL, out);
}
