/* The audit over all ranks and epochs, fed by the shipped samplers: no alarm for what they do, and every
 * planted fault found and named. */
#include "probe/base/rng.h"
#include "probe/sampler/sampler.h"
#include "report/audit/audit.h"
#include "report/audit/facts.h"
#include "tests/support/json_schema.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { EPOCHS = 3, WORLD = 64, CLASSED = 1600 /* samples with a class and a weight */ };

/* ---- a job ---- */

struct job {
    enum pp_sampler_kind kind;
    uint64_t n, batch, seed;
    int world, drop_last, drop_last_known, workers;
    /* faults; rank or epoch -1: none */
    int frozen;               /* every epoch has the order of epoch 0 */
    int all_alike;            /* the sampler knows no rank */
    int twin;                 /* this rank draws what rank 0 draws */
    int whole_set;            /* every rank draws the whole data set, in an order of its own */
    int workers_read_all;     /* every worker gives everything */
    int repeat_rank, repeat;  /* this rank uses `repeat` samples again in epoch 1 */
    int skip_rank, skip;      /* this rank leaves its first `skip` samples out in epoch 1 */
    int short_rank, short_by; /* this rank has so many samples less, which others have more */
    int steal_rank;           /* this rank uses a sample of another one in place of its own, in epoch 1 */
    int parts, back, ahead;   /* rank 0 is resumed in epoch 1: so many samples again, so many left out */
    int with_replacement;
    int no_epoch_end; /* the recording ends within its last epoch */
};

struct lane {
    uint64_t *sample;
    uint64_t n;
};

/* What the rank draws in the epoch, by position. */
static struct lane draw(const struct job *j, int rank, int epoch)
{
    struct pp_err err;
    struct pp_sampler *s;
    struct pp_order *o;
    int of = j->all_alike || rank == j->twin ? 0 : rank;
    struct pp_sampler_opts opts = {.kind = j->kind,
                                   .n = j->n,
                                   .seed = j->seed + (j->whole_set ? (uint64_t)rank : 0),
                                   .rank = j->whole_set ? 0 : (uint64_t)of,
                                   .world_size = j->whole_set ? 1 : (uint64_t)j->world,
                                   .drop_last = j->drop_last};
    int64_t classes[CLASSED];
    double weights[CLASSED];
    for (uint64_t i = 0; i < CLASSED; i++) {
        classes[i] = (int64_t)(i % 7 < 4 ? 0 : i % 3);
        weights[i] = 1 + (double)(i % 5);
    }
    opts.classes = j->kind == PP_SAMPLER_STRATIFIED ? classes : NULL;
    opts.weights = j->kind == PP_SAMPLER_WEIGHTED ? weights : NULL;
    assert_int_equal(pp_sampler_create(&opts, &s, &err), PP_OK);
    assert_int_equal(pp_order_create(s, j->frozen ? 0 : (uint64_t)epoch, &o, &err), PP_OK);
    struct lane l = {.n = pp_sampler_len(s)};
    l.sample = calloc(l.n + (uint64_t)j->repeat + (uint64_t)j->short_by + 8, sizeof(*l.sample));
    pp_order_fill(o, 0, l.sample, l.n);
    pp_order_destroy(o);
    pp_sampler_destroy(s);
    if (j->drop_last)
        l.n -= l.n % j->batch;
    return l;
}

static struct lane lane_of(const struct job *j, int rank, int epoch)
{
    struct lane l = draw(j, rank, epoch);
    for (int i = 0; epoch == 1 && rank == j->repeat_rank && i < j->repeat; i++)
        l.sample[l.n++] = l.sample[i];
    if (epoch == 1 && rank == j->skip_rank) {
        l.n -= (uint64_t)j->skip;
        memmove(l.sample, l.sample + j->skip, l.n * sizeof(*l.sample));
    }
    if (epoch == 1 && rank == j->steal_rank) {
        struct lane other = draw(j, (rank + 1) % j->world, epoch);
        l.sample[0] = other.sample[0];
        free(other.sample);
    }
    if (j->short_by && rank == j->short_rank)
        l.n -= (uint64_t)j->short_by;
    if (j->short_by && rank == (j->short_rank + 1) % j->world) {
        struct lane other = draw(j, j->short_rank, epoch);
        memcpy(l.sample + l.n, other.sample + other.n - (uint64_t)j->short_by,
               (size_t)j->short_by * sizeof(*l.sample));
        l.n += (uint64_t)j->short_by;
        free(other.sample);
    }
    return l;
}

