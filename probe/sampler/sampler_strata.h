/* sampler/sampler_strata.h: orders in which every batch has its classes in proportion.
 *
 * One row of all samples, class after class (the classes in an order of the epoch, each class permuted), is
 * dealt to the ranks in turns, padded from its start or cut at its end as any other order. So a rank gets
 * floor or ceil of every class's share of it, and ranks are disjoint.
 *
 * A rank's m_c samples of class c, of len in all, are then placed so that after every L samples the number of
 * those of class c is less than 1 from L m_c / len. The k-th of them (from 0) has to stand at one of the
 * positions floor(k len / m_c) + 1 .. ceil((k + 1) len / m_c), from 1 on; the one with the earliest last
 * position goes first. Such a sequence exists for any numbers (Tijdeman, The chairman assignment problem,
 * Discrete Mathematics 32, 1980), and earliest due date finds it (Steiner and Yeomans, Management Science 39,
 * 1993). Equal due dates are decided by the epoch's key. The sequence is turned by a number of places drawn
 * from the epoch, without which a class of one sample would always come last.
 *
 * So any b samples in a row, batches of any size among them, have less than 2 more or fewer of a class than b
 * m_c / len. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_strata;

/* class_of: n labels of any kind, copied as lists of samples: 4 bytes per sample and 24 per class.
 * PP_E_UNSUPPORTED beyond 2^24 classes. */
pp_status pp_strata_create(const int64_t *class_of, uint64_t n, struct pp_strata **out, struct pp_err *err);
void pp_strata_destroy(struct pp_strata *s);

struct pp_strata_share {
    uint64_t seed, epoch;
    uint64_t rank, world, len; /* len: samples of this rank */
};
/* order[len] by position. n log(classes) steps; 16 bytes per sample of the rank meanwhile. */
pp_status pp_strata_order(const struct pp_strata *s, const struct pp_strata_share *share, uint32_t *order,
                          struct pp_err *err);
