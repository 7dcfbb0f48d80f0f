/* Encoding a chunk block by block, while the spans of a block are in the nearest cache: each column grows in
 * a buffer of its own until the chunk is complete. */
#include "collectors/store/chunk_impl.h"

#include "probe/base/array.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define PHASES 256u
#define BLOCK_BYTES_MAX (1 + 8 * BLOCK + SLACK)

/* Without bytes while every span has the value of the first. */
struct column {
    uint8_t *bytes; /* blocks, once one of them varies */
    size_t size, cap;
    uint64_t first;
    uint64_t *in_phase; /* DELTA_IN_PHASE, once the column has bytes: the last value of each phase */
};

struct pp_chunk_builder {
    struct pp_chunk_extent extent;
    struct pp_span before; /* the last one added */
    struct column column[COLUMNS];
};

struct pp_chunk_builder *pp_chunk_builder_new(void)
{
    return calloc(1, sizeof(struct pp_chunk_builder));
}

void pp_chunk_builder_free(struct pp_chunk_builder *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < COLUMNS; i++) {
        free(b->column[i].bytes);
        free(b->column[i].in_phase);
    }
    free(b);
}

void pp_chunk_builder_drop(struct pp_chunk_builder *b)
{
    b->extent.spans = 0;
    for (size_t i = 0; i < COLUMNS; i++)
        b->column[i].size = 0;
}

const struct pp_chunk_extent *pp_chunk_builder_extent(const struct pp_chunk_builder *b)
{
    return &b->extent;
}

/* ---- what varies in a block ---- */

/* Two words of a span, which the compiler keeps in one register; there are four. */
typedef uint64_t pair __attribute__((vector_size(16)));

static inline pair pair_of(const void *words, size_t i)
{
    pair p;
    memcpy(&p, (const char *)words + i * sizeof(p), sizeof(p));
    return p;
}

/* One pass tells which columns go on as before, as most of a lean span's do. */
void pp_chunk_look(const struct pp_chunk_builder *b, struct pp_chunk_shape *shape,
                   const struct pp_span *spans, size_t from, size_t n)
{
    const struct pp_span *before = from              ? spans + from - 1
                                   : b->extent.spans ? &b->before
                                                     : spans,
                         *begin = spans + from, *stop = begin + n;
    const pair before0 = pair_of(before, 0), before1 = pair_of(before, 1), before2 = pair_of(before, 2),
               before3 = pair_of(before, 3);
    pair differs0 = {0}, differs1 = {0}, differs2 = {0}, differs3 = {0};
    uint64_t end = before == begin ? begin->start_ns : (before->start_ns + before->dur_ns), gaps = 0;
    for (const struct pp_span *s = begin; s < stop; s++) {
        differs0 |= pair_of(s, 0) ^ before0;
        differs1 |= pair_of(s, 1) ^ before1;
        differs2 |= pair_of(s, 2) ^ before2;
        differs3 |= pair_of(s, 3) ^ before3;
        gaps |= s->start_ns ^ end;
        end = s->start_ns + s->dur_ns;
    }
    const pair differs[] = {differs0, differs1, differs2, differs3};
    for (size_t i = 0; i < sizeof(shape->differs) / sizeof(shape->differs[0]); i++)
        shape->differs[i] |= differs[i / 2][i % 2];
    shape->gaps |= gaps;
}

/* ---- blocks ---- */

static inline uint64_t zigzag(uint64_t delta)
{
    return (delta << 1) ^ (uint64_t)((int64_t)delta >> 63);
}

static inline unsigned width_of(uint64_t any)
{
    return any ? (71u - (unsigned)__builtin_clzll(any)) / 8 : 0;
}

/* n values, stride bytes apart, of which any has every bit that one of them has. */
static inline uint8_t *put_values(uint8_t *p, const uint8_t *v, size_t stride, size_t n, uint64_t any)
{
    unsigned width = width_of(any);
    *p++ = (uint8_t)width;
    if (width == 1) { /* a value's first byte: little-endian */
#pragma GCC unroll 4
        for (size_t i = 0; i < n; i++)
            p[i] = v[i * stride];
        return p + n;
    }
    if (!width)
        return p;
#pragma GCC unroll 4
    for (size_t i = 0; i < n; i++) {
        memcpy(p, v + i * stride, 8); /* the next value overwrites what is too much */
        p += width;
    }
    return p;
}

/* A bit for each of 64 bytes, whether it is that value. */
static inline uint64_t which_are(const uint8_t bytes[64], uint8_t value)
{
    uint64_t is = 0;
#ifdef __SSE2__
    for (unsigned i = 0; i < 4; i++) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(bytes + i * 16));
        is |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8((char)value))) << i * 16;
    }
#else
    for (unsigned i = 0; i < 64; i++)
        is |= (uint64_t)(bytes[i] == value) << i;
#endif
    return is;
}

/* A whole block of few different values of a byte as a palette and the bits of each value's place in it.
 * NULL: they are too many. */
