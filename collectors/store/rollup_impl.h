/* store/rollup_impl.h: what summing up (rollup.c) and writing the rows (rollup_rows.c) have in common: see
 * rollup.h. */
#ifndef PP_STORE_ROLLUP_IMPL_H
#define PP_STORE_ROLLUP_IMPL_H

#include "collectors/store/rollup.h"

#include "probe/base/hist.h"

#define SECOND_NS 1000000000u
#define PHASES 256
#define BITMAP_WORDS ((PP_HIST_BUCKETS + 63) / 64)
#define HIST_BYTES_MAX (PP_HIST_BUCKETS * 12)

struct sums {
    uint64_t n, samples, total_ns, max_ns, cpu_ns, run_delay_ns, bytes, cache_hit_kib, first_start_ns,
        last_end_ns;
};

/* One phase of the thread and second that are being gathered. A run is what came of one batch without another
 * in between: it is summed up once, and added to its batch and to the second when it ends. */
struct phase_part {
    struct sums run, sums;
    uint32_t *bucket;
    uint64_t *touched; /* a bit per bucket that is not zero, so that clearing costs what was used */
};

struct batch_part {
    uint64_t key;
    struct sums sums;
};

struct pp_rollup {
    sqlite3 *db;
    sqlite3_stmt *second, *batch, *many_batches; /* many: ROWS_AT_ONCE */
    uint64_t second_start_ns;                    /* of the phase parts, */
    uint32_t thread;                             /* as this is, */
    uint64_t last_end_ns;                        /* and this of all spans in them */
    struct phase_part *phase[PHASES];            /* NULL: none of it was seen */
    struct phase_part *running[PHASES];          /* the same of those with a run, which is of */
    uint64_t run_batch;
    uint8_t runs[PHASES];       /* which they are, */
    unsigned n_runs;            /* as many */
    struct batch_part *batches; /* [BATCH_PAIRS], of which n_batches are in use, in order of appearance */
    uint16_t *at;               /* [BATCH_SLOTS], hash of a key to its place in batches */
    uint16_t n_batches;
    int gave_up;
    uint8_t *blob;
};

/* The statements; an SQLite code. */
int pp_rollup_prepare(struct pp_rollup *r);
void pp_rollup_finalize(struct pp_rollup *r);
/* The sums and the histogram of one phase, in the second and thread that are being gathered; both are empty
 * afterwards. */
int pp_rollup_put_phase(struct pp_rollup *r, unsigned phase);
/* All batches gathered, which stay. */
int pp_rollup_put_batches(struct pp_rollup *r);
int pp_rollup_delete_batches(struct pp_rollup *r);

#endif
