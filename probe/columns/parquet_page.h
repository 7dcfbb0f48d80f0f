/* columns/parquet_page.h: one page of a Parquet column, decoded: for each row that begins in it where its
 * bytes or numbers are. Pages of version 1 and 2; PLAIN, dictionary, RLE, the three DELTA encodings,
 * BYTE_STREAM_SPLIT. */
#ifndef PP_COLUMNS_PARQUET_PAGE_H
#define PP_COLUMNS_PARQUET_PAGE_H

#include "probe/columns/pages.h"
#include "probe/columns/parquet_meta.h"

#include <stdatomic.h>

enum {
    PP_PARQUET_VALUES = 1 << 24, /* of a page */
    PP_PARQUET_BODY = 512 << 20  /* bytes of a page, packed and unpacked */
};

struct pp_parquet_span {
    uint32_t at, size; /* in `base` */
};

/* The values that pages refer to by number. Shared by the pages that use it; the last one frees it. */
struct pp_parquet_dictionary {
    atomic_uint users;
    uint8_t *raw;
    size_t bytes;
    uint32_t n;
    struct pp_parquet_span *span; /* BYTES; else raw holds n numbers */
};
void pp_parquet_dictionary_free(struct pp_parquet_dictionary *d); /* one user less; NULL is fine */

enum pp_parquet_row { PP_PARQUET_ROW_NULL = 1, PP_PARQUET_ROW_HAS_NULL = 2 };

struct pp_parquet_page {
    struct pp_page base;
    uint32_t rows; /* that begin in it */
    uint8_t *row;  /* enum pp_parquet_row; NULL: no row has one */
    int lead_null; /* what continues the row of the page before has a null */
    /* BYTES */
    const uint8_t *bytes; /* spans are of */
    struct pp_parquet_span *span;
    /* numbers */
    uint8_t *number;
    uint32_t *start; /* NUMBERS: rows + 1 places in number; before start[0]: of the page before */
    /* owned */
    uint8_t *raw;
    struct pp_parquet_dictionary *dictionary;
};

struct pp_parquet_body {
    const struct pp_column *column;
    const struct pp_parquet_leaf *leaf;
    enum pp_codec codec;
    const struct pp_parquet_page_head *head;
    const uint8_t *packed;                    /* head->packed bytes */
    struct pp_parquet_dictionary *dictionary; /* NULL: none; the page becomes a user */
};

/* NULL; or why it cannot be decoded, as words behind "the page at byte N". *status: PP_E_CORRUPT,
 * PP_E_UNSUPPORTED, PP_E_NO_MEMORY. */
const char *pp_parquet_page_decode(const struct pp_parquet_body *in, struct pp_parquet_page **out,
                                   pp_status *status);
const char *pp_parquet_dictionary_decode(const struct pp_parquet_body *in, struct pp_parquet_dictionary **out,
                                         pp_status *status);

/* ---- the values of a page in each encoding, without their nulls: parquet_values.c ---- */

struct pp_parquet_values {
    const struct pp_parquet_body *body;
    const uint8_t *at; /* in page->raw */
    size_t left;
    uint32_t n;    /* values */
    uint32_t room; /* made for so many, nulls included */
};

/* Fills page->span and page->bytes, or page->number, with v->n values. NULL, or why not. */
const char *pp_parquet_values_take(const struct pp_parquet_values *v, struct pp_parquet_page *page,
                                   pp_status *status);
/* Finds the values of a dictionary whose raw, bytes and n are set. */
const char *pp_parquet_dictionary_index(const struct pp_parquet_body *in, struct pp_parquet_dictionary *d,
                                        pp_status *status);

#endif