static uint8_t *put_palette(uint8_t *p, const uint8_t values[BLOCK])
{
    uint8_t palette[PALETTE_MAX];
    uint64_t left[BLOCK / 64] = {UINT64_MAX, UINT64_MAX}, plane[PALETTE_PLANES_MAX][BLOCK / 64] = {{0}};
    unsigned n = 0, planes = 1;
    for (; left[0] | left[1]; n++) {
        if (n == PALETTE_MAX)
            return NULL;
        palette[n] = values[left[0] ? __builtin_ctzll(left[0]) : 64 + __builtin_ctzll(left[1])];
        for (unsigned half = 0; half < 2; half++) {
            uint64_t is = which_are(values + half * 64, palette[n]);
            left[half] &= ~is;
            for (unsigned k = 0; k < PALETTE_PLANES_MAX; k++)
                plane[k][half] |= n >> k & 1 ? is : 0;
        }
    }
    while (1u << planes < n)
        planes++;
    *p++ = (uint8_t)(PALETTE + planes);
    for (unsigned i = 0; i < 1u << planes; i++)
        *p++ = palette[i < n ? i : 0];
    memcpy(p, plane, planes * sizeof(plane[0]));
    return p + planes * sizeof(plane[0]);
}

/* n values of which any has every bit that one of them has, where few different ones are to be expected. */
static uint8_t *put_few(uint8_t *p, const uint8_t *v, size_t stride, size_t n, uint64_t any)
{
    uint8_t bytes[BLOCK], *packed = NULL;
    if (width_of(any) == 1 && n == BLOCK) {
#pragma GCC unroll 4
        for (size_t i = 0; i < BLOCK; i++)
            bytes[i] = v[i * stride];
        packed = put_palette(p, bytes);
    }
    return packed ? packed : put_values(p, v, stride, n, any);
}

/* Differences within a narrow field are taken in its width: -1 and 0 are neighbours. */
#define SIGNED_IN(type, x) \
    ((uint64_t)(sizeof(type) == 8   ? (int64_t)(x) \
                : sizeof(type) == 4 ? (int64_t)(int32_t)(x) \
                                    : (int64_t)(int16_t)(x)))

/* One function per column, its field, type and predictor known to the compiler: a block of n spans, with last
 * as what the predictor remembers. bits: what the values have and the one before the block; where that fits a
 * byte, nothing is gained by going over the values for it. */
#define PUT_BLOCK(field, type, predictor, bit) \
    static uint8_t *put_##field(uint8_t *p, const struct pp_span *s, size_t n, uint64_t last, \
                                uint64_t *in_phase, uint64_t bits) \
    { \
        uint64_t v[BLOCK], any = 0; \
        if (predictor == PLAIN && (sizeof(type) == 8 || sizeof(type) == 1)) { \
            size_t look_at = bits > UINT8_MAX ? n : 0; \
            any = look_at ? 0 : bits; \
            _Pragma("GCC unroll 4") for (size_t i = 0; i < look_at; i++) any |= s[i].field; \
            return (sizeof(type) == 1 ? put_few : put_values)(p, (const uint8_t *)&s->field, sizeof(*s), n, \
                                                              any); \
        } \
        _Pragma("GCC unroll 4") for (size_t i = 0; i < n; i++) \
        { \
            uint64_t x = s[i].field; \
            if (predictor == PLAIN) { \
                v[i] = x; \
            } else if (predictor == DELTA_IN_PHASE) { \
                v[i] = zigzag(SIGNED_IN(type, x - in_phase[s[i].phase])); \
                in_phase[s[i].phase] = x; \
            } else { \
                v[i] = zigzag(SIGNED_IN(type, x - last)); \
                last = predictor == AFTER_LAST ? x + s[i].dur_ns : x; \
            } \
            any |= v[i]; \
        } \
        return (predictor == DELTA ? put_few : put_values)(p, (const uint8_t *)v, sizeof(v[0]), n, any); \
    }
COLUMN_MAP(PUT_BLOCK)

/* ---- columns ---- */

/* The column varies from here on: blocks of what all of the spans so far have. */
static int begin_varying(struct column *c, enum predictor predictor, size_t spans)
{
    size_t blocks = spans / BLOCK, width = predictor == PLAIN ? width_of(c->first) : 0;
    if (!pp_grow(&c->bytes, &c->cap, c->size + blocks * (1 + width * BLOCK) + BLOCK_BYTES_MAX, 1))
        return 0;
    if (predictor == DELTA_IN_PHASE && !c->in_phase && !(c->in_phase = malloc(PHASES * sizeof(*c->in_phase))))
        return 0;
    for (size_t i = 0; predictor == DELTA_IN_PHASE && i < PHASES; i++)
        c->in_phase[i] = c->first;
    uint8_t *p = c->bytes;
    for (size_t i = 0; i < blocks; i++)
        p = put_values(p, (const uint8_t *)&c->first, 0, BLOCK, width ? c->first : 0);
    c->size = (size_t)(p - c->bytes);
    return 1;
}

