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
#define TOO_SHORT(status) DAMAGED(status, "is shorter than its values")
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

/* ---- values, without their nulls: bytes ---- */

/* PLAIN: u32 size, bytes; of a fixed size: bytes. base: what spans are of. */
static int find_spans(const uint8_t *base, const uint8_t *at, size_t left, const struct pp_parquet_leaf *leaf,
                      uint32_t n, struct pp_parquet_span *out)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t size = leaf->width;
        if (leaf->type == PP_PARQUET_BYTE_ARRAY) {
            if (left < 4)
                return -1;
            size = pp_le32(at);
            at += 4;
            left -= 4;
        }
        if (size > left)
            return -1;
        out[i] = (struct pp_parquet_span){(uint32_t)(at - base), size};
        at += size;
        left -= size;
    }
    return 0;
}

static const char *plain_bytes(struct decoding *d)
{
    struct pp_parquet_page *p = d->page;
    p->bytes = p->raw;
    return find_spans(p->raw, d->at, d->left, d->in->leaf, d->values, p->span) == 0 ? NULL
                                                                                    : TOO_SHORT(&d->status);
}

/* n sizes, deltas of which stand at *at. */
static int take_sizes(const uint8_t **at, size_t *left, int64_t *out, uint32_t n)
{
    size_t used;
    if (pp_delta_take(*at, *left, out, n, &used) != 0)
        return -1;
    *at += used;
    *left -= used;
    for (uint32_t i = 0; i < n; i++)
        if (out[i] < 0 || out[i] > PP_PARQUET_BODY)
            return -1;
    return 0;
}

/* DELTA_LENGTH_BYTE_ARRAY: all sizes, then all bytes. */
static const char *delta_length(struct decoding *d)
{
    struct pp_parquet_page *p = d->page;
    const uint8_t *at = d->at;
    size_t left = d->left;
    const char *why = NULL;
    int64_t *size = malloc(((size_t)d->values + 1) * sizeof(*size));
    if (!size)
        return NO_MEMORY(&d->status);
    if (take_sizes(&at, &left, size, d->values) != 0)
        why = TOO_SHORT(&d->status);
    for (uint32_t i = 0; !why && i < d->values; i++) {
        if ((uint64_t)size[i] > left) {
            why = TOO_SHORT(&d->status);
            break;
        }
        p->span[i] = (struct pp_parquet_span){(uint32_t)(at - p->raw), (uint32_t)size[i]};
        at += size[i];
        left -= (size_t)size[i];
    }
    p->bytes = p->raw;
    free(size);
    return why;
}

/* DELTA_BYTE_ARRAY: sizes of the bytes that a value shares with the one before, then its own as
 * DELTA_LENGTH_BYTE_ARRAY: put together in memory of their own. */
static const char *delta_prefix(struct decoding *d)
{
    struct pp_parquet_page *p = d->page;
    const uint8_t *at = d->at;
    size_t left = d->left;
    uint64_t sum = 0, total = 0;
    const char *why = NULL;
    uint8_t *joined = NULL;
    int64_t *shared = malloc(((size_t)d->values * 2 + 1) * sizeof(*shared));
    if (!shared)
        return NO_MEMORY(&d->status);
    int64_t *own = shared + d->values;
    if (take_sizes(&at, &left, shared, d->values) != 0 || take_sizes(&at, &left, own, d->values) != 0)
        why = TOO_SHORT(&d->status);
    for (uint32_t i = 0; !why && i < d->values; i++)
        sum += (uint64_t)own[i];
    if (!why && sum > left)
        why = TOO_SHORT(&d->status);
    for (uint32_t i = 0; !why && i < d->values; i++) {
        total += (uint64_t)shared[i] + (uint64_t)own[i];
        if (shared[i] > (i ? shared[i - 1] + own[i - 1] : 0))
            why = pp_parquet_fail(&d->status, PP_E_CORRUPT, "shares more bytes with a value than it has");
        else if (total > PP_PARQUET_BODY)
            why = pp_parquet_fail(&d->status, PP_E_UNSUPPORTED,
                                  "unpacks to more than 512 MiB, which is the most that is read");
    }
    if (!why && !(joined = malloc((size_t)total + 1)))
        why = NO_MEMORY(&d->status);
    uint8_t *to = joined;
    for (uint32_t i = 0; !why && i < d->values; i++) {
        size_t before = (size_t)shared[i], n = (size_t)own[i];
        if (before)
            memmove(to, joined + p->span[i - 1].at, before);
        if (n)
            memcpy(to + before, at, n);
        p->span[i] = (struct pp_parquet_span){(uint32_t)(to - joined), (uint32_t)(before + n)};
        to += before + n;
        at += n;
    }
    if (!why) {
        free(p->raw);
        p->raw = joined;
        p->bytes = joined;
    }
    free(shared);
    return why;
}

