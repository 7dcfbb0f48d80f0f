/* sampler/sampler.h: which sample comes at which position of an epoch, for one rank.
 *
 * at(position) is a pure function of (kind, n, seed, epoch, rank, world size, drop_last): nothing is handed
 * from worker to worker, so any number of workers sees the same order and a run resumes at any position
 * without replay. Ranks are disjoint and their union is the epoch (padded or cut at the end as drop_last
 * says, in PyTorch's DistributedSampler's way).
 *
 * The rule for ranks, for every kind (stratified orders what a rank got by it once more, sampler_strata.h):
 * the epoch's order of n samples is repeated from its start until its length is a multiple of the world size
 * (or, with drop_last, cut to one), and rank r takes positions r, r + world size, r + 2 world size, ...
 *
 * Memory: sequential and random a few words at any n up to 2^40. Weighted draws with replacement, each draw
 * keyed by (seed, epoch, position), and holds 12 bytes per weight in the sampler. Torch shuffles 4 bytes per
 * sample when an order is made and keeps this rank's share of them. Stratified holds 4 bytes per sample in
 * the sampler, and 4 per sample of the rank in an order. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

#define PP_SAMPLER_MAX_N (UINT64_C(1) << 40)

/* From this n on (UINT32_MAX / 20) the order of torch.randperm on a CPU depends on PyTorch's version: pull
 * request 143875 (January 2025) gave large n another algorithm. Below it all versions agree. */
#define PP_SAMPLER_TORCH_END UINT64_C(214748364)

enum pp_sampler_kind {
    PP_SAMPLER_SEQUENTIAL,
    PP_SAMPLER_RANDOM,
    PP_SAMPLER_TORCH,
    PP_SAMPLER_WEIGHTED,
    PP_SAMPLER_STRATIFIED,
    PP_SAMPLER_KIND_COUNT
};
const char *pp_sampler_kind_name(
    enum pp_sampler_kind kind); /* "sequential", ...; "unknown" outside the enum */

struct pp_sampler_opts {
    enum pp_sampler_kind kind;
    uint64_t n; /* dataset length, 1..2^40 (2^32 for weighted and stratified, PP_SAMPLER_TORCH_END - 1 for
                   torch) */
    uint64_t seed;
    uint64_t rank, world_size; /* world_size 0 counts as 1; at most 2^32 */
    int drop_last;             /* cut the epoch to a multiple of world_size instead of padding it */
    /* weighted: draws with replacement, probability proportional to weight */
    const double *weights; /* n of them, copied; all >= 0, finite, some > 0 */
    uint64_t draws;        /* samples per epoch over all ranks; 0: n */
    /* stratified: classes in proportion in every batch */
    const int64_t *classes; /* n labels, copied */
};

struct pp_sampler;

/* PP_E_EMPTY for n = 0; PP_E_USAGE for a rank outside the world, for drop_last with fewer samples than ranks
 * (PyTorch would run an epoch of nothing) and for bad weights; PP_E_UNSUPPORTED for n beyond the kind's
 * limit. Immutable once made: any thread. */
pp_status pp_sampler_create(const struct pp_sampler_opts *opts, struct pp_sampler **out, struct pp_err *err);
void pp_sampler_destroy(struct pp_sampler *s);

/* Samples this rank draws in one epoch; the second form needs no sampler (0: none, what create refuses). */
uint64_t pp_sampler_len(const struct pp_sampler *s);
uint64_t pp_sampler_len_of(const struct pp_sampler_opts *opts);

/* One epoch's order, to be destroyed before its sampler. A few words, made in < 1 us; only torch shuffles
 * here (20 ns per sample). Orders are independent: the next epoch's may be made while the last one's is in
 * use. at() and fill() may be called by any thread. */
struct pp_order;
pp_status pp_order_create(const struct pp_sampler *s, uint64_t epoch, struct pp_order **out,
                          struct pp_err *err);
void pp_order_destroy(struct pp_order *o);
uint64_t pp_order_at(const struct pp_order *o, uint64_t position); /* position < pp_sampler_len */
/* out[i] = at(position + i) for i < count; position + count <= pp_sampler_len. Random is several times faster
 * this way. */
void pp_order_fill(const struct pp_order *o, uint64_t position, uint64_t *out, size_t count);
size_t pp_order_footprint(const struct pp_order *o); /* bytes */

/* Reads n weights for the weighted sampler from a text file: numbers separated by white space, "#" starts a
 * comment. *out is freed with free(). PP_E_CORRUPT naming the line of a word that is no number, PP_E_USAGE
 * when the file holds another count than n. */
pp_status pp_weights_load(const char *path, uint64_t n, double **out, struct pp_err *err);

/* The same for the classes of the stratified sampler: n whole numbers. */
pp_status pp_classes_load(const char *path, uint64_t n, int64_t **out, struct pp_err *err);

/* Where a run stands, saved with --save-state and resumed with --resume. Small JSON, written atomically. */
struct pp_loader_state {
    uint64_t epoch, consumed; /* consumed: samples of (epoch, rank) already delivered to the trainer */
    enum pp_sampler_kind kind;
    uint64_t n, seed, rank, world_size;
    int drop_last;
    int streaming;                                   /* with a shard cursor: */
    uint64_t shard, offset, number;                  /* as pp_stream_cursor has them */
    uint64_t shuffle_buffer, shards, shuffle_shards; /* what else the order of a stream depends on */
    uint64_t weights_digest; /* of the weights and draws, of the classes; 0: not recorded, then it is not
                                compared */
};
/* Fills everything opts knows (kind, n, seed, rank, world size, drop_last, weights) for a run that starts;
 * the rest is zero. */
void pp_state_init(struct pp_loader_state *st, const struct pp_sampler_opts *opts);
pp_status pp_state_save(const char *path, const struct pp_loader_state *st, struct pp_err *err);
/* PP_E_CORRUPT for a truncated file, for JSON that is no state, and naming a field that is missing or out of
 * range; PP_E_VERSION for an unknown version. st is untouched on failure. */
pp_status pp_state_load(const char *path, struct pp_loader_state *st, struct pp_err *err);
/* PP_E_USAGE naming the field when the saved run drew another order than opts would (n, seed, rank, world
 * size, drop_last, kind, weights), with both values; PP_E_CORRUPT when more is consumed than an epoch of this
 * rank holds. */
pp_status pp_state_matches(const struct pp_loader_state *st, const struct pp_sampler_opts *opts,
                           struct pp_err *err);
