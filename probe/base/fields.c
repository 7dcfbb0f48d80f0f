#include "probe/base/fields.h"

#include "probe/base/json.h"
#include "probe/base/text.h"

#include <assert.h>

static const struct pp_value null_value = {.kind = PP_VALUE_NULL};

/* ---- reading a struct ---- */

struct pp_value pp_field_value(const struct pp_field *f, const void *row, const void *root)
{
    const char *at = (const char *)row + f->at;
    struct pp_value v = null_value;
    if (f->get)
        return f->get(row, root);
    switch (f->type) {
    case PP_FIELD_TEXT: v = pp_value_text(*(const char *const *)at); break;
    case PP_FIELD_CHARS: v = pp_value_text(at); break;
    case PP_FIELD_NUMBER: return pp_value_number(*(const double *)at);
    case PP_FIELD_UINT64: v = pp_value_uint(*(const uint64_t *)at); break;
    case PP_FIELD_UINT32: v = pp_value_uint(*(const uint32_t *)at); break;
    case PP_FIELD_INT: return (struct pp_value){.kind = PP_VALUE_INT, .integer = *(const int *)at};
    case PP_FIELD_BOOL: return pp_value_bool(*(const int *)at);
    default: assert(!"a field that has no single value");
    }
    if (f->flags & PP_FIELD_EMPTY_UNKNOWN && (v.kind == PP_VALUE_TEXT ? !v.text[0] : !v.uint))
        return null_value;
    return v;
}

double pp_value_as_number(const struct pp_value *v)
{
    switch (v->kind) {
    case PP_VALUE_NUMBER: return v->number;
    case PP_VALUE_UINT: return (double)v->uint;
    case PP_VALUE_INT:
    case PP_VALUE_BOOL: return v->integer;
    default: return NAN;
    }
}

const char *pp_unit_text(enum pp_field_unit unit, double number, char *buf, size_t size)
{
    char bytes[32];
    if (isnan(number))
        return "-";
    switch (unit) {
    case PP_UNIT_NONE: snprintf(buf, size, "%.0f", number); return buf;
    case PP_UNIT_COUNT: return pp_text_count(buf, size, number);
    case PP_UNIT_RATE: return pp_text_rate(buf, size, number);
    case PP_UNIT_NS: return pp_text_duration(buf, size, number);
    case PP_UNIT_S: return pp_text_duration(buf, size, number * 1e9);
    case PP_UNIT_SHARE: return pp_text_percent(buf, size, number);
    case PP_UNIT_GAIN:
        return number > 1 ? pp_text_gain(buf, size, number, NAN, NAN) : pp_text_percent(buf, size, number);
    case PP_UNIT_BYTES: return pp_text_bytes(buf, size, number);
    case PP_UNIT_BYTES_PER_S:
        snprintf(buf, size, "%s/s", pp_text_bytes(bytes, sizeof(bytes), number));
        return buf;
    case PP_UNIT_NUMBER: snprintf(buf, size, "%.2f", number); return buf;
    case PP_UNIT_FACTOR:
        if (number >= 1000)
            return pp_text_count(buf, size, number);
        break;
    }
    snprintf(buf, size, "%.3g", number);
    return buf;
}

const void *pp_field_object(const struct pp_field *f, const void *row)
{
    const char *at = (const char *)row + f->at;
    return f->flags & PP_FIELD_INDIRECT ? *(const void *const *)at : at;
}

size_t pp_field_rows(const struct pp_field *f, const void *row, const void *root, const char **first)
{
    const void *counted = f->flags & PP_FIELD_COUNT_OF_ROOT ? root : row;
    size_t n = f->count ? f->count : *(const size_t *)((const char *)counted + f->count_at);
    *first = pp_field_object(f, row);
    if (!*first)
        return 0;
    if (f->newest && n > f->newest) {
        *first += (n - f->newest) * f->stride;
        n = f->newest;
    }
    return n;
}

const struct pp_field *pp_fields_key(const struct pp_field *fields, const char *key)
{
    for (const struct pp_field *f = fields; f->type != PP_FIELD_END; f++)
        if (f->key && strcmp(f->key, key) == 0)
            return f;
    assert(!"a key that is in the table");
    return NULL;
}

const struct pp_field *pp_fields_find(const struct pp_field *fields, const char *path, const void **row)
{
    char key[64];
    const struct pp_field *f = NULL;
    while (*path && *row) {
        size_t n = strcspn(path, ".");
        assert(n < sizeof(key));
        memcpy(key, path, n);
        key[n] = '\0';
        f = pp_fields_key(fields, key);
        path += n + (path[n] == '.');
        if (*path) {
            *row = pp_field_object(f, *row);
            fields = f->fields;
        }
    }
    return *row ? f : NULL;
}

