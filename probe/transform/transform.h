/* transform/transform.h: torchvision's transforms, fused: crop -> resize -> flip -> normalise, from decoded
 * pixels straight into the batch slot.
 *
 * Grammar: comma-separated, in torchvision's order and semantics (PIL images, BILINEAR with antialias as PIL
 * does):
 *   rrc:SIZE[:scale=a-b][:ratio=a-b]  RandomResizedCrop(SIZE, scale=(0.08,1), ratio=(3/4,4/3))
 *   resize:SIZE | resize:HxW          Resize: shorter side to SIZE, or exactly
 *   center:SIZE                       CenterCrop (pads with 0 when the image is smaller, as torchvision does)
 *   hflip[:P]                         RandomHorizontalFlip(P = 0.5)
 *   normalize=imagenet | normalize=m,m,m/s,s,s | normalize=none
 * "rrc:224,hflip,normalize=imagenet" (train, the default), "resize:256,center:224,normalize=imagenet" (eval).
 * Every SIZE may also be HxW (resize:HxW is exact, resize:SIZE keeps the ratio); sizes are 1 to 8192, ratios
 * may be fractions (3/4). Each step at most once: rrc or resize first, then center, hflip anywhere before
 * normalize, normalize last. The result must have one fixed size. Random choices depend on (seed, epoch,
 * sample) only and have torchvision's distribution, not its generator's numbers. The results are
 * torchvision's bit for bit, PIL's fixed-point resampling and the float32 order of ToTensor and Normalize
 * included. One exception: hflip before resize or rrc is done after it, which may differ by 1/255. */
#pragma once

#include "probe/decode/image.h"

enum pp_dtype {
    PP_DTYPE_F32,
    PP_DTYPE_F16,
    PP_DTYPE_U8
}; /* f32, f16: NCHW; u8: NHWC, normalize must be none or absent-by-default */
const char *pp_dtype_name(enum pp_dtype t);
size_t pp_dtype_size(enum pp_dtype t);

/* Streams of pp_rng_key that augmentation draws from; other uses of the same (seed, epoch, sample) take
 * others. */
enum pp_transform_stream { PP_STREAM_CROP = 1, PP_STREAM_FLIP = 2 };

struct pp_transform; /* immutable after parse; shared by all workers */

pp_status pp_transform_parse(const char *spec, enum pp_dtype dtype, struct pp_transform **out,
                             struct pp_err *err);
void pp_transform_destroy(struct pp_transform *t);
int pp_transform_height(const struct pp_transform *t);
int pp_transform_width(const struct pp_transform *t);
size_t pp_transform_bytes(const struct pp_transform *t); /* of one sample */
/* The spec in canonical form, every default spelled out, for the stored configuration. */
const char *pp_transform_text(const struct pp_transform *t);

/* For batches that are normalised on the device: t up to its last step, with samples of interleaved bytes.
 * What t itself makes of value v of channel c is element c * 256 + v of pp_transform_values(t), of t's dtype
 * (not u8). */
pp_status pp_transform_until_normalize(const struct pp_transform *t, struct pp_transform **out,
                                       struct pp_err *err);
const void *pp_transform_values(const struct pp_transform *t);

/* What one sample gets: drawn before decoding, so that only the crop is decoded. */
struct pp_transform_plan {
    struct pp_rect crop; /* region of the source to decode (includes the resize filter's support) */
    double x0, y0, w, h; /* box inside crop that maps onto the resized picture (PIL's resize box) */
    int out_w, out_h;    /* resized size before padding or centre crop */
    int off_x, off_y;    /* where the output window starts in the resized picture; negative: padding */
    int flip;
};
/* What the random choices for a sample depend on, and nothing else. */
struct pp_sample_key {
    uint64_t seed, epoch, sample;
};
/* width and height at most PP_IMAGE_MAX_SIDE. Any thread. */
void pp_transform_draw(const struct pp_transform *t, int width, int height, struct pp_sample_key key,
                       struct pp_transform_plan *plan);

/* Resizes, flips, normalises plan->crop's pixels into out (pp_transform_bytes, aligned as its dtype). AVX2
 * when the CPU has it, portable otherwise: same bits. f16 is the f32 result rounded to nearest even.
 * scratch: one per worker, for tables and rows; grown as needed. PP_E_USAGE when pixels are not of the crop's
 * size. */
pp_status pp_transform_apply(const struct pp_transform *t, const struct pp_transform_plan *plan,
                             const struct pp_pixels *pixels, struct pp_buffer *scratch, void *out,
                             struct pp_err *err);
/* "avx2" or "portable"; pp_transform_force_portable(1) for tests and PIPEPROBE_SIMD=portable. */
const char *pp_transform_simd(void);
void pp_transform_force_portable(int on);

/* What resizes one sample elsewhere than on the CPU (probe/device/resize.cuh): the tables of weights that
 * pp_transform_apply makes for itself, as plain numbers. The same pixels give the same sample. */
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
                            struct pp_buffer *scratch, void *tables, struct pp_transform_axes *out,
                            struct pp_err *err);
