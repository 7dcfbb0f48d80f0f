#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "probe/transform/transform_internal.h"

#include <stdatomic.h>

#define ROWS_AT_ONCE 4

/* One application: the tables, and the rows already resized horizontally, in a ring of as many as a column
 * needs. */
struct work {
    const struct pp_transform *t;
    const struct pp_pixels *pixels;
    struct pp_axis x, y;
    pp_resize_rows_fn *resize_rows;
    pp_resize_column_fn *resize_column;
    uint8_t *ring;
    size_t row_stride;
    int ring_rows, rows_done;
    const uint8_t **taps; /* the rows of one output row */
    uint8_t *row;         /* one finished row, RGB */
    int top;              /* rows of padding above the picture */
    struct pp_store store;
};

const char *pp_dtype_name(enum pp_dtype t)
{
    static const char *const names[] = {[PP_DTYPE_F32] = "f32", [PP_DTYPE_F16] = "f16", [PP_DTYPE_U8] = "u8"};
    return (unsigned)t < sizeof(names) / sizeof(names[0]) ? names[t] : "unknown";
}

size_t pp_dtype_size(enum pp_dtype t)
{
    return t == PP_DTYPE_F32 ? 4 : t == PP_DTYPE_F16 ? 2 : 1;
}

int pp_transform_height(const struct pp_transform *t)
{
    return t->height;
}

int pp_transform_width(const struct pp_transform *t)
{
    return t->width;
}

size_t pp_transform_bytes(const struct pp_transform *t)
{
    return (size_t)t->height * (size_t)t->width * 3 * pp_dtype_size(t->dtype);
}

const char *pp_transform_text(const struct pp_transform *t)
{
    return t->text;
}

/* -1: not chosen yet. Relaxed: every thread that chooses, chooses the same. */
static atomic_int use_portable = -1;

static int portable(void)
{
    int v = atomic_load_explicit(&use_portable, memory_order_relaxed);
    if (v < 0) {
        const char *env = getenv("PIPEPROBE_SIMD");
        v = (env && strcmp(env, "portable") == 0) || !PP_RESIZE_HAS_AVX2;
        atomic_store_explicit(&use_portable, v, memory_order_relaxed);
    }
    return v;
}

const char *pp_transform_simd(void)
{
    return portable() ? "portable" : "avx2";
}

void pp_transform_force_portable(int on)
{
    atomic_store_explicit(&use_portable, on ? 1 : -1, memory_order_relaxed);
}

/* At least size bytes of scratch memory, contents lost; NULL with err set. */
static uint8_t *reserve_scratch(struct pp_buffer *s, size_t size, struct pp_err *err)
{
    pp_buffer_trim(s);
    if (pp_buffer_reserve(s, size) == 0)
        return s->data;
    pp_fail(err, PP_E_NO_MEMORY, "no memory to resize an image (%zu bytes)", size);
    return NULL;
}

/* What of the resized picture is seen, for each axis. */
static struct pp_resize_part seen(int in, int out, int offset, int window)
{
    int first = offset > 0 ? offset : 0, end = offset + window < out ? offset + window : out;
    return (struct pp_resize_part){.in = in, .out = out, .first = first, .count = end - first};
}

struct parts {
    struct pp_resize_part x, y;
};

static struct parts parts_of(const struct pp_transform *t, const struct pp_transform_plan *plan)
{
    return (struct parts){.x = seen((int)plan->w, plan->out_w, plan->off_x, t->width),
                          .y = seen((int)plan->h, plan->out_h, plan->off_y, t->height)};
}

/* Lays the tables, the ring, the tap pointers and one row out in the scratch buffer. */
static pp_status set_up(struct work *w, const struct pp_transform_plan *plan, struct pp_buffer *scratch,
                        struct pp_err *err)
{
    struct parts seen = parts_of(w->t, plan);
    const struct pp_resize_part *x = &seen.x, *y = &seen.y;
    int taps_y = pp_axis_max_taps(y->in, y->out);
    if (taps_y > w->pixels->height + 1)
        taps_y = w->pixels->height + 1;
    w->ring_rows = taps_y + 2 * ROWS_AT_ONCE;
    w->row_stride = pp_memory_aligned((size_t)x->count * 3 + PP_STORE_OVERREAD);
    size_t x_bytes = pp_memory_aligned(pp_axis_bytes(x->in, x->out, x->count)),
           y_bytes = pp_memory_aligned(pp_axis_bytes(y->in, y->out, y->count));
    size_t taps_bytes = pp_memory_aligned((size_t)taps_y * sizeof(*w->taps)),
           ring_bytes = w->row_stride * (size_t)w->ring_rows;
    size_t size = x_bytes + y_bytes + taps_bytes + ring_bytes + w->row_stride;

