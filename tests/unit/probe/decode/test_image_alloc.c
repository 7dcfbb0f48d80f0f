/* A warm decoder and transform do not call the system's allocator: every call of the process goes through the
 * functions below and is counted, libjpeg's and libpng's included. Sanitizers bring their own allocator, so
 * under them only the decoder's own count is checked. */
#include "probe/decode/decode.h"
#include "probe/transform/transform.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/image_samples.h"

static unsigned long calls, fail_at; /* the call from which on all fail, counted like calls; 0: none */
static unsigned long live;           /* blocks not yet freed */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_CALLS 1
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

void __libc_free(void *p);

static int fails(void)
{
    if (++calls < fail_at || fail_at == 0)
        return 0;
    errno = ENOMEM;
    return 1;
}

static void *counted(void *p)
{
    live += p != NULL;
    return p;
}

void *malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
    if (fails())
        return NULL;
    live += p == NULL;
    return __libc_realloc(p, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return fails() ? NULL : counted(__libc_memalign(align, size));
}

void free(void *p)
{
    live -= p != NULL;
    __libc_free(p);
}
#else
#define COUNTS_CALLS 0
#endif

struct fixture {
    struct pp_decoder *decoder;
    struct pp_transform *transform;
    struct pp_buffer scratch;
    uint8_t *out;
};

static void load(struct fixture *f, struct bytes file, uint64_t sample)
{
    struct pp_image_info info;
    struct pp_pixels pixels;
    struct pp_transform_plan plan;
    assert_int_equal(pp_decoder_open(f->decoder, &(struct pp_encoded){.data = file.data, .size = file.size},
                                     &info, NULL),
                     PP_OK);
    pp_transform_draw(f->transform, info.width, info.height, (struct pp_sample_key){1, 0, sample}, &plan);
    assert_int_equal(pp_decoder_region(f->decoder, plan.crop, &pixels, NULL), PP_OK);
    assert_int_equal(pp_transform_apply(f->transform, &plan, &pixels, &f->scratch, f->out, NULL), PP_OK);
}

enum { SIZES = 3 };

/* Three sizes of one kind, largest first. */
static void make_files(const char *kind, struct bytes files[SIZES])
{
    static const int sides[SIZES][2] = {{500, 375}, {499, 200}, {33, 47}};
    for (int i = 0; i < SIZES; i++) {
        struct jpeg_kind k = {.width = sides[i][0],
                              .height = sides[i][1],
                              .space = JCS_YCbCr,
                              .h = {2, 1, 1, 2},
                              .v = {2, 1, 1, 2}};
        k.progressive = strcmp(kind, "progressive") == 0;
        k.arithmetic = strcmp(kind, "arithmetic") == 0;
        k.orientation = strcmp(kind, "EXIF rotated") == 0 ? 6 : 0;
        if (strcmp(kind, "grey") == 0)
            k.space = JCS_GRAYSCALE;
        if (strcmp(kind, "CMYK") == 0)
            k.space = JCS_YCCK;
        if (strncmp(kind, "PNG", 3) == 0) {
            uint8_t *samples = calloc((size_t)k.width * (size_t)k.height, 3);
            files[i] = encode_png(k.width, k.height, 8, PNG_COLOR_TYPE_RGB,
                                  strstr(kind, "interlaced") != NULL, samples, (size_t)k.width * 3, NULL, 0);
            free(samples);
        } else {
            files[i] = encode_jpeg(&k, (uint64_t)i);
        }
    }
}

static void warm_images_do_not_allocate(void **state)
{
    static const char *const kinds[] = {"baseline",   "grey",         "CMYK", "progressive",
                                        "arithmetic", "EXIF rotated", "PNG",  "PNG interlaced"};
    struct fixture f = {0};
    assert_int_equal(pp_decoder_create(&(struct pp_decoder_opts){.exif_rotate = 1}, &f.decoder, NULL), PP_OK);
    assert_int_equal(pp_transform_parse("rrc:224,hflip,normalize=imagenet", PP_DTYPE_F32, &f.transform, NULL),
                     PP_OK);
    f.out = malloc(pp_transform_bytes(f.transform));
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        struct bytes files[SIZES];
        make_files(kinds[k], files);
        struct pp_image_info info;
        struct pp_pixels whole;
        for (uint64_t i = 0; i < 3; i++) { /* warm up with the largest, the whole of it, and with small crops,
                                              which need most taps */
            assert_int_equal(
                pp_decoder_open(f.decoder, &(struct pp_encoded){.data = files[0].data, .size = files[0].size},
                                &info, NULL),
                PP_OK);
            assert_int_equal(pp_decoder_region(f.decoder, (struct pp_rect){0, 0, info.width, info.height},
                                               &whole, NULL),
                             PP_OK);
        }
        for (uint64_t i = 0; i < 60; i++)
            load(&f, files[0], i);
        unsigned long before = calls;
        uint64_t grown = pp_decoder_grown(f.decoder) + f.scratch.grown;
        for (uint64_t i = 0; i < 45; i++)
            load(&f, files[i % SIZES], i);
        if (calls != before || pp_decoder_grown(f.decoder) + f.scratch.grown != grown)
            fail_msg("%s: %lu calls of the allocator in 45 warm images", kinds[k], calls - before);
        for (int i = 0; i < SIZES; i++)
            free(files[i].data);
    }
    /* The counts do count: plain libjpeg's calls are seen, and growth is seen in both. */
    struct jpeg_kind large = {.width = 1500, .height = 1200, .space = JCS_YCbCr};
    unsigned long before = calls;
    struct bytes file = encode_jpeg(&large, 1);
    assert_true(!COUNTS_CALLS || calls > before + 5);
    before = calls;
    uint64_t grown = pp_decoder_grown(f.decoder);
    load(&f, file, 7);
    assert_true(pp_decoder_grown(f.decoder) > grown);
    assert_true(!COUNTS_CALLS || calls > before);
    free(file.data);
    free(f.out);
    pp_buffer_free(&f.scratch);
    pp_transform_destroy(f.transform);
    pp_decoder_destroy(f.decoder);
}

