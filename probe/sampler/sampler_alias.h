/* sampler/sampler_alias.h: one index in proportion to its weight, in constant time (the alias method of
 * Walker, 1977, built as Vose, 1991, does). 12 bytes per weight; immutable once built, so any number of
 * threads may pick. */
#pragma once

#include "probe/base/rng.h"

#include <pipeprobe/status.h>

struct pp_alias;

/* n in 1..2^32. PP_E_USAGE naming the first weight that is negative or not finite, or saying that all are
 * zero; PP_E_NO_MEMORY. */
pp_status pp_alias_create(const double *weights, uint64_t n, struct pp_alias **out, struct pp_err *err);
void pp_alias_destroy(struct pp_alias *a);

/* Takes its randomness from rng. An index of weight zero is never picked. */
uint64_t pp_alias_pick(const struct pp_alias *a, struct pp_rng *rng);
