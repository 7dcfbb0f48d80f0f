/* sampler/shuffle_quality.h: how good the shuffle of a streamed epoch is: shards in random order, read from
 * front to back through a buffer of B samples (dataset/shard_stream.c), against a full shuffle of all
 * samples.
 *
 * The buffer gives out a random one of its B samples and reads one in its place; the oldest goes next once B
 * younger ones have overtaken it. Let T be the outputs that a sample sees from the buffer. Where a part f of
 * the outputs are such forced ones, each other output takes a given sample with a chance of (1 - f) / B, so
 * that with h = (1 - f) / B
 *
 *     P(T > t) = exp(-h t) for t < 2 B, and T = 2 B with f = exp(-2 h B) = exp(-2 (1 - f)), f = 0.2032
 *
 * The mean of T is (1 - f) / h = B. A sample read as number i goes out as number i - B + T:
 *
 *     bounds      never more than B places early or late (resume: at most B samples again)
 *     spread      E|T - B| = 2 (exp(-h B) - f) / h = 0.621 B places
 *     own shard   two outputs l apart were read |l + T1 - T2| apart, and two reads d apart are of one shard
 *                 of m samples with a chance of max(0, 1 - d / m). Its mean over T1, T2 and the lags within a
 *                 batch of b is the share of a batch that comes from a sample's own shard. Full shuffle:
 *                 (m - 1) / (n - 1)
 *     class run   the same with l = 1 and the mean length of a run of one class as stored in the place of m:
 *                 the next sample is of the same class by that chance p, else by that of two random samples,
 *                 s = sum of squares of the classes' shares. Mean run: 1 / (1 - (p + (1 - p) s)). Full
 *                 shuffle: 1 / (1 - s)
 *     enough      the smallest B with which a sample has less than one other of its own shard in its batch
 *                 more than a full shuffle gives
 *
 * T1 and T2 are taken as independent and the epoch as long against B; tests/unit/probe/sampler compares with
 * the buffer's rule itself. Where B reaches n, the shuffle is a full one. */
#pragma once

struct pp_shuffle_setup {
    double samples, shards; /* of one rank in an epoch */
    double buffer, batch;   /* samples */
    double class_run;       /* mean samples of one class in a row, as stored; NAN: classes are not known */
    double class_same;      /* s above */
};

struct pp_shuffle_quality {
    double most_places;               /* a sample comes at most so many places from its stored one */
    double spread_places;             /* the mean of that */
    double own_shard, full_own_shard; /* others of its own shard in its batch: mean number */
    double class_run, full_class_run; /* mean; NAN: classes are not known */
    double enough_buffer;             /* samples */
};

void pp_shuffle_quality(const struct pp_shuffle_setup *s, struct pp_shuffle_quality *out);
