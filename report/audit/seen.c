#include "report/audit/facts.h"

#include "probe/base/array.h"
#include "report/audit/audit.h"

#include <sys/mman.h>

enum { BLOCK = 512, PAGE = 4096, LARGE = 8 << 20 }; /* BLOCK: words, a page */

static int grow(struct pp_seen *s, uint64_t word)
{
    size_t words = s->words ? s->words : 16 * BLOCK;
    while (words <= word)
        words *= 2;
    uint64_t *bits = realloc(s->bits, words * sizeof(*bits));
    if (!bits)
        return 0;
    s->bits = bits;
    /* In random order a look at a map of small pages misses the TLB nearly always. Where the kernel has no
     * large ones to give, it is as before. */
    size_t bytes = words * sizeof(*bits);
    uintptr_t from = ((uintptr_t)bits + PAGE - 1) / PAGE * PAGE, to = ((uintptr_t)bits + bytes) / PAGE * PAGE;
    if (bytes >= LARGE)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
    uint8_t *touched = realloc(s->touched, words / BLOCK);
    if (!touched)
        return 0;
    s->touched = touched;
    memset(bits + s->words, 0, (words - s->words) * sizeof(*bits));
    memset(touched + s->words / BLOCK, 0, (words - s->words) / BLOCK);
    s->words = words;
    return 1;
}

/* ---- pages ---- */

static size_t place_of(const struct pp_seen *s, uint64_t number)
{
    size_t i = (size_t)pp_mix64(number) & (s->places - 1);
    while (s->number[i] && s->number[i] != number + 1)
        i = (i + 1) & (s->places - 1);
    return i;
}

/* At most half of the places are taken. */
static int grow_places(struct pp_seen *s)
{
    struct pp_seen grown = *s;
    grown.places = s->places ? 2 * s->places : 1024;
    grown.number = calloc(grown.places, sizeof(*grown.number));
    grown.at = calloc(grown.places, sizeof(*grown.at));
    if (!grown.number || !grown.at) {
        free(grown.number);
        free(grown.at);
        return 0;
    }
    for (size_t i = 0; i < s->places; i++)
        if (s->number[i]) {
            size_t to = place_of(&grown, s->number[i] - 1);
            grown.number[to] = s->number[i];
            grown.at[to] = s->at[i];
        }
    free(s->number);
    free(s->at);
    *s = grown;
    return 1;
}

/* The page of that number, NULL: it has none. */
static uint64_t *page_of(const struct pp_seen *s, uint64_t number)
{
    size_t i = s->places ? place_of(s, number) : 0;
    return s->places && s->number[i] ? s->page[s->at[i]] : NULL;
}

uint64_t pp_seen_weight(const struct pp_seen *s, uint64_t sample)
{
    return sample < PP_AUDIT_EXACT || page_of(s, sample / PP_SEEN_PAGE) ? 1
                                                                        : (uint64_t)pp_watch_scale(&s->watch);
}

/* ---- all numbers ---- */

enum pp_watch_answer pp_seen_add(struct pp_seen *s, uint64_t sample)
{
    uint64_t *word, bit = UINT64_C(1) << sample % 64;
    if (sample >= PP_AUDIT_EXACT) {
        uint64_t number = sample / PP_SEEN_PAGE, *page = page_of(s, number);
        if (!page) {
            if (s->pages == PP_SEEN_PAGES)
                return pp_watch_see(&s->watch, sample, 0);
            if (!pp_grow(&s->page, &s->room, s->pages + 1, sizeof(*s->page)) ||
                (2 * s->pages >= s->places && !grow_places(s)))
                return PP_WATCH_NO_MEMORY;
            size_t i = place_of(s, number);
            s->number[i] = number + 1;
            s->at[i] = (uint32_t)s->pages;
            page = s->page[s->pages++];
            memset(page, 0, sizeof(*s->page));
        }
        word = &page[sample % PP_SEEN_PAGE / 64];
    } else {
        if (sample / 64 >= s->words && !grow(s, sample / 64))
            return PP_WATCH_NO_MEMORY;
        word = &s->bits[sample / 64];
        s->touched[sample / 64 / BLOCK] = 1;
    }
    if (*word & bit)
        return PP_WATCH_AGAIN;
    *word |= bit;
    return PP_WATCH_FIRST;
}

int pp_seen_has(const struct pp_seen *s, uint64_t sample)
{
    const uint64_t *page = sample < PP_AUDIT_EXACT ? NULL : page_of(s, sample / PP_SEEN_PAGE);
    return page ? page[sample % PP_SEEN_PAGE / 64] >> sample % 64 & 1
                : sample / 64 < s->words && (s->bits[sample / 64] >> sample % 64 & 1);
}

void pp_seen_clear(struct pp_seen *s)
{
    for (size_t i = 0; i < s->words / BLOCK; i++)
        if (s->touched[i]) {
            memset(s->bits + i * BLOCK, 0, BLOCK * sizeof(*s->bits));
            s->touched[i] = 0;
        }
    if (s->pages)
        memset(s->number, 0, s->places * sizeof(*s->number));
    s->pages = 0;
    pp_watch_free(&s->watch);
}

void pp_seen_free(struct pp_seen *s)
{
    free(s->bits);
    free(s->touched);
    free(s->page);
    free(s->number);
    free(s->at);
    pp_watch_free(&s->watch);
    *s = (struct pp_seen){0};
}
