/* Fuzz target: a sample's bytes through the decoder: JPEG, PNG, and WebP where the build has it. Whatever
 * they are, the answer is a sentence or a region of pixels, within the memory limit. What is taken for a
 * plain JPEG has a header that says the same. */
#include "tests/fuzz/fuzz.h"

#include "probe/dataset/synthetic_image.h"
#include "probe/decode/decode.h"
#include "probe/decode/jpeg_plain.h"

#include <stdlib.h>
#include <string.h>
#if PP_HAVE_WEBP
#include <webp/encode.h>
#endif

enum { LIMIT = 8 << 20 };

static void decode(struct pp_decoder *d, const struct pp_encoded *in)
{
    struct pp_image_info info;
    struct pp_pixels p;
    struct pp_err err = {0};
    int plain = !pp_jpeg_not_plain(in->data, in->size);
    pp_status st = pp_decoder_open(d, in, &info, &err);
    enum pp_jpeg_sampling sampling = pp_jpeg_sampling(in->data, in->size);
    if (plain && st == PP_OK &&
        (info.progressive || (info.channels == 1) != (sampling == PP_JPEG_GRAY) ||
         (info.channels != 3 && info.channels != 1)))
        abort();
    if (st == PP_OK)
        st = pp_decoder_region(d,
                               (struct pp_rect){.x = info.width / 3,
                                                .y = info.height / 3,
                                                .width = info.width - info.width / 3,
                                                .height = info.height - info.height / 3},
                               &p, &err);
    if (st != PP_OK) {
        if (!err.text[0])
            abort();
        return;
    }
    volatile unsigned sum = 0;
    for (int y = 0; y < p.height; y++)
        sum += p.data[(size_t)y * p.stride] + p.data[(size_t)y * p.stride + (size_t)(p.width - 1) * 4];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pp_decoder *d;
    if (!d && pp_decoder_create(&(struct pp_decoder_opts){.exif_rotate = 1, .memory_limit = LIMIT}, &d,
                                NULL) != PP_OK)
        abort();
    decode(d, &(struct pp_encoded){.data = data, .size = size});
    return 0;
}

/* 1x1 pixels each, as PIL writes them. */
static const uint8_t png[] = {0x89, 'P',  'N', 'G', 0x0d, 0x0a, 0x1a, 0x0a, 0,    0,    0,   0x0d, 'I',  'H',
                              'D',  'R',  0,   0,   0,    1,    0,    0,    0,    1,    8,   2,    0,    0,
                              0,    0x90, 'w', 'S', 0xde, 0,    0,    0,    0x0c, 'I',  'D', 'A',  'T',  0x78,
                              0x9c, 'c',  '`', '`', '`',  0,    0,    0,    4,    0,    1,   0xf6, 0x17, '8',
                              'U',  0,    0,   0,   0,    'I',  'E',  'N',  'D',  0xae, 'B', '`',  0x82};

static int seed_webp(unsigned i, uint8_t **data, size_t *size)
{
    *size = 0;
#if PP_HAVE_WEBP
    uint8_t rgba[16 * 16 * 4], *made = NULL;
    for (size_t k = 0; k < sizeof(rgba); k++)
        rgba[k] = (uint8_t)(k * k >> (k % 5));
    if (i < 2)
        *size = i ? WebPEncodeLosslessRGBA(rgba, 16, 16, 64, &made)
                  : WebPEncodeRGBA(rgba, 16, 16, 64, 60, &made);
    if (*size && (*data = malloc(*size)))
        memcpy(*data, made, *size);
    WebPFree(made);
#endif
    return *size != 0;
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    static const struct pp_synthetic_spec made[] = {
        {.width = 50, .height = 40, .quality = 80},
        {.width = 33, .height = 47, .quality = 95, .luma_h = 1, .luma_v = 1},
        {.width = 40, .height = 24, .quality = 60, .luma_h = 2, .luma_v = 1},
        {.width = 24, .height = 24, .quality = 60, .gray = 1},
        {.width = 30, .height = 30, .format = PP_SYNTHETIC_PNG},
    };
    enum { MADE = sizeof(made) / sizeof(*made) };
    if (i < MADE)
        return pp_synthetic_image(&made[i], data, size, NULL) == PP_OK;
    if (i > MADE)
        return seed_webp(i - MADE - 1, data, size);
    *size = sizeof(png);
    *data = malloc(*size);
    memcpy(*data, png, *size);
    return 1;
}
