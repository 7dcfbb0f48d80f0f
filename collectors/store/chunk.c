#include "collectors/store/chunk.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#define VERSION 2
#define FLAG_ZSTD 1
#define HEADER_BYTES 12
#define BLOCK 128u
#define VARINT_MAX 10
#define SLACK 8 /* a value is written and read as eight bytes, of which its block's width counts */
#define ZSTD_WORTH_TRYING 256

enum predictor {
    PLAIN,         /* the value */
    AFTER_LAST,    /* zigzag(start - (start + dur of the span before)) */
    DELTA,         /* zigzag(value - value before), in the field's width so that "none" (all ones) is next to 0 */
    DELTA_IN_PHASE /* zigzag(value - value of the last span of the same phase) */
};

enum form { FORM_SAME = 0, FORM_BLOCKS = 1 };

/* X(field, type, predictor). Phase and duration come before what is predicted from them. */
#define COLUMN_MAP(X)                          \
    X(phase, uint8_t, PLAIN)                   \
    X(dur_ns, uint64_t, PLAIN)                 \
    X(start_ns, uint64_t, AFTER_LAST)          \
    X(batch, uint32_t, DELTA)                  \
    X(sample, uint64_t, DELTA)                 \
    X(epoch, uint16_t, DELTA)                  \
    X(bytes, uint64_t, DELTA_IN_PHASE)         \
    X(cpu_ns, uint64_t, PLAIN)                 \
    X(run_delay_ns, uint64_t, PLAIN)           \
    X(cache_hit_kib, uint32_t, DELTA_IN_PHASE) \
    X(name, uint16_t, PLAIN)                   \
    X(flags, uint16_t, DELTA_IN_PHASE)

#define COUNT_COLUMN(field, type, predictor) +1
#define COLUMNS (0 COLUMN_MAP(COUNT_COLUMN))
#define COLUMN_BYTES_MAX(n) (1 + VARINT_MAX + ((n) + BLOCK - 1) / BLOCK + 8 * (size_t)(n))
#define COLUMNS_BYTES_MAX(n) (COLUMNS * COLUMN_BYTES_MAX(n))

struct pp_chunk_codec {
    struct pp_span *spans; /* decoded */
    uint8_t *raw, *body;   /* columns; header and columns */
    size_t spans_cap, raw_cap, body_cap;
    ZSTD_CCtx *cctx;
    ZSTD_DCtx *dctx;
};

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

/* Room for need items, what was there is lost. With a half to spare: chunks of about one size must not move the buffer again and again, for
 * fresh pages interrupt every thread of the process (a page fault that changes a mapping waits until the other cores have dropped it).
 * pointer_to is the address of a pointer of any object type, hence the copies. */
static int reserve(void *pointer_to, size_t *cap, size_t need, size_t item)
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

static inline uint64_t zigzag(uint64_t delta)
{
    return (delta << 1) ^ (uint64_t)((int64_t)delta >> 63);
}

static inline uint64_t unzigzag(uint64_t v)
{
    return (v >> 1) ^ (0 - (v & 1));
}

static inline uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

/* NULL at the end of the bytes or for a value over 64 bits. */
static inline const uint8_t *get_varint(const uint8_t *p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
        uint8_t b = *p++;
        if (shift == 63 && b > 1)
            return NULL;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *out = v;
            return p;
        }
    }
    return NULL;
}

/* ---- encoding ---- */

