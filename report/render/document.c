/* The document for programs: JSON, and CSV in long form, one number or text per row:
 * section,item,field,value. docs/report.schema.json and docs/reference/report-formats.md describe them; both
 * follow from the table of fields. CSV's quoting is RFC 4180's. A text that a spreadsheet would take for a
 * formula gets an apostrophe before it: file names are not ours. */
#include "report/render/render.h"

#include "probe/base/json.h"
#include "probe/base/text.h"
#include "report/model/fields.h"

#include <math.h>
#include <string.h>

int pp_render_json(const struct pp_report *r, FILE *out)
{
    return pp_fields_json(pp_report_fields, r, out);
}

/* Which part of the document is a section, in the order of the file, and how one row of it is called: {key}
 * is the row's field of that key, which then is no row of the file itself; {#} is the row's number. A
 * separator before an empty field is left out. */
static const struct csv_section {
    const char *name, *path, *item;
} sections[] = {
    {"run", "", NULL},
    {"window", "window", NULL},
    {"verdict", "verdict", NULL},
    {"fixes", "verdict.fixes", "{knob}={to}"},
    {"ruled_out", "verdict.ruled_out", ""},
    {"evidence", "verdict.evidence", "{name}"},
    {"findings", "findings", "{kind}"},
    {"proof", "proof", "{kind}/{change}={value}"},
    {"phases", "phases", "{lane}/{phase}"},
    {"workers", "workers", "{name}"},
    {"queues", "queues", "{name}"},
    {"errors", "errors", "{kind}/{action}"},
    {"losses", "losses", NULL},
    {"losses", "losses.items", "{what}"},
    {"overhead", "overhead", NULL},
    {"pytorch", "pytorch", NULL},
    {"gpu", "gpu", NULL},
    {"decode", "decode", NULL},
    {"decode", "decode.differences", "{sampling}"},
    {"slices", "series.slices", "{#}"},
    {"environment", "environment", NULL},
    {"config", "config", NULL},
    {"config_notes", "config_notes", NULL},
};

struct csv {
    FILE *out;
    const struct csv_section *section;
    const struct pp_report *report;
};

static void put_quoted(FILE *out, const char *text)
{
    if (!text)
        return;
    fputs(pp_text_is_formula(text) ? "\"'" : "\"", out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* What is not known is an empty value. */
static void put_row(const struct csv *c, const char *item, const char *field, const struct pp_value *v)
{
    struct pp_json j;
    fprintf(c->out, "%s,", c->section->name);
    put_quoted(c->out, item);
    fprintf(c->out, ",%s,", field);
    pp_json_begin(&j, c->out, 0);
    switch (v->kind) {
    case PP_VALUE_NULL: break;
    case PP_VALUE_TEXT: put_quoted(c->out, v->text); break;
    case PP_VALUE_NUMBER:
        if (isfinite(v->number))
            pp_json_num(&j, v->number);
        break;
    case PP_VALUE_UINT: pp_json_uint(&j, v->uint); break;
    case PP_VALUE_INT: pp_json_int(&j, v->integer); break;
    case PP_VALUE_BOOL: pp_json_bool(&j, v->integer); break;
    }
    fputs("\r\n", c->out);
}

/* The name of a row: into buf, or the one text that it is. */
static const char *item_of(const struct csv *c, const struct pp_field *fields, const char *row, size_t i,
                           char *buf, size_t size)
{
    const char *form = c->section->item;
    char key[32], separator[2] = "";
    size_t n = 0;
    buf[0] = '\0';
    while (*form) {
        if (*form != '{') {
            separator[0] = *form++;
            continue;
        }
        size_t length = strcspn(++form, "}");
        snprintf(key, sizeof(key), "%.*s", (int)length, form);
        form += length + 1;
        if (strcmp(key, "#") == 0) {
            snprintf(buf, size, "%zu", i);
            return buf;
        }
        struct pp_value v = pp_field_value(pp_fields_key(fields, key), row, c->report);
        if (!*form && n == 0)
            return v.text;
        const char *text = v.text ? v.text : "?";
        n += (size_t)snprintf(buf + n, size - n, "%s%s", *text ? separator : "", text);
        if (n >= size)
            n = size - 1;
    }
    return buf;
}

static void put_map(const struct csv *c, const char *item, const struct pp_field *f, const void *in)
{
    const char *row;
    size_t n = pp_field_rows(f, in, c->report, &row);
    for (; n-- > 0; row += f->stride) {
        struct pp_value key = pp_field_value(&f->fields[0], row, c->report),
                        v = pp_field_value(&f->fields[1], row, c->report);
        if (v.kind == PP_VALUE_NULL && f->flags & PP_FIELD_SKIP_NULL)
            continue;
        put_row(c, item ? item : key.text, item ? key.text : "value", &v);
    }
}

/* The fields of one object or row. What lies deeper and is no section of its own stands under its key. */
static void put_fields(const struct csv *c, const char *item, const struct pp_field *fields, const void *row)
{
    for (const struct pp_field *f = fields; f->type != PP_FIELD_END; f++) {
        const char *at = c->section->item ? strstr(c->section->item, f->key) : NULL;
        if (pp_field_is_scalar(f) && !(at && at[-1] == '{' && at[strlen(f->key)] == '}')) {
            struct pp_value v = pp_field_value(f, row, c->report);
            put_row(c, item, f->key, &v);
        } else if (f->type == PP_FIELD_OBJECT && c->section->path[0]) {
            put_fields(c, f->key, f->fields, pp_field_object(f, row));
        } else if (f->type == PP_FIELD_MAP && c->section->item) {
            put_map(c, item, f, row);
        }
    }
}

static void put_section(struct csv *c)
{
    static const struct csv_section run = {"run", "", NULL};
    static const struct pp_value null_value = {.kind = PP_VALUE_NULL};
    const void *in = c->report;
    const struct pp_field *f = pp_fields_find(pp_report_fields, c->section->path, &in);
    const char *row;
    char item[256];
    if (!in) /* rows of an object that the run has none of */
        return;
    if (!f) {
        put_fields(c, "", pp_report_fields, in);
    } else if (f->type == PP_FIELD_OBJECT) {
        const void *object = pp_field_object(f, in);
        if (object) {
            put_fields(c, "", f->fields, object);
        } else { /* the run has none */
            c->section = &run;
            put_row(c, "", f->key, &null_value);
        }
    } else if (f->type == PP_FIELD_MAP) {
        put_map(c, NULL, f, in);
    } else {
        size_t n = pp_field_rows(f, in, c->report, &row);
        for (size_t i = 0; i < n; i++, row += f->stride)
            put_fields(c, item_of(c, f->fields, row, i, item, sizeof(item)), f->fields, row);
    }
}

int pp_render_csv(const struct pp_report *r, FILE *out)
{
    struct csv c = {.out = out, .report = r};
    fputs("section,item,field,value\r\n", out);
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
        c.section = &sections[i];
        put_section(&c);
    }
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
