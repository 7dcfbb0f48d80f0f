/* report/findings/device_decode.h: a run whose JPEGs the GPU decodes (spans gpu_decode of a device lane, by
 * the device's events): how much of the decoding has left the CPU, whether the decoder is saturated, what it
 * costs the step, and what is copied.
 *
 * Steps beside decoding are compared with steps apart from it: those of whose time 75 % or more, and 25 % or
 * less, fell into decoding; where there are none apart, with what a step of fixed work takes alone. Memory:
 * 16 bytes per step and batch of the window, of the first million each. */
#ifndef PP_REPORT_FINDINGS_DEVICE_DECODE_H
#define PP_REPORT_FINDINGS_DEVICE_DECODE_H

#include "report/findings/checks.h"

struct pp_device_decode_pass;

/* One pass over all spans, after the timeline: begin, every chunk, end. begin returns NULL without memory;
 * end accepts NULL, frees the pass and fills out. */
struct pp_device_decode_pass *pp_device_decode_begin(const struct pp_source *source,
                                                     const struct pp_timeline *timeline);
/* non-zero: no memory */
int pp_device_decode_chunk(struct pp_device_decode_pass *p, uint32_t thread, const struct pp_span *spans,
                           size_t n);
void pp_device_decode_end(struct pp_device_decode_pass *p, struct pp_device_decode_use *out);

#endif
