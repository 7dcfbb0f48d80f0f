#include "probe/sampler/sampler.h"

#include "probe/base/err.h"
#include "probe/sampler/mt19937.h"
#include "probe/sampler/sampler_alias.h"
#include "probe/sampler/sampler_permutation.h"
#include "probe/sampler/sampler_strata.h"

#include <inttypes.h>

/* "draw": keeps these draws apart from other uses of (seed, epoch, sample) */
#define STREAM_WEIGHTED 0x64726177
#define MAX_WORLD (UINT64_C(1) << 32)

struct pp_sampler {
    enum pp_sampler_kind kind;
    uint64_t n, seed;
    uint64_t rank, world;
    uint64_t total; /* samples in an epoch before padding or cutting: n, or the draws of a weighted sampler */
    uint64_t len;   /* of them, this rank's */
    struct pp_alias *alias;
    struct pp_strata *strata;
};

struct pp_order {
    const struct pp_sampler *s;
    uint64_t epoch;
    struct pp_permutation permutation; /* random */
    uint32_t *share;                   /* torch, stratified: this rank's samples, by position */
};

/* What a kind knows. at gets the position in the epoch's order over all ranks, padding already wrapped to its
 * start. */
struct kind_ops {
    const char *name;
    uint64_t end_n;                                             /* n must be below */
    const char *limit;                                          /* said when it is not */
    pp_status (*begin)(struct pp_order *o, struct pp_err *err); /* NULL: there is nothing to begin with */
    uint64_t (*at)(const struct pp_order *o, uint64_t global);  /* NULL: it is that position */
};

/* ---- the five kinds ---- */

static pp_status random_begin(struct pp_order *o, struct pp_err *err)
{
    pp_permutation_init(&o->permutation, o->s->n, o->s->seed, o->epoch);
    return PP_OK;
}

static uint64_t random_at(const struct pp_order *o, uint64_t global)
{
    return pp_permutation_at(&o->permutation, global);
}

static uint64_t weighted_at(const struct pp_order *o, uint64_t global)
{
    struct pp_rng rng = pp_rng_key(o->s->seed, o->epoch, global, STREAM_WEIGHTED);
    return pp_alias_pick(o->s->alias, &rng);
}

static pp_status torch_begin(struct pp_order *o, struct pp_err *err)
{
    const struct pp_sampler *s = o->s;
    if (s->seed > UINT64_MAX - o->epoch)
        return pp_fail(err, PP_E_USAGE,
                       "the seed %" PRIu64 " plus epoch %" PRIu64
                       " does not fit in 64 bits, the limit of PyTorch's manual_seed: use a smaller seed",
                       s->seed, o->epoch);
    o->share = malloc(s->n * sizeof(*o->share));
    if (!o->share)
        return pp_fail(err, PP_E_NO_MEMORY,
                       "no memory for the torch order of %" PRIu64 " samples (%" PRIu64
                       " MiB): the random sampler needs none",
                       s->n, s->n * sizeof(*o->share) >> 20);
    /* torch.randperm on a CPU for n < UINT32_MAX / 20: element i changes places with element i + draw % (n -
     * i), in rising i. The modulo favours small draws a little; it is PyTorch's order that is wanted here,
     * not a better one. */
    struct pp_mt19937 mt;
    const uint32_t n = (uint32_t)s->n;
    pp_mt19937_seed(&mt, (uint32_t)(s->seed + o->epoch));
    for (uint32_t i = 0; i < n; i++)
        o->share[i] = i;
    for (uint32_t i = 0; i + 1 < n; i++) {
        uint32_t j = i + pp_mt19937_next(&mt) % (n - i);
        uint32_t kept = o->share[i];
        o->share[i] = o->share[j];
        o->share[j] = kept;
    }
    /* This rank's samples move to the front. Going up in place is safe: position p reads from no lower one, p
     * * world + rank. Only the last position can be padding ((len - 1) * world < n), which reads from the
     * start, so it is taken before that is overwritten. */
    uint32_t last = o->share[((s->len - 1) * s->world + s->rank) % s->n];
    for (uint64_t p = 0; p + 1 < s->len; p++)
        o->share[p] = o->share[p * s->world + s->rank];
    o->share[s->len - 1] = last;
    uint32_t *shrunk = realloc(o->share, s->len * sizeof(*o->share));
    if (shrunk)
        o->share = shrunk;
    return PP_OK;
}

