/* report/replay/replay_impl.h: the state of one replay, and its parts. The workers with storage and slots,
 * and the reader of a stream (replay_workers.c); the copy lane, the device's decoder and the trainer
 * (replay.c, which lets all try in turn). Each leaves for the next what that waits for: finished batches in
 * `ready`, copied ones in `encoded`, batches to step on in `arrived`, free slots and device buffers. No part
 * calls another. */
#pragma once

#include "report/replay/replay.h"

/* Threads in simulated time, for the replay (replay.h). An agent sleeps until a known moment, wants CPU time,
 * or rests.
 *
 * CPU time is served by processor sharing: all who want some advance at the same rate, which depends on how
 * many they are. So an agent is done when the service that one thread gets, summed up since the beginning,
 * has grown by what it wanted; that sum is its key in one heap, the moment of waking the key of sleepers in
 * another (virtual time; Demers, Keshav, Shenker, "Analysis and simulation of a fair queueing algorithm",
 * SIGCOMM 1989). An event costs O(log n), however many sleep or run.
 *
 * No I/O, no clock, no randomness. What ends at the same moment ends in the order of agents. Times in ns. */

/* The CPUs, and who wants them beside us: see pp_replay_setup. */
struct pp_cpus {
    double ours, machine, others, groups, left;
};
/* Of each of n runnable threads of ours, 0..1. */
double pp_cpus_rate(const struct pp_cpus *cpus, double threads);

struct pp_moment {
    double at;
    int who;
};

struct pp_agents {
    double now;
    double service; /* CPU ns that an agent has had that wanted them from the beginning */
    struct pp_moment *sleeping, *running; /* heaps */
    size_t n_sleeping, n_running;
    double *rate; /* pp_cpus_rate of each n, with none beside */
    struct pp_cpus cpus;
    double beside; /* threads without an agent that want CPUs as long as the one that they help runs */
    double cpu_used, running_time; /* of all agents: served, and from asking to being served */
};

/* For agents 0..n-1, all at rest at time 0. 0: no memory. Free with pp_agents_free in any case. */
int pp_agents_init(struct pp_agents *a, int n, const struct pp_cpus *cpus);
void pp_agents_free(struct pp_agents *a);
/* Of an agent at rest. A moment that has passed, or no CPU time, ends at once: at the next pp_agents_next. */
void pp_agents_sleep(struct pp_agents *a, int who, double until);
void pp_agents_run(struct pp_agents *a, int who, double cpu_ns);
/* Lets time pass until the next agent is done, which rests then; -1: all rest. */
int pp_agents_next(struct pp_agents *a);

/* ---- one replay ---- */

/* Who waits, or what is ready, in order of coming. There is room for all there are. */
struct line {
    size_t *at;
    size_t room, head, n;
};

struct worker {
    int stage; /* of the sample at hand; 0: none */
    size_t slot, sample;
    uint64_t epoch;
    int starts_again; /* for this epoch, before the sample at hand */
    double parked_at; /* since when it waits for a slot */
    /* with batches per worker: */
    struct line given; /* slots of its batches that it has not begun */
    size_t open;       /* slot + 1 of the one at hand; 0: none */
    int parked;
    /* with reads ahead: */
    uint64_t first, end; /* claims that it holds: the one at hand, and behind the newest */
    int holds, waits;    /* one is at hand; its read is waited for */
};

/* A claim of a worker's that is read ahead. */
struct ahead {
    int stage; /* W_READ_LATENCY and on; W_NO_SAMPLE: it has been read */
    size_t slot, sample;
};

/* Of a batch in flight, until it has been copied; with batches per worker, until the trainer takes it. */
struct slot {
    uint64_t batch, epoch;
    size_t worker; /* that it was given to */
    uint64_t samples, claimed, unfinished, on_device;
    uint64_t first; /* with batches per worker: its first sample */
};

struct sim {
    const struct pp_replay_setup *s;
    const struct pp_replay_sample *samples;
    size_t n;
    uint64_t batches;

    struct pp_agents agents; /* the workers, then the copy lane, the trainer, the device's decoder */
    struct worker *workers;
    struct ahead *ahead; /* s->inflight of each worker; the agents behind the decoder. NULL: none are ahead */
    size_t reads_each;   /* 0: none are ahead */
    int copy, trainer, decoder;
    struct line parked;    /* workers for whom there is no slot */
    struct line lock_line; /* workers who wait for the lock */
    int locked;

    struct slot *slots;
    struct line free_slots, ready;
    size_t n_slots;
    size_t *finished; /* in order: slot + 1, by batch % n_slots, of those that wait for an earlier batch */
    size_t open;      /* slot + 1 of the batch that is being claimed; 0: none */
    uint64_t next_open, next_sample, next_ready;
    uint64_t epoch, epoch_left; /* samples of it that are in no batch yet */
    uint64_t epoch_batches;     /* of a whole one; 0: they do not drain */
    size_t turn;                /* the worker that is given the next batch, in order */
    struct line roomy;          /* out of order: workers that may be given one, once for each */
    double last_opened;         /* when there were no more batches to begin */
    int reader;                 /* the agent that reads a stream */
    int reader_stage;           /* W_READ_LATENCY and on; W_NO_SAMPLE: it waits for room */
    uint64_t read;              /* samples that it has read */
    size_t items;               /* that it has read or begun, and no worker has finished */
    double storage_free;        /* when the link has moved what was asked of it so far */
    double read_waited;         /* of all reads, for the answer */

    int copy_stage;
    size_t copied; /* the slot under way */
    double copy_idle_since;
    double device_done; /* when copies on the link and decodes that have begun will have ended */
    int buffers_used;
    struct line encoded; /* slots that have been copied and hold samples for the device's decoder */
    int decoding;
    size_t decoded;      /* the slot under way there */
    struct line arrived; /* batches on the device, waiting for their step: how many samples each has */
    struct line held;    /* with batches per worker, their slots */

    int trainer_stage;
    uint64_t stepped, stepping,
        half_samples; /* batches; samples of the one under way, and of those of the second half */
    double wait_since, waited, half_time, half_waited, slot_waited;
    double settled_since, settled_time, first_waits; /* epochs that drain */
    uint64_t settled_samples, n_first_waits;
};

static inline int line_init(struct line *q, size_t room)
{
    *q = (struct line){.at = calloc(room, sizeof(*q->at)), .room = room};
    return q->at != NULL;
}

static inline void line_join(struct line *q, size_t item)
{
    q->at[(q->head + q->n++) % q->room] = item;
}

static inline size_t line_leave(struct line *q)
{
    size_t item = q->at[q->head];
    q->head = q->head + 1 == q->room ? 0 : q->head + 1;
    q->n--;
    return item;
}

enum { T_WAITING, T_BLOCKED, T_CPU, T_SYNC, T_COLLECTIVE, T_EPOCH_GAP, T_DONE };

/* Begin what can begin now. 0: nothing does. */
int pp_sim_try_work(struct sim *m);
int pp_sim_try_read(struct sim *m);

/* Go on where the agent's stage has ended: of a worker, of a read ahead, of the stream's reader, ... */
void pp_sim_work_on(struct sim *m, int worker);
void pp_sim_read_on(struct sim *m, int who);
void pp_sim_reader_on(struct sim *m);
