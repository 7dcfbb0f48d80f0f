/* tui/cli/resume/resume_run.h: one start of the user's job under `pipeprobe exec`, in a session of its own,
 * up to its end, to a kill, or until enough of it is recorded.
 *
 * A kill is of the job alone, all its processes at once: `exec` stays and finishes the recording. What the
 * job leaves behind (workers live on for five seconds and hold memory, ports and files) is killed too, and
 * waited for; we are its subreaper. Nothing else is touched. */
#pragma once

#include "report/resume/resume.h"
#include <pipeprobe/status.h>

/* Where a job is killed, from what its uninterrupted run did (resume_plan.c). Pure.
 *
 * A job is as far as the batches that it has trained on; where no backward is seen, as those that it has
 * taken. Where the kill fell exactly is read off the recording afterwards. */
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
/* Where a resumed run is killed in the same epoch, behind another save: batches that it has trained on then.
 * 0: there is none. */
size_t resume_plan_again(const struct pp_resume_run *a, size_t from);

struct resume_job {
    char *const *program;
    const char *resume_with; /* for a shell; NULL: the program again */
    const char *reset;       /* likewise, before each chain; NULL: none */
    int content;             /* exec --content */
    int with_term;           /* --signal: SIGTERM, and SIGKILL after grace_ns */
    uint64_t grace_ns, limit_ns;
    int64_t after;            /* batches behind the end of an epoch, which are compared */
    char dir[PATH_MAX - 256]; /* there already */
};

enum resume_end {
    RESUME_END_ITSELF,
    RESUME_END_KILLED, /* at the batch that was asked for */
    RESUME_END_ENOUGH,
    RESUME_END_LIMIT,
    RESUME_END_STOPPED /* we were interrupted */
};

struct resume_ask {
    const char *chain;                   /* "k1": its directory below the job's */
    int start;                           /* of the chain, from 1 on */
    const char *ckpt;                    /* what {ckpt} stands for; NULL: nothing */
    struct resume_done_so_far kill_at;   /* once it has done so much; zeros: it is not killed */
    struct resume_done_so_far enough_at; /* likewise, and then it is ended without more */
    int by_epochs;                       /* it is ended once it has done enough epochs */
};

struct resume_done {
    enum resume_end end;
    int status;                               /* of the job, as exec passes it on */
    int hung;                                 /* SIGTERM did not end it within the grace */
    char recordings[PATH_MAX], log[PATH_MAX]; /* a directory; the job's output */
    char words[320];                          /* the last line of that */
};

/* PP_E_SYSTEM, ...: it could not be run. A job that fails is PP_OK. */
pp_status resume_run_make(const struct resume_job *job, const struct resume_ask *ask, struct resume_done *d,
                          struct pp_err *err);
/* Makes the chain's directory of the job, {dir}: DIR/CHAIN/out, and runs reset. */
pp_status resume_run_begin_chain(const struct resume_job *job, const char *chain, struct pp_err *err);
/* Removes what is below {dir} of the chain. */
void resume_run_remove_out(const struct resume_job *job, const char *chain);

/* Recordings as starts of a job (report/resume/resume.h). */

/* The ranks of one start: a recording, a digest, or a directory of them; as taken, not finished. Free with
 * resume_start_free, also after a failure. */
pp_status resume_start_read(const char *path, struct pp_resume_start *out, struct pp_err *err);
void resume_start_free(struct pp_resume_start *s);
