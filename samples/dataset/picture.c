#include "samples/dataset/picture.h"

#include "probe/base/rng.h"
#include "samples/dataset/plan.h"

#include <math.h>
#include <stdlib.h>

/* One texture is computed once; pictures are crops of it at different places, which costs two loads per
 * pixel. */
#define FIELD 1024 /* a power of two: coordinates wrap by mask, the texture tiles */
#define FIELD_MASK (FIELD - 1)
#define NOISE 65536
#define NOISE_MASK (NOISE - 1)
#define MAX_OBJECTS 9

struct picture_field {
    float texture[FIELD * FIELD]; /* mean 0, standard deviation 1 */
    float noise[NOISE];           /* standard normal */
};

static float normal(struct pp_rng *r)
{
    /* Sum of four uniforms, variance 1/3: close enough to a normal for sensor noise. */
    double s = pp_rng_unit(r) + pp_rng_unit(r) + pp_rng_unit(r) + pp_rng_unit(r) - 2;
    return (float)(s * 1.7320508);
}

static double smooth(double t)
{
    return t * t * (3 - 2 * t);
}

/* Adds value noise on a lattice of cells x cells, interpolated smoothly. */
static void add_octave(float *texture, int cells, double amplitude, struct pp_rng *r)
{
    int step = FIELD / cells;
    float *lattice = malloc((size_t)cells * (size_t)cells * sizeof *lattice);
    if (!lattice)
        return; /* a plainer texture, still a picture */
    for (int i = 0; i < cells * cells; i++)
        lattice[i] = normal(r) * (float)amplitude;
    for (int y = 0; y < FIELD; y++) {
        int y0 = y / step, y1 = (y0 + 1) % cells;
        float fy = (float)smooth((double)(y % step) / step);
        for (int x = 0; x < FIELD; x++) {
            int x0 = x / step, x1 = (x0 + 1) % cells;
            float fx = (float)smooth((double)(x % step) / step);
            float top = lattice[y0 * cells + x0] * (1 - fx) + lattice[y0 * cells + x1] * fx;
            float bottom = lattice[y1 * cells + x0] * (1 - fx) + lattice[y1 * cells + x1] * fx;
            texture[y * FIELD + x] += top * (1 - fy) + bottom * fy;
        }
    }
    free(lattice);
}

static void standardise(float *v, int n)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        sum += v[i];
        squares += (double)v[i] * v[i];
    }
    double mean = sum / n, sd = sqrt(squares / n - mean * mean);
    for (int i = 0; i < n; i++)
        v[i] = (float)((v[i] - mean) / sd);
}

struct picture_field *picture_field_create(uint64_t seed)
{
    struct picture_field *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    struct pp_rng r = pp_rng_key(seed, 0, 0, STREAM_FIELD);
    /* Natural images have an amplitude spectrum near 1/f (Field 1987), in two dimensions nearly equal energy
     * per octave; the slow decay below is the lens. */
    double amplitude = 1;
    for (int cells = 4; cells <= FIELD; cells *= 2, amplitude *= 0.85)
        add_octave(f->texture, cells, amplitude, &r);
    standardise(f->texture, FIELD * FIELD);
    for (int i = 0; i < NOISE; i++)
        f->noise[i] = normal(&r);
    return f;
}

void picture_field_destroy(struct picture_field *f)
{
    free(f);
}

struct object {
    float x, y, rx, ry; /* centre and radii in pixels */
    float soft;         /* 1 / width of the edge, in radii */
    float colour[3];
    int box; /* a rectangle instead of an ellipse */
};

struct scene {
    float base[3], along_x[3], along_y[3]; /* colour plane: base + along * position in [0, 1] */
    float contrast, chroma, noise;
    unsigned luma_x, luma_y, red_x, red_y, blue_x, blue_y; /* crops of the texture */
    int objects;
    struct object object[MAX_OBJECTS];
};

static float between(struct pp_rng *r, double low, double high)
{
    return (float)(low + (high - low) * pp_rng_unit(r));
}

static void draw_object(struct pp_rng *r, int width, int height, struct object *o)
{
    o->x = between(r, 0, width);
    o->y = between(r, 0, height);
    o->rx = between(r, 0.04, 0.35) * (float)width;
    o->ry = between(r, 0.04, 0.35) * (float)height;
    o->soft = between(r, 3, 60);
    o->box = (int)pp_rng_below(r, 3) == 0;
    for (int c = 0; c < 3; c++)
        o->colour[c] = between(r, 15, 240);
}

static void compose(struct pp_rng *r, int width, int height, struct scene *s)
{
    for (int c = 0; c < 3; c++) {
        s->base[c] = between(r, 40, 190);
        s->along_x[c] = between(r, -70, 70);
        s->along_y[c] = between(r, -70, 70);
    }
    s->contrast = between(r, 16, 44);
    s->chroma = between(r, 3, 10);
    s->noise = between(r, 3, 12);
    unsigned *crops[] = {&s->luma_x, &s->luma_y, &s->red_x, &s->red_y, &s->blue_x, &s->blue_y};
    for (int i = 0; i < 6; i++)
        *crops[i] = (unsigned)pp_rng_below(r, FIELD);
    s->objects = 3 + (int)pp_rng_below(r, MAX_OBJECTS - 2);
    for (int i = 0; i < s->objects; i++)
        draw_object(r, width, height, &s->object[i]);
}

