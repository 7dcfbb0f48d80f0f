/* base/arena.h: memory that is freed in one call. A report and everything it points to live in one arena.
 *
 * A failed allocation is remembered: later calls return NULL too, so that a builder may check once, with
 * pp_arena_failed. */
#pragma once

#include "probe/base/std.h"

struct pp_arena_block;
struct pp_arena {
    struct pp_arena_block *newest;
    int failed;
};

void *pp_arena_alloc(struct pp_arena *a, size_t size);     /* zero-filled, aligned for any type */
char *pp_arena_copy(struct pp_arena *a, const char *text); /* NULL for NULL */
char *pp_arena_printf(struct pp_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int pp_arena_failed(const struct pp_arena *a);
void pp_arena_free(struct pp_arena *a);

/* Makes room for one more of size bytes in an array that grows by doubling; returns the new last element, or
 * NULL. */
void *pp_arena_push(struct pp_arena *a, void **array, size_t *n, size_t size);

/* Numbers in words, "5, 7-9": list (NULL: none yet), to which n ranges were added, with first-last behind it.
 * After 16 ranges "..." stands for the rest. */
const char *pp_ranges_add(struct pp_arena *a, const char *list, size_t n, int64_t first, int64_t last);