/* ---- JSON ---- */

struct document {
    struct pp_json json;
    const void *root;
};

static void put_value(struct pp_json *j, const struct pp_value *v)
{
    switch (v->kind) {
    case PP_VALUE_NULL: pp_json_null(j); break;
    case PP_VALUE_TEXT: pp_json_str(j, v->text); break;
    case PP_VALUE_NUMBER: pp_json_num(j, v->number); break;
    case PP_VALUE_UINT: pp_json_uint(j, v->uint); break;
    case PP_VALUE_INT: pp_json_int(j, v->integer); break;
    case PP_VALUE_BOOL: pp_json_bool(j, v->integer); break;
    }
}

static void put_fields(struct document *d, const struct pp_field *fields, const void *row, int braces);

static void put_list(struct document *d, const struct pp_field *element, const char *row, size_t n,
                     size_t stride)
{
    pp_json_array(&d->json);
    for (size_t i = 0; i < n; i++) {
        struct pp_value v = pp_field_value(element, row + i * stride, d->root);
        put_value(&d->json, &v);
    }
}

static void put_rows(struct document *d, const struct pp_field *f, const void *in)
{
    struct pp_json *j = &d->json;
    const char *row;
    int indent = j->indent;
    size_t n = pp_field_rows(f, in, d->root, &row);
    switch (f->type) {
    case PP_FIELD_COLUMNS: /* one array per field; one of whole numbers closes on a line of its own */
        pp_json_object(j);
        for (const struct pp_field *c = f->fields; c->type != PP_FIELD_END; c++) {
            pp_json_key(j, c->key);
            j->indent = 0;
            put_list(d, c, row, n, f->stride);
            j->indent = c->type == PP_FIELD_NUMBER ? 0 : indent;
            pp_json_array_end(j);
            j->indent = indent;
        }
        pp_json_object_end(j);
        break;
    case PP_FIELD_MAP:
        pp_json_object(j);
        for (size_t i = 0; i < n; i++, row += f->stride) {
            struct pp_value key = pp_field_value(&f->fields[0], row, d->root),
                            v = pp_field_value(&f->fields[1], row, d->root);
            if (v.kind == PP_VALUE_NULL && f->flags & PP_FIELD_SKIP_NULL)
                continue;
            pp_json_key(j, key.text);
            put_value(j, &v);
        }
        pp_json_object_end(j);
        break;
    case PP_FIELD_LIST:
        j->indent = f->flags & PP_FIELD_ONE_LINE ? 0 : indent;
        put_list(d, f->fields, row, n, f->stride);
        pp_json_array_end(j);
        j->indent = indent;
        break;
    default:
        pp_json_array(j);
        for (size_t i = 0; i < n; i++)
            put_fields(d, f->fields, row + i * f->stride, 1);
        pp_json_array_end(j);
    }
}

static void put_fields(struct document *d, const struct pp_field *fields, const void *row, int braces)
{
    if (braces)
        pp_json_object(&d->json);
    for (unsigned last = 0; last <= PP_FIELD_LAST; last += PP_FIELD_LAST)
        for (const struct pp_field *f = fields; f->type != PP_FIELD_END; f++)
            if ((f->flags & PP_FIELD_LAST) == last) {
                const void *object = f->type == PP_FIELD_OBJECT || f->type == PP_FIELD_INLINE
                                         ? pp_field_object(f, row)
                                         : NULL;
                if (f->type == PP_FIELD_INLINE) {
                    if (object)
                        put_fields(d, f->fields, object, 0);
                } else {
                    pp_json_key(&d->json, f->key);
                    if (pp_field_is_scalar(f)) {
                        struct pp_value v = pp_field_value(f, row, d->root);
                        put_value(&d->json, &v);
                    } else if (f->type != PP_FIELD_OBJECT) {
                        put_rows(d, f, row);
                    } else if (object) {
                        put_fields(d, f->fields, object, 1);
                    } else {
                        pp_json_null(&d->json);
                    }
                }
            }
    if (braces)
        pp_json_object_end(&d->json);
}

int pp_fields_json(const struct pp_field *fields, const void *root, FILE *out)
{
    struct document d = {.root = root};
    pp_json_begin(&d.json, out, 2);
    put_fields(&d, fields, root, 1);
    return pp_json_end(&d.json);
}
