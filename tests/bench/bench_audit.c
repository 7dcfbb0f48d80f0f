/* bench_audit [--samples N] [--ranks N] [--epochs N] [--order sequential|random|leased] [--faults]: what the
 * audit of the samples of a job costs: all uses of N samples (default 1e8, 1e9 in its place takes minutes)
 * over 8 ranks are fed to it, as pipeprobe ranks --audit does from recordings. random: a permutation per
 * epoch, as a shuffling sampler draws them, which is the worst for the caches; leased: shards of 1,000
 * samples, each with numbers of its own. faults: a sample of rank 1 comes once more, and one of rank 0 not at
 * all, which have to be found. CPU time, without that of making the numbers up, and memory at the most. */
#include "probe/sampler/sampler_permutation.h"
#include "report/audit/audit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { CHUNK = 4096, RANKS_MOST = 1024, EPOCHS_MOST = 64, SHARD = 1000 };
enum order { SEQUENTIAL, RANDOM, LEASED };

struct job {
    uint64_t samples;
    int ranks, epochs, faults;
    enum order order;
};

static uint64_t number_at(const struct job *j, const struct pp_permutation *p, uint64_t i)
{
    return j->order == RANDOM   ? pp_permutation_at(p, i)
           : j->order == LEASED ? (i / SHARD) << 32 | i % SHARD
                                : i;
}

/* Of leases rank r has every W-th shard, else every W-th sample. */
static uint64_t position(const struct job *j, int rank, uint64_t k)
{
    uint64_t world = (uint64_t)j->ranks;
    return j->order == LEASED ? (k / SHARD * world + (uint64_t)rank) * SHARD + k % SHARD
                              : k * world + (uint64_t)rank;
}

static pp_status feed(void *ctx, size_t part, uint16_t epoch, pp_audit_use_fn *fn, void *fn_ctx,
                      struct pp_err *err)
{
    const struct job *j = ctx;
    struct pp_permutation p;
    struct pp_audit_use uses[CHUNK];
    size_t n = 0;
    (void)err;
    pp_permutation_init(&p, j->samples, 1, epoch);
    for (uint64_t k = j->faults && part == 0 ? 1 : 0, i; (i = position(j, (int)part, k)) < j->samples; k++) {
        uses[n++] = (struct pp_audit_use){.sample = number_at(j, &p, i), .batch = (uint32_t)(k / 256)};
        if (j->faults && part == 1 && k == 7 && epoch == 0)
            uses[n] = uses[n - 1], n++;
        if (n >= CHUNK - 1) {
            if (fn(fn_ctx, uses, n))
                return PP_OK;
            n = 0;
        }
    }
    if (n)
        fn(fn_ctx, uses, n);
    return PP_OK;
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int take_none(void *ctx, const struct pp_audit_use *uses, size_t n)
{
    *(uint64_t *)ctx += uses[n - 1].sample; /* so that they are made */
    return 0;
}

static int usage(void)
{
    fputs(
        "usage: bench_audit [--samples N] [--ranks N] [--epochs N] [--order sequential|random|leased] [--faults]\n",
        stderr);
    return 2;
}

static int read_options(struct job *j, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--faults") == 0) {
            j->faults = 1;
            continue;
        }
        i++;
        if (strcmp(argv[i - 1], "--samples") == 0)
            j->samples = (uint64_t)atof(value);
        else if (strcmp(argv[i - 1], "--ranks") == 0)
            j->ranks = atoi(value);
        else if (strcmp(argv[i - 1], "--epochs") == 0)
            j->epochs = atoi(value);
        else if (strcmp(argv[i - 1], "--order") == 0)
            j->order = *value == 'r' ? RANDOM : *value == 'l' ? LEASED : SEQUENTIAL;
        else
            return 0;
    }
    return j->samples > 1000 && j->ranks > 1 && j->ranks <= RANKS_MOST && j->epochs > 0 &&
           j->epochs <= EPOCHS_MOST;
}

int main(int argc, char **argv)
{
    static struct pp_audit_part parts[RANKS_MOST];
    static struct pp_audit_span spans[EPOCHS_MOST];
    struct job j = {100000000, 8, 1, 0, RANDOM};
    struct pp_audit a;
    struct pp_err err = {.code = PP_OK};
    struct rusage u;
    if (!read_options(&j, argc, argv))
        return usage();
    for (int e = 0; e < j.epochs; e++)
        spans[e] = (struct pp_audit_span){.epoch = (uint16_t)e,
                                          .begun = 1,
                                          .ended = 1,
                                          .batches = UINT32_MAX / 2};
    for (int r = 0; r < j.ranks; r++)
        parts[r] = (struct pp_audit_part){.rank = r,
                                          .world_size = j.ranks,
                                          .file = "made up",
                                          .samples = j.order == LEASED ? NAN : (double)j.samples,
                                          .batch_size = 256,
                                          .leased = j.order == LEASED,
                                          .finished = 1,
                                          .shards = j.order == LEASED ? ceil((double)j.samples / SHARD) : NAN,
                                          .epochs = spans,
                                          .n_epochs = (size_t)j.epochs};
    uint64_t sum = 0;
    double from = cpu_s();
    for (size_t r = 0; r < (size_t)j.ranks; r++)
        for (int e = 0; e < j.epochs; e++)
            feed(&j, r, (uint16_t)e, take_none, &sum, &err);
    double making = cpu_s() - from;
    from = cpu_s();
    pp_status st = pp_audit_judge(&(struct pp_audit_input){parts, (size_t)j.ranks, feed, &j}, &a, &err);
    double took = cpu_s() - from - making;
    getrusage(RUSAGE_SELF, &u);
    if (st != PP_OK) {
        fprintf(stderr, "bench_audit: %s\n", err.text);
        return 1;
    }
    printf(
        "%.3g uses of %.3g samples on %d ranks: %.1f s CPU (%.1f s more to make them up, sum %llx), %.0f ns a use, %.0f MiB at most, %s\n",
        a.used, (double)j.samples, j.ranks, took, making, (unsigned long long)sum, took / a.used * 1e9,
        (double)u.ru_maxrss / 1024, a.scale > 1 ? "an estimate" : "exact");
    printf("%s: %s\n", a.kind_name, a.sentence);
    for (size_t i = 0; i < a.n_causes; i++)
        printf("  %s: %.0f\n", a.causes[i].name, a.causes[i].samples);
    pp_arena_free(&a.arena);
    return 0;
}
