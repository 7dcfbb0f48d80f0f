/* ranks/identity.h: which rank of which job this process is, as the launcher's environment says it: torchrun,
 * srun, mpiexec, jsrun, deepspeed, accelerate, Ray. One table (identity.c) has a row per launcher, asked in
 * an order in which what starts the training process itself comes before what started that (torchrun inside
 * of srun). Any thread, as far as getenv allows. */
#pragma once

#include "probe/base/std.h"

struct pp_identity {
    const char *launcher; /* "torchrun"; a text of the table. NULL: no launcher is known, and nothing else is
                             set */
    int64_t rank, world_size;                      /* 0 <= rank < world_size */
    int64_t local_rank, local_size, node, attempt; /* -1: not known; attempt: restarts before this one */
    char job[128];                                 /* ""; not known */
};

/* One that no launcher's environment says. */
static inline struct pp_identity pp_identity_of(const char *launcher, int64_t rank, int64_t world_size)
{
    return (struct pp_identity){launcher, rank, world_size, -1, -1, -1, -1, ""};
}

/* The value of a variable, valid until the next call; NULL: it is not set. */
typedef const char *pp_variable_fn(void *ctx, const char *name);

/* Of this process, and of any other whose variables get knows (NULL: of this one). Returns whether there is
 * an identity. */
int pp_identity_read(struct pp_identity *out);
int pp_identity_read_from(pp_variable_fn *get, void *ctx, struct pp_identity *out);

/* The launchers of the table in their order, for documents; NULL after the last. variables: the one that has
 * the rank. */
const char *pp_identity_launcher(size_t i, const char **variable);
