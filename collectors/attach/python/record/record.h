/* collectors/attach/python/record/record.h: the half of _pipeprobe.abi3.so that knows nothing of Python: it
 * records an unmodified PyTorch job. Python installs the hooks (pipeprobe_hooks.py), C is called by them
 * (../hooks) and records here. Each part below calls only those above it:
 *
 *     process.c    the session, the process's threads, and their lanes
 *     order.c      which samples the job's samplers gave; the blocks of the order file
 *     uses.c       which batches were taken, and trained on
 *     states.c     facts of iterations; state that was saved, restored or set
 *     gpu.c        what the GPU does, by CUPTI
 *     loaders.c    the process's DataLoaders and the iterations made of them
 *     requests.c   the requests that a sample was made of
 *     slow.c       the slowest samples of each loader, by name
 *     worker.c     threads that make batches: workers, and the one that pins memory
 *     content.c    hashes of the samples of their batches
 *     exchange.c   what the process's other threads lacked a CPU during a collective
 *     consumer.c   threads that take batches, among them the trainer
 *     loop.c       loops without a DataLoader: what they take, and the threads and processes that make it
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
#pragma once

#include "collectors/attach/loaders_file.h"
#include "collectors/attach/process_file.h"
#include "collectors/attach/reads/reads.h"
#include "probe/base/clock.h"
#include "probe/trace/join.h"
#include <pthread.h>

/* A lane of this thread: its ring, and where its last span ended. */
/* A moment of a lane. */
struct record_mark {
    uint64_t stamp;
    uint64_t cpu_ns;   /* 0 where it was not read */
    uint64_t delay_ns; /* run delay until then; 0 where it was not read: what is put takes it from now */
};

struct record_lane {
    struct pp_thread *trace; /* NULL: none */
    uint64_t forks;          /* of the process when it was opened; another number: inherited, and silent */
    struct pp_accounts accounts;
    uint64_t delay_ns;       /* run delay as last read */
    struct record_mark seen; /* the last one with a run delay */
};

/* What is known of a span besides its times. */
struct record_about {
    uint64_t sample;
    uint64_t bytes;
    uint32_t batch;
    uint16_t epoch, flags;
    uint32_t loader;
    int looked_at; /* taken where no gradient is wanted: nothing is trained on it */
};

enum {
    RECORD_LENGTHS = 1024,      /* more batches than a loader asks for ahead */
    RECORD_FINGERPRINTS = 16,   /* samples of a worker and epoch whose content is hashed */
    RECORD_HELD_MAX = 32,       /* spans of a thread whose role is not known yet */
    RECORD_HANDED_MAX = 256,    /* batches on their way from one thread to another */
    RECORD_CONTENT_MAX = 16000, /* samples of a batch that are hashed */
    RECORD_MEASURED_MAX = 256   /* tensors of a batch whose bytes are asked for */
};

/* One epoch of a DataLoader, in the process that takes its batches. */
struct record_iteration {
    uint64_t base_seed;
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
    int looked_at;   /* the batch that was taken last is one of record_about's */
    int resumed;     /* the recording began in the middle of it */
    int ask_lengths; /* before its first batch: they were not to be had when it began */
    int stream;      /* of an iterable data set: its keys are of no samples */
    int made_again;  /* its loader is not the one of the epoch before, and has the same arguments */
};

/* What a worker hands over as a batch. The bytes are those of measured tensors, at most measure_most of them;
 * the others are taken to be like these. */
struct record_handed {
    uint64_t tensors, measured, measure_most, bytes;
    uint64_t storage_bytes; /* of all that is behind them, which goes to the other process */
};

/* What a thread that takes batches is. */
enum record_role {
    RECORD_UNDECIDED,
    RECORD_TRAINER,    /* its waits are the trainer's */
    RECORD_PREFETCHER, /* it takes batches for another thread, which trains */
};

/* Batches that were put and not yet got, first in, first out, and what else came between them. */
struct record_handover {
    struct record_parcel {
        struct record_about about;
        int is_batch;
    } parcel[RECORD_HANDED_MAX];
    uint64_t put, got;               /* so far */
    int taken;                       /* by another thread, at least once */
    const struct record_local *from; /* the thread that put last; compared, and nothing else */
};

