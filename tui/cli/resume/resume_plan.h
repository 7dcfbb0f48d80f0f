/* tui/cli/resume/resume_plan.h: where a job is killed, from what its uninterrupted run did. Pure.
 *
 * A job is as far as the batches that it has trained on; where no backward is seen, as those that it has
 * taken. Where the kill fell exactly is read off the recording afterwards.
 */
#pragma once

#include "report/resume/resume.h"

enum { RESUME_POINTS_MAX = 64 };

/* Batches of a process, and the number behind the one that it took last; trained 0: no backward is seen. */
struct resume_done_so_far {
    uint32_t trained, taken;
};

struct resume_point {
    char name[16], how[96];
    size_t batch; /* of the uninterrupted run's batches */
    int again;    /* the resumed run is killed once more, in the same epoch */
};

/* The five chosen ones, as far as the run has them, or those of kill_at (n_at > 0); then `random` more. How
 * many. */
size_t resume_plan(const struct pp_resume_run *a, const uint64_t *kill_at, size_t n_at, size_t random,
                   uint64_t seed, struct resume_point point[RESUME_POINTS_MAX]);
/* Of a process that goes on behind `from` batches of a, when it has done those up to `to`. lag: of a. */
struct resume_done_so_far resume_plan_done(const struct pp_resume_run *a, size_t from, size_t to,
                                           uint32_t lag);
/* Then it has enough: so many batches behind the next end of an epoch. Beyond a's: a does not go so far. */
size_t resume_plan_until(const struct pp_resume_run *a, size_t from, size_t after);
/* Where a resumed run is killed in the same epoch, behind another save: batches that it has trained on then.
 * 0: there is none. */
size_t resume_plan_again(const struct pp_resume_run *a, size_t from);
