/* report/model/model.h: ONE report model, computed once from the stored run; renderers (text, md, html, json,
 * csv) compute nothing. report/model/fields.h describes each member that is shown.
 *
 * Everything is over the steady-state window unless it says otherwise: warm-up (flagged by the loader), epoch
 * boundaries and start-up are kept and shown apart. Each quantity that could not be measured is NAN (double)
 * or has its `known` flag off; zero means zero. */
#pragma once

#include "report/model/spent.h"

#include <pipeprobe/phase.h>
#include <pipeprobe/status.h>

struct pp_report_phase {
    pp_phase phase;
    pp_lane lane; /* of the threads that spent it: in streaming runs the shard reader reads, else workers */
    uint64_t count, total_ns, p50_ns, p95_ns, p99_ns, max_ns, bytes;
    double mean_ns;
    double share; /* of its lane's time in the window: thread-seconds of workers, wall time of the trainer */
    double cpu_share;       /* of total_ns; NAN when not measured */
    double run_delay_share; /* likewise: runnable, waiting for a CPU */
    double blocked_share;   /* the rest: 1 - cpu - run delay */
};

struct pp_report_worker {
    uint32_t thread;
    const char *name;
    uint64_t samples, bytes;                                   /* in the window */
    uint64_t errors, retries;                                  /* of the whole run: none may go unseen */
    double busy_share, wait_share, cpu_share, run_delay_share; /* of the window's wall time */
    double samples_per_s;
    const char *loader; /* of several: which it works for, its variable, place or row; NULL: there is one */
};

/* A DataLoader of a job that was recorded through its Python hooks, as stored; NAN: not known. */
struct pp_report_loader {
    const char *row; /* "4711.0": its process and number */
    const char *place,
        *name;      /* where the job makes it, "train.py:31"; its variable, "val_loader"; NULL: not known */
    const char *at; /* for a sentence, without directory: "train.py:31 (val_loader)"; NULL likewise */
    const char *source; /* the call in that file: "line end_line column end_column sha256"; NULL: not known */
    const char *dataset, *sampler, *start_method; /* types with their module; fork, spawn, forkserver, none */
    double samples, num_workers, batch_size, prefetch_factor, timeout_s;
    double pin_memory, persistent_workers, in_order, drop_last;
    double epochs, batches, data_wait_s; /* of the whole run: begun; taken; waited for them */
    double wait_share;                   /* of the waits for all loaders; NAN: there were none */
    double samples_per_s; /* in the time of its batches, their waits and steps; NAN: not known */
    int judged;           /* the verdict's advice is about this one */
};

/* A sample of the judged loader that takes twice the median one or more, of the steady state; times are
 * without waiting for a CPU. */
enum { PP_REPORT_SLOW_SAMPLES = 10 };
struct pp_report_slow_sample {
    const char *name;            /* its file, or what else the data set shows; NULL: not known */
    double sample, epoch, batch; /* its number; where it took longest; NAN: it has none */
    const char *worker;
    double total_ns, read_ns, decode_ns, transform_ns; /* where it took longest */
    double times_median;
    double visits, slow_visits; /* how often it was made; in half of the longest time or more */
};

/* An operation of the transforms, or a line of the job's own code, that Python stacks found in the workers
 * (report/measure/ops.h); NAN: not known. */
enum { PP_REPORT_OPS = 12 };
struct pp_report_op {
    const char *name;     /* "Blur(radius=2)" */
    const char *place;    /* "augment.py:29"; NULL: not known */
    const char *path;     /* where the data set holds it: "transforms[2]"; NULL: no member of a transform */
    const char *callee;   /* library function that it mostly calls; NULL: none, or its name says it */
    const char *word;     /* as the what-if names it: op=WORD:FACTOR */
    const char *loader;   /* of several: whose; NULL: there is one */
    const char *advice;   /* what is faster; NULL: nothing is known */
    int judged, of_batch; /* it is of the judged loader; of collating */
    int is_lock;          /* it waits for a lock that workers share; gain is NAN then */
    double samples;       /* stacks it was seen in */
    double share, low, high;          /* of the stall, 80 % interval */
    double share_all;                 /* of the work of all workers */
    double cpu_share;                 /* of it: on a CPU or waiting for one; the rest was blocked */
    double gain, gain_low, gain_high; /* of throughput, were it half: replayed */
};

