/* What all image codecs share: the limits of a header's size, and the EXIF orientation. */
#include "probe/decode/image.h"

#include "probe/base/err.h"

#include <stdlib.h>

#define TAG_ORIENTATION 0x0112u
#define TYPE_SHORT 3u
#define TYPE_LONG 4u
#define ENTRY_BYTES 12u

pp_status pp_image_check_size(uint64_t width, uint64_t height, struct pp_err *err)
{
    if (width == 0 || height == 0)
        return pp_fail(err, PP_E_CORRUPT, "the header claims an image of %llux%llu pixels",
                       (unsigned long long)width, (unsigned long long)height);
    if (width > PP_IMAGE_MAX_SIDE || height > PP_IMAGE_MAX_SIDE || width * height > PP_IMAGE_MAX_PIXELS)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%llux%llu pixels; at most %d on a side and 2^28 in all are decoded",
                       (unsigned long long)width, (unsigned long long)height, PP_IMAGE_MAX_SIDE);
    return PP_OK;
}

struct tiff {
    const uint8_t *data;
    size_t size;
    int big_endian;
};

/* Reads beyond the end give 0, which no caller takes for a valid offset, count or orientation. */
static uint32_t read_u16(const struct tiff *t, size_t at)
{
    if (t->size < 2 || at > t->size - 2)
        return 0;
    const uint8_t *p = t->data + at;
    return t->big_endian ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static uint32_t read_u32(const struct tiff *t, size_t at)
{
    uint32_t first = read_u16(t, at), second = read_u16(t, at + 2);
    return t->big_endian ? first << 16 | second : second << 16 | first;
}

static int entry_orientation(const struct tiff *t, size_t entry)
{
    uint32_t type = read_u16(t, entry + 2), count = read_u32(t, entry + 4);
    if (count != 1)
        return 0;
    uint32_t value = type == TYPE_SHORT  ? read_u16(t, entry + 8)
                     : type == TYPE_LONG ? read_u32(t, entry + 8)
                                         : 0;
    return value >= 1 && value <= 8 ? (int)value : 0;
}

int pp_exif_orientation(const uint8_t *data, size_t size)
{
    struct tiff t = {.data = data, .size = size};
    if (size < 8)
        return 1;
    t.big_endian = data[0] == 'M';
    if (data[0] != data[1] || (data[0] != 'M' && data[0] != 'I') || read_u16(&t, 2) != 42)
        return 1;

    size_t ifd = read_u32(&t, 4);
    uint32_t entries = read_u16(&t, ifd);
    int orientation = 1;
    /* A tag given twice counts by its last entry, as in PIL. */
    for (uint32_t i = 0; i < entries; i++) {
        size_t entry = ifd + 2 + (size_t)i * ENTRY_BYTES;
        if (entry + ENTRY_BYTES > size)
            break;
        if (read_u16(&t, entry) == TAG_ORIENTATION) {
            int value = entry_orientation(&t, entry);
            orientation = value ? value : 1;
        }
    }
    return orientation;
}

int pp_pixels_off_add(struct pp_pixels_off *to, const uint8_t *rgb, const struct pp_pixels *ours)
{
    int largest = 0;
    for (int y = 0; y < ours->height; y++)
        for (int x = 0; x < ours->width; x++) {
            const uint8_t *pixel = ours->data + (size_t)y * ours->stride + (size_t)x * 4;
            for (int c = 0; c < 3; c++, rgb++) {
                int off = abs(*rgb - pixel[c]);
                to->sum += (uint64_t)off;
                largest = off > largest ? off : largest;
            }
        }
    to->largest = largest > to->largest ? largest : to->largest;
    to->values += (uint64_t)ours->width * (uint64_t)ours->height * 3;
    to->images++;
    return largest;
}
