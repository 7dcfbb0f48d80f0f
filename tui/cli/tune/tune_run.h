/* tui/cli/tune/tune_run.h: one bounded run of the user's job under `pipeprobe exec`, in a process group of
 * its own: it is ended when its steady state has lasted long enough, with SIGINT, then SIGTERM, then SIGKILL.
 */
#ifndef PP_TUI_CLI_TUNE_TUNE_RUN_H
#define PP_TUI_CLI_TUNE_TUNE_RUN_H

#include "tui/cli/tune/tune_log.h"

#include <limits.h>
#include <stdint.h>

struct tune_job {
    char *const *program;
    int no_reads;
    uint64_t start_limit_ns;  /* until the trainer has its second batch */
    uint64_t grace_ns;        /* from SIGINT to SIGTERM, and from there to SIGKILL */
    char dir[PATH_MAX - 128]; /* of the recordings; there already */
};

enum tune_end {
    TUNE_END_TIME,   /* after the time asked for */
    TUNE_END_ITSELF, /* the job ended before */
    TUNE_END_LIMIT,  /* no batch within the limit */
    TUNE_END_RANKS,  /* its processes are ranks, each with a recording of its own */
    TUNE_END_STOPPED /* tune was interrupted */
};

struct tune_run {
    char path[PATH_MAX], log[PATH_MAX]; /* the recording; the job's output */
    enum tune_end end;
    int status;   /* of the job, as exec passes it on */
    int signal;   /* the strongest that was sent; 0: none */
    double rate;  /* samples/s of the steady state; NAN: not measured, and why says why */
    double noise; /* relative standard error of it, from the run's own slices; NAN: not known */
    char why[320];
    struct tune_log loaders;
};

#define TUNE_ONE_PROCESS \
    "the job has several ranks, and tune runs a job of one: start it with one process, or record all of them " \
    "with pipeprobe exec and read pipeprobe ranks"

/* An interrupt (interrupt.h) ends the run in hand. Runs the job as DIR/NAME.sqlite and .log; its DataLoaders
 * are told (NULL set: none is changed) what to change in those like `of`. A job that fails or gives no batch
 * is PP_OK with rate NAN. PP_E_SYSTEM, ...: the run could not be made. */
struct tune_ask {
    const char *name;
    uint64_t duration_ns;
    const struct tune_set *set;
    const struct tune_loader *of;
};
pp_status tune_run_make(const struct tune_job *job, const struct tune_ask *ask, struct tune_run *r,
                        struct pp_err *err);

#endif
