/* dataset/dataset_each.h: start-up work shared out: many small pieces (list a class, index a shard, make an
 * image) done by several threads while the opening thread reports progress. Threads help even on one core,
 * for on a slow mount the time goes into waiting. */
#ifndef PP_DATASET_DATASET_EACH_H
#define PP_DATASET_DATASET_EACH_H

#include "probe/dataset/dataset.h"

#include <stdatomic.h>

struct pp_each {
    uint64_t n;  /* pieces */
    int threads; /* at most this many, and never more than n */
    pp_status (*piece)(void *ctx, uint64_t i, struct pp_err *err); /* any thread; each i once */
    void *ctx;
    /* progress, as opts->progress wants it */
    const struct pp_dataset_opts *opts;
    const char *what;
    atomic_uint_least64_t *done; /* counted by piece; NULL: finished pieces are reported, of n */
};

/* Returns when every started piece has ended. The first failure, or a non-zero answer of progress
 * (PP_E_INTERRUPTED), stops the handing out; progress is not asked again. Pieces are handed out by rising i,
 * so of several failures the one with the lowest i is returned, whatever the timing. */
pp_status pp_each_run(const struct pp_each *each, struct pp_err *err);

/* How many files a data set may keep open: half of the descriptors the process may have, for the rest is for
 * the other code in the process. */
uint64_t pp_each_descriptors(void);

#endif