static inline uint64_t load8(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* n values of which any has every bit that one of them has. */
static inline uint8_t *put_block(uint8_t *p, const uint64_t *v, size_t n, uint64_t any)
{
    unsigned width = any ? (71u - (unsigned)__builtin_clzll(any)) / 8 : 0;
    *p++ = (uint8_t)width;
    if (width == 1) {
        for (size_t i = 0; i < n; i++)
            p[i] = (uint8_t)v[i];
        return p + n;
    }
    for (size_t i = 0; width && i < n; i++) {
        memcpy(p, &v[i], sizeof(*v)); /* little-endian; the next value overwrites what is too much */
        p += width;
    }
    return p;
}

/* The same of a field of one byte, in spans that follow one another. */
static inline uint8_t *put_byte_block(uint8_t *p, const uint8_t *field, size_t n)
{
    uint8_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= p[1 + i] = field[i * sizeof(struct pp_span)];
    *p = any != 0;
    return p + 1 + (any ? n : 0);
}

/* What the predictor remembers: values wrap in 64 bits, so what encoding subtracts decoding adds back. */
struct memory {
    uint64_t last, in_phase[256];
};

static inline __attribute__((always_inline)) void start_memory(struct memory *m, enum predictor predictor, uint64_t first)
{
    m->last = first;
    if (predictor == DELTA_IN_PHASE)
        for (size_t i = 0; i < 256; i++)
            m->in_phase[i] = first;
}

/* Differences within a narrow field are taken in its width: -1 and 0 are neighbours. */
#define SIGNED_IN(type, x) ((uint64_t)(sizeof(type) == 8 ? (int64_t)(x) : sizeof(type) == 4 ? (int64_t)(int32_t)(x) : (int64_t)(int16_t)(x)))

/* One function per column, its field, type and predictor known to the compiler. */
#define PUT_COLUMN(field, type, predictor)                                                              \
    static uint8_t *put_##field(uint8_t *p, const struct pp_span *spans, size_t n)                      \
    {                                                                                                   \
        uint64_t v[BLOCK];                                                                              \
        struct memory m;                                                                                \
        *p++ = FORM_BLOCKS;                                                                             \
        p = put_varint(p, spans[0].field);                                                              \
        start_memory(&m, predictor, spans[0].field);                                                    \
        for (size_t from = 0; from < n; from += BLOCK) {                                                \
            size_t count = n - from < BLOCK ? n - from : BLOCK;                                         \
            const struct pp_span *s = spans + from;                                                     \
            uint64_t any = 0;                                                                           \
            if (sizeof(type) == 1) {                                                                    \
                p = put_byte_block(p, (const uint8_t *)&s->field, count);                               \
                continue;                                                                               \
            }                                                                                           \
            for (size_t i = 0; i < count; i++) {                                                        \
                uint64_t x = s[i].field;                                                                \
                if (predictor == PLAIN) {                                                               \
                    v[i] = x;                                                                           \
                } else if (predictor == DELTA_IN_PHASE) {                                               \
                    v[i] = zigzag(SIGNED_IN(type, x - m.in_phase[s[i].phase]));                         \
                    m.in_phase[s[i].phase] = x;                                                         \
                } else {                                                                                \
                    v[i] = zigzag(SIGNED_IN(type, x - m.last));                                         \
                    m.last = predictor == AFTER_LAST ? x + s[i].dur_ns : x;                             \
                }                                                                                       \
                any |= v[i];                                                                            \
            }                                                                                           \
            p = put_block(p, v, count, any);                                                               \
        }                                                                                               \
        return p;                                                                                       \
    }
COLUMN_MAP(PUT_COLUMN)

/* Two words of a span, which the compiler keeps in one register. */
typedef uint64_t words __attribute__((vector_size(16)));
enum { WORDS = sizeof(struct pp_span) / sizeof(words) };

/* One pass tells which columns say the same throughout, as most of a lean span's do. */
void pp_chunk_look(struct pp_chunk_shape *shape, const struct pp_span *spans, size_t from, size_t n)
{
    words first[WORDS], differs[WORDS], word[WORDS];
    uint64_t start = from ? shape->first_start_ns : UINT64_MAX, end = shape->last_end_ns, gaps = shape->gaps;
    uint64_t before = from ? spans[from - 1].start_ns + spans[from - 1].dur_ns : spans[0].start_ns;
    memcpy(first, spans, sizeof(first));
    memcpy(differs, shape->differs, sizeof(differs));
    for (size_t i = from; i < from + n; i++) {
        uint64_t starts = spans[i].start_ns, ends = starts + spans[i].dur_ns;
        memcpy(word, &spans[i], sizeof(word));
#pragma GCC unroll 4 /* else the words stay in memory */
        for (size_t k = 0; k < WORDS; k++)
            differs[k] |= word[k] ^ first[k];
        gaps |= starts ^ before;
        before = ends;
        start = starts < start ? starts : start;
        end = ends > end ? ends : end;
    }
    memcpy(shape->differs, differs, sizeof(differs));
    shape->gaps = gaps;
    shape->first_start_ns = start;
    shape->last_end_ns = end;
}

static uint8_t *put_same(uint8_t *p, uint64_t value)
{
    *p++ = FORM_SAME;
    return put_varint(p, value);
}

/* The starts of laps: what put_start_ns makes of them, blocks of nothing. */
static uint8_t *put_no_gaps(uint8_t *p, uint64_t first_start, size_t n)
{
    size_t blocks = (n + BLOCK - 1) / BLOCK;
    *p++ = FORM_BLOCKS;
    p = put_varint(p, first_start);
    memset(p, 0, blocks);
    return p + blocks;
}

static uint8_t *put_columns(uint8_t *p, const struct pp_span *spans, size_t n, const struct pp_chunk_shape *shape)
{
    struct pp_span differs;
    memcpy(&differs, shape->differs, sizeof(differs));
#define PUT(field, type, predictor)                          \
    if (!differs.field)                                      \
        p = put_same(p, spans[0].field);                     \
    else if (predictor == AFTER_LAST && !shape->gaps)        \
        p = put_no_gaps(p, spans[0].field, n);               \
    else                                                     \
        p = put_##field(p, spans, n);
    COLUMN_MAP(PUT)
#undef PUT
    return p;
}

static void put_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Level 1: the columns are already small, a higher level costs CPU of somebody's training job. Returns 0 where it does not pay. */
static size_t try_zstd(struct pp_chunk_codec *c, size_t raw)
{
    if (raw < ZSTD_WORTH_TRYING || (!c->cctx && !(c->cctx = ZSTD_createCCtx())))
        return 0;
    size_t z = ZSTD_compressCCtx(c->cctx, c->body + HEADER_BYTES, raw - raw / 8, c->raw, raw, 1);
    return ZSTD_isError(z) ? 0 : z;
}

const uint8_t *pp_chunk_encode(struct pp_chunk_codec *c, const struct pp_span *spans, size_t n, int compress, size_t *size)
{
    struct pp_chunk_shape shape = {.last_end_ns = 0};
    if (!n || n > PP_CHUNK_SPANS_MAX)
        return NULL;
    pp_chunk_look(&shape, spans, 0, n);
    return pp_chunk_encode_shaped(c, spans, n, &shape, compress, size);
}

const uint8_t *pp_chunk_encode_shaped(struct pp_chunk_codec *c, const struct pp_span *spans, size_t n, const struct pp_chunk_shape *shape, int compress, size_t *size)
{
    size_t most = COLUMNS_BYTES_MAX(n);
    if (!n || n > PP_CHUNK_SPANS_MAX || !reserve(&c->body, &c->body_cap, HEADER_BYTES + most + SLACK, 1) || (compress && !reserve(&c->raw, &c->raw_cap, most + SLACK, 1)))
        return NULL;
    uint8_t *columns = compress ? c->raw : c->body + HEADER_BYTES;
    size_t raw = (size_t)(put_columns(columns, spans, n, shape) - columns), packed = compress ? try_zstd(c, raw) : 0;
    if (compress && !packed)
        memcpy(c->body + HEADER_BYTES, c->raw, raw);
    c->body[0] = VERSION;
    c->body[1] = packed ? FLAG_ZSTD : 0;
    c->body[2] = c->body[3] = 0;
    put_u32(c->body + 4, (uint32_t)n);
    put_u32(c->body + 8, (uint32_t)raw);
    *size = HEADER_BYTES + (packed ? packed : raw);
    return c->body;
}

/* ---- decoding ---- */

/* The values of one block; NULL when the bytes end before it does. */
static inline const uint8_t *get_block(const uint8_t *p, const uint8_t *end, uint64_t *v, size_t n)
{
    uint8_t padded[BLOCK * 8 + SLACK];
    if (p == end || *p > 8)
        return NULL;
    unsigned width = *p++;
    if ((size_t)(end - p) < width * n)
        return NULL;
    const uint8_t *from = p;
    if ((size_t)(end - p) < width * n + SLACK) { /* near the end of the body: eight bytes at a time would read beyond it */
        memcpy(padded, p, width * n);
        from = padded;
    }
    uint64_t mask = width == 8 ? UINT64_MAX : (1ull << (8 * width)) - 1;
    if (width == 0)
        memset(v, 0, n * sizeof(*v));
    else
        for (size_t i = 0; i < n; i++)
            v[i] = load8(from + i * width) & mask;
    return p + width * n;
}

#define GET_COLUMN(field, type, predictor)                                                              \
    static const uint8_t *get_##field(const uint8_t *p, const uint8_t *end, struct pp_span *spans, size_t n) \
    {                                                                                                   \
        uint64_t v[BLOCK], first;                                                                       \
        struct memory m;                                                                                \
        if (p == end || *p > FORM_BLOCKS)                                                               \
            return NULL;                                                                                \
        int form = *p++;                                                                                \
        p = get_varint(p, end, &first);                                                                 \
        if (!p)                                                                                         \
            return NULL;                                                                                \
        if (form == FORM_SAME) {                                                                        \
            for (size_t i = 0; first && i < n; i++) /* they are zero already */                         \
                spans[i].field = (type)first;                                                           \
            return p;                                                                                   \
        }                                                                                               \
        start_memory(&m, predictor, first);                                                             \
        for (size_t from = 0; from < n; from += BLOCK) {                                                \
            size_t count = n - from < BLOCK ? n - from : BLOCK;                                         \
            struct pp_span *s = spans + from;                                                           \
            p = get_block(p, end, v, count);                                                            \
            if (!p)                                                                                     \
                return NULL;                                                                            \
            for (size_t i = 0; i < count; i++) {                                                        \
                if (predictor == PLAIN) {                                                               \
                    s[i].field = (type)v[i];                                                            \
                } else if (predictor == DELTA_IN_PHASE) {                                               \
                    s[i].field = (type)(m.in_phase[s[i].phase] += unzigzag(v[i]));                      \
                } else {                                                                                \
                    s[i].field = (type)(m.last + unzigzag(v[i]));                                       \
                    m.last = predictor == AFTER_LAST ? s[i].field + s[i].dur_ns : s[i].field;           \
                }                                                                                       \
            }                                                                                           \
        }                                                                                               \
        return p;                                                                                       \
    }
COLUMN_MAP(GET_COLUMN)

static const uint8_t *get_columns(const uint8_t *p, const uint8_t *end, struct pp_span *spans, size_t n)
{
#define GET(field, type, predictor) p = p ? get_##field(p, end, spans, n) : NULL;
    COLUMN_MAP(GET)
#undef GET
    return p;
}

/* The columns of a body, unpacked if they are packed; NULL when sizes do not agree. */
static const uint8_t *open_columns(struct pp_chunk_codec *c, const uint8_t *body, size_t size, size_t raw)
{
    if (!(body[1] & FLAG_ZSTD))
        return size - HEADER_BYTES == raw ? body + HEADER_BYTES : NULL;
    if (!reserve(&c->raw, &c->raw_cap, raw, 1) || (!c->dctx && !(c->dctx = ZSTD_createDCtx())))
        return NULL;
    return ZSTD_decompressDCtx(c->dctx, c->raw, raw, body + HEADER_BYTES, size - HEADER_BYTES) == raw ? c->raw : NULL;
}

const struct pp_span *pp_chunk_decode(struct pp_chunk_codec *c, const uint8_t *body, size_t size, size_t *n_out)
{
    *n_out = 0;
    if (size < HEADER_BYTES || body[0] != VERSION || (body[1] & ~FLAG_ZSTD) || body[2] || body[3])
        return NULL;
    size_t n = get_u32(body + 4), raw = get_u32(body + 8);
    if (!n || n > PP_CHUNK_SPANS_MAX || raw > COLUMNS_BYTES_MAX(n))
        return NULL;
    const uint8_t *p = open_columns(c, body, size, raw);
    if (!p || !reserve(&c->spans, &c->spans_cap, n, sizeof(*c->spans)))
        return NULL;
    const uint8_t *end = p + raw;
    memset(c->spans, 0, n * sizeof(*c->spans));
    if (get_columns(p, end, c->spans, n) != end)
        return NULL;
    *n_out = n;
    return c->spans;
}

uint64_t pp_chunk_checksum(uint32_t thread, uint64_t seq0, uint64_t n, const uint8_t *body, size_t size)
{
    uint64_t place[3] = {thread, seq0, n};
    return XXH3_64bits_withSeed(body, size, XXH3_64bits(place, sizeof(place)));
}
