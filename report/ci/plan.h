/* ci/plan.h: in which order repeated runs are made, and how many. All of it is fixed before the first run. */
#pragma once

#include "probe/base/std.h"

enum pp_ci_side { PP_CI_BASE, PP_CI_HEAD };

/* Of run i (from 0) of a comparison: ABBA ABBA ..., so that a machine that drifts hits both sides alike, and
 * neither always comes first. */
static inline enum pp_ci_side pp_ci_abba(size_t i)
{
    return (enum pp_ci_side)((i / 2 + i) % 2);
}

/* At most two looks: one after `runs` on each side, and, only when that one is inconclusive, one after
 * max_runs. Together they have all of alpha (compare.h: look_share), so the second costs no false alarms. The
 * first has four fifths: seven pairs can show p = 1/128 = 0.0078, which half of 0.01 would not allow, and
 * twice as many runs find with the rest what there is to find. */
static inline double pp_ci_look_share(size_t runs, size_t max_runs, int second)
{
    return max_runs <= runs ? 1 : second ? 0.2 : 0.8;
}
