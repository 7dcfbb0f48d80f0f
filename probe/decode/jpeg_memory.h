/* decode/jpeg_memory.h: libjpeg's per-image memory served from an arena.
 *
 * libjpeg reaches all memory through the method pointers of cinfo->mem, virtual arrays (the coefficients of a
 * progressive image) included, and nothing looks behind them; so replacing the methods for JPOOL_IMAGE is
 * sound. What is permanent (tables, the marker reader) stays with libjpeg's own manager and is allocated
 * once. Virtual sample arrays serve two-pass colour quantisation only, which we never ask for; they stay with
 * libjpeg too. */
#ifndef PP_DECODE_JPEG_MEMORY_H
#define PP_DECODE_JPEG_MEMORY_H

#include "probe/decode/image_memory.h"

#include <stdio.h>

#include <jpeglib.h>

struct pp_jpeg_memory {
    struct pp_image_arena *arena;        /* borrowed */
    struct jpeg_memory_mgr original;     /* libjpeg's methods, for permanent objects and destruction */
    struct jvirt_barray_control *arrays; /* requested for the image at hand, newest first */
};

/* After jpeg_create_decompress. cinfo->client_data must point to m from now on. */
void pp_jpeg_memory_install(struct pp_jpeg_memory *m, j_decompress_ptr cinfo);

#endif
