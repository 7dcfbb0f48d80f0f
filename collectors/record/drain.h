/* collectors/record/drain.h: the one thread that carries spans from the rings of a session into the store.
 *
 * Polls slowly (its wake-ups, not the hot path, are what recording costs a saturated machine), wakes early
 * when a ring is half full, releases ring space only after COMMIT, and polls the collectors
 * (collectors/collector.h) once a second, from its start until it is stopped. */
#pragma once

#include "collectors/record/collectors.h"
#include "collectors/store/writer.h"
#include "probe/trace/drain_side.h"

struct pp_drain;

struct pp_drain_opts {
    struct pp_session *session; /* borrowed, must outlive the drain */
    struct pp_store *store;     /* borrowed, likewise */
    uint64_t poll_ns;           /* 0: 100 ms */
    uint64_t commit_ns;         /* 0: 1 s */
    /* The name of a sample that a thread is on, for the dashboard: called once a second and thread, by the
     * drain. Returns 0 when there is none. NULL: samples have no names. */
    int (*sample_path)(void *ctx, uint64_t sample, char *buf, size_t size);
    void *sample_ctx;
    struct pp_device *device; /* as in pp_collect_opts (collectors/collector.h) */
    int gpu_activity;
    double lines_hz;
    const char *data_path; /* likewise */
};

struct pp_drain_stats {
    uint64_t spans, dropped, commits;
    uint64_t cpu_ns; /* CPU time of the drain thread and of the store's: our own overhead */
    uint64_t faults; /* minor page faults of the drain thread while it recorded: each may interrupt every core
                        (base/heap.h) */
    pp_status first_failure; /* PP_OK, or what made recording stop; err_text says it */
    char err_text[480];
};

pp_status pp_drain_start(const struct pp_drain_opts *opts, struct pp_drain **out, struct pp_err *err);
/* What pp_collectors_describe says of the drain's collectors. */
const char *pp_drain_describe(const struct pp_drain *d, const struct pp_collector *row);
/* Empties the rings a last time, writes thread rows, losses and the drain's own cost, joins, frees. The store
 * stays open. */
void pp_drain_stop(struct pp_drain *d, struct pp_drain_stats *stats);
