#include "probe/transform/axes.h"

#include "probe/transform/transform_internal.h"

#include <string.h>

static size_t table_bytes(int count, int taps)
{
    return (size_t)count * ((size_t)taps + 1) * sizeof(int32_t);
}

size_t pp_transform_axes_bytes(const struct pp_transform *t, const struct pp_transform_plan *plan)
{
    struct pp_transform_parts seen = pp_transform_parts(t, plan);
    return table_bytes(seen.x.count, pp_axis_max_taps(seen.x.in, seen.x.out)) +
           table_bytes(seen.y.count, pp_axis_max_taps(seen.y.in, seen.y.out));
}

static uint8_t *put(uint8_t *to, const struct pp_axis *a)
{
    size_t weights = (size_t)a->count * (size_t)a->taps * sizeof(*a->weight),
           starts = (size_t)a->count * sizeof(*a->start);
    memcpy(to, a->weight, weights);
    memcpy(to + weights, a->start, starts);
    return to + weights + starts;
}

pp_status pp_transform_axes(const struct pp_transform *t, const struct pp_transform_plan *plan,
                            struct pp_scratch *scratch, void *tables, struct pp_transform_axes *out,
                            struct pp_err *err)
{
    struct pp_transform_parts seen = pp_transform_parts(t, plan);
    struct pp_axis x, y;
    size_t x_bytes = pp_axis_bytes(seen.x.in, seen.x.out, seen.x.count),
           y_bytes = pp_axis_bytes(seen.y.in, seen.y.out, seen.y.count);
    x_bytes = (x_bytes + 7) / 8 * 8;
    uint8_t *at = pp_scratch_reserve(scratch, x_bytes + y_bytes, err);
    if (!at)
        return PP_E_NO_MEMORY;
    pp_axis_fill(&x, &seen.x, (int)-plan->x0, plan->crop.width, at);
    pp_axis_fill(&y, &seen.y, (int)-plan->y0, plan->crop.height, at + x_bytes);
    at = put(put(tables, &x), &y);
    *out = (struct pp_transform_axes){.bytes = (size_t)(at - (uint8_t *)tables),
                                      .x_count = x.count,
                                      .x_taps = x.taps,
                                      .y_count = y.count,
                                      .y_taps = y.taps,
                                      .left = plan->off_x < 0 ? -plan->off_x : 0,
                                      .top = plan->off_y < 0 ? -plan->off_y : 0,
                                      .flip = plan->flip};
    return PP_OK;
}
