/* report/source/one_loader.h: which batches of a PyTorch job's recording are of other DataLoaders than the
 * one that its report is about (config.dataloader; collectors/attach/loaders.c chooses it). Batch numbers are
 * of the run: no two loaders share one. */
#pragma once

#include "report/source/source.h"

struct pp_batch_range {
    uint32_t from, to;
    unsigned loader; /* its number in the process */
    int other;       /* not the judged one */
    long long pid;
    /* Sums of those that the trainer had, for whoever passes over them: with their waits and steps. */
    uint64_t batches, samples, ns;
};
struct pp_other_batches {
    struct pp_batch_range *range; /* of all loaders, ascending by from */
    size_t n;                     /* 0: there is one loader, or it is not known which batches are whose */
};

/* Free out->range, also after a failure. */
pp_status pp_other_batches_read(const struct pp_source *source, struct pp_other_batches *out,
                                struct pp_err *err);
/* NULL: the batch is nobody's. */
struct pp_batch_range *pp_other_batches_find(const struct pp_other_batches *o, uint32_t batch);
int pp_other_batches_has(const struct pp_other_batches *o, uint32_t batch);

/* The configuration of a PyTorch job as if another of its DataLoaders were the judged one: what section
 * config says of the chosen loader, of that one. */

struct pp_judged;

/* The loader whose variable, place, last part of a place, or row is `name`; of several, the first that was
 * waited for longest. PP_E_USAGE: there is none, and which there are. Free with free. */
pp_status pp_judged_read(const struct pp_source *source, const char *name, struct pp_judged **out,
                         struct pp_err *err);
/* 1: the value is another; *value NULL: it has none. */
int pp_judged_has(const struct pp_judged *j, const char *section, const char *key, const char **value);
