/* report/replay/replay_impl.h: the state of one replay (replay.h), for the rooms it is made of: the workers
 * with storage and slots (replay_workers.c), the copy lane and the trainer (replay_lanes.c), and what sets
 * them going (replay.c). Each tells the others by what it leaves behind: finished batches in `ready`, batches
 * on the device in `arrived`, free slots and device buffers; nobody calls anybody. */
#ifndef PP_REPORT_REPLAY_REPLAY_IMPL_H
#define PP_REPORT_REPLAY_REPLAY_IMPL_H

#include "report/replay/agents.h"
#include "report/replay/replay.h"

struct pp_replay_worker {
    int stage; /* of the sample at hand; 0: none */
    size_t slot, sample;
    uint64_t epoch;
    int starts_again; /* for this epoch, before the sample at hand */
    double parked_at; /* since when it waits for a slot */
};

/* Of a batch in flight, until it has been copied. */
struct pp_replay_slot {
    uint64_t batch, epoch;
    uint64_t samples, claimed, unfinished;
};

/* Who waits, or what is ready, in order of coming. There is room for all there are. */
struct pp_line {
    size_t *at;
    size_t room, head, n;
};

struct pp_sim {
    const struct pp_replay_setup *s;
    const struct pp_replay_sample *samples;
    size_t n;
    uint64_t batches;

    struct pp_agents agents; /* the workers, then the copy lane, then the trainer */
    struct pp_replay_worker *workers;
    int copy, trainer;
    struct pp_line parked;    /* workers for whom there is no slot */
    struct pp_line lock_line; /* workers who wait for the lock */
    int locked;

    struct pp_replay_slot *slots;
    struct pp_line free_slots, ready;
    size_t n_slots;
    size_t *finished; /* in order: slot + 1, by batch % n_slots, of those that wait for an earlier batch */
    size_t open;      /* slot + 1 of the batch that is being claimed; 0: none */
    uint64_t next_open, next_sample, next_ready;
    uint64_t epoch, epoch_left; /* samples of it that are in no batch yet */
    double last_opened;         /* when there were no more batches to begin */
    double storage_free;        /* when the link has moved what was asked of it so far */
    double read_waited;         /* of all reads, for the answer */

    int copy_stage;
    size_t copied; /* the slot under way */
    double copy_idle_since, copy_link_done;
    int buffers_used;
    struct pp_line arrived; /* batches on the device, waiting for their step: how many samples each has */

    int trainer_stage;
    uint64_t stepped, stepping,
        half_samples; /* batches; samples of the one under way, and of those of the second half */
    double wait_since, waited, half_time, half_waited, slot_waited;
};

void pp_line_join(struct pp_line *line, size_t item);
size_t pp_line_leave(struct pp_line *line);

/* Each lets begin what can begin now, and says whether anything did. */
int pp_replay_try_work(struct pp_sim *m);
int pp_replay_try_copy(struct pp_sim *m);
int pp_replay_try_step(struct pp_sim *m);
/* What a worker, the copy lane, the trainer was at has ended: on to the next. */
void pp_replay_work_on(struct pp_sim *m, int worker);
void pp_replay_copy_on(struct pp_sim *m);
void pp_replay_step_on(struct pp_sim *m);

#endif
