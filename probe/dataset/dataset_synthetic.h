/* dataset/dataset_synthetic.h: the option of synthetic data sets. */
#ifndef PP_DATASET_DATASET_SYNTHETIC_H
#define PP_DATASET_DATASET_SYNTHETIC_H

#include "probe/dataset/options.h"

struct pp_synthetic_opts {
    const char *spec; /* NULL: the data set is no synthetic one */
};

struct pp_synthetic_opts *pp_synthetic_opts(const struct pp_dataset_options *o);

#endif
