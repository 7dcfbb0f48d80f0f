/* Runs made up for tests of comparisons: what a loader at 1,000 samples/s looks like, with noise, and ways to
 * make it worse. */
#pragma once

#include "report/compare/compare.h"
#include "report/compare/run.h"
#include "probe/base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pp_runs fake_side(const char *name, size_t n, double slow, double noise, uint64_t seed);

/* Run k of both sides on a machine that is by chance faster or slower just then: what two runs made side by
 * side share. spread: of its log. */
void fake_drift(struct pp_runs *base, struct pp_runs *head, double spread, uint64_t seed);

void fake_quick(struct pp_compare_opts *o);
