/* report/build/decode.h: what the GPU decoded (run --decode), as the recording's section "decode" tells. */
#ifndef PP_REPORT_BUILD_DECODE_H
#define PP_REPORT_BUILD_DECODE_H

#include "probe/base/arena.h"
#include "report/measure/timeline.h"
#include "report/model/model.h"
#include "report/source/source.h"

/* NULL: nothing was decoded on a GPU, or the arena has no memory, which fails the report as a whole. */
const struct pp_report_decode *pp_decode_read(const struct pp_source *source,
                                              const struct pp_timeline *timeline, struct pp_arena *arena);

#endif
