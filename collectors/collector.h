/* collectors/collector.h: what is measured besides spans: counters of the kernel and of the GPU, the GPU's
 * own records. Collectors are rows of one table; a recording starts those that apply to it, polls them once a
 * second and stops them; `pipeprobe doctor` prints which can work here, and why the others cannot.
 *
 * record/collectors.h has the table and what a recording calls:
 *   pp_collectors_start -> (the recording's drain) pp_collectors_poll, once a second -> pp_collectors_stop
 *
 * A new collector is one struct pp_collector in a file of its own, declared in its header, and its line in
 * pp_collector_rows (record/collectors.c). No collector can fail a recording: the reason why it is absent
 * goes into the file. */
#pragma once

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

struct pp_device;
struct pp_store;

/* What a recording gives its collectors. All is borrowed until pp_collectors_stop. */
struct pp_collect_opts {
    struct pp_store *store;
    struct pp_device *device; /* that the loader copies to; NULL: the recorded program's own, if any */
    int gpu_activity;         /* 0: CUPTI is not asked; of another program: how many records at most */
    double lines_hz;          /* how often stacks of the job's Python are read; 0: never */
    const char *data_path;    /* whose disk is counted; NULL: none. Needed until start returns */
    /* The processes that record, ours among them; fills up to max and returns how many. NULL: ours alone.
     * Only the thread that polls calls it. */
    size_t (*processes)(void *ctx, int64_t *pids, size_t max);
    void *processes_ctx;
    /* Likewise, with the same ctx: those that take batches; none while another process makes some of them and
     * records that. NULL: none. */
    size_t (*takers)(void *ctx, int64_t *pids, size_t max);
    const char *session_dir;                /* where the processes that record keep their files; NULL: none */
    uint64_t period_ns;                     /* between polls of the collectors that block; 0: 1 s */
    const struct pp_collector *const *rows; /* NULL: pp_collector_rows */
};

/* Hooks marked "or NULL" may be absent. */
struct pp_collector {
    const char *name;           /* as doctor prints it */
    const char *with, *without; /* what it means to have it, or not; NULL: doctor does not show it */

    /* Whether it can work here: 1, and what was found; 0, and why not. Changes nothing. NULL: always, and
     * found is what doctor prints. */
    int (*available)(char *text, size_t size);
    const char *found;

    const char *device; /* started only for a device of this kind ("cuda"); NULL: for every recording */
    int blocks;         /* poll may wait for a driver: a thread of its own calls it, not the drain */
    const char *section,
        *key; /* the row of the file's meta table that says how it is recorded, or why not; or NULL */

    /* On failure the reason is in err, and the recording goes on without. NULL: it is no part of a recording,
     * and available is all there is to the row. */
    pp_status (*start)(const struct pp_collect_opts *opts, void **state, struct pp_err *err);
    /* Stores what there is now. Never by two threads at once. */
    void (*poll)(void *state);
    /* What start found, for section and key. Belongs to state. */
    const char *(*describe)(const void *state);
    /* After a last poll: stores what is left, and frees. */
    void (*stop)(void *state);
};

/* The rows that need no header of their own; what each records stands in its file. */
extern const struct pp_collector pp_collector_job_cpus, pp_collector_stacks;
