/* report/findings/shuffle.h: how good the shuffle of a streamed run was (run --stream), from the order in
 * which the reader handed the samples out. Its counters stream_shard and stream_shard_first say which shard
 * begins with which number, and the span of a sample has its number; so that of each sample are known the
 * places between its stored one and the one it came at, and the others of its shard in its batch.
 *
 * A full shuffle, and the buffer that would be enough, follow from the shards' size and number by the
 * formulas of sampler/shuffle_quality.h, which `plan --stream` prints before a run. Memory: 20 bytes per
 * shard. */
#ifndef PP_REPORT_FINDINGS_SHUFFLE_H
#define PP_REPORT_FINDINGS_SHUFFLE_H

#include "report/findings/checks.h"

struct pp_shuffle_pass;

/* One pass over all spans, after the timeline: begin, every chunk, end. begin returns NULL without memory;
 * end accepts NULL, frees the pass and fills out. */
struct pp_shuffle_pass *pp_shuffle_begin(const struct pp_source *source, const struct pp_timeline *timeline);
int pp_shuffle_chunk(struct pp_shuffle_pass *p, uint32_t thread, const struct pp_span *spans,
                     size_t n); /* non-zero: no memory */
void pp_shuffle_end(struct pp_shuffle_pass *p, struct pp_shuffle_seen *out);

#endif
