/* report/audit/audit_read.h: recordings as parts of an audit. Each is read twice when it is added, and once
 * more per epoch, the chunks of that epoch alone. Nothing is kept of it but some tens of bytes per epoch; up
 * to PP_AUDIT_OPEN files stay open, of more one is open at a time. */
#pragma once

#include "report/audit/audit.h"
#include "report/source/source.h"

enum { PP_AUDIT_OPEN = 32 };

struct pp_audit_file {
    struct pp_audit_part part;
    char *path;
    const struct pp_source *source; /* NULL: path is opened when it is needed */
    struct pp_source own;           /* what is open of it */
    int is_open;
    struct audit_window *windows; /* by the part's epochs */
    int visit_phase;              /* whose spans name its samples */
    int has_order;                /* lists name them: of this loader of a PyTorch job */
    struct pp_order_row loader;
};

struct pp_audit_files {
    struct pp_audit_file *file;
    size_t n, room;
};

/* Zero-initialised *f. A recording without a rank is rank 0 of 1. As pp_source_open. */
pp_status pp_audit_files_add(struct pp_audit_files *f, const char *path, struct pp_err *err);
/* The same for a source that is open, and stays so until the end (stays) or is opened anew. */
pp_status pp_audit_files_add_source(struct pp_audit_files *f, const char *path,
                                    const struct pp_source *source, int stays, struct pp_err *err);
/* PP_E_USAGE, naming both files: they are of different data sets, of one rank at the same time, or of
 * different world sizes, unless they are PyTorch jobs, which are placed by content (place.c). */
pp_status pp_audit_files_judge(struct pp_audit_files *f, struct pp_audit *out, struct pp_err *err);
void pp_audit_files_free(struct pp_audit_files *f);

/* order_read.c: what a recording of a PyTorch job says of the samples that its samplers gave (table
 * sample_order), which of these batches were trained on, and behind which it saved. Private. */

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

/* place.c: which epoch of a job, and where in it, the recording of a resumed PyTorch job goes
 * on. Its process numbers epochs from 0, so that its numbers say nothing.
 *
 *   parts -> runs of the job (all ranks) -> each behind the first is placed -> epochs of the job, and what counts
 *
 * What a killed run did behind the checkpoint that the next run goes on from does not count: the next run
 * does it again. The newest checkpoint that was seen is where it should go on; the samples say whether it
 * does:
 *   - its first samples stand there in the list of the killed epoch, or
 *   - nothing is known of what stands there, and what it gives is as long as the rest of that epoch (whatever it
 *     then uses twice or leaves out is found by counting), or
 *   - a whole epoch comes behind a checkpoint at the end of one.
 * Where its first samples stand elsewhere in what the runs before gave, they went on there: beyond what was
 * taken, samples were left out; in the order of another epoch, which then does not go on as it did, it is the
 * wrong order. Anything else cannot be told: the run is audited by itself, and the reason is given.
 *
 * Batches at the start of a run in which backward was not called, where it is called otherwise, were dropped
 * by the job on its way to that place. A run of another world size is placed by the number of its samples
 * alone. Memory: that of one set of samples. Each list is read some three times. */

struct audit_placed {
    struct pp_audit_part *parts; /* as those of the input, with epochs of the job */
    size_t n;
    const char *unknown;         /* why a run could not be placed; NULL: all are */
    struct pp_audit_span *spans; /* what the parts' epochs are */
};

/* Of parts that are not by_content nothing changes. parts and spans are the caller's to free, also after a
 * failure. */
pp_status audit_place(const struct pp_audit_input *in, struct pp_arena *arena, struct audit_placed *out,
                      struct pp_err *err);
