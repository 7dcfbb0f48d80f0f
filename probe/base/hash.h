/* base/hash.h: hashes of keys that a stranger chose. The seed is drawn anew by each reading, so that no file
 * can hold keys that share a place, and a search of a table that is at most half full ends after
 * PP_HASH_PROBES places: by chance a run of so many occurs once in 10^10 tables (a run of k places has a
 * probability of about (a e^(1-a))^k; a, the share of places in use, is 1/2; Knuth, TAOCP 3, 6.4). */
#pragma once

#include "probe/base/clock.h"
#include "probe/base/rng.h"

#include <sys/random.h>

enum { PP_HASH_PROBES = 128 };

static inline uint64_t pp_hash_seed(void)
{
    uint64_t seed;
    return getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed) ? seed
                                                                                  : pp_mix64(pp_now_ns());
}

/* h is the seed, or the hash of what came before. Any thread. */
static inline uint64_t pp_hash_text(uint64_t h, const char *text)
{
    size_t n = strlen(text);
    for (uint64_t part; n > 0; n -= n < sizeof(part) ? n : sizeof(part), text += sizeof(part)) {
        part = 0;
        memcpy(&part, text, n < sizeof(part) ? n : sizeof(part));
        h = pp_mix64(h ^ part) + n;
    }
    return pp_mix64(h);
}