/* Of rank 0, where it was resumed, part 0 ends and part 1 begins in the middle of epoch 1. */
static void cut(const struct job *j, int part, uint64_t n, uint64_t *from, uint64_t *to)
{
    uint64_t middle = n / 2 / j->batch * j->batch;
    *from = part ? middle - (uint64_t)j->back * j->batch + (uint64_t)j->ahead * j->batch : 0;
    *to = part ? n : middle;
}

struct feeding {
    const struct job *j;
    const struct pp_audit_part *parts;
};

static pp_status feed(void *ctx, size_t part, uint16_t epoch, pp_audit_use_fn *fn, void *fn_ctx,
                      struct pp_err *err)
{
    const struct feeding *g = ctx;
    const struct job *j = g->j;
    int rank = (int)g->parts[part].rank, second = part > 0 && g->parts[part - 1].rank == rank;
    struct lane l = lane_of(j, rank, epoch);
    uint64_t from = 0, to = l.n;
    if (j->parts > 1 && rank == 0 && epoch == 1)
        cut(j, second, l.n, &from, &to);
    int stopped = 0;
    for (uint64_t i = from; i < to && !stopped; i++) {
        struct pp_audit_use u = {.sample = l.sample[i],
                                 .batch = (uint32_t)((i - from) / j->batch),
                                 .worker = j->workers ? (uint32_t)(i / j->batch) % (uint32_t)j->workers : 0};
        for (int w = 0; w < (j->workers_read_all ? j->workers : 1) && !stopped; w++) {
            u.worker = j->workers_read_all ? (uint32_t)w : u.worker;
            stopped = fn(fn_ctx, &u, 1);
        }
    }
    free(l.sample);
    return PP_OK;
}

static void audit(const struct job *j, struct pp_audit *out)
{
    struct pp_err err;
    struct pp_audit_part parts[WORLD + 1];
    struct pp_audit_span spans[WORLD + 1][EPOCHS];
    size_t n = 0;
    for (int rank = 0; rank < j->world; rank++)
        for (int k = 0; k < (rank == 0 && j->parts > 1 ? j->parts : 1); k++, n++) {
            parts[n] = (struct pp_audit_part){.rank = rank,
                                              .world_size = j->world,
                                              .file = "x",
                                              .samples = (double)j->n,
                                              .batch_size = (double)j->batch,
                                              .drop_last = j->drop_last_known ? j->drop_last : -1,
                                              .with_replacement = j->with_replacement,
                                              .stratified = j->kind == PP_SAMPLER_STRATIFIED,
                                              .epochs = spans[n]};
            for (int e = 0; e < EPOCHS; e++) {
                struct lane l = lane_of(j, rank, e);
                uint64_t from = 0, to = l.n;
                int resumed = rank == 0 && j->parts > 1;
                free(l.sample);
                if (resumed && ((k == 0 && e > 1) || (k == 1 && e < 1)))
                    continue;
                if (resumed && e == 1)
                    cut(j, k, l.n, &from, &to);
                spans[n][parts[n].n_epochs++] = (struct pp_audit_span){
                    .epoch = (uint16_t)e,
                    .begun = !(resumed && k == 1 && e == 1),
                    .ended = !(resumed && k == 0 && e == 1) && !(j->no_epoch_end && e == EPOCHS - 1),
                    .batches = (uint32_t)((to - from + j->batch - 1) / j->batch)};
            }
        }
    struct feeding g = {j, parts};
    assert_int_equal(pp_audit_judge(&(struct pp_audit_input){parts, n, feed, &g}, out, &err), PP_OK);
}

