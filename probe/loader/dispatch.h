/* loader/dispatch.h: who does which row of which batch next. One lock, taken once per sample; everything a
 * claim needs is decided under it, so that rows get their samples in sampler (or stream) order, in any
 * worker.
 *
 *   free slots -> claim(row, row, row ...) -> rows finished in any order -> last one hands the slot over
 *     -> ready queue, in batch order
 *   (or as finished) -> copy lane -> release -> free slots
 *
 * Backpressure is the free slots: a claim that would open a batch waits for one (slot_wait). In streaming
 * mode a claim also waits for the reader's next item (dispatch_wait). */
#pragma once

#include "probe/loader/loader.h"
#include "probe/loader/queue.h"

#include <stdatomic.h>

struct pp_row_input; /* loader/decoding.c */
struct pp_thread;    /* pipeprobe/pipeprobe.h */

/* A batch in the making: pinned memory for the samples, ordinary memory for the rest. Owned by the
 * dispatcher; held by its workers from claim until remaining is 0, then by the lane that takes it from the
 * ready queue until pp_dispatch_release. */
struct pp_slot {
    uint8_t *data;
    int64_t *labels; /* batch_size each */
    uint64_t *indexes;
    uint8_t *usable; /* row holds a sample; 0: skipped because of an error */
    uint64_t batch;  /* number over the whole run */
    uint64_t epoch;
    uint64_t end_position;          /* samples of the epoch consumed once this batch is delivered */
    struct pp_stream_cursor cursor; /* streaming: of the last row */
    uint32_t planned;               /* rows it is to have; a stream's last batch may end up with fewer */
    uint32_t rows;                  /* claimed */
    uint32_t valid;                 /* after collate: usable rows, moved to the front */
    int copied;                     /* to the device, at least once: cached_batches copies it no more */
    int discard;                    /* a stream's short last batch under drop_last: not delivered */
    _Atomic uint32_t remaining;     /* rows not finished yet */
    struct pp_row_input *inputs;    /* batch_size, the loader's: decoding.c; NULL: none is decoded later */
};

/* Streaming: one sample on its way from the reader to a worker. */
struct pp_item {
    struct pp_sample sample;
    uint64_t epoch;
    struct pp_stream_cursor cursor;
    char path[512];
    int with_worker; /* under the dispatch lock: no other thread writes to it then */
};

struct pp_claim {
    struct pp_slot *slot;
    uint32_t row;
    uint64_t index;
    struct pp_item *item; /* streaming; give back with pp_dispatch_item_done */
    int only_collate;     /* no row: the batch was closed short after its last row was finished; collate and
                             pp_dispatch_finish it */
};

struct pp_dispatch {
    pthread_mutex_t lock;
    pthread_cond_t slot_free, item_ready, item_free;
    const struct pp_loader_opts *opts;
    struct pp_queue *ready; /* borrowed */

    struct pp_slot *slots;
    size_t n_slots, row_bytes;
    struct pp_slot **free_slots;
    size_t n_free;
    struct pp_meter slot_meter;

    struct pp_slot *open;     /* batch being handed out, or NULL */
    uint64_t next_batch;      /* number of the next batch to open */
    uint64_t max_steps;       /* batches to open in all, 0: no limit */
    uint64_t epoch, position; /* of the next row */
    struct pp_order *order;   /* of epoch; NULL until its first claim */
    uint64_t making;          /* batches opened but not yet in the ready queue */
    int no_more, stopped;

    struct pp_slot **finished; /* in order: finished batches waiting for an earlier one, by batch % n_slots */
    uint64_t next_ready;

    struct pp_item *items; /* streaming: a ring of items between reader and workers */
    struct pp_item **item_free_list, **item_queue;
    size_t n_items, n_item_free, item_head, item_count;
    int stream_ended;
    int flushing; /* no item comes for now: the open batch is not to wait for one */
    struct pp_meter item_meter;

    pp_status failure; /* the sampler could not make an epoch */
    struct pp_err failure_err;
};

/* The memory of all slots: n_slots x batch_size x row_bytes. */
struct pp_slot_memory {
    void *data;
    size_t n_slots, row_bytes;
};

/* opts, ready and the memory stay the caller's and must outlive the dispatcher. */
pp_status pp_dispatch_init(struct pp_dispatch *d, const struct pp_loader_opts *opts, struct pp_queue *ready,
                           const struct pp_slot_memory *memory, struct pp_err *err);
void pp_dispatch_free(struct pp_dispatch *d);

/* Worker: the next row to fill. PP_END: nothing more to do. Waits are recorded on t as slot_wait or
 * dispatch_wait; wait 0 (for who holds rows already; not when streaming): PP_E_TRANSIENT when there is none
 * now. */
pp_status pp_dispatch_claim(struct pp_dispatch *d, struct pp_thread *t, int wait, struct pp_claim *claim);
/* Worker: its row was the batch's last, by slot->remaining, and the batch is collated. */
void pp_dispatch_finish(struct pp_dispatch *d, struct pp_slot *slot);
/* Copy lane: the slot's memory may be reused. */
void pp_dispatch_release(struct pp_dispatch *d, struct pp_slot *slot);

/* Reader: an empty item (PP_END when stopping), and a filled one; NULL at the end of the whole stream. */
pp_status pp_dispatch_item_get(struct pp_dispatch *d, struct pp_item **item);
void pp_dispatch_item_put(struct pp_dispatch *d, struct pp_item *item);
/* Reader: nothing comes for some time. Batches that are begun are finished with fewer rows once the items
 * that were put are used. 0: the run takes no more items. */
int pp_dispatch_flush(struct pp_dispatch *d);
/* Worker: the item's bytes are used up. */
void pp_dispatch_item_done(struct pp_dispatch *d, struct pp_item *item);

struct pp_dispatch_now {
    size_t free_slots;
    int idle; /* streaming: every sample that the reader put has been copied to the device, or left out */
    int stopped;
};
struct pp_dispatch_now pp_dispatch_look(struct pp_dispatch *d);
/* No further batches; those opened are finished and delivered. at_once: every claim ends, the ready queue
 * closes. */
void pp_dispatch_end(struct pp_dispatch *d, int at_once);
