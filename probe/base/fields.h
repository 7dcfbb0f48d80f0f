/* base/fields.h: plain structs described by tables, one row per field: what it is called, where it lies, its
 * type, its unit and what it means. From such a table follow the JSON document, CSV, the JSON schema and the
 * reference page (tests/support/field_docs.h writes the last two); none of them lists fields again.
 *
 * Tables are constant and end with PP_FIELDS_END. A type follows from the C type of the member, so a table
 * does not compile when a member changes to a type that cannot be shown. Unknown is NULL, NAN or a getter's
 * PP_VALUE_NULL, and is shown as null; zero is zero. */
#pragma once

#include "probe/base/std.h"

enum pp_field_type {
    PP_FIELD_END,
    /* scalars */
    PP_FIELD_TEXT,   /* const char * */
    PP_FIELD_CHARS,  /* char[] */
    PP_FIELD_NUMBER, /* double */
    PP_FIELD_UINT64, /* uint64_t, size_t */
    PP_FIELD_UINT32, /* uint32_t, unsigned */
    PP_FIELD_INT,    /* int */
    PP_FIELD_BOOL,   /* int, shown as true or false */
    PP_FIELD_ANY,    /* what its getter says, text or number */
    /* from here on with a table of their own: objects in an object ... */
    PP_FIELD_OBJECT, /* in place; at 0: fields of the same struct under a key of their own */
    PP_FIELD_INLINE, /* the same without a key: its fields stand among those of the object around it */
    /* ... and many rows. rows_at: first row, count_at: how many */
    PP_FIELD_ROWS,    /* an array of objects */
    PP_FIELD_LIST,    /* an array of the table's first field */
    PP_FIELD_COLUMNS, /* an object of arrays: field by field over all rows, each on one line */
    PP_FIELD_MAP,     /* an object: of each row the table's first field is a key, the second its value */
};

/* What a number is of: how people read it. */
enum pp_field_unit {
    PP_UNIT_NONE,
    PP_UNIT_COUNT,
    PP_UNIT_RATE, /* three significant digits: samples/s, a mean depth */
    PP_UNIT_NS,
    PP_UNIT_S,
    PP_UNIT_SHARE, /* 0.25 is 25 % */
    PP_UNIT_BYTES,
    PP_UNIT_BYTES_PER_S,
    PP_UNIT_NUMBER, /* two decimals */
    PP_UNIT_GAIN,   /* as a share up to 1; 1.4 is "2.4 times" */
    PP_UNIT_FACTOR, /* up to three significant digits: 2, 0.7, 31.2 */
};

enum {
    PP_FIELD_INDIRECT = 1,       /* object, rows: a pointer to it lies there; NULL: null, and no rows */
    PP_FIELD_ALWAYS = 2,         /* never null */
    PP_FIELD_EMPTY_UNKNOWN = 4,  /* "" and 0 are null */
    PP_FIELD_LAST = 8,           /* in a document it comes behind those without this flag */
    PP_FIELD_COUNT_OF_ROOT = 16, /* count_at is an offset in the root, not in the row */
    PP_FIELD_ONE_LINE = 32,      /* a list on one line */
    PP_FIELD_SKIP_NULL = 64,     /* a map has no entry for a value that is null */
};

struct pp_value {
    enum { PP_VALUE_NULL, PP_VALUE_TEXT, PP_VALUE_NUMBER, PP_VALUE_UINT, PP_VALUE_INT, PP_VALUE_BOOL } kind;
    union {
        const char *text;
        double number;
        uint64_t uint;
        int integer;
    };
};

/* For what no member holds. root: the struct the whole document is of. */
typedef struct pp_value pp_field_get(const void *row, const void *root);
/* Such a function as one expression of r, the row, and root.
 *
 *     PP_VALUE_OF(stage_lane, struct pp_live_stage, pp_value_text(pp_lane_name(r->lane)))
 */
#define PP_VALUE_OF(name, type, value) \
    static struct pp_value name(const void *row, const void *root) \
    { \
        const type *r = row; \
        (void)r; \
        return value; \
    }

