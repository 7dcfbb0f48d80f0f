/* The rule of ranks, resume and the refusals, for every kind of sampler. */
#include "probe/base/err.h"
#include "probe/sampler/sampler.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct pp_sampler *make(const struct pp_sampler_opts *opts)
{
    struct pp_err err = {0};
    struct pp_sampler *s = NULL;
    if (pp_sampler_create(opts, &s, &err) != PP_OK)
        fail_msg("create: %s", err.text);
    return s;
}

static struct pp_order *order_of(const struct pp_sampler *s, uint64_t epoch)
{
    struct pp_err err = {0};
    struct pp_order *o = NULL;
    if (pp_order_create(s, epoch, &o, &err) != PP_OK)
        fail_msg("order: %s", err.text);
    return o;
}

/* Weights 1..9 in turn: uneven, none zero. */
static double *some_weights(uint64_t n)
{
    double *w = malloc(n * sizeof(*w));
    for (uint64_t i = 0; i < n; i++)
        w[i] = (double)(1 + i % 9);
    return w;
}

/* Classes of uneven size for any n up to 4096. */
static const int64_t *some_classes(void)
{
    static int64_t of[4096];
    for (int i = 0; i < 4096; i++)
        of[i] = (i * i) % 11;
    return of;
}

/* The whole of one (epoch, rank), *len long, freed by the caller. */
static uint64_t *draw(const struct pp_sampler_opts *opts, uint64_t epoch, uint64_t *len)
{
    struct pp_sampler *s = make(opts);
    struct pp_order *o = order_of(s, epoch);
    *len = pp_sampler_len(s);
    uint64_t *out = malloc(*len * sizeof(*out));
    for (uint64_t p = 0; p < *len; p++)
        out[p] = pp_order_at(o, p);
    pp_order_destroy(o);
    pp_sampler_destroy(s);
    return out;
}

/* PyTorch's DistributedSampler as its documentation words it, on an explicit list: pad by repeating from the
 * start or cut, then deal out. */
static uint64_t *dealt(const uint64_t *whole, uint64_t n, uint64_t world, uint64_t rank, int drop_last,
                       uint64_t *len)
{
    uint64_t total = drop_last ? n - n % world : (n % world ? n + world - n % world : n);
    uint64_t *list = malloc((total + 1) * sizeof(*list));
    for (uint64_t i = 0; i < total; i++)
        list[i] = i < n ? whole[i] : list[i - n];
    *len = 0;
    for (uint64_t i = rank; i < total; i += world)
        list[(*len)++] = list[i];
    return list;
}

/* Of stratified a rank's order is its own: test_sampler_stratified.c. */
static void ranks_deal_out_the_epoch(void **state)
{
    static const uint64_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 10, 63, 64, 65, 100, 255, 256, 257, 1000};
    for (int kind = 0; kind < PP_SAMPLER_STRATIFIED; kind++) {
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            uint64_t n = sizes[k], whole_len;
            double *weights = some_weights(n);
            struct pp_sampler_opts opts = {.kind = (enum pp_sampler_kind)kind,
                                           .n = n,
                                           .seed = 7,
                                           .weights = weights,
                                           .classes = some_classes()};
            uint64_t *whole = draw(&opts, 3, &whole_len);
            assert_int_equal(whole_len, n);
            for (uint64_t world = 1; world <= 9; world++) {
                for (int drop_last = 0; drop_last <= (n >= world); drop_last++) {
                    for (uint64_t rank = 0; rank < world; rank++) {
                        opts.world_size = world, opts.rank = rank, opts.drop_last = drop_last;
                        uint64_t len, want_len;
                        uint64_t *got = draw(&opts, 3, &len),
                                 *want = dealt(whole, n, world, rank, drop_last, &want_len);
                        assert_int_equal(len, want_len);
                        assert_memory_equal(got, want, len * sizeof(*got));
                        free(want);
                        free(got);
                    }
                }
            }
            free(whole);
            free(weights);
        }
    }
}

/* Without dropping, every index comes at least once and the padding is the only repetition; with it, no index
 * comes twice. */
