#include "report/measure/part.h"

#include <math.h>

enum { MOST_WARMUP = 1 << 20 };

/* Of the trainer; where that is not told, of the recording. NAN: it still goes on. */
static double when(const struct pp_source *source, const char *trainer, const char *recording)
{
    double ns = pp_source_number(source, "result", trainer, NAN);
    return isnan(ns) ? pp_source_number(source, "run", recording, NAN) : ns;
}

struct pp_part pp_part_judged(const struct pp_source *source)
{
    struct pp_part part = {.which = PP_PART_WHOLE, .to_ns = UINT64_MAX};
    double lost = pp_source_number(source, "decode", "lost_mono_ns", NAN),
           gave_up = pp_source_number(source, "decode", "gave_up_mono_ns", NAN),
           start = when(source, "trainer_start_mono_ns", "started_mono_ns"),
           end = when(source, "trainer_end_mono_ns", "ended_mono_ns"),
           warmup = pp_source_number(source, "config", "warmup", 0), changed = isnan(lost) ? gave_up : lost;
    if (!(changed > 0 && changed < 0x1p63) || changed <= start || changed >= end)
        return part;
    if (changed - start >= end - changed) { /* false where one of them is not known */
        part.which = PP_PART_BEFORE;
        part.to_ns = (uint64_t)changed;
    } else {
        part.which = PP_PART_AFTER;
        part.from_ns = (uint64_t)changed;
        part.warmup = warmup > 0 && warmup < MOST_WARMUP ? (uint64_t)warmup : 0;
    }
    return part;
}
