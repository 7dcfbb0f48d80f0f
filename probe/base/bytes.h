/* base/bytes.h: numbers as files hold them, whatever the machine's own order and alignment. */
#ifndef PP_BASE_BYTES_H
#define PP_BASE_BYTES_H

#include <stdint.h>

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

#endif
