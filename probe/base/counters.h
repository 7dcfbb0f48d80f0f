/* base/counters.h: sums of this process that only grow, and a few states, by name: what requests, the cache
 * and pages of columns took. The room that counts declares a set; every thread adds to it; the collector of a
 * recording (collectors/record/collectors.c) reads all sets once a second.
 *
 * A set's names are an X-list in its room's header, X(SYMBOL, "name", "what it counts"), from which the enum
 * and the set follow:
 *
 *     enum pp_door_count { PP_DOORS(PP_DOOR_ENUM) PP_DOOR_COUNTS };
 *     extern const struct pp_counter_set pp_door_counters;                       in the header
 *     PP_COUNTER_SET(pp_door_counters, PP_DOORS)                                 in one .c file
 *     pp_count(&pp_door_counters, PP_DOOR_OPENED, 1);
 */
#pragma once

#include "probe/base/std.h"

#include <stdatomic.h>

struct pp_counter_set {
    const char *const *name; /* as a recording stores them: "remote_bytes_total" */
    atomic_uint_least64_t *value;
    size_t n;
};

#define PP_COUNTER_NAME(symbol, name, what) name,
#define PP_COUNTER_SET(set, LIST) \
    static const char *const set##_name[] = {LIST(PP_COUNTER_NAME)}; \
    static atomic_uint_least64_t set##_value[sizeof(set##_name) / sizeof(*set##_name)]; \
    const struct pp_counter_set set = {set##_name, set##_value, sizeof(set##_name) / sizeof(*set##_name)};

/* Any thread. Each counter stands by itself: a request may be in one and not yet in the next. */
static inline void pp_count(const struct pp_counter_set *s, unsigned which, uint64_t amount)
{
    atomic_fetch_add_explicit(&s->value[which], amount, memory_order_relaxed);
}

static inline void pp_count_set(const struct pp_counter_set *s, unsigned which, uint64_t state)
{
    atomic_store_explicit(&s->value[which], state, memory_order_relaxed);
}

static inline uint64_t pp_counted(const struct pp_counter_set *s, unsigned which)
{
    return atomic_load_explicit(&s->value[which], memory_order_relaxed);
}
