/* tui/cli/attach/attach_rows.h: what `pipeprobe attach` has seen of a job so far: one row for the job, one
 * for each DataLoader worker by its number, whatever process fills it, and one for each other child. */
#ifndef PP_TUI_CLI_ATTACH_ATTACH_ROWS_H
#define PP_TUI_CLI_ATTACH_ATTACH_ROWS_H

#include "collectors/attach/watch.h"

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

/* The words of the job's command line, ending with NULL, in one piece of memory to be freed; NULL: no memory.
 */
char **attach_rows_command(const struct attach_rows *r);

/* The workers together. */
struct attach_workers {
    unsigned n, alive, looks, running, blocked;
    double cpu, delay; /* mean share of the time; NAN: not known */
    double read_per_s, storage_per_s;
};
struct attach_workers attach_rows_workers(const struct attach_rows *r);

#endif