/* A thread that takes batches; its lane is the trainer's, or that of a thread that prefetches. */
struct record_consumer {
    struct record_lane lane;
    struct record_mark step_from; /* stamp 0: no step is running */
    struct record_about step;
    int taking;         /* depth of __next__ and other calls recorded as a whole; they may nest */
    uint32_t beginning; /* within iter(loader): the session it began in; 0: it is not */
    struct record_mark begun,
        drawn; /* when it began; stamps and CPU time of sampler's draws, in it or in __next__ */
    uint64_t unpickle_stamps;   /* in it: for batches that had come */
    uint64_t unpickle_cpu_ns;   /* of that: this thread was on a CPU */
    uint64_t unpickle_tensors;  /* in it: that these batches have */
    int in_backward;            /* a pass */
    struct record_mark arrived; /* in the pass: this rank's part was done; stamp 0: not yet */

    enum record_role role; /* as the lane has it */
    int is_main;           /* 1: the process's first thread, -1: another, 0: not looked at */
    int trains;            /* it has called backward */
    int gives;             /* another thread has taken a batch from it */
    int epoch_ended;       /* and it has handed nothing over since */
    int counts_as_trainer; /* while no thread trains */
    struct pp_span *held;
    unsigned n_held;
    struct record_handover own; /* taken, and not handed over */
    struct record_mark get_from;
    const void *get_queue; /* for which it has waited since get_from */
};

/* A worker, or the training thread of a loader without workers. */
struct record_worker {
    struct record_lane lane;
    struct record_mark at;           /* where its last span ended */
    int64_t parent_pid;              /* where it takes its tasks from */
    uint64_t base_seed;              /* of the iterator it works for */
    uint32_t round;                  /* how often it was told to begin anew */
    int looked;                      /* for the iteration */
    int joined_late;                 /* its iteration may be published after its first task */
    struct pp_iteration_row *row;    /* of a worker process; NULL: not found */
    struct record_iteration *making; /* of a loader without workers, while a batch is made */
    uint32_t first_batch, batch;
    uint16_t epoch;
    int in_batch;           /* it has taken a task and not yet put its batch */
    uint64_t batch_samples; /* of the batch in work */
    int detailed;           /* samples of this batch are recorded one by one */
    uint32_t fingerprints;  /* of an iterable data set: samples that are still hashed */
    uint32_t batches_seen;
    double sample_ns;        /* moving mean, for how often a batch is detailed */
    uint64_t sample_took_ns; /* the last one, alone; 0: it was many */
    uint32_t place;          /* of the next one in its batch */
    uint64_t helper_cpu_ns;  /* of this batch's samples: of the process's other threads and its children */
    int worth_cpu;           /* the last sample was long enough for reading the CPU clock */
    uint64_t *files;         /* of the samples of the batch in work, with content; NULL: none yet */
    uint32_t n_files;
};

/* The sample in work. */
struct record_sample {
    int depth;              /* of proxies: only the outermost is a sample */
    int timing;             /* depth of timed calls within it */
    int reading;            /* within a function that reads a file as a whole */
    struct pp_reads *reads; /* of this thread; own_reads where the preloaded library is not there */
    struct pp_reads own_reads;
    uint64_t decode_stamps, decode_cpu_ns, collate_stamps, collate_cpu_ns;
    uint64_t decode_pixels;      /* of images whose size the call told */
    const void *decoded;         /* the image that was counted last: it may be asked for its pixels again */
    struct pp_reads decode_read; /* what was read within decoding: ns and cpu_ns */
    uint64_t others_cpu_ns;      /* of the process's other threads when it began; 0: not looked at */
};

/* The thread that pins memory. */
struct record_pin {
    struct record_lane lane;
    struct record_mark at;
    uint32_t first_batch, batch;
    uint16_t epoch;
    enum record_pin_state { RECORD_PIN_NONE, RECORD_PIN_GOT, RECORD_PIN_DONE } state; /* of the batch */
};

/* A thread of a job whose batches come from no DataLoader: it takes them, or makes them. */
struct record_loop {
    int waiting;                    /* depth of calls that wait: the outermost counts */
    int got;                        /* of the take at hand: something came */
    struct record_mark first, last; /* of it: the first wait began, the last one ended; stamp 0: none */
    uint32_t taken;                 /* so far */
    int making;                     /* what it makes is a sample in work */
    int waits;                      /* it takes from others, and loads nothing itself */
    int awaits;                     /* it has had to wait for an Event */
    int loads;                      /* its reads are watched: it may load what it trains on */
    unsigned asked;                 /* so often a queue gave it something */
};

