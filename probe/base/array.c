#include "probe/base/array.h"

enum { LEAST = 16 };

/* The pointer is copied in and out: it has a type of its own, which this does not know. */
int pp_grow(void *array, size_t *cap, size_t need, size_t item)
{
    if (need <= *cap)
        return 1;
    size_t doubled = *cap <= SIZE_MAX / 2 ? *cap * 2 : need, bytes;
    size_t want = need > doubled ? need : doubled;
    if (want < LEAST)
        want = LEAST;
    void *have, *grown;
    memcpy(&have, array, sizeof(have));
    if (__builtin_mul_overflow(want, item, &bytes) || !(grown = realloc(have, bytes)))
        return 0;
    memcpy(array, &grown, sizeof(grown));
    *cap = want;
    return 1;
}

#define BY(name, type) \
    int name(const void *a, const void *b) \
    { \
        return PP_COMPARE(*(const type *)a, *(const type *)b); \
    }

BY(pp_by_u64, uint64_t)
BY(pp_by_i64, int64_t)
BY(pp_by_float, float)
BY(pp_by_double, double)

int pp_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t pp_last_at(const uint64_t *first, size_t n, size_t stride, uint64_t value)
{
    size_t before = PP_BEFORE(n, i, *(const uint64_t *)((const char *)first + i * stride) <= value);
    return before ? before - 1 : 0;
}
