/* The table of decoders: which row takes which bytes, what is said when none does, and that a decoder is one
 * struct and one line: this file adds one for PPM images. */
#include "probe/base/err.h"
#include "probe/decode/decode.h"
#include "probe/decode/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- a decoder: binary PPM of at most 255, without comments ---- */

struct ppm {
    const uint8_t *pixels; /* of the image last opened */
    int width;
    int opened, left; /* calls */
};

static struct ppm *last_ppm; /* the state of the decoder under test */

static pp_status ppm_create(struct pp_image_arena *arena, void **out, struct pp_err *err)
{
    (void)arena;
    *out = last_ppm = calloc(1, sizeof(struct ppm));
    return *out ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for a PPM decoder");
}

static pp_status ppm_open(void *state, const struct pp_encoded *in, struct pp_image_info *info,
                          struct pp_err *err)
{
    struct ppm *p = state;
    char head[32] = "";
    int width, height, n = 0;
    memcpy(head, in->data, in->size < sizeof(head) ? in->size : sizeof(head) - 1);
    if (sscanf(head, "P6 %d %d 255%n", &width, &height, &n) != 2 || !n)
        return pp_fail(err, PP_E_CORRUPT, "cannot read the PPM header");
    pp_status st = pp_image_check_size((uint64_t)width, (uint64_t)height, err);
    if (st != PP_OK)
        return st;
    if (in->size < (size_t)n + 1 + (size_t)width * (size_t)height * 3)
        return pp_fail(err, PP_E_CORRUPT, "the PPM is truncated");
    p->pixels = in->data + n + 1;
    p->width = width;
    p->opened++;
    *info = (struct pp_image_info){.width = width, .height = height, .channels = 3, .orientation = 6};
    return PP_OK;
}

static pp_status ppm_region(void *state, struct pp_rect crop, struct pp_buffer *buf, struct pp_pixels *out,
                            struct pp_err *err)
{
    const struct ppm *p = state;
    size_t stride = (size_t)crop.width * 4;
    if (pp_buffer_reserve(buf, stride * (size_t)crop.height) != 0)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the region");
    for (int y = 0; y < crop.height; y++)
        for (int x = 0; x < crop.width; x++)
            memcpy(buf->data + (size_t)y * stride + (size_t)x * 4,
                   p->pixels + ((size_t)(crop.y + y) * (size_t)p->width + (size_t)(crop.x + x)) * 3, 3);
    *out = (struct pp_pixels){.data = buf->data,
                              .width = crop.width,
                              .height = crop.height,
                              .stride = stride};
    return PP_OK;
}

static void ppm_close(void *state)
{
    ((struct ppm *)state)->left++;
}

static const struct pp_decode_ops ppm = {
    .name = "PPM",
    .content = PP_CONTENT_IMAGE,
    .result = PP_DECODED_PIXELS,
    .signature = {{0, 3, "P6\n"}},
    .create = ppm_create,
    .destroy = free,
    .open = ppm_open,
    .region = ppm_region,
    .close = ppm_close,
};

static const struct pp_decode_ops *const with_ppm[] = {&pp_decode_jpeg, &pp_decode_png, &pp_decode_tokens,
                                                       &ppm, NULL};

/* ---- what the tests share ---- */

#define BYTES(text) (&(struct pp_encoded){.data = (const uint8_t *)(text), .size = sizeof(text) - 1})

/* 3 x 2: rows abc, def */
static const char image[] = "P6\n3 2 255\n"
                            "aaabbbccc"
                            "dddeeefff";

static struct pp_decoder *make(const struct pp_decoder_opts *opts)
{
    struct pp_decoder *d = NULL;
    struct pp_err err = {0};
    assert_int_equal(pp_decoder_create(opts, &d, &err), PP_OK);
    return d;
}

static char at(const struct pp_pixels *p, int x, int y)
{
    return (char)p->data[(size_t)y * p->stride + (size_t)x * 4];
}

/* ---- tests ---- */

