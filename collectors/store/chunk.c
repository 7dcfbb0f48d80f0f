#include "collectors/store/chunk_impl.h"

#include <stdlib.h>
#include <xxhash.h>

#define ZSTD_WORTH_TRYING 256

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

/* With a half to spare: chunks of about one size must not move the buffer again and again, for fresh pages interrupt every thread of the process
 * (a page fault that changes a mapping waits until the other cores have dropped it). The pointer may be of any object type, hence the copies. */
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

static inline uint64_t zigzag(uint64_t delta)
{
    return (delta << 1) ^ (uint64_t)((int64_t)delta >> 63);
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

/* ---- encoding ---- */

/* n values of which any has every bit that one of them has. */
static inline uint8_t *put_block(uint8_t *p, const uint64_t *v, size_t n, uint64_t any)
{
    unsigned width = any ? (71u - (unsigned)__builtin_clzll(any)) / 8 : 0;
    *p++ = (uint8_t)width;
    if (width == 1) {
#pragma GCC unroll 4
        for (size_t i = 0; i < n; i++)
            p[i] = (uint8_t)v[i];
        return p + n;
    }
    if (!width)
        return p;
#pragma GCC unroll 4
    for (size_t i = 0; i < n; i++) {
        memcpy(p, &v[i], sizeof(*v)); /* little-endian; the next value overwrites what is too much */
        p += width;
    }
    return p;
}

/* The same of a field of one byte, in spans that follow one another. */
static inline uint8_t *put_byte_block(uint8_t *p, const uint8_t *field, size_t n)
{
    uint8_t any = 0;
#pragma GCC unroll 4
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
#define PUT_COLUMN(field, type, predictor, column)                                                      \
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
            if (predictor == DELTA && s[count - 1].field == m.last) {                                   \
                _Pragma("GCC unroll 4")                                                                 \
                for (size_t i = 0; i < count; i++)                                                      \
                    any |= s[i].field ^ m.last;                                                         \
                if (!any) { /* as before, to the end of the block */                                    \
                    *p++ = 0;                                                                           \
                    continue;                                                                           \
                }                                                                                       \
                any = 0;                                                                                \
            }                                                                                           \
            _Pragma("GCC unroll 4")                                                                     \
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

/* Two words of a span, which the compiler keeps in one register; there are four. */
typedef uint64_t pair __attribute__((vector_size(16)));

static inline pair pair_of(const void *words, size_t i)
{
    pair p;
    memcpy(&p, (const char *)words + i * sizeof(p), sizeof(p));
    return p;
}

static inline uint64_t end_of(const struct pp_span *s)
{
    return s->start_ns + s->dur_ns;
}

static void extend(struct pp_chunk_shape *shape, uint64_t start, uint64_t end)
{
    shape->first_start_ns = start < shape->first_start_ns ? start : shape->first_start_ns;
    shape->last_end_ns = end > shape->last_end_ns ? end : shape->last_end_ns;
}

/* One pass tells which columns say the same throughout, as most of a lean span's do. */
void pp_chunk_look(struct pp_chunk_shape *shape, const struct pp_span *spans, size_t from, size_t n)
{
    const pair first0 = pair_of(spans, 0), first1 = pair_of(spans, 1), first2 = pair_of(spans, 2), first3 = pair_of(spans, 3);
    pair differs0 = {0}, differs1 = {0}, differs2 = {0}, differs3 = {0};
    const struct pp_span *begin = spans + from, *stop = begin + n;
    uint64_t before = begin->start_ns, gaps = 0;
    if (from)
        shape->gaps |= before ^ end_of(begin - 1);
    else
        shape->first_start_ns = UINT64_MAX;
    for (const struct pp_span *s = begin; s < stop; s++) {
        differs0 |= pair_of(s, 0) ^ first0;
        differs1 |= pair_of(s, 1) ^ first1;
        differs2 |= pair_of(s, 2) ^ first2;
        differs3 |= pair_of(s, 3) ^ first3;
        gaps |= s->start_ns ^ before;
        before = end_of(s);
    }
    const pair differs[] = {differs0, differs1, differs2, differs3};
    for (size_t i = 0; i < sizeof(shape->differs) / sizeof(shape->differs[0]); i++)
        shape->differs[i] |= differs[i / 2][i % 2];
    shape->gaps |= gaps;
    extend(shape, begin->start_ns, before);
    for (const struct pp_span *s = begin; gaps && s < stop; s++) /* without gaps the first and the last have said it all */
        extend(shape, s->start_ns, end_of(s));
}

int pp_chunk_lean(const struct pp_chunk_shape *shape, const struct pp_span *spans)
{
    struct pp_span differs;
    memcpy(&differs, shape->differs, sizeof(differs));
    return !(differs.bytes | differs.cpu_ns | differs.run_delay_ns | differs.cache_hit_kib | differs.flags)
        && !(spans[0].bytes | spans[0].cpu_ns | spans[0].run_delay_ns | spans[0].cache_hit_kib | spans[0].flags);
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
#define PUT(field, type, predictor, column)                  \
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
    if (!n || n > PP_CHUNK_SPANS_MAX || !pp_chunk_reserve(&c->body, &c->body_cap, HEADER_BYTES + most + SLACK, 1) || (compress && !pp_chunk_reserve(&c->raw, &c->raw_cap, most + SLACK, 1)))
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

uint64_t pp_chunk_checksum(uint32_t thread, uint64_t seq0, uint64_t n, const uint8_t *body, size_t size)
{
    uint64_t place[3] = {thread, seq0, n};
    return XXH3_64bits_withSeed(body, size, XXH3_64bits(place, sizeof(place)));
}
