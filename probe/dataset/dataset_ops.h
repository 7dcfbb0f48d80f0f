/* dataset/dataset_ops.h: what a dataset back end is made of. Only the dataset files include it.
 *
 * A back end embeds struct pp_dataset as its first member, allocates itself in its opener with calloc, and is
 * released by pp_dataset_close, which calls ops->close (releases what the back end holds, copes with a
 * half-built object) and then frees it. */
#ifndef PP_DATASET_DATASET_OPS_H
#define PP_DATASET_DATASET_OPS_H

#include "probe/dataset/dataset.h"
#include "probe/dataset/warnings.h"

struct pp_dataset_ops {
    enum pp_dataset_kind kind;
    enum pp_content content;
    int sequential; /* see pp_dataset_sequential */
    /* index is below len */
    pp_status (*read)(const struct pp_dataset *d, uint64_t index, struct pp_sample *s, struct pp_err *err);
    void (*path)(const struct pp_dataset *d, uint64_t index, char *buf, size_t size);
    void (*describe)(const struct pp_dataset *d, char *buf, size_t size);
    const char *(*class_name)(const struct pp_dataset *d, uint64_t cls); /* NULL: classes have no names */
    uint64_t (*footprint)(const struct pp_dataset *d);
    void (*close)(struct pp_dataset *d);
};

struct pp_dataset {
    const struct pp_dataset_ops *ops;
    uint64_t len, classes;
    struct pp_warnings warnings;
};

/* Openers. On failure *out is NULL and nothing is left behind. */
struct pp_listing;
/* root_fd is an open directory, root what was listed in it; both are taken over, also on failure. PP_E_EMPTY
 * when no image is below. */
pp_status pp_folder_open(const struct pp_dataset_opts *opts, int root_fd, struct pp_listing *root,
                         struct pp_dataset **out, struct pp_err *err);
pp_status pp_shards_open(const struct pp_dataset_opts *opts, struct pp_dataset **out, struct pp_err *err);
pp_status pp_tokens_open(const struct pp_dataset_opts *opts, struct pp_dataset **out, struct pp_err *err);
pp_status pp_synthetic_open(const struct pp_dataset_opts *opts, struct pp_dataset **out, struct pp_err *err);

#endif
