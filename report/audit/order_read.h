/* report/audit/order_read.h: what a recording of a PyTorch job says of the samples that its samplers gave
 * (table sample_order), which of these batches were trained on, and behind which ones it saved. Private to
 * the room. */
#ifndef PP_REPORT_AUDIT_ORDER_READ_H
#define PP_REPORT_AUDIT_ORDER_READ_H

#include "report/audit/audit.h"
#include "report/source/source.h"

#define AUDIT_UNLISTED (PP_NO_BATCH - 1)

/* Batches that follow each other in an epoch of a loader. */
struct audit_stretch {
    uint32_t epoch, first, end;
    uint64_t samples;
    uint8_t ended, other; /* other: of a loader that is not audited */
};

struct audit_order {
    struct audit_stretch *row;  /* rising by batch, none on another; of all loaders */
    size_t n, own;              /* own: of the loader that is audited */
    struct pp_order_row loader; /* which one; ended: its samples have numbers */
    int unnumbered;             /* not all of them */
    size_t room;
    int no_memory;
};

/* Where the uses of an epoch are. */
struct audit_window {
    uint64_t from_ns, to_ns; /* of the spans that name them */
    uint32_t first, last;    /* batches that the trainer took */
    int taken, ended;        /* any; its end was recorded */
    uint32_t trained;        /* the first that was trained on, from `first` on; UINT32_MAX: none */
    uint64_t given;          /* samples that its list has */
};

/* Several loaders number their epochs each by itself: the one that gave most batches is audited, since ranks
 * may well validate on the same samples. Free with free(o->row), also after a failure. */
pp_status audit_order_read(const struct pp_source *source, struct audit_order *o, struct pp_err *err);
/* The epoch whose sampler gave the batch. PP_NO_BATCH: of another loader; AUDIT_UNLISTED: no list has it. */
uint32_t audit_order_epoch(const struct audit_order *o, uint32_t batch);

/* One pass over the trainer's spans, in their order: fills `trained` of the windows (by epoch, of which first
 * and taken are known), and the newest save of the part. */
struct audit_marks {
    const struct audit_order *order;
    struct audit_window *window;
    struct pp_audit_part *part;
    uint32_t last;                  /* batch of the audited loader that was taken last */
    int any, at_end, newest_is_own; /* there is one; the loader had no more behind it; none of another loader
                                     * has been taken since */
};
void audit_marks_chunk(struct audit_marks *m, const struct pp_span *spans, size_t n);

#endif
