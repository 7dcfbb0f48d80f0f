/* store/chunk.h: the columnar form of some thousand spans of one thread: what a row of table `chunk` holds in
 * `body`.
 *
 * Body: u8 version (3) | u8 flags (1: columns are zstd) | u16 0 | u32 n | u32 bytes of the columns before
 * compression | columns; little-endian. Columns, one after the other in the order of the table in
 * chunk_impl.h: u8 form, then a varint (LEB128), then
 *   form 0  nothing: n times that value (a constant column is 2 bytes or a few)
 *   form 1  blocks of 128 values (the last one fewer); the varint is what the first is predicted from. A
 *           block: u8 width 0 to 8, then each value in that many bytes; or, of 128 values of a byte, u8
 *           16 + k (k 1 to 3), a palette of 2^k of them, and k times 128 bits: bit k of each one's place in it
 * where a value is what its predictor leaves, see enum predictor. Adjacent laps leave a start column of
 * zeros, so that a span with phase, batch and times costs about 4 bytes. Version 2 had no palettes.
 *
 * A codec owns its scratch memory (it grows to the largest chunk seen) and belongs to one thread at a time;
 * so does a builder. */
#pragma once

#include "probe/base/bytes.h"

#include <pipeprobe/phase.h>
#include <pipeprobe/span.h>

#define PP_CHUNK_SPANS_MAX 65536u

struct pp_chunk_codec;

struct pp_chunk_codec *pp_chunk_codec_new(void); /* NULL: no memory */
void pp_chunk_codec_free(struct pp_chunk_codec *c);

/* A chunk in the making, so that the spans need not be kept: it grows by blocks of PP_CHUNK_BLOCK spans
 * (reserved is not kept); only the last may have fewer. What adds returns 0 without memory: then the chunk
 * can only be dropped. At most PP_CHUNK_SPANS_MAX spans. */
#define PP_CHUNK_BLOCK 128u

struct pp_chunk_builder;

/* What varies in a block. Zero-initialise it for each. */
struct pp_chunk_shape {
    uint64_t differs[8]; /* bits in which a span differs from the one before */
    uint64_t gaps; /* bits in which a start differs from the end of the span before; 0: laps, each begins
                      where the last one ended */
};

struct pp_chunk_builder *pp_chunk_builder_new(void); /* NULL: no memory */
void pp_chunk_builder_free(struct pp_chunk_builder *b);
void pp_chunk_builder_drop(struct pp_chunk_builder *b); /* it is empty again and keeps its memory */
/* What it holds: so many spans, from the earliest start to the latest end; of an empty one nothing. */
struct pp_chunk_extent {
    size_t spans;
    uint64_t first_start_ns, last_end_ns;
};
const struct pp_chunk_extent *pp_chunk_builder_extent(const struct pp_chunk_builder *b);
/* Looks at spans[from..from+n-1] of the next block, n at least 1, of which those before from have been looked
 * at. */
void pp_chunk_look(const struct pp_chunk_builder *b, struct pp_chunk_shape *shape,
                   const struct pp_span *spans, size_t from, size_t n);
int pp_chunk_builder_add_block(struct pp_chunk_builder *b, const struct pp_span *spans, size_t n,
                               const struct pp_chunk_shape *shape); /* 1..PP_CHUNK_BLOCK, all looked at */
int pp_chunk_builder_add(struct pp_chunk_builder *b, const struct pp_span *spans,
                         size_t n); /* any number, looks itself */
/* The body, which belongs to the codec and lives until its next call; NULL without memory or spans. compress:
 * zstd where it saves at least an eighth. The builder is empty afterwards, unless there was no memory. */
const uint8_t *pp_chunk_builder_end(struct pp_chunk_builder *b, struct pp_chunk_codec *c, int compress,
                                    size_t *size);

/* Spans and their number, or NULL for bytes that do not follow the format (any bytes may be given) or without
 * memory. The spans belong to the codec and live until its next call. */
const struct pp_span *pp_chunk_decode(struct pp_chunk_codec *c, const uint8_t *body, size_t size, size_t *n);
/* The same a piece at a time, which stays in a near cache while it is read. Opening returns the
 * number of spans, 0 for what decoding refuses; the body must live until the last piece was taken. The next
 * pieces: PP_CHUNK_PIECE spans each, the last one fewer, then NULL. */
#define PP_CHUNK_PIECE 4096u
size_t pp_chunk_open(struct pp_chunk_codec *c, const uint8_t *body, size_t size, unsigned wanted);
const struct pp_span *pp_chunk_next(struct pp_chunk_codec *c, size_t *n);

/* A phase that there is, and times that do not wrap: what every reader of spans counts on, so that none has
 * to look. */
static inline int pp_span_is_sound(const struct pp_span *s)
{
    return pp_phase_info(s->phase) && s->start_ns <= INT64_MAX && s->dur_ns <= INT64_MAX - s->start_ns;
}

/* XXH3 of the body, bound to the row it stands in: a body under another thread or position does not match. */
uint64_t pp_chunk_checksum(uint32_t thread, uint64_t seq0, uint64_t n, const uint8_t *body, size_t size);
