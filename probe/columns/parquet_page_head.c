/* Headers of pages, and the index of pages. */
#include "probe/columns/parquet_meta.h"
#include "probe/columns/thrift.h"

#include <stdlib.h>

enum { RLE = 3, MOST_PAGES = PP_PARQUET_PAGES };

static uint32_t size_of(struct pp_thrift *t, int type)
{
    int64_t v = pp_thrift_int(t, type);
    if (v < 0 || v > INT32_MAX)
        t->bad = 1;
    return t->bad ? 0 : (uint32_t)v;
}

static void read_data(struct pp_thrift *t, int type, struct pp_parquet_page_head *h)
{
    int id = 0, field;
    pp_thrift_begin(t, type);
    while ((field = pp_thrift_field(t, &id))) {
        switch (id) {
        case 1: h->values = size_of(t, field); break;
        case 2: h->encoding = (int)pp_thrift_int(t, field); break;
        case 3: h->definition_encoding = (int)pp_thrift_int(t, field); break;
        case 4: h->repetition_encoding = (int)pp_thrift_int(t, field); break;
        default: pp_thrift_skip(t, field);
        }
    }
}

static void read_dictionary(struct pp_thrift *t, int type, struct pp_parquet_page_head *h)
{
    int id = 0, field;
    pp_thrift_begin(t, type);
    while ((field = pp_thrift_field(t, &id))) {
        switch (id) {
        case 1: h->values = size_of(t, field); break;
        case 2: h->encoding = (int)pp_thrift_int(t, field); break;
        default: pp_thrift_skip(t, field);
        }
    }
}

static void read_data_2(struct pp_thrift *t, int type, struct pp_parquet_page_head *h)
{
    int id = 0, field;
    pp_thrift_begin(t, type);
    h->is_packed = 1;
    h->definition_encoding = h->repetition_encoding = RLE;
    while ((field = pp_thrift_field(t, &id))) {
        switch (id) {
        case 1: h->values = size_of(t, field); break;
        case 3: h->rows = size_of(t, field); break;
        case 4: h->encoding = (int)pp_thrift_int(t, field); break;
        case 5: h->definition_bytes = size_of(t, field); break;
        case 6: h->repetition_bytes = size_of(t, field); break;
        case 7: h->is_packed = pp_thrift_bool(t, field); break;
        default: pp_thrift_skip(t, field);
        }
    }
}

int pp_parquet_page_head(const uint8_t *bytes, size_t size, struct pp_parquet_page_head *out)
{
    static void (*const readers[])(struct pp_thrift * t, int type, struct pp_parquet_page_head *h) = {
        [5] = read_data, [7] = read_dictionary, [8] = read_data_2};
    struct pp_thrift t = {.at = bytes, .end = bytes + size};
    int id = 0, type, seen = 0;
    *out = (struct pp_parquet_page_head){.type = -1};
    while ((type = pp_thrift_field(&t, &id))) {
        switch (id) {
        case 1: out->type = (int)pp_thrift_int(&t, type); break;
        case 2: out->unpacked = size_of(&t, type); break;
        case 3: out->packed = size_of(&t, type); break;
        case 4:
            out->crc = (uint32_t)pp_thrift_int(&t, type);
            out->has_crc = 1;
            break;
        case 5:
        case 7:
        case 8:
            readers[id](&t, type, out);
            seen = id;
            break;
        default: pp_thrift_skip(&t, type);
        }
    }
    if (t.bad) /* also where the bytes end within it */
        return t.at == t.end ? 0 : -1;
    out->head = (size_t)(t.at - bytes);
    int want = out->type == PP_PARQUET_DATA         ? 5
               : out->type == PP_PARQUET_DICTIONARY ? 7
               : out->type == PP_PARQUET_DATA_2     ? 8
                                                    : 0;
    return (want == 0 && out->type == PP_PARQUET_INDEX) || (want && want == seen) ? 1 : -1;
}

static void read_location(struct pp_thrift *t, struct pp_parquet_location *l)
{
    int id = 0, type;
    while ((type = pp_thrift_field(t, &id))) {
        int64_t v = id >= 1 && id <= 3 ? pp_thrift_int(t, type) : 0;
        if (id < 1 || id > 3)
            pp_thrift_skip(t, type);
        if (v < 0)
            t->bad = 1;
        if (id == 1)
            l->at = (uint64_t)v;
        else if (id == 2)
            l->bytes = (uint32_t)v;
        else if (id == 3)
            l->first_row = (uint64_t)v;
    }
}

int pp_parquet_locations(const uint8_t *bytes, size_t size, struct pp_parquet_location **out, size_t *n)
{
    struct pp_thrift t = {.at = bytes, .end = bytes + size};
    int id = 0, type, element;
    *out = NULL;
    *n = 0;
    while ((type = pp_thrift_field(&t, &id))) {
        if (id != 1 || *out) {
            pp_thrift_skip(&t, type);
            continue;
        }
        *n = pp_thrift_list(&t, type, &element);
        *out = element == PP_THRIFT_STRUCT && *n && *n <= MOST_PAGES ? calloc(*n, sizeof(**out)) : NULL;
        for (size_t i = 0; *out && i < *n; i++)
            read_location(&t, &(*out)[i]);
    }
    if (!t.bad && *out)
        return 0;
    free(*out);
    *out = NULL;
    return -1;
}
