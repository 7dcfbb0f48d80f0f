/* base/crc32c.h: the CRC-32C of Castagnoli (iSCSI, RFC 3720 appendix B.4), which TFRecord files carry. Uses
 * the CPU's instruction where there is one. Any thread. */
#pragma once

#include "probe/base/std.h"

uint32_t pp_crc32c(const uint8_t *bytes, size_t size);
