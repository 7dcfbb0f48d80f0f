/* base/content.h: what a sample's bytes are. A dataset declares it, a decoder is chosen by it
 * (decode/decode.h). */
#pragma once

#include "probe/base/std.h"

enum pp_content {
    PP_CONTENT_IMAGE,  /* an image file; which format, its first bytes say */
    PP_CONTENT_TOKENS, /* numbers, as the batch holds them: a window of tokens, a row of a table */
    PP_CONTENT_TEXT    /* bytes of any length; the batch holds the first PP_TEXT_ROW of them */
};

/* What a text takes of a batch: no tokenizer runs here, so that it is cut there, or filled with zeros. */
enum { PP_TEXT_ROW = 1024 };

/* What one sample may take, if nothing else is said: its bytes and all buffers of its decode. 512 MiB are 179
 * million pixels of 3 bytes, from which on PIL calls an image a decompression bomb. */
#define PP_SAMPLE_MEMORY ((uint64_t)512 << 20)