/* A line of the training thread's steps, or a function that they call, with its place's line. */
#define PP_LARGE_LINE 0.2 /* of the steps, at least, with its interval: worth naming */
struct pp_report_step_line {
    const char *name, *place, *callee;
    double share, low, high, cpu_share; /* of the steps' time */
};

/* A rectangle of the flame graph of the stall: a function with those that it called above it. */
struct pp_report_flame {
    const char *name;
    const char *place; /* NULL: of a library */
    uint32_t depth;
    double start, width;         /* parts of the stall */
    double start_all, width_all; /* of all work */
};

struct pp_report_queue {
    const char *name;
    uint64_t capacity, puts, gets, put_wait_ns, get_wait_ns;
    double mean_depth, share_empty, share_full;
};

enum { PP_REPORT_ERROR_EXAMPLES = 5 };
struct pp_report_error_example {
    const char *path, *reason;
    uint64_t count; /* visits to this file */
};
struct pp_report_error_kind {
    const char *kind, *action, *example_path, *example_reason; /* the first example */
    uint64_t count;                                            /* visits: a file fails once per epoch */
    uint64_t files;                                            /* distinct paths */
    int more_files; /* there may be more: the recording lists a limited number of errors */
    struct pp_report_error_example *examples; /* of distinct files */
    size_t n_examples;
};

struct pp_report_pair {
    const char *key, *value, *unit;
    const char *note; /* why it has this value ("auto: one per usable CPU"), from section "chosen"; NULL: as
                         asked or default */
    int numeric;
};

/* count 0: nothing was lost, but something was done otherwise than usual, and why says what. */
struct pp_report_loss {
    const char *what, *why;
    uint64_t count;
};

/* Counted in the recording; computed from it by a replay or a bound; a check of the recording itself. */
enum pp_evidence_kind { PP_EVIDENCE_MEASURED, PP_EVIDENCE_DERIVED, PP_EVIDENCE_LAW };
struct pp_report_evidence {
    const char *name, *value, *threshold; /* as shown */
    int supports;                         /* the verdict: 1 yes, 0 neutral, -1 speaks against */
    enum pp_evidence_kind kind;
    const char *code;    /* of the fact: "data_wait"; it stays where words change */
    double amount;       /* the number behind value */
    const char *compare; /* what amount was asked to be: ">=", "<", "<="; NULL: nothing, or no number */
    double limit;        /* NAN likewise */
};

/* What a report says of a change: do it; measure whether it gains, because the replay is not sure or rests on
 * what was not recorded; or not, because it gains nothing here or another value of the same is advised. */
enum pp_advice { PP_ADVICE_DO, PP_ADVICE_MEASURE, PP_ADVICE_NO };

/* A change of one knob, and what a replay of the recording says it gains (report/build/parts.h). */
struct pp_remedy; /* report/rules/remedies.h */
struct pp_report_fix {
    const struct pp_remedy *remedy;
    const char *knob, *to, *text;
    double gain, low, high; /* over the measured rate: 0.4 is +40 %; 80 % interval */
    double samples_per_s;
    const char *change;  /* in words: "num_workers=8", "half the decode, transform and collate work" */
    const char *assumes; /* what the prediction takes for granted beyond the recording; NULL: nothing */
    int effort;      /* 0: a setting; 1: needs work on code, data or machines; 2: no change that can be made,
                        but an amount ("half the work"): last in every list */
    const char *set; /* the change as data: "num_workers=8" (report/replay/knobs.h) */
    enum pp_advice advice;
    int is_argument; /* of PyTorch's DataLoader */
};

/* Settings that are changed one after the other, each the one that gains most beside those before it, until
 * the next gains less than 5 %. */
enum { PP_REPORT_STEPS = 4 };
struct pp_report_step {
    const char *set;                       /* of this step */
    double gain, low, high, samples_per_s; /* of all steps so far together, over the measured rate */
};