struct record_local {
    struct record_local *next; /* of the process's threads */
    int32_t slot;              /* worker's number; -1: no worker process */
    int calls; /* depth of calls that are neither a sample nor taking, behind which a lane is used again */
    struct record_consumer consumer;
    struct record_worker worker;
    struct record_sample sample;
    struct record_pin pin;
    struct record_loop loop;
    void (*before_end)(struct record_local *l); /* NULL: nothing; before the thread's lanes are closed */
};

/* ---- process.c: the session and the process's threads ---- */

/* The process's one state; process.c writes it. */
extern struct record_process {
    struct pp_session *session; /* NULL: none */
    char dir[PATH_MAX];         /* of it */
    uint64_t forks;             /* of this process and those before it, and sessions that were left */
    uint32_t sessions;          /* joined so far */
    int off;                    /* for good */
    int has_backward;           /* PyTorch is imported: the thread that trains will show itself */
    int has_loader;             /* a DataLoader is iterated: what else passes batches is a part of that */
    int has_framework;          /* another framework's loader is imported, whose waits are known by name */
    int own_loop;               /* batches are taken without a DataLoader */
    uint32_t taken, aside;      /* such batches; those that were taken beside a DataLoader's */
    int64_t parent_pid;         /* of a process of multiprocessing: who started it; 0: it is none */
    enum { RECORD_CONTENT_NONE, RECORD_CONTENT_PART, RECORD_CONTENT_WHOLE } content; /* of samples, hashed */
} record_process;

static inline uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline int record_is_on(void)
{
    return record_process.session && !record_process.off;
}

/* Of the session; NULL: there is none. */
static inline const char *record_dir(void)
{
    return record_process.session ? record_process.dir : NULL;
}

/* Which of the sessions joined in this process is recorded, from 1 on; 0: none. */
static inline uint32_t record_session(void)
{
    return record_is_on() ? record_process.sessions : 0;
}

static inline uint64_t record_forks(void)
{
    return record_process.forks;
}

/* Joins the session in dir. 0: nothing is recorded in this process. */
int record_join(const char *dir);
/* Ends recording here, before the session ends; another may be joined later. Called with the interpreter
 * locked, so that no other thread is between two calls of its own that follow each other. */
void record_leave(void);
/* From now on record_leave calls it first; of the parts below, each at most one. */
void record_before_leave(void (*flush)(void));
/* Off for good in this process; the first reason goes into its process file. */
void record_off(const char *why);
/* What was left out or failed to fit, while the rest goes on: added to the process file's note. */
void record_note(const char *what);
/* The exception that ends the interpreter, into the process file. */
void record_ended(const char *how);
/* Of what the process is made, and where its data lies ("": not known), into the process file; the first time
 * counts. */
void record_made_of(const char *versions, const char *data);
/* Another kind of loader that the process has imported. */
void record_seen(const char *loader, const char *mixed);
/* Batches are taken without a DataLoader; not any more: for the processes that make them. */
void record_own_loop(int on);
/* The job has imported PyTorch's DataLoader: said in the process file, where there is one. */
void record_saw_loader(void);

struct record_local *record_local(void);      /* made at its first call; NULL: no memory */
struct record_local *record_local_peek(void); /* NULL: this thread has none yet */

/* While recording is on, else NULL. */
static inline struct record_local *record_here(void)
{
    return record_is_on() ? record_local() : NULL;
}

static inline int record_lane_is_open(const struct record_lane *lane)
{
    return lane->trace && lane->forks == record_process.forks;
}

/* Opens the lane if it is not open in this process. 0: there is no ring for it. */
int record_lane_open(struct record_lane *lane, pp_lane kind, const char *name);
void record_lane_close(struct record_lane *lane);
/* A counter of the lane's thread, by its name. */
static inline void record_count(const struct record_lane *lane, const char *name, uint64_t value)
{
    if (record_lane_is_open(lane))
        pp_counter_put(lane->trace, pp_name_intern(record_process.session, name), value);
}

static inline struct record_mark record_now(const struct record_lane *lane, int with_cpu)
{
    struct record_mark m = {.stamp = pp_thread_stamp(lane->trace)};
    if (with_cpu)
        m.cpu_ns = pp_thread_cpu_ns();
    return m;
}

/* The same with the run delay, which is read where the thread did not run all the time since such a mark. */
struct record_mark record_now_delayed(struct record_lane *lane);
/* The moment so many ns ago, without its CPU time. */
struct record_mark record_ago(const struct record_lane *lane, uint64_t ns);
/* The run delay since the last look; looked at when the wall time beyond the CPU time is worth it. known: the
 * one of now, if it has been read. 0: it cannot be read. */