/* ---- values: numbers ---- */

static const char *plain_numbers(struct decoding *d)
{
    struct pp_parquet_page *p = d->page;
    unsigned stored = d->in->leaf->width, width = d->in->column->width;
    if (stored == 0) { /* BOOLEAN */
        if (d->values > (uint64_t)d->left * 8)
            return TOO_SHORT(&d->status);
        for (uint32_t i = 0; i < d->values; i++)
            p->number[i] = d->at[i / 8] >> i % 8 & 1;
        return NULL;
    }
    if (d->values > d->left / stored)
        return TOO_SHORT(&d->status);
    if (stored == width && d->values)
        memcpy(p->number, d->at, (size_t)d->values * width);
    for (uint32_t i = 0; stored != width && i < d->values; i++)
        memcpy(p->number + (size_t)i * width, d->at + (size_t)i * stored, width);
    return NULL;
}

/* RLE of booleans: u32 size, then runs of one bit. */
static const char *run_numbers(struct decoding *d)
{
    struct pp_parquet_page *p = d->page;
    uint32_t some[BATCH];
    if (d->in->leaf->type != PP_PARQUET_BOOLEAN)
        return pp_parquet_fail(&d->status, PP_E_UNSUPPORTED, "has an encoding that is not read for its type");
    if (d->left < 4 || pp_le32(d->at) > d->left - 4)
        return TOO_SHORT(&d->status);
    struct pp_runs r = {.at = d->at + 4, .end = d->at + 4 + pp_le32(d->at), .width = 1};
    for (uint32_t i = 0; i < d->values;) {
        uint32_t now = d->values - i < BATCH ? d->values - i : BATCH;
        if (pp_runs_take(&r, some, now) != 0)
            return TOO_SHORT(&d->status);
        for (uint32_t k = 0; k < now; k++)
            p->number[i++] = (uint8_t)some[k];
    }
    return NULL;
}

static const char *delta_numbers(struct decoding *d)
{
    struct pp_parquet_page *p = d->page;
    unsigned width = d->in->column->width;
    size_t used;
    if (d->in->leaf->type != PP_PARQUET_INT32 && d->in->leaf->type != PP_PARQUET_INT64)
        return pp_parquet_fail(&d->status, PP_E_UNSUPPORTED, "has an encoding that is not read for its type");
    int64_t *number = malloc(((size_t)d->values + 1) * sizeof(*number));
    if (!number)
        return NO_MEMORY(&d->status);
    int damaged = pp_delta_take(d->at, d->left, number, d->values, &used) != 0;
    /* From the stored width to that of the column: the lower bytes, as both are little-endian. */
    for (uint32_t i = 0; !damaged && i < d->values; i++)
        memcpy(p->number + (size_t)i * width, &number[i], width);
    free(number);
    return damaged ? TOO_SHORT(&d->status) : NULL;
}

/* BYTE_STREAM_SPLIT: the first bytes of all numbers, then the second ones, ... */
static const char *split_numbers(struct decoding *d)
{
    struct pp_parquet_page *p = d->page;
    unsigned stored = d->in->leaf->width, width = d->in->column->width;
    if (stored == 0)
        return pp_parquet_fail(&d->status, PP_E_UNSUPPORTED, "has an encoding that is not read for its type");
    size_t each = d->left / stored;
    if (each < d->values)
        return TOO_SHORT(&d->status);
    for (uint32_t i = 0; i < d->values; i++)
        for (unsigned k = 0; k < width; k++)
            p->number[(size_t)i * width + k] = d->at[k * each + i];
    return NULL;
}

/* ---- values: by dictionary ---- */

