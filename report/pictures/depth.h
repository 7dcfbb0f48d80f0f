/* report/pictures/depth.h: when each batch was finished, and when the trainer took it: the two ends of its
 * stay in the queue. They come from different threads and in any order; a batch with one end alone (abandoned
 * with its epoch, or made by the trainer itself) was never in the queue. Private to report/pictures.
 *
 * Memory: 16 bytes for each batch whose other end has not come yet. One thread. */
#ifndef PP_REPORT_PICTURES_DEPTH_H
#define PP_REPORT_PICTURES_DEPTH_H

#include <stddef.h>
#include <stdint.h>

struct pp_depth_end {
    uint64_t t_ns;
    uint32_t batch;
    int taken; /* 0: finished */
};

struct pp_depth {
    struct pp_depth_end *end;
    size_t n, room, match_at; /* the next match is tried when there are so many */
};

/* A batch that stayed from..to. */
typedef void pp_depth_fn(void *ctx, uint32_t batch, uint64_t from_ns, uint64_t to_ns);

/* 0: no memory. fn is called for the batches that are whole by now, from time to time. */
int pp_depth_put(struct pp_depth *d, struct pp_depth_end end, pp_depth_fn *fn, void *ctx);
/* Tells the rest, and frees the memory. */
void pp_depth_finish(struct pp_depth *d, pp_depth_fn *fn, void *ctx);

#endif
