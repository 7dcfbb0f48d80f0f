/* report/ranks/clock.h: the clocks of ranks on several hosts, held against each other by an event that all of
 * them see: a blocking collective of the whole job ends for all ranks at one moment, but for how late each of
 * them notices.
 *
 * y(k), the end of collective k on the reference rank less that on this one, is the difference of the clocks
 * plus the difference of two delays. A line through the medians of blocks takes the drift out; what is left
 * has in each window of PP_CLOCK_WINDOW steps a median, which late exits do not move, and a spread. Between
 * the middles of windows the median is interpolated. The error that is claimed for it is four standard errors
 * of a median (1.2533 sigma / sqrt(n), with sigma = 1.4826 times the median deviation: for delays that are
 * exponential it is less). Below the errors of two ranks nothing is said about the order of their events.
 *
 * A delay that one rank has at every collective is taken for its clock: no event tells the two apart. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_source;

enum { PP_CLOCK_WINDOW = 64, PP_CLOCK_LEAST = 50 };

/* The end of a collective step on two ranks, each by its own clock. */
struct pp_clock_pair {
    uint64_t own_ns, reference_ns;
};

struct pp_clock_knot {
    double at_ns, left_ns; /* since `from`; what the line leaves there */
};

/* From a rank's clock to that of the reference. */
struct pp_clock {
    const char *unknown; /* why the clocks could not be held against each other; NULL: they were */
    uint64_t steps;
    uint64_t from_ns; /* own time of the first pair */
    int64_t ahead_ns; /* added to own times there */
    double drift;     /* ns per ns, beyond that */
    double error_ns;  /* the largest of all windows; NAN: unknown */
    struct pp_clock_knot *knots;
    size_t n_knots;
};

/* pairs in the order of time; fewer than PP_CLOCK_LEAST: unknown. Free with pp_clock_free. */
pp_status pp_clock_fit(const struct pp_clock_pair *pairs, size_t n, struct pp_clock *out, struct pp_err *err);
void pp_clock_free(struct pp_clock *c);

/* An own time on the reference's clock. Order is kept. */
uint64_t pp_clock_to_reference(const struct pp_clock *c, uint64_t own_ns);

/* By batch: when its last collective ended on the trainer's thread; 0: none, or not known. */
struct pp_collective_ends {
    uint64_t *at; /* n, to be freed */
    size_t n;
};
/* A function of each_meta: whether one of the notes of a recording's processes has these words
 * (collectors/attach/python/meets.c). */
struct pp_process_note {
    const char *words;
    int is_there;
};
void pp_process_note_find(void *note, const char *key, const char *value, const char *unit, int numeric);

/* Adds those of a recording; none where some were of a part of the ranks. None are batches beyond 2^21. */
pp_status pp_collective_ends_read(const struct pp_source *s, struct pp_collective_ends *io,
                                  struct pp_err *err);

/* The clocks of n recordings of one job against that of the first: from the ends of their spans `collective`
 * by batch. Where that is not possible, by the hosts' clocks, with unknown set. out: n of them, to be freed
 * one by one, also after a failure. */
pp_status pp_clock_align(const struct pp_source *sources, size_t n, struct pp_clock *out, struct pp_err *err);
