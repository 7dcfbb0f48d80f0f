/* Traces as torch.profiler has written them since 2021, made up: what each version calls things and where it
 * puts them is a style, how long steps and waits are is the test's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum trace_style {
    TRACE_2021, /* categories "Operator", times in microseconds of UTC, pids as texts, the wait's range is an
                   Operator */
    TRACE_2022, /* "user_annotation", its twins on the GPU */
    TRACE_2024, /* base time, displayTimeUnit "ms" */
    TRACE_NS    /* the same, and displayTimeUnit "ns": the times stay microseconds */
};

struct made_trace {
    enum trace_style style;
    int steps;
    const double *wait_us; /* of batch i: wait_us[i % n_waits] */
    int n_waits;
    double step_us;       /* a whole ProfilerStep, wait included */
    int single_process;   /* num_workers=0 */
    int no_steps;         /* no ProfilerStep */
    int no_fetches;       /* no wait has a name */
    int annotated;        /* the waits are "## data_load ##" */
    int other_thread;     /* fetches on another thread */
    int operators;        /* aten:: events per step */
    double kernel_us;     /* with gpu; 0: 1000 */
    int gpu;              /* copies from pageable memory, kernels, their calls */
    double collective_us; /* two of gloo that overlap, or with nccl one on the GPU, at the end of each step;
                             0: none */
    int nccl;
    int rank, world_size; /* world_size 0: not said */
};

/* The JSON, to be freed. */
char *made_trace_text(const struct made_trace *t, size_t *size);
/* Into a file; zipped: gzip. */
void made_trace_write(const char *path, const struct made_trace *t, int zipped);
void made_trace_put(const char *path, const char *text, size_t size, int zipped);
