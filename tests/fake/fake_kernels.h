/* tests/fake/fake_kernels.h: the kernels of probe/device, for the fake driver. pp_spin is a length of time,
 * pp_work so much of the multiprocessors for each block (fake_sms.h); those that normalise and resize are the
 * lines of normalize.cuh and resize.cuh themselves, run on the CPU, one thread of the grid after another. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct fake_index {
    unsigned x, y;
};
static struct fake_index gridDim, blockDim, blockIdx, threadIdx; /* one launch at a time: the driver's lock */

#define PP_KERNEL static
#include "probe/device/normalize.cuh"
#include "probe/device/resize.cuh"

struct fake_kernel {
    const char *name;
    size_t value_bytes; /* 0: pp_spin, pp_work */
    int resizes, works;
};
static const struct fake_kernel fake_kernels[] = {
    {"pp_spin", 0, 0, 0},          {"pp_work", 0, 0, 1},      {"pp_normalize_f32", 4, 0, 0},
    {"pp_normalize_f16", 2, 0, 0}, {"pp_resize_u8", 1, 1, 0}, {"pp_resize_f32", 4, 1, 0},
    {"pp_resize_f16", 2, 1, 0}};

static inline const struct fake_kernel *fake_kernel_named(const char *name)
{
    for (size_t i = 0; i < sizeof(fake_kernels) / sizeof(fake_kernels[0]); i++)
        if (strcmp(fake_kernels[i].name, name) == 0)
            return &fake_kernels[i];
    return NULL;
}

struct fake_normalize_args {
    const void *in, *table;
    void *out;
    unsigned plane, images;
};

static inline struct fake_normalize_args fake_normalize_args(void **args)
{
    return (struct fake_normalize_args){.in = (void *)(uintptr_t) * (unsigned long long *)args[0],
                                        .out = (void *)(uintptr_t) * (unsigned long long *)args[1],
                                        .table = (void *)(uintptr_t) * (unsigned long long *)args[2],
                                        .plane = *(unsigned *)args[3],
                                        .images = *(unsigned *)args[4]};
}

static inline void fake_normalize(const struct fake_kernel *k, const struct fake_normalize_args *a,
                                  struct fake_index grid, struct fake_index block)
{
    gridDim = grid;
    blockDim = block;
    for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++)
        for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++)
            for (threadIdx.x = 0; threadIdx.x < block.x; threadIdx.x++) {
                if (k->value_bytes == 4)
                    pp_normalize_f32(a->in, a->out, a->table, a->plane, a->images);
                else
                    pp_normalize_f16(a->in, a->out, a->table, a->plane, a->images);
            }
}

struct fake_resize_args {
    const struct pp_resize_job *jobs;
    const void *table;
    unsigned width, height, images;
};

static inline struct fake_resize_args fake_resize_args(void **args)
{
    return (struct fake_resize_args){.jobs = (void *)(uintptr_t) * (unsigned long long *)args[0],
                                     .table = (void *)(uintptr_t) * (unsigned long long *)args[1],
                                     .width = *(unsigned *)args[2],
                                     .height = *(unsigned *)args[3],
                                     .images = *(unsigned *)args[4]};
}

static inline void fake_resize(const struct fake_kernel *k, const struct fake_resize_args *a,
                               struct fake_index grid, struct fake_index block)
{
    gridDim = grid;
    blockDim = block;
    for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++)
        for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++)
            for (threadIdx.x = 0; threadIdx.x < block.x; threadIdx.x++) {
                if (k->value_bytes == 4)
                    pp_resize_f32(a->jobs, a->table, a->width, a->height, a->images);
                else if (k->value_bytes == 2)
                    pp_resize_f16(a->jobs, a->table, a->width, a->height, a->images);
                else
                    pp_resize_u8(a->jobs, a->table, a->width, a->height, a->images);
            }
}