/* What to paste to do as next_step says, and what the replay predicts of it (report/verdict/action.h). */
struct pp_report_action {
    const char *python;  /* "DataLoader(..., num_workers=8)", or another line; NULL: none */
    const char *at;      /* where it is made: "train.py:31 (val_loader)"; NULL: not known, or another line */
    const char *words;   /* where there is no line: what to change in PyTorch; NULL: nothing */
    const char *dali;    /* of a DALI pipeline, in place of both: what to change in it; NULL: nothing */
    const char *command; /* "pipeprobe run ... --workers 8"; NULL: the loader was not ours, or none */
    const struct pp_report_fix *fix; /* the first change of the list, whose advice is to do it; NULL: none */
    const char *amount;              /* what to try in the what-if where it depends on how much; NULL else */
    const char *depends;             /* in words, what is known of a gain that has no number; NULL: nothing */
    const struct pp_report_fix *candidate; /* where the interval of every gain reaches 0: the best of them,
                                              which is not advised; NULL else */
};

/* A cause that the verdict does not name, and what it misses. */
struct pp_report_rejected {
    const char *l1, *l2, *why;
};

struct pp_report_verdict {
    const char *l0;    /* "input-bound", "cpu-starved", "not-input-bound", "inconclusive" */
    const char *l1;    /* "storage", "transform", "loader", "sync"; NULL when not established */
    const char *l2;    /* or NULL */
    const char *level; /* XProf's words: "highly", "moderately", "not"; NULL when inconclusive */
    /* 0..1, the calibrated chance that the class is right (report/verdict/verdict.h), and the score that
     * it was read off for. NAN when there is none: inconclusive, or no cause is named */
    double confidence_score;
    double confidence;
    const char *certainty; /* confidence in words: "near certain", "likely", "unclear"; NULL: none */
    const char *doubt;     /* what lowers it: "other processes use the CPUs"; NULL: nothing does */
    const char *parts; /* what the workers did while the trainer waited: "read 80 %, idle 8 %, other 12 %" */
    double explained;  /* share of the wait that the named cause explains; NAN: none is named, or not known */
    int ceiling;       /* l0 is inconclusive because there was no step; l1 then says what sets the ceiling */
    const char *headline; /* "STORAGE-BOUND (latency)"; NULL when no cause is named */
    double stretched; /* the step waits for a CPU so much of the time, and no cause says so; NAN: hardly */
    double exposed_share; /* what level was decided by: data wait, device sync, collective and stretched steps
                             over all of the trainer's time; NAN when none was */
    const char *outside;  /* input-bound by what waits for data within an epoch do not show: "between epochs",
                             "before its first batch", "in copies within its steps"; NULL: by these waits */
    double outside_share; /* of the time, likewise */
    const char *reason, *next_step;
    /* Where others take the CPUs: what holds the job up once they do not, and what to do about that; NULL */
    const char *then_l1, *then_l2, *then;
    const char *other; /* another way: beside a setting a change in the code that gains, or the other way
                          round; NULL: none is known */
    const char *cause; /* what is bound by what, alone: "reads wait for storage. ..."; NULL: none is named */
    /* In words (report/build/parts.h): the numbers, "Training runs at 160 samples/s and waits ..."; the
     * cause with headline and certainty, "reads wait for storage. ... [STORAGE-BOUND (latency), likely]", or
     * NULL; and both together. */
    const char *head, *cause_line, *sentence;
    const struct pp_remedy *remedy; /* whose words next_step has; NULL: none */
    struct pp_report_action action;
    struct pp_report_evidence evidence[20];
    size_t evidences;
    const struct pp_report_fix
        *fixes; /* the changes: those to do, to measure, and not, within each the largest gain
             first; none when the run cannot be replayed, and why_no_fixes says why */
    size_t n_fixes;
    struct pp_report_step path[PP_REPORT_STEPS];
    size_t n_path;
    const char *why_no_fixes;
    const char *ruled_out[8]; /* "storage: 25 % less of it gains 0.2 % in the replay" */
    size_t n_ruled_out;
    struct pp_report_rejected *rejected; /* every other cause of the table of rules */
    size_t n_rejected;
    double late_samples_per_s; /* recorded, and what changes are predicted from, since other processes took
                                  CPUs in the run; NAN: none did */
    double replay_error; /* rate of the replay as recorded over the measured one, minus 1; NAN: no replay */
};

