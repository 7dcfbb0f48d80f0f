/* report/findings/patterns.h: what workers do that people ask about by name, in one pass over the spans:
 *
 * - Lockstep waits: "every num_workers-th batch is slow". Workers that begin together and are equally slow
 *   deliver together: the trainer waits for the first of W batches and finds the others ready. A wait is
 *   long from half of what it would be if one batch in W had all of the waiting. The pattern is there when
 *   at least 10 distances between neighbouring long waits were seen, 70 % of them are exactly W batches, and
 *   the long waits hold 60 % of the waiting. Waits at random with the same rate have that distance with a
 *   chance of (1/W)(1 - 1/W)^(W-1) <= 0.25 each: 10 distances pass by chance less than once in 280, and
 *   40 distances never. One worker that is slower than the others gives the same rhythm: it is told by the
 *   time that each worker takes per batch.
 *   In a trace of another profiler the number of workers is not known, and the rhythm tells it: the least W
 *   from 2 to 32 for which 4 or more long waits are all exactly W batches apart and hold 80 % of the waiting.
 *   By chance that happens once in 64 for each W.
 * - Restarts: generations of workers. A worker that begins after all of the generation before have ended
 *   begins the next one. Two generations may be a training and a validation loader; workers restart when
 *   there are three, or two in two epochs, or when they record a start-up for a batch.
 * - Hangs: work that was open when the recording ended, or that took far longer than work of its phase
 *   usually does.
 *
 * Memory: 8 bytes per batch of the window up to PP_PATTERN_BATCHES, and 80 per thread. */
#ifndef PP_REPORT_FINDINGS_PATTERNS_H
#define PP_REPORT_FINDINGS_PATTERNS_H

#include "report/measure/tally.h"

enum { PP_PATTERN_BATCHES = 1 << 20 };

struct pp_lockstep {
    const char *unknown; /* why nothing is known; NULL: it is */
    int found,
        inferred; /* inferred: a trace of another profiler does not tell the workers; the rhythm does */
    unsigned workers;
    size_t long_waits, distances, in_step; /* in_step: distances of exactly `workers` batches */
    double long_share;                     /* of the waiting: the long waits */
    double slowest; /* time per batch of the slowest worker over the median worker's; NAN: not known */
    uint32_t slowest_thread;
};

struct pp_restarts {
    const char *unknown;
    size_t generations, threads; /* threads: workers in all */
    size_t started_again;        /* beyond the first generation */
    double gap_ns; /* from the last work of a generation to the first work of the next, all gaps */
};

struct pp_hang {
    int measured, found, open; /* open: when the recording ended */
    uint32_t thread;
    pp_phase phase;
    uint64_t start_ns, dur_ns, sample; /* PP_NO_SAMPLE */
    double usual_ns;                   /* median of its phase; NAN: none ended */
    size_t others;                     /* workers that hung as well */
};

struct pp_patterns {
    struct pp_lockstep lockstep;
    struct pp_restarts restarts;
    struct pp_hang hang;
};

struct pp_patterns_pass;

/* One pass over all spans, after the timeline: begin, every chunk, end. begin returns NULL without memory;
 * end comes after the tally's, accepts NULL, frees the pass and fills out. */
struct pp_patterns_pass *pp_patterns_begin(const struct pp_source *source,
                                           const struct pp_timeline *timeline);
int pp_patterns_chunk(struct pp_patterns_pass *p, uint32_t thread, const struct pp_span *spans,
                      size_t n); /* non-zero: no memory */
void pp_patterns_end(struct pp_patterns_pass *p, const struct pp_tally *tally, struct pp_patterns *out);

#endif