static void ranks_are_disjoint_and_cover(void **state)
{
    for (int kind = PP_SAMPLER_SEQUENTIAL; kind < PP_SAMPLER_KIND_COUNT; kind++) {
        if (kind == PP_SAMPLER_WEIGHTED)
            continue;
        for (uint64_t n = 1; n <= 300; n += n < 20 ? 1 : 37) {
            for (uint64_t world = 1; world <= 9; world++) {
                for (int drop_last = 0; drop_last <= (n >= world); drop_last++) {
                    uint64_t drawn = 0, distinct = 0;
                    unsigned char *times = calloc(n, 1);
                    for (uint64_t rank = 0; rank < world; rank++) {
                        struct pp_sampler_opts opts = {.kind = (enum pp_sampler_kind)kind,
                                                       .n = n,
                                                       .seed = 11,
                                                       .rank = rank,
                                                       .world_size = world,
                                                       .drop_last = drop_last,
                                                       .classes = some_classes()};
                        uint64_t len, *got = draw(&opts, 0, &len);
                        for (uint64_t p = 0; p < len; p++) {
                            assert_true(got[p] < n);
                            distinct += times[got[p]]++ == 0;
                        }
                        drawn += len;
                        free(got);
                    }
                    assert_int_equal(drawn, drop_last ? n / world * world : (n + world - 1) / world * world);
                    assert_int_equal(distinct, drop_last ? drawn : n);
                    free(times);
                }
            }
        }
    }
}

static void epochs_and_seeds_reshuffle(void **state)
{
    for (int kind = PP_SAMPLER_RANDOM; kind < PP_SAMPLER_KIND_COUNT; kind++) {
        double *weights = some_weights(1000);
        struct pp_sampler_opts opts = {.kind = (enum pp_sampler_kind)kind,
                                       .n = 1000,
                                       .seed = 5,
                                       .weights = weights,
                                       .classes = some_classes()};
        struct pp_sampler_opts other = opts;
        uint64_t len;
        other.seed = 6;
        uint64_t *a = draw(&opts, 0, &len), *again = draw(&opts, 0, &len), *next = draw(&opts, 1, &len),
                 *seed = draw(&other, 0, &len);
        assert_memory_equal(a, again, len * sizeof(*a));
        uint64_t same_epoch = 0, same_seed = 0;
        for (uint64_t p = 0; p < len; p++) {
            same_epoch += a[p] == next[p];
            same_seed += a[p] == seed[p];
        }
        /* Independent orders agree in 1 place (weighted: about 1.3), Poisson; 20 has a chance below 1e-15. */
        assert_true(same_epoch < 20);
        assert_true(same_seed < 20);
        free(a), free(again), free(next), free(seed), free(weights);
    }
}

static void sequential_is_the_same_each_epoch(void **state)
{
    struct pp_sampler_opts opts = {.kind = PP_SAMPLER_SEQUENTIAL, .n = 50};
    uint64_t len, *a = draw(&opts, 4, &len);
    for (uint64_t p = 0; p < 50; p++)
        assert_int_equal(a[p], p);
    free(a);
}

/* A run stopped at any offset and taken up again, in batches that do not divide it, sees the tail of the
 * order and nothing else. */
static void resume_at_every_offset(void **state)
{
    enum { N = 517 };
    for (int kind = 0; kind < PP_SAMPLER_KIND_COUNT; kind++) {
        double *weights = some_weights(N);
        for (uint64_t world = 1; world <= 3; world += 2) {
            struct pp_sampler_opts opts = {.kind = (enum pp_sampler_kind)kind,
                                           .n = N,
                                           .seed = 9,
                                           .rank = world / 2,
                                           .world_size = world,
                                           .weights = weights,
                                           .classes = some_classes()};
            uint64_t len, *want = draw(&opts, 2, &len);
            struct pp_sampler *s = make(&opts); /* the second process: built anew, nothing handed over */
            struct pp_order *o = order_of(s, 2);
            for (uint64_t start = 0; start <= len; start++) {
                uint64_t batch[97], size = 1 + (start * 7) % 97;
                for (uint64_t p = start; p < len; p += size) {
                    uint64_t count = len - p < size ? len - p : size;
                    pp_order_fill(o, p, batch, count);
                    assert_memory_equal(batch, want + p, count * sizeof(*want));
                }
            }
            pp_order_destroy(o);
            pp_sampler_destroy(s);
            free(want);
        }
        free(weights);
    }
}

