/* decode/image_codec.h: what decode.c needs of the JPEG and PNG decoders. Inside the room only.
 *
 * A codec decodes regions in the file's own orientation; decode.c does sniffing, limits, EXIF rotation. Each
 * keeps its state between images and takes memory from the decoder's arena, which decode.c resets before
 * every open. */
#ifndef PP_DECODE_IMAGE_CODEC_H
#define PP_DECODE_IMAGE_CODEC_H

#include "probe/decode/image.h"
#include "probe/decode/image_memory.h"

struct pp_jpeg;
pp_status pp_jpeg_create(struct pp_image_arena *arena, struct pp_jpeg **out, struct pp_err *err);
void pp_jpeg_destroy(struct pp_jpeg *j);
/* Leaves the last image; before the arena is reset. */
void pp_jpeg_abort(struct pp_jpeg *j);
pp_status pp_jpeg_open(struct pp_jpeg *j, const uint8_t *data, size_t size, struct pp_image_info *info,
                       struct pp_err *err);
pp_status pp_jpeg_region(struct pp_jpeg *j, struct pp_rect crop, struct pp_buffer *buf, struct pp_pixels *out,
                         struct pp_err *err);

struct pp_png {
    struct pp_image_arena *arena; /* borrowed */
    const uint8_t *data;          /* of the image last opened */
    size_t size;
};
pp_status pp_png_open(struct pp_png *p, const uint8_t *data, size_t size, struct pp_image_info *info,
                      struct pp_err *err);
pp_status pp_png_region(struct pp_png *p, struct pp_rect crop, struct pp_buffer *buf, struct pp_pixels *out,
                        struct pp_err *err);

#endif
