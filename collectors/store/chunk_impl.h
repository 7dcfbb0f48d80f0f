/* store/chunk_impl.h: what encoding (chunk_builder.c) and decoding (chunk_decode.c) of a chunk have in
 * common: see chunk.h. */
#pragma once

#include "collectors/store/chunk.h"
#include "collectors/store/columns.h"

#include <zstd.h>

#define VERSION 3
#define VERSION_MIN 2
#define FLAG_ZSTD 1
#define HEADER_BYTES 12
#define BLOCK PP_CHUNK_BLOCK
#define PALETTE 16 /* and the number of planes in the place of a width */
#define PALETTE_PLANES_MAX 3u
#define PALETTE_MAX (1u << PALETTE_PLANES_MAX)
#define SLACK 8 /* a value is written and read as eight bytes, of which its block's width counts */

enum predictor {
    PLAIN,      /* the value */
    AFTER_LAST, /* zigzag(start - (start + dur of the span before)) */
    DELTA, /* zigzag(value - value before), in the field's width so that "none" (all ones) is next to 0 */
    DELTA_IN_PHASE /* zigzag(value - value of the last span of the same phase) */
};

enum form { FORM_SAME = 0, FORM_BLOCKS = 1 };

/* X(field, type, predictor, column). Phase and duration come before what is predicted from them. */
/* clang-format off */
#define COLUMN_MAP(X)                                               \
    X(phase, uint8_t, PLAIN, PP_COLUMN_PHASE)                       \
    X(dur_ns, uint64_t, PLAIN, PP_COLUMN_DUR)                       \
    X(start_ns, uint64_t, AFTER_LAST, PP_COLUMN_START)              \
    X(batch, uint32_t, DELTA, PP_COLUMN_BATCH)                      \
    X(sample, uint64_t, DELTA, PP_COLUMN_SAMPLE)                    \
    X(epoch, uint16_t, DELTA, PP_COLUMN_EPOCH)                      \
    X(bytes, uint64_t, DELTA_IN_PHASE, PP_COLUMN_BYTES)             \
    X(cpu_ns, uint64_t, PLAIN, PP_COLUMN_CPU)                       \
    X(run_delay_ns, uint64_t, PLAIN, PP_COLUMN_RUN_DELAY)           \
    X(cache_hit_kib, uint32_t, DELTA_IN_PHASE, PP_COLUMN_CACHE_HIT) \
    X(name, uint16_t, PLAIN, PP_COLUMN_NAME)                        \
    X(flags, uint16_t, DELTA_IN_PHASE, PP_COLUMN_FLAGS)
/* clang-format on */

#define COUNT_COLUMN(field, type, predictor, column) +1
#define COLUMNS (0 COLUMN_MAP(COUNT_COLUMN))
#define COLUMN_BYTES_MAX(n) (1 + PP_VARINT_BYTES + ((n) + BLOCK - 1) / BLOCK + 8 * (size_t)(n))
#define COLUMNS_BYTES_MAX(n) (COLUMNS * COLUMN_BYTES_MAX(n))

/* A column of the chunk that is being decoded. */
struct pp_chunk_column {
    const uint8_t *at; /* its next block; NULL: all values are `last` */
    uint64_t last;     /* what the predictor remembers: values wrap in 64 bits, so what encoding subtracted is
                          added back, */
    uint64_t in_phase[256]; /* per phase where the predictor is DELTA_IN_PHASE */
};

struct pp_chunk_codec {
    struct pp_span *spans; /* decoded, of the chunk that is open: */
    struct pp_chunk_column column[COLUMNS];
    const uint8_t *columns_end;
    unsigned wanted;
    size_t left;         /* spans */
    uint8_t *raw, *body; /* columns; header and columns */
    size_t spans_cap, raw_cap, body_cap;
    ZSTD_CCtx *cctx;
    ZSTD_DCtx *dctx;
};

/* Room for need items, what was there is lost; 0 without memory. pointer_to is the address of a pointer of
 * any object type. */
int pp_chunk_reserve(void *pointer_to, size_t *cap, size_t need, size_t item);