/* Something that is looked for in every run, beside the wait (report/findings/findings.h): found; looked for
 * and not there; or not measured, which is neither. */
enum pp_finding_state { PP_FINDING_FOUND, PP_FINDING_NOT_FOUND, PP_FINDING_NOT_MEASURED };
enum { PP_FINDING_NUMBERS = 8 };
struct pp_report_finding {
    const char *kind; /* "periodic-stalls" */
    enum pp_finding_state state;
    const char *state_name;         /* "found", "not-found", "not-measured" */
    const char *sentence;           /* what was found, what was seen instead, or why it is not known */
    const struct pp_remedy *remedy; /* of next_step; NULL unless found */
    const char *next_step;          /* NULL unless found */
    struct {
        const char *name; /* unit in the name */
        double value;
    } number[PP_FINDING_NUMBERS];
    size_t numbers;
};

/* A prediction that was run for real (run --prove). Rates are samples/s. */
struct pp_report_proof {
    const char *kind; /* "fix": one knob turned; "headroom": input made free */
    const char *change, *value;
    double base; /* of the recorded run */
    double predicted, low, high;
    double measured, measured_low, measured_high; /* median, least, most; the latter two NAN for one round */
    double error;                                 /* predicted / measured - 1 */
    uint64_t rounds;
    double ballast_cpus;   /* headroom; NAN: without a ballast */
    const char *recording; /* NULL: not kept */
    const char *sentence;
};

/* One slice of the run's time, start-up and warm-up included. Shares are of the slice. */
struct pp_report_slice {
    double start_s, end_s; /* since the job started */
    double wait_share, sync_share, step_share,
        starved_share, /* of step_share: it waited for a CPU, as far as that was measured */
        apart_share;   /* of the trainer; apart: epoch boundaries, checkpoints, start-up */
    double h2d_share;  /* of the copy lane */
    double ready_batches, device_batches; /* finished and not yet fetched by the copy lane, or where there is
                                             none, not yet taken by the trainer; copied and not yet taken by
                                             the trainer; NAN: not known */
    double buffer_lasts_s; /* ready_batches at the rate at which they became fewer since the slice before;
                              NAN: they did not */
    double samples_per_s;
    uint64_t errors;
};

/* A row of the worker x time map: one worker, or the mean of neighbours when there are many. */
struct pp_report_heat {
    const char *name;
    double busy_share; /* of the whole map */
    double *busy;      /* per slice */
    double *fine;      /* per fine slice */
};

/* A part of the run that a picture shows closer. */
struct pp_report_part {
    size_t from, to; /* fine slices */
    double epoch;    /* NAN: a stretch of time */
};

/* Of a job with several DataLoaders: finished batches of one, not yet taken by the trainer. */
struct pp_report_loader_queue {
    const char *row;   /* as that of the loader */
    double mean_ready; /* over the run */
    double *ready;     /* per slice */
};

struct pp_report_point {
    double x, y;
};

/* Something drawn in a batch's waterfall; times are since the trainer began to wait for the batch, so they
 * may be negative. */
struct pp_report_bar {
    pp_phase phase;
    double start_ns, end_ns;
    double lack_ns; /* of a step: it waited for a CPU, as far as that was measured */
    int other;      /* for another batch, while the trainer waited for this one */
};
struct pp_report_bar_row {
    const char *name;
    pp_lane lane;
    int critical; /* the worker that finished the batch, the copy lane, the trainer */
    struct pp_report_bar *bars;
    size_t n_bars;
};
/* A stretch of the critical path: the spans of one phase on one of its threads, or what lies between them. */
struct pp_report_leg {
    const char *what;   /* the phase's name, or where the batch was: "in the ready queue", "on the device",
                           "between spans" */
    const char *thread; /* "" in a queue */
    pp_phase phase;     /* PP_PHASE_NONE: between spans, in a queue */
    int other;          /* for another batch, which held this one */
    uint64_t spans;
    double total_ns, in_wait_ns; /* all of it; the part during which the trainer waited */
};
struct pp_report_batch {
    const char *which; /* "typical": the wait nearest to the median; "worst": the longest; of the judged */
    uint64_t batch, epoch;
    double asked_s; /* when the trainer began to wait for it, since the job started */
    double wait_ns, sync_ns, step_ns;
    double start_ns, end_ns; /* of the picture */
    double ready_ns; /* when the batch was on the device, before (negative) or after the trainer began to
                        wait; NAN: not known */
    struct pp_report_bar_row *rows;
    size_t n_rows;
    size_t other_workers; /* that had a part in the batch and no row */
    struct pp_report_leg *legs;
    size_t n_legs;
};