static const struct job none = {
    .n = 1000, .batch = 8, .world = 4, .twin = -1, .repeat_rank = -1, .skip_rank = -1, .steal_rank = -1};

static const struct pp_audit_cause *cause_of(const struct pp_audit *a, enum pp_audit_cause_id id)
{
    for (size_t i = 0; i < a->n_causes; i++)
        if (a->causes[i].id == id)
            return &a->causes[i];
    return NULL;
}

static size_t findings(const struct pp_audit *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n_causes; i++)
        n += !a->causes[i].by_design;
    return n;
}

/* ---- no false alarm ---- */

static void expect_clean(const struct job *j)
{
    struct pp_audit a;
    audit(j, &a);
    if (a.kind != PP_AUDIT_CLEAN)
        print_message("%s n=%llu world=%d batch=%llu drop_last=%d: %s\n", pp_sampler_kind_name(j->kind),
                      (unsigned long long)j->n, j->world, (unsigned long long)j->batch, j->drop_last,
                      a.sentence);
    assert_int_equal(a.kind, PP_AUDIT_CLEAN);
    assert_int_equal(findings(&a), 0);
    assert_int_equal(a.n_examples, 0);
    for (size_t i = 0; i < a.n_epochs; i++) {
        const struct pp_audit_epoch *e = &a.epochs[i];
        assert_true(e->whole && e->repeated == 0 && e->left_out == 0);
        assert_true(e->used == e->distinct + e->padding);
        assert_true(e->distinct + e->dropped == (double)j->n);
    }
    pp_arena_free(&a.arena);
}

static void test_no_sampler_raises_an_alarm(void **state)
{
    static const enum pp_sampler_kind kinds[] = {PP_SAMPLER_SEQUENTIAL, PP_SAMPLER_RANDOM, PP_SAMPLER_TORCH,
                                                 PP_SAMPLER_STRATIFIED};
    int runs = 0;
    for (int world = 1; world <= WORLD; world++)
        for (int k = 0; k < 4; k++)
            for (int drop = 0; drop < 2; drop++)
                for (int size = 0; size < 4; size++) {
                    static const uint64_t n[] = {101, 640, 1537, 2};
                    struct job j = none;
                    int kind = (int)kinds[k];
                    if (world > 8 && size != (world + k) % 4)
                        continue; /* not every size for every number of ranks */
                    j.kind = (enum pp_sampler_kind)kind;
                    j.world = world;
                    j.n = n[size];
                    j.batch = size == 0 ? 1 : size == 1 ? 4 : 7;
                    j.seed = (uint64_t)(runs * 7);
                    j.drop_last = drop;
                    j.drop_last_known = runs % 3 != 0;
                    j.workers = runs % 4;
                    if (drop && j.n / (uint64_t)j.world < j.batch)
                        continue; /* an epoch of nothing: refused by the loader */
                    expect_clean(&j);
                    runs++;
                }
    print_message("%d clean jobs\n", runs);
    assert_true(runs >= 200);
}

/* It repeats samples and leaves some out, by design. */
static void test_draws_with_replacement_are_no_fault(void **state)
{
    for (int world = 1; world <= WORLD; world += 7) {
        struct job j = none;
        struct pp_audit a;
        j.kind = PP_SAMPLER_WEIGHTED;
        j.world = world;
        j.with_replacement = 1;
        audit(&j, &a);
        assert_int_equal(a.kind, PP_AUDIT_INCONCLUSIVE);
        assert_int_equal(findings(&a), 0);
        pp_arena_free(&a.arena);
    }
}

static void test_a_resume_at_the_right_place_is_clean(void **state)
{
    struct job j = none;
    j.parts = 2;
    j.kind = PP_SAMPLER_RANDOM;
    expect_clean(&j);
}

static void test_an_epoch_that_was_not_finished_is_no_omission(void **state)
{
    struct job j = none;
    struct pp_audit a;
    j.kind = PP_SAMPLER_RANDOM;
    j.no_epoch_end = 1;
    audit(&j, &a);
    assert_int_equal(a.kind, PP_AUDIT_CLEAN);
    assert_true(a.whole_epochs == EPOCHS - 1);
    assert_false(a.epochs[EPOCHS - 1].whole);
    pp_arena_free(&a.arena);
}

