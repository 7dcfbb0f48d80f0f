/* ranks/collective_file.h: the file that the ranks of a run share (collective.h): a line per rank, a bell,
 * and locks that say who is alive. Private to the collective step.
 *
 * Two kinds of bytes are locked, whatever stands in them, by the open file description (F_OFD_SETLK), so that
 * the kernel unlocks them when the process ends, however it ends: the door, while the file is begun, joined
 * or left; and a place per rank, for as long as the rank is there. */
#ifndef PP_RANKS_COLLECTIVE_FILE_H
#define PP_RANKS_COLLECTIVE_FILE_H

#include "probe/ranks/collective.h"

#include <stdatomic.h>
#include <stddef.h>

/* What a rank is to the others. It comes in once, behind the door; what becomes of it is said by compare and
 * swap, by itself (LEFT) or by the rank that finds it. */
enum { PP_RANK_ABSENT, PP_RANK_HERE, PP_RANK_LEFT, PP_RANK_DIED, PP_RANK_LATE, PP_RANK_NEVER_CAME };

/* A cache line per rank, of which all but the state is written by that rank alone. */
struct pp_rank_line {
    _Atomic uint32_t state, pid;
    _Atomic uint64_t meetings;   /* it came to; the first is before the first step */
    _Atomic uint64_t came_ns[2]; /* to the newest of them and the one before, by the lowest bit of their
                                    number: who is one ahead overwrites nothing that is still read */
    uint64_t unused[4];
};

struct pp_ranks_shared {
    char magic[8];
    uint32_t world_size;
    _Atomic uint32_t bell; /* what waiters sleep on */
    uint64_t unused[6];
    struct pp_rank_line line[];
};

struct pp_ranks_file {
    char *path;
    int fd;
    struct pp_ranks_shared *shared;
    size_t size;
};

/* Opens or begins the file and takes the place of opts->rank. Errors as pp_collective_join. To be left also
 * after a failure. */
pp_status pp_ranks_file_join(struct pp_ranks_file *f, const struct pp_collective_opts *opts,
                             struct pp_err *err);
/* Whether a process holds that place. */
int pp_ranks_file_has(const struct pp_ranks_file *f, uint32_t rank);
/* Gives up the place; the last one takes the file away. */
void pp_ranks_file_leave(struct pp_ranks_file *f);

void pp_ranks_file_ring(struct pp_ranks_file *f);
/* Until the bell is no longer what it was, ns at most. */
void pp_ranks_file_sleep(struct pp_ranks_file *f, uint32_t was, long ns);

#endif
