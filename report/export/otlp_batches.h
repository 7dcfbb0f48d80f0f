/* export/otlp_batches.h: which batches of a recording are exported, and their spans: two walks over the
 * chunks. Private to otlp_traces.c. */
#ifndef PP_EXPORT_OTLP_BATCHES_H
#define PP_EXPORT_OTLP_BATCHES_H

#include "report/source/source.h"

struct otlp_batch {
    uint32_t batch, chosen; /* chosen: 1 + the place in the order of delivery; 0: left out */
    uint32_t spans;
    uint64_t wait_ns; /* of the trainer for it */
};

struct otlp_span {
    uint32_t place, thread; /* place of its batch; thread as the recording numbers it */
    struct pp_span span;
};

struct otlp_batches {
    struct otlp_batch *slot; /* a table by hash, 2^bits */
    unsigned bits;
    size_t n;
    uint64_t spans, spans_alone, damaged_chunks;
    struct otlp_batch **order; /* those chosen, in the order of delivery */
    size_t n_order;
    struct otlp_span *span; /* of those, in the order of delivery */
    size_t n_span, cap_span;
};

/* Free in any case. max_spans: at about as many the choice ends, but not before a batch. */
pp_status otlp_batches_read(const struct pp_source *source, uint64_t max_spans, struct otlp_batches *b,
                            struct pp_err *err);
void otlp_batches_free(struct otlp_batches *b);

#endif
