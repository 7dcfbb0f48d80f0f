#include "collectors/store/chunk.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#define VERSION 1
#define FLAG_ZSTD 1
#define HEADER_BYTES 12
#define VARINT_MAX 10
#define ZSTD_WORTH_TRYING 256

enum predictor {
    PLAIN,         /* the value */
    AFTER_LAST,    /* zigzag(start - (start + dur of the span before)) */
    DELTA,         /* zigzag(value - value before) */
    DELTA_NONE,    /* the same on value + 1, so that "no batch" (all ones) is next to 0 */
    DELTA_IN_PHASE /* zigzag(value - value of the last span of the same phase) */
};

enum form { FORM_VALUES = 0, FORM_FIRST_AND_REST = 1 };

/* Phase and duration come before what is predicted from them. */
static const struct column {
    uint8_t offset, width, predictor;
} columns[] = {
#define COLUMN(field, predictor) {offsetof(struct pp_span, field), sizeof(((struct pp_span *)0)->field), predictor}
    COLUMN(phase, PLAIN),
    COLUMN(dur_ns, PLAIN),
    COLUMN(start_ns, AFTER_LAST),
    COLUMN(batch, DELTA_NONE),
    COLUMN(sample, DELTA_NONE),
    COLUMN(epoch, DELTA),
    COLUMN(bytes, DELTA_IN_PHASE),
    COLUMN(cpu_ns, PLAIN),
    COLUMN(run_delay_ns, PLAIN),
    COLUMN(cache_hit_kib, DELTA_IN_PHASE),
    COLUMN(name, PLAIN),
    COLUMN(flags, DELTA_IN_PHASE),
#undef COLUMN
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define COLUMNS_BYTES_MAX(n) (COLUMNS * (1 + (size_t)VARINT_MAX * (n)))

struct pp_chunk_codec {
    uint64_t *value;       /* one column */
    struct pp_span *spans; /* decoded */
    uint8_t *raw, *body;   /* columns; header and columns */
    size_t spans_cap, value_cap, raw_cap, body_cap;
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
    free(c->value);
    free(c->spans);
    free(c->raw);
    free(c->body);
    free(c);
}

/* pointer_to is the address of a pointer of any object type, hence the copies. */
static int grow(void *pointer_to, size_t *cap, size_t need, size_t item)
{
    void *p;
    if (need <= *cap)
        return 1;
    memcpy(&p, pointer_to, sizeof(p));
    p = realloc(p, need * item);
    if (!p)
        return 0;
    memcpy(pointer_to, &p, sizeof(p));
    *cap = need;
    return 1;
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

static void load(const struct pp_span *spans, size_t n, const struct column *col, uint64_t *v)
{
    const uint8_t *p = (const uint8_t *)spans + col->offset;
    switch (col->width) {
    case 1:
        for (size_t i = 0; i < n; i++)
            v[i] = p[i * sizeof(*spans)];
        break;
    case 2:
        for (size_t i = 0; i < n; i++) {
            uint16_t x;
            memcpy(&x, p + i * sizeof(*spans), sizeof(x));
            v[i] = x;
        }
        break;
    case 4:
        for (size_t i = 0; i < n; i++) {
            uint32_t x;
            memcpy(&x, p + i * sizeof(*spans), sizeof(x));
            v[i] = x;
        }
        break;
    default:
        for (size_t i = 0; i < n; i++)
            memcpy(&v[i], p + i * sizeof(*spans), sizeof(v[i]));
    }
}

/* Values are stored cut to the field's width, so all arithmetic may wrap: what predict subtracts, restore adds back. */
static void predict(const struct pp_span *spans, size_t n, const struct column *col, uint64_t *v)
{
    uint64_t before[256] = {0}, last = 0;
    uint64_t mask = col->width == 8 ? UINT64_MAX : (1ull << (8 * col->width)) - 1;
    switch (col->predictor) {
    case PLAIN:
        break;
    case AFTER_LAST:
        for (size_t i = 0; i < n; i++) {
            uint64_t x = v[i];
            v[i] = zigzag(x - last);
            last = x + spans[i].dur_ns;
        }
        break;
    case DELTA:
    case DELTA_NONE:
        for (size_t i = 0; i < n; i++) {
            uint64_t x = col->predictor == DELTA_NONE ? (v[i] + 1) & mask : v[i];
            v[i] = zigzag(x - last);
            last = x;
        }
        break;
    case DELTA_IN_PHASE:
        for (size_t i = 0; i < n; i++) {
            uint64_t x = v[i];
            v[i] = zigzag(x - before[spans[i].phase]);
            before[spans[i].phase] = x;
        }
        break;
    }
}

/* The field of most columns of a lean span is 0 (or "none") throughout; then so is what any step between equals leaves. */
static int all_nothing(const struct column *col, uint64_t *v, size_t n)
{
    uint64_t nothing = col->predictor != DELTA_NONE ? 0 : col->width == 8 ? UINT64_MAX : UINT32_MAX, differs = 0;
    if (col->predictor == AFTER_LAST)
        return 0;
    for (size_t i = 0; i < n; i++)
        differs |= v[i] ^ nothing;
    if (differs)
        return 0;
    memset(v, 0, n * sizeof(*v));
    return 1;
}

static uint8_t *put_column(uint8_t *p, const uint64_t *v, size_t n)
{
    uint64_t differs = 0;
    for (size_t i = 2; i < n; i++)
        differs |= v[i] ^ v[1];
    *p++ = differs ? FORM_VALUES : FORM_FIRST_AND_REST;
    size_t written = differs ? n : n < 2 ? n : 2;
    for (size_t i = 0; i < written; i++)
        p = put_varint(p, v[i]);
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
    size_t most = COLUMNS_BYTES_MAX(n);
    if (!n || n > PP_CHUNK_SPANS_MAX || !grow(&c->value, &c->value_cap, n, sizeof(*c->value)) || !grow(&c->raw, &c->raw_cap, most, 1)
        || !grow(&c->body, &c->body_cap, HEADER_BYTES + most, 1))
        return NULL;
    uint8_t *p = c->raw;
    for (size_t i = 0; i < COLUMNS; i++) {
        load(spans, n, &columns[i], c->value);
        if (!all_nothing(&columns[i], c->value, n))
            predict(spans, n, &columns[i], c->value);
        p = put_column(p, c->value, n);
    }
    size_t raw = (size_t)(p - c->raw), packed = compress ? try_zstd(c, raw) : 0;
    if (!packed)
        memcpy(c->body + HEADER_BYTES, c->raw, raw);
    c->body[0] = VERSION;
    c->body[1] = packed ? FLAG_ZSTD : 0;
    c->body[2] = c->body[3] = 0;
    put_u32(c->body + 4, (uint32_t)n);
    put_u32(c->body + 8, (uint32_t)raw);
    *size = HEADER_BYTES + (packed ? packed : raw);
    return c->body;
}

static const uint8_t *get_column(const uint8_t *p, const uint8_t *end, uint64_t *v, size_t n)
{
    if (p == end || *p > FORM_FIRST_AND_REST)
        return NULL;
    size_t written = *p++ == FORM_VALUES || n < 2 ? n : 2;
    for (size_t i = 0; i < written; i++)
        if (!(p = get_varint(p, end, &v[i])))
            return NULL;
    for (size_t i = written; i < n; i++)
        v[i] = v[1];
    return p;
}

static void restore(const struct pp_span *spans, size_t n, const struct column *col, uint64_t *v)
{
    uint64_t before[256] = {0}, last = 0;
    switch (col->predictor) {
    case PLAIN:
        break;
    case AFTER_LAST:
        for (size_t i = 0; i < n; i++) {
            v[i] = unzigzag(v[i]) + last;
            last = v[i] + spans[i].dur_ns;
        }
        break;
    case DELTA:
    case DELTA_NONE:
        for (size_t i = 0; i < n; i++) {
            last += unzigzag(v[i]);
            v[i] = col->predictor == DELTA_NONE ? last - 1 : last;
        }
        break;
    case DELTA_IN_PHASE:
        for (size_t i = 0; i < n; i++)
            v[i] = before[spans[i].phase] += unzigzag(v[i]);
        break;
    }
}

static void store(struct pp_span *spans, size_t n, const struct column *col, const uint64_t *v)
{
    uint8_t *p = (uint8_t *)spans + col->offset;
    for (size_t i = 0; i < n; i++, p += sizeof(*spans)) {
        uint16_t x2 = (uint16_t)v[i];
        uint32_t x4 = (uint32_t)v[i];
        switch (col->width) {
        case 1: *p = (uint8_t)v[i]; break;
        case 2: memcpy(p, &x2, sizeof(x2)); break;
        case 4: memcpy(p, &x4, sizeof(x4)); break;
        default: memcpy(p, &v[i], sizeof(v[i]));
        }
    }
}

/* The columns of a body, unpacked if they are packed; NULL when sizes do not agree. */
static const uint8_t *open_columns(struct pp_chunk_codec *c, const uint8_t *body, size_t size, size_t raw)
{
    if (!(body[1] & FLAG_ZSTD))
        return size - HEADER_BYTES == raw ? body + HEADER_BYTES : NULL;
    if (!grow(&c->raw, &c->raw_cap, raw, 1) || (!c->dctx && !(c->dctx = ZSTD_createDCtx())))
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
    if (!p || !grow(&c->value, &c->value_cap, n, sizeof(*c->value)) || !grow(&c->spans, &c->spans_cap, n, sizeof(*c->spans)))
        return NULL;
    const uint8_t *end = p + raw;
    memset(c->spans, 0, n * sizeof(*c->spans));
    for (size_t i = 0; i < COLUMNS; i++) {
        if (!(p = get_column(p, end, c->value, n)))
            return NULL;
        restore(c->spans, n, &columns[i], c->value);
        store(c->spans, n, &columns[i], c->value);
    }
    if (p != end)
        return NULL;
    *n_out = n;
    return c->spans;
}

uint64_t pp_chunk_checksum(uint32_t thread, uint64_t seq0, uint64_t n, const uint8_t *body, size_t size)
{
    uint64_t place[3] = {thread, seq0, n};
    return XXH3_64bits_withSeed(body, size, XXH3_64bits(place, sizeof(place)));
}
