/* collectors/collector.h: what is measured besides spans: counters of the kernel and of the GPU, the GPU's
 * own records. Collectors are rows of one table; a recording starts those that apply to it, polls them once a
 * second and stops them; `pipeprobe doctor` prints which can work here, and why the others cannot.
 *
 *   pp_collectors_start -> (the recording's drain) pp_collectors_poll, once a second -> pp_collectors_stop
 *
 * A new collector is one struct pp_collector in a file of its own, its declaration below, and its line in
 * pp_collector_rows (collectors.c). No collector can fail a recording: the reason why it is absent goes into
 * the file. */
#ifndef PP_COLLECTORS_COLLECTOR_H
#define PP_COLLECTORS_COLLECTOR_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

struct pp_device;
struct pp_store;

/* ---- a row of the table ---- */

/* What a recording gives its collectors. All is borrowed until pp_collectors_stop. */
struct pp_collect_opts {
    struct pp_store *store;
    struct pp_device *device; /* that the loader copies to; NULL: the recorded program's own, if any */
    int gpu_activity;         /* 0: CUPTI is not asked */
    uint64_t period_ns;       /* between polls of the collectors that block; 0: 1 s */
    const struct pp_collector *const *rows; /* NULL: pp_collector_rows */
};

/* Hooks marked "or NULL" may be absent. */
struct pp_collector {
    const char *name;           /* as doctor prints it */
    const char *with, *without; /* what it means to have it, or not; NULL: doctor does not show it */

    /* Whether it can work here: 1, and what was found; 0, and why not. Changes nothing. */
    int (*available)(char *text, size_t size);

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

/* collectors/system/counters.c */
extern const struct pp_collector pp_collector_process, pp_collector_machine, pp_collector_pressure,
    pp_collector_cgroup;
/* collectors/gpu/gpu.c */
extern const struct pp_collector pp_collector_cupti, pp_collector_nvml;
/* collectors/nvtx/nvtx.c */
extern const struct pp_collector pp_collector_nvtx;

/* NULL after the last. */
extern const struct pp_collector *const pp_collector_rows[];

/* ---- what a recording calls ---- */

struct pp_collectors;

/* Starts every row that applies. Before the threads of the loader: the GPU's rows watch the device for them.
 * Fails only without memory, or without a thread for the rows that block. */
pp_status pp_collectors_start(const struct pp_collect_opts *opts, struct pp_collectors **out,
                              struct pp_err *err);
/* Polls the rows that do not block. By one thread, about once a second; NULL is fine. */
void pp_collectors_poll(struct pp_collectors *c);
/* How this row is recorded: what it found, or "not recorded: " and why; NULL where it does not apply. Until
 * stop. */
const char *pp_collectors_describe(const struct pp_collectors *c, const struct pp_collector *row);
/* When nothing runs on the device any more, and no thread polls. Stores the rest and what the thread of the
 * blocking rows took (gpu.monitor_cpu_ns), frees. NULL is fine. */
void pp_collectors_stop(struct pp_collectors *c);

#endif
