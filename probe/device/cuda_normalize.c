#include "probe/device/cuda_normalize.h"

#include "probe/base/err.h"

#include <stdlib.h>
#include <string.h>

#define CHANNELS 3u
#define VALUES 256u
#define THREADS 256u
#define MOST_BLOCKS_X 1024u /* threads go on to further pixels: 8 images of 512 x 512 fill any device */
#define MOST_BLOCKS_Y 65535u
#define TRIAL_PLANE 259u /* every value in every channel, and a last block that is not full */
#define TRIAL_IMAGES 3u

static unsigned at_most(size_t n, unsigned most)
{
    return n < most ? (unsigned)n : most;
}

size_t pp_cuda_normalize_size(const struct pp_cuda_normalize *n, size_t bytes)
{
    return bytes * n->value_bytes;
}

static pp_cu_result start(const struct pp_cuda_normalize *n, pp_cu_pointer from, pp_cu_pointer to,
                          unsigned plane, unsigned images, pp_cu_stream stream)
{
    pp_cu_pointer table = n->table;
    void *args[] = {&from, &to, &table, &plane, &images};
    return n->cu->cuLaunchKernel(n->kernel, at_most((plane + THREADS - 1) / THREADS, MOST_BLOCKS_X),
                                 at_most(images, MOST_BLOCKS_Y), 1, THREADS, 1, 1, 0, stream, args, NULL);
}

pp_cu_result pp_cuda_normalize_start(const struct pp_cuda_normalize *n, pp_cu_pointer from, size_t bytes,
                                     pp_cu_pointer to, pp_cu_stream stream)
{
    return start(n, from, to, (unsigned)n->plane, (unsigned)(bytes / (n->plane * CHANNELS)), stream);
}

/* ---- the trial: every value, compared with the table ---- */

static int as_the_table_says(const struct pp_cuda_normalize *n, const uint8_t *in, const char *out,
                             const char *table)
{
    for (size_t image = 0; image < TRIAL_IMAGES; image++)
        for (size_t channel = 0; channel < CHANNELS; channel++)
            for (size_t i = 0; i < TRIAL_PLANE; i++) {
                size_t value = in[(image * TRIAL_PLANE + i) * CHANNELS + channel],
                       at = (image * CHANNELS + channel) * TRIAL_PLANE + i;
                if (memcmp(out + at * n->value_bytes, table + (channel * VALUES + value) * n->value_bytes,
                           n->value_bytes) != 0)
                    return 0;
            }
    return 1;
}

static pp_status try_values(const struct pp_cuda_normalize *n, const void *table, struct pp_err *err)
{
    enum { BYTES = TRIAL_IMAGES * TRIAL_PLANE * CHANNELS };
    const struct pp_cuda_driver *cu = n->cu;
    pp_cu_pointer from = 0, to = 0;
    uint8_t in[BYTES];
    float out[BYTES] = {0};
    for (size_t i = 0; i < BYTES; i++)
        in[i] = (uint8_t)(i / CHANNELS * 11 + i % CHANNELS * 85); /* 11 has no factor in common with 256: a
                                                                     channel goes through all values */
    pp_cu_result rc = cu->cuMemAlloc_v2(&from, BYTES);
    if (rc == 0)
        rc = cu->cuMemAlloc_v2(&to, BYTES * n->value_bytes);
    if (rc == 0)
        rc = cu->cuMemcpyHtoD_v2(from, in, BYTES);
    if (rc == 0)
        rc = start(n, from, to, TRIAL_PLANE, TRIAL_IMAGES, NULL);
    if (rc == 0)
        rc = cu->cuMemcpyDtoH_v2(out, to, BYTES * n->value_bytes);
    if (from)
        cu->cuMemFree_v2(from);
    if (to)
        cu->cuMemFree_v2(to);
    if (rc == 0 && !as_the_table_says(n, in, (const char *)out, table))
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "normalising on this device gives other values than the CPU; leave out --wire, and report this as a bug");
    return pp_cuda_check(cu, rc, err, NULL, "trying to normalise on the device failed");
}

/* ---- opening ---- */

pp_status pp_cuda_normalize_make(struct pp_cuda_normalize *n, const struct pp_cuda_driver *cu,
                                 pp_cu_module module, const struct pp_device_normalize *what,
                                 struct pp_err *err)
{
    size_t size = CHANNELS * VALUES * what->value_bytes;
    *n = (struct pp_cuda_normalize){.cu = cu, .plane = what->plane, .value_bytes = what->value_bytes};
    pp_cu_result rc = cu->cuModuleGetFunction(&n->kernel, module,
                                              what->value_bytes == 4 ? "pp_normalize_f32"
                                                                     : "pp_normalize_f16");
    if (rc != 0)
        n->kernel = NULL;
    if (rc == 0)
        rc = cu->cuMemAlloc_v2(&n->table, size);
    if (rc == 0)
        rc = cu->cuMemcpyHtoD_v2(n->table, what->table, size);
    if (rc != 0)
        return pp_cuda_check(cu, rc, err, NULL, "making the table for normalising on the device failed");
    return try_values(n, what->table, err);
}

void pp_cuda_normalize_free(struct pp_cuda_normalize *n)
{
    if (n->table)
        n->cu->cuMemFree_v2(n->table);
    *n = (struct pp_cuda_normalize){0};
}
