/* Small Parquet files for tests, written by hand: columns image ({bytes}, may be null), label (whole number,
 * may be null) and ids (list of int32). What row i holds is a function of i. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct made_parquet {
    uint32_t rows, group_rows, page_rows;
    int version_2;  /* of pages */
    int codec;      /* number in Parquet: 0 none, 2 gzip, 6 Zstandard */
    int dictionary; /* labels by number in a dictionary */
    int index;      /* an OffsetIndex of each column */
    int split;      /* version 1: pages of lists end within a row */
    int nulls;      /* every 7th label */
};

/* The caller frees. */
uint8_t *made_parquet(const struct made_parquet *how, size_t *size);

/* What is in row i. */
size_t made_parquet_image(uint32_t i, uint8_t *to); /* at most 600 bytes */
int64_t made_parquet_label(const struct made_parquet *how, uint32_t i);
size_t made_parquet_ids(uint32_t i, int32_t *to); /* at most 9 */
