/* collectors/attach/python/record.h: the insides of _pipeprobe.abi3.so, the extension that records an
 * unmodified PyTorch job. Python installs the hooks (pipeprobe_hooks.py), C records: types.c, calls.c and
 * module.c are called by Python, process.c and spans.c know nothing of it.
 *
 * The extension lives in somebody else's program: it never prints, exits, starts a thread (CUPTI does, where
 * a GPU is recorded), touches a random state or raises an exception of its own while the job runs. Recording
 * is off where there is no session, and on the first trouble of its own (record_off).
 *
 * What is recorded: in a worker, per sample, READ, DECODE and TRANSFORM, adjacent and disjoint; per batch
 * DISPATCH_WAIT, COLLATE, PUT_WAIT. In the thread that takes the batches DATA_WAIT, STEP and CHECKPOINT; in
 * the one that pins memory GET_WAIT, PIN, PUT_WAIT. Times are stamps of the session's clock (trace/join.h).
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
    uint64_t cpu_ns;   /* 0 where it was not read */
    uint64_t delay_ns; /* run delay until then; 0 where it was not read: what is put takes it from now */
};

/* What is known of a span besides its times. */
struct record_about {
    uint64_t sample;
    uint64_t bytes;
    uint32_t batch;
    uint16_t epoch, flags;
};

#define RECORD_LENGTHS 1024 /* more batches than a loader asks for ahead */
#define RECORD_PRINTS 16    /* samples of a worker and epoch whose content is told (prints.c) */

/* One epoch of a DataLoader, in the process that takes its batches. */
struct record_iteration {
    uint64_t base_seed;
    struct record_mark
        made; /* stamp 0: its workers are not started again by a thread that had taken a batch */
    const struct record_local *made_by;
    uint32_t round, first_batch, epoch, loader;
    uint32_t taken;                  /* batches so far */
    uint32_t session;                /* it began in */
    uint32_t sent;                   /* batches that were asked for */
    uint32_t given;                  /* number within the iteration of the batch that was taken last */
    uint32_t length[RECORD_LENGTHS]; /* samples of batch i at i % RECORD_LENGTHS; 0: not known */
    uint32_t batch_size;             /* 0: not known */
    uint64_t batches, samples;       /* of an epoch; 0: not known */
    struct pp_iteration_row *row;    /* NULL: it was not published */
    int ended, in_order;
    int late;       /* the recording began in the middle of it */
    int ask;        /* its lengths are to be asked for before its first batch */
    int made_again; /* its loader is not the one of the epoch before, and has the same arguments */
};

enum {
    RECORD_HELD_MAX = 32,    /* spans of a thread of which it is not yet known what it is */
    RECORD_HANDED_MAX = 256, /* batches on their way from one thread to another */
};

/* What a thread that takes batches is: takers.c. */
enum record_role {
    RECORD_UNDECIDED,
    RECORD_TRAINER,    /* its waits are the trainer's */
    RECORD_PREFETCHES, /* it takes batches for another thread, which trains */
};

/* Batches that were put and not yet got, first in, first out, and what else came between them. */
struct record_handed {
    struct record_parcel {
        struct record_about about;
        int is_batch;
    } parcel[RECORD_HANDED_MAX];
    uint64_t put, got;               /* so far */
    int taken;                       /* by another thread, at least once */
    const struct record_local *from; /* the thread that put last; compared, and nothing else */
};

struct record_taker {
    enum record_role role; /* as the lane has it */
    int main;              /* 1: the process's first thread, -1: another, 0: not looked at */
    int trains;            /* it has called backward */
    int gives;             /* another thread has taken a batch from it */
    int ended;             /* an epoch, and has handed nothing over since */
    int settled;           /* without a thread that trains, it counts as the trainer */
    struct pp_span *held;
    unsigned n_held;
    struct record_handed own; /* taken, and not handed over */
    struct record_mark get_from;
    const void *get_queue; /* for which it has waited since get_from */
};