static pp_status stratified_begin(struct pp_order *o, struct pp_err *err)
{
    const struct pp_sampler *s = o->s;
    const struct pp_strata_share share = {
        .seed = s->seed, .epoch = o->epoch, .rank = s->rank, .world = s->world, .len = s->len};
    o->share = malloc(s->len * sizeof(*o->share));
    if (!o->share)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the stratified order of %" PRIu64 " samples",
                       s->len);
    return pp_strata_order(s->strata, &share, o->share, err);
}

static const struct kind_ops kinds[PP_SAMPLER_KIND_COUNT] = {
    [PP_SAMPLER_SEQUENTIAL] = {"sequential", PP_SAMPLER_MAX_N + 1, "2^40 at most", NULL, NULL},
    [PP_SAMPLER_RANDOM] = {"random", PP_SAMPLER_MAX_N + 1, "2^40 at most", random_begin, random_at},
    [PP_SAMPLER_TORCH] =
        {"torch", PP_SAMPLER_TORCH_END,
         "fewer than 214,748,364, because beyond that the order depends on PyTorch's version", torch_begin,
         NULL /* pp_order_at reads share */},
    [PP_SAMPLER_WEIGHTED] = {"weighted", (UINT64_C(1) << 32) + 1, "2^32 at most", NULL, weighted_at},
    [PP_SAMPLER_STRATIFIED] = {"stratified", UINT64_C(1) << 32, "fewer than 2^32", stratified_begin,
                               NULL /* pp_order_at reads share */},
};

const char *pp_sampler_kind_name(enum pp_sampler_kind kind)
{
    return (unsigned)kind < PP_SAMPLER_KIND_COUNT ? kinds[kind].name : "unknown";
}

/* ---- sampler ---- */

/* num_samples of PyTorch's DistributedSampler. Its ceil((n - world) / world) for a cut that is due is floor(n
 * / world). */
uint64_t pp_sampler_len_of(const struct pp_sampler_opts *o)
{
    uint64_t total = o->kind == PP_SAMPLER_WEIGHTED && o->draws ? o->draws : o->n;
    uint64_t world = o->world_size ? o->world_size : 1;
    return total / world + (!o->drop_last && total % world != 0);
}

static pp_status check(const struct pp_sampler_opts *o, uint64_t total, uint64_t world, struct pp_err *err)
{
    if ((unsigned)o->kind >= PP_SAMPLER_KIND_COUNT)
        return pp_fail(err, PP_E_USAGE, "unknown sampler kind %d", (int)o->kind);
    if (o->n == 0)
        return pp_fail(err, PP_E_EMPTY, "the dataset has no samples, so there is no order to draw from");
    if (o->n >= kinds[o->kind].end_n || total > PP_SAMPLER_MAX_N)
        return pp_fail(err, PP_E_UNSUPPORTED, "the %s sampler cannot order %" PRIu64 " samples: it takes %s",
                       kinds[o->kind].name, o->n >= kinds[o->kind].end_n ? o->n : total,
                       o->n >= kinds[o->kind].end_n ? kinds[o->kind].limit : "2^40 draws at most");
    if (world > MAX_WORLD)
        return pp_fail(err, PP_E_USAGE, "the world size %" PRIu64 " is beyond 2^32", world);
    if (o->rank >= world)
        return pp_fail(err, PP_E_USAGE,
                       "rank %" PRIu64 " is outside the world size %" PRIu64 ": ranks go from 0 to %" PRIu64,
                       o->rank, world, world - 1);
    if (pp_sampler_len_of(o) == 0)
        return pp_fail(err, PP_E_USAGE,
                       "dropping the last samples leaves none: %" PRIu64 " for %" PRIu64
                       " ranks; run without drop-last or with fewer ranks",
                       total, world);
    if (o->kind == PP_SAMPLER_WEIGHTED && !o->weights)
        return pp_fail(err, PP_E_USAGE,
                       "the weighted sampler needs weights: one per sample, %" PRIu64 " in all", o->n);
    if (o->kind == PP_SAMPLER_STRATIFIED && !o->classes)
        return pp_fail(err, PP_E_USAGE,
                       "the stratified sampler needs classes: one per sample, %" PRIu64 " in all", o->n);
    return PP_OK;
}