    uint8_t *at = reserve_scratch(scratch, size, err);
    if (!at)
        return PP_E_NO_MEMORY;
    pp_axis_fill(&w->x, x, (int)-plan->x0, w->pixels->width, at);
    pp_axis_fill(&w->y, y, (int)-plan->y0, w->pixels->height, at += x_bytes);
    w->taps = (const uint8_t **)(void *)(at += y_bytes);
    w->ring = at += taps_bytes;
    w->row = at + ring_bytes;
    return PP_OK;
}

pp_status pp_transform_apply(const struct pp_transform *t, const struct pp_transform_plan *plan,
                             const struct pp_pixels *pixels, struct pp_buffer *scratch, void *out,
                             struct pp_err *err)
{
    struct work w = {
        .t = t,
        .pixels = pixels,
        .top = plan->off_y < 0 ? -plan->off_y : 0,
        .store = {.t = t,
                  .out = out,
                  .left = plan->off_x < 0 ? -plan->off_x : 0,
                  .flip = plan->flip,
                  .portable = portable()},
    };
    if (pixels->width != plan->crop.width || pixels->height != plan->crop.height)
        return pp_fail(err, PP_E_USAGE, "the transform was drawn for a region of %dx%d and got one of %dx%d",
                       plan->crop.width, plan->crop.height, pixels->width, pixels->height);
    pp_status status = set_up(&w, plan, scratch, err);
    if (status != PP_OK)
        return status;
    /* An odd number of taps is left only where the source is narrower than the filter. */
    w.resize_rows = portable() || w.x.taps % 2 ? pp_resize_rows_portable : pp_resize_rows_avx2;
    w.resize_column = portable() || w.y.taps % 2 ? pp_resize_column_portable : pp_resize_column_avx2;
    if (w.x.count < w.t->width || w.y.count < w.t->height)
        pp_store_padding(&w.store);
    for (int y = 0; y < w.y.count; y++) {
        int first = w.y.start[y];
        while (w.rows_done < first + w.y.taps) {
            /* The next rows of the source, horizontally; at the end a row is simply done more than once. */
            const uint8_t *from[ROWS_AT_ONCE];
            uint8_t *to[ROWS_AT_ONCE];
            int last = w.pixels->height - 1;
            for (int i = 0; i < ROWS_AT_ONCE; i++) {
                int row = w.rows_done + i < last ? w.rows_done + i : last;
                from[i] = w.pixels->data + (size_t)row * w.pixels->stride;
                to[i] = w.ring + (size_t)(row % w.ring_rows) * w.row_stride;
            }
            w.resize_rows(&w.x, from, to);
            w.rows_done += ROWS_AT_ONCE;
        }
        for (int k = 0; k < w.y.taps; k++)
            w.taps[k] = w.ring + (size_t)((first + k) % w.ring_rows) * w.row_stride;
        w.resize_column(&w.y, y, w.taps, w.row, (size_t)w.x.count * 3);
        pp_store_row(&w.store, w.row, w.x.count, w.top + y);
    }
    return PP_OK;
}

/* ---- the tables, for a resize outside this file ---- */

size_t pp_transform_axes_bytes(const struct pp_transform *t, const struct pp_transform_plan *plan)
{
    struct parts seen = parts_of(t, plan);
    size_t x_taps = (size_t)pp_axis_max_taps(seen.x.in, seen.x.out),
           y_taps = (size_t)pp_axis_max_taps(seen.y.in, seen.y.out);
    return ((size_t)seen.x.count * (x_taps + 1) + (size_t)seen.y.count * (y_taps + 1)) * sizeof(int32_t);
}

pp_status pp_transform_axes(const struct pp_transform *t, const struct pp_transform_plan *plan,
                            struct pp_buffer *scratch, void *tables, struct pp_transform_axes *out,
                            struct pp_err *err)
{
    struct parts seen = parts_of(t, plan);
    struct pp_axis axis[2], *x = &axis[0], *y = &axis[1];
    size_t x_bytes = pp_axis_bytes(seen.x.in, seen.x.out, seen.x.count),
           y_bytes = pp_axis_bytes(seen.y.in, seen.y.out, seen.y.count);
    x_bytes = (x_bytes + 7) / 8 * 8;
    uint8_t *at = reserve_scratch(scratch, x_bytes + y_bytes, err);
    if (!at)
        return PP_E_NO_MEMORY;
    pp_axis_fill(x, &seen.x, (int)-plan->x0, plan->crop.width, at);
    pp_axis_fill(y, &seen.y, (int)-plan->y0, plan->crop.height, at + x_bytes);
    at = tables;
    for (int i = 0; i < 2; i++) {
        size_t weights = (size_t)axis[i].count * (size_t)axis[i].taps * sizeof(*axis[i].weight),
               starts = (size_t)axis[i].count * sizeof(*axis[i].start);
        memcpy(at, axis[i].weight, weights);
        memcpy(at + weights, axis[i].start, starts);
        at += weights + starts;
    }
    *out = (struct pp_transform_axes){.bytes = (size_t)(at - (uint8_t *)tables),
                                      .x_count = x->count,
                                      .x_taps = x->taps,
                                      .y_count = y->count,
                                      .y_taps = y->taps,
                                      .left = plan->off_x < 0 ? -plan->off_x : 0,
                                      .top = plan->off_y < 0 ? -plan->off_y : 0,
                                      .flip = plan->flip};
    return PP_OK;
}

