/* columns/parquet_page.h: one page of a Parquet column, decoded: for each row that begins in it where its
 * bytes or numbers are. Pages of version 1 and 2; PLAIN, dictionary, RLE, the three DELTA encodings,
 * BYTE_STREAM_SPLIT. */
#pragma once

#include "probe/columns/codec.h"
#include "probe/columns/pages.h"
#include "probe/columns/table.h"

/* The footer of a Parquet file (parquet.thrift, apache/parquet-format): its schema as leaf columns, its row
 * groups, and where the chunks of the wanted columns lie. And the header of a page. A stranger's bytes:
 * nesting, counts and offsets are bounded and checked against the file. */

enum pp_parquet_type {
    PP_PARQUET_BOOLEAN,
    PP_PARQUET_INT32,
    PP_PARQUET_INT64,
    PP_PARQUET_INT96,
    PP_PARQUET_FLOAT,
    PP_PARQUET_DOUBLE,
    PP_PARQUET_BYTE_ARRAY,
    PP_PARQUET_FIXED
};

/* What a leaf adds to its struct pp_column of the same place. */
struct pp_parquet_leaf {
    enum pp_parquet_type type;
    uint32_t width; /* bytes of a value as it is stored; 0: BYTE_ARRAY, BOOLEAN */
    uint8_t max_definition, max_repetition;
    uint8_t list_definition; /* from this definition level on there is an element; 0: no list */
};

struct pp_parquet_chunk {
    uint64_t begin, end;    /* its bytes in the file */
    uint64_t dictionary_at; /* 0: none */
    uint64_t data_at;
    uint64_t values;   /* nulls and empty lists included */
    uint64_t index_at; /* OffsetIndex; 0: none */
    uint32_t index_bytes;
    enum pp_codec codec;
};

struct pp_parquet_group {
    uint64_t first, rows; /* number of its first row in the file */
};

struct pp_parquet_meta {
    struct pp_parquet_leaf *leaf; /* beside pp_table.column */
    struct pp_parquet_group *group;
    size_t groups;
    struct pp_parquet_chunk *chunk; /* [group * used + i] */
};

enum {
    PP_PARQUET_TAIL = 8,           /* u32 size of the footer, "PAR1" */
    PP_PARQUET_FOOTER = 256 << 20, /* bytes of the largest that is read */
    PP_PARQUET_GROUPS = 1 << 20,
    PP_PARQUET_PAGES = 1 << 20 /* of a chunk */
};

/* Columns of t, and leaves and groups of m, whose three arrays are the caller's to free, also after a
 * failure. */
pp_status pp_parquet_schema(const uint8_t *footer, size_t size, struct pp_table *t, struct pp_parquet_meta *m,
                            struct pp_err *err);
/* The chunks of the used columns of t, from the same footer. */
pp_status pp_parquet_chunks(const uint8_t *footer, size_t size, const struct pp_table *t,
                            struct pp_parquet_meta *m, struct pp_err *err);

/* ---- pages ---- */

enum pp_parquet_page_type {
    PP_PARQUET_DATA = 0,
    PP_PARQUET_INDEX = 1,
    PP_PARQUET_DICTIONARY = 2,
    PP_PARQUET_DATA_2 = 3
};

#define PP_PARQUET_NO_CRC INT64_MIN

struct pp_parquet_page_head {
    int type;
    uint32_t unpacked, packed; /* bytes of the body */
    int64_t crc;               /* PP_PARQUET_NO_CRC: none */
    int of;                    /* number of the field that the rest is from */
    uint32_t values, rows;     /* rows: of version 2 alone */
    int encoding, definition_encoding, repetition_encoding;
    uint32_t definition_bytes, repetition_bytes; /* version 2 */
    int is_packed;                               /* version 2: the values are compressed */
    size_t head;                                 /* bytes of the header itself */
};

/* 1; 0: more bytes are needed; -1: not a header. */
int pp_parquet_page_head(const uint8_t *bytes, size_t size, struct pp_parquet_page_head *out);

/* One entry of an OffsetIndex. */
struct pp_parquet_location {
    uint64_t at;
    uint32_t bytes; /* header included */
    uint64_t first_row;
};
/* -1: not an OffsetIndex. *out: malloc. */
int pp_parquet_locations(const uint8_t *bytes, size_t size, struct pp_parquet_location **out, size_t *n);

/* ---- one page, decoded ---- */

enum {
    PP_PARQUET_VALUES = 1 << 24, /* of a page */
    PP_PARQUET_BODY = 512 << 20  /* bytes of a page, packed and unpacked */
};

/* Why a page cannot be decoded, and its status. */
static inline const char *pp_parquet_fail(pp_status *status, pp_status code, const char *why)
{
    *status = code;
    return why;
}

struct pp_parquet_span {
    uint32_t at, size; /* in `base` */
};

/* The values that pages refer to by number. Its users are who decoded it, or pages.h for them, and the pages
 * that use it; the last one frees it. */
struct pp_parquet_dictionary {
    struct pp_page base; /* .free: one user less */
    atomic_uint users;
    uint8_t *raw;
    size_t bytes;
    uint32_t n;
    struct pp_parquet_span *span; /* BYTES; else raw holds n numbers */
};

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
