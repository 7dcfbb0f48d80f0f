/* collectors/attach/python/record.h: the insides of _pipeprobe.abi3.so, the extension that records an
 * unmodified PyTorch job. Python installs the hooks (pipeprobe_hooks.py), C records: types.c and module.c are
 * called by Python, process.c and spans.c know nothing of it.
 *
 * The extension lives in somebody else's program: it never prints, exits, starts a thread, touches a random
 * state or raises an exception of its own while the job runs. Recording is off where there is no session, and
 * on the first trouble of its own (record_off).
 *
 * What is recorded: in a worker, per sample, READ, DECODE and TRANSFORM, adjacent and disjoint; per batch
 * DISPATCH_WAIT, COLLATE, PUT_WAIT. In the thread that takes the batches DATA_WAIT and STEP. Times are stamps
 * of the session's clock (trace/join.h).
 *
 * A thread of a process has one struct record_local. Functions without a remark are called by that thread. */
#ifndef PP_COLLECTORS_ATTACH_PYTHON_RECORD_H
#define PP_COLLECTORS_ATTACH_PYTHON_RECORD_H

#include "collectors/attach/accounts.h"
#include "collectors/attach/loaders_file.h"
#include "collectors/attach/reads/reads.h"
#include "probe/trace/trace.h"

#include <stddef.h>
#include <stdint.h>

/* A lane of this thread: its ring, and where its last span ended. */
struct record_lane {
    struct pp_thread *trace; /* NULL: none */
    uint64_t forks;          /* of the process when it was opened; another number: inherited, and silent */
    struct pp_accounts accounts;
    uint64_t delay_ns; /* run delay as last read */
};

/* A moment of a lane. */
struct record_mark {
    uint64_t stamp;
    uint64_t cpu_ns; /* 0 where it was not read */
};

/* What is known of a span besides its times. */
struct record_about {
    uint64_t sample;
    uint64_t bytes;
    uint32_t batch;
    uint16_t epoch, flags;
};

/* One epoch of a DataLoader, in the process that takes its batches. */
struct record_iteration {
    uint64_t base_seed;
    uint32_t round, first_batch, epoch, loader;
    uint32_t taken;            /* batches so far */
    uint32_t batch_size;       /* 0: not known */
    uint64_t batches, samples; /* of an epoch; 0: not known */
    int ended;
};

struct record_local {
    /* the thread that takes the batches */
    struct record_lane trainer;
    struct record_mark step_from; /* stamp 0: no step is running */
    struct record_about step;
    int taking; /* depth of __next__: one loader's may call another's */

    /* a worker, or the training thread of a loader without workers */
    struct record_lane worker;
    struct record_mark at; /* where the last span of the worker ended */
    uint64_t base_seed;    /* of the iterator it works for */
    uint32_t round;        /* how often it was told to begin anew */
    uint32_t first_batch, batch;
    uint16_t epoch;
    int32_t slot; /* worker's number; -1: no worker process */

    /* the sample in work */
    int depth;              /* of proxies: only the outermost is a sample */
    int timing;             /* depth of timed calls within it */
    struct pp_reads *reads; /* of this thread; NULL: they are not told apart */
    uint64_t decode_stamps, decode_cpu_ns;
    struct pp_reads decode_read; /* what was read within decoding: ns and cpu_ns */
    uint64_t batch_samples;      /* of the batch in work */
    int in_batch;                /* a worker has taken a task and not yet put its batch */
    int detailed;                /* samples of this batch are recorded one by one */
    uint32_t batches_seen, every;
    double sample_ns; /* moving mean, for how often a batch is detailed */
    int worth_cpu;    /* the last sample was long enough for reading the CPU clock */
};

/* ---- process.c ---- */

/* Joins the session in dir. 0: nothing is recorded in this process. */
int record_join(const char *dir);
int record_is_on(void);
/* Off for good in this process; the first reason goes into its process file. */
void record_off(const char *why);
/* What was left out or failed to fit, while the rest goes on: added to the process file's note. */
void record_note(const char *what);

struct record_local *record_local(void);
/* Opens the lane if it is not open in this process. 0: there is no ring for it. */
int record_lane_open(struct record_lane *lane, pp_lane kind, const char *name);
void record_lane_close(struct record_lane *lane);

/* A loader's number, for a row not seen before; its arguments are kept for the first PP_LOADERS_MAX. */
uint32_t record_loader_new(const struct pp_loader_row *row);
/* A new epoch of it->loader, published for its workers: fills first_batch. */
void record_iteration_begin(struct record_iteration *it);
void record_iteration_forget(const struct record_iteration *it); /* before its memory goes */
/* In a worker: the iteration of parent that has this seed and round; 0: it is not there. */
int record_iteration_find(int64_t parent_pid, uint64_t base_seed, uint32_t round,
                          struct pp_iteration_row *out);

/* ---- spans.c ---- */

struct record_mark record_now(const struct record_lane *lane, int with_cpu);
/* A span of the lane from one moment to another. */
void record_put(struct record_lane *lane, pp_phase phase, const struct record_mark *from,
                const struct record_mark *to, const struct record_about *about);

void record_worker_begin(struct record_local *l, int worker, int64_t parent_pid, uint64_t base_seed);
void record_worker_resume(struct record_local *l, int64_t parent_pid);
void record_worker_end(struct record_local *l);
void record_batch_begin(struct record_local *l, uint64_t index, uint64_t samples); /* after index_queue.get */
/* The same for a loader without workers: the batch is made in the thread that takes it. */
void record_batch_begin_here(struct record_local *l, const struct record_mark *now, uint64_t samples);
void record_batch_put(struct record_local *l, const struct record_mark *from);
void record_collate(struct record_local *l, const struct record_mark *from, int failed);
void record_sample_begin(struct record_local *l);
void record_sample_end(struct record_local *l, uint64_t sample, int failed);

void record_take_begin(struct record_local *l, struct record_iteration *it, struct record_mark *from);
/* got: 1 a batch, 0 the end of the epoch, -1 an exception */
void record_take_end(struct record_local *l, struct record_iteration *it, const struct record_mark *from,
                     int got);

#endif
