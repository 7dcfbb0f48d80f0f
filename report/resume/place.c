#include "report/resume/compare.h"

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

int pp_resume_use(const struct pp_resume_tally *t, struct pp_resume_uses *to, const struct pp_resume_run *r,
                  size_t from, size_t end)
{
    for (size_t i = from; i < end && i < r->n; i++) {
        const struct pp_resume_batch *b = &r->batch[i];
        if (!b->n)
            continue;
        if (!pp_grow(&to->of, &to->room, to->n + b->n, sizeof(*to->of)))
            return 0;
        memcpy(to->of + to->n, (t->by_file ? r->file : r->token) + b->first, b->n * sizeof(*to->of));
        to->n += b->n;
    }
    return 1;
}

void pp_resume_count(struct pp_resume_tally *t)
{
    const struct pp_resume_uses *want = &t->want, *got = &t->got;
    size_t i = 0, k = 0;
    t->repeated = t->left_out = 0;
    if (want->n)
        qsort(want->of, want->n, sizeof(*want->of), pp_by_u64);
    if (got->n)
        qsort(got->of, got->n, sizeof(*got->of), pp_by_u64);
    while (i < want->n || k < got->n) {
        if (k == got->n || (i < want->n && want->of[i] < got->of[k]))
            i++, t->left_out++;
        else if (i == want->n || got->of[k] < want->of[i])
            k++, t->repeated++;
        else
            i++, k++;
    }
}

void pp_resume_tally_free(struct pp_resume_tally *t)
{
    free(t->want.of);
    free(t->got.of);
    *t = (struct pp_resume_tally){0};
}
