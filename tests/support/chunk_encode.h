/* Spans to a chunk's body in one go, by the builder that the store uses. */
#pragma once

#include "collectors/store/chunk.h"

/* 1..PP_CHUNK_SPANS_MAX spans; the body belongs to c and lives until its next call. NULL when they are
 * refused. */
const uint8_t *chunk_encode(struct pp_chunk_codec *c, const struct pp_span *spans, size_t n, int compress,
                            size_t *size);
