/* report/ranks/digest_pass.h: what a digest takes from a recording, in one look (digest_pass.c) or in many
 * (digest_follow.c): who the rank is, its steps, its epochs, and when its collectives ended. Private to the
 * room. */
#pragma once

#include "report/measure/timeline.h"
#include "report/ranks/clock.h"
#include "report/ranks/digest.h"

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

struct digest_pass {
    struct pp_rank_row row; /* its texts are the source's, but for gpu */
    struct pp_rank_own_step *steps;
    struct pp_covered_step *times; /* of the same steps */
    size_t n, room;
    int no_memory;
    char gpu[64];
    double to_utc_ns; /* added to a time of this recording; NAN: not known */
    struct pp_collective_ends ends;
    struct pp_rank_epoch epochs[PP_RANK_EPOCHS];
    struct pp_rank_end kept[PP_RANK_ENDS];
    uint64_t
        done_ns; /* when the step before was; 0: there was none, and not known when the recording began */
};

/* Who it is, and what its clock says. What was counted before stays. PP_E_USAGE: it is of no rank. */
pp_status digest_pass_begin(struct digest_pass *p, const struct pp_source *s, struct pp_err *err);
/* The next batch of the trainer: a pp_timeline_batch_fn. */
void digest_pass_batch(void *ctx, const struct pp_timeline_batch *b);
/* Whether its waits for other ranks are whole, and the ends of its collectives. */
pp_status digest_pass_waits(struct digest_pass *p, const struct pp_source *s, struct pp_err *err);
/* The digest of all that was counted; the source is to be open still. */
pp_status digest_pass_make(struct digest_pass *p, struct pp_digest *out, struct pp_err *err);
/* Whether the phase is one in which workers make samples and batches: it stretches where they lack a CPU. */
static inline int digest_pass_is_work(pp_phase phase)
{
    return phase == PP_PHASE_READ || phase == PP_PHASE_DECODE || phase == PP_PHASE_TRANSFORM ||
           phase == PP_PHASE_COLLATE;
}
/* Until when it was recorded: its end, or its last span. */
uint64_t digest_pass_until(const struct digest_pass *p, const struct pp_source *s, uint64_t last_span_ns);
/* Of one without an outcome, when it has been opened: whether it is still written. */
int digest_pass_is_written(const char *path);
void digest_pass_free(struct digest_pass *p);

/* A step, without the wait for its data; disjoint, rising. */
struct pp_covered_step {
    uint64_t start_ns, end_ns;
    uint64_t covered_ns; /* out */
};
