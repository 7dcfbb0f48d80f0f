/* device/normalize.cuh: 8-bit interleaved pixels (NHWC) into normalised planes (NCHW), by a table: value v of channel c becomes table[c * 256 + v]. The table is
 * made on the CPU, so the results are the CPU transform's bit for bit. A thread does a pixel at a time: writes to each plane are coalesced, and
 * the table (3 KiB) stays in the first cache.
 *
 * Plain C as well: the fake driver of the tests runs these same lines, with PP_KERNEL and the indexes of its own. */
#define PP_NORMALIZE(name, type)                                                                                                                          \
    PP_KERNEL void name(const unsigned char *__restrict__ in, type *__restrict__ out, const type *__restrict__ table, unsigned plane, unsigned images)    \
    {                                                                                                                                                     \
        for (unsigned image = blockIdx.y; image < images; image += gridDim.y) {                                                                           \
            const unsigned char *from = in + 3ull * plane * image;                                                                                        \
            type *to = out + 3ull * plane * image;                                                                                                        \
            for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < plane; i += gridDim.x * blockDim.x)                                              \
                for (unsigned channel = 0; channel < 3; channel++)                                                                                        \
                    to[channel * plane + i] = table[channel * 256 + from[i * 3 + channel]];                                                               \
        }                                                                                                                                                 \
    }

PP_NORMALIZE(pp_normalize_f32, float)
PP_NORMALIZE(pp_normalize_f16, unsigned short) /* halves are moved, never computed with */
