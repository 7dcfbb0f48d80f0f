/* loader/decoding.h: images of a batch that the device decodes (--decode).
 *
 *   worker      reads, parses the header, draws the crop; the bytes of an image that the device takes, and
 *               the tables of its resizing, go into the row's own place in the slot, which is page-locked;
 *               other images are decoded into it as ever
 *   copy lane   several batches under way: decoded on the device, resized into the batch there, joined by the
 *               rows that the CPU made
 *
 * Where the device's decoder refuses an image, it is decoded here on the CPU, and a damaged one becomes an
 * error of its sample. Where the decoder as a whole fails, the run ends (required), or decoding goes on on
 * the CPU; where the device is lost, so does all the rest (struct pp_fallback).
 *
 * decoding.c has the worker's part and the comparison of pixels, decoding_lane.c the copy lane's. */
#ifndef PP_LOADER_DECODING_H
#define PP_LOADER_DECODING_H

#include "probe/decode/jpeg_plain.h"
#include "probe/decode/image.h"
#include "probe/device/decode.h"

#include <pthread.h>
#include <stdatomic.h>

struct pp_claim;
struct pp_encoded;
struct pp_image_info;
struct pp_loader;
struct pp_loader_decode;
struct pp_slot;
struct pp_transform_plan;
struct pp_worker;

/* Beside a row of a slot. */
struct pp_row_input {
    int on_device; /* the row holds, or wide does, tables and bytes for the device, and no sample */
    int is_wide;
    uint8_t *wide; /* page-locked; for what does not fit into the row. Kept for the slot's next batches */
    size_t wide_size;
    enum pp_jpeg_sampling sampling;
    struct pp_device_image image; /* data and tables are set when the batch is gathered: rows move */
};

struct pp_decoding {
    struct pp_device *device; /* NULL: everything is decoded on the CPU */
    atomic_int
        off; /* no longer: relaxed, it orders nothing; what is in the slots is decoded by the copy lane */
    pthread_mutex_t lock;                 /* around allocations of page-locked memory by workers */
    struct pp_device_image *images;       /* the copy lane's, of the batch in hand; batch_size */
    uint8_t *usable;                      /* rows of it; batch_size */
    uint8_t *delivered;                   /* a batch that is read back; NULL: nothing is handed over */
    struct pp_worker *rescue;             /* the copy lane's own decoder */
    char reason[480];                     /* why off; the copy lane's */
    uint64_t off_ns;                      /* and since when */
    uint64_t on_device, refused, regions; /* images; regions: of those on the device; the copy lane's */
    uint64_t most_pixels;                 /* of an image that the device is given */
    /* Images that were larger; the first one. Relaxed: they are for a sentence. */
    atomic_ullong too_large;
    atomic_int too_wide, too_high;
    int told_too_large;  /* the copy lane's */
    atomic_int off_gray; /* relaxed: the decoder's grey images are none, and it gets no more */
    /* Pixels of the first images of each kind against libjpeg-turbo's; the copy lane's */
    struct pp_pixels_off difference[PP_JPEG_SAMPLINGS];
};

pp_status pp_decoding_init(struct pp_loader *l, struct pp_err *err);
void pp_decoding_free(struct pp_loader *l);

/* Worker: 1 when the device takes the image, which the worker's decoder has open, and it is in its row. Where
 * no memory is left for that, the CPU decodes it. */
int pp_decoding_take(struct pp_worker *w, const struct pp_claim *c, const struct pp_encoded *in,
                     const struct pp_image_info *info, const struct pp_transform_plan *plan);
/* Row from's image becomes row to's; to had none that is needed. */
void pp_decoding_move(struct pp_slot *s, uint32_t to, uint32_t from);

/* The copy lane of a run that decodes on the device. */
void *pp_decoding_main(void *loader);
/* Its parts: the images of the slot's rows, in row order, into images of struct pp_decoding (returns how
 * many); the encoded bytes of one; and, of the run's first images of each kind, how far the pixels of
 * the last start are off libjpeg-turbo's: images that cannot be right become failed. */
size_t pp_decoding_gather(struct pp_loader *l, const struct pp_slot *s);
struct pp_encoded pp_decoding_bytes(const struct pp_slot *s, const struct pp_device_image *image);
void pp_decoding_compare(struct pp_loader *l, const struct pp_slot *s, uint64_t ticket, size_t n);

static inline int pp_decoding_is_off_gray(const struct pp_decoding *d)
{
    return atomic_load_explicit(&((struct pp_decoding *)d)->off_gray, memory_order_relaxed);
}

static inline int pp_decoding_is_off(const struct pp_decoding *d)
{
    return atomic_load_explicit(&((struct pp_decoding *)d)->off, memory_order_relaxed);
}

void pp_decoding_report(const struct pp_loader *l, struct pp_loader_decode *out);

/* What takes the place of the device when it fails in the middle of a run that is to go on all the same
 * (--decode auto).
 *
 * A device that is lost copies nothing, decodes nothing and runs no steps. From then on images are decoded on
 * the CPU, batches stay in host memory (the host device times their copies on its simulated link), and a step
 * of the device is a sleep of the same length. Memory of the lost device that is the host's, as batch slots
 * are, stays valid until the device is closed. */
struct pp_fallback {
    struct pp_device *host; /* opened before the threads start; NULL: a failure of the device ends the run */
    pthread_mutex_t lock;
    atomic_int taken; /* relaxed: it orders nothing, host was there before */
    /* Of the first failure; guarded by lock until the threads have been joined */
    char reason[480];
    uint64_t taken_ns; /* 0: the device never failed */
};

/* For a loader whose device decodes and need not; else there is none. */
pp_status pp_fallback_init(struct pp_loader *l, struct pp_err *err);
void pp_fallback_free(struct pp_loader *l);

/* Any thread: where copies and synchronisation go now. */
struct pp_device *pp_fallback_device(const struct pp_loader *l);
static inline int pp_fallback_is_taken(const struct pp_fallback *f)
{
    return atomic_load_explicit(&((struct pp_fallback *)f)->taken, memory_order_relaxed);
}
/* Copy lane, trainer: the device failed, and err says at what. 1: the run goes on without it, as is said once
 * by the event note; what failed is to be done again. 0: err is the run's. */
int pp_fallback_take(struct pp_loader *l, const struct pp_err *err);

#endif
