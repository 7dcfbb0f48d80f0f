/* columns/arrow_meta.h: messages of the Arrow IPC format (arrow.apache.org/docs/format/Columnar.html,
 * Schema.fbs, Message.fbs): the schema as leaf columns, and where the buffers of a record batch lie. A
 * stranger's bytes: nesting and counts are bounded, and every buffer is checked against its batch. */
#pragma once

#include "probe/columns/table.h"

/* FlatBuffers (flatbuffers.dev, internals), as far as the metadata need them: tables, vectors, strings and
 * scalars at places in memory. Every place is checked against the end of the bytes, and what is not there
 * reads as the default. Nothing here follows more than one reference, so that no call can run in a circle.
 * Pure functions; any thread. */
struct pp_flat {
    const uint8_t *bytes;
    size_t size;
};

/* Places are offsets from the beginning; 0 is none.
 * What the u32 there refers to, forward from its own place; at 0 the root table. */
size_t pp_flat_follow(const struct pp_flat *f, size_t at);
/* The table, string or vector that field id of the table refers to. */
size_t pp_flat_refer(const struct pp_flat *f, size_t table, int id);
/* Elements of a vector, each of `bytes`: how many, all of them within the bytes; *first gets the place of the
 * first. */
size_t pp_flat_vector(const struct pp_flat *f, size_t vector, size_t bytes, size_t *first);
/* A scalar at a place that was checked. */
int64_t pp_flat_read(const struct pp_flat *f, size_t at, unsigned bytes);

enum { PP_ARROW_DEPTH = 8, PP_ARROW_METADATA = 16 << 20 /* bytes of one message's */ };

enum pp_arrow_kind { PP_ARROW_SCHEMA = 1, PP_ARROW_DICTIONARY = 2, PP_ARROW_BATCH = 3 };

/* What a leaf adds to its struct pp_column of the same place. Nodes and buffers are numbered in the order of
 * a record batch. */
struct pp_arrow_leaf {
    uint32_t node[PP_ARROW_DEPTH],
        validity[PP_ARROW_DEPTH]; /* of the structs it is in, and of itself at last */
    uint32_t levels;
    uint32_t offsets;      /* buffer of offsets; 0: none (validity is always 0 at least) */
    unsigned offset_width; /* 4 or 8 */
    uint32_t data;
    uint32_t fixed; /* bytes of a value, or numbers of a list, that has one size; 0: it varies */
    int is_bits;
    uint32_t element_node, element_validity; /* of a list */
};

struct pp_arrow_schema {
    struct pp_arrow_leaf *leaf;
    uint32_t nodes, buffers; /* that each record batch has */
};

struct pp_arrow_message {
    int kind; /* enum pp_arrow_kind */
    uint64_t body;
    size_t header; /* place of its table */
};

/* -1: not a message. */
int pp_arrow_message(const struct pp_flat *f, struct pp_arrow_message *out);

/* header: place of a Schema. Columns of t, and leaves. Free s->leaf, also after a failure. */
pp_status pp_arrow_schema(const struct pp_flat *f, size_t header, struct pp_table *t,
                          struct pp_arrow_schema *s, struct pp_err *err);

/* Rows of a RecordBatch whose table is at header; -1: damaged. *packed tells whether its buffers are
 * compressed. */
int64_t pp_arrow_rows(const struct pp_flat *f, size_t header, int *packed);

/* Where the parts of a leaf are in a batch: offsets from the beginning of its body. */
struct pp_arrow_part {
    uint64_t at, size;
};
struct pp_arrow_place {
    struct pp_arrow_part validity[PP_ARROW_DEPTH]; /* size 0: nothing is null */
    struct pp_arrow_part offsets, data, element_validity;
    uint64_t elements; /* of the list's child */
};
/* -1: damaged: a buffer that is missing, too short for the rows, or outside of the body. */
int pp_arrow_place(const struct pp_flat *f, size_t header, uint64_t body, const struct pp_arrow_schema *s,
                   const struct pp_arrow_leaf *leaf, struct pp_arrow_place *out);
