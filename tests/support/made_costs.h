/* Costs made by hand, as a recording of two workers would give them, and what the replay and the signals say
 * of them. */
#pragma once

#include "tests/support/fake_run.h"
#include "report/build/parts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MADE_SAMPLES = 2000 };

/* Fails when got is further than tolerance from wanted. */
void assert_near(double got, double wanted, double tolerance);

/* Two workers, 10 ms reads and 1 ms of CPU a sample, batches of 8, a step of 5 ms: what each case varies.
 * The caller frees .samples. */
struct pp_costs made_costs_new(void);

/* The samples/s predicted for "KNOB=VALUE,..."; and the signals read from the costs. Both fail the test on an
 * error. */
double made_costs_predicted(const struct pp_costs *c, const char *set);
struct pp_signals made_costs_signals(struct pp_costs *c);
