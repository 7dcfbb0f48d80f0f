#include "probe/transform/resize.h"

struct filter {
    double scale, stretch, support; /* stretch: PIL's filterscale */
    int in;
};

static struct filter filter_of(int in, int out)
{
    struct filter f = {.scale = (double)in / out, .in = in};
    f.stretch = f.scale < 1.0 ? 1.0 : f.scale;
    f.support = f.stretch; /* times the triangle's own, which is 1 */
    return f;
}

/* What an output is made of: its centre, and the samples [begin, end) around it. */
struct reach {
    double centre;
    int begin, end;
};

static struct reach reach_of(const struct filter *f, int output)
{
    struct reach r = {.centre = (output + 0.5) * f->scale};
    r.begin = (int)(r.centre - f->support + 0.5);
    r.end = (int)(r.centre + f->support + 0.5);
    r.begin = r.begin < 0 ? 0 : r.begin;
    r.end = r.end > f->in ? f->in : r.end;
    return r;
}

void pp_axis_span(const struct pp_resize_part *part, int *begin, int *end)
{
    struct filter f = filter_of(part->in, part->out);
    *begin = reach_of(&f, part->first).begin;
    *end = reach_of(&f, part->first + part->count - 1).end;
}

int pp_axis_max_taps(int in, int out)
{
    struct filter f = filter_of(in, out);
    return (int)ceil(f.support) * 2 + 2; /* PIL's ksize, made even */
}

size_t pp_axis_bytes(int in, int out, int count)
{
    size_t taps = (size_t)pp_axis_max_taps(in, out);
    size_t per_output = sizeof(double) + sizeof(int32_t) + sizeof(struct pp_weight_pair) / 2;
    return (size_t)count * (per_output * taps + sizeof(int)) + taps * sizeof(double) + 64;
}

void pp_axis_fill(struct pp_axis *a, const struct pp_resize_part *part, int begin, int length, void *memory)
{
    struct filter f = filter_of(part->in, part->out);
    int count = part->count, taps = 1; /* the most that any of the outputs has */
    for (int i = 0; i < count; i++) {
        struct reach r = reach_of(&f, part->first + i);
        taps = r.end - r.begin > taps ? r.end - r.begin : taps;
    }
    if (taps % 2 && taps < length)
        taps++;

    double *share = memory, inverse = 1.0 / f.stretch;
    a->count = count;
    a->taps = taps;
    a->pair = (struct pp_weight_pair *)(share + pp_axis_max_taps(part->in, part->out));
    a->weight = (int32_t *)(a->pair + (size_t)count * (size_t)(taps / 2));
    a->start = a->weight + (size_t)count * (size_t)taps;
    memset(a->weight, 0, (size_t)count * (size_t)taps * sizeof(*a->weight));
    for (int i = 0; i < count; i++) {
        struct reach r = reach_of(&f, part->first + i);
        int start = r.begin - begin, n = r.end - r.begin;
        /* At the region's end the padding goes in front, so that no tap lies outside. */
        if (start > length - taps)
            start = length - taps;
        /* One output's weights. sum and shares are in double as PIL's, or the last bit would differ. */
        int32_t *row = a->weight + (size_t)i * (size_t)taps + (r.begin - begin - start);
        double sum = 0.0;
        for (int k = 0; k < n; k++) {
            double x = fabs((k + r.begin - r.centre + 0.5) * inverse); /* of the triangle */
            share[k] = x < 1.0 ? 1.0 - x : 0.0;
            sum += share[k];
        }
        for (int k = 0; k < n; k++) {
            double w = sum != 0.0 ? share[k] / sum : share[k];
            row[k] = (int32_t)(0.5 + w * (1 << PP_WEIGHT_BITS));
        }
        a->start[i] = start;
    }
    if (taps % 2 == 0) {
        for (int i = 0; i < a->count * a->taps / 2; i++) {
            for (int k = 0; k < 2; k++) {
                int32_t w = a->weight[i * 2 + k];
                a->pair[i].high[k] = (int16_t)(w >> PP_WEIGHT_LOW_BITS);
                a->pair[i].low[k] = (int16_t)(w & ((1 << PP_WEIGHT_LOW_BITS) - 1));
            }
        }
    }
}

static uint8_t to_sample(int32_t sum)
{
    int32_t v = sum >> PP_WEIGHT_BITS;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

#define HALF (1 << (PP_WEIGHT_BITS - 1))

void pp_resize_rows_portable(const struct pp_axis *axis, const uint8_t *const from[4], uint8_t *const to[4])
{
    for (int r = 0; r < 4; r++) {
        const int32_t *w = axis->weight;
        for (int x = 0; x < axis->count; x++, w += axis->taps) {
            const uint8_t *p = from[r] + (size_t)axis->start[x] * 4;
            int32_t red = HALF, green = HALF, blue = HALF;
            for (int k = 0; k < axis->taps; k++, p += 4) {
                red += w[k] * p[0];
                green += w[k] * p[1];
                blue += w[k] * p[2];
            }
            uint8_t *out = to[r] + (size_t)x * 3;
            out[0] = to_sample(red);
            out[1] = to_sample(green);
            out[2] = to_sample(blue);
        }
    }
}

void pp_resize_column_portable(const struct pp_axis *axis, int output, const uint8_t *const *rows,
                               uint8_t *to, size_t bytes)
{
    const int32_t *w = axis->weight + (size_t)output * (size_t)axis->taps;
    for (size_t i = 0; i < bytes; i++) {
        int32_t sum = HALF;
        for (int k = 0; k < axis->taps; k++)
            sum += w[k] * rows[k][i];
        to[i] = to_sample(sum);
    }
}