static void every_row_of_the_table_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; pp_decode_rows[i]; i++) {
        const struct pp_decode_ops *o = pp_decode_rows[i];
        int pixels = o->result == PP_DECODED_PIXELS;
        assert_non_null(o->name);
        assert_int_equal(o->open && o->region, pixels);
        assert_int_equal(o->row != NULL, !pixels);
        assert_int_equal(o->phase != PP_PHASE_NONE, !pixels);
        assert_true(o->create || o->state_bytes || !o->destroy);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(pp_decode_rows[k]->name, o->name);
            /* a row that accepts everything would hide those after it */
            assert_true(pp_decode_rows[k]->content != o->content || pp_decode_rows[k]->signature[0].length);
        }
    }
}

static void the_first_bytes_choose(void **state)
{
    (void)state;
    static const struct {
        struct pp_encoded in;
        const struct pp_decode_ops *row;
    } rows[] = {
        {{(const uint8_t *)"\xff\xd8\xff\xe0", 4, 0}, &pp_decode_jpeg},
        {{(const uint8_t *)"\x89PNG\r\n\x1a\n", 8, 0}, &pp_decode_png},
        {{(const uint8_t *)"P6\n", 3, 0}, &ppm},
        {{(const uint8_t *)"P6", 2, 0}, NULL},
        {{(const uint8_t *)"\xff\xd8", 2, 0}, NULL},
        {{(const uint8_t *)"GIF89a", 6, 0}, NULL},
        {{(const uint8_t *)"", 0, 0}, NULL},
    };
    struct pp_decoder *d = make(&(struct pp_decoder_opts){.rows = with_ppm});
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_ptr_equal(pp_decoder_choose(d, &rows[i].in), rows[i].row);
    pp_decoder_destroy(d);
}

static void one_struct_and_one_line_add_a_decoder(void **state)
{
    (void)state;
    struct pp_decoder *d = make(&(struct pp_decoder_opts){.rows = with_ppm});
    struct pp_image_info info;
    struct pp_pixels p;
    struct pp_err err = {0};
    assert_int_equal(pp_decoder_open(d, BYTES(image), &info, &err), PP_OK);
    assert_string_equal(info.format, "PPM");
    assert_int_equal(info.width, 3);
    assert_int_equal(info.height, 2);
    assert_int_equal(pp_decoder_region(d, (struct pp_rect){1, 0, 2, 2}, &p, &err), PP_OK);
    assert_int_equal(at(&p, 0, 0), 'b');
    assert_int_equal(at(&p, 1, 1), 'f');
    assert_int_equal(pp_decoder_region(d, (struct pp_rect){2, 0, 2, 2}, &p, &err), PP_E_USAGE);
    /* the state lives as long as the decoder, and each image is left */
    assert_int_equal(pp_decoder_open(d, BYTES(image), &info, &err), PP_OK);
    assert_int_equal(last_ppm->opened, 2);
    assert_int_equal(last_ppm->left, 2);
    pp_decoder_destroy(d);
}

/* What decode.c does for images, it does for every row: orientation 6 shows columns from the left as rows. */
static void the_exif_rotation_is_every_rows(void **state)
{
    (void)state;
    struct pp_decoder *d = make(&(struct pp_decoder_opts){.exif_rotate = 1, .rows = with_ppm});
    struct pp_image_info info;
    struct pp_pixels p;
    assert_int_equal(pp_decoder_open(d, BYTES(image), &info, NULL), PP_OK);
    assert_int_equal(info.width, 2);
    assert_int_equal(info.height, 3);
    assert_int_equal(pp_decoder_region(d, (struct pp_rect){0, 0, 2, 3}, &p, NULL), PP_OK);
    const char shown[] = "daebfc";
    for (int i = 0; i < 6; i++)
        assert_int_equal(at(&p, i % 2, i / 2), shown[i]);
    pp_decoder_destroy(d);
}

/* As the build has them. */
#if PP_HAVE_WEBP
#define NONE_OF "none of JPEG, PNG, WebP"
#else
#define NONE_OF "neither JPEG nor PNG"
#endif