/* ---- planted faults ---- */

struct plant {
    const char *what;
    enum pp_audit_cause_id id;
    double samples; /* NAN: none */
    void (*put)(struct job *j);
};

static void put_frozen(struct job *j)
{
    j->frozen = 1;
}
static void put_alike(struct job *j)
{
    j->all_alike = 1;
}
static void put_twin(struct job *j)
{
    j->twin = j->world - 1;
}
static void put_whole_set(struct job *j)
{
    j->whole_set = 1;
}
static void put_workers(struct job *j)
{
    j->workers_read_all = 1, j->workers = 3;
}
static void put_repeat(struct job *j)
{
    j->repeat_rank = 1, j->repeat = 1;
}
static void put_skip(struct job *j)
{
    j->skip_rank = j->world - 1, j->skip = 1;
}
static void put_steal(struct job *j)
{
    j->steal_rank = 1;
}
static void put_short(struct job *j)
{
    j->short_rank = 1, j->short_by = (int)j->batch * 2;
}
static void put_back(struct job *j)
{
    j->parts = 2, j->back = 1;
}
static void put_ahead(struct job *j)
{
    j->parts = 2, j->ahead = 1;
}

static const struct plant plants[] = {
    {"set_epoch forgotten", PP_AUDIT_SAME_ORDER, NAN, put_frozen},
    {"a sampler without rank", PP_AUDIT_RANKS_ALIKE, 0, put_alike},
    {"two processes of one rank", PP_AUDIT_WRONG_RANK, 0, put_twin},
    {"every rank draws all", PP_AUDIT_RANKS_ALIKE, 0, put_whole_set},
    {"every worker reads all", PP_AUDIT_WORKERS_ALIKE, 0, put_workers},
    {"one sample twice", PP_AUDIT_REPEATED, 1, put_repeat},
    {"one sample left out", PP_AUDIT_LEFT_OUT, 1, put_skip},
    {"a sample of another rank", PP_AUDIT_SHARED, 1, put_steal},
    {"uneven shards", PP_AUDIT_UNEVEN, 0, put_short},
    {"a resume that repeats", PP_AUDIT_RESUME_REPEATS, 0, put_back},
    {"a resume that skips", PP_AUDIT_RESUME_SKIPS, 0, put_ahead},
};

static void test_every_planted_fault_is_named(void **state)
{
    static const int worlds[] = {2, 3, 8, 64};
    int found = 0, planted = 0;
    for (size_t p = 0; p < sizeof(plants) / sizeof(*plants); p++)
        for (size_t w = 0; w < sizeof(worlds) / sizeof(*worlds); w++)
            for (int kind = PP_SAMPLER_RANDOM; kind <= PP_SAMPLER_TORCH; kind++)
                for (int drop = 0; drop < 2; drop++) {
                    struct job j = none;
                    struct pp_audit a;
                    j.kind = (enum pp_sampler_kind)kind;
                    j.world = worlds[w];
                    j.n = 64u * (uint64_t)j.world + 5;
                    j.seed = p * 100 + w;
                    j.drop_last = drop;
                    j.drop_last_known = 1;
                    plants[p].put(&j);
                    audit(&j, &a);
                    enum pp_audit_cause_id id = plants[p].id == PP_AUDIT_WRONG_RANK && j.world == 2
                                                    ? PP_AUDIT_RANKS_ALIKE /* both are */
                                                    : plants[p].id;
                    const struct pp_audit_cause *c = cause_of(&a, id);
                    int ok = a.kind == PP_AUDIT_BROKEN && c && c->sentence && c->fix &&
                             (plants[p].samples > 0 ? c->samples == plants[p].samples
                                                    : isnan(plants[p].samples) || c->samples > 0);
                    if (!ok)
                        print_message("%s, %s, world %d, drop_last %d: %s: %s\n", plants[p].what,
                                      pp_sampler_kind_name(j.kind), j.world, drop, a.kind_name, a.sentence);
                    planted++;
                    found += ok;
                    pp_arena_free(&a.arena);
                }
    print_message("%d of %d planted faults named\n", found, planted);
    assert_int_equal(found, planted);
}

