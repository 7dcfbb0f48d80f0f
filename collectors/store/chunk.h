/* store/chunk.h: the columnar form of some thousand spans of one thread: what a row of table `chunk` holds in `body`.
 *
 * Body: u8 version (2) | u8 flags (1: columns are zstd) | u16 0 | u32 n | u32 bytes of the columns before compression | columns; little-endian.
 * Columns, one after the other in the order of the table in chunk_impl.h: u8 form, then a varint (LEB128), then
 *   form 0  nothing: n times that value (a constant column is 2 bytes or a few)
 *   form 1  blocks of 128 values (the last one fewer): u8 width 0 to 8, then each value in that many bytes; the varint is what the first is predicted from
 * where a value is what its predictor leaves, see enum predictor. Adjacent laps leave a start column of zeros, so a span that
 * carries phase, batch and times costs about 5 bytes.
 *
 * A codec owns its scratch memory (it grows to the largest chunk seen) and belongs to one thread at a time. */
#ifndef PP_STORE_CHUNK_H
#define PP_STORE_CHUNK_H

#include <pipeprobe/span.h>

#include <stddef.h>
#include <stdint.h>

#define PP_CHUNK_SPANS_MAX 65536u

struct pp_chunk_codec;

struct pp_chunk_codec *pp_chunk_codec_new(void); /* NULL: no memory */
void pp_chunk_codec_free(struct pp_chunk_codec *c);

/* Encodes 1..PP_CHUNK_SPANS_MAX spans (reserved is not kept). compress: zstd where it saves at least an eighth. Returns the body, which
 * belongs to the codec and lives until its next call, or NULL without memory. */
const uint8_t *pp_chunk_encode(struct pp_chunk_codec *c, const struct pp_span *spans, size_t n, int compress, size_t *size);

/* What is known about the spans of a chunk before it is encoded. Zero-initialise; pp_chunk_look adds n spans, of which spans[0] is the first of
 * all, from position from on (n at least 1), so that an encoder told the shape reads only the columns that vary. */
struct pp_chunk_shape {
    uint64_t differs[8]; /* bits in which any span differs from the first */
    uint64_t gaps;       /* bits in which any start differs from the end of the span before; 0: laps, each begins where the last one ended */
    uint64_t first_start_ns, last_end_ns;
};
void pp_chunk_look(struct pp_chunk_shape *shape, const struct pp_span *spans, size_t from, size_t n);
/* Whether none of the spans looked at so far has more than its times, phase, ids and name: no bytes, resources, cache figures or flags. spans[0] as above. */
int pp_chunk_lean(const struct pp_chunk_shape *shape, const struct pp_span *spans);
/* pp_chunk_encode of n spans that have all been looked at. */
const uint8_t *pp_chunk_encode_shaped(struct pp_chunk_codec *c, const struct pp_span *spans, size_t n, const struct pp_chunk_shape *shape, int compress, size_t *size);

/* Spans and their number, or NULL for bytes that do not follow the format (any bytes may be given) or without memory. The spans belong to the codec
 * and live until its next call. */
const struct pp_span *pp_chunk_decode(struct pp_chunk_codec *c, const uint8_t *body, size_t size, size_t *n);
/* The same of the columns in wanted (enum pp_column) alone: of the spans' other fields some are 0. What is refused is the same. */
const struct pp_span *pp_chunk_decode_columns(struct pp_chunk_codec *c, const uint8_t *body, size_t size, unsigned wanted, size_t *n);

/* XXH3 of the body, bound to the row it stands in: a body under another thread or position does not match. */
uint64_t pp_chunk_checksum(uint32_t thread, uint64_t seq0, uint64_t n, const uint8_t *body, size_t size);

#endif
