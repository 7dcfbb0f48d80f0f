/* decode/decode.h: JPEG and PNG bytes to 8-bit RGB pixels, exactly as PIL's Image.open(..).convert("RGB")
 * gives them.
 *
 * A region is decoded, not the whole image: for JPEG only the rows and MCU columns the crop needs (plus one
 * MCU margin, which makes the result identical to a full decode with islow DCT and fancy upsampling), so the
 * caller says the crop first. For PNG the whole image is decoded whatever the crop.
 *
 * As PIL does: CMYK and YCCK are taken as Adobe's inverted kind and converted without a profile, alpha is
 * dropped and not blended, 16-bit colour keeps its high byte, 16-bit grey is clipped to 255. What PIL calls
 * truncated is PP_E_CORRUPT for every crop, also one above the missing part; what it merely warns about
 * (rubbish behind the image, a scan that ends early but with an end marker) is accepted. Where we differ:
 * damage that libjpeg meets only behind the last row is accepted here, and a PNG whose image data lack their
 * checksum is not. */
#ifndef PP_DECODE_DECODE_H
#define PP_DECODE_DECODE_H

#include "probe/decode/image.h"

/* By content, never by name. */
enum pp_image_kind pp_image_sniff(const uint8_t *data, size_t size);

struct pp_decoder; /* one per worker thread; keeps its buffers */

pp_status pp_decoder_create(int exif_rotate, struct pp_decoder **out, struct pp_err *err);
void pp_decoder_destroy(struct pp_decoder *d);
/* Times its buffers had to grow, and bytes held now. What libjpeg (progressive images included) and libpng
 * allocate per image is served from a reused arena and counts only when that grows; a warm decoder makes no
 * call to the system's allocator. Beyond 32 MiB each, the arena and the pixel buffers are given back with the
 * next image, so that a huge one counts anew every time. */
uint64_t pp_decoder_grown(const struct pp_decoder *d);
size_t pp_decoder_footprint(const struct pp_decoder *d);

/* Parses the header. PP_E_EMPTY (0 bytes), PP_E_CORRUPT (truncated or damaged header), PP_E_UNSUPPORTED
 * (neither JPEG nor PNG; says what it looks like: GIF, WebP, HTML, ...; 12-bit or lossless JPEG; two
 * components; larger than the limits above). Dimensions that the file is too small to fill are PP_E_CORRUPT,
 * before anything is allocated for them. data must stay valid until the last pp_decoder_region of the image
 * returns. */
pp_status pp_decoder_open(struct pp_decoder *d, const uint8_t *data, size_t size, struct pp_image_info *info,
                          struct pp_err *err);
/* Decodes crop of the image last opened; may be called again for another crop. PP_E_USAGE when no image is
 * open or the crop is not inside it; PP_E_CORRUPT with libjpeg's or libpng's words for a damaged or truncated
 * body; PP_E_UNSUPPORTED for a JPEG of more than 500 scans. */
pp_status pp_decoder_region(struct pp_decoder *d, struct pp_rect crop, struct pp_pixels *out,
                            struct pp_err *err);

#endif
