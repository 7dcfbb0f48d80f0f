/* tui/cli/resume/resume_plan.h: where a job is killed, from what its uninterrupted run did. Pure.
 *
 * Batches are named by their number over the process, as the sampler gives them: workers are up to
 * num_workers x prefetch_factor ahead of the trainer. Where the kill fell exactly is read off the recording
 * afterwards. */
#ifndef PP_TUI_CLI_RESUME_RESUME_PLAN_H
#define PP_TUI_CLI_RESUME_RESUME_PLAN_H

#include "report/resume/resume.h"

enum { RESUME_POINTS_MAX = 64 };

struct resume_point {
    char name[16], how[96];
    size_t batch; /* of the uninterrupted run's batches */
    int again;    /* the resumed run is killed once more, in the same epoch */
};

/* The five chosen ones, as far as the run has them, or those of kill_at (n_at > 0); then `random` more. How
 * many. lag: of the run. */
size_t resume_plan(const struct pp_resume_run *a, const uint64_t *kill_at, size_t n_at, size_t random,
                   uint64_t seed, struct resume_point point[RESUME_POINTS_MAX]);
/* The batch that the sampler has given when that one is trained on. */
uint32_t resume_plan_given(const struct pp_resume_run *a, size_t batch, uint32_t lag);
/* A run that goes on behind `from` batches of a has enough: 10 batches behind the next end of an epoch. In
 * batches that its process was given at the most; 0: a does not go so far. */
uint32_t resume_plan_enough(const struct pp_resume_run *a, size_t from, uint32_t lag);
/* Where a resumed run is killed in the same epoch, behind another save: batches that it has trained on then.
 * 0: there is none. */
size_t resume_plan_again(const struct pp_resume_run *a, size_t from);

#endif
