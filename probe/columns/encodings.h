/* columns/encodings.h: how Parquet stores runs of numbers (apache/parquet-format, Encodings.md): the hybrid
 * of runs and bit-packed groups, and DELTA_BINARY_PACKED. Readers that go forward over bytes in memory and
 * never behind their end. One thread at a time. */
#ifndef PP_COLUMNS_ENCODINGS_H
#define PP_COLUMNS_ENCODINGS_H

#include <stddef.h>
#include <stdint.h>

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

#endif
