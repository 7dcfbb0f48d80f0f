#include "probe/decode/jpeg_plain.h"

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
    int components; /* 0: no frame yet */
    int huffman, quantisation, restarts;
};

static const char truncated[] = "truncated", damaged[] = "a damaged header";

static unsigned number(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

/* p: the segment's length field. */
static const char *check_frame(const uint8_t *p, size_t length)
{
    if (length < 8)
        return damaged;
    if (p[2] != 8)
        return "not of 8 bits";
    if (p[7] != 3 && p[7] != 1)
        return p[7] == 4 ? "4 components" : "an odd number of components";
    if (length != 8 + 3 * (size_t)p[7] || number(p + 3) == 0 || number(p + 5) == 0)
        return damaged;
    /* As libjpeg guesses without an Adobe marker. */
    return p[7] == 3 && p[8] == 'R' && p[11] == 'G' && p[14] == 'B' ? "not YCbCr" : NULL;
}

static const char *check_segment(int marker, const uint8_t *p, size_t length, struct seen *s)
{
    if (marker == SOS) {
        size_t components = (size_t)s->components;
        if (!s->components || !s->huffman || !s->quantisation)
            return "without tables";
        if (length < 3 || p[2] != components)
            return "several scans";
        const uint8_t *band = p + 3 + 2 * components;
        return length == 6 + 2 * components && band[0] == 0 && band[1] == 63 && band[2] == 0 ? NULL : damaged;
    }
    if (marker == SOF0) {
        const char *odd = s->components ? damaged : check_frame(p, length);
        s->components = odd ? 0 : p[7];
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

/* The marker at *p: *p becomes its segment's length field, which says *length. NULL, or what is odd. */
static const char *next_segment(const uint8_t **p, const uint8_t *end, int *marker, size_t *length)
{
    if (end - *p < 4)
        return truncated;
    if (*(*p)++ != 0xff)
        return damaged;
    while (end - *p > 3 && **p == 0xff)
        ++*p;
    *marker = *(*p)++;
    if (end - *p < 2)
        return truncated;
    *length = number(*p);
    if (*marker == TEM || (*marker >= RST0 && *marker <= EOI) || *marker == 0 || *length < 2)
        return damaged;
    return (size_t)(end - *p) < *length ? truncated : NULL;
}

const char *pp_jpeg_not_plain(const uint8_t *data, size_t size)
{
    struct seen seen = {0};
    const uint8_t *p = data + 2, *end = data + size;
    if (size < 2 || data[0] != 0xff || data[1] != SOI)
        return "no JPEG";
    for (;;) {
        int marker = 0;
        size_t length = 0;
        const char *odd = next_segment(&p, end, &marker, &length);
        if (!odd)
            odd = check_segment(marker, p, length, &seen);
        if (odd)
            return odd;
        p += length;
        if (marker == SOS) {
            /* From the first byte behind the scan's header: nothing but data and restarts up to the
             * end-of-image marker.
             */
            while ((p = memchr(p, 0xff, (size_t)(end - p))) && ++p < end) {
                while (p < end && *p == 0xff)
                    p++;
                if (p == end)
                    break;
                if (*p == EOI)
                    return NULL;
                if (*p != 0 && !(seen.restarts && *p >= RST0 && *p <= RST7))
                    return "several scans";
                p++;
            }
            return truncated;
        }
    }
}

/* ---- sampling ---- */

enum pp_jpeg_sampling pp_jpeg_sampling(const uint8_t *data, size_t size)
{
    static const struct {
        int luma;
        enum pp_jpeg_sampling sampling;
    } rows[] = {{0x11, PP_JPEG_444}, {0x21, PP_JPEG_422}, {0x22, PP_JPEG_420}, {0x12, PP_JPEG_440}};
    const uint8_t *p = data + 2, *end = data + size;
    int marker = 0;
    size_t length = 0;
    if (size < 2)
        return PP_JPEG_OTHER;
    do { /* to the frame */
        p += length;
        if (next_segment(&p, end, &marker, &length) || marker == SOS)
            return PP_JPEG_OTHER;
    } while (marker != SOF0);
    if (check_frame(p, length))
        return PP_JPEG_OTHER;
    if (p[7] == 1)
        return PP_JPEG_GRAY;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && p[12] == 0x11 && p[15] == 0x11; i++)
        if (p[9] == rows[i].luma)
            return rows[i].sampling;
    return PP_JPEG_OTHER;
}

const char *pp_jpeg_sampling_name(enum pp_jpeg_sampling s)
{
    static const char *const names[PP_JPEG_SAMPLINGS] = {
        [PP_JPEG_444] = "4:4:4", [PP_JPEG_422] = "4:2:2", [PP_JPEG_420] = "4:2:0",
        [PP_JPEG_440] = "4:4:0", [PP_JPEG_GRAY] = "gray", [PP_JPEG_OTHER] = "other"};
    return names[s];
}
