/* base/content.h: what a sample's bytes are. A dataset declares it, a decoder is chosen by it
 * (decode/decode.h). */
#ifndef PP_BASE_CONTENT_H
#define PP_BASE_CONTENT_H

enum pp_content {
    PP_CONTENT_IMAGE, /* an image file; which format, its first bytes say */
    PP_CONTENT_TOKENS /* a window of token numbers, as the batch holds it */
};

#endif
