/* base/array.h: arrays that grow, the order of what they hold, and lists. No locks: each is its owner's. */
#pragma once

#include "probe/base/std.h"

/* Room for `need` items of `item` bytes in *array (the address of a pointer: NULL, or from malloc), which has
 * room for *cap: at least doubled by realloc, so that adding one at a time takes time in proportion. What is
 * new is not zeroed. Returns 1, or 0 without memory, and then nothing has changed. Any thread.
 *
 *     if (!pp_grow(&t->row, &t->cap, t->n + 1, sizeof(*t->row)))
 *         return pp_fail(err, PP_E_NO_MEMORY, ...);
 *     t->row[t->n++] = row;
 */
int pp_grow(void *array, size_t *cap, size_t need, size_t item);

/* -1, 0 or 1, for numbers of any one type. */
#define PP_COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

/* A comparator for qsort and bsearch, ascending. PP_BY: structs by a member; PP_BY_FALLING: the largest
 * first; PP_BY_BOTH: by one, then by another; PP_BY_POINTER: pointers to structs.
 *
 *     PP_BY(by_start, struct span, start_ns)
 *     qsort(spans, n, sizeof(*spans), by_start);
 */
#define PP_BY(name, type, member) \
    static int name(const void *a, const void *b) \
    { \
        return PP_COMPARE(((const type *)a)->member, ((const type *)b)->member); \
    }
#define PP_BY_FALLING(name, type, member) \
    static int name(const void *a, const void *b) \
    { \
        return PP_COMPARE(((const type *)b)->member, ((const type *)a)->member); \
    }
#define PP_BY_BOTH(name, type, first, second) \
    static int name(const void *a, const void *b) \
    { \
        const type *x = a, *y = b; \
        return x->first != y->first ? PP_COMPARE(x->first, y->first) : PP_COMPARE(x->second, y->second); \
    }
#define PP_BY_POINTER(name, type, member) \
    static int name(const void *a, const void *b) \
    { \
        return PP_COMPARE((*(const type *const *)a)->member, (*(const type *const *)b)->member); \
    }

/* Arrays of plain numbers (no NAN), and of strings in the order of strcmp. */
int pp_by_u64(const void *a, const void *b);
int pp_by_i64(const void *a, const void *b);
int pp_by_float(const void *a, const void *b);
int pp_by_double(const void *a, const void *b);
int pp_by_text(const void *a, const void *b);

/* How many of n stand before the first for which is_before, of the i-th, does not hold; it holds for none
 * behind. */
#define PP_BEFORE(n, i, is_before) \
    ({ \
        size_t before_low = 0, before_high = (n); \
        while (before_low < before_high) { \
            size_t i = before_low + (before_high - before_low) / 2; \
            if (is_before) \
                before_low = i + 1; \
            else \
                before_high = i; \
        } \
        before_low; \
    })

/* Takes an item out of the list of pointers that hang on `next`, if it is in it. */
#define PP_UNLINK(list, item) \
    do { \
        __typeof__(list) *unlink_at = &(list); \
        while (*unlink_at && *unlink_at != (item)) \
            unlink_at = &(*unlink_at)->next; \
        if (*unlink_at) \
            *unlink_at = (*unlink_at)->next; \
    } while (0)

/* Which of n rising numbers, `stride` bytes from one to the next, is the last that is at most `value`; 0
 * where none is. */
size_t pp_last_at(const uint64_t *first, size_t n, size_t stride, uint64_t value);
