/* tui/cli/doctor/doctor_decode.h: `doctor --nvjpeg`: how quickly the first CUDA device decodes JPEG, by back
 * end and batch, beside one CPU thread; and how far its pixels are off libjpeg-turbo's. Of images that are
 * made here, as large as a data set's of photographs usually are. */
#ifndef PP_TUI_CLI_DOCTOR_DOCTOR_DECODE_H
#define PP_TUI_CLI_DOCTOR_DOCTOR_DECODE_H

#include "probe/decode/image.h"

#include <pipeprobe/status.h>

#include <stdio.h>

enum { PP_DECODE_BACKENDS = 4, PP_DECODE_BATCHES = 4, PP_DECODE_KINDS = 4 };

struct pp_json;

struct pp_decode_rates {
    int width, height, quality;
    size_t batch[PP_DECODE_BATCHES];
    struct pp_decode_backend_rates {
        const char *name;                       /* "HARDWARE" */
        double images_per_s[PP_DECODE_BATCHES]; /* two batches under way; 0: not measured */
        double least_batch_ns;                  /* one image alone, the fastest of several */
        char why_not[320];                      /* "" or why nothing was measured */
    } backend[PP_DECODE_BACKENDS];
    const char *usual;       /* the back end that run --decode takes for the largest of the batches */
    double cpu_images_per_s; /* libjpeg-turbo, one thread */
    struct {
        const char *sampling;     /* "4:2:0" */
        struct pp_pixels_off off; /* images 0: not compared */
    } kind[PP_DECODE_KINDS];
};

/* Some seconds. PP_E_UNSUPPORTED: no device, no nvJPEG; a back end that cannot be used is no failure. */
pp_status pp_decode_rates(struct pp_decode_rates *out, struct pp_err *err);

/* As a table for people, with a what-if for what was measured; as the member "nvjpeg" of a document, null
 * where nothing was. */
void pp_decode_rates_text(FILE *out);
void pp_decode_rates_json(struct pp_json *j);

#endif