static void test_a_repeated_sample_is_shown_with_its_places(void **state)
{
    struct job j = none;
    struct pp_audit a;
    j.kind = PP_SAMPLER_RANDOM;
    j.drop_last_known = 1;
    put_steal(&j);
    audit(&j, &a);
    assert_int_equal(a.n_examples, 2); /* the stolen one, and its own that no rank used */
    int shared = a.examples[0].uses > 0 ? 0 : 1;
    assert_true(a.examples[shared].uses == 2 && a.examples[!shared].uses == 0);
    assert_non_null(strstr(a.examples[shared].where, "rank 1 batch 0"));
    assert_non_null(strstr(a.examples[shared].where, "rank 2 batch 0"));
    pp_arena_free(&a.arena);
}

/* ---- memory and estimates ---- */

static void test_seen_is_exact_and_can_be_cleared(void **state)
{
    struct pp_seen s = {0};
    struct pp_rng r = pp_rng_key(1, 2, 3, 4);
    for (int round = 0; round < 3; round++) {
        uint64_t first = 0;
        for (int i = 0; i < 20000; i++)
            first += pp_seen_add(&s, pp_rng_below(&r, 1 << 24)) == PP_WATCH_FIRST;
        assert_true(first > 19900 && first <= 20000);
        assert_int_equal(pp_seen_add(&s, (1 << 30) - 1), PP_WATCH_FIRST);
        assert_int_equal(pp_seen_add(&s, (1 << 30) - 1), PP_WATCH_AGAIN);
        assert_int_equal(pp_seen_add(&s, UINT64_MAX - 5), PP_WATCH_FIRST);
        assert_int_equal(pp_seen_add(&s, UINT64_MAX - 5), PP_WATCH_AGAIN);
        pp_seen_clear(&s);
        assert_false(pp_seen_has(&s, (1 << 30) - 1));
    }
    pp_seen_free(&s);
}

/* A number that has no page any more is watched. */
static void test_far_numbers_are_exact_while_there_are_pages(void **state)
{
    struct pp_seen s = {0};
    (void)state;
    for (int round = 0; round < 2; round++) {
        for (uint64_t shard = 1; shard <= 4000; shard++)
            for (uint64_t place = 0; place < 700; place += 7)
                assert_int_equal(pp_seen_add(&s, shard << 32 | place), PP_WATCH_FIRST);
        for (uint64_t shard = 1; shard <= 4000; shard += 13)
            for (uint64_t place = 0; place < 700; place++) {
                assert_int_equal(pp_seen_has(&s, shard << 32 | place), place % 7 == 0);
                assert_int_equal(pp_seen_weight(&s, shard << 32 | place), 1);
            }
        assert_int_equal(pp_seen_add(&s, UINT64_C(9) << 32 | 14), PP_WATCH_AGAIN);
        assert_int_equal(s.pages, 8000);
        pp_seen_clear(&s);
        assert_false(pp_seen_has(&s, UINT64_C(9) << 32 | 14));
    }
    pp_seen_free(&s);
}

/* ---- leased shards ---- */

enum { SHARDS = 60 };

struct leased {
    int world;
    uint64_t seed;
    uint64_t samples;       /* of a shard */
    int twice, twice_noted; /* this shard is read by two ranks in epoch 1; noted: its lease changed hands */
    int left;               /* this shard is read by none in epoch 1 */
    int killed;             /* this rank has no end, and the last epoch in part */
    int none_ended;         /* no rank has */
    struct pp_audit_part parts[WORLD];
};

static const struct leased no_lease = {.world = 4, .samples = 20, .twice = -1, .left = -1, .killed = -1};

/* Ranks take what they can: a rank may have none. */
static int holder_of(const struct leased *j, int epoch, int shard)
{
    struct pp_rng r = pp_rng_key(j->seed, (uint64_t)epoch, (uint64_t)shard, 7);
    return (int)(pp_rng_below(&r, (uint64_t)j->world) * pp_rng_below(&r, 4) / 4);
}