/* What replay predicts for values of one knob. */
struct pp_report_curve {
    const char *knob;
    double now; /* value of the recorded run */
    struct pp_report_curve_point {
        double value, samples_per_s, low, high;
    } * points;
    size_t n_points;
};

/* What the GPU did in the window (report/gpu/gpu.h). */

/* X(symbol, key in documents, name) */
/* clang-format off */
#define PP_GPU_IDLE_MAP(X)                                  \
    X(DATA, "waiting_for_data", "waiting for data")         \
    X(COPY, "copy_not_overlapped", "copy not overlapped")   \
    X(SYNC, "synchronisation", "synchronisation")           \
    X(LAUNCH, "launch_gap", "launch gap")                   \
    X(OTHER, "not_attributed", "not attributed")
/* clang-format on */

enum pp_gpu_idle {
#define PP_GPU_IDLE_ENUM(sym, key, name) PP_GPU_IDLE_##sym,
    PP_GPU_IDLE_MAP(PP_GPU_IDLE_ENUM)
#undef PP_GPU_IDLE_ENUM
        PP_GPU_IDLES
};

struct pp_report_gpu {
    const char *name;                /* of the device; NULL: unknown */
    const char *activity;            /* where the records came from, or "not recorded: ..." */
    const char *not_measured;        /* NULL: measured; else why not, and all that follows is NAN or 0 */
    double recorded_share;           /* of the steady state: has records, and is the window */
    double busy_share;               /* of the window: a kernel ran */
    double idle_share[PP_GPU_IDLES]; /* of the window */
    uint64_t kernels, copies, copied_bytes; /* that began in the window; kernels: the trainer's */
    double copy_bytes_per_s;                /* while copying */
    double overlap_share;                   /* of the time spent copying, a kernel ran too */
    double overlap_gain;    /* of throughput, had all copies run under kernels as far as they fit; an upper
                               bound, for other limits may come first */
    double pageable_share;  /* of the bytes copied came from pageable memory */
    double blocking_share;  /* of the copies, calls that return when the copy is done */
    double syncs_per_step;  /* context and stream synchronisations by the threads that launch */
    double kernel_ns;       /* mean time of the trainer's kernels, per step */
    double exposed_copy_ns; /* mean time spent copying while no kernel ran, per step */
    double idle_in_wait_ns; /* mean time the GPU idled while the trainer waited for data, per step */
    double clock_error_ns;  /* of the rows' times against spans */
    /* NVML's readings in the window, about one a second; known or not whatever CUPTI did */
    const char *counters_missing; /* NULL: read; else why not, and the following are NAN. What a device does
                                     not tell (MIG) is NAN as well */
    double utilization_share;     /* mean of what nvidia-smi shows: a kernel was running */
    double memory_used_bytes;     /* most */
    double pcie_rx_bytes_per_s, pcie_tx_bytes_per_s; /* mean; rx: to the GPU */
};

/* Images that the GPU decoded (run --decode), of the whole run. */
struct pp_report_difference {
    const char *sampling; /* "4:2:0", "gray" */
    uint64_t images;
    double mean, largest; /* of the absolute differences to libjpeg-turbo's values, of 255 */
};
struct pp_report_decode {
    const char *library, *backend;
    double engines, cores; /* cores: of each engine */
    double images, regions, too_large, refused;
    const char *passed_over; /* NULL or why no engine is used */
    const char *gave_up;     /* NULL or why the CPU decoded from the middle of the run on */
    const char *lost;        /* NULL or why the run went on without its GPU */
    const char *judged_part; /* of such a run: "before" or "after" that; NULL: the whole run is judged */
    double difference_mean, difference_max;
    struct pp_report_difference *differences;
    size_t n_differences;
};

