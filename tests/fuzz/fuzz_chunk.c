/* Fuzz target: the chunk codec. What decodes is encoded again and must decode to the same. */
#include "tests/fuzz/fuzz.h"

#include "tests/support/chunk_encode.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pp_chunk_codec *c, *again;
    size_t n, m, encoded;
    if (!c)
        c = pp_chunk_codec_new(), again = pp_chunk_codec_new();
    const struct pp_span *spans = pp_chunk_decode(c, data, size, &n);
    if (!spans)
        return 0;
    const uint8_t *body = chunk_encode(again, spans, n, (int)(size & 1), &encoded);
    uint8_t *copy = malloc(encoded);
    memcpy(copy, body, encoded);
    const struct pp_span *back = pp_chunk_decode(again, copy, encoded, &m);
    if (!back || m != n || memcmp(back, spans, n * sizeof(*spans)) != 0)
        abort();
    free(copy);
    return 0;
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    enum { N = 300 };
    static struct pp_span spans[N];
    if (i >= 6)
        return 0;
    for (unsigned k = 0; k < N; k++)
        spans[k] = (struct pp_span){
            .start_ns = 1000000u + k * 977u,
            .dur_ns = (k * 7919u) % 977u,
            .phase = (uint8_t)(3 + k % 3),
            .batch = k / 64,
            .sample = i & 1 ? k * 31u : PP_NO_SAMPLE,
            .bytes = i & 2 ? k * 1000u : 0,
            .cpu_ns = i & 2 ? k : 0,
            .flags = (uint16_t)(i & 2 ? PP_SPAN_HAS_CPU : 0),
            .epoch = (uint16_t)(k / 100),
            .name = (uint16_t)(i & 1),
        };
    struct pp_chunk_codec *c = pp_chunk_codec_new();
    const uint8_t *body = chunk_encode(c, spans, i < 2 ? 5 + i : N, i >= 4, size);
    *data = malloc(*size);
    memcpy(*data, body, *size);
    pp_chunk_codec_free(c);
    return 1;
}
