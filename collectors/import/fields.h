/* import/fields.h: a protocol buffer read field by field from pp_bytes, in memory of fixed size: a message is
 * entered or skipped, never held. Wire format: protobuf.dev, "Encoding". One thread at a time.
 *
 *     struct pp_fields f = {.bytes = bytes, .ends = {UINT64_MAX}};
 *     while (pp_fields_next(&f))
 *         if (f.number == 1 && f.wire == PP_WIRE_BYTES) {
 *             pp_fields_enter(&f);
 *             while (pp_fields_next(&f)) ...       ends with the message, which is left then
 *         }
 *
 * Bytes that are no message, or end inside of one, end the reading on all levels; what was whole before is
 * the caller's. */
#pragma once

#include "collectors/import/bytes.h"

enum { PP_FIELDS_DEPTH = 8 };
enum pp_wire { PP_WIRE_VARINT = 0, PP_WIRE_FIXED64 = 1, PP_WIRE_BYTES = 2, PP_WIRE_FIXED32 = 5 };

struct pp_fields {
    /* of the field at hand */
    uint32_t number;
    enum pp_wire wire;
    uint64_t value; /* of BYTES: how many */
    /* of the reading */
    const char *ended;      /* NULL: whole so far; else how it ended, for a sentence */
    struct pp_bytes *bytes; /* borrowed */
    const uint8_t *run, *at, *end;
    uint64_t before; /* bytes before this run of them */
    uint64_t body_ends, ends[PP_FIELDS_DEPTH];
    int depth;
};

/* 1: the next field of the message that was entered last; 0: it has no more, and is left. The rest of a field
 * that was neither entered nor read whole is skipped. */
int pp_fields_next(struct pp_fields *f);
/* The field at hand, BYTES, is a message. */
void pp_fields_enter(struct pp_fields *f);
/* Its first size - 1 bytes as a text that ends with a zero; zeros in it become blanks. */
void pp_fields_text(struct pp_fields *f, char *text, size_t size);
/* Where it stands, in bytes of the unpacked file. */
uint64_t pp_fields_at(const struct pp_fields *f);
