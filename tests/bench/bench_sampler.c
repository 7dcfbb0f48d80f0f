/* The sampler's price: nanoseconds per index, time to the first index of an epoch, memory, at N = 1e6, 1e9,
 * 1e12. Medians of REPEATS rounds, all rows in turn inside a round, so that a slow phase of the machine meets
 * them alike. Torch's row shows what its order costs, at the N it is for. */
#include "probe/base/clock.h"
#include "probe/base/text.h"
#include "probe/sampler/sampler.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define REPEATS 7
#define INDEXES 1000000 /* per measurement, from the whole range where n is larger */
#define BLOCK 1024

static const struct row {
    enum pp_sampler_kind kind;
    uint64_t n;
} rows[] = {
    {PP_SAMPLER_SEQUENTIAL, 1000000000000}, {PP_SAMPLER_RANDOM, 1000000},   {PP_SAMPLER_RANDOM, 1000000000},
    {PP_SAMPLER_RANDOM, 1000000000000},     {PP_SAMPLER_WEIGHTED, 1000000}, {PP_SAMPLER_TORCH, 1000000},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct figures {
    double first_ns[REPEATS], at_ns[REPEATS], fill_ns[REPEATS];
    size_t bytes;
};

static uint64_t sink; /* keeps the compiler from dropping the work */

static void measure(const struct pp_sampler *s, size_t sampler_bytes, int round, struct figures *f)
{
    struct pp_order *o = NULL;
    uint64_t block[BLOCK], start = pp_sampler_len(s) / 2 - INDEXES / 2, t0;

    t0 = pp_now_ns();
    if (pp_order_create(s, (uint64_t)round, &o, NULL) != PP_OK)
        exit(1);
    sink += pp_order_at(o, 0);
    f->first_ns[round] = (double)(pp_now_ns() - t0);

    t0 = pp_now_ns();
    for (uint64_t i = 0; i < INDEXES; i++)
        sink += pp_order_at(o, start + i);
    f->at_ns[round] = (double)(pp_now_ns() - t0) / INDEXES;

    t0 = pp_now_ns();
    for (uint64_t i = 0; i + BLOCK <= INDEXES; i += BLOCK) {
        pp_order_fill(o, start + i, block, BLOCK);
        sink += block[round];
    }
    f->fill_ns[round] = (double)(pp_now_ns() - t0) / (INDEXES / BLOCK * BLOCK);
    f->bytes = sampler_bytes + pp_order_footprint(o);
    pp_order_destroy(o);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, REPEATS, sizeof(*v), by_value);
    return v[REPEATS / 2];
}

static struct pp_sampler *make(const struct row *row, const double *weights)
{
    struct pp_sampler_opts opts = {.kind = row->kind, .n = row->n, .seed = 1, .weights = weights};
    struct pp_sampler *s = NULL;
    struct pp_err err = {0};
    if (pp_sampler_create(&opts, &s, &err) != PP_OK) {
        fprintf(stderr, "bench_sampler: %s\n", err.text);
        exit(1);
    }
    return s;
}

int main(void)
{
    static struct figures figures[ROWS];
    struct pp_sampler *sampler[ROWS];
    double *weights = malloc(INDEXES * sizeof(*weights));
    char first[32], bytes[32];
    size_t taken[ROWS];

    if (!weights)
        return 1;
    for (int i = 0; i < INDEXES; i++)
        weights[i] = 1 + i % 100;
    for (size_t r = 0; r < ROWS; r++) {
        struct mallinfo2 before = mallinfo2();
        sampler[r] = make(&rows[r], weights);
        taken[r] = mallinfo2().uordblks + mallinfo2().hblkhd - before.uordblks - before.hblkhd;
    }
    for (int round = 0; round < REPEATS; round++)
        for (size_t r = 0; r < ROWS; r++)
            measure(sampler[r], taken[r], round, &figures[r]);

    printf("%-10s  %5s  %12s  %12s  %12s  %10s\n", "sampler", "N", "first index", "at, ns/idx",
           "fill, ns/idx", "memory");
    for (size_t r = 0; r < ROWS; r++) {
        pp_text_duration(first, sizeof(first), median(figures[r].first_ns));
        pp_text_bytes(bytes, sizeof(bytes), (double)figures[r].bytes);
        printf("%-10s  %5.0e  %12s  %12.1f  %12.1f  %10s\n", pp_sampler_kind_name(rows[r].kind),
               (double)rows[r].n, first, median(figures[r].at_ns), median(figures[r].fill_ns), bytes);
        pp_sampler_destroy(sampler[r]);
    }
    printf(
        "goals: random's first index < 1 us, <= 30 ns per index, memory that does not grow with N (medians of %d)\n",
        REPEATS);
    free(weights);
    return sink == 0;
}
