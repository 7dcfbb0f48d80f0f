/* The random sampler: a bijection at every n, and no statistic that tells its orders from fair ones.
 *
 * Each statistic is reduced to a z score: chi2 with df degrees of freedom has mean df and variance 2 df, and
 * is close to normal from some hundred degrees on. About 30 scores are judged below, all from fixed seeds.
 * Fair shuffles exceed |z| = 5 with a chance below 1e-6 per score (the chi2 tail is a little heavier than the
 * normal's 6e-7), so a failure means the code. The power is shown, not claimed: the 4-round Feistel and an
 * affine map go through the same functions and must be rejected at the same threshold. */
#include "probe/base/err.h"
#include "probe/base/rng.h"
#include "probe/sampler/sampler.h"
#include "probe/sampler/sampler_permutation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define Z_LIMIT 5.0
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SEEDS 2000
#else
#define SEEDS 6000
#endif

/* ---- bijection ---- */

static void assert_permutation(uint64_t n, uint64_t seed, uint64_t epoch)
{
    struct pp_permutation p;
    unsigned char *seen = calloc(n, 1);
    pp_permutation_init(&p, n, seed, epoch);
    for (uint64_t x = 0; x < n; x++) {
        uint64_t y = pp_permutation_at(&p, x);
        if (y >= n || seen[y]++)
            fail_msg("n=%llu seed=%llu: %llu goes to %llu, which is taken or outside", (unsigned long long)n,
                     (unsigned long long)seed, (unsigned long long)x, (unsigned long long)y);
    }
    free(seen);
}

static void bijective_at_every_small_n(void **state)
{
    for (uint64_t n = 1; n <= 2000; n++) {
        assert_permutation(n, 1, n);
        assert_permutation(n, UINT64_MAX - n, 0);
    }
}

static void bijective_at_large_n(void **state)
{
    /* Either side of where the halves' sizes change, and random ones between. */
    static const uint64_t edges[] = {65535, 65536, 65537, 131071, 131073, 262143, 262144, 1000003};
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
        assert_permutation(edges[i], i, 3);
    struct pp_rng rng = {42};
    for (int i = 0; i < 8; i++)
        assert_permutation(2001 + pp_rng_below(&rng, 400000), (uint64_t)i, 1);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Where n is too large to count, a window of w positions must not repeat itself; a function that is not
 * one-to-one would, w * w / 2n times: here at least 31 expected, so missing all of them has a chance of
 * exp(-31). */
static void windows_of_huge_n_do_not_repeat(void **state)
{
    enum { W = 1 << 18 };
    uint64_t *window = malloc(W * sizeof(*window));
    for (int bits = 24; bits <= 30; bits++) {
        struct pp_rng rng = {(uint64_t)bits};
        uint64_t n = (UINT64_C(1) << bits) - pp_rng_below(&rng, UINT64_C(1) << (bits - 1));
        uint64_t first = pp_rng_below(&rng, n - W);
        struct pp_permutation p;
        pp_permutation_init(&p, n, 99, (uint64_t)bits);
        pp_permutation_fill(&p, first, 1, window, W);
        qsort(window, W, sizeof(*window), by_value);
        assert_true(window[W - 1] < n);
        for (int i = 1; i < W; i++)
            assert_true(window[i] != window[i - 1]);
    }
    free(window);
}

/* At 2^40 and nearby the image of a window must stay inside and spread evenly: 1024 equal parts of [0, n). */
static void the_largest_n_is_spread_evenly(void **state)
{
    static const uint64_t sizes[] = {PP_SAMPLER_MAX_N, PP_SAMPLER_MAX_N - 1, (UINT64_C(1) << 39) + 1,
                                     UINT64_C(1000000000000)};
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        enum { PARTS = 1024, DRAWS = 1 << 18 };
        uint64_t count[PARTS] = {0}, n = sizes[k];
        struct pp_permutation p;
        pp_permutation_init(&p, n, 5, k);
        for (uint64_t i = 0; i < DRAWS; i++) {
            uint64_t y = pp_permutation_at(&p, i % 2 ? n - 1 - i : i); /* from both ends */
            assert_true(y < n);
            count[(unsigned __int128)y * PARTS / n]++;
        }
        double chi2 = 0, expected = (double)DRAWS / PARTS;
        for (int i = 0; i < PARTS; i++)
            chi2 += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
        assert_true(fabs((chi2 - (PARTS - 1)) / sqrt(2.0 * (PARTS - 1))) < Z_LIMIT);
    }
}

/* ---- fill and at ---- */

