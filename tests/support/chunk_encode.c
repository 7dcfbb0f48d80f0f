#include "tests/support/chunk_encode.h"

const uint8_t *chunk_encode(struct pp_chunk_codec *c, const struct pp_span *spans, size_t n, int compress,
                            size_t *size)
{
    static struct pp_chunk_builder *b;
    if (!b)
        b = pp_chunk_builder_new();
    if (!pp_chunk_builder_add(b, spans, n)) {
        pp_chunk_builder_drop(b);
        return NULL;
    }
    return pp_chunk_builder_end(b, c, compress, size);
}
