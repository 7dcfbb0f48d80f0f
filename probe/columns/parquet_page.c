#include "probe/base/bytes.h"
#include "probe/columns/parquet_page.h"

#include <zlib.h>

enum { PLAIN = 0, PLAIN_DICTIONARY = 2, RLE = 3, BATCH = 1024 };

/* A page while it is decoded. */
struct decoding {
    const struct pp_parquet_body *in;
    struct pp_parquet_page *page;
    uint8_t *definition, *repetition; /* by entry; NULL: all are the highest, and 0 */
    const uint8_t *at;                /* what is left of the body */
    size_t left;
    uint32_t entries, values; /* values: not null */
    pp_status status;
};

#define DAMAGED(status, why) pp_parquet_fail(status, PP_E_CORRUPT, why)
#define NO_MEMORY(status) pp_parquet_fail(status, PP_E_NO_MEMORY, "needs more memory than there is")

/* ---- the body ---- */

static const char *check_head(const struct pp_parquet_body *in, pp_status *status)
{
    const struct pp_parquet_page_head *h = in->head;
    if (h->values > PP_PARQUET_VALUES)
        return pp_parquet_fail(status, PP_E_UNSUPPORTED,
                               "holds more than 16,777,216 values, which is the most that is read");
    if (h->unpacked > PP_PARQUET_BODY || h->packed > PP_PARQUET_BODY)
        return pp_parquet_fail(status, PP_E_UNSUPPORTED,
                               "is larger than 512 MiB, which is the most that is read");
    if (h->crc != PP_PARQUET_NO_CRC && crc32(0, in->packed, h->packed) != (uint32_t)h->crc)
        return DAMAGED(status, "does not match its checksum");
    return NULL;
}

/* The body as it was before it was compressed; `plain` bytes in front of it never are. */
static const char *unpack(const struct pp_parquet_body *in, uint32_t plain, uint8_t **raw, pp_status *status)
{
    const struct pp_parquet_page_head *h = in->head;
    if (plain > h->packed || plain > h->unpacked)
        return DAMAGED(status, "is shorter than its levels");
    enum pp_codec codec = h->type == PP_PARQUET_DATA_2 && !h->is_packed ? PP_CODEC_NONE : in->codec;
    if (h->type == PP_PARQUET_DATA_2 && h->unpacked == plain)
        codec = PP_CODEC_NONE; /* nothing but nulls: some writers compress nothing to nothing */
    *raw = malloc((size_t)h->unpacked + 1);
    if (!*raw)
        return NO_MEMORY(status);
    if (plain)
        memcpy(*raw, in->packed, plain);
    if (codec == PP_CODEC_NONE && h->packed != h->unpacked && h->unpacked != plain)
        return DAMAGED(status, "has another size than its header says");
    if (h->unpacked != plain &&
        pp_codec_unpack(codec, in->packed + plain, h->packed - plain, *raw + plain, h->unpacked - plain) != 0)
        return DAMAGED(status, "does not unpack to the bytes that its header says");
    return NULL;
}

/* ---- levels ---- */

/* Version 1 has the size of the levels before them, in 4 bytes. */
static const char *one_level(struct decoding *d, uint8_t most, uint32_t given, uint8_t **out)
{
    uint32_t size = given, some[BATCH];
    int encoding = out == &d->definition ? d->in->head->definition_encoding
                                         : d->in->head->repetition_encoding;
    if (most == 0) { /* version 2 may give them all the same */
        if (given > d->left)
            return DAMAGED(&d->status, "is shorter than its levels");
        d->at += given;
        d->left -= given;
        return NULL;
    }
    if (encoding != RLE)
        return pp_parquet_fail(&d->status, PP_E_UNSUPPORTED, "has levels in an encoding that is not read");
    if (d->in->head->type == PP_PARQUET_DATA) {
        if (d->left < 4)
            return DAMAGED(&d->status, "is shorter than its levels");
        size = pp_le32(d->at);
        d->at += 4;
        d->left -= 4;
    }
    if (size > d->left)
        return DAMAGED(&d->status, "is shorter than its levels");
    uint8_t *level = *out = malloc((size_t)d->entries + 1);
    if (!level)
        return NO_MEMORY(&d->status);
    struct pp_runs r = {.at = d->at, .end = d->at + size, .width = 32 - (unsigned)__builtin_clz(most)};
    for (uint32_t i = 0; i < d->entries;) {
        uint32_t now = d->entries - i < BATCH ? d->entries - i : BATCH;
        int damaged = pp_runs_take(&r, some, now) != 0;
        for (uint32_t k = 0; !damaged && k < now; k++) {
            damaged = some[k] > most;
            level[i++] = (uint8_t)some[k];
        }
        if (damaged)
            return DAMAGED(&d->status, "has levels that are not whole");
    }
    d->at += size;
    d->left -= size;
    return NULL;
}

/* ---- rows ---- */

/* Values stand without nulls; from the last one on each moves to its row. */
static const char *spread(struct decoding *d)
{
    struct pp_parquet_page *p = d->page;
    unsigned width = d->in->column->width;
    uint32_t from = d->values;
    p->rows = d->entries;
    if (d->values == d->entries)
        return NULL;
    if (!(p->row = calloc((size_t)p->rows + 1, 1)))
        return NO_MEMORY(&d->status);
    for (uint32_t row = d->entries; row-- > 0;) {
        int is_null = d->definition[row] != d->in->leaf->max_definition;
        p->row[row] = is_null ? PP_PARQUET_ROW_NULL : 0;
        if (p->span)
            p->span[row] = is_null ? (struct pp_parquet_span){0, 0} : p->span[--from];
        else if (!is_null)
            memmove(p->number + (size_t)row * width, p->number + (size_t)--from * width, width);
    }
    return NULL;
}