struct record_local {
    struct record_local *next; /* of the process's threads */

    /* the thread that takes the batches */
    struct record_lane trainer;
    struct record_mark step_from; /* stamp 0: no step is running */
    struct record_about step;
    int taking;                 /* depth of __next__: one loader's may call another's */
    uint64_t unpickle_stamps;   /* in it: for batches that had come */
    uint64_t unpickle_tensors;  /* in it: that these batches have */
    int passing;                /* in a backward pass */
    struct record_mark arrived; /* in it: this rank's part was done; stamp 0: not yet */
    struct record_taker taker;

    /* a worker, or the training thread of a loader without workers */
    struct record_lane worker;
    struct record_mark at;          /* where the last span of the worker ended */
    int64_t parent_pid;             /* where it takes its tasks from */
    uint64_t base_seed;             /* of the iterator it works for */
    int found;                      /* its iteration was looked for */
    int late;                       /* it may be entered before its iteration is published */
    uint32_t round;                 /* how often it was told to begin anew */
    struct pp_iteration_row *row;   /* of a worker; NULL: not found */
    struct record_iteration *taken; /* of a loader without workers, while a batch is made */
    uint32_t first_batch, batch;
    uint16_t epoch;
    int32_t slot; /* worker's number; -1: no worker process */

    /* the thread that pins memory; batch and epoch as a worker's */
    struct record_lane copy;
    struct record_mark copy_at;

    /* the sample in work */
    int depth;              /* of proxies: only the outermost is a sample */
    int timing;             /* depth of timed calls within it */
    int reading;            /* within a function that reads a file as a whole */
    int calls;              /* depth of other calls, behind which a lane of the thread is used again */
    struct pp_reads *reads; /* of this thread; own_reads where the preloaded library is not there */
    struct pp_reads own_reads;
    uint64_t decode_stamps, decode_cpu_ns;
    uint64_t decode_pixels;      /* of images whose size the call told */
    const void *decoded;         /* the image that was counted last: it may be asked for its pixels again */
    struct pp_reads decode_read; /* what was read within decoding: ns and cpu_ns */
    uint64_t batch_samples;      /* of the batch in work */
    int in_batch;                /* a worker has taken a task and not yet put its batch */
    int detailed;                /* samples of this batch are recorded one by one */
    uint32_t prints; /* of an iterable data set: of so many samples more it is told what they are */
    uint32_t batches_seen, every;
    double sample_ns; /* moving mean, for how often a batch is detailed */
    int worth_cpu;    /* the last sample was long enough for reading the CPU clock */
};

/* ---- process.c ---- */

/* Joins the session in dir. 0: nothing is recorded in this process. */
int record_join(const char *dir);
int record_is_on(void);
/* Ends recording here, before the session ends; another may be joined later. Called with the interpreter
 * locked, so that no other thread is between two calls of its own that follow each other. */
void record_leave(void);
/* Which of the sessions joined in this process is recorded, from 1 on; 0: none. */
uint32_t record_session(void);
/* Off for good in this process; the first reason goes into its process file. */
void record_off(const char *why);
/* What was left out or failed to fit, while the rest goes on: added to the process file's note. */
void record_note(const char *what);

/* The job has imported PyTorch's DataLoader: said in the process file, where there is one. */
void record_saw_loader(void);

struct record_local *record_local(void);
struct record_local *record_local_peek(void); /* NULL: this thread has none yet */
/* How often this process and those before it were forked. */
uint64_t record_forks(void);
/* Opens the lane if it is not open in this process. 0: there is no ring for it. */
int record_lane_open(struct record_lane *lane, pp_lane kind, const char *name);
void record_lane_close(struct record_lane *lane);
/* A counter of the lane's thread, by its name. */
void record_count(const struct record_lane *lane, const char *name, uint64_t value);

