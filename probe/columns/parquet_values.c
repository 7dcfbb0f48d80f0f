#include "probe/base/bytes.h"
#include "probe/columns/parquet_page.h"

enum { BATCH = 1024 };

#define TOO_SHORT(status) pp_parquet_fail(status, PP_E_CORRUPT, "is shorter than its values")
#define NO_MEMORY(status) pp_parquet_fail(status, PP_E_NO_MEMORY, "needs more memory than there is")

/* ---- bytes ---- */

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

static const char *plain_bytes(const struct pp_parquet_values *v, struct pp_parquet_page *p,
                               pp_status *status)
{
    p->bytes = p->raw;
    return find_spans(p->raw, v->at, v->left, v->body->leaf, v->n, p->span) == 0 ? NULL : TOO_SHORT(status);
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
static const char *delta_length(const struct pp_parquet_values *v, struct pp_parquet_page *p,
                                pp_status *status)
{
    const uint8_t *at = v->at;
    size_t left = v->left;
    const char *why = NULL;
    int64_t *size = malloc(((size_t)v->n + 1) * sizeof(*size));
    if (!size)
        return NO_MEMORY(status);
    if (take_sizes(&at, &left, size, v->n) != 0)
        why = TOO_SHORT(status);
    for (uint32_t i = 0; !why && i < v->n; i++) {
        if ((uint64_t)size[i] > left) {
            why = TOO_SHORT(status);
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
static const char *delta_prefix(const struct pp_parquet_values *v, struct pp_parquet_page *p,
                                pp_status *status)
{
    const uint8_t *at = v->at;
    size_t left = v->left;
    uint64_t sum = 0, total = 0;
    const char *why = NULL;
    uint8_t *joined = NULL;
    int64_t *shared = malloc(((size_t)v->n * 2 + 1) * sizeof(*shared));
    if (!shared)
        return NO_MEMORY(status);
    int64_t *own = shared + v->n;
    if (take_sizes(&at, &left, shared, v->n) != 0 || take_sizes(&at, &left, own, v->n) != 0)
        why = TOO_SHORT(status);
    for (uint32_t i = 0; !why && i < v->n; i++)
        sum += (uint64_t)own[i];
    if (!why && sum > left)
        why = TOO_SHORT(status);
    for (uint32_t i = 0; !why && i < v->n; i++) {
        total += (uint64_t)shared[i] + (uint64_t)own[i];
        if (shared[i] > (i ? shared[i - 1] + own[i - 1] : 0))
            why = pp_parquet_fail(status, PP_E_CORRUPT, "shares more bytes with a value than it has");
        else if (total > PP_PARQUET_BODY)
            why = pp_parquet_fail(status, PP_E_UNSUPPORTED,
                                  "unpacks to more than 512 MiB, which is the most that is read");
    }
    if (!why && !(joined = malloc((size_t)total + 1)))
        why = NO_MEMORY(status);
    uint8_t *to = joined;
    for (uint32_t i = 0; !why && i < v->n; i++) {
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

/* ---- numbers ---- */

static const char *plain_numbers(const struct pp_parquet_values *v, struct pp_parquet_page *p,
                                 pp_status *status)
{
    unsigned stored = v->body->leaf->width, width = v->body->column->width;
    if (stored == 0) { /* BOOLEAN */
        if (v->n > (uint64_t)v->left * 8)
            return TOO_SHORT(status);
        for (uint32_t i = 0; i < v->n; i++)
            p->number[i] = v->at[i / 8] >> i % 8 & 1;
        return NULL;
    }
    if (v->n > v->left / stored)
        return TOO_SHORT(status);
    if (stored == width && v->n)
        memcpy(p->number, v->at, (size_t)v->n * width);
    for (uint32_t i = 0; stored != width && i < v->n; i++)
        memcpy(p->number + (size_t)i * width, v->at + (size_t)i * stored, width);
    return NULL;
}

/* RLE of booleans: u32 size, then runs of one bit. */
static const char *run_numbers(const struct pp_parquet_values *v, struct pp_parquet_page *p,
                               pp_status *status)
{
    uint32_t some[BATCH];
    if (v->body->leaf->type != PP_PARQUET_BOOLEAN)
        return pp_parquet_fail(status, PP_E_UNSUPPORTED, "has an encoding that is not read for its type");
    if (v->left < 4 || pp_le32(v->at) > v->left - 4)
        return TOO_SHORT(status);
    struct pp_runs r = {.at = v->at + 4, .end = v->at + 4 + pp_le32(v->at), .width = 1};
    for (uint32_t i = 0; i < v->n;) {
        uint32_t now = v->n - i < BATCH ? v->n - i : BATCH;
        if (pp_runs_take(&r, some, now) != 0)
            return TOO_SHORT(status);
        for (uint32_t k = 0; k < now; k++)
            p->number[i++] = (uint8_t)some[k];
    }
    return NULL;
}

static const char *delta_numbers(const struct pp_parquet_values *v, struct pp_parquet_page *p,
                                 pp_status *status)
{
    unsigned width = v->body->column->width;
    size_t used;
    if (v->body->leaf->type != PP_PARQUET_INT32 && v->body->leaf->type != PP_PARQUET_INT64)
        return pp_parquet_fail(status, PP_E_UNSUPPORTED, "has an encoding that is not read for its type");
    int64_t *number = malloc(((size_t)v->n + 1) * sizeof(*number));
    if (!number)
        return NO_MEMORY(status);
    int damaged = pp_delta_take(v->at, v->left, number, v->n, &used) != 0;
    /* From the stored width to that of the column: the lower bytes, as both are little-endian. */
    for (uint32_t i = 0; !damaged && i < v->n; i++)
        memcpy(p->number + (size_t)i * width, &number[i], width);
    free(number);
    return damaged ? TOO_SHORT(status) : NULL;
}

/* BYTE_STREAM_SPLIT: the first bytes of all numbers, then the second ones, ... */
static const char *split_numbers(const struct pp_parquet_values *v, struct pp_parquet_page *p,
                                 pp_status *status)
{
    unsigned stored = v->body->leaf->width, width = v->body->column->width;
    if (stored == 0)
        return pp_parquet_fail(status, PP_E_UNSUPPORTED, "has an encoding that is not read for its type");
    size_t each = v->left / stored;
    if (each < v->n)
        return TOO_SHORT(status);
    for (uint32_t i = 0; i < v->n; i++)
        for (unsigned k = 0; k < width; k++)
            p->number[(size_t)i * width + k] = v->at[k * each + i];
    return NULL;
}

/* ---- by dictionary ---- */

/* One byte with the width, then runs of numbers in the dictionary. */
static const char *dictionary_values(const struct pp_parquet_values *v, struct pp_parquet_page *p,
                                     pp_status *status)
{
    uint32_t some[BATCH];
    struct pp_parquet_dictionary *d = v->body->dictionary;
    unsigned stored = v->body->leaf->width, width = v->body->column->width;
    if (!d)
        return pp_parquet_fail(status, PP_E_CORRUPT, "needs a dictionary, and its column has none");
    if (v->n == 0)
        return NULL;
    if (v->left < 1 || v->at[0] > 32)
        return TOO_SHORT(status);
    struct pp_runs r = {.at = v->at + 1, .end = v->at + v->left, .width = v->at[0]};
    for (uint32_t i = 0; i < v->n;) {
        uint32_t now = v->n - i < BATCH ? v->n - i : BATCH;
        if (pp_runs_take(&r, some, now) != 0)
            return TOO_SHORT(status);
        for (uint32_t k = 0; k < now; k++, i++) {
            if (some[k] >= d->n)
                return pp_parquet_fail(status, PP_E_CORRUPT,
                                       "names values that its dictionary does not have");
            if (p->span)
                p->span[i] = d->span[some[k]];
            else
                memcpy(p->number + (size_t)i * width, d->raw + (size_t)some[k] * stored, width);
        }
    }
    if (p->span) { /* spans are of the dictionary, which lives as long as the page */
        p->dictionary = d;
        atomic_fetch_add_explicit(&d->users, 1, memory_order_relaxed);
        p->bytes = d->raw;
    }
    return NULL;
}

const char *pp_parquet_dictionary_index(const struct pp_parquet_body *in, struct pp_parquet_dictionary *d,
                                        pp_status *status)
{
    if (in->leaf->type == PP_PARQUET_BOOLEAN)
        return pp_parquet_fail(status, PP_E_UNSUPPORTED, "is a dictionary of booleans, which is not read");
    if (in->column->width) /* numbers */
        return d->n <= d->bytes / in->leaf->width ? NULL : TOO_SHORT(status);
    d->span = malloc(((size_t)d->n + 1) * sizeof(*d->span));
    if (!d->span)
        return NO_MEMORY(status);
    return find_spans(d->raw, d->raw, d->bytes, in->leaf, d->n, d->span) == 0 ? NULL : TOO_SHORT(status);
}

/* ---- encodings ---- */

typedef const char *taker(const struct pp_parquet_values *v, struct pp_parquet_page *p, pp_status *status);

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

const char *pp_parquet_values_take(const struct pp_parquet_values *v, struct pp_parquet_page *page,
                                   pp_status *status)
{
    unsigned width = v->body->column->width;
    int encoding = v->body->head->encoding;
    taker *take = encoding < 0 || encoding >= ENCODINGS ? NULL
                  : width                               ? encodings[encoding].numbers
                                                        : encodings[encoding].bytes;
    if (!take || (take == delta_prefix && v->body->leaf->type != PP_PARQUET_BYTE_ARRAY) ||
        (take == delta_length && v->body->leaf->type != PP_PARQUET_BYTE_ARRAY))
        return pp_parquet_fail(status, PP_E_UNSUPPORTED, "has an encoding that is not read for its type");
    if (width)
        page->number = malloc((size_t)v->room * width + 1);
    else
        page->span = malloc(((size_t)v->room + 1) * sizeof(*page->span));
    if (!page->number && !page->span)
        return NO_MEMORY(status);
    return take(v, page, status);
}
