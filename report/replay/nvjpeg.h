/* report/replay/nvjpeg.h: JPEG decoding that leaves the CPU for a GPU (the knob decode=nvjpeg): which samples
 * the GPU takes, how quickly, and what is then copied to it.
 *
 * The rate is stated by the user, in images/s of this data, or it is published of one GPU, in pixels/s, and
 * becomes images/s by the mean size of the recorded images. Nothing here was measured: the interval of a
 * published rate is the range of its sources, and the rate in its middle their geometric mean. */
#pragma once

#include "report/replay/whatif.h"

/* What is published of the JPEG engine of one GPU. */
struct pp_nvjpeg_rate {
    const char *gpu;
    const char *const *names; /* in names of GPUs for which it is offered, ending with NULL */
    double low_pixels_per_s, high_pixels_per_s;
    double low_floor_ns, high_floor_ns; /* of a batch, however small */
    const char *source;
};
extern const struct pp_nvjpeg_rate pp_nvjpeg_published;
/* Whether the recording's GPU has such an engine, as far as its name tells. */
int pp_nvjpeg_engine_in(const struct pp_costs *c);

/* text: "", a published rate; ":RATE" in images/s, or ":RATE:MS" with the least time of a batch in ms.
 * PP_E_USAGE for another text; PP_E_UNSUPPORTED, with the reason, where the recording has no images for it,
 * or does not tell their size and no rate is stated. */
pp_status pp_nvjpeg_set(struct pp_knobs *k, const struct pp_costs *c, const char *text, struct pp_err *err);

enum { PP_NVJPEG_TEXT = 640 };
/* What a prediction with these knobs takes for granted, in sentences without an end of line; NULL: decoding
 * stays on the CPU. */
const char *pp_nvjpeg_assumes(const struct pp_knobs *k, char buf[PP_NVJPEG_TEXT]);
