#include "probe/base/proto.h"

#include "probe/base/array.h"
#include "probe/base/bytes.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

static int has_room(struct pp_proto *p, size_t n)
{
    p->failed |= !p->failed && !pp_grow(&p->buf, &p->cap, p->n + n, 1);
    return !p->failed;
}

static void put_varint(struct pp_proto *p, uint64_t v)
{
    if (has_room(p, PP_VARINT_BYTES))
        p->n = (size_t)(pp_varint_put(p->buf + p->n, v) - p->buf);
}

static void put_bytes(struct pp_proto *p, const void *bytes, size_t n)
{
    if (has_room(p, n)) {
        memcpy(p->buf + p->n, bytes, n);
        p->n += n;
    }
}

static void put_tag(struct pp_proto *p, unsigned field, unsigned wire)
{
    put_varint(p, (uint64_t)field << 3 | wire);
}

void pp_proto_uint(struct pp_proto *p, unsigned field, uint64_t v)
{
    put_tag(p, field, WIRE_VARINT);
    put_varint(p, v);
}

void pp_proto_int(struct pp_proto *p, unsigned field, int64_t v)
{
    pp_proto_uint(p, field, (uint64_t)v);
}

static void put_little(struct pp_proto *p, uint64_t v, int n)
{
    uint8_t little[8];
    for (int i = 0; i < n; i++)
        little[i] = (uint8_t)(v >> (8 * i));
    put_bytes(p, little, (size_t)n);
}

void pp_proto_fixed64(struct pp_proto *p, unsigned field, uint64_t v)
{
    put_tag(p, field, WIRE_FIXED64);
    put_little(p, v, 8);
}

void pp_proto_double(struct pp_proto *p, unsigned field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    pp_proto_fixed64(p, field, bits);
}

void pp_proto_float(struct pp_proto *p, unsigned field, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof(bits));
    put_tag(p, field, WIRE_FIXED32);
    put_little(p, bits, 4);
}

void pp_proto_str(struct pp_proto *p, unsigned field, const char *s)
{
    pp_proto_bytes(p, field, s, strlen(s));
}

void pp_proto_bytes(struct pp_proto *p, unsigned field, const void *bytes, size_t n)
{
    put_tag(p, field, WIRE_LENGTH);
    put_varint(p, n);
    put_bytes(p, bytes, n);
}

void pp_proto_packed_fixed64(struct pp_proto *p, unsigned field, const uint64_t *v, size_t n)
{
    put_tag(p, field, WIRE_LENGTH);
    put_varint(p, n * 8);
    for (size_t i = 0; i < n; i++)
        put_little(p, v[i], 8);
}

size_t pp_proto_begin(struct pp_proto *p, unsigned field)
{
    put_tag(p, field, WIRE_LENGTH);
    put_bytes(p, "", 1);
    return p->n;
}

void pp_proto_end(struct pp_proto *p, size_t opened)
{
    uint8_t length[PP_VARINT_BYTES];
    size_t n = p->n - opened, k = (size_t)(pp_varint_put(length, n) - length);
    if (!has_room(p, k - 1))
        return;
    if (k > 1)
        memmove(p->buf + opened + k - 1, p->buf + opened, n);
    memcpy(p->buf + opened - 1, length, k);
    p->n += k - 1;
}

void pp_proto_free(struct pp_proto *p)
{
    free(p->buf);
    *p = (struct pp_proto){0};
}