static void orders_of_two_epochs_live_side_by_side(void **state)
{
    for (int kind = 0; kind < PP_SAMPLER_KIND_COUNT; kind++) {
        double *weights = some_weights(100);
        struct pp_sampler_opts opts = {.kind = (enum pp_sampler_kind)kind,
                                       .n = 100,
                                       .seed = 1,
                                       .weights = weights,
                                       .classes = some_classes()};
        uint64_t len, *first = draw(&opts, 0, &len), *second = draw(&opts, 1, &len);
        struct pp_sampler *s = make(&opts);
        struct pp_order *a = order_of(s, 0), *b = order_of(s, 1);
        for (uint64_t p = 0; p < len; p++) {
            assert_int_equal(pp_order_at(b, p), second[p]);
            assert_int_equal(pp_order_at(a, p), first[p]);
        }
        pp_order_destroy(a);
        assert_int_equal(pp_order_at(b, 99), second[99]);
        pp_order_destroy(b);
        pp_sampler_destroy(s);
        free(first), free(second), free(weights);
    }
}

struct reader {
    const struct pp_sampler *sampler;
    const struct pp_order *shared;
    const uint64_t *want;
    uint64_t first, wrong;
};

/* Reads the shared order from its own corner of it on, and makes an order of its own meanwhile, as the loader
 * does at an epoch's end. */
static void *read_along(void *arg)
{
    struct reader *r = arg;
    struct pp_order *own = NULL;
    uint64_t len = pp_sampler_len(r->sampler), block[50];
    for (uint64_t i = 0; i < len; i++)
        r->wrong += pp_order_at(r->shared, (r->first + i) % len) != r->want[(r->first + i) % len];
    r->wrong += pp_order_create(r->sampler, 2, &own, NULL) != PP_OK;
    for (uint64_t p = 0; own && p + 50 <= len; p += 50) {
        pp_order_fill(own, p, block, 50);
        r->wrong += memcmp(block, r->want + p, sizeof(block)) != 0;
    }
    pp_order_destroy(own);
    return NULL;
}

static void any_thread_may_ask(void **state)
{
    enum { THREADS = 4, N = 2000 };
    for (int kind = 0; kind < PP_SAMPLER_KIND_COUNT; kind++) {
        double *weights = some_weights(N);
        struct pp_sampler_opts opts = {.kind = (enum pp_sampler_kind)kind,
                                       .n = N,
                                       .seed = 3,
                                       .weights = weights,
                                       .classes = some_classes()};
        uint64_t len, *want = draw(&opts, 2, &len);
        struct pp_sampler *s = make(&opts);
        struct pp_order *o = order_of(s, 2);
        struct reader reader[THREADS];
        pthread_t thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            reader[t] = (struct reader){s, o, want, (uint64_t)t * 500, 0};
            assert_int_equal(pthread_create(&thread[t], NULL, read_along, &reader[t]), 0);
        }
        for (int t = 0; t < THREADS; t++) {
            pthread_join(thread[t], NULL);
            assert_int_equal(reader[t].wrong, 0);
        }
        pp_order_destroy(o);
        pp_sampler_destroy(s);
        free(want), free(weights);
    }
}

static void memory_is_what_the_header_says(void **state)
{
    struct pp_sampler_opts big = {.kind = PP_SAMPLER_RANDOM, .n = PP_SAMPLER_MAX_N, .world_size = 8};
    struct mallinfo2 before = mallinfo2(); /* large blocks are mapped, and counted apart */
    struct pp_sampler *s = make(&big);
    struct pp_order *o = order_of(s, 0);
    struct mallinfo2 with = mallinfo2();
    assert_true(with.uordblks + with.hblkhd <
                before.uordblks + before.hblkhd + 1024); /* with what malloc adds */
    assert_true(pp_order_footprint(o) < 512);
    pp_order_destroy(o);
    pp_sampler_destroy(s);

    struct pp_sampler_opts torch = {.kind = PP_SAMPLER_TORCH, .n = 80000, .world_size = 8};
    s = make(&torch);
    o = order_of(s, 0);
    assert_in_range(pp_order_footprint(o), 4 * 10000, 4 * 10000 + 512);
    pp_order_destroy(o);
    pp_sampler_destroy(s);
}

