#include "report/audit/seen.h"

#include "report/audit/audit.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512 }; /* words: a page */

static int grow(struct pp_seen *s, uint64_t word)
{
    size_t words = s->words ? s->words : 16 * BLOCK;
    while (words <= word)
        words *= 2;
    uint64_t *bits = realloc(s->bits, words * sizeof(*bits));
    if (!bits)
        return 0;
    s->bits = bits;
    uint8_t *touched = realloc(s->touched, words / BLOCK);
    if (!touched)
        return 0;
    s->touched = touched;
    memset(bits + s->words, 0, (words - s->words) * sizeof(*bits));
    memset(touched + s->words / BLOCK, 0, (words - s->words) / BLOCK);
    s->words = words;
    return 1;
}

enum pp_watch_answer pp_seen_add(struct pp_seen *s, uint64_t sample)
{
    uint64_t word = sample / 64, bit = UINT64_C(1) << sample % 64;
    if (sample >= PP_AUDIT_EXACT)
        return pp_watch_see(&s->watch, sample, 0);
    if (word >= s->words && !grow(s, word))
        return PP_WATCH_NO_MEMORY;
    if (s->bits[word] & bit)
        return PP_WATCH_AGAIN;
    s->bits[word] |= bit;
    s->touched[word / BLOCK] = 1;
    return PP_WATCH_FIRST;
}

int pp_seen_has(const struct pp_seen *s, uint64_t sample)
{
    return sample / 64 < s->words && (s->bits[sample / 64] >> sample % 64 & 1);
}

void pp_seen_clear(struct pp_seen *s)
{
    for (size_t i = 0; i < s->words / BLOCK; i++)
        if (s->touched[i]) {
            memset(s->bits + i * BLOCK, 0, BLOCK * sizeof(*s->bits));
            s->touched[i] = 0;
        }
    pp_watch_free(&s->watch);
    s->watch = (struct pp_watch){0};
}

void pp_seen_free(struct pp_seen *s)
{
    free(s->bits);
    free(s->touched);
    pp_watch_free(&s->watch);
    *s = (struct pp_seen){0};
}
