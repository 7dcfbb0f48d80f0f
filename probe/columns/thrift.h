/* columns/thrift.h: Thrift's compact protocol (thrift/doc/specs/thrift-compact-protocol.md), as far as the
 * metadata of Parquet need it: a reader that goes forward over bytes in memory. The bytes are a stranger's:
 * nothing is read behind their end, nesting is bounded, and damage is remembered in `bad`, which is asked
 * once at the end. After damage every call answers zeros. One thread at a time. */
#pragma once

#include "probe/base/std.h"

struct pp_thrift {
    const uint8_t *at, *end;
    int bad;
    int depth; /* of what is skipped */
};

struct pp_thrift_text {
    const uint8_t *at; /* within the bytes that are read */
    size_t size;
};

enum pp_thrift_type {
    PP_THRIFT_TRUE = 1,
    PP_THRIFT_FALSE,
    PP_THRIFT_BYTE,
    PP_THRIFT_I16,
    PP_THRIFT_I32,
    PP_THRIFT_I64,
    PP_THRIFT_DOUBLE,
    PP_THRIFT_BINARY,
    PP_THRIFT_LIST,
    PP_THRIFT_SET,
    PP_THRIFT_MAP,
    PP_THRIFT_STRUCT
};

/* The next field of a struct: its type, or 0 at the struct's end. *id holds the id of the field before (0 at
 * the start) and gets that of this one. Its value has to be taken by one of the calls below. */
int pp_thrift_field(struct pp_thrift *t, int *id);

/* A member of a struct of ours that a field goes into; the rows of a struct end with id 0. */
struct pp_thrift_row {
    int id;
    enum pp_thrift_into {
        PP_THRIFT_NUMBER, /* an integer */
        PP_THRIFT_SIZE,   /* an integer that is not negative, and of 4 bytes fits an int32_t */
        PP_THRIFT_FLAG,   /* a bool */
        PP_THRIFT_SEEN,   /* passed over: 1 */
        PP_THRIFT_ID,     /* passed over: the id */
        PP_THRIFT_TEXT,   /* binary or string: a struct pp_thrift_text */
        PP_THRIFT_FIELDS  /* a struct, whose fields go by `fields` into the same struct of ours: the id */
    } into;
    size_t at, width; /* of the member: 4 or 8 bytes; 0: there is none */
    const struct pp_thrift_row *fields;
};
#define PP_THRIFT_ROW(number, kind, type, member) \
    .id = number, .into = PP_THRIFT_##kind, .at = offsetof(type, member), .width = sizeof(((type *)0)->member)

/* The fields of a struct to its end; those without a row are skipped. What has no field keeps its value. */
void pp_thrift_read(struct pp_thrift *t, const struct pp_thrift_row *rows, void *out);

/* Each takes a value of the type that pp_thrift_field gave; another type than it is for is damage. */
int64_t pp_thrift_int(struct pp_thrift *t, int type);
const uint8_t *pp_thrift_bytes(struct pp_thrift *t, int type, size_t *size);
/* The number of elements, which follow; *element gets their type. Never more than there are bytes left. */
size_t pp_thrift_list(struct pp_thrift *t, int type, int *element);
void pp_thrift_skip(struct pp_thrift *t, int type);
