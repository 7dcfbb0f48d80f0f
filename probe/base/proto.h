/* base/proto.h: writing protocol buffers by hand: fields appended to a growing buffer. Wire format:
 * protobuf.dev, "Encoding".
 *
 * A nested message is opened with one byte kept for its length; a longer one is moved up when it is closed.
 * Running out of memory sticks: check failed at the end. */
#pragma once

#include "probe/base/std.h"

struct pp_proto {
    uint8_t *buf;
    size_t n, cap;
    int failed;
};

void pp_proto_uint(struct pp_proto *p, unsigned field,
                   uint64_t v); /* also enums and bools, and int64 that are not negative */
void pp_proto_int(struct pp_proto *p, unsigned field, int64_t v);
void pp_proto_fixed64(struct pp_proto *p, unsigned field, uint64_t v);
void pp_proto_double(struct pp_proto *p, unsigned field, double v);
void pp_proto_float(struct pp_proto *p, unsigned field, float v);
void pp_proto_str(struct pp_proto *p, unsigned field, const char *s);
void pp_proto_bytes(struct pp_proto *p, unsigned field, const void *bytes, size_t n);
/* Repeated numbers of fixed size in one field ("packed"). */
void pp_proto_packed_fixed64(struct pp_proto *p, unsigned field, const uint64_t *v, size_t n);
/* Returns what pp_proto_end needs. */
size_t pp_proto_begin(struct pp_proto *p, unsigned field);
void pp_proto_end(struct pp_proto *p, size_t opened);
void pp_proto_free(struct pp_proto *p);