pp_status pp_sampler_create(const struct pp_sampler_opts *opts, struct pp_sampler **out, struct pp_err *err)
{
    struct pp_sampler *s = NULL;
    pp_status status;

    *out = NULL;
    uint64_t total = opts->kind == PP_SAMPLER_WEIGHTED && opts->draws ? opts->draws : opts->n;
    uint64_t world = opts->world_size ? opts->world_size : 1;
    status = check(opts, total, world, err);
    if (status != PP_OK)
        goto out;
    s = malloc(sizeof(*s));
    if (!s) {
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for a sampler");
        goto out;
    }
    *s = (struct pp_sampler){
        .kind = opts->kind,
        .n = opts->n,
        .seed = opts->seed,
        .rank = opts->rank,
        .world = world,
        .total = total,
        .len = pp_sampler_len_of(opts),
    };
    if (s->kind == PP_SAMPLER_WEIGHTED)
        status = pp_alias_create(opts->weights, opts->n, &s->alias, err);
    else if (s->kind == PP_SAMPLER_STRATIFIED)
        status = pp_strata_create(opts->classes, opts->n, &s->strata, err);
    if (status == PP_OK) {
        *out = s;
        s = NULL;
    }
out:
    pp_sampler_destroy(s);
    return status;
}

void pp_sampler_destroy(struct pp_sampler *s)
{
    if (!s)
        return;
    pp_alias_destroy(s->alias);
    pp_strata_destroy(s->strata);
    free(s);
}

uint64_t pp_sampler_len(const struct pp_sampler *s)
{
    return s->len;
}

/* ---- order ---- */

pp_status pp_order_create(const struct pp_sampler *s, uint64_t epoch, struct pp_order **out,
                          struct pp_err *err)
{
    pp_status status;
    struct pp_order *o = malloc(sizeof(*o));

    *out = NULL;
    if (!o)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the order of epoch %" PRIu64, epoch);
    o->s = s;
    o->epoch = epoch;
    o->share = NULL;
    status = kinds[s->kind].begin ? kinds[s->kind].begin(o, err) : PP_OK;
    if (status == PP_OK)
        *out = o;
    else
        pp_order_destroy(o);
    return status;
}

void pp_order_destroy(struct pp_order *o)
{
    if (!o)
        return;
    free(o->share);
    free(o);
}

uint64_t pp_order_at(const struct pp_order *o, uint64_t position)
{
    const struct pp_sampler *s = o->s;
    if (o->share)
        return o->share[position];
    uint64_t global = position * s->world + s->rank;
    if (global >= s->total)
        global %= s->total;
    return kinds[s->kind].at ? kinds[s->kind].at(o, global) : global;
}

void pp_order_fill(const struct pp_order *o, uint64_t position, uint64_t *out, size_t count)
{
    const struct pp_sampler *s = o->s;
    size_t done = 0;
    if (s->kind == PP_SAMPLER_RANDOM && count > 1) {
        done = count - 1; /* the last position of a rank may be padding and goes the general way */
        pp_permutation_fill(&o->permutation, position * s->world + s->rank, s->world, out, done);
    }
    for (; done < count; done++)
        out[done] = pp_order_at(o, position + done);
}

size_t pp_order_footprint(const struct pp_order *o)
{
    return sizeof(*o) + (o->share ? o->s->len * sizeof(*o->share) : 0);
}