static int reads(const struct leased *j, int rank, int epoch, int shard)
{
    int holder = holder_of(j, epoch, shard);
    if (epoch == 1 && shard == j->left)
        return 0;
    return rank == holder || (epoch == 1 && shard == j->twice && rank == (holder + 1) % j->world);
}

static pp_status feed_leased(void *ctx, size_t part, uint16_t epoch, pp_audit_use_fn *fn, void *fn_ctx,
                             struct pp_err *err)
{
    const struct leased *j = ctx;
    for (int shard = 0; shard < SHARDS; shard++)
        for (uint64_t i = 0; reads(j, (int)part, epoch, shard) && i < j->samples; i++) {
            struct pp_audit_use u = {.sample = (uint64_t)shard << 32 | i, .batch = (uint32_t)shard};
            fn(fn_ctx, &u, 1);
        }
    return PP_OK;
}

static void audit_leased(struct leased *j, struct pp_audit *out)
{
    static struct pp_audit_span spans[WORLD][EPOCHS];
    struct pp_audit_lease taken = {.shard = (uint64_t)j->twice,
                                   .epoch = 1,
                                   .from = "node3.4711.0123456789abcdef"};
    struct pp_err err;
    for (int rank = 0; rank < j->world; rank++) {
        struct pp_audit_part *p = &j->parts[rank];
        int ended = rank != j->killed && !j->none_ended, taker = (holder_of(j, 1, j->twice) + 1) % j->world;
        *p = (struct pp_audit_part){.rank = rank,
                                    .world_size = j->world,
                                    .file = "x",
                                    .samples = NAN,
                                    .batch_size = 8,
                                    .drop_last = 0,
                                    .leased = 1,
                                    .finished = ended,
                                    .shards = SHARDS,
                                    .epochs = spans[rank]};
        for (int e = 0; e < EPOCHS; e++) {
            int any = 0;
            for (int shard = 0; shard < SHARDS; shard++)
                any |= reads(j, rank, e, shard);
            if (any)
                spans[rank][p->n_epochs++] = (struct pp_audit_span){.epoch = (uint16_t)e,
                                                                    .begun = 1,
                                                                    .ended = ended || e < EPOCHS - 1,
                                                                    .batches = SHARDS};
        }
        p->taken_over = &taken;
        p->n_taken_over = j->twice_noted && rank == taker;
    }
    assert_int_equal(pp_audit_judge(&(struct pp_audit_input){j->parts, (size_t)j->world, feed_leased, j}, out,
                                    &err),
                     PP_OK);
}

static void test_leased_shards(void **state)
{
    int clean = 0;
    (void)state;
    for (int world = 1; world <= WORLD; world++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            struct leased j = no_lease;
            struct pp_audit a;
            j.world = world;
            j.seed = seed;
            j.killed = seed == 3 && world > 1 ? world / 2 : -1; /* what it trained on is in its recording */
            audit_leased(&j, &a);
            if (a.kind != PP_AUDIT_CLEAN)
                fail_msg("world %d: %s", world, a.sentence);
            assert_int_equal(a.n_causes, 0);
            for (size_t e = 0; e < a.n_epochs; e++)
                assert_true(a.epochs[e].whole && a.epochs[e].shards == SHARDS &&
                            a.epochs[e].used == SHARDS * 20);
            pp_arena_free(&a.arena);
            clean++;
            j.none_ended = 1;
            audit_leased(&j, &a);
            assert_int_equal(a.kind, PP_AUDIT_INCONCLUSIVE);
            assert_non_null(strstr(a.note, "no rank saw the end"));
            pp_arena_free(&a.arena);
            j.none_ended = 0;
            j.left = 17;
            audit_leased(&j, &a);
            const struct pp_audit_cause *c = cause_of(&a, PP_AUDIT_SHARDS_LEFT);
            assert_true(a.kind == PP_AUDIT_BROKEN && c && c->samples == 1 && c->first_epoch == 1);
            pp_arena_free(&a.arena);
            j.left = -1;
            j.twice = 23;
            if (world == 1)
                continue;
            audit_leased(&j, &a);
            c = cause_of(&a, PP_AUDIT_SHARED);
            assert_true(a.kind == PP_AUDIT_BROKEN && c && c->samples == 20);
            pp_arena_free(&a.arena);
            j.twice_noted = 1;
            audit_leased(&j, &a);
            c = cause_of(&a, PP_AUDIT_TAKEN_OVER);
            assert_true(a.kind == PP_AUDIT_CLEAN && findings(&a) == 0 && c && c->by_design &&
                        c->samples == 20);
            assert_non_null(strstr(c->sentence, "shard 23 of epoch 1, which node3.4711 had"));
            assert_true(a.epochs[1].taken_over == 20 && a.epochs[1].repeated == 0);
            pp_arena_free(&a.arena);
        }
    print_message("%d clean jobs with leases\n", clean);
}