static void fill_is_at(void **state)
{
    static const uint64_t sizes[] = {1, 2, 255, 256, 257, 1000, 70000, 1000000007, PP_SAMPLER_MAX_N};
    uint64_t out[300];
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        struct pp_permutation p;
        pp_permutation_init(&p, sizes[k], 8, 8);
        for (uint64_t stride = 1; stride <= 7; stride += 3) {
            for (size_t count = 0; count <= 300 && count * stride < sizes[k]; count += 1 + count / 8) {
                uint64_t first = sizes[k] - 1 - (count ? count - 1 : 0) * stride; /* ends at the last index */
                memset(out, 0xff, sizeof(out));
                pp_permutation_fill(&p, first, stride, out, count);
                for (size_t i = 0; i < count; i++)
                    assert_int_equal(out[i], pp_permutation_at(&p, first + i * stride));
                if (count < 300)
                    assert_int_equal(out[count], UINT64_MAX); /* nothing written past the end */
            }
        }
    }
}

/* ---- statistics ---- */

typedef void shuffle_fn(uint32_t *order, uint32_t n, uint64_t seed);

static void shipped(uint32_t *order, uint32_t n, uint64_t seed)
{
    struct pp_permutation p;
    pp_permutation_init(&p, n, seed / 4, seed % 4); /* neighbouring seeds and epochs, as runs have them */
    for (uint32_t i = 0; i < n; i++)
        order[i] = (uint32_t)pp_permutation_at(&p, i);
}

static void fisher_yates(uint32_t *order, uint32_t n, uint64_t seed)
{
    struct pp_rng rng = pp_rng_key(seed, 0, 0, 0);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = (uint32_t)pp_rng_below(&rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

static void affine(uint32_t *order, uint32_t n, uint64_t seed)
{
    struct pp_rng rng = pp_rng_key(seed, 0, 0, 0);
    uint64_t a, b = pp_rng_below(&rng, n), u, v;
    do { /* a coprime to n */
        u = a = 1 + pp_rng_below(&rng, n - 1), v = n;
        while (v) {
            uint64_t rest = u % v;
            u = v, v = rest;
        }
    } while (u != 1);
    for (uint32_t i = 0; i < n; i++)
        order[i] = (uint32_t)((a * i + b) % n);
}

/* The textbook balanced Feistel with a good round function, two rounds too short. n <= 1024. */
static void feistel4(uint32_t *order, uint32_t n, uint64_t seed)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = i;
        do {
            uint32_t left = x >> 5, right = x & 31;
            for (uint64_t r = 0; r < 4; r++) {
                struct pp_rng round = pp_rng_key(seed, r, right, 1);
                uint32_t next = left ^ (uint32_t)(pp_rng_next(&round) >> 59);
                left = right, right = next;
            }
            x = left << 5 | right;
        } while (x >= n);
        order[i] = x;
    }
}

struct scores {
    double difference; /* p(i+1) - p(i) mod n: each of 1..n-1 equally often */
    double pair;       /* (p(i), p(i+1)) over a grid of 20 x 20 parts of [0, n) */
    double fixed;      /* p(i) = i: 1 per order in the mean, variance 1 */
    double place;      /* every element at every position equally often */
};

enum { PARTS = 20 };

struct counts {
    uint64_t *difference, *place, pair[PARTS][PARTS], fixed;
};

static void count_order(struct counts *c, const uint32_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        c->fixed += p[i] == i;
        c->place[(size_t)i * n + p[i]]++;
        if (i + 1 < n) {
            c->difference[(p[i + 1] + n - p[i]) % n]++;
            c->pair[(uint64_t)p[i] * PARTS / n][(uint64_t)p[i + 1] * PARTS / n]++;
        }
    }
}

static double chi2_even(const uint64_t *count, size_t cells, double expected)
{
    double chi2 = 0;
    for (size_t i = 0; i < cells; i++)
        chi2 += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
    return chi2;
}

static double z_of(double chi2, double df)
{
    return (chi2 - df) / sqrt(2 * df);
}

/* n a multiple of PARTS. Rows and columns of the pair grid are held by the permutation itself, which leaves
 * (PARTS - 1)^2 degrees. */
static double pair_score(struct counts *c, uint32_t n, double orders)
{
    double chi2 = 0, part = (double)n / PARTS, pairs = orders * (n - 1);
    for (int i = 0; i < PARTS; i++) {
        for (int j = 0; j < PARTS; j++) {
            double expected = pairs * part * (part - (i == j)) / ((double)n * (n - 1));
            chi2 += ((double)c->pair[i][j] - expected) * ((double)c->pair[i][j] - expected) / expected;
        }
    }
    return z_of(chi2, (PARTS - 1) * (PARTS - 1));
}