static void what_no_row_takes_is_said(void **state)
{
    (void)state;
    static const struct pp_decode_ops *const jpeg_alone[] = {&pp_decode_jpeg, NULL};
    static const struct {
        const struct pp_decode_ops *const *rows;
        struct pp_encoded in;
        pp_status status;
        const char *text;
    } cases[] = {
        {NULL, {(const uint8_t *)"GIF89a", 6, 0}, PP_E_UNSUPPORTED, NONE_OF ": it looks like a GIF"},
        {NULL,
         {(const uint8_t *)"\x89PN", 3, 0},
         PP_E_CORRUPT,
         "a PNG of only 3 bytes: the file is truncated"},
        {NULL,
         {(const uint8_t *)"P6\n", 3, 0},
         PP_E_UNSUPPORTED,
         NONE_OF ": it starts with the bytes 0x50 0x36"},
        {with_ppm,
         {(const uint8_t *)"P6", 2, 0},
         PP_E_CORRUPT,
         "a PPM of only 2 bytes: the file is truncated"},
        {with_ppm,
         {(const uint8_t *)"BM6", 3, 0},
         PP_E_UNSUPPORTED,
         "none of JPEG, PNG, PPM: it looks like a BMP image"},
        {jpeg_alone,
         {(const uint8_t *)"x", 1, 0},
         PP_E_UNSUPPORTED,
         "not JPEG: it starts with the byte 0x78 0x00"},
        {with_ppm, {(const uint8_t *)"", 0, 0}, PP_E_EMPTY, "the file is empty"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pp_decoder *d = make(&(struct pp_decoder_opts){.rows = cases[i].rows});
        struct pp_image_info info;
        struct pp_pixels p;
        struct pp_err err = {0};
        assert_int_equal(pp_decoder_open(d, &cases[i].in, &info, &err), cases[i].status);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(pp_decoder_region(d, (struct pp_rect){0, 0, 1, 1}, &p, &err), PP_E_USAGE);
        pp_decoder_destroy(d);
    }
}

static void tokens_are_a_row_like_any_other(void **state)
{
    (void)state;
    struct pp_decoder *d = make(&(struct pp_decoder_opts){.content = PP_CONTENT_TOKENS});
    struct pp_encoded in = {.data = (const uint8_t *)"\xff\xd8\xff\xe0", .size = 4, .index = 17};
    struct pp_image_info info;
    struct pp_err err = {0};
    char out[8] = "";
    assert_ptr_equal(pp_decoder_choose(d, &in), &pp_decode_tokens); /* whatever the bytes look like */
    assert_int_equal(pp_decoder_row(d, &in, out, 4, &err), PP_OK);
    assert_memory_equal(out, in.data, 4);
    assert_int_equal(pp_decoder_row(d, &in, out, 8, &err), PP_E_CORRUPT);
    assert_string_equal(err.text, "sample 17 holds 4 bytes, and the first one 8");
    assert_int_equal(pp_decoder_open(d, &in, &info, &err), PP_E_USAGE);
    pp_decoder_destroy(d);
    d = make(&(struct pp_decoder_opts){.content = PP_CONTENT_IMAGE});
    assert_int_equal(pp_decoder_row(d, &in, out, 4, &err), PP_E_USAGE);
    pp_decoder_destroy(d);
}

static pp_status fails_to_create(struct pp_image_arena *arena, void **out, struct pp_err *err)
{
    (void)arena;
    (void)out;
    return pp_fail(err, PP_E_NO_MEMORY, "no memory for this decoder");
}

static void a_row_that_cannot_be_made_ends_the_creation(void **state)
{
    (void)state;
    struct pp_decode_ops bad = ppm;
    bad.create = fails_to_create;
    const struct pp_decode_ops *const rows[] = {&pp_decode_jpeg, &bad, &pp_decode_png, NULL};
    struct pp_decoder *d = NULL;
    struct pp_err err = {0};
    assert_int_equal(pp_decoder_create(&(struct pp_decoder_opts){.rows = rows}, &d, &err), PP_E_NO_MEMORY);
    assert_string_equal(err.text, "no memory for this decoder");
    assert_null(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_table_is_complete),
        cmocka_unit_test(the_first_bytes_choose),
        cmocka_unit_test(one_struct_and_one_line_add_a_decoder),
        cmocka_unit_test(the_exif_rotation_is_every_rows),
        cmocka_unit_test(what_no_row_takes_is_said),
        cmocka_unit_test(tokens_are_a_row_like_any_other),
        cmocka_unit_test(a_row_that_cannot_be_made_ends_the_creation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
