/* report/replay/knobs.h: what can be set, as one table. The what-if, the changes that a report offers, the
 * line to paste, `run --prove`, `tune --try`, the options of run and exec and the dashboard read the same
 * rows; a knob that is added there is known to all of them. How: docs/internals/house.md. */
#pragma once

#include "report/replay/costs.h"

#include <pipeprobe/status.h>

struct pp_costs;

/* Images that a GPU decodes (nvjpeg.h). */
struct pp_gpu_decode {
    double per_s, low_per_s, high_per_s; /* images/s, and the interval; 0: decoding stays on the CPU */
    double floor_ns, low_floor_ns, high_floor_ns; /* of a batch, however small */
    double part;                                  /* of the images, that it takes */
    double copied;                                /* bytes of a batch over the recorded ones */
    int published;                                /* 1: the rate is; 0: it was stated */
    int counted;                                  /* part is of the recording, and no assumption */
};

enum { PP_NO_WORKERS = -1 };

/* What a replay is asked. Multipliers are 1 and counts 0 where nothing changes: see pp_knobs_none. */
struct pp_knobs {
    int workers, prefetch, copy_buffers; /* 0: as recorded; workers PP_NO_WORKERS: the training thread makes
                                            the batches (num_workers=0) */
    int order;                           /* 0: as recorded, 1: in order, 2: as finished */
    int batch;                           /* samples; 0: as recorded */
    double cpus;                         /* 0: as recorded */
    int alone;                           /* 1: the run has the CPUs to itself */
    double read, bandwidth; /* multiplier of blocked read time; bytes/s of all reads together, 0: no limit
                               beyond what was recorded */
    int inflight;           /* reads of a worker at a time; 0: as recorded */
    double first_byte;      /* multiplier of the time to the first byte of requests */
    double stream;          /* bytes/s of a connection; 0: as recorded */
    double hedge;       /* requests slower than this quantile are made twice; 0: none more than recorded */
    double shard_bytes; /* of a stream's shards; 0: as recorded (requests.c) */
    int kept;           /* 1: no request opens a connection */
    int even_hosts;     /* 1: no host is slower than the others */
    double cached;      /* share of the reads served from the page cache, 0..1 */
    double decode, transform, collate; /* multipliers of CPU time */
    double op_cpu,
        op_blocked;    /* likewise of all that making samples takes (ops.h), and of its blocked time */
    double freed_cpus; /* that the workers of other loaders no longer use */
    struct pp_gpu_decode gpu_decode;
    double sampler;       /* multiplier of what the sampler draws for at the start of an epoch */
    double unpickle;      /* multiplier of the time in which the trainer unpickles batches */
    double unpickle_most; /* the most that it may be; 0: it is what it is */
    int cold; /* with num_workers=0: 1: steps and samples stay as slow as hand-overs made them; -1: they lose
                 the most that these may have cost */
    double step;     /* multiplier of the trainer's own time */
    double step_ns;  /* or that time; 0: as the multiplier says */
    int step_stated; /* 1: the multiplier holds at any batch size; 0: with another one a step is taken to grow
                        in proportion besides */
    int per_batch;   /* 1: what a step, a hand-over, a copy and collating take is a batch's, however large */
    double device_decode;     /* multiplier on the copy lane's waiting for the device's decoder */
    double copy, sync, retry; /* multipliers; sync 0: no step waits for the device */
    double collective; /* multiplier of what a step takes the other ranks; 0: they are never waited for */
    int pinned;        /* 1: copies cost no CPU, and do not block a PyTorch job's steps */
    int persistent;    /* 1: PyTorch's workers stay for all epochs */
    int unlocked;      /* 1: workers do not exclude each other */
    int even_workers;  /* 1: no worker is slower than the median one */
    int even_samples;  /* 1: no sample costs more than three times the median one */
};
struct pp_knobs pp_knobs_none(void);

/* Those that code names: the arguments of a DataLoader that `tune` sets in a job from outside. They are the
 * first rows, in this order. */
enum pp_knob_id {
    PP_KNOB_NUM_WORKERS,
    PP_KNOB_PREFETCH_FACTOR,
    PP_KNOB_PIN_MEMORY,
    PP_KNOB_PERSISTENT_WORKERS,
    PP_KNOB_IN_ORDER,
    PP_KNOBS_TUNED
};

/* How text becomes a value. One of the row's words is a value of any kind. */
enum pp_knob_kind {
    PP_KNOB_COUNT,  /* a whole number from 1 (or zero's 0) to most; the field is an int */
    PP_KNOB_SWITCH, /* True or False, as the row's words say it; the field is an int */
    PP_KNOB_WORD,   /* one of the row's words; the field is a double */
    PP_KNOB_FACTOR, /* from 0 on */
    PP_KNOB_SHARE,  /* from 0 to 1 */
    PP_KNOB_AMOUNT, /* above 0 */
    PP_KNOB_BYTES,  /* with a suffix */
    PP_KNOB_NEVER   /* no replay can know it; help says why */
};

/* How the dashboard moves it. */
enum pp_knob_step {
    PP_STEP_NONE, /* it is not among those of the dashboard */
    PP_STEP_ONE,
    PP_STEP_DOUBLE,
    PP_STEP_FIFTH, /* a factor: three moves halve or double it */
    PP_STEP_TENTH  /* a share */
};

