/* loader/queue.h: the bounded first-in first-out queue between two lanes. Measures both waits and its depth
 * over time; closing it wakes everyone, and what is still inside can be taken out: draining is part of the
 * contract. Any number of threads on either side. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/status.h>

#include <pthread.h>

/* How full something bounded was, exactly: depth weighted by time, shares of time empty and full, and what
 * was waited for it on either side. The owner of the bounded thing calls it under its own lock. */
struct pp_meter {
    uint64_t capacity, depth;
    uint64_t puts, gets, put_wait_ns, get_wait_ns;
    uint64_t started_ns, changed_ns; /* first observation, last change: both, when it begins */
    uint64_t empty_ns, full_ns;
    double area; /* integral of depth over time, in items x ns */
};

/* The depth becomes `depth` at now_ns. */
void pp_meter_set(struct pp_meter *m, uint64_t depth, uint64_t now_ns);

struct pp_loader_queue;
/* Closes the account at now_ns and writes it as a queue row. */
void pp_meter_report(struct pp_meter *m, const char *name, uint64_t now_ns, struct pp_loader_queue *out);

struct pp_queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    struct pp_meter meter;
    void **items;
    size_t capacity, head, count;
    int closed;
};

pp_status pp_queue_init(struct pp_queue *q, size_t capacity, struct pp_err *err);
/* No thread may be waiting. Items still inside are the caller's affair. A zeroed struct is fine. */
void pp_queue_free(struct pp_queue *q);

/* Blocks while full. PP_END when the queue is closed: the item stays the caller's. */
pp_status pp_queue_put(struct pp_queue *q, void *item);
/* Blocks while empty, until deadline_ns (monotonic; UINT64_MAX: for ever). PP_END: closed and empty.
 * PP_E_INTERRUPTED: deadline. */
pp_status pp_queue_get(struct pp_queue *q, void **item, uint64_t deadline_ns);
void pp_queue_close(struct pp_queue *q);
size_t pp_queue_depth(struct pp_queue *q);
