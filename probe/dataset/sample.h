/* dataset/sample.h: the bytes of one sample, in a buffer that its reader keeps. */
#ifndef PP_DATASET_SAMPLE_H
#define PP_DATASET_SAMPLE_H

#include <pipeprobe/status.h>

#include <stddef.h>
#include <stdint.h>

/* One sample's bytes. The buffer belongs to the reader (one per worker) and is reused and grown
 * geometrically: zero-initialise, then hand the same struct to every call; free with pp_sample_free. data may
 * instead point into a mapping (tokens): then it is borrowed until the dataset closes. */
struct pp_sample {
    const uint8_t *data;
    size_t size;
    int64_t label;  /* class index, value of .cls, or -1 */
    uint64_t index; /* dataset index; in streaming mode the running number in stream order before shuffling */
    /* how the bytes came; feeds the read span */
    int cache_known;
    size_t cache_hit_bytes;
    /* owned buffer */
    uint8_t *buf;
    size_t cap;
    size_t limit;   /* of cap, the reader's to set; 0: PP_SAMPLE_MEMORY */
    uint64_t grown; /* times buf was reallocated (allocations are counted) */
};
void pp_sample_free(struct pp_sample *s);

size_t pp_sample_limit(const struct pp_sample *s);
/* Gives back a buffer that one huge sample needed: before the next one is read. */
void pp_sample_trim(struct pp_sample *s);
/* Makes room for n bytes in the sample's own buffer (counted in grown) and points data at it.
 * PP_E_UNSUPPORTED, naming `what`, beyond the limit. */
pp_status pp_sample_reserve(struct pp_sample *s, uint64_t n, const char *what, struct pp_err *err);

#endif
