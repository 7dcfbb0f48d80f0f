/* decode/jpeg_plain.h: whether a JPEG is of the plain kind that another decoder may be given: a look at its
 * markers from first to last, on the CPU. A stream that is not what it seems can leave a GPU's context
 * unusable, so whatever is odd is decoded by libjpeg-turbo, which says what is wrong with it. */
#pragma once

#include "probe/base/std.h"

/* NULL: baseline, 8 bits, three components of YCbCr in one interleaved scan or a grey one, tables and
 * end-of-image marker there. Else what it is instead: "progressive", "4 components", "truncated". Any bytes;
 * reads size of them at most. */
const char *pp_jpeg_not_plain(const uint8_t *data, size_t size);

/* How chroma is sampled: decoders differ in how they scale it up. Of a plain JPEG; any bytes, as above. */
enum pp_jpeg_sampling {
    PP_JPEG_444,
    PP_JPEG_422,
    PP_JPEG_420,
    PP_JPEG_440,
    PP_JPEG_GRAY,
    PP_JPEG_OTHER,
    PP_JPEG_SAMPLINGS
};
enum pp_jpeg_sampling pp_jpeg_sampling(const uint8_t *data, size_t size);
const char *pp_jpeg_sampling_name(enum pp_jpeg_sampling s); /* "4:2:0", "gray", "other" */
