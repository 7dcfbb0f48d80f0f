#include "collectors/store/chunk_impl.h"

#include <stdlib.h>
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