int record_run_delay(struct record_lane *lane, uint64_t wall_ns, uint64_t cpu_ns, uint64_t known,
                     uint64_t *out);
/* A span of the lane from one moment to another, to be put later or at once. */
struct pp_span record_span(struct record_lane *lane, pp_phase phase, const struct record_mark *from,
                           const struct record_mark *to, const struct record_about *about);
static inline void record_put(struct record_lane *lane, pp_phase phase, const struct record_mark *from,
                              const struct record_mark *to, const struct record_about *about)
{
    struct pp_span s = record_span(lane, phase, from, to, about);
    pp_span_put_stamped(lane->trace, &s);
}
/* From *at until now, which *at then is. */
static inline void record_put_since(struct record_lane *lane, pp_phase phase, struct record_mark *at,
                                    uint32_t batch, uint16_t epoch)
{
    struct record_mark now = record_now(lane, 1);
    struct record_about about = {.sample = PP_NO_SAMPLE, .batch = batch, .epoch = epoch};
    record_put(lane, phase, at, &now, &about);
    *at = now;
}

/* ---- order.c: which samples the job's samplers gave ---- */

/* The next batch of the iteration, it->sent not yet counted up, has n samples. 0: they are not recorded. Then
 * n numbers, or it is unknown. */
int record_order_batch(const struct record_iteration *it, uint64_t n);
void record_order_sample(uint64_t sample);
/* A batch whose samples have no numbers; begun: it was, with those before, and is undone. */
void record_order_unknown(const struct record_iteration *it, int begun);
void record_order_end(const struct record_iteration *it);    /* the sampler has no more */
void record_order_forget(const struct record_iteration *it); /* another may have its address */

/* A block of another kind into the file, whole; where it lies. NULL: there is no file. It is mapped until
 * before_unmap was called, or the process is another. */
struct pp_order_block;
void *record_order_block(uint32_t magic, size_t bytes, const struct pp_order_block *head, const void *behind);
void record_order_before_unmap(void (*fn)(int goes_on)); /* of one part: its last chance to write into it */

/* ---- uses.c: which batches were taken, and trained on ---- */

/* By the thread that trains, from a loader or from a thread that has them from it. */
void record_use_taken(const struct record_about *about);
/* A backward: the newest batch of each loader, if it was taken since the last one, was trained on; but for
 * those that are taken to be looked at. */
void record_use_trained(void);
int record_use_at_end(void);            /* the loader whose batch was trained on last has no more */
void record_use_ended(uint32_t loader); /* it has no more in this iteration */
struct record_uses {
    uint32_t iterations, newest; /* begun in this process; the batch that was taken last */
    uint32_t trained;            /* batches, so far */
    pthread_t taker, trainer;    /* threads that did that */
};
extern struct record_uses record_uses; /* uses.c writes it */

/* ---- states.c: facts of iterations; state that was saved, restored or set ---- */

void record_fact(const struct record_iteration *it, const char *key, const char *value);
/* action, via, path, place, value. Its number, for the end; 0: it is not recorded. An action that takes no
 * time: lasts 0. */
uint64_t record_state_begin(const char *const text[5], int lasts);
void record_state_end(uint64_t number);

/* ---- gpu.c: what the GPU does, where CUDA is in use ---- */

/* A thread has a batch and works on it from now on; the trainer, or one that prefetches. The first one that
 * finds CUDA in use turns CUPTI's records on. */
void record_gpu_batch(uint32_t batch, int by_trainer);
/* Before the process ends: turns them off, and writes the rest. */
void record_gpu_end(void);
/* Another profiler of the program takes CUPTI: likewise, for good. */
void record_gpu_yield(const char *to);

/* ---- loaders.c: the process's DataLoaders and the iterations made of them ---- */

/* A loader's number, for a row not seen before; its arguments are kept for the first PP_LOADERS_MAX. */
uint32_t record_loader_new(const struct pp_loader_row *row);
/* Its row, until the session is left; under the interpreter's lock. NULL: it has none, or nothing is
 * recorded. */
struct pp_loader_row *record_loader_row(uint32_t loader);
/* The object that a worker of the process's newest loader is started from was pickled to so many bytes, where
 * the thread is within iter(loader). */