/* What a PyTorch DataLoader would be expected to do in the place of pipeprobe's own loader
 * (report/build/parts.h). Numbers are NAN where it is not known; the sentence then says why. */
struct pp_report_pytorch {
    double ratio_low, ratio_high; /* of pipeprobe's throughput to PyTorch's, as measured */
    double samples_per_s_low, samples_per_s_high;
    double data_wait_share_low, data_wait_share_high;
    const char *source, *sentence;
};

/* Whose pipeline was recorded. A verdict on pipeprobe's own loader is about the data and the machine; a
 * loader in Python on the same data is slower. */
enum pp_subject_kind {
    PP_SUBJECT_UNKNOWN,
    PP_SUBJECT_OWN_LOADER,     /* pipeprobe run */
    PP_SUBJECT_PYTORCH_LOADER, /* pipeprobe run --loader pytorch */
    PP_SUBJECT_JOB,            /* pipeprobe exec */
    PP_SUBJECT_PROGRAM,        /* records itself with libpipeprobe */
    PP_SUBJECT_TRACE,          /* pipeprobe import: another profiler recorded it */
};

struct pp_report {
    const char *path;
    enum pp_subject_kind subject_kind;
    double gpu_hour,
        wait_cost_per_day; /* a stated price, and what the wait costs at it; NAN: none was stated */
    const char *made;      /* when, by which command, where and from which commit; NULL: not known */
    const char *subject, *subject_kind_name; /* "the job train.py", "job" */
    const char *outcome;                     /* "finished", "failed", "interrupted", "unfinished" */
    const char *ended, *ended_remedy; /* of a job that did not finish: why, and what to do; NULL: not known */
    double exit_status;               /* of a job; 128 + the signal that ended it; NAN: not recorded */
    int own_loader;                   /* pipeprobe's own loader was recorded, not somebody's program */
    const char *session;              /* this recording and no other; NULL: it does not say */
    double duration_s, window_s, startup_s, first_batch_s;
    int has_steady_state; /* 0: the run ended in warm-up; the "window" is then all the trainer's batches */
    double boundary_s;    /* in the window, at epoch boundaries and in checkpoints: apart from the stall */
    uint64_t samples, batches, errors, retries, spans;
    uint64_t epochs;      /* of several loaders: of all of them */
    uint64_t error_files; /* distinct files among the errors */
    int more_error_files; /* at least so many */
    uint64_t window_samples, window_batches;
    double samples_per_s, batches_per_s, bytes_per_s, step_mean_ns;
    double headroom_samples_per_s; /* if the exposed time, the wait for other ranks too, were gone and nothing
                                      else changed: batches that are there are still taken; NAN without a
                                      step */
    double headroom_gain;          /* of it over samples_per_s: 0.25 is a quarter more */
    const char *headroom_if;       /* what would have to be so: "data were always available"; after "if" */
    int taken_for_free;            /* taking them is gone too: a fix does that */
    int workers_stay;              /* likewise, that workers end and start again */
    int drawn_for_free;            /* likewise, that the sampler draws before an epoch */
    int first_waits;               /* likewise, the waits for the first batches of epochs */
    double starved_s; /* in the window, how much longer the steps took for want of a CPU; 0 where that does
                         not count as exposed */
    double without_waits_samples_per_s; /* if only the waits were gone, and the steps stayed as long as they
                                           were */
    double data_wait_share; /* (wait + sync) / (wait + sync + collective + step) of the trainer; NAN without a
                               step */
    double accelerator_utilization_share; /* AU of MLPerf Storage: the trainer's steps / the whole window; NAN
                                             without a step */
    double collective_share; /* likewise: for the other ranks, which is no wait for data; NAN without a
                                collective step */
    int has_step;            /* the trainer had a step (--step-ms); without, samples_per_s is a ceiling */
    double cache_hit_share;  /* bytes from the page cache; NAN when unknown */
    struct pp_report_phase *phases;
    size_t n_phases;
    struct pp_report_worker *workers;
    size_t n_workers;
    struct pp_report_loader *loaders; /* as they were made; at most 16 of a process */
    size_t n_loaders, used_loaders;   /* used: that had batches; 0: not more than one is known to */
    const char *judged_loader; /* of several that were iterated: "the DataLoader at train.py:31", which cause,
                                  change and gain are about; NULL: there is one, or it is not known where */
    struct pp_report_slow_sample *slow_samples; /* the slowest first */
    size_t n_slow_samples;
    struct pp_report_op *ops; /* the largest gain first */
    size_t n_ops;
    double op_samples;      /* weighted stacks that the shares rest on; NAN: no stacks were recorded */
    const char *why_no_ops; /* why no op is named although there are stacks; NULL: some are, or no stacks */
    struct pp_report_step_line *step_lines; /* the largest share first */
    size_t n_step_lines;
    struct pp_report_flame *flame;
    size_t n_flame;
    struct pp_report_queue *queues;
    size_t n_queues;
    struct pp_report_error_kind *error_kinds;
    size_t n_error_kinds;
    struct pp_report_pair *environment;
    size_t n_environment;
    struct pp_report_pair *config;
    size_t n_config;
    struct pp_report_loss *losses;
    size_t n_losses;
    double overhead_share; /* recorder's own CPU over duration x usable CPUs; NAN when unknown */
    double overhead_cpu_s;
    const struct pp_report_pytorch *pytorch; /* NULL: the subject is not pipeprobe's own loader */
    const struct pp_report_gpu *gpu;         /* NULL: the run had no CUDA device */
    const struct pp_report_decode *decode;   /* NULL: it decoded nothing on a GPU */
    struct pp_report_verdict verdict;
    struct pp_report_proof *proofs;
    size_t n_proofs;
    struct pp_report_finding *findings;
    size_t n_findings; /* one row per thing looked for, in a fixed order */

