/* tui/cli/attach/attach_enter.h: a running job of Python 3.14 or later is asked to take up the hooks, and
 * what it does from then on is recorded: in the process that trains, in the server that forks its workers,
 * and in the workers that run. At the end they are asked to leave. What is not answered is taken back. */
#ifndef PP_TUI_CLI_ATTACH_ATTACH_ENTER_H
#define PP_TUI_CLI_ATTACH_ATTACH_ENTER_H

#include "collectors/attach/python_process.h"
#include "tui/cli/attach/attach_rows.h"
#include "tui/cli/exec/exec_python.h"
#include "tui/cli/exec/exec_record.h"
#include "tui/cli/exec/exec_tune.h"

#include <sys/types.h>

enum attach_state {
    ATTACH_OUTSIDE, /* it is only looked at, and why says why */
    ATTACH_ASKED,   /* and has not answered */
    ATTACH_INSIDE   /* it records */
};

struct attach_enter {
    enum exec_tune_mode tune; /* set before attach_enter_begin, as quiet */
    int quiet;
    enum attach_state state;
    struct exec_tune *tuner; /* of ATTACH_INSIDE; NULL: none */
    int tuned;               /* there was one */
    struct pp_err why;
    struct pp_err unfinished; /* of ATTACH_INSIDE: why the file could not be finished */
    struct exec_record record;
    struct exec_python hooks;
    char session[PATH_MAX], script[PATH_MAX], leave_script[PATH_MAX];
    struct attach_asked {
        struct pp_python python;
        int answered, is_worker, took_hooks;
    } asked[ATTACH_ROWS_MAX + ATTACH_SERVERS_MAX]; /* asked[0] is the job */
    size_t n_asked;
    unsigned workers, entered; /* workers that ran already, and those of them that took the hooks */
    double since_s;            /* when the job did, of the watch */
    uid_t user;                /* whose job it is, where we are root and it is not; else 0 */
};

struct attach_output {
    const char *path; /* as typed; NULL: none */
    int force;
};

/* Makes the recording and asks the job, whose rows have been begun. On failure nothing is left of it: the
 * state is ATTACH_OUTSIDE. PP_E_USAGE of the output's name is the caller's to report. */
pp_status attach_enter_begin(struct attach_enter *e, const struct attach_rows *r,
                             const struct attach_output *o);
/* Whether it has answered meanwhile. Signals are blocked where the tuner's thread is to take none. */
void attach_enter_look(struct attach_enter *e, const struct attach_rows *r);
/* The job is asked to leave (there: it has not ended), and the file is finished; without an answer there is
 * none. */
void attach_enter_end(struct attach_enter *e, const struct attach_rows *r, int there);
void attach_enter_free(struct attach_enter *e);

#endif
