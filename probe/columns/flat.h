/* columns/flat.h: FlatBuffers (flatbuffers.dev, internals), as far as the metadata of Arrow need them:
 * tables, vectors, strings and scalars at places in memory. The bytes are a stranger's: every place is
 * checked against their end, and what is not there reads as the default. Nothing here follows more than one
 * reference, so that no call can run in a circle. Pure functions; any thread. */
#ifndef PP_COLUMNS_FLAT_H
#define PP_COLUMNS_FLAT_H

#include <stddef.h>
#include <stdint.h>

struct pp_flat {
    const uint8_t *bytes;
    size_t size;
};

/* Places are offsets from the beginning; 0 is none. */
size_t pp_flat_root(const struct pp_flat *f);
/* The table, string or vector that field id of the table refers to. */
size_t pp_flat_refer(const struct pp_flat *f, size_t table, int id);
/* A scalar of 1, 2, 4 or 8 bytes, with its sign. */
int64_t pp_flat_number(const struct pp_flat *f, size_t table, int id, unsigned bytes, int64_t otherwise);
/* Elements of a vector, each of `bytes`: how many, all of them within the bytes; *first gets the place of the
 * first. */
size_t pp_flat_vector(const struct pp_flat *f, size_t vector, size_t bytes, size_t *first);
/* The table that element i of a vector of tables refers to. */
size_t pp_flat_element(const struct pp_flat *f, size_t first, size_t i);
/* A scalar at a place that was checked. */
int64_t pp_flat_read(const struct pp_flat *f, size_t at, unsigned bytes);

#endif
