/* device/resize.cuh: decoded pixels (RGB, 8 bits, interleaved) to finished samples: crop, PIL's resize, flip, normalise and layout in one kernel. The arithmetic is
 * that of probe/transform/resize.c in whole numbers, with weights made on the CPU, and the normalisation is a table of 3 x 256 values made there too: the same
 * pixels give the CPU transform's sample bit for bit. A thread makes one pixel of a sample; the rows above each other are resized anew for each, which costs a GPU
 * less than a second pass.
 *
 * Plain C as well: the fake driver of the tests runs these same lines, with PP_KERNEL and the indexes of its own. */
#ifndef PP_DEVICE_RESIZE_CUH
#define PP_DEVICE_RESIZE_CUH

/* One sample. Tables of 32-bit numbers for each axis: count x taps weights of 22 bits, then count first pixels, relative to the crop. */
struct pp_resize_job {
    unsigned long long pixels; /* of the crop's first pixel */
    unsigned long long out;    /* of the sample in the batch */
    unsigned long long tables; /* of x, then of y */
    unsigned pitch;
    int x_count, x_taps, y_count, y_taps;
    int left, top; /* padding before the picture, in pixels of the unmirrored sample */
    int flip;
};

#define PP_RESIZE_HALF (1 << 21)
#define PP_RESIZE_BYTE(sum) ((sum) >> 22 < 0 ? 0 : (sum) >> 22 > 255 ? 255 : (sum) >> 22)
#ifdef __CUDACC__
#define PP_KEEP_LOOP _Pragma("unroll 1")
#else
#define PP_KEEP_LOOP
#endif

/* AT: where channel c of pixel i lies in the sample; VALUE: what byte v of channel c becomes. */
#define PP_RESIZE(name, type, AT, VALUE)                                                                                                                  \
    PP_KERNEL void name(const struct pp_resize_job *__restrict__ jobs, const type *__restrict__ table, unsigned width, unsigned height, unsigned images)  \
    {                                                                                                                                                     \
        unsigned plane = width * height;                                                                                                                  \
        PP_KEEP_LOOP                                                                                                                                      \
        for (unsigned image = blockIdx.y; image < images; image += gridDim.y) {                                                                           \
            const struct pp_resize_job *job = jobs + image;                                                                                               \
            const int *x_weight = (const int *)job->tables, *x_start = x_weight + job->x_count * job->x_taps;                                             \
            const int *y_weight = x_start + job->x_count, *y_start = y_weight + job->y_count * job->y_taps;                                               \
            type *out = (type *)job->out;                                                                                                                 \
            PP_KEEP_LOOP                                                                                                                                  \
            for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < plane; i += gridDim.x * blockDim.x) {                                            \
                int x = (int)(i % width), y = (int)(i / width) - job->top;                                                                                \
                int red = 0, green = 0, blue = 0;                                                                                                         \
                x = (job->flip ? (int)width - 1 - x : x) - job->left;                                                                                     \
                if (x >= 0 && x < job->x_count && y >= 0 && y < job->y_count) {                                                                           \
                    const unsigned char *row = (const unsigned char *)job->pixels + (unsigned long long)job->pitch * (unsigned)y_start[y] + 3ull * (unsigned)x_start[x]; \
                    red = green = blue = PP_RESIZE_HALF;                                                                                                  \
                    PP_KEEP_LOOP                                                                                                                          \
                    for (int k = 0; k < job->y_taps; k++, row += job->pitch) {                                                                            \
                        int r = PP_RESIZE_HALF, g = PP_RESIZE_HALF, b = PP_RESIZE_HALF, weight = y_weight[y * job->y_taps + k];                           \
                        PP_KEEP_LOOP                                                                                                                      \
                        for (int n = 0; n < job->x_taps; n++) {                                                                                           \
                            int w = x_weight[x * job->x_taps + n];                                                                                        \
                            r += w * row[3 * n];                                                                                                          \
                            g += w * row[3 * n + 1];                                                                                                      \
                            b += w * row[3 * n + 2];                                                                                                      \
                        }                                                                                                                                 \
                        red += weight * PP_RESIZE_BYTE(r);                                                                                                \
                        green += weight * PP_RESIZE_BYTE(g);                                                                                              \
                        blue += weight * PP_RESIZE_BYTE(b);                                                                                               \
                    }                                                                                                                                     \
                    red = PP_RESIZE_BYTE(red);                                                                                                            \
                    green = PP_RESIZE_BYTE(green);                                                                                                        \
                    blue = PP_RESIZE_BYTE(blue);                                                                                                          \
                }                                                                                                                                         \
                out[AT(0)] = VALUE(0, red);                                                                                                               \
                out[AT(1)] = VALUE(1, green);                                                                                                             \
                out[AT(2)] = VALUE(2, blue);                                                                                                              \
            }                                                                                                                                             \
        }                                                                                                                                                 \
    }

#define PP_PLANAR(c) ((c)*plane + i)
#define PP_INTERLEAVED(c) (3 * i + (c))
#define PP_BY_TABLE(c, v) table[(c)*256 + (v)]
#define PP_AS_IT_IS(c, v) (unsigned char)(v)

#ifdef PP_KERNEL
PP_RESIZE(pp_resize_u8, unsigned char, PP_INTERLEAVED, PP_AS_IT_IS)
PP_RESIZE(pp_resize_f32, float, PP_PLANAR, PP_BY_TABLE)
PP_RESIZE(pp_resize_f16, unsigned short, PP_PLANAR, PP_BY_TABLE) /* halves are moved, never computed with */
#endif

#endif
