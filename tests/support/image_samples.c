#include "tests/support/image_samples.h"

static int components_of(J_COLOR_SPACE space)
{
    return space == JCS_GRAYSCALE ? 1 : space == JCS_CMYK || space == JCS_YCCK ? 4 : 3;
}

/* Gradients, a few edges and noise: no two neighbouring blocks alike. */
static void paint_row(uint8_t *row, int y, int width, int channels, struct pp_rng *rng)
{
    for (int x = 0; x < width; x++) {
        for (int c = 0; c < channels; c++) {
            int v = (x * (3 + c) + y * (5 - c)) / 3 + ((x / 11 + y / 7 + c) & 1 ? 60 : 0) +
                    (int)pp_rng_below(rng, 40);
            row[x * channels + c] = (uint8_t)v;
        }
    }
}

static size_t put_exif(uint8_t *out, int orientation, int big_endian)
{
    static const uint8_t little[] = "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\0\0\0\0\0\0\0\0";
    static const uint8_t big[] = "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0";
    memcpy(out, big_endian ? big : little, sizeof(little) - 1);
    out[big_endian ? 25 : 24] = (uint8_t)orientation;
    return sizeof(little) - 1;
}

struct bytes encode_jpeg(const struct jpeg_kind *k, uint64_t seed)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr e;
    struct pp_rng rng = pp_rng_key(seed, 0, 0, 0);
    unsigned char *buf = NULL;
    unsigned long size = 0;
    jpeg_scan_info scans[8];

    c.err = jpeg_std_error(&e);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &buf, &size);
    c.image_width = (JDIMENSION)k->width;
    c.image_height = (JDIMENSION)k->height;
    c.input_components = components_of(k->space);
    c.in_color_space = k->space == JCS_YCCK ? JCS_CMYK : k->space == JCS_YCbCr ? JCS_RGB : k->space;
    jpeg_set_defaults(&c);
    jpeg_set_colorspace(&c, k->space);
    jpeg_set_quality(&c, k->quality ? k->quality : 85, TRUE);
    for (int i = 0; i < c.num_components; i++) {
        c.comp_info[i].h_samp_factor = k->h[i] ? k->h[i] : 1;
        c.comp_info[i].v_samp_factor = k->v[i] ? k->v[i] : 1;
    }
    c.restart_in_rows = k->restart_rows;
    c.restart_interval = (unsigned)k->restart_blocks;
    c.arith_code = k->arithmetic ? TRUE : FALSE;
    if (k->progressive)
        jpeg_simple_progression(&c);
    if (k->separate_scans) {
        for (int i = 0; i < c.num_components; i++)
            scans[i] = (jpeg_scan_info){.comps_in_scan = 1, .component_index = {i}, .Se = 63};
        c.scan_info = scans;
        c.num_scans = c.num_components;
    }
    jpeg_start_compress(&c, TRUE);
    if (k->orientation) {
        uint8_t exif[64];
        size_t n = put_exif(exif, k->orientation, k->exif_big_endian);
        jpeg_write_marker(&c, JPEG_APP0 + 1, exif, (unsigned)n);
    }
    uint8_t *row = malloc((size_t)k->width * 4);
    for (int y = 0; y < k->height; y++) {
        JSAMPROW rows[1] = {row};
        paint_row(row, y, k->width, c.input_components, &rng);
        jpeg_write_scanlines(&c, rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    return (struct bytes){buf, size};
}

static uint8_t ref_mul_div_255(int a, int b)
{
    int t = a * b + 128;
    return (uint8_t)((t + (t >> 8)) >> 8);
}

struct quiet_error {
    struct jpeg_error_mgr mgr;
    jmp_buf jump;
};

static void quiet_exit(j_common_ptr cinfo)
{
    longjmp(((struct quiet_error *)cinfo->err)->jump, 1);
}

static void quiet_message(j_common_ptr cinfo, int level)
{
    if (level < 0 && cinfo->err->msg_code == JWRN_JPEG_EOF)
        quiet_exit(cinfo);
}

uint8_t *decode_jpeg_whole(struct bytes file, int *width, int *height)
{
    struct jpeg_decompress_struct d;
    struct quiet_error e;
    d.err = jpeg_std_error(&e.mgr);
    e.mgr.error_exit = quiet_exit;
    e.mgr.emit_message = quiet_message;
    jpeg_create_decompress(&d);
    uint8_t *volatile out = NULL;
    if (setjmp(e.jump)) {
        jpeg_destroy_decompress(&d);
        free(out);
        return NULL;
    }
    jpeg_mem_src(&d, file.data, file.size);
    jpeg_read_header(&d, TRUE);
    d.out_color_space = d.num_components == 4 ? JCS_CMYK : JCS_EXT_RGBX;
    d.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&d);
    *width = (int)d.output_width;
    *height = (int)d.output_height;
    out = malloc((size_t)d.output_width * d.output_height * 4);
    while (d.output_scanline < d.output_height) {
        JSAMPROW row = out + (size_t)d.output_scanline * d.output_width * 4;
        jpeg_read_scanlines(&d, &row, 1);
    }
    if (d.num_components == 4) {
        for (size_t i = 0; i < (size_t)*width * (size_t)*height; i++) {
            uint8_t *p = out + i * 4;
            for (int c = 0; c < 3; c++)
                p[c] = (uint8_t)(p[3] - ref_mul_div_255(255 - p[c], p[3]));
        }
    }
    jpeg_abort_decompress(&d);
    jpeg_destroy_decompress(&d);
    return out;
}

struct png_sink {
    uint8_t *data;
    size_t size, capacity;
};

static void png_to_sink(png_structp png, png_bytep data, size_t n)
{
    struct png_sink *s = png_get_io_ptr(png);
    if (s->size + n > s->capacity) {
        s->capacity = (s->size + n) * 2;
        s->data = realloc(s->data, s->capacity);
    }
    memcpy(s->data + s->size, data, n);
    s->size += n;
}

struct bytes encode_png(int width, int height, int depth, int colour, int interlaced, const uint8_t *samples,
                        size_t row_bytes, const png_color *palette, int n_palette)
{
    struct png_sink sink = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_bytep *rows = malloc((size_t)height * sizeof(*rows));
    for (int y = 0; y < height; y++)
        rows[y] = (png_bytep)(uintptr_t)(samples + (size_t)y * row_bytes);
    png_set_write_fn(png, &sink, png_to_sink, NULL);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, depth, colour,
                 interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    if (palette)
        png_set_PLTE(png, info, palette, n_palette);
    png_write_info(png, info);
    png_write_image(png, rows);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    free(rows);
    return (struct bytes){sink.data, sink.size};
}

uint32_t png_crc(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}
