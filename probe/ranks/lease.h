/* ranks/lease.h: the shards of an epoch are leased, one at a time, from a directory that all ranks of a job
 * see, so that a slow rank reads fewer of them, a rank that dies costs no data, and one may join at any time.
 *
 *   take -> a shard -> its samples are trained on -> delivered -> done
 *
 * Promise: in every epoch each shard is read to its end by at least one rank, and by one alone as long as no
 * rank dies, leaves before the end of the epoch or stands still for the expiry time. What such a rank held is
 * leased again, from the shard's beginning. A rank holds the shard that it reads and those of which samples
 * are still in its shuffle buffer or its batches; so that each such rank costs at most
 *
 *     samples of two shards + 2 x shuffle buffer + samples in batches
 *
 * that are trained on twice: a sample leaves the buffer at most twice the buffer's length after it was read
 * (shard_stream.c), and a trainer that has completed a second shard waits until the first is marked. A shard
 * counts as done when a batch behind its last sample was trained on, and not when it was read: a kill loses
 * none.
 *
 * A thread sends heartbeats, marks what is done and finds leases that were lost. Files: lease_dir.h. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

struct pp_lease_opts {
    const char *dir;    /* made if missing; its parent is not */
    uint64_t shards;    /* at least 1 */
    uint64_t list;      /* a digest of the shards' names in their order */
    uint64_t seed;      /* these two, as the shards, have to be the same on all ranks */
    int shuffled;       /* the order of the shards */
    const char *job;    /* the launcher's; "": not known, and not compared */
    uint64_t expiry_ns; /* a rank without a heartbeat for so long is taken for dead */
    uint64_t epochs;    /* of the run; 0: no end */
};

enum pp_lease_answer {
    PP_LEASE_TAKEN,
    PP_LEASE_WAIT, /* the shards that are left are with other ranks, or in this one's batches */
    PP_LEASE_OVER  /* all shards of the epoch are done */
};

struct pp_lease_counts {
    uint64_t taken, stolen; /* stolen: of those, from ranks that died or left */
    uint64_t lost;          /* to another rank */
    uint64_t held;          /* now */
    char holder[96]; /* the rank that was found most often to hold what this one waited for; "": none */
};

struct pp_lease;

/* One sentence when dir is not a directory, cannot be written, is full, or is not this job's; PP_E_EXISTS
 * when all epochs of the run are done already. */
pp_status pp_lease_join(const struct pp_lease_opts *opts, struct pp_lease **out, struct pp_err *err);

/* The reader: its next shard of this epoch, the first of order (all shards) that is free. Does not wait:
 * after PP_LEASE_WAIT ask again pp_lease_look_ns later. Epochs come in order. A failure is of the directory:
 * PP_E_TRANSIENT may pass. */
pp_status pp_lease_take(struct pp_lease *l, uint64_t epoch, const uint64_t *order, uint64_t *shard,
                        enum pp_lease_answer *answer, struct pp_err *err);
/* PP_OK, or why the directory does not take heartbeats any more: the rank has to end, for others may take
 * what it holds. */
pp_status pp_lease_failure(struct pp_lease *l, struct pp_err *err);
uint64_t pp_lease_look_ns(const struct pp_lease *l);
/* The reader: whether the lease that was taken as number `position` of its epoch is another rank's by now. */
int pp_lease_is_lost(struct pp_lease *l, uint64_t epoch, uint64_t position);

/* The trainer: all samples of the leases before number `position` of this epoch were trained on. Quick,
 * unless two shards are done that the directory does not show yet: it waits for one, for 1 s at most. */
void pp_lease_delivered(struct pp_lease *l, uint64_t epoch, uint64_t position);
/* Any thread: the next sentence on a lease that was stolen or lost, into buf; 0: no news. */
int pp_lease_news(struct pp_lease *l, char *buf, size_t size);
struct pp_lease_counts pp_lease_counts(struct pp_lease *l);

/* Marks what was delivered, and gives back what was not. NULL is fine. */
void pp_lease_leave(struct pp_lease *l);
