/* ranks/lease_dir.h: the shared directory of a job whose ranks lease shards (lease.h). Private to the lease.
 *
 *   DIR/job                 which job it is: number and names of the shards, seed, order, job id
 *   DIR/ranks/TOKEN         a rank's heartbeat: a number that grows, or "left"
 *   DIR/epoch-00003/17.0    the lease of shard 17: the token of the rank that holds it
 *   DIR/epoch-00003/17.1    a later lease of it: the rank of 17.0 died or left. The highest number counts
 *   DIR/epoch-00003/17.done all of its samples were trained on
 *
 * Files are only ever made, each by O_CREAT | O_EXCL (or link) and thus by one rank, and never removed or
 * renamed: a rank that goes on after it was stopped for any time finds what the others made, and can take
 * back nothing. Of two ranks that want the same lease, one makes the file.
 *
 * No clock of a host or a file system is read. Whether a rank is alive is judged by whoever waits: its
 * heartbeat has not changed for the expiry time by the waiter's own monotonic clock.
 *
 * The directory is a stranger's: what is read from it is bounded, names are made from numbers, links are not
 * followed. look and owner are for one thread; the others for any. */
#pragma once

#include "probe/ranks/lease.h"

enum { PP_LEASE_TOKEN = 96, PP_LEASE_MOST_TURNS = 1000, PP_LEASE_DONE = -1 };

/* A rank that holds leases which this one waits for. */
struct pp_lease_other {
    char token[PP_LEASE_TOKEN];
    char beat[32];       /* the last one read; "": none yet */
    uint64_t changed_ns; /* when it was first read */
};

struct pp_lease_dir {
    char *path;
    int fd; /* of DIR */
    char token[PP_LEASE_TOKEN];
    uint64_t shards, expiry_ns, beats;
    struct pp_lease_other *others;
    size_t n_others, others_room;
};

/* The newest lease of a shard in an epoch. */
struct pp_lease_state {
    int turn; /* -1: it was never leased */
    int done;
};

enum pp_lease_owner { PP_LEASE_ALIVE, PP_LEASE_LEFT, PP_LEASE_EXPIRED };

/* Opens or begins the directory, makes sure that it is this job's, and sends the first heartbeat. To be left
 * also after a failure. Failures are one sentence. */
pp_status pp_lease_dir_join(struct pp_lease_dir *d, const struct pp_lease_opts *o, struct pp_err *err);
/* left: the last one, which lets others take what this rank holds at once. */
pp_status pp_lease_dir_beat(struct pp_lease_dir *d, int left, struct pp_err *err);
void pp_lease_dir_free(struct pp_lease_dir *d);

pp_status pp_lease_dir_enter(struct pp_lease_dir *d, uint64_t epoch, struct pp_err *err);
/* The shard is leased for the turn-th time; PP_E_EXISTS, without a sentence: another rank has it.
 * PP_LEASE_DONE: it is marked as done, whoever did so before. */
pp_status pp_lease_dir_take(struct pp_lease_dir *d, uint64_t epoch, uint64_t shard, int turn,
                            struct pp_err *err);
/* Whether the shard was leased for the turn-th time; PP_LEASE_DONE: whether all of it was trained on. */
int pp_lease_dir_has(const struct pp_lease_dir *d, uint64_t epoch, uint64_t shard, int turn);
/* What stands there now: d->shards entries of state. An epoch that has not begun has no leases. */
pp_status pp_lease_dir_look(struct pp_lease_dir *d, uint64_t epoch, struct pp_lease_state *state,
                            struct pp_err *err);
/* How the rank is that holds that lease; token (PP_LEASE_TOKEN bytes): its name. */
enum pp_lease_owner pp_lease_dir_owner(struct pp_lease_dir *d, uint64_t epoch, uint64_t shard, int turn,
                                       char *token);