/* Entries of repetition 0 begin a row; those from list_definition on are elements, null below the highest. */
static const char *cut_lists(struct decoding *d)
{
    struct pp_parquet_page *p = d->page;
    const struct pp_parquet_leaf *l = d->in->leaf;
    uint32_t element = 0, row = 0;
    for (uint32_t i = 0; i < d->entries; i++)
        p->rows += d->repetition[i] == 0;
    p->start = malloc(((size_t)p->rows + 1) * sizeof(*p->start));
    if (!p->start || !(p->row = calloc((size_t)p->rows + 1, 1)))
        return NO_MEMORY(&d->status);
    for (uint32_t i = 0; i < d->entries; i++) {
        uint8_t definition = d->definition ? d->definition[i] : l->max_definition;
        if (d->repetition[i] == 0)
            p->start[row++] = element;
        if (definition == l->max_definition)
            element++;
        else if (definition >= l->list_definition && row > 0)
            p->row[row - 1] |= PP_PARQUET_ROW_HAS_NULL;
        else if (definition >= l->list_definition)
            p->lead_null = 1;
        else if (row > 0)
            p->row[row - 1] |= PP_PARQUET_ROW_NULL;
    }
    p->start[row] = element;
    return NULL;
}

/* ---- pages ---- */

void pp_parquet_dictionary_free(struct pp_parquet_dictionary *d)
{
    /* acq_rel: the last user sees what the others did before they left */
    if (!d || atomic_fetch_sub_explicit(&d->users, 1, memory_order_acq_rel) != 1)
        return;
    free(d->raw);
    free(d->span);
    free(d);
}

static void free_page(struct pp_page *base)
{
    struct pp_parquet_page *p = (struct pp_parquet_page *)base;
    free(p->row);
    free(p->span);
    free(p->number);
    free(p->start);
    free(p->raw);
    pp_parquet_dictionary_free(p->dictionary);
    free(p);
}

const char *pp_parquet_page_decode(const struct pp_parquet_body *in, struct pp_parquet_page **out,
                                   pp_status *status)
{
    const struct pp_parquet_page_head *h = in->head;
    const struct pp_parquet_leaf *l = in->leaf;
    uint32_t plain = 0;
    struct pp_parquet_page *p = calloc(1, sizeof(*p));
    struct decoding d = {.in = in, .page = p, .status = PP_OK};
    *out = NULL;
    if (!p)
        return NO_MEMORY(status);
    p->base.free = free_page;
    const char *why = check_head(in, &d.status);
    if (!why && h->type == PP_PARQUET_DATA_2) {
        plain = h->definition_bytes + h->repetition_bytes;
        if (h->definition_bytes > PP_PARQUET_BODY || h->repetition_bytes > PP_PARQUET_BODY)
            why = DAMAGED(&d.status, "is shorter than its levels");
    }
    if (!why)
        why = unpack(in, plain, &p->raw, &d.status);
    d.at = p->raw;
    d.left = h->unpacked;
    d.entries = d.values = h->values;
    if (!why)
        why = one_level(&d, l->max_repetition, h->repetition_bytes, &d.repetition);
    if (!why)
        why = one_level(&d, l->max_definition, h->definition_bytes, &d.definition);
    for (uint32_t i = 0; !why && d.definition && i < d.entries; i++)
        d.values -= d.definition[i] != l->max_definition;
    const struct pp_parquet_values v = {
        .body = in, .at = d.at, .left = d.left, .n = d.values, .room = d.entries};
    if (!why)
        why = pp_parquet_values_take(&v, p, &d.status);
    if (!why)
        why = l->max_repetition ? cut_lists(&d) : spread(&d);
    if (!why && h->type == PP_PARQUET_DATA_2 && h->rows != p->rows)
        why = DAMAGED(&d.status, "holds another number of rows than its header says");
    free(d.definition);
    free(d.repetition);
    *status = d.status;
    if (why) {
        free_page(&p->base);
        return why;
    }
    if (p->number) { /* nothing points into it any more */
        free(p->raw);
        p->raw = NULL;
    }
    uint64_t each = p->span ? sizeof(*p->span) : in->column->width;
    p->base.bytes = sizeof(*p) + (p->raw ? h->unpacked : 0) + (uint64_t)h->values * each +
                    (p->start ? (uint64_t)p->rows * 5 : 0);
    *out = p;
    return NULL;
}

const char *pp_parquet_dictionary_decode(const struct pp_parquet_body *in, struct pp_parquet_dictionary **out,
                                         pp_status *status)
{
    const struct pp_parquet_page_head *h = in->head;
    struct pp_parquet_dictionary *d = calloc(1, sizeof(*d));
    *out = NULL;
    if (!d)
        return NO_MEMORY(status);
    atomic_init(&d->users, 1);
    const char *why = check_head(in, status);
    if (!why && h->encoding != PLAIN && h->encoding != PLAIN_DICTIONARY)
        why = pp_parquet_fail(status, PP_E_UNSUPPORTED, "is a dictionary in an encoding that is not read");
    if (!why)
        why = unpack(in, 0, &d->raw, status);
    d->n = h->values;
    d->bytes = h->unpacked;
    if (!why)
        why = pp_parquet_dictionary_index(in, d, status);
    if (why)
        pp_parquet_dictionary_free(d);
    else
        *out = d;
    return why;
}
