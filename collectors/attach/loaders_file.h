/* collectors/attach/loaders_file.h: the DataLoaders of a recorded Python process, and the iterations made of
 * them: one mapped file "loaders-PID" in the session directory. The training process writes it; its workers
 * find in it which batch of the run their batch 0 is, however they were started, and say which batches came
 * out short; `pipeprobe exec` reads the arguments at the end. It outlives the process.
 *
 * Whoever reads it from outside trusts nothing in it: counts are bounded and texts end here. */
#pragma once

#include "probe/base/std.h"

#define PP_LOADERS_MAGIC "PPLOAD7"
#define PP_SAMPLER_REPLACES "(replacement)" /* it draws with replacement */
#define PP_LOADERS_MAX 16     /* more of them in a process are recorded, their arguments are not */
#define PP_SHORT_MAX 64       /* of an iteration; a worker's stream ends with one */
#define PP_ITERATIONS_MAX 128 /* the newest; a worker looks for its own when it starts */

struct pp_loader_row {
    uint64_t samples, batches; /* of the data set and of an epoch; 0: it has no length */
    uint32_t workers, batch_size, prefetch, timeout_s;
    uint8_t pin_memory, persistent_workers, in_order, drop_last;
    uint8_t made_again; /* the job makes a loader with these arguments for each epoch */
    uint8_t unused[3];
    uint32_t iterations;     /* begun so far */
    uint64_t taken, wait_ns; /* so far: batches that the training thread took, and its wait for them */
    uint64_t pickled_bytes;  /* of what each worker is started from, with the data set; 0: it is forked */
    char start_method[16];
    char dataset[64],
        sampler[64];  /* types, with their module; a sampler may have PP_SAMPLER_REPLACES behind it */
    char code[64];    /* what makes a sample: "Table.__getitem__" */
    char held[128];   /* types among the data set's attributes: "pandas.DataFrame, list of 300000" */
    char place[128];  /* where the job makes it: "train.py:31"; "": not known, as all texts */
    char source[112]; /* the call in that file: "line end_line column end_column sha256", columns in bytes */
    char name[64];    /* the variable that it gets there: "val_loader" */
};

/* The slowest samples of a loader that have a name, of all its workers, in no order. Who makes a sample
 * changes the table while busy is its own, and goes on without where it is not: one that is killed in it ends
 * it. */
#define PP_SLOW_MAX 12
struct pp_slow_row {
    uint64_t sample;       /* PP_NO_SAMPLE: of a stream, whose samples have no number */
    uint64_t ns;           /* its longest time; 0: a row that is not in use */
    uint32_t batch, place; /* of the run, and of the batch: where it took that long */
    char name[160];        /* its file, or what else the data set shows of it */
};
struct pp_slow_table {
    uint32_t busy, unused;
    struct pp_slow_row row[PP_SLOW_MAX];
};

struct pp_iteration_row {
    uint64_t base_seed; /* what the loader told its workers; the key */
    uint32_t round;     /* 0: the iterator's first epoch; more with persistent workers */
    uint32_t first_batch, epoch, loader;
    /* Batches that came out shorter than they were asked for, written by the workers: (number within the
     * iteration + 1) << 32 | samples, 0 for an entry that is not written yet. */
    uint32_t n_short;
    uint64_t short_batch[PP_SHORT_MAX];
};

struct pp_loaders_file {
    char magic[8];
    int64_t pid;
    uint32_t n_loaders;    /* of the process, kept or not */
    uint32_t n_iterations; /* likewise; row n is at n % PP_ITERATIONS_MAX; written after the row, released */
    struct pp_loader_row loader[PP_LOADERS_MAX];
    struct pp_slow_table slow[PP_LOADERS_MAX];
    struct pp_iteration_row iteration[PP_ITERATIONS_MAX];
};