static pp_status whole_life(struct bytes file, uint8_t *out, struct pp_err *err)
{
    struct fixture f = {0};
    struct pp_image_info info;
    struct pp_pixels pixels;
    struct pp_transform_plan plan;
    pp_status status;
    if ((status = pp_decoder_create(&(struct pp_decoder_opts){.exif_rotate = 1}, &f.decoder, err)) != PP_OK ||
        (status = pp_transform_parse("rrc:64,hflip", PP_DTYPE_U8, &f.transform, err)) != PP_OK)
        goto out;
    if ((status = pp_decoder_open(f.decoder, &(struct pp_encoded){.data = file.data, .size = file.size},
                                  &info, err)) != PP_OK)
        goto out;
    pp_transform_draw(f.transform, info.width, info.height, (struct pp_sample_key){1, 0, 0}, &plan);
    if ((status = pp_decoder_region(f.decoder, plan.crop, &pixels, err)) == PP_OK)
        status = pp_transform_apply(f.transform, &plan, &pixels, &f.scratch, out, err);
out:
    pp_buffer_free(&f.scratch);
    pp_transform_destroy(f.transform);
    pp_decoder_destroy(f.decoder);
    return status;
}

/* From every allocation on, all fail (libjpeg tries again with less when one does): the call that needed it
 * says so, and nothing is left behind. */
static void each_allocation_may_fail(void **state)
{
    static const char *const kinds[] = {"baseline", "progressive", "EXIF rotated", "PNG interlaced"};
    static uint8_t out[64 * 64 * 3];
    if (!COUNTS_CALLS) {
        print_message("# not tried: the sanitizers bring their own allocator\n");
        return;
    }
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        struct bytes files[SIZES];
        make_files(kinds[k], files);
        pp_status status = PP_E_NO_MEMORY;
        unsigned long n = 0;
        while (status != PP_OK) {
            struct pp_err err = {0};
            unsigned long blocks = live;
            fail_at = calls + ++n;
            status = whole_life(files[0], out, &err);
            fail_at = 0;
            if ((status != PP_OK && status != PP_E_NO_MEMORY) || err.code != status || live != blocks)
                fail_msg("%s, allocation %lu fails: %s: %s; %ld blocks left", kinds[k], n,
                         pp_status_name(status), err.text, (long)(live - blocks));
        }
        print_message("# %s: %lu allocations failed in turn\n", kinds[k], n - 1);
        assert_true(n > 5);
        for (int i = 0; i < SIZES; i++)
            free(files[i].data);
    }
}

/* One huge image must not stay in memory: what it needed beyond the limit is given back with the next. */
static void a_huge_image_is_forgotten(void **state)
{
    struct pp_decoder *d = NULL;
    struct pp_image_info info;
    struct pp_pixels p;
    struct jpeg_kind huge_kind = {.width = 4200,
                                  .height = 3000,
                                  .space = JCS_GRAYSCALE,
                                  .progressive = 1,
                                  .quality = 20},
                     small_kind = {.width = 64, .height = 64, .space = JCS_YCbCr};
    struct bytes huge = encode_jpeg(&huge_kind, 1), small = encode_jpeg(&small_kind, 1);
    assert_int_equal(pp_decoder_create(&(struct pp_decoder_opts){.exif_rotate = 0}, &d, NULL), PP_OK);
    assert_int_equal(pp_decoder_open(d, &(struct pp_encoded){.data = huge.data, .size = huge.size}, &info,
                                     NULL),
                     PP_OK);
    assert_int_equal(pp_decoder_region(d, (struct pp_rect){0, 0, 4200, 3000}, &p, NULL), PP_OK);
    assert_true(pp_decoder_footprint(d) > 60u << 20);
    assert_int_equal(pp_decoder_open(d, &(struct pp_encoded){.data = small.data, .size = small.size}, &info,
                                     NULL),
                     PP_OK);
    assert_int_equal(pp_decoder_region(d, (struct pp_rect){0, 0, 64, 64}, &p, NULL), PP_OK);
    assert_true(pp_decoder_footprint(d) < 33u << 20);
    free(huge.data);
    free(small.data);
    pp_decoder_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warm_images_do_not_allocate),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(a_huge_image_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
