/* A small table in the stream and the file format of Arrow IPC: 5 rows in batches of 3 and 2. Row i:
 * image.bytes is FF D8 FF E0 and "i" with its number, label 3, null, 5, -1, 7, ids 1 + i % 3 numbers from i
 * on. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct made_arrow {
    const uint8_t *bytes;
    size_t size;
};
extern const struct made_arrow made_arrow_stream, made_arrow_file;