/* ---- what cannot be told ---- */

static void test_what_is_not_known_is_said(void **state)
{
    struct pp_err err;
    struct pp_audit a;
    struct job j = none;
    struct pp_audit_span span = {.epoch = 0, .begun = 1, .ended = 1, .batches = 2};
    struct pp_audit_part part = {.rank = 1,
                                 .world_size = 4,
                                 .file = "x",
                                 .unknown = "no span names a sample",
                                 .samples = NAN,
                                 .batch_size = NAN,
                                 .drop_last = -1};
    struct feeding g = {&j, &part};
    assert_int_equal(pp_audit_judge(&(struct pp_audit_input){&part, 1, feed, &g}, &a, &err), PP_OK);
    assert_int_equal(a.kind, PP_AUDIT_INCONCLUSIVE);
    assert_non_null(strstr(a.note, "no span names a sample"));
    assert_non_null(strstr(a.note, "no recording here"));
    pp_arena_free(&a.arena);
    part.unknown = NULL;
    part.epochs = &span;
    part.n_epochs = 1;
    j.kind = PP_SAMPLER_RANDOM;
    assert_int_equal(pp_audit_judge(&(struct pp_audit_input){&part, 1, feed, &g}, &a, &err), PP_OK);
    assert_int_equal(a.kind, PP_AUDIT_INCONCLUSIVE); /* three ranks are missing */
    pp_arena_free(&a.arena);
}

static void test_the_document_fits_its_schema(void **state)
{
    struct job j = none;
    struct pp_audit a;
    char *text;
    size_t size;
    j.kind = PP_SAMPLER_RANDOM;
    put_steal(&j);
    audit(&j, &a);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(pp_fields_json(pp_audit_fields, &a, out), 0);
    fclose(out);
    json_t *doc = json_loads(text, 0, NULL);
    assert_non_null(doc);
    schema_check_file("docs/audit.schema.json", doc);
    json_decref(doc);
    free(text);
    out = open_memstream(&text, &size);
    pp_audit_text(&a, 0, out);
    fclose(out);
    assert_non_null(strstr(text, "shared"));
    assert_non_null(strstr(text, "example"));
    free(text);
    pp_arena_free(&a.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_sampler_raises_an_alarm),
        cmocka_unit_test(test_draws_with_replacement_are_no_fault),
        cmocka_unit_test(test_a_resume_at_the_right_place_is_clean),
        cmocka_unit_test(test_an_epoch_that_was_not_finished_is_no_omission),
        cmocka_unit_test(test_every_planted_fault_is_named),
        cmocka_unit_test(test_a_repeated_sample_is_shown_with_its_places),
        cmocka_unit_test(test_seen_is_exact_and_can_be_cleared),
        cmocka_unit_test(test_far_numbers_are_exact_while_there_are_pages),
        cmocka_unit_test(test_leased_shards),
        cmocka_unit_test(test_what_is_not_known_is_said),
        cmocka_unit_test(test_the_document_fits_its_schema),
    };
    return cmocka_run_group_tests_name("sampling audit", tests, NULL, NULL);
}