struct pp_knob_word {
    const char *word; /* NULL: the end */
    double value;
};

enum pp_knob_needs {
    PP_NEEDS_NOTHING,         /* any recording will do */
    PP_NEEDS_UNPICKLING,      /* what unpickling takes; without a factor, how many tensors a batch has */
    PP_NEEDS_A_SAMPLER,       /* a PyTorch job's sampler that draws for a time */
    PP_NEEDS_RESTARTS,        /* workers that start again with an epoch, and could stay */
    PP_NEEDS_PYTORCH,         /* a PyTorch DataLoader, where num_workers is 0 */
    PP_NEEDS_COPIES,          /* copies that may be pinned, or what pageable ones cost */
    PP_NEEDS_DATA_SIZE,       /* how large the data set is */
    PP_NEEDS_READS_AHEAD,     /* reads by index, with what each takes alone */
    PP_NEEDS_REQUESTS,        /* requests to a remote storage */
    PP_NEEDS_SINGLE_REQUESTS, /* the same, but of no stream: its requests are made once */
    PP_NEEDS_HOSTS,           /* requests to several hosts, enough of them to each */
    PP_NEEDS_SHARDS,          /* shards, see pp_shards_unknown */
    PP_NEEDS_A_LOCK,          /* a lock that the workers share */
    PP_NEEDS_LOAD             /* background load, or a quota that throttles */
};

struct pp_knob {
    const char *name; /* as it is printed: PyTorch's own where it has one */
    const char *also; /* other names for it, separated by spaces; NULL: none. In all '-' is '_' */
    const char *values, *help;
    enum pp_knob_kind kind;
    size_t field;        /* of struct pp_knobs */
    double most, scale;  /* of a count; what a number is multiplied by, 0: nothing */
    int zero;            /* of a count that may be 0: what the field is then; 0: it may not */
    const char *example; /* of bytes: "200GiB" */
    const struct pp_knob_word *words;
    /* What follows from the value, and values that are no number. NULL: nothing. */
    void (*then)(struct pp_knobs *k, const struct pp_costs *c);
    const char *special; /* how a value begins that set_special reads, behind it */
    pp_status (*set_special)(struct pp_knobs *k, const struct pp_costs *c, const char *text,
                             struct pp_err *err);
    enum pp_knob_needs needs; /* what a recording without cannot predict it of; NOTHING: any will do */
    /* Where it is set. */
    int is_argument;    /* name is an argument of PyTorch's DataLoader, */
    int usual;          /* which is this where it is not given (of those that tune sets) */
    const char *option; /* of pipeprobe run, without dashes; NULL: none */
    int flag; /* 1: it is given where the value is True or not 0, -1: where it is False; 0: it takes the
                 value */
    enum pp_knob_step step;
    const char *recorded; /* key of the fact that holds what was recorded; NULL: a multiplier or a share */
};
/* Ends with a row without a name. */
extern const struct pp_knob pp_knob_rows[];

/* The value of a count as the field has it; 0: it takes no such number. */
int pp_knob_count(const struct pp_knob *knob, const char *text);
/* By name or other name; NULL: there is none. */
const struct pp_knob *pp_knob_find(const char *name, size_t length);
/* What was probably meant; NULL: nothing is near enough. */
const char *pp_knob_nearest(const char *name);
/* Of one that is a switch or a flag: 1, 0, -1: text is neither. True, yes, on and 1 are one word. */
int pp_knob_truth(const struct pp_knob *knob, const char *text);

/* "num_workers=8", "cache=warm", ... into knobs, given what was recorded. PP_E_USAGE for what is no knob;
 * PP_E_UNSUPPORTED, with the reason, for what a replay cannot know. */
pp_status pp_knobs_set(struct pp_knobs *k, const struct pp_costs *c, const char *text, struct pp_err *err);
/* Several, separated by spaces. */
pp_status pp_knobs_set_all(struct pp_knobs *k, const struct pp_costs *c, const char *text,
                           struct pp_err *err);

enum { PP_KNOB_TEXT = 96 };
/* A change as an option of pipeprobe run: "--workers 8" (apart: ' ') or "--workers=8". NULL: it is none. */
const char *pp_knob_option(const char *set, char apart, char buf[PP_KNOB_TEXT]);
/* Whether a change is one argument of PyTorch's DataLoader, which it then reads like. */
int pp_knob_is_argument(const char *set);

/* One operation of the transforms, or one line of the user's code, made cheaper: what op=NAME:FACTOR does to
 * the recorded costs (report/measure/ops.h).
 *
 * An op has a part of the CPU time and a part of the blocked time of making samples, or of collating, as the
 * stacks have it: that part is multiplied. The op of a loader that is not judged leaves the judged one's
 * samples as they are: what it gains is the CPUs that its workers no longer use. */

/* "Blur:0.5", behind op=. PP_E_USAGE with the ops that there are; PP_E_UNSUPPORTED: there are no stacks. */
pp_status pp_op_set(struct pp_knobs *k, const struct pp_costs *c, const char *text, struct pp_err *err);
void pp_op_scale(struct pp_knobs *k, const struct pp_costs *c, const struct pp_op *op, double factor);