/* A loader's number, for a row not seen before; its arguments are kept for the first PP_LOADERS_MAX. */
uint32_t record_loader_new(const struct pp_loader_row *row);
/* The training thread has taken a batch of it->loader, for which it had waited that long. */
void record_loader_waited(const struct record_iteration *it, uint64_t wait_ns);
/* A new epoch of it->loader, published for its workers: fills first_batch. */
void record_iteration_begin(struct record_iteration *it);
/* Its lengths, which were not asked for when it began; samples: of the data set. */
void record_iteration_lengths(struct record_iteration *it, uint64_t samples, uint64_t batches,
                              uint64_t epoch_samples);
/* Its workers are started, and have the seed that its loader has now. */
void record_iteration_reseed(struct record_iteration *it, uint64_t base_seed);
/* Of an iteration that starts workers again: the thread that made it did so until now. A step that was
 * running ended when it was made. */
void record_workers_started(struct record_iteration *it);
/* It had been going on: so many batches have been taken, so many asked for. */
void record_iteration_resume(struct record_iteration *it, uint32_t taken, uint32_t sent);
void record_iteration_forget(const struct record_iteration *it); /* before its memory goes */
/* In a worker: the iteration of parent that has this seed and round; NULL: it is not there. It stays mapped.
 */
struct pp_iteration_row *record_iteration_find(int64_t parent_pid, uint64_t base_seed, uint32_t round);
/* A worker says that a batch came out with fewer samples than asked for; the process that takes it asks how
 * many they were, 0 for as many as asked for. */
void record_short_add(struct pp_iteration_row *row, uint32_t index, uint64_t samples);
uint64_t record_short_find(const struct record_iteration *it, uint32_t index);

const char *record_dir(void); /* of the session; NULL: there is none */

/* ---- order.c: which samples the job's samplers gave ---- */

/* The next batch of the iteration, it->sent not yet counted up, has n samples. 0: they are not recorded. Then
 * n numbers, and the end; or undo, and the batch is none. */
int record_order_batch(const struct record_iteration *it, uint64_t n);
void record_order_sample(uint64_t sample);
void record_order_batch_end(void);
void record_order_undo(void);
void record_order_unknown(const struct record_iteration *it); /* a batch whose samples have no numbers */
void record_order_end(const struct record_iteration *it);     /* the sampler has no more */
void record_order_forget(const struct record_iteration *it);  /* another may have its address */
void record_order_flush(void);                                /* before the session is left */

/* ---- activity.c: what the GPU does, where CUDA is in use ---- */

/* The thread has a batch and works on it from now on. The first one that finds CUDA in use turns CUPTI's
 * records on. */
void record_gpu_batch(const struct record_local *l, uint32_t batch);
/* Before the session is left, and before the process ends: turns them off, and writes the rest. */
void record_gpu_end(void);
/* Another profiler of the program takes CUPTI: likewise, for good. */
void record_gpu_yield(const char *to);

/* ---- spans.c ---- */

struct pp_span record_span(struct record_lane *lane, pp_phase phase, const struct record_mark *from,
                           const struct record_mark *to, const struct record_about *about);
struct record_mark record_now(const struct record_lane *lane, int with_cpu);
/* The same with the run delay: for a mark at which a span ends that is put later. */
struct record_mark record_now_delayed(const struct record_lane *lane);
/* A span of the lane from one moment to another. */
void record_put(struct record_lane *lane, pp_phase phase, const struct record_mark *from,
                const struct record_mark *to, const struct record_about *about);

