#include "report/replay/nvjpeg.h"

#include "probe/base/err.h"
#include "probe/base/opts.h"
#include "probe/base/text.h"

/* GPUs with a JPEG engine (NVIDIA's nvJPEG documentation: A100, A30, H100); later ones have more of them than
 * the one that was measured. */
static const char *const with_engine[] = {"A100", "A30", "H100", "H200", NULL};

/* Both of an A100. torchvision's pull request 8496, batches of 100 and 1000 images of 551 x 676 pixels: 7709
 * and 7834 images/s, and one image alone takes 0.6 ms. NVIDIA's developer forum, thread 228533: five images
 * of 3840 x 2160 take 5 ms, and so does one. */
const struct pp_nvjpeg_rate pp_nvjpeg_published = {
    .gpu = "A100",
    .names = with_engine,
    .low_pixels_per_s = 2.9e9,
    .high_pixels_per_s = 8.3e9,
    .low_floor_ns = 0.6e6,
    .high_floor_ns = 5e6,
    .source = "torchvision pull request 8496; NVIDIA developer forum 228533",
};

int pp_nvjpeg_engine_in(const struct pp_costs *c)
{
    for (const char *const *name = pp_nvjpeg_published.names; *name; name++)
        if (strstr(c->gpu, *name))
            return 1;
    return 0;
}

/* ":RATE" or ":RATE:MS" */
static int parse(const char *text, double *per_s, double *floor_ms)
{
    char rate[40];
    const char *colon = strchr(text + 1, ':');
    snprintf(rate, sizeof(rate), "%.*s", (int)(colon ? colon - text - 1 : (long)strlen(text + 1)), text + 1);
    return pp_parse_double(rate, per_s) == PP_OK && *per_s > 0 && *per_s < 1e12 &&
           (!colon || (pp_parse_double(colon + 1, floor_ms) == PP_OK && *floor_ms >= 0 && *floor_ms < 1e6));
}

pp_status pp_nvjpeg_set(struct pp_knobs *k, const struct pp_costs *c, const char *text, struct pp_err *err)
{
    const struct pp_nvjpeg_rate *r = &pp_nvjpeg_published;
    double per_s, floor_ms = 0, pixels = c->image_pixels;
    int stated = *text != '\0';
    if (stated && (*text != ':' || !parse(text, &per_s, &floor_ms)))
        return pp_fail(err, PP_E_USAGE,
                       "'decode=nvjpeg%s' is not valid; use decode=nvjpeg, decode=nvjpeg:IMAGES_PER_S, or "
                       "decode=nvjpeg:IMAGES_PER_S:MS with the least time of a batch",
                       text);
    const char *why = NULL;
    int decodes = 0;
    for (size_t i = 0; i < c->n; i++)
        decodes |= c->samples[i].decode_cpu > 0;
    if (!decodes)
        why = "nothing is decoded in the recording";
    else if (c->images.n > 0 && !(c->images.baseline > 0))
        why = "no image of the recording is a baseline JPEG, and a JPEG engine takes no other";
    else if (!stated && !(c->image_pixels > 0))
        why = "the size of the images is not in the recording; state the GPU's rate for them: "
              "decode=nvjpeg:IMAGES_PER_S";
    pp_status st = why ? pp_fail(err, PP_E_UNSUPPORTED, "decode=nvjpeg cannot be predicted: %s", why) : PP_OK;
    if (st != PP_OK)
        return st;
    if (stated)
        k->gpu_decode = (struct pp_gpu_decode){.per_s = per_s,
                                               .low_per_s = per_s,
                                               .high_per_s = per_s,
                                               .floor_ns = floor_ms * 1e6,
                                               .low_floor_ns = floor_ms * 1e6,
                                               .high_floor_ns = floor_ms * 1e6};
    else
        k->gpu_decode = (struct pp_gpu_decode){.per_s = sqrt(r->low_pixels_per_s * r->high_pixels_per_s) /
                                                        pixels,
                                               .low_per_s = r->low_pixels_per_s / pixels,
                                               .high_per_s = r->high_pixels_per_s / pixels,
                                               .floor_ns = sqrt(r->low_floor_ns * r->high_floor_ns),
                                               .low_floor_ns = r->low_floor_ns,
                                               .high_floor_ns = r->high_floor_ns,
                                               .published = 1};
    /* part of the images: baseline JPEG; 1 where the recording does not tell */
    double bytes = 0, part = c->images.n > 0 ? fmin(c->images.baseline / c->images.n, 1) : 1;
    k->gpu_decode.part = part;
    k->gpu_decode.counted = c->images.n > 0;
    /* Of the bytes of a batch: the encoded ones of images that the GPU takes, and the others as recorded. 1
     * where either is not known. */
    for (size_t i = 0; i < c->n; i++)
        bytes += c->samples[i].bytes / (double)c->n;
    k->gpu_decode.copied = bytes > 0 && c->copy_bytes > 0
                               ? 1 - part + part * bytes * c->batch_size / c->copy_bytes
                               : 1;
    return PP_OK;
}

const char *pp_nvjpeg_assumes(const struct pp_knobs *k, char buf[PP_NVJPEG_TEXT])
{
    const struct pp_nvjpeg_rate *r = &pp_nvjpeg_published;
    const struct pp_gpu_decode *d = &k->gpu_decode;
    char rate[32], low[32], high[32], share[32], left[160], least[48] = "";
    if (!(d->per_s > 0))
        return NULL;
    if (!d->counted)
        snprintf(left, sizeof(left),
                 "Which images are baseline JPEG is not in the recording; all are assumed to be.");
    else if (d->part < 1)
        snprintf(left, sizeof(left), "%s of the images are no baseline JPEG and stay on the CPU.",
                 pp_text_percent(share, sizeof(share), 1 - d->part));
    else
        snprintf(left, sizeof(left), "All images are baseline JPEG.");
    if (d->floor_ns > 0)
        snprintf(least, sizeof(least), ", %.3g ms per batch at least", d->floor_ns / 1e6);
    if (d->published)
        snprintf(buf, PP_NVJPEG_TEXT,
                 "The GPU's rate is published for an %s (%s), not measured: %s to %s images/s of this size, "
                 "%.3g to %.3g ms per batch at least.",
                 r->gpu, r->source, pp_text_rate(low, sizeof(low), d->low_per_s),
                 pp_text_rate(high, sizeof(high), d->high_per_s), d->low_floor_ns / 1e6,
                 d->high_floor_ns / 1e6);
    else
        snprintf(buf, PP_NVJPEG_TEXT, "The GPU's rate is stated, not measured: %s images/s%s.",
                 pp_text_rate(rate, sizeof(rate), d->per_s), least);
    size_t at = strlen(buf);
    snprintf(buf + at, PP_NVJPEG_TEXT - at,
             " %s Their transforms are assumed to run on the GPU at no cost, and steps to last as recorded.",
             left);
    return buf;
}