/* Starts, which are predicted from durations too, have blocks from the first one on. */
int pp_chunk_builder_add_block(struct pp_chunk_builder *b, const struct pp_span *spans, size_t n,
                               const struct pp_chunk_shape *shape)
{
    struct pp_span differs;
    struct column *c = b->column;
    memcpy(&differs, shape->differs, sizeof(differs));
#define ADD(field, type, predictor, bit) \
    if (!b->extent.spans) \
        c->first = spans[0].field; \
    if (predictor == AFTER_LAST ? !shape->gaps : (predictor == DELTA && c->size && !differs.field)) { \
        if (!pp_grow(&c->bytes, &c->cap, c->size + 1, 1)) \
            return 0; \
        c->bytes[c->size++] = 0; \
    } else if (predictor == AFTER_LAST || c->size || differs.field) { \
        if (c->size ? !pp_grow(&c->bytes, &c->cap, c->size + BLOCK_BYTES_MAX, 1) \
                    : !begin_varying(c, predictor, b->extent.spans)) \
            return 0; \
        uint64_t last = !b->extent.spans          ? spans[0].field \
                        : predictor == AFTER_LAST ? (b->before.start_ns + b->before.dur_ns) \
                                                  : b->before.field; \
        uint64_t bits = differs.field | spans[0].field; \
        c->size = (size_t)(put_##field(c->bytes + c->size, spans, n, last, c->in_phase, bits) - c->bytes); \
    } \
    c++;
    COLUMN_MAP(ADD)
#undef ADD
    /* Of laps the first and the last span have said it all. */
    struct pp_chunk_extent *e = &b->extent;
    if (!e->spans)
        *e = (struct pp_chunk_extent){.first_start_ns = spans[0].start_ns};
    for (size_t i = 0; i < n; i += !shape->gaps && i + 1 < n ? n - 1 : 1) {
        uint64_t end = spans[i].start_ns + spans[i].dur_ns;
        e->first_start_ns = spans[i].start_ns < e->first_start_ns ? spans[i].start_ns : e->first_start_ns;
        e->last_end_ns = end > e->last_end_ns ? end : e->last_end_ns;
    }
    b->before = spans[n - 1];
    e->spans += n;
    return 1;
}

int pp_chunk_builder_add(struct pp_chunk_builder *b, const struct pp_span *spans, size_t n)
{
    int done = 1;
    for (size_t from = 0, count; from < n && done; from += count) {
        struct pp_chunk_shape shape = {.gaps = 0};
        count = n - from < BLOCK ? n - from : BLOCK;
        pp_chunk_look(b, &shape, spans + from, 0, count);
        done = pp_chunk_builder_add_block(b, spans + from, count, &shape);
    }
    return done;
}

/* ---- the body ---- */

#define ZSTD_WORTH_TRYING 256

const uint8_t *pp_chunk_builder_end(struct pp_chunk_builder *b, struct pp_chunk_codec *codec, int compress,
                                    size_t *size)
{
    size_t n = b->extent.spans, most = COLUMNS * (1 + PP_VARINT_BYTES);
    for (size_t i = 0; i < COLUMNS; i++)
        most += b->column[i].size;
    if (!n || !pp_chunk_reserve(&codec->body, &codec->body_cap, HEADER_BYTES + most, 1) ||
        (compress && !pp_chunk_reserve(&codec->raw, &codec->raw_cap, most, 1)))
        return NULL;
    uint8_t *body = codec->body, *columns = compress ? codec->raw : body + HEADER_BYTES, *p = columns;
    for (const struct column *c = b->column; c < b->column + COLUMNS; c++) {
        *p++ = c->size ? FORM_BLOCKS : FORM_SAME;
        p = pp_varint_put(p, c->first);
        if (c->size)
            memcpy(p, c->bytes, c->size);
        p += c->size;
    }
    size_t raw = (size_t)(p - columns), packed = 0; /* 0: it does not pay */
    /* Level 1: the columns are already small, a higher level costs CPU of somebody's training job. */
    if (compress && raw >= ZSTD_WORTH_TRYING && (codec->cctx || (codec->cctx = ZSTD_createCCtx()))) {
        packed = ZSTD_compressCCtx(codec->cctx, body + HEADER_BYTES, raw - raw / 8, codec->raw, raw, 1);
        packed = ZSTD_isError(packed) ? 0 : packed;
    }
    if (compress && !packed)
        memcpy(body + HEADER_BYTES, codec->raw, raw);
    body[0] = VERSION;
    body[1] = packed ? FLAG_ZSTD : 0;
    body[2] = body[3] = 0;
    uint64_t sizes = (uint64_t)raw << 32 | n; /* of 32 bits each */
    for (int i = 0; i < 8; i++)
        body[4 + i] = (uint8_t)(sizes >> 8 * i);
    *size = HEADER_BYTES + (packed ? packed : raw);
    pp_chunk_builder_drop(b);
    return body;
}