/* One byte with the width, then runs of numbers in the dictionary. */
static const char *dictionary_values(struct decoding *d)
{
    struct pp_parquet_page *p = d->page;
    uint32_t some[BATCH];
    struct pp_parquet_dictionary *dictionary = d->in->dictionary;
    unsigned stored = d->in->leaf->width, width = d->in->column->width;
    if (!dictionary)
        return pp_parquet_fail(&d->status, PP_E_CORRUPT, "needs a dictionary, and its column has none");
    if (d->values == 0)
        return NULL;
    if (d->left < 1 || d->at[0] > 32)
        return TOO_SHORT(&d->status);
    struct pp_runs r = {.at = d->at + 1, .end = d->at + d->left, .width = d->at[0]};
    for (uint32_t i = 0; i < d->values;) {
        uint32_t now = d->values - i < BATCH ? d->values - i : BATCH;
        if (pp_runs_take(&r, some, now) != 0)
            return TOO_SHORT(&d->status);
        for (uint32_t k = 0; k < now; k++, i++) {
            if (some[k] >= dictionary->n)
                return pp_parquet_fail(&d->status, PP_E_CORRUPT,
                                       "names values that its dictionary does not have");
            if (p->span)
                p->span[i] = dictionary->span[some[k]];
            else
                memcpy(p->number + (size_t)i * width, dictionary->raw + (size_t)some[k] * stored, width);
        }
    }
    if (p->span) { /* spans are of the dictionary, which lives as long as the page */
        p->dictionary = dictionary;
        atomic_fetch_add_explicit(&dictionary->users, 1, memory_order_relaxed);
        p->bytes = dictionary->raw;
    }
    return NULL;
}

/* ---- values: encodings ---- */

typedef const char *taker(struct decoding *d);

/* By the number of the encoding; NULL: not read for such values. */
static const struct {
    taker *bytes, *numbers;
} encodings[] = {
    [0] = {plain_bytes, plain_numbers},           /* PLAIN */
    [2] = {dictionary_values, dictionary_values}, /* PLAIN_DICTIONARY */
    [3] = {NULL, run_numbers},                    /* RLE */
    [5] = {NULL, delta_numbers},                  /* DELTA_BINARY_PACKED */
    [6] = {delta_length, NULL},                   /* DELTA_LENGTH_BYTE_ARRAY */
    [7] = {delta_prefix, NULL},                   /* DELTA_BYTE_ARRAY */
    [8] = {dictionary_values, dictionary_values}, /* RLE_DICTIONARY */
    [9] = {NULL, split_numbers},                  /* BYTE_STREAM_SPLIT */
};
enum { ENCODINGS = sizeof(encodings) / sizeof(*encodings) };

/* Fills page->span and page->bytes, or page->number, with the values that are not null. */
static const char *take_values(struct decoding *d)
{
    struct pp_parquet_page *page = d->page;
    unsigned width = d->in->column->width;
    int encoding = d->in->head->encoding;
    taker *take = encoding < 0 || encoding >= ENCODINGS ? NULL
                  : width                               ? encodings[encoding].numbers
                                                        : encodings[encoding].bytes;
    if (!take ||
        ((take == delta_prefix || take == delta_length) && d->in->leaf->type != PP_PARQUET_BYTE_ARRAY))
        return pp_parquet_fail(&d->status, PP_E_UNSUPPORTED, "has an encoding that is not read for its type");
    if (width)
        page->number = malloc((size_t)d->entries * width + 1);
    else
        page->span = malloc(((size_t)d->entries + 1) * sizeof(*page->span));
    if (!page->number && !page->span)
        return NO_MEMORY(&d->status);
    return take(d);
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

static void free_dictionary(struct pp_page *base)
{
    struct pp_parquet_dictionary *d = (struct pp_parquet_dictionary *)base;
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
    free_dictionary((struct pp_page *)p->dictionary);
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
    if (!why)
        why = take_values(&d);
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
    d->base.free = free_dictionary;
    atomic_init(&d->users, 1);
    const char *why = check_head(in, status);
    if (!why && h->encoding != PLAIN && h->encoding != PLAIN_DICTIONARY)
        why = pp_parquet_fail(status, PP_E_UNSUPPORTED, "is a dictionary in an encoding that is not read");
    if (!why)
        why = unpack(in, 0, &d->raw, status);
    d->n = h->values;
    d->bytes = h->unpacked;
    if (!why && in->leaf->type == PP_PARQUET_BOOLEAN)
        why = pp_parquet_fail(status, PP_E_UNSUPPORTED, "is a dictionary of booleans, which is not read");
    else if (!why && in->column->width) /* numbers */
        why = d->n <= d->bytes / in->leaf->width ? NULL : TOO_SHORT(status);
    else if (!why && !(d->span = malloc(((size_t)d->n + 1) * sizeof(*d->span))))
        why = NO_MEMORY(status);
    else if (!why && find_spans(d->raw, d->raw, d->bytes, in->leaf, d->n, d->span) != 0)
        why = TOO_SHORT(status);
    if (why) {
        free_dictionary(&d->base);
        return why;
    }
    d->base.bytes = sizeof(*d) + d->bytes + (d->span ? (uint64_t)d->n * sizeof(*d->span) : 0);
    *out = d;
    return NULL;
}
