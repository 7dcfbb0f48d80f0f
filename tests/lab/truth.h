/* tests/lab/truth.h: a label put to the proof: every single knob of a scenario turned for
 * real, and what the what-if said of it before.
 *
 * A label is causal when one of the fixes that it names gains at least 15 % and no other knob gains more (3
 * points of it are noise); a control is one when no knob gains more than 3 %. The run as it is is made before
 * and after the others. Where that would refute the label, the run as it is and the two knobs that decide
 * (the best that the label names, the best other) are made twice more, and medians count: one run of a few
 * seconds on a machine that others use moves by some per cent by itself. */
#pragma once

#include "tests/lab/results.h"

struct lab_place {
    const char *dir;  /* of recordings that go away */
    const char *keep; /* or the ones that stay; NULL: none */
    int again;        /* those that stay are there already: nothing is run */
    double seconds;   /* of one run */
};

/* Makes the recording of the scenario (turned: NULL for as it is) and leaves its path in file. outside_cpus
 * may be NULL. */
pp_status lab_record(const struct lab_place *p, const struct scenario *s, int level, unsigned seed,
                     const struct intervention *turned, char *file, size_t size, double *outside_cpus,
                     struct pp_err *err);

/* Adds a truth and its predictions to the results; prints a line for each as they come. base_file is the
 * recording that base was built from. */
void lab_find_truth(const struct lab_place *p, const struct scenario *s, int level, unsigned seed,
                    const char *base_file, const struct pp_report *base, struct lab_results *results);