struct pp_field {
    const char *key; /* units in it */
    enum pp_field_type type;
    enum pp_field_unit unit;
    unsigned flags;
    size_t at, count_at;           /* offsets */
    size_t count;                  /* rows, where their number is fixed */
    size_t newest;                 /* of the rows only so many of the last; 0: all */
    size_t stride;                 /* from row to row */
    const struct pp_field *fields; /* of an object or a row */
    pp_field_get *get;             /* instead of what lies at `at` */
    const char *const *values;     /* the texts it can be, ends with NULL; NULL: any */
    const char *range;             /* "0..1", "0.."; NULL: any */
    const char *help;              /* what it is, one line */
    const char *name;              /* for people, where they read it in a list; NULL: the key */
};
#define PP_FIELDS_END \
    { \
        .key = NULL \
    }

#define PP_FIELD_TYPE_OF(member) \
    _Generic((member), \
        char *: PP_FIELD_CHARS, \
        const char *: PP_FIELD_TEXT, \
        double: PP_FIELD_NUMBER, \
        uint64_t: PP_FIELD_UINT64, \
        uint32_t: PP_FIELD_UINT32, \
        int: PP_FIELD_INT)
/* A scalar member of struct type; key and member, unit (NS for PP_UNIT_NS), what it is, and more fields of
 * the row if need be: .range = "0..1". */
#define PP_FIELD_AT(struct_type, name_in_documents, member, unit_name, text, ...) \
    { \
        .key = name_in_documents, .type = PP_FIELD_TYPE_OF(((struct_type *)0)->member), \
        .unit = PP_UNIT_##unit_name, .at = offsetof(struct_type, member), .help = text, __VA_ARGS__ \
    }
/* A member that is 0 or not. */
#define PP_FLAG_AT(struct_type, name_in_documents, member, text) \
    { \
        .key = name_in_documents, .type = PP_FIELD_BOOL, .at = offsetof(struct_type, member), .help = text \
    }
/* What no member holds: of PP_FIELD_kind, from a getter. */
#define PP_FIELD_MADE(name_in_documents, kind, getter, text, ...) \
    { \
        .key = name_in_documents, .type = PP_FIELD_##kind, .get = getter, .help = text, __VA_ARGS__ \
    }
/* Where and how many: rows behind a pointer, with their number in another member. */
#define PP_ROWS_AT(struct_type, member, number) \
    .at = offsetof(struct_type, member), .count_at = offsetof(struct_type, number), \
    .stride = sizeof(*((struct_type *)0)->member), .flags = PP_FIELD_INDIRECT
/* The same in an array that is part of the struct. */
#define PP_ROWS_IN(struct_type, member, number) \
    .at = offsetof(struct_type, member), .count_at = offsetof(struct_type, number), \
    .stride = sizeof(*((struct_type *)0)->member)

static inline struct pp_value pp_value_text(const char *text)
{
    return (struct pp_value){.kind = text ? PP_VALUE_TEXT : PP_VALUE_NULL, .text = text};
}
static inline struct pp_value pp_value_number(double v)
{
    return (struct pp_value){.kind = PP_VALUE_NUMBER, .number = v};
}
static inline struct pp_value pp_value_uint(uint64_t v)
{
    return (struct pp_value){.kind = PP_VALUE_UINT, .uint = v};
}
static inline struct pp_value pp_value_bool(int v)
{
    return (struct pp_value){.kind = PP_VALUE_BOOL, .integer = v};
}

static inline int pp_field_is_scalar(const struct pp_field *f)
{
    return f->type < PP_FIELD_OBJECT;
}

/* The value of a scalar. */
struct pp_value pp_field_value(const struct pp_field *f, const void *row, const void *root);
/* As a number, for what counts or measures; NAN when it is null or a text. */
double pp_value_as_number(const struct pp_value *v);
/* A number as its unit is read; "-" for NAN. At least 40 bytes; returns buf or a constant. */
const char *pp_unit_text(enum pp_field_unit unit, double number, char *buf, size_t size);

/* The struct an object's fields lie in; NULL: null. */
const void *pp_field_object(const struct pp_field *f, const void *row);
/* How many rows, and the first of them. */
size_t pp_field_rows(const struct pp_field *f, const void *row, const void *root, const char **first);

/* The field at "verdict.fixes" and in *row what it lies in. "": NULL, and *row stays. NULL as well where an
 * object on the way is null. A key that is in no table is an assertion. */
const struct pp_field *pp_fields_find(const struct pp_field *fields, const char *path, const void **row);
/* The field of that key in this table. */
const struct pp_field *pp_fields_key(const struct pp_field *fields, const char *key);

/* The whole struct as one JSON document, indented by two; 0, or -1 when writing failed. */
int pp_fields_json(const struct pp_field *fields, const void *root, FILE *out);