static struct scores judge(shuffle_fn *shuffle, uint32_t n, uint64_t orders)
{
    struct counts c = {.difference = calloc(n, sizeof(uint64_t)),
                       .place = calloc((size_t)n * n, sizeof(uint64_t))};
    uint32_t *p = malloc(n * sizeof(*p));
    for (uint64_t seed = 0; seed < orders; seed++) {
        shuffle(p, n, seed);
        count_order(&c, p, n);
    }
    struct scores z = {
        .difference = z_of(chi2_even(c.difference + 1, n - 1, (double)orders), n - 2),
        .pair = pair_score(&c, n, (double)orders),
        .fixed = ((double)c.fixed - (double)orders) / sqrt((double)orders),
        .place = z_of(chi2_even(c.place, (size_t)n * n, (double)orders / n), (double)(n - 1) * (n - 1)),
    };
    free(p);
    free(c.place);
    free(c.difference);
    return z;
}

static double worst(struct scores z)
{
    return fmax(fmax(fabs(z.difference), fabs(z.pair)), fmax(fabs(z.fixed), fabs(z.place)));
}

static void assert_fair(shuffle_fn *shuffle, uint32_t n, uint64_t orders)
{
    struct scores z = judge(shuffle, n, orders);
    print_message("# n=%u, %llu orders: z of difference %.1f, pair %.1f, fixed points %.1f, place %.1f\n", n,
                  (unsigned long long)orders, z.difference, z.pair, z.fixed, z.place);
    assert_true(worst(z) < Z_LIMIT);
}

static void orders_pass_for_fair(void **state)
{
    assert_fair(shipped, 1000, SEEDS);
    assert_fair(shipped, 1020, SEEDS); /* nearly fills its grid of 32 x 32 */
    assert_fair(shipped, 260, 5 * SEEDS);
    assert_fair(shipped, 240, 2 * SEEDS); /* the small kind, with more rounds */
    assert_fair(shipped, 60, 10 * SEEDS);
    assert_fair(fisher_yates, 1000, SEEDS / 2); /* the yardstick itself */
}

static void the_statistics_can_fail(void **state)
{
    struct scores linear = judge(affine, 1000, SEEDS / 2), short_feistel = judge(feistel4, 1000, SEEDS);
    print_message("# affine: z of difference %.0f; 4-round Feistel: %.1f\n", linear.difference,
                  short_feistel.difference);
    assert_true(linear.difference > Z_LIMIT);
    assert_true(short_feistel.difference > Z_LIMIT);
}

/* Every one of the n! orders of a tiny dataset comes equally often. */
static void tiny_orders_are_all_alike(void **state)
{
    for (uint32_t n = 3; n <= 6; n++) {
        uint64_t factorial = 1, count[720] = {0}, orders = 30 * SEEDS;
        uint32_t p[6];
        for (uint32_t i = 2; i <= n; i++)
            factorial *= i;
        for (uint64_t seed = 0; seed < orders; seed++) {
            uint64_t rank = 0; /* Lehmer code */
            shipped(p, n, seed);
            for (uint32_t i = 0; i < n; i++) {
                uint64_t smaller = 0;
                for (uint32_t j = i + 1; j < n; j++)
                    smaller += p[j] < p[i];
                rank = rank * (n - i) + smaller;
            }
            count[rank]++;
        }
        assert_true(z_of(chi2_even(count, factorial, (double)orders / (double)factorial),
                         (double)factorial - 1) < Z_LIMIT);
    }
}

/* Orders of neighbouring seeds and epochs agree at a position as often as chance has it: once per order. */
static void neighbouring_keys_are_unrelated(void **state)
{
    enum { N = 1000, KEYS = 1000 };
    uint32_t a[N], b[N];
    uint64_t agree = 0;
    shipped(a, N, 0);
    for (uint64_t seed = 1; seed <= KEYS; seed++) {
        shipped(b, N, seed);
        for (int i = 0; i < N; i++)
            agree += a[i] == b[i];
        memcpy(a, b, sizeof(a));
    }
    assert_true(fabs((double)agree - KEYS) < Z_LIMIT * sqrt(KEYS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bijective_at_every_small_n),
        cmocka_unit_test(bijective_at_large_n),
        cmocka_unit_test(windows_of_huge_n_do_not_repeat),
        cmocka_unit_test(the_largest_n_is_spread_evenly),
        cmocka_unit_test(fill_is_at),
        cmocka_unit_test(orders_pass_for_fair),
        cmocka_unit_test(the_statistics_can_fail),
        cmocka_unit_test(tiny_orders_are_all_alike),
        cmocka_unit_test(neighbouring_keys_are_unrelated),
    };
    return cmocka_run_group_tests_name("sampler_random", tests, NULL, NULL);
}
