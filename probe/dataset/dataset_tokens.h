/* dataset/dataset_tokens.h: the header of a NumPy .npy file (format versions 1 to 3, numpy.lib.format), as
 * far as it takes to read the tokens behind it. A pure function; any thread. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_npy {
    uint64_t items;
    int item_bytes;       /* 2 or 4 */
    uint64_t data_offset; /* of the first item */
};

/* data: the first size bytes of a file of file_size bytes, name: for sentences. Accepts one-dimensional
 * little-endian arrays of uint16, uint32 and int32. PP_E_CORRUPT (no header, cut header, claims more than the
 * file holds), PP_E_UNSUPPORTED (other types, shapes, versions). Reads nothing beyond size, whatever the
 * bytes. */
pp_status pp_npy_parse(const uint8_t *data, size_t size, uint64_t file_size, const char *name,
                       struct pp_npy *out, struct pp_err *err);

/* Bytes of the file that are enough to parse any header numpy writes for such an array. */
#define PP_NPY_HEAD 65536
