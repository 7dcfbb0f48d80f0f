#include "probe/decode/jpeg_plain.h"

#include <string.h>

enum {
    SOF0 = 0xc0,
    SOF15 = 0xcf,
    DHT = 0xc4,
    JPG = 0xc8,
    DAC = 0xcc,
    RST0 = 0xd0,
    RST7 = 0xd7,
    SOI = 0xd8,
    EOI = 0xd9
};
enum { SOS = 0xda, DQT = 0xdb, DRI = 0xdd, APP14 = 0xee, TEM = 0x01 };

struct seen {
    int frame, huffman, quantisation, restarts;
};

static const char truncated[] = "truncated", damaged[] = "a damaged header";

static unsigned number(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

/* p: the segment's length field. */
static const char *check_frame(const uint8_t *p, size_t length)
{
    static const char *const names[] = {"not of 8 bits", "1 component", "4 components"};
    if (length < 8)
        return damaged;
    if (p[2] != 8)
        return names[0];
    if (p[7] != 3)
        return p[7] == 1 ? names[1] : p[7] == 4 ? names[2] : "an odd number of components";
    if (length != 8 + 3 * 3 || number(p + 3) == 0 || number(p + 5) == 0)
        return damaged;
    /* As libjpeg guesses without an Adobe marker. */
    return p[8] == 'R' && p[11] == 'G' && p[14] == 'B' ? "not YCbCr" : NULL;
}

static const char *check_scan(const uint8_t *p, size_t length, const struct seen *s)
{
    if (!s->frame || !s->huffman || !s->quantisation)
        return "without tables";
    if (length < 3 || p[2] != 3)
        return "several scans";
    return length == 6 + 2 * 3 && p[9] == 0 && p[10] == 63 && p[11] == 0 ? NULL : damaged;
}

static const char *check_segment(int marker, const uint8_t *p, size_t length, struct seen *s)
{
    if (marker == SOF0) {
        const char *odd = s->frame ? damaged : check_frame(p, length);
        s->frame = 1;
        return odd;
    }
    if (marker == SOF0 + 2)
        return "progressive";
    if (marker > SOF0 && marker <= SOF15 && marker != DHT && marker != JPG)
        return "not baseline";
    if (marker == APP14 && length >= 14 && memcmp(p + 2, "Adobe", 5) == 0 && p[13] != 1)
        return "not YCbCr";
    s->huffman |= marker == DHT;
    s->quantisation |= marker == DQT;
    s->restarts |= marker == DRI;
    return NULL;
}

/* From the first byte behind the scan's header: nothing but data and restarts up to the end-of-image marker.
 */
static const char *check_data(const uint8_t *p, const uint8_t *end, const struct seen *s)
{
    while ((p = memchr(p, 0xff, (size_t)(end - p))) && ++p < end) {
        while (p < end && *p == 0xff)
            p++;
        if (p == end)
            break;
        if (*p == EOI)
            return NULL;
        if (*p != 0 && !(s->restarts && *p >= RST0 && *p <= RST7))
            return "several scans";
        p++;
    }
    return truncated;
}

const char *pp_jpeg_not_plain(const uint8_t *data, size_t size)
{
    struct seen seen = {0};
    const uint8_t *p = data + 2, *end = data + size;
    if (size < 2 || data[0] != 0xff || data[1] != SOI)
        return "no JPEG";
    for (;;) {
        if (end - p < 4)
            return truncated;
        if (*p++ != 0xff)
            return damaged;
        while (end - p > 3 && *p == 0xff)
            p++;
        int marker = *p++;
        if (end - p < 2)
            return truncated;
        size_t length = number(p);
        if (marker == TEM || (marker >= RST0 && marker <= EOI) || marker == 0 || length < 2)
            return damaged;
        if ((size_t)(end - p) < length)
            return truncated;
        const char *odd = marker == SOS ? check_scan(p, length, &seen)
                                        : check_segment(marker, p, length, &seen);
        if (odd)
            return odd;
        p += length;
        if (marker == SOS)
            return check_data(p, end, &seen);
    }
}
