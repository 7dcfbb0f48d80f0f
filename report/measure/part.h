/* report/measure/part.h: the part of a run that is judged, of one whose pipeline changed under way: it lost
 * its GPU, or the GPU gave up decoding, and the CPU took over. Before and after are two pipelines, and a mean
 * of both is true of neither: the longer part is judged. Of a run that still goes on it is the newer one.
 *
 * Likewise of a run whose loader was changed while it was iterated (exec --tune): rows of section
 * "loader_change" say when it got which num_workers and prefetch_factor, and the longest stretch of those
 * that it had last is judged. */
#ifndef PP_REPORT_MEASURE_PART_H
#define PP_REPORT_MEASURE_PART_H

#include "report/source/source.h"

enum pp_part_which { PP_PART_WHOLE, PP_PART_BEFORE, PP_PART_AFTER, PP_PART_SETTING };

struct pp_part {
    enum pp_part_which which;
    uint64_t from_ns, to_ns; /* batches within are judged; 0 and UINT64_MAX: all */
    uint64_t warmup;         /* batches of the part that are not: they fill the pipeline again */
};

struct pp_part pp_part_judged(const struct pp_source *source);

#endif
