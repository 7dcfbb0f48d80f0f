/* dataset/dataset_tfrecord.h: what TFRecord files are made of: the frame around a record, and as much of
 * tf.train.Example as it takes to find an image and its label in one. Pure functions over bytes; any thread.
 *
 *   u64 length, u32 masked CRC-32C of these 8 bytes, length bytes, u32 masked CRC-32C of them
 *   (tensorflow.org/tutorials/load_data/tfrecord, "TFRecords format details"); all little-endian */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

enum { PP_TFRECORD_HEAD = 12, PP_TFRECORD_TAIL = 4 };

/* Whether 12 bytes are the head of a record; *length gets its bytes. */
int pp_tfrecord_head(const uint8_t *head, uint64_t *length);

struct pp_tf_image {
    const uint8_t *data; /* within the record */
    size_t size;
    int64_t label; /* -1: none */
};

/* The image of an Example: the first bytes of the feature called `feature`; with NULL, of the feature first
 * in byte order whose bytes begin as a JPEG, PNG or WebP does; or the record itself when it begins so. The
 * label is the first number of "image/class/label", "label", "class" or "cls", the first of them that there
 * is. PP_E_UNSUPPORTED: no such feature; the sentence begins behind the record's name, which is the caller's,
 * and lists the features. PP_E_CORRUPT: not a message. */
pp_status pp_tf_example_image(const uint8_t *record, size_t size, const char *feature,
                              struct pp_tf_image *out, struct pp_err *err);
