#include "collectors/store/chunk_impl.h"

#include <stdlib.h>
#include <xxhash.h>

#define ZSTD_WORTH_TRYING 256

struct pp_chunk_codec *pp_chunk_codec_new(void)
{
    struct pp_chunk_codec *c = calloc(1, sizeof(*c));
    if (!c || (c->builder = pp_chunk_builder_new()))
        return c;
    free(c);
    return NULL;
}

void pp_chunk_codec_free(struct pp_chunk_codec *c)
{
    if (!c)
        return;
    pp_chunk_builder_free(c->builder);
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

static void put_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

/* Level 1: the columns are already small, a higher level costs CPU of somebody's training job. Returns 0
 * where it does not pay. */
static size_t try_zstd(struct pp_chunk_codec *c, size_t raw)
{
    if (raw < ZSTD_WORTH_TRYING || (!c->cctx && !(c->cctx = ZSTD_createCCtx())))
        return 0;
    size_t z = ZSTD_compressCCtx(c->cctx, c->body + HEADER_BYTES, raw - raw / 8, c->raw, raw, 1);
    return ZSTD_isError(z) ? 0 : z;
}

const uint8_t *pp_chunk_encode(struct pp_chunk_codec *c, const struct pp_span *spans, size_t n, int compress,
                               size_t *size)
{
    if (!n || n > PP_CHUNK_SPANS_MAX || !pp_chunk_builder_add(c->builder, spans, n)) {
        pp_chunk_builder_drop(c->builder);
        return NULL;
    }
    return pp_chunk_builder_end(c->builder, c, compress, size);
}

const uint8_t *pp_chunk_builder_end(struct pp_chunk_builder *b, struct pp_chunk_codec *c, int compress,
                                    size_t *size)
{
    size_t n = pp_chunk_builder_spans(b), most = pp_chunk_builder_bytes(b);
    if (!n || !pp_chunk_reserve(&c->body, &c->body_cap, HEADER_BYTES + most, 1) ||
        (compress && !pp_chunk_reserve(&c->raw, &c->raw_cap, most, 1)))
        return NULL;
    uint8_t *columns = compress ? c->raw : c->body + HEADER_BYTES;
    size_t raw = (size_t)(pp_chunk_builder_put(b, columns) - columns),
           packed = compress ? try_zstd(c, raw) : 0;
    if (compress && !packed)
        memcpy(c->body + HEADER_BYTES, c->raw, raw);
    c->body[0] = VERSION;
    c->body[1] = packed ? FLAG_ZSTD : 0;
    c->body[2] = c->body[3] = 0;
    put_u32(c->body + 4, (uint32_t)n);
    put_u32(c->body + 8, (uint32_t)raw);
    *size = HEADER_BYTES + (packed ? packed : raw);
    pp_chunk_builder_drop(b);
    return c->body;
}

uint64_t pp_chunk_checksum(uint32_t thread, uint64_t seq0, uint64_t n, const uint8_t *body, size_t size)
{
    uint64_t place[3] = {thread, seq0, n};
    return XXH3_64bits_withSeed(body, size, XXH3_64bits(place, sizeof(place)));
}