/* What one sample gets. Sources: torchvision 0.14, RandomResizedCrop.get_params,
 * _compute_resized_output_size, center_crop. */

#define RANDOM_CROP_TRIES 10

static struct pp_rect random_crop(const struct pp_transform *t, int width, int height, struct pp_rng *r)
{
    double area = (double)width * height;
    double log_low = log(t->ratio[0]), log_high = log(t->ratio[1]);
    for (int i = 0; i < RANDOM_CROP_TRIES; i++) {
        double target_area = area * (t->scale[0] + (t->scale[1] - t->scale[0]) * pp_rng_unit(r));
        double aspect_ratio = exp(log_low + (log_high - log_low) * pp_rng_unit(r));
        double w = rint(sqrt(target_area * aspect_ratio)), h = rint(sqrt(target_area / aspect_ratio));
        if (w < 1 || w > width || h < 1 || h > height)
            continue;
        struct pp_rect box = {.width = (int)w, .height = (int)h};
        box.y = (int)pp_rng_below(r, (uint64_t)(height - box.height + 1));
        box.x = (int)pp_rng_below(r, (uint64_t)(width - box.width + 1));
        return box;
    }
    double in_ratio = (double)width / height;
    struct pp_rect box = {.width = width, .height = height};
    if (in_ratio < t->ratio[0])
        box.height = (int)rint(width / t->ratio[0]); /* as Python's round: ties to even */
    else if (in_ratio > t->ratio[1])
        box.width = (int)rint(height * t->ratio[1]);
    /* torchvision crops an empty box from a line of one pixel and an extreme ratio, and fails; one pixel is
     * kept here. */
    box.width = box.width < 1 ? 1 : box.width;
    box.height = box.height < 1 ? 1 : box.height;
    box.x = (width - box.width) / 2;
    box.y = (height - box.height) / 2;
    return box;
}

/* Where a centred window of want begins in have samples; negative: that much padding comes first. */
static int center_offset(int have, int want)
{
    return want > have ? -((want - have) / 2) : (int)rint((have - want) / 2.0);
}

void pp_transform_draw(const struct pp_transform *t, int width, int height, struct pp_sample_key key,
                       struct pp_transform_plan *plan)
{
    struct pp_rng crop_rng = pp_rng_key(key.seed, key.epoch, key.sample, PP_STREAM_CROP),
                  flip_rng = pp_rng_key(key.seed, key.epoch, key.sample, PP_STREAM_FLIP);
    struct pp_rect box = {.width = width, .height = height};
    if (t->resize == PP_RESIZE_RANDOM_CROP)
        box = random_crop(t, width, height, &crop_rng);
    *plan = (struct pp_transform_plan){.w = box.width, .h = box.height};
    plan->flip = t->has_flip && pp_rng_unit(&flip_rng) < t->flip_p;
    int *out_width = &plan->out_w;
    int *out_height = &plan->out_h;
    int shorter = width <= height ? width : height, longer = width <= height ? height : width;
    int new_longer = (int)((double)((int64_t)t->resize_width * longer) / shorter);
    *out_width = t->resize_width;
    *out_height = t->resize_height;
    if (t->resize == PP_RESIZE_NONE) {
        *out_width = width;
        *out_height = height;
    } else if (t->resize == PP_RESIZE_SHORTER) {
        *out_width = width <= height ? t->resize_width : new_longer;
        *out_height = width <= height ? new_longer : t->resize_height;
    }
    if (t->has_center) {
        plan->off_x = center_offset(plan->out_w, t->width);
        plan->off_y = center_offset(plan->out_h, t->height);
        /* A window of the mirrored picture is the mirrored window of the picture; odd differences make it
         * another one. */
        if (plan->flip && t->flip_before_center)
            plan->off_x = plan->out_w - plan->off_x - t->width;
    }
    /* Of the box what its visible outputs depend on. */
    struct parts parts = parts_of(t, plan);
    int left, right, top, bottom;
    pp_axis_span(&parts.x, &left, &right);
    pp_axis_span(&parts.y, &top, &bottom);
    plan->crop = (struct pp_rect){.x = box.x + left,
                                  .y = box.y + top,
                                  .width = right - left,
                                  .height = bottom - top};
    plan->x0 = -left;
    plan->y0 = -top;
}
