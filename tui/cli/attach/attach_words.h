/* tui/cli/attach/attach_words.h: what `pipeprobe attach` prints: the table, the verdict of a job whose stacks
 * were seen, or a hint, and what cannot be known from outside a process. A hint says what was seen; which
 * cause it has is not decided here. */
#pragma once

#include "collectors/attach/python_process.h"
#include "collectors/attach/watch.h"
#include "collectors/gpu/gpu.h"
#include "probe/base/err.h"
#include "probe/base/page.h"
#include "report/measure/looks.h"
#include "tui/cli/exec/exec_python.h"
#include "tui/cli/exec/exec_record.h"
#include "tui/cli/exec/exec_tune.h"

/* What `pipeprobe attach` has seen of a job so far: one row for the job, one for each DataLoader worker by
 * its number, whatever process fills it, and one for each other child. */

enum { ATTACH_ROWS_MAX = 256, ATTACH_SERVERS_MAX = 16, ATTACH_COMMAND_MAX = 65536 };

enum attach_row_kind { ATTACH_JOB, ATTACH_WORKER, ATTACH_OTHER };

struct attach_row {
    enum attach_row_kind kind;
    int number;                /* of a worker; one below the first free */
    struct pp_watch_look last; /* of the process that fills it */
    int alive;
    unsigned processes; /* that have filled it */
    /* While it was watched: */
    double alive_s, cpu_s, delay_s, read_bytes, storage_bytes; /* NAN: not to be had */
    unsigned looks, running, sleeping, blocked;                /* states R, S, D at the looks */
    char waits_in[sizeof(
        ((struct pp_watch_look *)0)->wait)]; /* where it slept at the last look that says so */
};

struct attach_rows {
    int64_t pid;
    char command[ATTACH_COMMAND_MAX];
    size_t command_bytes;
    struct attach_row row[ATTACH_ROWS_MAX]; /* row[0] is the job */
    size_t n;
    int64_t server[ATTACH_SERVERS_MAX]; /* the processes that fork the workers, at the last look */
    size_t n_servers;
    unsigned looks, left_out; /* left_out: children beyond ATTACH_ROWS_MAX, at most at once */
    double watched_s;
    uint64_t last_ns;
};

/* The process must be there. */
pp_status attach_rows_begin(struct attach_rows *r, int64_t pid, struct pp_err *err);
/* Looks again. 0: the job has ended. */
int attach_rows_look(struct attach_rows *r);

/* The words of the job's command line, ending with NULL, in one piece, to be freed; NULL: no memory. */
char **attach_rows_command(const struct attach_rows *r);

/* The workers together. */
struct attach_workers {
    unsigned n, alive, looks, running, blocked;
    double cpu, delay; /* mean share of the time; NAN: not known */
    double read_per_s, storage_per_s;
};
struct attach_workers attach_rows_workers(const struct attach_rows *r);

/* A running job of Python 3.14 or later is asked to take up the hooks, and what it does from then on is
 * recorded: in the process that trains, in the server that forks its workers, and in the workers that run. At
 * the end they are asked to leave. What is not answered is taken back. */

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

/* ---- what is printed ---- */

enum { ATTACH_INDENT = 12 };

/* Machine-wide, while it was watched. */
struct attach_machine {
    double usable_cpus, busy_cpus; /* NAN: not known */
};

/* The machine's first GPU while it was watched, by NVML. */
struct attach_gpu {
    struct pp_nvml *nvml; /* NULL: why says why not */
    struct pp_err why;
    unsigned looks;
    double busy_percent; /* sum over the looks: a kernel was running */
    double memory_bytes; /* in use; NAN: not told */
};

/* And the GPU, where it was looked at. */
void attach_print_table(const struct attach_rows *r, const struct attach_gpu *gpu,
                        const struct pp_page *page);
/* What its stacks tell (report/rules/looks_rules.h). 0: not even how long the training waits; why not is
 * printed. */
int attach_print_looks(const struct pp_looks *seen, const struct attach_rows *r,
                       const struct attach_machine *m, const struct pp_page *page);
/* One sentence into text. */
char *attach_hint(const struct attach_workers *w, const struct attach_machine *m, char *text, size_t size);
/* What is not known this way, and the command that would tell: the job's own, under pipeprobe exec. why: what
 * keeps the hooks out of it; NULL: they were not wanted. */
void attach_print_rest(const struct attach_rows *r, const struct attach_gpu *gpu, int has_verdict,
                       const char *why, const struct pp_page *page);
/* Of a job that took the hooks: since when, which of its processes, and what that leaves out. */
void attach_print_inside(const struct attach_rows *r, const struct attach_enter *e,
                         const struct pp_page *page);
