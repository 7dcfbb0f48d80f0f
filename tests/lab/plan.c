#include "tests/lab/plan.h"

#include "probe/base/err.h"
#include "probe/base/rng.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Draws of one key, kept apart by what they are for. */
enum { FOR_ORDER, FOR_LEVELS, FOR_SEEDS };

static int is_held_out(int64_t seed)
{
    return seed >= HELD_OUT_FIRST && seed <= HELD_OUT_LAST;
}

static int in_half(enum seed_half half, int64_t seed)
{
    switch (half) {
    case SEEDS_ANY: return 1;
    case SEEDS_TUNE: return seed % 2 == 1 && !is_held_out(seed);
    case SEEDS_REPORT: return seed % 2 == 0 && !is_held_out(seed);
    case SEEDS_HELD_OUT: return is_held_out(seed);
    }
    return 0;
}

pp_status lab_seeds(enum seed_half half, int64_t first, int64_t n, unsigned *out, struct pp_err *err)
{
    int64_t found = 0, held_out = HELD_OUT_LAST - HELD_OUT_FIRST + 1;
    if (half == SEEDS_HELD_OUT && n > held_out)
        return pp_fail(
            err, PP_E_USAGE,
            "--seeds %lld: %d to %d are held out, %lld seeds; ask for no more, or for another --half",
            (long long)n, HELD_OUT_FIRST, HELD_OUT_LAST, (long long)held_out);
    for (int64_t seed = half == SEEDS_ANY ? first : 1; found < n; seed++)
        if (in_half(half, seed))
            out[found++] = (unsigned)seed;
    return PP_OK;
}

/* Fisher and Yates. */
static void shuffle(size_t *v, size_t n, struct pp_rng rng)
{
    for (size_t i = 0; i < n; i++)
        v[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)pp_rng_below(&rng, i), other = v[k];
        v[k] = v[i - 1];
        v[i - 1] = other;
    }
}

pp_status lab_plan_make(size_t scenarios, const int *levels, int n_levels, const unsigned *seeds, int n_seeds,
                        uint64_t key, struct lab_plan *out, struct pp_err *err)
{
    int rounds = n_levels * n_seeds;
    size_t most = scenarios;
    most = (size_t)n_levels > most ? (size_t)n_levels : most;
    most = (size_t)n_seeds > most ? (size_t)n_seeds : most;
    size_t *order = malloc(most * sizeof(*order)), *drawn = malloc(most * sizeof(*drawn));
    *out = (struct lab_plan){.rounds = rounds, .n = scenarios * (size_t)rounds};
    out->run = malloc(out->n * sizeof(*out->run) + 1);
    pp_status st = order && drawn && out->run
                       ? PP_OK
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for a plan of %zu runs", out->n);
    for (int round = 0; st == PP_OK && round < rounds; round++) {
        shuffle(order, scenarios, pp_rng_key(key, (uint64_t)round, 0, FOR_ORDER));
        for (size_t i = 0; i < scenarios; i++) {
            size_t s = order[i];
            shuffle(drawn, (size_t)n_levels, pp_rng_key(key, 0, s, FOR_LEVELS));
            int level = levels[drawn[round % n_levels]];
            shuffle(drawn, (size_t)n_seeds, pp_rng_key(key, (uint64_t)level, s, FOR_SEEDS));
            out->run[(size_t)round * scenarios + i] = (struct planned_run){
                .scenario = s, .level = level, .seed = seeds[drawn[round / n_levels]], .round = round};
        }
    }
    if (st != PP_OK) {
        free(out->run);
        out->run = NULL;
    }
    free(drawn);
    free(order);
    return st;
}

/* ---- runs that were kept ---- */

void lab_run_name(const struct scenario *s, int level, unsigned seed, char *out, size_t size)
{
    snprintf(out, size, "%s-%d-%u", s->name, level, seed);
}

/* NAME-LEVEL-SEED.sqlite of that scenario; runs with a knob turned have more behind the seed. */
static int is_run_of(const struct scenario *s, const char *file, struct planned_run *run)
{
    size_t len = strlen(s->name);
    int end = 0;
    return strncmp(file, s->name, len) == 0 &&
           sscanf(file + len, "-%1d-%9u.sqlite%n", &run->level, &run->seed, &end) == 2 && end > 0 &&
           !file[len + (size_t)end] && run->level >= 0 && run->level < SCENARIO_LEVELS;
}

static int by_run(const void *a, const void *b)
{
    const struct planned_run *x = a, *y = b;
    if (x->scenario != y->scenario)
        return x->scenario < y->scenario ? -1 : 1;
    if (x->level != y->level)
        return x->level - y->level;
    return (x->seed > y->seed) - (x->seed < y->seed);
}

pp_status lab_plan_kept(const char *dir, const struct scenario *s, size_t n, int level, enum seed_half half,
                        struct lab_plan *out, struct pp_err *err)
{
    char pattern[4096];
    glob_t found = {0};
    pp_status st = PP_OK;
    *out = (struct lab_plan){.rounds = 1};
    snprintf(pattern, sizeof(pattern), "%s/*.sqlite", dir);
    if (glob(pattern, 0, NULL, &found) == 0 && !(out->run = malloc(found.gl_pathc * sizeof(*out->run))))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for a plan of %zu runs", found.gl_pathc);
    for (size_t i = 0; out->run && i < found.gl_pathc; i++)
        for (size_t k = 0; k < n; k++) {
            struct planned_run run = {.scenario = k};
            if (is_run_of(&s[k], strrchr(found.gl_pathv[i], '/') + 1, &run) &&
                (level < 0 || run.level == level) && in_half(half, run.seed))
                out->run[out->n++] = run;
        }
    if (st == PP_OK && !out->n)
        st = pp_fail(
            err, PP_E_NOT_FOUND,
            "%s holds no recording of these scenarios (SCENARIO-SEVERITY-SEED.sqlite, as --keep names them)",
            dir);
    if (out->n)
        qsort(out->run, out->n, sizeof(*out->run), by_run);
    if (st != PP_OK) {
        free(out->run);
        out->run = NULL;
    }
    globfree(&found);
    return st;
}
