/* tests/lab/plan.h: which labelled runs the lab makes, and in which order: so that one
 * that is cut short has seen every scenario as often as any other.
 *
 * The plan goes in rounds. Each round has every scenario once, in a random order of its own. Which severity
 * and seed a scenario has in a round is drawn without replacement: three rounds have all its severities, each
 * with a seed drawn from those that this severity has not had. Cut anywhere, the numbers of runs of two
 * scenarios differ by one at most, and so do those of the severities of one scenario. All is drawn from the
 * plan's key, so that the same options give the same plan. */
#pragma once

#include "tests/lab/scenario.h"

#include <stddef.h>
#include <stdint.h>

/* Seeds belong to halves: what a threshold was looked at with is not what it is reported on. */
enum seed_half { SEEDS_ANY, SEEDS_TUNE, SEEDS_REPORT, SEEDS_HELD_OUT };
enum { HELD_OUT_FIRST = 20, HELD_OUT_LAST = 24 };
/* The half's seeds, n of them: tune has odd ones, report has even ones, neither a held-out one; any has those
 * from `first` on. PP_E_USAGE: the half has fewer. */
pp_status lab_seeds(enum seed_half half, int64_t first, int64_t n, unsigned *out, struct pp_err *err);

struct planned_run {
    size_t scenario; /* index */
    int level;
    unsigned seed;
    int round;
};
struct lab_plan {
    struct planned_run *run;
    size_t n;
    int rounds;
};

/* The name that --keep gives the recording of a run, without its ending. */
void lab_run_name(const struct scenario *s, int level, unsigned seed, char *out, size_t size);

/* levels: the severities wanted (0 mild .. 2 severe). Free plan->run with free(). */
pp_status lab_plan_make(size_t scenarios, const int *levels, int n_levels, const unsigned *seeds, int n_seeds,
                        uint64_t key, struct lab_plan *out, struct pp_err *err);
/* The runs whose recordings --keep left in dir, by scenario, severity and seed: of these scenarios, of the
 * wanted severity (-1: any) and half. PP_E_NOT_FOUND: there is none. Free plan->run with free(). */
pp_status lab_plan_kept(const char *dir, const struct scenario *s, size_t n, int level, enum seed_half half,
                        struct lab_plan *out, struct pp_err *err);
