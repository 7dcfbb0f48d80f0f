/* ranks/collective.h: the collective step of data-parallel training: the ranks of one run on one machine,
 * each a process of its own, meet after every step as an all-reduce makes them, so that all go at the pace of
 * the slowest.
 *
 * They share a small file, mapped. Each rank has a line in it that it alone writes: how many meetings it came
 * to, and when. A meeting is over for a rank when every rank that takes part has come to it; no rank counts
 * for the others, so that a rank may die between any two instructions and leave nothing half done. The
 * last one wakes the others (a futex on the shared page); a waiter also looks by itself every 50 ms.
 *
 * That a rank is alive is a lock on a byte of the file (of its open file description), which the kernel takes
 * away with the process. A rank that died, left, or did not come within the limit is no longer waited for,
 * which pp_collective_news says once; the last one to leave removes the file. A file without a lock
 * is of a dead run and is begun anew.
 *
 * Times are CLOCK_MONOTONIC, one clock for all processes of a machine (of one time namespace). One thread per
 * struct pp_collective. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

enum { PP_COLLECTIVE_RANKS = 1024 };

struct pp_collective_opts {
    const char *path;
    uint32_t rank, world_size; /* 0 <= rank < world_size, 2 <= world_size <= PP_COLLECTIVE_RANKS */
    uint64_t limit_ns; /* how long a rank that does not begin, or does not come to a meeting, is waited for */
};

struct pp_meeting {
    uint32_t last_rank; /* who came last */
    uint64_t others_ns; /* from the meeting before until the last of the other ranks came: what a step takes
                           them, however long it takes this one */
};

struct pp_collective;

/* Takes this rank's place without waiting. PP_E_USAGE: the file belongs to a run of another size, or is no
 * such file; PP_E_EXISTS: the rank is taken, or had its place and lost it. */
pp_status pp_collective_join(const struct pp_collective_opts *opts, struct pp_collective **out,
                             struct pp_err *err);

/* Asked every 50 ms of a wait; non-zero ends it. */
typedef int pp_collective_look(void *ctx);

/* The meeting after a step. PP_OK: all who take part came, *out is filled; PP_END: no other rank came, for
 * this one is alone or was left behind, and does not wait from now on; PP_E_INTERRUPTED: look said so.
 *
 * out NULL: the first meeting, before the first step: waits for ranks that have not begun, up to the limit,
 * and for those that have and are not ready, without one. PP_OK: go on; PP_E_INTERRUPTED. */
pp_status pp_collective_meet(struct pp_collective *c, pp_collective_look *look, void *ctx,
                             struct pp_meeting *out);
int pp_collective_is_alone(const struct pp_collective *c);

/* One sentence on ranks that are not waited for any longer, since it was last asked; NULL: nothing new. Valid
 * until the next call with c. */
const char *pp_collective_news(struct pp_collective *c);

/* Gives up the place; the others no longer wait for this rank. NULL is fine. */
void pp_collective_leave(struct pp_collective *c);
