#include "probe/storage/cache/cache_tally.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static const char *const names[PP_CACHE_TALLIES] = {
#define PP_CACHE_TALLY_NAME(sym, name, help) name,
    PP_CACHE_TALLY_MAP(PP_CACHE_TALLY_NAME)
#undef PP_CACHE_TALLY_NAME
};

static atomic_uint_least64_t sums[PP_CACHE_TALLIES];
static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER; /* guards said */
static char said[480];

void pp_cache_tally_add(enum pp_cache_tally which, uint64_t amount)
{
    atomic_fetch_add_explicit(&sums[which], amount, memory_order_relaxed);
}

void pp_cache_tally_set(enum pp_cache_tally which, uint64_t value)
{
    atomic_store_explicit(&sums[which], value, memory_order_relaxed);
}

void pp_cache_tally_get(uint64_t out[PP_CACHE_TALLIES])
{
    for (int i = 0; i < PP_CACHE_TALLIES; i++)
        out[i] = atomic_load_explicit(&sums[i], memory_order_relaxed);
}

const char *pp_cache_tally_name(enum pp_cache_tally which)
{
    return names[which];
}

void pp_cache_say(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    pthread_mutex_lock(&saying);
    if (!said[0])
        vsnprintf(said, sizeof(said), fmt, args);
    pthread_mutex_unlock(&saying);
    va_end(args);
}

int pp_cache_said(char *out, size_t size)
{
    pthread_mutex_lock(&saying);
    snprintf(out, size, "%s", said);
    pthread_mutex_unlock(&saying);
    return out[0] != '\0';
}

void pp_cache_tally_reset(void)
{
    for (int i = 0; i < PP_CACHE_TALLIES; i++)
        pp_cache_tally_set((enum pp_cache_tally)i, 0);
    pthread_mutex_lock(&saying);
    said[0] = '\0';
    pthread_mutex_unlock(&saying);
}
