/* tui/cli/run/run_record.h: what is `run`'s own of a recording (collectors/record/recording.h): the
 * configuration, the GPU, the loader's totals. */
#pragma once

#include "collectors/record/recording.h"
#include "collectors/store/writer.h"
#include "probe/loader/loader.h"
#include "tui/cli/cli.h"
#include "tui/cli/run/run_opts.h"
#include "tui/cli/run/run_setup.h"
#include <pthread.h>
#include <stdatomic.h>

struct run_record {
    uint64_t opened_ns; /* when the data set was open, and another loader's program began; 0: at the beginning
                           of the recording */
    char path[4096];
    struct pp_recording *recording; /* NULL: off, or not made */
    pthread_mutex_t naming;         /* guards loader: the drain asks it for names while it lives */
    struct pp_loader *loader;
    const struct pp_dataset *dataset; /* of another loader: names every sample; NULL: loader does */
};

/* Whether it matters that no CUDA device is used: there is a GPU, or the user asked for some by
 * CUDA_VISIBLE_DEVICES. A machine without a GPU is nothing to say. */
int run_gpu_expected(void);
/* Creates the file, starts the drain and writes down the configuration, the environment and the start-up
 * phase. */
pp_status run_record_begin(struct run_record *r, const struct run_request *asked,
                           const struct run_parts *parts, struct pp_err *err);
/* The loader that knows the samples' names, from its creation until just before its end (NULL). Nothing
 * without a recording. */
void run_record_follow(struct run_record *r, struct pp_loader *loader);
/* Stops the drain, writes the result (of a loader that is not ours: what it knows), finishes the file. The
 * file stays readable whatever fails; err says what is missing. */
pp_status run_record_end(struct run_record *r, const struct pp_loader_result *result, const char *outcome,
                         struct pp_err *err);
/* The names of the slowest samples that the report of a finished recording lists, into the recording, before
 * anybody makes a page of it. Nothing is said where that fails: they have numbers. */
struct pp_dataset;
void run_record_name_slow(const char *path, const struct pp_dataset *data);

/* What happens while a run goes: progress on the terminal, errors into the store, digests and delivery
 * lists. */

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

/* The loader's event table; its ctx is a struct run_events. */
extern const struct pp_loader_events run_events_hooks;
/* What the user asked to have besides the report: the state to go on from; batch<TAB>index lines of the
 * deliveries, in their order; a digest of them. */
pp_status run_events_write(struct run_events *ev, const struct run_opts *o, const struct run_parts *p,
                           const struct pp_loader_result *r, struct pp_err *err);
