/* Grammar, random draws, and the resize against a plain transcription of PIL's algorithm; AVX2 against
 * portable. */
#include "probe/transform/transform.h"

#include "probe/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct pp_transform *parse(const char *spec, enum pp_dtype dtype)
{
    struct pp_transform *t = NULL;
    struct pp_err err = {0};
    if (pp_transform_parse(spec, dtype, &t, &err) != PP_OK)
        fail_msg("%s: %s", spec, err.text);
    return t;
}

static void canonical_text_round_trips(void **state)
{
    static const struct {
        const char *spec, *text;
        enum pp_dtype dtype;
        int height, width;
    } rows[] = {
        {"rrc:224,hflip,normalize=imagenet",
         "rrc:224:scale=0.08-1:ratio=0.75-4/3,hflip:0.5,normalize=imagenet", PP_DTYPE_F32, 224, 224},
        {"resize:256,center:224,normalize=imagenet", "resize:256,center:224,normalize=imagenet", PP_DTYPE_F16,
         224, 224},
        {"rrc:64x32:ratio=1/2-2:scale=1e-2-0.5", "rrc:64x32:scale=0.01-0.5:ratio=0.5-2,normalize=none",
         PP_DTYPE_U8, 64, 32},
        {"resize:100x100", "resize:100x100,normalize=none", PP_DTYPE_F32, 100, 100},
        {"resize:100,hflip:1,center:90x80", "resize:100,hflip:1,center:90x80,normalize=none", PP_DTYPE_U8, 90,
         80},
        {"center:7,hflip:0.125", "center:7,hflip:0.125,normalize=none", PP_DTYPE_U8, 7, 7},
        {"rrc:8,center:6x5", "rrc:8:scale=0.08-1:ratio=0.75-4/3,center:6x5,normalize=none", PP_DTYPE_U8, 6,
         5},
        {"rrc:1,normalize=0.5,0.25,-0.125/0.1,2,3.5",
         "rrc:1:scale=0.08-1:ratio=0.75-4/3,normalize=0.5,0.25,-0.125/0.1,2,3.5", PP_DTYPE_F32, 1, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_transform *t = parse(rows[i].spec, rows[i].dtype);
        assert_string_equal(pp_transform_text(t), rows[i].text);
        assert_int_equal(pp_transform_height(t), rows[i].height);
        assert_int_equal(pp_transform_width(t), rows[i].width);
        assert_int_equal(pp_transform_bytes(t),
                         (size_t)rows[i].height * (size_t)rows[i].width * 3 * pp_dtype_size(rows[i].dtype));
        struct pp_transform *again = parse(pp_transform_text(t), rows[i].dtype);
        assert_string_equal(pp_transform_text(again), rows[i].text);
        pp_transform_destroy(again);
        pp_transform_destroy(t);
    }
}

static void grammar_errors_name_the_piece(void **state)
{
    static const struct {
        const char *spec;
        enum pp_dtype dtype;
        const char *says[2];
    } rows[] = {
        {"", PP_DTYPE_F32, {"unknown step", "rrc:SIZE"}},
        {"rrc", PP_DTYPE_F32, {"\"rrc\"", "written rrc:224"}},
        {"rrc:", PP_DTYPE_F32, {"not a size", "rrc:224"}},
        {"rrc:0", PP_DTYPE_F32, {"\"0\"", "1 to 8192"}},
        {"rrc:9000", PP_DTYPE_F32, {"\"9000\"", "1 to 8192"}},
        {"rrc:99999999999999999999", PP_DTYPE_F32, {"not a size", "1 to 8192"}},
        {"rrc:-3", PP_DTYPE_F32, {"\"-3\"", "not a size"}},
        {"rrc:224px", PP_DTYPE_F32, {"224px", "not a size"}},
        {"rrc:224x", PP_DTYPE_F32, {"224x", "not a size"}},
        {"rrc:224:scale=0-1", PP_DTYPE_F32, {"scale=0-1", "(0, 1]"}},
        {"rrc:224:scale=0.5-2", PP_DTYPE_F32, {"scale=0.5-2", "(0, 1]"}},
        {"rrc:224:scale=0.9-0.1", PP_DTYPE_F32, {"scale=0.9-0.1", "(0, 1]"}},
        {"rrc:224:scale=nan-1", PP_DTYPE_F32, {"scale=nan-1", "(0, 1]"}},
        {"rrc:224:ratio=3/0-1", PP_DTYPE_F32, {"ratio=3/0-1", "aspect"}},
        {"rrc:224:ratio=1", PP_DTYPE_F32, {"ratio=1", "3/4-4/3"}},
        {"rrc:224:area=0.1-1", PP_DTYPE_F32, {"area=0.1-1", "scale=a-b"}},
        {"rrc:224,resize:256", PP_DTYPE_F32, {"resize:256", "without rrc"}},
        {"resize:256,rrc:224", PP_DTYPE_F32, {"rrc:224", "first"}},
        {"center:256,resize:9x9", PP_DTYPE_F32, {"resize:9x9", "before center"}},
        {"resize:256", PP_DTYPE_F32, {"resize:256", "center:256"}},
        {"hflip", PP_DTYPE_F32, {"hflip", "size"}},
        {"rrc:224,hflip,hflip", PP_DTYPE_F32, {"hflip", "twice"}},
        {"rrc:224,hflip:1.5", PP_DTYPE_F32, {"1.5", "probability"}},
        {"rrc:224,center:3,center:3", PP_DTYPE_F32, {"center", "twice"}},
        {"rrc:224,normalise=imagenet", PP_DTYPE_F32, {"normalise", "normalize"}},
        {"rrc:224,rotate:10", PP_DTYPE_F32, {"rotate", "hflip"}},
        {"rrc:224,,hflip", PP_DTYPE_F32, {"\"\"", "rrc:SIZE"}},
        {"rrc=224", PP_DTYPE_F32, {"rrc=224", "rrc:"}},
        {"rrc:224,normalize=imagenet,hflip", PP_DTYPE_F32, {"normalize=imagenet,hflip", "last"}},
        {"rrc:224,normalize=cifar", PP_DTYPE_F32, {"normalize=cifar", "imagenet"}},
        {"rrc:224,normalize=1,2/3,4", PP_DTYPE_F32, {"normalize=1,2/3,4", "m,m,m/s,s,s"}},
        {"rrc:224,normalize=0,0,0/1,0,1", PP_DTYPE_F32, {"0,0,0/1,0,1", "above 0"}},
        {"rrc:224,normalize=imagenet", PP_DTYPE_U8, {"normalize=imagenet", "normalize=none"}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_transform *t = NULL;
        struct pp_err err = {0};
        pp_status status = pp_transform_parse(rows[i].spec, rows[i].dtype, &t, &err);
        if (status != PP_E_USAGE || t || !strstr(err.text, rows[i].says[0]) ||
            !strstr(err.text, rows[i].says[1]))
            fail_msg("\"%s\": %s: %s", rows[i].spec, pp_status_name(status), err.text);
    }
}

/* For images large enough that rounding and rejection hardly matter, the drawn boxes must have torchvision's
 * distribution: share of area uniform in scale, log of the ratio uniform, position uniform, and nothing else.
 */
static void random_crop_distribution(void **state)
{
    enum { N = 20000, BINS = 10 };
    struct pp_transform *t = parse("rrc:224:scale=0.1-0.3,hflip:0.25", PP_DTYPE_U8);
    int area[BINS] = {0}, ratio[BINS] = {0}, left[BINS] = {0}, top[BINS] = {0}, flips = 0, width = 3000,
        height = 2500;
    for (int i = 0; i < N; i++) {
        struct pp_transform_plan p;
        pp_transform_draw(t, width, height, (struct pp_sample_key){1, 2, (uint64_t)i}, &p);
        double share = p.w * p.h / ((double)width * height), r = p.w / p.h;
        assert_true(share > 0.0995 && share < 0.3005 && r > 0.748 && r < 1.336);
        assert_true(p.crop.x >= 0 && p.crop.y >= 0 && p.crop.x + p.w <= width && p.crop.y + p.h <= height);
        area[(int)fmin(BINS - 1, fmax(0, (share - 0.1) / 0.2 * BINS))]++;
        ratio[(int)fmin(BINS - 1, fmax(0, (log(r) - log(0.75)) / (2 * log(4.0 / 3)) * BINS))]++;
        left[(int)(p.crop.x / (width - p.w + 1) * BINS)]++;
        top[(int)(p.crop.y / (height - p.h + 1) * BINS)]++;
        flips += p.flip;
    }
    int *const counts[] = {area, ratio, left, top};
    for (size_t c = 0; c < 4; c++) {
        double chi2 = 0, expected = (double)N / BINS;
        for (int b = 0; b < BINS; b++)
            chi2 += (counts[c][b] - expected) * (counts[c][b] - expected) / expected;
        if (chi2 > 27.9) /* 9 degrees of freedom, p = 0.001; the draw is a fixed one */
            fail_msg("quantity %zu is not uniform: chi2 %.1f", c, chi2);
    }
    assert_in_range(flips, N / 4 - 250, N / 4 + 250); /* four standard deviations */
    pp_transform_destroy(t);
}

/* Boxes always lie inside, also for lines and single pixels, where all ten tries fail and the central crop is
 * taken. */
static void boxes_lie_inside_small_images(void **state)
{
    struct pp_transform *t = parse("rrc:16,hflip", PP_DTYPE_U8);
    for (int width = 1; width < 40; width += 1 + width / 8) {
        for (int height = 1; height < 40; height += 1 + height / 8) {
            for (uint64_t i = 0; i < 30; i++) {
                struct pp_transform_plan p;
                pp_transform_draw(t, width, height, (struct pp_sample_key){3, 0, i}, &p);
                assert_true(p.w >= 1 && p.h >= 1 && p.crop.x >= 0 && p.crop.y >= 0);
                assert_true(p.crop.width == p.w && p.crop.height == p.h && p.x0 == 0 && p.y0 == 0);
                assert_true(p.crop.x + p.crop.width <= width && p.crop.y + p.crop.height <= height);
            }
        }
    }
    struct pp_transform_plan p;
    pp_transform_draw(t, 1000, 10, (struct pp_sample_key){3, 0, 0}, &p); /* 4:3 of the height, centred */
    assert_int_equal(p.crop.width, 13);
    assert_int_equal(p.crop.x, 493);
    assert_int_equal(p.crop.height, 10);
    pp_transform_destroy(t);
}

static void draw_depends_on_seed_epoch_sample_alone(void **state)
{
    struct pp_transform *t = parse("rrc:224,hflip", PP_DTYPE_U8);
    struct pp_transform_plan a, b;
    pp_transform_draw(t, 500, 375, (struct pp_sample_key){7, 3, 11}, &a);
    for (uint64_t other = 0; other < 50; other++)
        pp_transform_draw(t, 400, 300, (struct pp_sample_key){other, other, other}, &b);
    pp_transform_draw(t, 500, 375, (struct pp_sample_key){7, 3, 11}, &b);
    assert_memory_equal(&a, &b, sizeof(a));
    static const uint64_t keys[3][3] = {{8, 3, 11}, {7, 4, 11}, {7, 3, 12}};
    for (int i = 0; i < 3; i++) {
        pp_transform_draw(t, 500, 375, (struct pp_sample_key){keys[i][0], keys[i][1], keys[i][2]}, &b);
        assert_true(a.crop.x != b.crop.x || a.crop.y != b.crop.y || a.w != b.w);
    }
    pp_transform_destroy(t);
}

/* torchvision's numbers, worked out by hand: shorter side, truncation, rounding half to even, padding. */
static void eval_geometry(void **state)
{
    static const struct {
        const char *spec;
        int width, height, out_w, out_h, off_x, off_y;
    } rows[] = {
        {"resize:256,center:224", 500, 375, 341, 256, 58, 16}, /* 117 / 2 = 58.5 -> 58 */
        {"resize:256,center:224", 375, 500, 256, 341, 16, 58},
        {"resize:256,center:224", 256, 256, 256, 256, 16, 16},
        {"resize:255,center:224", 100, 100, 255, 255, 16, 16}, /* 15.5 -> 16 */
        {"resize:100,center:101", 200, 100, 200, 100, 50,
         0}, /* 49.5 -> 50; (101 - 100) / 2 = 0 rows of padding first */
        {"resize:100,center:103x90", 100, 100, 100, 100, 5, -1},
        {"center:10", 4, 7, 4, 7, -3, -1},
        {"resize:30x50", 7, 9, 50, 30, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_transform *t = parse(rows[i].spec, PP_DTYPE_U8);
        struct pp_transform_plan p;
        pp_transform_draw(t, rows[i].width, rows[i].height, (struct pp_sample_key){0, 0, 0}, &p);
        if (p.out_w != rows[i].out_w || p.out_h != rows[i].out_h || p.off_x != rows[i].off_x ||
            p.off_y != rows[i].off_y)
            fail_msg("%s on %dx%d: %dx%d at (%d, %d)", rows[i].spec, rows[i].width, rows[i].height, p.out_w,
                     p.out_h, p.off_x, p.off_y);
        pp_transform_destroy(t);
    }
}

struct picture {
    int width, height;
    uint8_t *rgbx;
};

static struct picture make_picture(int width, int height, struct pp_rng *r)
{
    struct picture p = {width, height, malloc((size_t)width * (size_t)height * 4)};
    int style = (int)pp_rng_below(r, 3);
    for (size_t i = 0; i < (size_t)width * (size_t)height * 4; i++)
        p.rgbx[i] = style == 0 ? (uint8_t)pp_rng_next(r) : style == 1 ? (pp_rng_next(r) & 1 ? 255 : 0) : 255;
    return p;
}

/* The region of a plan in a block of exactly its size, so that reading past it is seen. */
static struct pp_pixels cut(const struct picture *p, struct pp_rect crop)
{
    uint8_t *data = malloc((size_t)crop.width * (size_t)crop.height * 4);
    for (int y = 0; y < crop.height; y++)
        memcpy(data + (size_t)y * (size_t)crop.width * 4,
               p->rgbx + ((size_t)(crop.y + y) * (size_t)p->width + (size_t)crop.x) * 4,
               (size_t)crop.width * 4);
    return (struct pp_pixels){data, crop.width, crop.height, (size_t)crop.width * 4};
}

/* One axis of Pillow's resample, transcribed plainly: weights in double, normalised, 22-bit fixed point. */
static int reference_sample(const uint8_t *from, size_t step, int in, int out, int at)
{
    double scale = (double)in / out, stretch = scale < 1 ? 1 : scale, centre = (at + 0.5) * scale, sum = 0;
    int begin = (int)(centre - stretch + 0.5), end = (int)(centre + stretch + 0.5);
    begin = begin < 0 ? 0 : begin;
    end = end > in ? in : end;
    for (int i = begin; i < end; i++)
        sum += fmax(0, 1 - fabs((i - centre + 0.5) * (1.0 / stretch)));
    int64_t total = 1 << 21;
    for (int i = begin; i < end; i++) {
        double w = fmax(0, 1 - fabs((i - centre + 0.5) * (1.0 / stretch))) / sum;
        total += (int)(0.5 + w * (1 << 22)) * (int64_t)from[(size_t)i * step];
    }
    total >>= 22;
    return total > 255 ? 255 : (int)total;
}

/* Box of the plan resized as a whole, row pass first, as RGB. */
static uint8_t *reference_resize(const struct picture *p, const struct pp_transform_plan *plan)
{
    int box_x = plan->crop.x + (int)plan->x0, box_y = plan->crop.y + (int)plan->y0, w = (int)plan->w,
        h = (int)plan->h;
    uint8_t *middle = malloc((size_t)plan->out_w * (size_t)h * 3),
            *out = malloc((size_t)plan->out_w * (size_t)plan->out_h * 3);
    for (int y = 0; y < h; y++) {
        const uint8_t *row = p->rgbx + ((size_t)(box_y + y) * (size_t)p->width + (size_t)box_x) * 4;
        for (int x = 0; x < plan->out_w * 3; x++)
            middle[(size_t)y * (size_t)plan->out_w * 3 + (size_t)x] = (uint8_t)
                reference_sample(row + x % 3, 4, w, plan->out_w, x / 3);
    }
    for (int y = 0; y < plan->out_h; y++) {
        for (int x = 0; x < plan->out_w * 3; x++)
            out[(size_t)y * (size_t)plan->out_w * 3 + (size_t)x] = (uint8_t)
                reference_sample(middle + x, (size_t)plan->out_w * 3, h, plan->out_h, y);
    }
    free(middle);
    return out;
}

static void *apply(const struct pp_transform *t, const struct pp_transform_plan *plan,
                   const struct picture *p, struct pp_buffer *s)
{
    struct pp_err err = {0};
    struct pp_pixels pixels = cut(p, plan->crop);
    void *out = malloc(pp_transform_bytes(t));
    memset(out, 0xa5, pp_transform_bytes(t));
    if (pp_transform_apply(t, plan, &pixels, s, out, &err) != PP_OK)
        fail_msg("%s", err.text);
    free((void *)(uintptr_t)pixels.data);
    return out;
}

static const char *const shapes[] = {"rrc:%dx%d,hflip",           "resize:%dx%d,hflip",
                                     "resize:%d,center:%d,hflip", "rrc:%d,center:%d,hflip",
                                     "center:%dx%d,hflip",        "resize:%d,hflip,center:%d"};
enum { N_SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static void random_spec(char *spec, size_t size, int shape, struct pp_rng *r)
{
    snprintf(spec, size, shapes[shape], 1 + (int)pp_rng_below(r, 70), 1 + (int)pp_rng_below(r, 70));
}

static struct picture random_picture(struct pp_rng *r)
{
    int largest = pp_rng_below(r, 3) ? 150 : 9;
    int width = 1 + (int)pp_rng_below(r, (uint64_t)largest),
        height = 1 + (int)pp_rng_below(r, (uint64_t)largest);
    return make_picture(width, height, r);
}

static void equals_plain_transcription_of_pil(void **state)
{
    struct pp_buffer s = {0};
    struct pp_rng r = pp_rng_key(21, 0, 0, 0);
    for (int round = 0; round < 300; round++) {
        char spec[80];
        random_spec(spec, sizeof(spec), round % N_SHAPES, &r);
        struct picture p = random_picture(&r);
        struct pp_transform *t = parse(spec, PP_DTYPE_U8);
        struct pp_transform_plan plan;
        pp_transform_draw(t, p.width, p.height, (struct pp_sample_key){5, 0, (uint64_t)round}, &plan);
        uint8_t *want = reference_resize(&p, &plan), *got = apply(t, &plan, &p, &s);
        int width = pp_transform_width(t);
        for (int y = 0; y < pp_transform_height(t); y++) {
            for (int x = 0; x < width; x++) {
                int sx = plan.off_x + (plan.flip ? width - 1 - x : x), sy = plan.off_y + y;
                int inside = sx >= 0 && sy >= 0 && sx < plan.out_w && sy < plan.out_h;
                for (int c = 0; c < 3; c++) {
                    int w = inside ? want[((size_t)sy * (size_t)plan.out_w + (size_t)sx) * 3 + (size_t)c] : 0;
                    int g = got[((size_t)y * (size_t)width + (size_t)x) * 3 + (size_t)c];
                    if (w != g)
                        fail_msg("%s of %dx%d at (%d, %d) channel %d: %d, PIL %d", spec, p.width, p.height, x,
                                 y, c, g, w);
                }
            }
        }
        free(want);
        free(got);
        free(p.rgbx);
        pp_transform_destroy(t);
    }
    pp_buffer_free(&s);
}

static void random_normalize(char *spec, size_t size, struct pp_rng *r)
{
    size_t used = strlen(spec);
    if (pp_rng_below(r, 2))
        snprintf(spec + used, size - used, ",normalize=imagenet");
    else
        snprintf(spec + used, size - used, ",normalize=%.4f,0,%.4f/%.4f,%.2e,1", pp_rng_unit(r),
                 pp_rng_unit(r) - 1, 0.01 + pp_rng_unit(r), 1e-6 + pp_rng_unit(r) * 1e-3);
}

static void avx2_equals_portable(void **state)
{
    struct pp_buffer s = {0};
    struct pp_rng r = pp_rng_key(22, 0, 0, 0);
    if (strcmp(pp_transform_simd(), "avx2") != 0) {
        print_message("# not tried: this CPU has no AVX2\n");
        return;
    }
    for (int round = 0; round < 900; round++) {
        char spec[160];
        random_spec(spec, sizeof(spec), round % N_SHAPES, &r);
        struct picture p = random_picture(&r);
        enum pp_dtype dtype = (enum pp_dtype)pp_rng_below(&r, 3);
        if (dtype != PP_DTYPE_U8)
            random_normalize(spec, sizeof(spec), &r);
        struct pp_transform *t = parse(spec, dtype);
        struct pp_transform_plan plan;
        pp_transform_draw(t, p.width, p.height, (struct pp_sample_key){6, 0, (uint64_t)round}, &plan);
        void *simd = apply(t, &plan, &p, &s);
        pp_transform_force_portable(1);
        assert_string_equal(pp_transform_simd(), "portable");
        void *plain = apply(t, &plan, &p, &s);
        pp_transform_force_portable(0);
        if (memcmp(simd, plain, pp_transform_bytes(t)) != 0)
            fail_msg("%s of %dx%d differs", spec, p.width, p.height);
        free(simd);
        free(plain);
        free(p.rgbx);
        pp_transform_destroy(t);
    }
    pp_buffer_free(&s);
}

static double half_to_double(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double v = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return h & 0x8000 ? -v : v;
}

/* All 256 values through each layout: torchvision's float32 arithmetic, f16 the nearest half with ties to
 * even, u8 as they are. */
static void values_and_layouts(void **state)
{
    struct pp_rng r = pp_rng_key(23, 0, 0, 0);
    struct picture p = make_picture(16, 16, &r);
    struct pp_buffer s = {0};
    struct pp_transform_plan plan;
    static const float mean[3] = {0.485f, 0.456f, 0.406f}, std[3] = {0.229f, 0.224f, 0.225f};
    for (int i = 0; i < 256; i++) {
        for (int c = 0; c < 3; c++)
            p.rgbx[i * 4 + c] = (uint8_t)(i + 85 * c);
    }
    struct pp_transform *t32 = parse("center:16,normalize=imagenet", PP_DTYPE_F32),
                        *t16 = parse("center:16,normalize=imagenet", PP_DTYPE_F16),
                        *t8 = parse("center:16", PP_DTYPE_U8);
    pp_transform_draw(t32, 16, 16, (struct pp_sample_key){0, 0, 0}, &plan);
    float *f32 = apply(t32, &plan, &p, &s);
    uint16_t *f16 = apply(t16, &plan, &p, &s);
    uint8_t *u8 = apply(t8, &plan, &p, &s);
    for (int i = 0; i < 256; i++) {
        for (int c = 0; c < 3; c++) {
            float v = (float)p.rgbx[i * 4 + c] / 255.0f;
            v -= mean[c];
            v /= std[c];
            assert_true(f32[c * 256 + i] == v);
            assert_int_equal(u8[i * 3 + c], p.rgbx[i * 4 + c]);
            uint16_t h = f16[c * 256 + i];
            double error = fabs(half_to_double(h) - (double)v);
            for (int d = -1; d <= 1; d += 2) {
                double other = fabs(half_to_double((uint16_t)(h + d)) - (double)v);
                assert_true(error < other || (error == other && (h & 1) == 0));
            }
        }
    }
    free(f32);
    free(f16);
    free(u8);
    free(p.rgbx);
    pp_transform_destroy(t32);
    pp_transform_destroy(t16);
    pp_transform_destroy(t8);
    pp_buffer_free(&s);
}

static void wrong_region_is_refused(void **state)
{
    struct pp_rng r = pp_rng_key(24, 0, 0, 0);
    struct picture p = make_picture(20, 20, &r);
    struct pp_transform *t = parse("resize:9x9", PP_DTYPE_U8);
    struct pp_buffer s = {0};
    struct pp_transform_plan plan;
    uint8_t out[9 * 9 * 3];
    struct pp_pixels pixels = {p.rgbx, 19, 20, 80};
    pp_transform_draw(t, 20, 20, (struct pp_sample_key){0, 0, 0}, &plan);
    assert_int_equal(pp_transform_apply(t, &plan, &pixels, &s, out, NULL), PP_E_USAGE);
    free(p.rgbx);
    pp_buffer_free(&s);
    pp_transform_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_text_round_trips),
        cmocka_unit_test(grammar_errors_name_the_piece),
        cmocka_unit_test(random_crop_distribution),
        cmocka_unit_test(boxes_lie_inside_small_images),
        cmocka_unit_test(draw_depends_on_seed_epoch_sample_alone),
        cmocka_unit_test(eval_geometry),
        cmocka_unit_test(equals_plain_transcription_of_pil),
        cmocka_unit_test(avx2_equals_portable),
        cmocka_unit_test(values_and_layouts),
        cmocka_unit_test(wrong_region_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
