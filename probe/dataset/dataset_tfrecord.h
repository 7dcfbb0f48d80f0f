/* dataset/dataset_tfrecord.h: the option of formats whose samples have several fields: TFRecord files, MDS
 * shards, files of columns. */
#ifndef PP_DATASET_DATASET_TFRECORD_H
#define PP_DATASET_DATASET_TFRECORD_H

#include "probe/dataset/options.h"

struct pp_tfrecord_opts {
    const char *feature; /* that holds the image; NULL: the first that does */
};

struct pp_tfrecord_opts *pp_tfrecord_opts(const struct pp_dataset_options *o);

#endif