void record_loader_pickled(uint64_t bytes);
/* Of the process's own loader, or in a worker of the one that it works for; NULL: it has none. */
struct pp_slow_table *record_slow_table(uint32_t loader);
/* A new epoch of it->loader, published for its workers: fills first_batch. */
void record_iteration_begin(struct record_iteration *it);
/* Its lengths, which were not asked for when it began; samples: of the data set. */
void record_iteration_lengths(struct record_iteration *it, uint64_t samples, uint64_t batches,
                              uint64_t epoch_samples);
/* Its loader has another seed now, before the workers have a task. */
void record_iteration_reseed(struct record_iteration *it, uint64_t base_seed);
/* It had been going on: so many batches have been taken, so many asked for. */
void record_iteration_resume(struct record_iteration *it, uint32_t taken, uint32_t sent);
void record_iteration_forget(const struct record_iteration *it); /* before its memory goes */
/* In a worker: the iteration of parent that has this seed and round; NULL: none. It stays mapped. */
struct pp_iteration_row *record_iteration_find(int64_t parent_pid, uint64_t base_seed, uint32_t round);
/* A worker says that a batch came out with fewer samples than asked for; the process that takes it asks how
 * many they were, 0 for as many as asked for. */
void record_short_add(struct pp_iteration_row *row, uint32_t index, uint64_t samples);
uint64_t record_short_find(const struct record_iteration *it, uint32_t index);

/* ---- requests.c: what the preloaded library saw of sockets ---- */

/* At the end of a sample: the requests that were answered since are its own. sample: PP_NO_SAMPLE where that
 * is not one. */
void record_requests(uint64_t sample, uint64_t epoch);

/* ---- worker.c: threads that make batches ---- */

/* While recording is on: the thread's state with an open lane for its samples, as a worker process or for a
 * loader without workers; else NULL. */
struct record_local *record_worker_here(void);
void record_worker_begin(struct record_local *l, int worker, int64_t parent_pid, uint64_t base_seed);
void record_batch_begin(struct record_local *l, uint64_t index, uint64_t samples); /* after index_queue.get */
/* The same for a loader without workers: the batch is made in the thread that takes it. */
void record_batch_begin_here(struct record_local *l, const struct record_mark *now, uint64_t samples);
/* PUT_WAIT has the bytes of its tensors; those behind them are a counter where they are more. */
void record_batch_put(struct record_local *l, const struct record_mark *from,
                      const struct record_handed *handed);
/* samples: of the batch; 0: not known */
void record_collate(struct record_local *l, const struct record_mark *from, uint64_t samples, int failed);
void record_sample_begin(struct record_local *l);
/* sample: its number, or with `many` how many they were. */
void record_sample_end(struct record_local *l, uint64_t sample, int many, int failed);
/* The thread has made a batch between two moments, with these reads; delay_ns: its run delay meanwhile. */
void record_loaded(struct record_local *l, const struct record_mark *from, const struct record_mark *to,
                   const struct pp_reads *reads, uint64_t delay_ns);

/* ---- slow.c: the slowest samples of each loader, by name ---- */

struct record_slow {
    struct pp_slow_table *table;
    struct pp_slow_row row;
};
/* After the end of a sample: 1 where it is one of its loader's slowest and is not among them yet; then it
 * gets a name, which may be "". */
int record_slow_is(struct record_local *l, uint64_t sample, struct record_slow *slow);
void record_slow_name(const struct record_slow *slow, const char *name);

/* ---- content.c: hashes of samples, and of the files read for them ---- */

/* A sample of the batch in work was made alone; what was read for it (reads.h). */
void record_content_files(struct record_local *l, uint64_t identity);
/* All n of the batch, about to be collated. */
void record_content(struct record_local *l, uint32_t n, const uint64_t *hashes);

/* The thread that pins memory. From now on its batch is in that state: it got it, has pinned it, has handed
 * it on; what went on until now was the phase. The lane is open. */
void record_pin_begin(struct record_local *l);
void record_pin_moves(struct record_pin *p, enum record_pin_state state, pp_phase phase);

/* ---- exchange.c: around a wait for the other ranks ---- */

void record_exchange_begin(void);
void record_exchange_end(struct record_local *l); /* after record_waited */

/* ---- consumer.c: threads that take batches ----
 *
 * The thread that takes a DataLoader's batches need not be the one that trains: it may hand them over through
 * a queue.Queue. The trainer is the thread that calls backward; without one, the process's first thread, or
 * the one that takes the batches. Its wait for a batch is DATA_WAIT, from __next__ or from the queue. A
 * thread that takes batches for it is a copy lane: GET_WAIT for __next__, PUT_WAIT for the queue. Until it is
 * known which a thread is, its first spans are held back. */

