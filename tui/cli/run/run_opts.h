/* tui/cli/run/run_opts.h: what `pipeprobe run` can be asked for, as one table. */
#pragma once

#include "probe/base/opts.h"
#include "probe/dataset/options.h"
#include "probe/ranks/identity.h"
#include "tui/cli/cli.h"
#include "tui/cli/digest_beside.h"
#include "tui/cli/metrics/metrics_opts.h"

enum { RUN_STEP_AUTO, RUN_STEP_NONE, RUN_STEP_SLEEP, RUN_STEP_SPIN, RUN_STEP_CUDA, RUN_STEP_CUDA_WORK };
enum { RUN_WIRE_DTYPE, RUN_WIRE_U8 };
enum { RUN_LOADER_PIPEPROBE, RUN_LOADER_PYTORCH };
enum { RUN_DEVICE_AUTO, RUN_DEVICE_HOST, RUN_DEVICE_CUDA };
enum run_decode { RUN_DECODE_CPU, RUN_DECODE_NVJPEG, RUN_DECODE_AUTO };

#define RUN_MEETING_PREFIX "pipeprobe-ranks-" /* of the directory in which the ranks of --ranks meet */

struct run_opts {
    /* data */
    struct pp_dataset_options formats;
    int exif_rotate;
    /* loader */
    int loader;
    const char *python, *against;          /* of --loader pytorch; NULL: not given */
    int64_t workers, batch_size, prefetch; /* -1: choose */
    int out_of_order, drop_last, dtype, wire;
    const char *transform;
    /* order */
    int sampler;
    const char *weights, *classes;
    int64_t seed, rank, world_size, ranks;
    const char *collective, *lease;
    uint64_t collective_limit_ns, lease_expiry_ns;
    /* end */
    uint64_t duration_ns;
    int quick; /* 1: 5 s, and three sentences */
    int64_t steps, epochs, warmup;
    const char *save_state, *resume;
    int resume_cursor;
    /* errors */
    int on_error;
    int64_t retries, inflight;
    const char *cache; /* DIR; NULL: none */
    uint64_t cache_bytes;
    int cache_policy; /* enum pp_cache_policy_id */
    double retry_backoff_ms, remote_timeout;
    int like; /* 0: none; else one more than the model's number (storage/model.h) */
    /* trainer and device */
    int step;
    uint64_t step_length_ns; /* of --step KIND:TIME; 0: none given */
    double step_ms, link_gbps;
    int device, h2d; /* h2d 1: sync */
    int decode, nvjpeg_backend;
    int pageable, sync_every_step, gpu_activity;
    int64_t copy_buffers;
    int cached_batches;
    double cpu_ballast;
    struct pp_opt_list inject;
    /* output */
    const char *output, *list_delivered;
    int force, record, prove, keep_proof, json, top, quiet, color, digest;
    uint64_t ring_spans, max_rows, max_bytes, max_sample_memory;
    int64_t prove_rounds;
    int detail; /* enum pp_detail */
    struct metrics_opts metrics;
    struct digest_opts digest_to;
};

/* The rows of run and, before them, those of the data set formats. */
extern struct pp_opt run_opt_table[];

/* Options of formats that decide how the run goes. */
static inline const char *run_synthetic(const struct run_opts *o)
{
    return o->formats.synthetic;
}
static inline const struct pp_shards_opts *run_shards(const struct run_opts *o)
{
    return &o->formats.shards;
}

/* One command line, understood. Its owner frees operands and command_line. */
struct run_request {
    struct run_opts o;
    struct pp_opt_set set; /* of o: where each value came from */
    int argc;
    char **argv;           /* argv[0] is "run" */
    const char **operands; /* argc + 1 entries */
    int n_operands;
    char *command_line;          /* "pipeprobe run ..." */
    struct pp_identity identity; /* which rank this is; launcher NULL: it is alone */
    int named_by_rank;           /* a launcher says so, and each of its ranks has a file of its own */
    uint64_t started_ns;         /* of the process, as near as it can tell */
};

/* Where the value of option name came from. */
enum pp_opt_source run_opt_source(const struct pp_opt_set *set, const char *name);
/* Whether the user said something about it (flag, environment or config file). */
int run_opt_given(const struct pp_opt_set *set, const char *name);
/* The command line, with rank and world size, unless told, from the launcher's environment. -1 to go on, else
 * the exit code: help, or a usage error, which is said. asked is zeroed. */
int run_opts_read(struct run_request *asked, const struct pp_command *cmd, int argc, char **argv);
/* Checks what no single row can: combinations. A length given with --step becomes step_ms. */
pp_status run_opts_check(struct run_opts *o, const struct pp_opt_set *set, int operands, struct pp_err *err);