    struct pp_report_spent *spent;
    size_t n_spent; /* in the order of the kinds; they add up to the window */
    /* the pictures: of the whole run, in a fixed number of parts whatever its length
     * (report/pictures/series.h) */
    struct pp_report_slice *slices;
    size_t n_slices;
    struct pp_report_slice *coarse;
    size_t n_coarse;              /* the same in fewer parts, for tables */
    struct pp_report_slice *fine; /* and in more, for parts */
    size_t n_fine;
    struct pp_report_part *parts;
    size_t n_parts;
    struct pp_report_loader_queue *loader_queues;
    size_t n_loader_queues;
    double window_start_s, window_end_s; /* the steady-state window on the slices' axis */
    struct pp_report_heat *heat;
    size_t n_heat;
    struct pp_report_point *wait_cdf;
    size_t n_wait_cdf; /* x: data_wait of the window in ns, y: share of waits at most that long */
    struct pp_report_batch *waterfalls;
    size_t n_waterfalls;
    struct pp_report_curve *curves;
    size_t n_curves;
};

/* What the wait costs in a day at that price of an hour: the time that the trainer waits, or that the input
 * takes between epochs. NAN: no price, or not known. */
static inline double pp_report_wait_cost(const struct pp_report *r, double gpu_hour)
{
    double share = r->verdict.outside ? r->verdict.outside_share : r->verdict.exposed_share;
    return gpu_hour > 0 ? 24 * gpu_hour * share : NAN;
}

/* The first row of that phase; NULL: none was recorded. */
static inline const struct pp_report_phase *pp_report_find_phase(const struct pp_report *r, pp_phase phase)
{
    for (size_t i = 0; i < r->n_phases; i++)
        if (r->phases[i].phase == phase)
            return &r->phases[i];
    return NULL;
}

/* What a step waits for that is neither data nor other ranks: a CPU, or the device. NAN: none to speak of. */
static inline double pp_report_rest_share(const struct pp_report *r)
{
    double ranks = r->collective_share > 0 ? r->collective_share : 0,
           rest = r->verdict.exposed_share - r->data_wait_share - ranks;
    return rest >= 0.005 ? rest : NAN;
}
