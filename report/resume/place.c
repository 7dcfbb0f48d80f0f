#include "report/resume/place.h"

#include "probe/base/array.h"

#include <stdlib.h>
#include <string.h>

enum { NEEDLE = 64, LEAST = 8 };

/* The needle stands at that place, up to the end of either. */
static int stands_at(const struct pp_resume_run *a, struct pp_resume_spot at, const uint64_t *needle,
                     size_t n, size_t least)
{
    const struct pp_resume_iteration *it = &a->iteration[at.iteration];
    if (at.offset >= it->tokens)
        return 0;
    size_t m = least_of(least_of(n, NEEDLE), it->tokens - at.offset);
    return m >= least_of(n, least) &&
           memcmp(a->token + it->first_token + at.offset, needle, m * sizeof(*needle)) == 0;
}

static struct pp_resume_spot search_iteration(const struct pp_resume_run *a, size_t i, const uint64_t *needle,
                                              size_t n, size_t least)
{
    struct pp_resume_spot at = {i, 0};
    for (; at.offset < a->iteration[i].tokens; at.offset++)
        if (a->token[a->iteration[i].first_token + at.offset] == *needle &&
            stands_at(a, at, needle, n, least))
            return at;
    return (struct pp_resume_spot){PP_RESUME_NOWHERE, 0};
}

struct pp_resume_spot pp_resume_place(const struct pp_resume_run *a, const struct pp_resume_run *r, size_t it,
                                      struct pp_resume_spot due)
{
    const struct pp_resume_iteration *of = &r->iteration[it];
    const uint64_t *needle = r->token + of->first_token;
    struct pp_resume_spot at = {PP_RESUME_NOWHERE, 0};
    if (!of->tokens)
        return at;
    if (due.iteration < a->iterations && stands_at(a, due, needle, of->tokens, 1))
        return due;
    if (due.iteration < a->iterations)
        at = search_iteration(a, due.iteration, needle, of->tokens, LEAST);
    for (size_t i = 0; i < a->iterations && at.iteration == PP_RESUME_NOWHERE; i++)
        at = search_iteration(a, i, needle, of->tokens, LEAST);
    return at;
}

struct pp_resume_spot pp_resume_spot_of(const struct pp_resume_run *a, size_t batches)
{
    if (batches >= a->n)
        return (struct pp_resume_spot){a->iterations, 0};
    const struct pp_resume_batch *b = &a->batch[batches];
    return (struct pp_resume_spot){b->iteration, b->first - a->iteration[b->iteration].first_token};
}

/* ---- how often each was used ---- */

static int note_uses(uint64_t **use, size_t *n, size_t *room, const struct pp_resume_run *r, int by_file,
                     size_t from, size_t to)
{
    for (size_t i = from; i < to && i < r->n; i++) {
        const struct pp_resume_batch *b = &r->batch[i];
        if (!b->n)
            continue;
        if (!pp_grow(use, room, *n + b->n, sizeof(**use)))
            return 0;
        memcpy(*use + *n, (by_file ? r->file : r->token) + b->first, b->n * sizeof(**use));
        *n += b->n;
    }
    return 1;
}

int pp_resume_want(struct pp_resume_tally *t, const struct pp_resume_run *r, size_t from, size_t to)
{
    return note_uses(&t->want, &t->n_want, &t->want_room, r, t->by_file, from, to);
}

int pp_resume_got(struct pp_resume_tally *t, const struct pp_resume_run *r, size_t from, size_t to)
{
    return note_uses(&t->got, &t->n_got, &t->got_room, r, t->by_file, from, to);
}

void pp_resume_count(struct pp_resume_tally *t)
{
    size_t i = 0, k = 0;
    t->repeated = t->left_out = 0;
    if (t->n_want)
        qsort(t->want, t->n_want, sizeof(*t->want), pp_by_u64);
    if (t->n_got)
        qsort(t->got, t->n_got, sizeof(*t->got), pp_by_u64);
    while (i < t->n_want || k < t->n_got) {
        if (k == t->n_got || (i < t->n_want && t->want[i] < t->got[k]))
            i++, t->left_out++;
        else if (i == t->n_want || t->got[k] < t->want[i])
            k++, t->repeated++;
        else
            i++, k++;
    }
}

void pp_resume_tally_free(struct pp_resume_tally *t)
{
    free(t->want);
    free(t->got);
    *t = (struct pp_resume_tally){0};
}