void record_worker_begin(struct record_local *l, int worker, int64_t parent_pid, uint64_t base_seed);
void record_worker_resume(struct record_local *l);
void record_worker_end(struct record_local *l);
void record_batch_begin(struct record_local *l, uint64_t index, uint64_t samples); /* after index_queue.get */
/* The same for a loader without workers: the batch is made in the thread that takes it. */
void record_batch_begin_here(struct record_local *l, const struct record_mark *now, uint64_t samples);
void record_batch_put(struct record_local *l, const struct record_mark *from);
/* samples: of the batch; 0: not known */
void record_collate(struct record_local *l, const struct record_mark *from, uint64_t samples, int failed);
void record_sample_begin(struct record_local *l);
/* sample: its number, or with `many` how many they were. */
void record_sample_end(struct record_local *l, uint64_t sample, int many, int failed);

/* So many batches are made when the next one is asked for; after record_take_begin. */
void record_depth(struct record_local *l, uint64_t batches);
/* Within a wait for a batch: what came was made into objects since from, and has so many tensors. */
void record_unpickled(struct record_local *l, const struct record_mark *from, uint64_t tensors);
void record_take_begin(struct record_local *l, struct record_iteration *it, struct record_mark *from);
/* got: 1 a batch, 0 the end of the epoch, -1 an exception */
void record_take_end(struct record_local *l, struct record_iteration *it, const struct record_mark *from,
                     int got);

/* torch.save in the thread that takes the batches: the step goes on behind it */
void record_save_begin(struct record_local *l, struct record_mark *from);
void record_save_end(struct record_local *l, const struct record_mark *from, int failed);

/* It has waited for the other ranks of the job since from, within a step: likewise */
void record_waited(struct record_local *l, const struct record_mark *from, int failed);

/* ---- others.c: about a wait for the other ranks: what the process's other threads lacked a CPU meanwhile
 * ---- */

void record_exchange_begin(void);
void record_exchange_end(struct record_local *l); /* after record_waited */

/* The thread that pins memory: it begins, got a batch, has pinned it, has handed it on. The lane is open. */
void record_pin_begin(struct record_local *l);
void record_pin_got(struct record_local *l, uint32_t batch);
void record_pinned(struct record_local *l);
void record_pin_put(struct record_local *l);

/* ---- takers.c ----
 *
 * The thread that takes a DataLoader's batches need not be the one that trains: it may hand them over through
 * a queue.Queue. The trainer is the thread that calls backward; without one, the process's first thread, or
 * the one that takes the batches. Its wait for a batch is DATA_WAIT, from __next__ or from the queue. A
 * thread that takes batches for it is a copy lane: GET_WAIT for __next__, PUT_WAIT for the queue. Until it is
 * known which a thread is, its first spans are held back. */

/* The lane of a thread that takes batches, by what it is. 0: there is no ring. */
int record_taker_open(struct record_local *l);
int record_taker_is_open(const struct record_local *l);
/* The same for a thread that is the trainer as far as is known: so that it is no part of the first wait. */
void record_taker_open_early(struct record_local *l);
/* A span of it, as the trainer's; a thread that prefetches has it as what it is for it, or not at all. */
void record_taker_put(struct record_local *l, pp_phase phase, const struct record_mark *from,
                      const struct record_mark *to, const struct record_about *about);
void record_taker_end(struct record_local *l); /* before the thread ends */
void record_trains(struct record_local *l);
/* It has taken this batch. */
void record_holds(struct record_local *l, const struct record_about *about);
/* Whether what it puts into a queue may be a batch for another thread; a queue that has had none (known 0) is
 * only looked at while it holds one. */
int record_may_hand_over(struct record_local *l, int known);
/* Its oldest batch is put into h; and out of it again, where the queue was full. */
void record_hand_over(struct record_local *l, struct record_handed *h);
void record_hand_back(struct record_local *l, struct record_handed *h);
void record_put_end(struct record_local *l, const struct record_mark *from);
/* The moment so many ns ago, without its CPU time. */
struct record_mark record_ago(const struct record_lane *lane, uint64_t ns);
/* It has got the oldest batch of h, for which it waited since from. */
void record_get_end(struct record_local *l, const struct record_mark *from, struct record_handed *h);

#endif
