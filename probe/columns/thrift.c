#include "probe/columns/thrift.h"

#include "probe/base/bytes.h"

enum { DEEPEST = 24 }; /* the metadata of Parquet nest 7 deep */

static void spoil(struct pp_thrift *t)
{
    t->bad = 1;
    t->at = t->end;
}

static uint8_t take_byte(struct pp_thrift *t)
{
    if (t->at == t->end) {
        spoil(t);
        return 0;
    }
    return *t->at++;
}

static uint64_t take_varint(struct pp_thrift *t)
{
    uint64_t v;
    if (pp_varint_get(&t->at, t->end, &v))
        return v;
    spoil(t);
    return 0;
}

int pp_thrift_field(struct pp_thrift *t, int *id)
{
    uint8_t head = take_byte(t);
    int type = head & 15;
    if (t->bad || type == 0)
        return 0;
    int64_t next = head >> 4 ? *id + (head >> 4) : (int64_t)pp_zigzag_get(take_varint(t));
    if (type > PP_THRIFT_STRUCT || next <= 0 || next > INT16_MAX)
        spoil(t);
    *id = t->bad ? 0 : (int)next;
    return t->bad ? 0 : type;
}

int64_t pp_thrift_int(struct pp_thrift *t, int type)
{
    if (type == PP_THRIFT_BYTE)
        return (int8_t)take_byte(t);
    if (type != PP_THRIFT_I16 && type != PP_THRIFT_I32 && type != PP_THRIFT_I64)
        spoil(t);
    int64_t v = t->bad ? 0 : (int64_t)pp_zigzag_get(take_varint(t));
    if ((type == PP_THRIFT_I32 && (v < INT32_MIN || v > INT32_MAX)) ||
        (type == PP_THRIFT_I16 && (v < INT16_MIN || v > INT16_MAX)))
        spoil(t);
    return t->bad ? 0 : v;
}

const uint8_t *pp_thrift_bytes(struct pp_thrift *t, int type, size_t *size)
{
    if (type != PP_THRIFT_BINARY)
        spoil(t);
    uint64_t n = t->bad ? 0 : take_varint(t);
    if (n > (size_t)(t->end - t->at))
        spoil(t);
    *size = t->bad ? 0 : (size_t)n;
    const uint8_t *bytes = t->at;
    t->at += *size;
    return bytes;
}

size_t pp_thrift_list(struct pp_thrift *t, int type, int *element)
{
    if (type != PP_THRIFT_LIST && type != PP_THRIFT_SET)
        spoil(t);
    uint8_t head = take_byte(t);
    uint64_t n = head >> 4 == 15 ? take_varint(t) : head >> 4;
    *element = head & 15;
    if (n > (size_t)(t->end - t->at) || *element == 0 || *element > PP_THRIFT_STRUCT)
        spoil(t);
    return t->bad ? 0 : (size_t)n;
}

void pp_thrift_read(struct pp_thrift *t, const struct pp_thrift_row *rows, void *out)
{
    int id = 0, type;
    while ((type = pp_thrift_field(t, &id))) {
        const struct pp_thrift_row *row = rows;
        int64_t v = 0;
        while (row->id && row->id != id)
            row++;
        if (!row->id) {
            pp_thrift_skip(t, type);
            continue;
        }
        switch (row->into) {
        case PP_THRIFT_NUMBER: v = pp_thrift_int(t, type); break;
        case PP_THRIFT_SIZE:
            v = pp_thrift_int(t, type);
            if (v < 0 || (row->width == 4 && v > INT32_MAX))
                t->bad = 1; /* and not cut off: `at` is not the end */
            break;
        case PP_THRIFT_FLAG:
            if (type != PP_THRIFT_TRUE && type != PP_THRIFT_FALSE)
                spoil(t);
            v = type == PP_THRIFT_TRUE;
            break;
        case PP_THRIFT_SEEN:
        case PP_THRIFT_ID:
            pp_thrift_skip(t, type);
            v = row->into == PP_THRIFT_ID ? id : 1;
            break;
        case PP_THRIFT_TEXT: {
            struct pp_thrift_text *text = (struct pp_thrift_text *)((char *)out + row->at);
            text->at = pp_thrift_bytes(t, type, &text->size);
            continue;
        }
        case PP_THRIFT_FIELDS:
            if (type != PP_THRIFT_STRUCT)
                spoil(t);
            pp_thrift_read(t, row->fields, out);
            v = id;
            break;
        }
        int32_t narrow = (int32_t)v;
        memcpy((char *)out + row->at, row->width == 4 ? (void *)&narrow : (void *)&v, row->width);
    }
}

void pp_thrift_skip(struct pp_thrift *t, int type)
{
    size_t size, many = 0; /* elements that follow */
    uint8_t kinds;
    int element[2] = {0, 0}, id = 0, field;
    if (t->depth == DEEPEST || t->bad) {
        spoil(t);
        return;
    }
    t->depth++;
    switch (type) {
    case PP_THRIFT_TRUE:
    case PP_THRIFT_FALSE: break;
    case PP_THRIFT_BYTE: take_byte(t); break;
    case PP_THRIFT_I16:
    case PP_THRIFT_I32:
    case PP_THRIFT_I64: take_varint(t); break;
    case PP_THRIFT_DOUBLE:
        if (t->end - t->at < 8)
            spoil(t);
        else
            t->at += 8;
        break;
    case PP_THRIFT_BINARY: pp_thrift_bytes(t, type, &size); break;
    case PP_THRIFT_LIST:
    case PP_THRIFT_SET: many = pp_thrift_list(t, type, &element[0]); break;
    case PP_THRIFT_MAP:
        many = take_varint(t);
        kinds = many && !t->bad ? take_byte(t) : 0;
        element[0] = kinds >> 4;
        element[1] = kinds & 15;
        if (many && (many > (size_t)(t->end - t->at) || !element[0] || !element[1]))
            spoil(t);
        break;
    case PP_THRIFT_STRUCT:
        while ((field = pp_thrift_field(t, &id)))
            pp_thrift_skip(t, field);
        break;
    default: spoil(t);
    }
    for (size_t i = 0; i < many && !t->bad; i++)
        for (int k = 0; k < 2 && element[k]; k++)
            if (element[k] <= PP_THRIFT_FALSE)
                take_byte(t); /* outside of a field a bool is a byte */
            else
                pp_thrift_skip(t, element[k]);
    t->depth--;
}
