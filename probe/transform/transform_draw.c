/* What one sample gets. Sources: torchvision 0.14, RandomResizedCrop.get_params,
 * _compute_resized_output_size, center_crop. */
#include "probe/base/rng.h"
#include "probe/transform/resize.h"
#include "probe/transform/transform_internal.h"

#include <math.h>

#define RANDOM_CROP_TRIES 10

/* Python's round: to nearest, ties to even, which is rint in the default rounding mode. */
static int round_half_even(double v)
{
    return (int)rint(v);
}

static double uniform(struct pp_rng *r, double low, double high)
{
    return low + (high - low) * pp_rng_unit(r);
}

static struct pp_rect random_crop(const struct pp_transform *t, int width, int height, struct pp_rng *r)
{
    double area = (double)width * height;
    double log_low = log(t->ratio[0]), log_high = log(t->ratio[1]);
    for (int i = 0; i < RANDOM_CROP_TRIES; i++) {
        double target_area = area * uniform(r, t->scale[0], t->scale[1]);
        double aspect_ratio = exp(uniform(r, log_low, log_high));
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
        box.height = round_half_even(width / t->ratio[0]);
    else if (in_ratio > t->ratio[1])
        box.width = round_half_even(height * t->ratio[1]);
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
    return want > have ? -((want - have) / 2) : round_half_even((have - want) / 2.0);
}

struct needed {
    int begin, size; /* relative to the box */
};

/* The part of one axis of the box that its visible outputs depend on. */
static struct needed needed(int box_size, int out, int offset, int window)
{
    struct pp_resize_part part = {.in = box_size, .out = out, .first = offset > 0 ? offset : 0};
    int last = offset + window < out ? offset + window : out;
    int begin, end;
    part.count = last - part.first;
    pp_axis_span(&part, &begin, &end);
    return (struct needed){.begin = begin, .size = end - begin};
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
    struct needed x = needed(box.width, plan->out_w, plan->off_x, t->width),
                  y = needed(box.height, plan->out_h, plan->off_y, t->height);
    plan->crop = (struct pp_rect){.x = box.x + x.begin,
                                  .y = box.y + y.begin,
                                  .width = x.size,
                                  .height = y.size};
    plan->x0 = -x.begin;
    plan->y0 = -y.begin;
}