/* The lane of a thread that takes batches, by its role. 0: there is no ring. */
int record_consumer_open(struct record_local *l);
void record_trains(struct record_local *l); /* it calls backward */
void record_optimized(void);                /* an optimizer's step; of a process without backward it trains */

/* Around iter(loader): a step that was running ends with it. STARTUP has the workers that it starts, SAMPLER
 * what the sampler drew meanwhile, laid behind; both with the first batch of the iteration. Workers that stay
 * are told to begin anew: EPOCH_BOUNDARY. begin: 0 where nothing is recorded, then there is no end. */
int record_iter_begin(struct record_local *l);
void record_iter_end(struct record_local *l, const struct record_iteration *it); /* NULL: none came of it */
/* Around a draw of the sampler. begin: 0 outside of iter(loader) and __next__. */
int record_draw_begin(struct record_local *l, struct record_mark *from);
void record_draw_end(struct record_local *l, const struct record_mark *from);

void record_take_begin(struct record_local *l, struct record_iteration *it, struct record_mark *from);
/* got: 1 a batch, 0 the end of the epoch, -1 an exception */
void record_take_end(struct record_local *l, struct record_iteration *it, const struct record_mark *from,
                     int got);

/* The step that is running, if one is, until then. */
void record_put_step(struct record_local *l, const struct record_mark *until);
/* From from until now the thread that takes the batches was in phase; the step, if one is running, was
 * interrupted by it, and goes on behind it. */
void record_interrupted(struct record_local *l, const struct record_mark *from, pp_phase phase, int failed);
/* It has waited for the other ranks of the job since from, within a step: likewise */
void record_waited(struct record_local *l, const struct record_mark *from, int failed);

/* Whether what it puts into a queue may be a batch for another thread; a queue that has had none (known 0) is
 * only looked at while it holds one. */
int record_may_hand_over(struct record_local *l, int known);
/* Its oldest batch is put into h; put ends the wait. */
void record_hand_over(struct record_local *l, struct record_handover *h);
void record_handed_over(struct record_local *l, const struct record_mark *from);
/* It has got the oldest batch of h, for which it waited since from. */
void record_got_handed(struct record_local *l, const struct record_mark *from, struct record_handover *h);

/* The parts of a wait that loop.c puts. */
enum record_role record_role_of(struct record_local *l); /* as of now; its lane may still have another */
/* A batch of no DataLoader came to the thread, in a job that has one. */
void record_loop_beside(const struct record_local *l);
/* got: as record_take_end's; the step begins behind it */
void record_loop_took(struct record_local *l, const struct record_mark *from, const struct record_mark *to,
                      int got);

/* ---- loop.c: loops without a DataLoader ----
 *
 * Batches that come from a queue, a future, a pool or another framework's iterator. The wait is the outermost
 * such call in the thread that trains; without PyTorch, in the process's first thread. What lies between two
 * is the step. Calls that follow each other at once are one take: a batch of results of a pool. Where a
 * thread calls backward, so are all since the last pass: none of them is a step.
 *
 * A thread that takes from nobody and calls backward may load what it trains on: then it opens files between
 * two passes. From the first read to the end of the last sample is its wait; a sample is as long as the ones
 * before it, from open to open.
 *
 * The threads and processes that make the batches have a worker's lane: a task of a pool, or what lies
 * between two puts, is a sample; waiting for the task is DISPATCH_WAIT. They are recorded once something was
 * taken. */

/* certain: the call gives a batch and nothing else. 0: it is no wait of the loop, then there is no end. */
int record_loop_wait_begin(struct record_local *l, int certain, struct record_mark *from);
void record_loop_wait_end(struct record_local *l, int certain, const struct record_mark *from, int got);
/* A pass of backward: what was waited for until now is its batch. */
void record_loop_trains(struct record_local *l);
/* What was waited for is a batch, on which the thread works since; a wait that brought nothing was a part of
 * the step. Its lane is open. */
void record_loop_put_take(struct record_local *l);

/* Whether this thread may make what is taken. */
int record_loop_is_made(void);
/* Its next call is one of waiting for a task or handing over: what it was making is a sample. */
void record_make_pauses(struct record_local *l, int hands_over);
/* The call is over since it paused, and the next sample begins. */
void record_make_goes_on(struct record_local *l, pp_phase phase);
