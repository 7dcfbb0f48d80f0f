/* decode/decode.h: from a sample's bytes to what the batch takes. Decoders are rows of one table.
 *
 *   pp_decoder_choose(first bytes)
 *     -> PP_DECODED_PIXELS: open -> (the caller draws a crop) -> region -> transform -> batch row
 *     -> PP_DECODED_ROW:    row -> batch row
 *
 * The content that the dataset declares (base/content.h) selects the rows that are asked, the sample's first
 * bytes select the one that decodes it. A new decoder is one file with one struct pp_decode_ops, and one line
 * in pp_decode_rows (decode.c); test_decode.c has the smallest one there is. What a GPU decodes is no row: it
 * takes a batch at a time (loader/decoding.c), and rows decode what it does not take. */
#pragma once

#include "probe/base/content.h"
#include "probe/decode/image.h"

#include <pipeprobe/phase.h>

struct pp_buffer;      /* decode/image_memory.h */
struct pp_image_arena; /* decode/image_memory.h */

/* A sample as it was read. */
struct pp_encoded {
    const uint8_t *data;
    size_t size;
    uint64_t index; /* for sentences */
};

/* ---- a row of the table ---- */

enum pp_decode_result {
    PP_DECODED_PIXELS, /* a region of pixels for the transform; the row has open and region */
    PP_DECODED_ROW     /* the row of the batch itself; the row has row, and the loader has no transform */
};

/* Every hook of a decoder is called by the one thread that owns it. Hooks marked "or NULL" may be absent. */
struct pp_decode_ops {
    const char *name; /* "JPEG"; in pp_image_info and in sentences */
    enum pp_content content;
    enum pp_decode_result result;
    pp_phase phase; /* PP_DECODED_ROW: the phase that its work is recorded as */

    /* How its samples begin; none: all samples of the content. */
    struct pp_decode_signature {
        size_t at, length; /* length 0: there is none */
        const char *bytes;
    } signature[2];

    /* One state per worker: so many bytes, zeroed, that begin with the arena (a pointer); or what create
     * makes. Neither: there is none, and the other hooks get NULL. The arena is borrowed, serves one image at
     * a time and is reset before each open. */
    size_t state_bytes;
    pp_status (*create)(struct pp_image_arena *arena, void **state, struct pp_err *err);
    void (*destroy)(void *state); /* or NULL; state may be NULL */

    /* PP_DECODED_PIXELS. Orientation is the file's: decode.c rotates. Errors as for pp_decoder_open and
     * pp_decoder_region. */
    pp_status (*open)(void *state, const struct pp_encoded *in, struct pp_image_info *info,
                      struct pp_err *err);
    /* crop lies inside the image. buf is the decoder's pixel memory: grown as needed; out points into it. */
    pp_status (*region)(void *state, struct pp_rect crop, struct pp_buffer *buf, struct pp_pixels *out,
                        struct pp_err *err);
    /* Leaves the image last opened, if there is one, before the arena is reset; or NULL. */
    void (*close)(void *state);

    /* PP_DECODED_ROW: all size bytes of the batch row. PP_E_CORRUPT when the sample does not fill it. */
    pp_status (*row)(void *state, const struct pp_encoded *in, void *out, size_t size, struct pp_err *err);
};

extern const struct pp_decode_ops pp_decode_jpeg, pp_decode_png, pp_decode_tokens, pp_decode_text;
extern const struct pp_decode_ops pp_decode_webp; /* only where the build found libwebp */

/* The rows in the order in which they are asked; NULL after the last. */
extern const struct pp_decode_ops *const pp_decode_rows[];

/* The names of the rows that give pixels, ending with NULL: what can be decoded. At most size of them, NULL
 * included. */
void pp_decode_image_names(const char **names, size_t size);

/* ---- what the loader calls ---- */

struct pp_decoder; /* one per worker thread; keeps its buffers */

struct pp_decoder_opts {
    enum pp_content content;
    int exif_rotate;     /* images are shown as their EXIF orientation says */
    size_t memory_limit; /* of one image: its bytes and all buffers of its decode; 0: PP_SAMPLE_MEMORY */
    const struct pp_decode_ops *const *rows; /* borrowed; NULL: pp_decode_rows */
};

pp_status pp_decoder_create(const struct pp_decoder_opts *opts, struct pp_decoder **out, struct pp_err *err);
void pp_decoder_destroy(struct pp_decoder *d); /* NULL is fine */
/* Times its buffers had to grow, and bytes held now. What libjpeg (progressive images included) and libpng
 * allocate per image is served from a reused arena and counts only when that grows; a warm decoder makes no
 * call to the system's allocator. Beyond 32 MiB each, the arena and the pixel buffers are given back with the
 * next image, so that a huge one counts anew every time. */
uint64_t pp_decoder_grown(const struct pp_decoder *d);
size_t pp_decoder_footprint(const struct pp_decoder *d);

/* The row that decodes these bytes; NULL when none accepts them: pp_decoder_open then says what they look
 * like. */
const struct pp_decode_ops *pp_decoder_choose(const struct pp_decoder *d, const struct pp_encoded *in);

/* Chooses, and parses the header. PP_E_EMPTY (0 bytes), PP_E_CORRUPT (truncated or damaged header),
 * PP_E_UNSUPPORTED (accepted by no row; says what it looks like: GIF, WebP, HTML, ...; 12-bit or lossless
 * JPEG; two components; larger than the limits of image.h). Dimensions that the file is too small to fill are
 * PP_E_CORRUPT, before anything is allocated for them. PP_E_USAGE when the row gives no pixels. The bytes
 * must stay valid until the last pp_decoder_region of the image returns. */
pp_status pp_decoder_open(struct pp_decoder *d, const struct pp_encoded *in, struct pp_image_info *info,
                          struct pp_err *err);
/* Decodes crop of the image last opened; may be called again for another crop. PP_E_USAGE when no image is
 * open or the crop is not inside it; PP_E_CORRUPT with the library's words for a damaged or truncated body;
 * PP_E_UNSUPPORTED for a JPEG of more scans than any real one (32 to 500, by its size), and for an image that
 * needs more memory than the limit. */
pp_status pp_decoder_region(struct pp_decoder *d, struct pp_rect crop, struct pp_pixels *out,
                            struct pp_err *err);
/* Fills a whole row of the batch, of size bytes. PP_E_USAGE when the row of the table gives pixels, else as
 * its hook. */
pp_status pp_decoder_row(struct pp_decoder *d, const struct pp_encoded *in, void *out, size_t size,
                         struct pp_err *err);
