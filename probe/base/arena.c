#include "probe/base/arena.h"

#include <stdarg.h>

enum { BLOCK = 16 << 10, ALIGN = 16, RANGES = 16 };

struct pp_arena_block {
    struct pp_arena_block *older;
    size_t used, size;
    _Alignas(ALIGN) char bytes[];
};

void *pp_arena_alloc(struct pp_arena *a, size_t size)
{
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    struct pp_arena_block *b = a->newest;
    if (!a->failed && (!b || b->size - b->used < size)) {
        size_t room = size > BLOCK ? size : BLOCK;
        b = calloc(1, sizeof(*b) + room);
        if (b) {
            b->size = room;
            b->older = a->newest;
            a->newest = b;
        }
    }
    if (a->failed || !b) {
        a->failed = 1;
        return NULL;
    }
    void *p = b->bytes + b->used;
    b->used += size;
    return p;
}

char *pp_arena_copy(struct pp_arena *a, const char *text)
{
    return text ? pp_arena_printf(a, "%s", text) : NULL;
}

char *pp_arena_printf(struct pp_arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *text = n < 0 ? NULL : pp_arena_alloc(a, (size_t)n + 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return text;
}

/* Capacities are powers of two, so the count alone tells when an array is full. The outgrown copy stays in
 * the arena. */
void *pp_arena_push(struct pp_arena *a, void **array, size_t *n, size_t size)
{
    size_t have = *n;
    if ((have & (have - 1)) == 0) {
        char *grown = pp_arena_alloc(a, (have ? 2 * have : 1) * size);
        if (!grown)
            return NULL;
        if (have)
            memcpy(grown, *array, have * size);
        *array = grown;
    }
    (*n)++;
    return (char *)*array + have * size;
}

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

int pp_arena_failed(const struct pp_arena *a)
{
    return a->failed;
}

void pp_arena_free(struct pp_arena *a)
{
    while (a->newest) {
        struct pp_arena_block *b = a->newest;
        a->newest = b->older;
        free(b);
    }
    a->failed = 0;
}
