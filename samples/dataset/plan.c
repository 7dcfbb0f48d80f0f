#include "samples/dataset/plan.h"

#include "probe/base/rng.h"

#include <math.h>

/* Of 3000: the mix of the set all reference measurements were made with. */
static const struct {
    const char *name;
    double share;
} kinds[KIND_COUNT] = {
    [KIND_420] = {"4:2:0", 2280 / 3000.0},
    [KIND_444] = {"4:4:4", 452 / 3000.0},
    [KIND_422] = {"4:2:2", 127 / 3000.0},
    [KIND_PROGRESSIVE] = {"progressive", 57 / 3000.0},
    [KIND_GREY] = {"grey", 30 / 3000.0},
    [KIND_CMYK] = {"CMYK", 17 / 3000.0},
    [KIND_ROTATED] = {"EXIF-rotated", 37 / 3000.0},
};

/* Shapes of web photographs after scaling to 500 pixels; their weighted mean is MEAN_WIDTH x MEAN_HEIGHT. */
static const struct {
    int width, height;
    double share;
} shapes[] = {
    {500, 375, 0.58}, {375, 500, 0.16}, {500, 333, 0.09}, {333, 500, 0.02},
    {500, 500, 0.06}, {640, 480, 0.05}, {400, 300, 0.04},
};
#define SHAPES ((int)(sizeof shapes / sizeof shapes[0]))
#define MEAN_WIDTH 479.7
#define MEAN_HEIGHT 403.5

/* Quality cameras and sites use, weighted like the reference set's 4 bits per pixel. */
static const int qualities[] = {85, 90, 92, 92, 94, 94, 95, 96};
#define QUALITIES (sizeof qualities / sizeof qualities[0])

const char *sample_kind_name(enum sample_kind kind)
{
    return kinds[kind].name;
}

/* Golden-ratio (Kronecker) sequence: every stretch of consecutive samples has nearly the stated mix, so small
 * sets have rare kinds too. */
static enum sample_kind kind_of(uint64_t seed, uint64_t index)
{
    struct pp_rng r = pp_rng_key(seed, 0, 0, STREAM_PLAN);
    double at = fmod(pp_rng_unit(&r) + (double)(index % 1000000007u) * 0.61803398874989485, 1.0);
    for (int k = 0; k < KIND_COUNT; k++) {
        at -= kinds[k].share;
        if (at < 0)
            return (enum sample_kind)k;
    }
    return KIND_420;
}

static int shape_of(double at)
{
    for (int s = 0; s < SHAPES; s++) {
        at -= shapes[s].share;
        if (at < 0)
            return s;
    }
    return 0;
}

static int scaled(double pixels, double factor)
{
    int n = (int)lround(pixels * factor);
    return n < 1 ? 1 : n;
}

void sample_plan(const struct plan_opts *opts, uint64_t index, struct sample_plan *out)
{
    static const int orientations[] = {3, 6, 8, 2};
    struct pp_rng r = pp_rng_key(opts->seed, 0, index + 1, STREAM_PLAN);
    int s = shape_of(pp_rng_unit(&r));
    double jitter = 0.96 + 0.08 * pp_rng_unit(&r);
    double skew = opts->skewed && index % SKEW_EVERY == SKEW_EVERY / 2 ? 10 : 1;

    out->index = index;
    out->cls = index % opts->classes;
    out->kind = kind_of(opts->seed, index);
    out->width = scaled(shapes[s].width, opts->width / MEAN_WIDTH * jitter * skew);
    out->height = scaled(shapes[s].height, opts->height / MEAN_HEIGHT * jitter * skew);
    out->quality = qualities[pp_rng_below(&r, QUALITIES)];
    out->orientation = out->kind == KIND_ROTATED ? orientations[pp_rng_below(&r, 4)] : 1;
}
