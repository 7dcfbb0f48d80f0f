/* The tables of a sample's resizing, used as the device uses them (the lines of device/resize.cuh, run on the
 * CPU): the same pixels give the CPU transform's sample, bit for bit. */
#include "probe/base/rng.h"
#include "probe/transform/transform.h"
#include "tests/fake/fake_kernels.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void one_sample(const struct pp_transform *t, enum pp_dtype dtype, int width, int height,
                       uint64_t sample)
{
    struct pp_transform_plan plan;
    struct pp_transform_axes axes;
    struct pp_buffer scratch = {0};
    struct pp_err err;
    struct pp_rng r = pp_rng_key(sample, 0, 0, 0);
    size_t pitch = (size_t)width * 3 + 7, size = pp_transform_bytes(t);
    uint8_t *rgb = malloc(pitch * (size_t)height), *rgbx = malloc((size_t)width * (size_t)height * 4),
            *want = malloc(size), *got = malloc(size);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 3; c++)
                rgb[(size_t)y * pitch + (size_t)x * 3 + (size_t)c] =
                    rgbx[((size_t)y * (size_t)width + (size_t)x) * 4 + (size_t)c] = (uint8_t)
                        pp_rng_below(&r, 256);
    pp_transform_draw(t, width, height, (struct pp_sample_key){3, 1, sample}, &plan);
    const struct pp_pixels pixels = {.data = rgbx +
                                             ((size_t)plan.crop.y * (size_t)width + (size_t)plan.crop.x) * 4,
                                     .width = plan.crop.width,
                                     .height = plan.crop.height,
                                     .stride = (size_t)width * 4};
    assert_int_equal(pp_transform_apply(t, &plan, &pixels, &scratch, want, &err), PP_OK);
    size_t most = pp_transform_axes_bytes(t, &plan);
    int32_t *tables = malloc(most);
    assert_int_equal(pp_transform_axes(t, &plan, &scratch, tables, &axes, &err), PP_OK);
    assert_true(axes.bytes <= most);
    const struct pp_resize_job job = {
        .pixels = (uintptr_t)(rgb + (size_t)plan.crop.y * pitch + (size_t)plan.crop.x * 3),
        .out = (uintptr_t)got,
        .tables = (uintptr_t)tables,
        .pitch = (unsigned)pitch,
        .x_count = axes.x_count,
        .x_taps = axes.x_taps,
        .y_count = axes.y_count,
        .y_taps = axes.y_taps,
        .left = axes.left,
        .top = axes.top,
        .flip = axes.flip,
    };
    const struct fake_resize_args a = {.jobs = &job,
                                       .table = pp_transform_values(t),
                                       .width = (unsigned)pp_transform_width(t),
                                       .height = (unsigned)pp_transform_height(t),
                                       .images = 1};
    const struct fake_kernel k = {.value_bytes = pp_dtype_size(dtype)};
    fake_resize(&k, &a, (struct fake_index){2, 1}, (struct fake_index){32, 1});
    if (memcmp(want, got, size) != 0)
        fail_msg("%s, %s, image of %dx%d, sample %llu differs", pp_transform_text(t), pp_dtype_name(dtype),
                 width, height, (unsigned long long)sample);
    free(tables);
    pp_buffer_free(&scratch);
    free(got);
    free(want);
    free(rgbx);
    free(rgb);
}

static void samples_are_the_cpu_transforms(void **state)
{
    static const char *const specs[] = {"rrc:24,hflip",          "resize:20,center:16", "resize:9x31,hflip:1",
                                        "rrc:8,center:13,hflip", "center:40",           "resize:64x64"};
    static const int sizes[][2] = {{50, 37}, {37, 50}, {5, 3}, {1, 1}, {200, 9}, {24, 24}};
    (void)state;
    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++)
        for (int dtype = PP_DTYPE_F32; dtype <= PP_DTYPE_U8; dtype++) {
            struct pp_transform *t;
            struct pp_err err;
            char spec[80];
            snprintf(spec, sizeof(spec), "%s%s", specs[s], dtype == PP_DTYPE_U8 ? "" : ",normalize=imagenet");
            if (pp_transform_parse(spec, (enum pp_dtype)dtype, &t, &err) != PP_OK)
                fail_msg("%s", err.text);
            for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
                for (uint64_t sample = 0; sample < 6; sample++)
                    one_sample(t, (enum pp_dtype)dtype, sizes[i][0], sizes[i][1], sample);
            pp_transform_destroy(t);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples_are_the_cpu_transforms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
