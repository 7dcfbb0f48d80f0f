/* Decoding a chunk: first every column is found and its format checked, block by block; then a block of all
 * wanted columns is put into its spans before the next, so that the spans stay in the nearest cache
 * meanwhile. */
#include "collectors/store/chunk_impl.h"

#include <xxhash.h>

struct pp_chunk_codec *pp_chunk_codec_new(void)
{
    return calloc(1, sizeof(struct pp_chunk_codec));
}

void pp_chunk_codec_free(struct pp_chunk_codec *c)
{
    if (!c)
        return;
    ZSTD_freeCCtx(c->cctx);
    ZSTD_freeDCtx(c->dctx);
    free(c->spans);
    free(c->raw);
    free(c->body);
    free(c);
}

/* With a half to spare: chunks of about one size must not move the buffer again and again, for fresh pages
 * interrupt every thread of the process (a page fault that changes a mapping waits until the other cores have
 * dropped it). The pointer may be of any object type, hence the copies. */
int pp_chunk_reserve(void *pointer_to, size_t *cap, size_t need, size_t item)
{
    void *p;
    size_t ample = need + need / 2;
    if (need <= *cap)
        return 1;
    memcpy(&p, pointer_to, sizeof(p));
    free(p);
    p = malloc(ample * item);
    memcpy(pointer_to, &p, sizeof(p));
    *cap = p ? ample : 0;
    return p != NULL;
}

uint64_t pp_chunk_checksum(uint32_t thread, uint64_t seq0, uint64_t n, const uint8_t *body, size_t size)
{
    uint64_t place[3] = {thread, seq0, n};
    return XXH3_64bits_withSeed(body, size, XXH3_64bits(place, sizeof(place)));
}

static const struct {
    unsigned bit;
    enum predictor predictor;
} kinds[COLUMNS] = {
#define KIND(field, type, predictor, bit) {bit, predictor},
    COLUMN_MAP(KIND)
#undef KIND
};

static inline uint64_t unzigzag(uint64_t v)
{
    return (v >> 1) ^ (0 - (v & 1));
}

/* ---- finding the columns ---- */

/* The bytes of a block of n values that begins with this one; SIZE_MAX: no block does. */
static size_t block_bytes(uint8_t first, size_t n)
{
    if (first <= 8)
        return 1 + first * n;
    size_t planes = first - PALETTE;
    return first > PALETTE && planes <= PALETTE_PLANES_MAX && n == BLOCK
               ? 1 + (1u << planes) + planes * BLOCK / 8
               : SIZE_MAX;
}

/* All columns of n values, between p and end. 0: the bytes do not follow the format. */
static int find_columns(struct pp_chunk_column columns[COLUMNS], const uint8_t *p, const uint8_t *end,
                        size_t n)
{
    for (struct pp_chunk_column *c = columns; c < columns + COLUMNS && p; c++) {
        if (p == end || *p > FORM_BLOCKS)
            return 0;
        int form = *p++;
        if (!pp_varint_get(&p, end, &c->last))
            return 0;
        c->at = form == FORM_BLOCKS ? p : NULL;
        for (size_t left = n, count; p && c->at && left; left -= count) {
            count = left < BLOCK ? left : BLOCK;
            size_t bytes = p < end ? block_bytes(*p, count) : SIZE_MAX;
            p = bytes <= (size_t)(end - p) ? p + bytes : NULL;
        }
    }
    return p == end;
}

/* ---- their values ---- */

