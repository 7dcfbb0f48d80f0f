/* base/ranges.h: numbers in words: "5, 7-9". */
#ifndef PP_BASE_RANGES_H
#define PP_BASE_RANGES_H

#include "probe/base/arena.h"

#include <stdint.h>

/* list (NULL: none yet), to which n ranges were added, with first-last behind it. After 16 ranges "..."
 * stands for the rest. */
const char *pp_ranges_add(struct pp_arena *a, const char *list, size_t n, int64_t first, int64_t last);

#endif
