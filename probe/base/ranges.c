#include "probe/base/ranges.h"

enum { RANGES = 16 };

const char *pp_ranges_add(struct pp_arena *a, const char *list, size_t n, int64_t first, int64_t last)
{
    const char *comma = list ? ", " : "";
    list = list ? list : "";
    return n > RANGES    ? list
           : n == RANGES ? pp_arena_printf(a, "%s%s...", list, comma)
           : first == last
               ? pp_arena_printf(a, "%s%s%lld", list, comma, (long long)first)
               : pp_arena_printf(a, "%s%s%lld-%lld", list, comma, (long long)first, (long long)last);
}