static void paint_background(const struct scene *s, int y, int width, int height, float *row)
{
    float v = (float)y / (float)height;
    for (int x = 0; x < width; x++) {
        float u = (float)x / (float)width;
        for (int c = 0; c < 3; c++)
            row[3 * x + c] = s->base[c] + s->along_x[c] * u + s->along_y[c] * v;
    }
}

static void paint_object(const struct object *o, int y, int width, float *row)
{
    float dy = ((float)y - o->y) / o->ry;
    if (dy < -1 || dy > 1)
        return;
    int from = (int)fmaxf(0, o->x - o->rx), to = (int)fminf((float)width, o->x + o->rx);
    for (int x = from; x < to; x++) {
        float dx = ((float)x - o->x) / o->rx;
        float inside = o->box ? 1 - fmaxf(fabsf(dx), fabsf(dy)) : 1 - (dx * dx + dy * dy);
        float alpha = fminf(1, fmaxf(0, inside * o->soft));
        for (int c = 0; c < 3; c++)
            row[3 * x + c] += alpha * (o->colour[c] - row[3 * x + c]);
    }
}

/* Texture on luma, a weaker one on the two chroma axes, then shot noise that grows with brightness. */
static void expose(const struct picture_field *f, const struct scene *s, struct pp_rng *r, int y, int width,
                   const float *row, uint8_t *out)
{
    const float *luma = f->texture + (((unsigned)y + s->luma_y) & FIELD_MASK) * FIELD;
    const float *red = f->texture + (((unsigned)y + s->red_y) & FIELD_MASK) * FIELD;
    const float *blue = f->texture + (((unsigned)y + s->blue_y) & FIELD_MASK) * FIELD;
    unsigned at = (unsigned)pp_rng_below(r, NOISE);
    for (int x = 0; x < width; x++) {
        unsigned ux = (unsigned)x;
        float light = s->contrast * luma[(ux + s->luma_x) & FIELD_MASK];
        float cr = s->chroma * red[(ux + s->red_x) & FIELD_MASK],
              cb = s->chroma * blue[(ux + s->blue_x) & FIELD_MASK];
        float add[3] = {light + cr, light - 0.5f * (cr + cb), light + cb};
        for (int c = 0; c < 3; c++) {
            float v = row[3 * x + c] + add[c];
            float sigma = s->noise * (0.4f + 0.6f / 255 * fmaxf(v, 0));
            v += sigma * f->noise[(at + 3 * ux + (unsigned)c) & NOISE_MASK];
            out[3 * x + c] = (uint8_t)fminf(255, fmaxf(0, v + 0.5f));
        }
    }
}

/* A line of 5x7-cell letters: hard edges, as captions and signs have them. */
static void letter(struct pp_rng *r, int width, int height, uint8_t *rgb)
{
    int scale = 1 + (int)pp_rng_below(r, 3), letters = 4 + (int)pp_rng_below(r, 16);
    int x0 = (int)pp_rng_below(r, (uint64_t)width), y0 = (int)pp_rng_below(r, (uint64_t)height);
    uint8_t ink = pp_rng_below(r, 2) ? 245 : 10;
    for (int n = 0; n < letters; n++) {
        uint64_t glyph = pp_rng_next(r);
        for (int bit = 0; bit < 35 * scale * scale; bit++) {
            int gx = bit % (5 * scale), gy = bit / (5 * scale);
            int x = x0 + n * 6 * scale + gx, y = y0 + gy;
            if (x < width && y < height && (glyph >> (gy / scale * 5 + gx / scale) & 1))
                for (int c = 0; c < 3; c++)
                    rgb[3 * ((size_t)y * (size_t)width + (size_t)x) + (size_t)c] = ink;
        }
    }
}

void picture_draw(const struct picture_field *f, uint64_t seed, uint64_t index, int width, int height,
                  uint8_t *rgb)
{
    struct pp_rng r = pp_rng_key(seed, 0, index, STREAM_PICTURE);
    struct scene s;
    float *row = malloc((size_t)width * 3 * sizeof *row);
    if (!row)
        abort(); /* a few KiB: nothing sensible is left to do in a generator */
    compose(&r, width, height, &s);
    for (int y = 0; y < height; y++) {
        paint_background(&s, y, width, height, row);
        for (int i = 0; i < s.objects; i++)
            paint_object(&s.object[i], y, width, row);
        expose(f, &s, &r, y, width, row, rgb + (size_t)y * (size_t)width * 3);
    }
    if (pp_rng_below(&r, 4) == 0)
        letter(&r, width, height, rgb);
    free(row);
}
