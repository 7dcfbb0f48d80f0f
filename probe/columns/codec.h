/* columns/codec.h: one block of compressed bytes as the bytes it was made of, whose number is known. gzip by
 * zlib, Zstandard by libzstd, Snappy and LZ4 by system libraries that are opened when a file first needs
 * them. Any thread.
 */
#ifndef PP_COLUMNS_CODEC_H
#define PP_COLUMNS_CODEC_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

enum pp_codec {
    PP_CODEC_NONE,
    PP_CODEC_SNAPPY,
    PP_CODEC_GZIP,
    PP_CODEC_ZSTD,
    PP_CODEC_LZ4,        /* a bare block */
    PP_CODEC_LZ4_HADOOP, /* blocks with their sizes before them, most significant byte first */
    PP_CODECS
};

/* PP_E_UNSUPPORTED: the library is not installed; the sentence says which. */
pp_status pp_codec_ready(enum pp_codec codec, struct pp_err *err);
/* Exactly out_size bytes. 0; or -1 when the block is damaged or of another size. Only after pp_codec_ready.
 */
int pp_codec_unpack(enum pp_codec codec, const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size);

#endif
