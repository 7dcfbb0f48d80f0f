/* report/findings/visits.h: which samples came in which order: is an epoch the one before over again
 * (set_epoch forgotten), did a sample come twice in an epoch, or not at all?
 *
 * What a visit is: measure/visit.h. Any recording whose spans carry sample and epoch will do. Of a PyTorch
 * job whose samples were recorded as sums, it is what the samplers of the judged loader gave (table
 * sample_order): of 16 million samples at most, and without a word on an order that a sampler of the job's
 * own repeats, or an evaluation.
 *
 * Order: per batch the sum of the hashes of its samples (64 bits, whatever order threads record them in);
 * epochs are compared batch by batch, each counted from its epoch's first. Two epochs have the same order
 * when nine in ten of the batches both have are the same, and shuffles would agree so with a chance below one
 * in a million (for batches of n1, n2, ... of N samples: n1! n2! ... / N!). Two orders that differ only
 * within batches are taken for the same; two different batches have the same sum with a chance of 2^-64.
 * Samples read by number (batches that span few numbers, in rising order) are no shuffle. Memory: 32 bytes
 * for each of the first 2^21 batches (64 MiB).
 *
 * Samples: watch.h: exact up to a million samples, a fixed part of them beyond. Skipped are those missing
 * from a whole epoch of the last 32: of the data set's number where it is recorded, else of the largest
 * epoch's, so that what no epoch reads is not missed. */
#pragma once

#include "report/measure/timeline.h"

enum { PP_VISITS_EXAMPLES = 3 };

struct pp_visits_example {
    uint64_t sample;
    uint16_t epoch;
};

struct pp_visits {
    int several; /* loaders number their epochs by themselves: orders and what was skipped are not known */
    const char *order_unknown; /* why nothing is known of orders; NULL: it is */
    uint64_t pairs,
        repeated; /* of neighbouring epochs that could be compared; of these, with the same order */
    uint16_t repeated_epoch; /* the first that repeats the one before */
    uint64_t same_batches;   /* of that epoch */
    int by_number;           /* samples are read in order of their numbers */

    const char *repeats_unknown;
    double visits, repeats; /* repeats: visits of a sample that the epoch had had already */
    uint64_t repeat_epochs; /* with any */
    struct pp_visits_example again[PP_VISITS_EXAMPLES];
    size_t n_again;

    const char *skips_unknown;
    double skips, expected; /* expected: samples per epoch */
    uint64_t whole_epochs, skip_epochs;
    struct pp_visits_example missing[PP_VISITS_EXAMPLES];
    size_t n_missing;

    double alike_workers; /* so many workers of an iterable data set gave the same samples (visits.c); 0: they
                             did not, or it is not known */
    double alike_epochs;

    double scale; /* 1: counts are exact; else each stands for so many (estimates) */
};

/* A pass as checks.h has them. lost: spans are missing from the recording. */
struct pp_visits_pass *pp_visits_begin(const struct pp_source *source, const struct pp_timeline *timeline);
int pp_visits_chunk(struct pp_visits_pass *p, uint32_t thread, const struct pp_span *spans, size_t n);
void pp_visits_end(struct pp_visits_pass *p, int lost, struct pp_visits *out);
