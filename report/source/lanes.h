/* source/lanes.h: worker processes as the lanes that they are. A DataLoader without persistent workers forks
 * its workers again for every epoch: worker 0 of each epoch is one lane with several generations, and not as
 * many workers that are idle most of the time; so are the threads of a pool ("pool") that is made for every
 * batch, and the thread of every epoch that fetches ahead ("prefetch", and "worker 0" for what it makes).
 * Also, processes that share a name ("python") become "worker 0", "worker 1", ... Pure functions. */
#pragma once

#include "collectors/store/reader.h"

/* When a thread recorded. */
struct pp_lane_life {
    uint64_t first_ns, last_ns; /* first_ns > last_ns: nothing */
};

struct pp_lane_place {
    size_t row;        /* whose lane it is: the first generation's row; its own for all others */
    size_t generation; /* from 0 */
    size_t number;     /* of the lane among worker processes, in the order of their start; SIZE_MAX: not a
                          worker process */
};

/* 1: there may be something to join: worker processes besides the trainer's. Cheap. */
int pp_lanes_wanted(const struct pp_thread_row *rows, size_t n);
/* Fills place[n]. A worker process takes the place of the first lane of its name whose process has ended.
 * Returns the number of generations (at least 1), or 0 without memory. */
size_t pp_lanes_join(const struct pp_thread_row *rows, const struct pp_lane_life *life, size_t n,
                     struct pp_lane_place *place);
/* 1: the lane's row should be called "worker NUMBER": its name is another row's too. */
int pp_lanes_unnamed(const struct pp_thread_row *rows, size_t n, const struct pp_lane_place *place,
                     size_t row);
