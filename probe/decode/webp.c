/* The WebP decoder, through libwebp: still images, lossy and lossless. Built where pkg-config finds libwebp.
 *
 * The whole image is decoded whatever the crop, straight into the pixel buffer, and the region points into
 * it: each block follows from those before it, and a file that is damaged below the crop is an error for
 * every crop. Alpha is dropped and not blended, as PIL's convert("RGB") does. libwebp asks the system for its
 * own buffers: what it takes for the planes of a lossless image or of alpha is counted before it begins, its
 * entropy tables are not. */
#include "probe/base/bytes.h"
#include "probe/base/err.h"
#include "probe/decode/decode.h"

#include <webp/decode.h>

enum {
    RIFF_HEADER = 12, /* "RIFF", size, "WEBP" */
    CHUNK_HEADER = 8, /* type, size */
    LOSSLESS = 2,     /* of WebPBitstreamFeatures.format */
    CACHE_ROWS = 17,  /* of pixels that libwebp holds beside a lossless image (vp8l_dec.c) */
};

struct webp {
    struct pp_image_arena *arena; /* borrowed; first, as decode.c sets it; of it only the budget is used */
    struct pp_encoded in;         /* of the image last opened */
    WebPBitstreamFeatures features;
};

static pp_status fail_decode(VP8StatusCode why, struct pp_err *err)
{
    switch (why) {
    case VP8_STATUS_OUT_OF_MEMORY: return pp_fail(err, PP_E_NO_MEMORY, "no memory to decode the WebP");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return pp_fail(err, PP_E_UNSUPPORTED, "the WebP has a feature that libwebp does not decode");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
        return pp_fail(err, PP_E_CORRUPT, "cannot decode the WebP: the file is truncated");
    default: return pp_fail(err, PP_E_CORRUPT, "cannot decode the WebP: its data is damaged");
    }
}

static pp_status open_image(void *state, const struct pp_encoded *in, struct pp_image_info *info,
                            struct pp_err *err)
{
    struct webp *w = state;
    VP8StatusCode why = WebPGetFeatures(in->data, in->size, &w->features);
    if (why != VP8_STATUS_OK)
        return fail_decode(why, err);
    if (w->features.has_animation)
        return pp_fail(err, PP_E_UNSUPPORTED, "an animated WebP: only still images are decoded");
    pp_status status = pp_image_check_size((uint64_t)w->features.width, (uint64_t)w->features.height, err);
    if (status != PP_OK)
        return status;
    w->in = *in;
    *info = (struct pp_image_info){.width = w->features.width,
                                   .height = w->features.height,
                                   .channels = w->features.has_alpha ? 4 : 3,
                                   .orientation = 1};
    /* The EXIF chunk, found without libwebp so that it is bounded by the file alone. Some writers put the
     * name of the JPEG segment before the block. */
    size_t at = RIFF_HEADER, length;
    for (; in->size > at && in->size - at >= CHUNK_HEADER; at += CHUNK_HEADER + length + (length & 1)) {
        const uint8_t *chunk = in->data + at, *body = chunk + CHUNK_HEADER;
        length = pp_le32(chunk + 4);
        if (length > in->size - at - CHUNK_HEADER)
            break;
        if (memcmp(chunk, "EXIF", 4) == 0) {
            size_t skip = length >= 6 && memcmp(body, "Exif\0\0", 6) == 0 ? 6 : 0;
            info->orientation = pp_exif_orientation(body + skip, length - skip);
            break;
        }
    }
    return PP_OK;
}

static pp_status region(void *state, struct pp_rect crop, struct pp_buffer *buf, struct pp_pixels *out,
                        struct pp_err *err)
{
    struct webp *w = state;
    WebPDecoderConfig config;
    size_t width = (size_t)w->features.width, stride = width * 4, size = stride * (size_t)w->features.height;
    /* What libwebp holds beside the pixels: the image of a lossless one as 4 bytes a pixel, the alpha plane
     * of a lossy one, which may be coded as such an image itself. */
    size_t lossless = size + stride * CACHE_ROWS, inner = 0;
    if (w->features.format == LOSSLESS)
        inner = lossless;
    else if (w->features.has_alpha)
        inner = size / 4 + lossless;
    if (!WebPInitDecoderConfig(&config))
        return pp_fail(err, PP_E_UNSUPPORTED, "the libwebp found at run time is not the one built with");
    if (pp_buffer_reserve(buf, size) != 0 || !pp_image_budget_allows(w->arena->budget, inner))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to decode the WebP");
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = (WebPRGBABuffer){.rgba = buf->data, .stride = (int)stride, .size = size};
    VP8StatusCode why = WebPDecode(w->in.data, w->in.size, &config);
    WebPFreeDecBuffer(&config.output);
    if (why != VP8_STATUS_OK)
        return fail_decode(why, err);
    *out = (struct pp_pixels){.data = buf->data + (size_t)crop.y * stride + (size_t)crop.x * 4,
                              .width = crop.width,
                              .height = crop.height,
                              .stride = stride};
    return PP_OK;
}

const struct pp_decode_ops pp_decode_webp = {
    .name = "WebP",
    .content = PP_CONTENT_IMAGE,
    .result = PP_DECODED_PIXELS,
    .signature = {{0, 4, "RIFF"}, {8, 4, "WEBP"}}, /* between them a size */
    .state_bytes = sizeof(struct webp),
    .destroy = free,
    .open = open_image,
    .region = region,
};
