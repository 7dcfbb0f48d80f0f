/* base/bytes.h: numbers as files hold them, whatever the machine's own order and alignment. A varint is
 * LEB128, as protocol buffers, Thrift and Parquet have it. */
#pragma once

#include "probe/base/std.h"

enum { PP_VARINT_BYTES = 10 }; /* at the most */

/* Returns what follows it. */
static inline uint8_t *pp_varint_put(uint8_t *to, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *to++ = (uint8_t)(v | 0x80);
    *to++ = (uint8_t)v;
    return to;
}

/* Moves *at behind it; 0: the bytes end in it, or it has more than 64 bits. */
static inline int pp_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *v)
{
    *v = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        *v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return shift < 63 || byte <= 1;
    }
    return 0;
}

/* A signed number whose sign stands in the lowest bit (zigzag). */
static inline uint64_t pp_zigzag_get(uint64_t v)
{
    return v >> 1 ^ (0 - (v & 1));
}

static inline uint32_t pp_le32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t pp_le64(const uint8_t *at)
{
    return pp_le32(at) | (uint64_t)pp_le32(at + 4) << 32;
}

static inline uint32_t pp_be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}