static void bad_options_get_one_sentence(void **state)
{
    static const double one = 1;
    static const struct {
        struct pp_sampler_opts opts;
        pp_status code;
        const char *says;
    } rows[] = {
        {{.kind = PP_SAMPLER_RANDOM, .n = 0}, PP_E_EMPTY, "no samples"},
        {{.kind = PP_SAMPLER_RANDOM, .n = PP_SAMPLER_MAX_N + 1}, PP_E_UNSUPPORTED, "2^40 at most"},
        {{.kind = PP_SAMPLER_SEQUENTIAL, .n = UINT64_MAX}, PP_E_UNSUPPORTED, "2^40 at most"},
        {{.kind = PP_SAMPLER_TORCH, .n = PP_SAMPLER_TORCH_END},
         PP_E_UNSUPPORTED,
         "depends on PyTorch's version"},
        {{.kind = PP_SAMPLER_WEIGHTED, .n = (UINT64_C(1) << 32) + 1, .weights = &one},
         PP_E_UNSUPPORTED,
         "2^32 at most"},
        {{.kind = PP_SAMPLER_WEIGHTED, .n = 1, .draws = PP_SAMPLER_MAX_N + 1, .weights = &one},
         PP_E_UNSUPPORTED,
         "2^40 draws at most"},
        {{.kind = PP_SAMPLER_WEIGHTED, .n = 10}, PP_E_USAGE, "needs weights"},
        {{.kind = PP_SAMPLER_RANDOM, .n = 10, .rank = 4, .world_size = 4},
         PP_E_USAGE,
         "ranks go from 0 to 3"},
        {{.kind = PP_SAMPLER_RANDOM, .n = 10, .rank = 1}, PP_E_USAGE, "world size 1"},
        {{.kind = PP_SAMPLER_RANDOM, .n = 10, .world_size = UINT64_MAX}, PP_E_USAGE, "beyond 2^32"},
        {{.kind = PP_SAMPLER_TORCH, .n = 3, .world_size = 8, .drop_last = 1}, PP_E_USAGE, "leaves none"},
        {{.kind = (enum pp_sampler_kind)77, .n = 3}, PP_E_USAGE, "unknown sampler kind 77"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_err err = {0};
        struct pp_sampler *s = (struct pp_sampler *)&err;
        assert_int_equal(pp_sampler_create(&rows[i].opts, &s, &err), rows[i].code);
        assert_null(s);
        assert_int_equal(err.code, rows[i].code);
        if (!strstr(err.text, rows[i].says))
            fail_msg("row %zu says: %s", i, err.text);
    }
    assert_int_equal(pp_sampler_create(&rows[0].opts, &(struct pp_sampler *){NULL}, NULL), PP_E_EMPTY);
}

static void torch_refuses_a_seed_sum_beyond_64_bits(void **state)
{
    struct pp_sampler_opts opts = {.kind = PP_SAMPLER_TORCH, .n = 10, .seed = UINT64_MAX};
    struct pp_sampler *s = make(&opts);
    struct pp_err err = {0};
    struct pp_order *o = order_of(s, 0);
    pp_order_destroy(o);
    assert_int_equal(pp_order_create(s, 1, &o, &err), PP_E_USAGE);
    assert_null(o);
    assert_non_null(strstr(err.text, "manual_seed"));
    pp_sampler_destroy(s);
}

static void names_are_the_options(void **state)
{
    assert_string_equal(pp_sampler_kind_name(PP_SAMPLER_SEQUENTIAL), "sequential");
    assert_string_equal(pp_sampler_kind_name(PP_SAMPLER_RANDOM), "random");
    assert_string_equal(pp_sampler_kind_name(PP_SAMPLER_TORCH), "torch");
    assert_string_equal(pp_sampler_kind_name(PP_SAMPLER_WEIGHTED), "weighted");
    assert_string_equal(pp_sampler_kind_name((enum pp_sampler_kind)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_deal_out_the_epoch),
        cmocka_unit_test(ranks_are_disjoint_and_cover),
        cmocka_unit_test(epochs_and_seeds_reshuffle),
        cmocka_unit_test(sequential_is_the_same_each_epoch),
        cmocka_unit_test(resume_at_every_offset),
        cmocka_unit_test(orders_of_two_epochs_live_side_by_side),
        cmocka_unit_test(any_thread_may_ask),
        cmocka_unit_test(memory_is_what_the_header_says),
        cmocka_unit_test(bad_options_get_one_sentence),
        cmocka_unit_test(torch_refuses_a_seed_sum_beyond_64_bits),
        cmocka_unit_test(names_are_the_options),
    };
    return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
