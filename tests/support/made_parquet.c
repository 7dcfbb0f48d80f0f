#include "tests/support/made_parquet.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

enum { IMAGE, LABEL, IDS, COLUMNS, LABELS = 7, MOST_IDS = 9, MOST_IMAGE = 600 };
enum { I32 = 5, I64 = 6, BINARY = 8, LIST = 9, STRUCT = 12 };

/* ---- what is in a row ---- */

size_t made_parquet_image(uint32_t i, uint8_t *to)
{
    size_t n = 20 + i * 37 % 500;
    for (size_t k = 0; k < n; k++)
        to[k] = (uint8_t)(i * 7 + k);
    memcpy(to, "\xff\xd8\xff\xe0", 4);
    memcpy(to + 4, &i, sizeof(i));
    return n;
}

int64_t made_parquet_label(const struct made_parquet *how, uint32_t i)
{
    return how->nulls && i % 7 == 3 ? -1 : (int64_t)(i % LABELS);
}

size_t made_parquet_ids(uint32_t i, int32_t *to)
{
    size_t n = 1 + i % MOST_IDS;
    for (size_t k = 0; k < n; k++)
        to[k] = (int32_t)(i * 1000 + k) - 5000;
    return n;
}

/* ---- bytes ---- */

struct bytes {
    uint8_t *at;
    size_t n, cap;
};

static void put(struct bytes *b, const void *from, size_t n)
{
    if (b->n + n > b->cap) {
        b->cap = (b->n + n) * 2 + 64;
        if (!(b->at = realloc(b->at, b->cap)))
            abort();
    }
    if (n)
        memcpy(b->at + b->n, from, n);
    b->n += n;
}

static void put_byte(struct bytes *b, unsigned v)
{
    uint8_t byte = (uint8_t)v;
    put(b, &byte, 1);
}

static void put_32(struct bytes *b, uint32_t v)
{
    put(b, &v, 4);
}

static void put_varint(struct bytes *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        put_byte(b, (unsigned)(v & 0x7f) | 0x80);
    put_byte(b, (unsigned)v);
}

/* ---- Thrift ---- */

/* A field; *last as in the reader. */
static void field(struct bytes *b, int *last, int id, int type)
{
    put_byte(b, (unsigned)(id - *last) << 4 | (unsigned)type);
    *last = id;
}

