/* tui/cli/run/run_events.h: what happens while a run goes: progress on the terminal, errors into the store,
 * digests and delivery lists. */
#ifndef PP_TUI_CLI_RUN_RUN_EVENTS_H
#define PP_TUI_CLI_RUN_RUN_EVENTS_H

#include "collectors/store/writer.h"
#include "probe/loader/loader.h"
#include "tui/cli/cli.h"

#include <stdatomic.h>
#include <sys/types.h>

struct run_events {
    struct pp_progress progress;
    struct pp_store *store;     /* NULL: not recorded */
    const char *shared;         /* what the ranks share, for notes on them: a file or directory; NULL: none */
    struct pp_session *session; /* whose threads' open work is looked at; NULL: not recorded */
    const char *path;           /* of the recording; NULL: not recorded */
    pid_t *top;                 /* of the dashboard, 0 when it has gone; NULL: there was none */
    int quiet;
    uint64_t max_ns, max_steps, next_line_ns;
    int has_step;
    atomic_ullong errors;
    /* deliveries, in delivery order; written by the copy lane alone, read after the run */
    int keep_digests, keep_indexes;
    size_t n_batches, cap_batches, n_indexes, cap_indexes;
    struct run_delivery {
        uint64_t batch, digest;
        size_t first_index, samples;
    } * deliveries;
    uint64_t *indexes;
    size_t row_bytes;
    int out_of_memory;
};

/* Fills the loader's event table with functions that work on ev. */
void run_events_connect(struct run_events *ev, struct pp_loader_events *out);
/* Digest of the first n deliveries in batch order: equal for any number of workers. */
uint64_t run_events_digest(struct run_events *ev, size_t n);
/* Writes batch<TAB>index lines of the first n deliveries, in delivery order. */
pp_status run_events_list(const struct run_events *ev, size_t n, const char *path, struct pp_err *err);
void run_events_free(struct run_events *ev);

#endif
