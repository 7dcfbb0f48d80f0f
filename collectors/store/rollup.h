/* store/rollup.h: what is summed up while chunks are written, so that a live view and the report of a long
 * run need not read every span.
 *
 * Per second: parts, one per thread and phase that ended spans in that second since the last commit (more
 * when threads take turns), with a histogram of durations. Per batch: parts too, sums per phase, gathered in
 * memory until commit. A second is end_ns / 1e9 on CLOCK_MONOTONIC.
 *
 * Histogram blob: varint pairs (buckets since the one before, count) on the grid of base/hist.h (error below
 * 0.4 %), see hist_blob.h. */
#ifndef PP_STORE_ROLLUP_H
#define PP_STORE_ROLLUP_H

#include "collectors/store/chunk.h"

#include <pipeprobe/phase.h>
#include <pipeprobe/span.h>
#include <pipeprobe/status.h>

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct pp_rollup;

/* Statements are prepared on db, which must outlive the roll-up. NULL: no memory or no such tables. */
struct pp_rollup *pp_rollup_new(sqlite3 *db);
void pp_rollup_free(struct pp_rollup *r);

/* Adds n spans (at least 1) of one thread, in the order recorded; their parts are written when another second
 * or thread begins, and at commit. shape: of the block they lie in; the less varies in it, the less an
 * addition costs. Returns an SQLite code. */
int pp_rollup_add(struct pp_rollup *r, uint32_t thread, const struct pp_span *spans, size_t n,
                  const struct pp_chunk_shape *shape);
/* Writes what was gathered since the last commit, so that it becomes part of the same transaction. Returns an
 * SQLite code. */
int pp_rollup_commit(struct pp_rollup *r);
/* Batches came too fast (over 4096 batch-phase pairs between two commits): per-batch sums were given up and
 * their table emptied. */
int pp_rollup_gave_up_batches(const struct pp_rollup *r);

#endif
