/* tui/cli/run/run_record.h: what is `run`'s own of a recording (collectors/record/recording.h): its name, the
 * configuration, the GPU, the loader's totals. */
#ifndef PP_TUI_CLI_RUN_RUN_RECORD_H
#define PP_TUI_CLI_RUN_RUN_RECORD_H

#include "collectors/record/recording.h"
#include "tui/cli/run/run_opts.h"
#include "tui/cli/run/run_setup.h"

#include <pthread.h>

struct run_record {
    uint64_t opened_ns; /* when the data set was open, and another loader's program began; 0: at the beginning
                           of the recording */
    char path[4096];
    struct pp_recording *recording; /* NULL: off, or not made */
    pthread_mutex_t naming;         /* guards loader: the drain asks it for names while it lives */
    struct pp_loader *loader;
    const struct pp_dataset
        *dataset; /* of a loader that is not ours: names every sample; NULL: loader does */
};

/* Names the file; refuses one that exists, or a directory that cannot be written, before anything slow
 * happens. */
pp_status run_record_name(struct run_record *r, const struct run_request *asked, struct pp_err *err);
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
/* 1: the file was taken away while it was recorded; there is nothing to report on. */
int run_record_lost(const struct run_record *r);
/* The run never began: nothing of its recording is left. */
void run_record_abandon(struct run_record *r);
void run_record_free(struct run_record *r);
/* The names of the slowest samples that the report of a finished recording lists, into the recording, before
 * anybody makes a page of it. Nothing is said where that fails: they have numbers. */
struct pp_dataset;
void run_record_name_slow(const char *path, const struct pp_dataset *data);

#endif
