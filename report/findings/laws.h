/* report/findings/laws.h: operational laws that every recording obeys, whatever the pipeline does; one that
 * does not contradicts itself and is not judged.
 *
 * - Utilisation law (U = X S <= 1; Denning and Buzen, The Operational Analysis of Queueing Network Models,
 * 1978): a thread cannot spend the same time twice, nor have more CPU time and run-queue delay than time; all
 * threads together cannot have more CPU time than the usable CPUs give.
 * - Service-rate law (X <= servers / demand) with flow balance: as many samples leave the workers as the
 * trainer gets, up to what can be in flight, and no lane delivers more than its threads could at the cost
 * they recorded.
 * - Little's law (N = X R): the depth that each queue measured itself is that which follows from when the
 * spans say batches came and went.
 *
 * A check whose two sides were not both recorded (no queues, less detail, no batch numbers, a foreign loader
 * whose prefetch is not known) is left out. */
#ifndef PP_REPORT_FINDINGS_LAWS_H
#define PP_REPORT_FINDINGS_LAWS_H

#include "probe/base/arena.h"
#include "report/measure/tally.h"
#include "report/model/model.h"

enum pp_law { PP_LAW_UTILISATION, PP_LAW_SERVICE, PP_LAW_LITTLE, PP_LAWS };

struct pp_laws {
    double off[PP_LAWS];        /* by how much it is broken at worst, as a share; NAN: not checked */
    const char *where[PP_LAWS]; /* what disagrees there, in the arena; "" when not checked */
    double bound_share;         /* throughput over the tightest service-rate bound; NAN: none known */
    const char *bound; /* "the workers", "the trainer", "the copy lane", "the CPUs"; NULL: none known */
};

struct pp_laws_pass;

/* One pass over all spans, after the tally: begin, every chunk, end. begin returns NULL without memory; end
 * accepts NULL, frees the pass and fills out. */
struct pp_laws_pass *pp_laws_begin(const struct pp_source *source, const struct pp_timeline *timeline);
int pp_laws_chunk(struct pp_laws_pass *p, uint32_t thread, const struct pp_span *spans,
                  size_t n); /* non-zero: no memory */
void pp_laws_end(struct pp_laws_pass *p, const struct pp_tally *tally, const struct pp_report *r,
                 struct pp_arena *arena, struct pp_laws *out);

#endif
