/* loader/sampler.h: which sample comes at which position of an epoch, for one rank.
 *
 * at(position) is a pure function of (kind, n, seed, epoch, rank, world size, drop_last): nothing is handed from worker to
 * worker, so any number of workers sees the same order and a run resumes at any position without replay. Ranks are disjoint
 * and their union is the epoch (padded or cut at the end as drop_last says, in PyTorch's DistributedSampler's way).
 * Sequential and random need O(1) memory at any n up to 2^40; torch and weighted hold one epoch's order in memory. */
#ifndef PP_LOADER_SAMPLER_H
#define PP_LOADER_SAMPLER_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

#define PP_SAMPLER_MAX_N (UINT64_C(1) << 40)

enum pp_sampler_kind { PP_SAMPLER_SEQUENTIAL, PP_SAMPLER_RANDOM, PP_SAMPLER_TORCH, PP_SAMPLER_WEIGHTED, PP_SAMPLER_KIND_COUNT };
const char *pp_sampler_kind_name(enum pp_sampler_kind kind);

struct pp_sampler_opts {
    enum pp_sampler_kind kind;
    uint64_t n;                /* dataset length, 1..2^40 (2^32 for torch) */
    uint64_t seed;
    uint64_t rank, world_size; /* world_size 0 counts as 1 */
    int drop_last;             /* cut the epoch to a multiple of world_size instead of padding it */
    /* weighted: draws with replacement, probability proportional to weight */
    const double *weights;     /* n of them, copied; all >= 0, finite, some > 0 */
    uint64_t draws;            /* samples per epoch over all ranks; 0: n */
};

struct pp_sampler;

pp_status pp_sampler_create(const struct pp_sampler_opts *opts, struct pp_sampler **out, struct pp_err *err);
void pp_sampler_destroy(struct pp_sampler *s);

/* Samples this rank draws in one epoch. */
uint64_t pp_sampler_len(const struct pp_sampler *s);

/* One epoch's order. For random and sequential this is a few words and takes < 1 us; torch and weighted materialise their order here.
 * Orders are independent: the next epoch's may be made while the last one's is in use. at() may be called by any thread. */
struct pp_order;
pp_status pp_order_create(const struct pp_sampler *s, uint64_t epoch, struct pp_order **out, struct pp_err *err);
void pp_order_destroy(struct pp_order *o);
uint64_t pp_order_at(const struct pp_order *o, uint64_t position); /* position < pp_sampler_len */
size_t pp_order_footprint(const struct pp_order *o);               /* bytes */

/* Where a run stands, saved with --save-state and resumed with --resume. Small JSON, written atomically. */
struct pp_loader_state {
    uint64_t epoch, consumed;         /* consumed: samples of (epoch, rank) already delivered to the trainer */
    enum pp_sampler_kind kind;
    uint64_t n, seed, rank, world_size;
    int drop_last;
    int streaming;                    /* with a shard cursor: */
    uint64_t shard, offset;
    uint64_t shuffle_buffer;
};
pp_status pp_state_save(const char *path, const struct pp_loader_state *st, struct pp_err *err);
pp_status pp_state_load(const char *path, struct pp_loader_state *st, struct pp_err *err);
/* PP_E_USAGE naming the field when the saved run drew another order than opts would (n, seed, rank, world size, drop_last, kind). */
pp_status pp_state_matches(const struct pp_loader_state *st, const struct pp_sampler_opts *opts, struct pp_err *err);

#endif
