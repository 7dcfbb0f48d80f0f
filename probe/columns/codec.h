/* columns/codec.h: one block of compressed bytes as the bytes it was made of, whose number is known. gzip by
 * zlib, Zstandard by libzstd, Snappy and LZ4 by system libraries that are opened when a file first needs
 * them. Any thread. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

enum pp_codec {
    PP_CODEC_NONE,
    PP_CODEC_SNAPPY,
    PP_CODEC_GZIP,
    PP_CODEC_ZSTD,
    PP_CODEC_LZ4,        /* a bare block */
    PP_CODEC_LZ4_HADOOP, /* blocks with their sizes before them, most significant byte first */
    PP_CODECS
};

/* PP_E_UNSUPPORTED: the library is not installed; the sentence says which. */
pp_status pp_codec_ready(enum pp_codec codec, struct pp_err *err);
/* Exactly out_size bytes. 0; -1: the block is damaged or of another size. Only after pp_codec_ready. */
int pp_codec_unpack(enum pp_codec codec, const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size);

/* ---- encodings of pages ----
 *
 * How Parquet stores runs of numbers (apache/parquet-format, Encodings.md): the hybrid
 * of runs and bit-packed groups, and DELTA_BINARY_PACKED. Readers that go forward over bytes in memory and
 * never behind their end. One thread at a time. */

/* RLE / bit-packing hybrid. */
struct pp_runs {
    const uint8_t *at, *end;
    unsigned width; /* bits of a value, 0 to 32 */
    /* begin as zeros */
    uint64_t run, packed; /* values left of a run of one value, or of a bit-packed group */
    uint32_t value;
    uint64_t bits;
    unsigned n_bits;
};
/* The next n values; -1: the bytes hold fewer. */
int pp_runs_take(struct pp_runs *r, uint32_t *out, size_t n);

/* DELTA_BINARY_PACKED: exactly n integers, of 32 or 64 bits with the wrap-around of that width. *used gets
 * its bytes. -1: damaged, or other than n. */
int pp_delta_take(const uint8_t *bytes, size_t size, int64_t *out, size_t n, size_t *used);
