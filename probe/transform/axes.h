/* transform/axes.h: what resizes one sample elsewhere than on the CPU (probe/device/resize.cuh): the tables
 * of weights that pp_transform_apply makes for itself, as plain numbers. The same pixels give the same
 * sample. */
#ifndef PP_TRANSFORM_AXES_H
#define PP_TRANSFORM_AXES_H

#include "probe/transform/transform.h"

struct pp_transform_axes {
    size_t bytes;                         /* of both tables */
    int x_count, x_taps, y_count, y_taps; /* pixels of the picture that are seen, and weights of each */
    int left, top;                        /* padding before the picture in the unmirrored sample */
    int flip;
};

/* Bytes that the tables need at most. */
size_t pp_transform_axes_bytes(const struct pp_transform *t, const struct pp_transform_plan *plan);
/* Writes the tables: for x, then for y, count x taps weights of 22 bits and count first pixels relative to
 * plan->crop, each an int32_t. tables: any alignment. */
pp_status pp_transform_axes(const struct pp_transform *t, const struct pp_transform_plan *plan,
                            struct pp_scratch *scratch, void *tables, struct pp_transform_axes *out,
                            struct pp_err *err);

#endif