/* Of a block of planes; returns what follows it. */
static const uint8_t *get_palette(const uint8_t *p, uint64_t v[BLOCK], size_t planes)
{
    const uint8_t *palette = p, *plane = p + (1u << planes);
    for (size_t i = 0; i < BLOCK / 8; i++) {
        uint64_t places = 0;
        for (size_t k = 0; k < planes; k++) {
            /* Eight bits as eight bytes of 0 or 1: byte i of `each` has bit i of them, or nothing. */
            uint64_t each = plane[k * BLOCK / 8 + i] * 0x0101010101010101u & 0x8040201008040201u;
            places |= ((each + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u) << k;
        }
        for (size_t j = 0; j < 8; j++)
            v[i * 8 + j] = palette[places >> 8 * j & 0xff];
    }
    return plane + planes * BLOCK / 8;
}

/* Of one block, which was found whole; returns what follows it. */
static inline const uint8_t *get_values(const uint8_t *p, const uint8_t *end, uint64_t v[BLOCK], size_t n)
{
    uint8_t padded[BLOCK * 8 + SLACK];
    size_t width = *p++;
    const uint8_t *from = p;
    if (width > PALETTE)
        return get_palette(p, v, width - PALETTE);
    if ((size_t)(end - p) <
        width * n + SLACK) { /* near the end of the body: eight bytes at a time would read beyond it */
        memcpy(padded, p, width * n);
        from = padded;
    }
    uint64_t mask = width == 8 ? UINT64_MAX : (1ull << (8 * width)) - 1;
    if (width == 0)
        memset(v, 0, n * sizeof(*v));
    else
        for (size_t i = 0; i < n; i++) {
            memcpy(&v[i], from + i * width, sizeof(v[i]));
            v[i] &= mask;
        }
    return p + width * n;
}

/* One function per column, its field, type and predictor known to the compiler: the next n values into the
 * fields of n spans that are zero. */
#define GET_COLUMN(field, type, predictor, bit) \
    static void get_##field(struct pp_chunk_column *c, const uint8_t *end, struct pp_span *s, size_t n) \
    { \
        uint64_t v[BLOCK], last = c->last; \
        if (!c->at) { \
            for (size_t i = 0; last && i < n; i++) \
                s[i].field = (type)last; \
            return; \
        } \
        c->at = get_values(c->at, end, v, n); \
        for (size_t i = 0; i < n; i++) { \
            if (predictor == PLAIN) { \
                s[i].field = (type)v[i]; \
            } else if (predictor == DELTA_IN_PHASE) { \
                s[i].field = (type)(c->in_phase[s[i].phase] += unzigzag(v[i])); \
            } else { \
                s[i].field = (type)(last + unzigzag(v[i])); \
                last = predictor == AFTER_LAST ? s[i].field + s[i].dur_ns : s[i].field; \
            } \
        } \
        c->last = last; \
    }
COLUMN_MAP(GET_COLUMN)

/* ---- the body ---- */

/* The number of spans; 0: not a body, or no memory to unpack it. */
static size_t open_body(struct pp_chunk_codec *c, const uint8_t *body, size_t size, unsigned wanted)
{
    c->left = 0;
    if (size < HEADER_BYTES || body[0] < VERSION_MIN || body[0] > VERSION || (body[1] & ~FLAG_ZSTD) ||
        body[2] || body[3])
        return 0;
    size_t n = pp_le32(body + 4), raw = pp_le32(body + 8), packed = size - HEADER_BYTES;
    const uint8_t *p = body + HEADER_BYTES;
    if (!n || n > PP_CHUNK_SPANS_MAX || raw > COLUMNS_BYTES_MAX(n))
        return 0;
    if (body[1] & FLAG_ZSTD) {
        if (!pp_chunk_reserve(&c->raw, &c->raw_cap, raw, 1) || (!c->dctx && !(c->dctx = ZSTD_createDCtx())) ||
            ZSTD_decompressDCtx(c->dctx, c->raw, raw, p, packed) != raw)
            return 0;
        p = c->raw;
    } else if (packed != raw) {
        return 0;
    }
    if (!find_columns(c->column, p, p + raw, n))
        return 0;
    c->columns_end = p + raw;
    c->left = n;

    /* With the columns that wanted ones are predicted from. */
    c->wanted = wanted;
    for (size_t i = 0; i < COLUMNS; i++)
        if (wanted & kinds[i].bit)
            c->wanted |= kinds[i].predictor == AFTER_LAST       ? PP_COLUMN_DUR
                         : kinds[i].predictor == DELTA_IN_PHASE ? PP_COLUMN_PHASE
                                                                : 0u;
    for (size_t i = 0; i < COLUMNS; i++)
        if (kinds[i].predictor == DELTA_IN_PHASE && c->column[i].at && (c->wanted & kinds[i].bit))
            for (size_t phase = 0; phase < 256; phase++)
                c->column[i].in_phase[phase] = c->column[i].last;
    return n;
}

/* The next n spans of the open chunk; NULL without memory. */
static const struct pp_span *next_spans(struct pp_chunk_codec *c, size_t n)
{
    if (!pp_chunk_reserve(&c->spans, &c->spans_cap, n, sizeof(*c->spans)))
        return NULL;
    for (size_t from = 0; from < n; from += BLOCK) {
        size_t count = n - from < BLOCK ? n - from : BLOCK;
        struct pp_chunk_column *column = c->column;
        memset(c->spans + from, 0, count * sizeof(*c->spans));
#define GET(field, type, predictor, bit) \
    if (c->wanted & bit) \
        get_##field(column, c->columns_end, c->spans + from, count); \
    column++;
        COLUMN_MAP(GET)
#undef GET
    }
    c->left -= n;
    return c->spans;
}

size_t pp_chunk_open(struct pp_chunk_codec *c, const uint8_t *body, size_t size, unsigned wanted)
{
    size_t n = open_body(c, body, size, wanted);
    return n && pp_chunk_reserve(&c->spans, &c->spans_cap, n < PP_CHUNK_PIECE ? n : PP_CHUNK_PIECE,
                                 sizeof(*c->spans))
               ? n
               : 0;
}

const struct pp_span *pp_chunk_next(struct pp_chunk_codec *c, size_t *n)
{
    *n = c->left < PP_CHUNK_PIECE ? c->left : PP_CHUNK_PIECE;
    return *n ? next_spans(c, *n) : NULL;
}

const struct pp_span *pp_chunk_decode(struct pp_chunk_codec *c, const uint8_t *body, size_t size, size_t *n)
{
    *n = open_body(c, body, size, PP_COLUMNS_ALL);
    const struct pp_span *spans = *n ? next_spans(c, *n) : NULL;
    if (!spans)
        *n = 0;
    return spans;
}