static void number(struct bytes *b, int *last, int id, int type, int64_t v)
{
    field(b, last, id, type);
    put_varint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void text(struct bytes *b, int *last, int id, const char *v)
{
    field(b, last, id, BINARY);
    put_varint(b, strlen(v));
    put(b, v, strlen(v));
}

static void list(struct bytes *b, int *last, int id, size_t n, int type)
{
    field(b, last, id, LIST);
    if (n < 15) {
        put_byte(b, (unsigned)n << 4 | (unsigned)type);
    } else {
        put_byte(b, 0xf0 | (unsigned)type);
        put_varint(b, n);
    }
}

/* ---- pages ---- */

/* Levels and numbers of a dictionary: one bit-packed run. */
static void put_bits(struct bytes *b, const uint8_t *v, size_t n, unsigned width)
{
    size_t groups = (n + 7) / 8;
    uint8_t byte = 0;
    unsigned used = 0;
    put_varint(b, groups << 1 | 1);
    for (size_t i = 0; i < groups * 8; i++)
        for (unsigned k = 0; k < width; k++) {
            byte |= (uint8_t)((i < n ? v[i] >> k & 1 : 0) << used);
            if (++used == 8) {
                put_byte(b, byte);
                byte = 0;
                used = 0;
            }
        }
}

static void pack(struct bytes *to, int codec, const struct bytes *from)
{
    size_t room = from->n * 2 + 256;
    uint8_t *out = malloc(room);
    if (codec == 2) {
        z_stream z = {.next_in = from->at,
                      .avail_in = (uInt)from->n,
                      .next_out = out,
                      .avail_out = (uInt)room};
        deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
        deflate(&z, Z_FINISH);
        put(to, out, z.total_out);
        deflateEnd(&z);
    } else if (codec == 6) {
        put(to, out, ZSTD_compress(out, room, from->at, from->n, 1));
    } else {
        put(to, from->at, from->n);
    }
    free(out);
}

/* What stands in a page before it is packed. */
struct page {
    struct bytes repetition, definition, values;
    size_t entries, rows;
};

static void put_levels(struct bytes *to, const struct bytes *levels, int with_size)
{
    if (levels->n && with_size)
        put_32(to, (uint32_t)levels->n);
    put(to, levels->at, levels->n);
}

static void put_page(struct bytes *file, const struct made_parquet *how, const struct page *p, int encoding)
{
    struct bytes plain = {0}, packed = {0}, head = {0};
    int last = 0, inner = 0, v2 = how->version_2;
    size_t levels = v2 ? p->repetition.n + p->definition.n : 0;
    if (!v2) {
        put_levels(&plain, &p->repetition, 1);
        put_levels(&plain, &p->definition, 1);
    }
    put(&plain, p->values.at, p->values.n);
    pack(&packed, how->codec, &plain);
    number(&head, &last, 1, I32, v2 ? 3 : 0);
    number(&head, &last, 2, I32, (int64_t)(plain.n + levels));
    number(&head, &last, 3, I32, (int64_t)(packed.n + levels));
    field(&head, &last, v2 ? 8 : 5, STRUCT);
    number(&head, &inner, 1, I32, (int64_t)p->entries);
    if (v2) {
        number(&head, &inner, 2, I32, 0);
        number(&head, &inner, 3, I32, (int64_t)p->rows);
        number(&head, &inner, 4, I32, encoding);
        number(&head, &inner, 5, I32, (int64_t)p->definition.n);
        number(&head, &inner, 6, I32, (int64_t)p->repetition.n);
    } else {
        number(&head, &inner, 2, I32, encoding);
        number(&head, &inner, 3, I32, 3);
        number(&head, &inner, 4, I32, 3);
    }
    put_byte(&head, 0);
    put_byte(&head, 0);
    put(file, head.at, head.n);
    if (v2) {
        put_levels(file, &p->repetition, 0);
        put_levels(file, &p->definition, 0);
    }
    put(file, packed.at, packed.n);
    free(plain.at);
    free(packed.at);
    free(head.at);
}

static void put_dictionary(struct bytes *file, const struct made_parquet *how)
{
    struct bytes plain = {0}, packed = {0};
    int last = 0, inner = 0;
    for (int64_t i = 0; i < LABELS; i++)
        put(&plain, &i, 8);
    pack(&packed, how->codec, &plain);
    number(file, &last, 1, I32, 2);
    number(file, &last, 2, I32, (int64_t)plain.n);
    number(file, &last, 3, I32, (int64_t)packed.n);
    field(file, &last, 7, STRUCT);
    number(file, &inner, 1, I32, LABELS);
    number(file, &inner, 2, I32, 0);
    put_byte(file, 0);
    put_byte(file, 0);
    put(file, packed.at, packed.n);
    free(plain.at);
    free(packed.at);
}

/* ---- columns ---- */

static void fill_image(struct page *p, uint32_t from, uint32_t to)
{
    uint8_t level[4096], image[MOST_IMAGE];
    for (uint32_t i = from; i < to; i++) {
        size_t n = made_parquet_image(i, image);
        put_32(&p->values, (uint32_t)n);
        put(&p->values, image, n);
        level[i - from] = 2;
    }
    p->entries = p->rows = to - from;
    put_bits(&p->definition, level, p->entries, 2);
}

static void fill_label(struct page *p, const struct made_parquet *how, uint32_t from, uint32_t to)
{
    uint8_t level[4096], chosen[4096];
    size_t n = 0;
    for (uint32_t i = from; i < to; i++) {
        int64_t label = made_parquet_label(how, i);
        level[i - from] = label >= 0;
        if (label >= 0 && how->dictionary)
            chosen[n++] = (uint8_t)label;
        else if (label >= 0)
            put(&p->values, &label, 8);
    }
    if (how->dictionary) {
        put_byte(&p->values, 3);
        put_bits(&p->values, chosen, n, 3);
    }
    p->entries = p->rows = to - from;
    put_bits(&p->definition, level, p->entries, 1);
}

/* Elements from the first-th of row `from` to the first `more` of row `to`. */
static void fill_ids(struct page *p, uint32_t from, uint32_t to, size_t first, size_t more)
{
    uint8_t repetition[4096 * 2], definition[4096 * 2];
    int32_t ids[MOST_IDS];
    for (uint32_t i = from; i < to + (more > 0); i++) {
        size_t n = made_parquet_ids(i, ids), end = i == to ? more : n;
        for (size_t k = i == from ? first : 0; k < end; k++) {
            put(&p->values, &ids[k], 4);
            repetition[p->entries] = k > 0;
            p->rows += k == 0;
            definition[p->entries++] = 3;
        }
    }
    put_bits(&p->repetition, repetition, p->entries, 1);
    put_bits(&p->definition, definition, p->entries, 2);
}

struct chunk {
    size_t begin, data, end, values;
    struct bytes index; /* locations */
    size_t pages, index_at;
};

static void put_column(struct bytes *file, const struct made_parquet *how, int column, uint32_t group,
                       struct chunk *c)
{
    uint32_t first = group * how->group_rows,
             end = first + how->group_rows < how->rows ? first + how->group_rows : how->rows;
    size_t began = 0; /* elements of row `from` that the page before holds */
    c->begin = file->n;
    if (column == LABEL && how->dictionary)
        put_dictionary(file, how);
    c->data = file->n;
    for (uint32_t from = first; from < end; from += how->page_rows) {
        struct page p = {0};
        int last = 0;
        uint32_t to = from + how->page_rows < end ? from + how->page_rows : end;
        size_t at = file->n, more = 0;
        if (column == IMAGE)
            fill_image(&p, from, to);
        else if (column == LABEL)
            fill_label(&p, how, from, to);
        else {
            more = how->split && to < end ? (to % MOST_IDS + 1) / 2 : 0;
            fill_ids(&p, from, to, began, more);
            began = more;
        }
        put_page(file, how, &p, column == LABEL && how->dictionary ? 8 : 0);
        c->values += p.entries;
        number(&c->index, &last, 1, I64, (int64_t)at);
        number(&c->index, &last, 2, I32, (int64_t)(file->n - at));
        number(&c->index, &last, 3, I64, from - first);
        put_byte(&c->index, 0);
        c->pages++;
        free(p.repetition.at);
        free(p.definition.at);
        free(p.values.at);
    }
    c->end = file->n;
}

/* ---- the footer ---- */

struct element {
    int type, repetition; /* -1: none */
    const char *name;
    int children, converted;
};

static void put_schema(struct bytes *b)
{
    static const struct element rows[] = {
        {-1, -1, "schema", 3, -1}, {-1, 1, "image", 1, -1}, {6, 1, "bytes", 0, -1},   {2, 1, "label", 0, -1},
        {-1, 1, "ids", 1, 3},      {-1, 2, "list", 1, -1},  {1, 1, "element", 0, -1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int last = 0;
        if (rows[i].type >= 0)
            number(b, &last, 1, I32, rows[i].type);
        if (rows[i].repetition >= 0)
            number(b, &last, 3, I32, rows[i].repetition);
        text(b, &last, 4, rows[i].name);
        if (rows[i].children)
            number(b, &last, 5, I32, rows[i].children);
        if (rows[i].converted >= 0)
            number(b, &last, 6, I32, rows[i].converted);
        put_byte(b, 0);
    }
}

static void put_chunk(struct bytes *b, const struct made_parquet *how, int column, const struct chunk *c)
{
    static const int types[] = {6, 2, 1};
    static const char *const names[] = {"image", "label", "ids"};
    int last = 0, inner = 0;
    number(b, &last, 2, I64, 0);
    field(b, &last, 3, STRUCT);
    number(b, &inner, 1, I32, types[column]);
    list(b, &inner, 3, 1, BINARY);
    put_varint(b, strlen(names[column]));
    put(b, names[column], strlen(names[column]));
    number(b, &inner, 4, I32, how->codec);
    number(b, &inner, 5, I64, (int64_t)c->values);
    number(b, &inner, 6, I64, (int64_t)(c->end - c->begin));
    number(b, &inner, 7, I64, (int64_t)(c->end - c->begin));
    number(b, &inner, 9, I64, (int64_t)c->data);
    if (c->data > c->begin)
        number(b, &inner, 11, I64, (int64_t)c->begin);
    put_byte(b, 0);
    if (how->index) {
        int more = 3;
        number(b, &more, 4, I64, (int64_t)c->index_at);
        number(b, &more, 5, I32, (int64_t)c->index.n);
    }
    put_byte(b, 0);
}

uint8_t *made_parquet(const struct made_parquet *how, size_t *size)
{
    struct bytes file = {0}, footer = {0};
    uint32_t groups = (how->rows + how->group_rows - 1) / how->group_rows;
    struct chunk *chunk = calloc((size_t)groups * COLUMNS + 1, sizeof(*chunk));
    int last = 0;
    put(&file, "PAR1", 4);
    for (uint32_t g = 0; g < groups; g++)
        for (int c = 0; c < COLUMNS; c++)
            put_column(&file, how, c, g, &chunk[g * COLUMNS + (uint32_t)c]);
    for (uint32_t i = 0; how->index && i < groups * COLUMNS; i++) {
        struct bytes all = {0};
        int id = 0;
        list(&all, &id, 1, chunk[i].pages, STRUCT);
        put(&all, chunk[i].index.at, chunk[i].index.n);
        put_byte(&all, 0);
        chunk[i].index_at = file.n;
        put(&file, all.at, all.n);
        free(chunk[i].index.at);
        chunk[i].index = all;
    }
    number(&footer, &last, 1, I32, 2);
    list(&footer, &last, 2, 7, STRUCT);
    put_schema(&footer);
    number(&footer, &last, 3, I64, how->rows);
    list(&footer, &last, 4, groups, STRUCT);
    for (uint32_t g = 0; g < groups; g++) {
        int inner = 0;
        uint32_t rows = g + 1 < groups ? how->group_rows : how->rows - g * how->group_rows;
        list(&footer, &inner, 1, COLUMNS, STRUCT);
        for (int c = 0; c < COLUMNS; c++)
            put_chunk(&footer, how, c, &chunk[g * COLUMNS + (uint32_t)c]);
        number(&footer, &inner, 2, I64, 1);
        number(&footer, &inner, 3, I64, rows);
        put_byte(&footer, 0);
    }
    put_byte(&footer, 0);
    put(&file, footer.at, footer.n);
    put_32(&file, (uint32_t)footer.n);
    put(&file, "PAR1", 4);
    for (uint32_t i = 0; i < groups * COLUMNS; i++)
        free(chunk[i].index.at);
    free(chunk);
    free(footer.at);
    *size = file.n;
    return file.at;
}
