#include "report/resume/compare.h"
#include "probe/base/array.h"

/* ---- where an iteration stands ---- */

enum { NEEDLE = 64, STEPS = 512 }; /* within which two that are alike have as many samples */

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
        at = search_iteration(a, due.iteration, needle, of->tokens, RESUME_LEAST);
    for (size_t i = 0; i < a->iterations && at.iteration == PP_RESUME_NOWHERE; i++)
        at = search_iteration(a, i, needle, of->tokens, RESUME_LEAST);
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

/* Uses of samples held against each other. */
struct tally {
    struct uses {
        uint64_t *of;
        size_t n, room;
    } want, got;
    int by_file;               /* a sample is what was read for it, not its number */
    double repeated, left_out; /* of count_uses */
};

/* Adds those of the batches [from, end) to t's want or got. 0: no memory. */
static int add_uses(const struct tally *t, struct uses *to, const struct pp_resume_run *r, size_t from,
                    size_t end)
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

/* The last of a tally: what it holds is freed. */
static void count_uses(struct tally *t)
{
    const struct uses *want = &t->want, *got = &t->got;
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
    free(want->of);
    free(got->of);
}

/* ---- what a start has ---- */

int pp_resume_saved(const struct pp_resume_start *s, size_t *at, size_t *before)
{
    for (size_t r = 0; r < s->ranks; r++) { /* rank 0 alone may save for all of them */
        const struct pp_resume_run *run = &s->rank[r];
        size_t n = run->saves;
        if (!n)
            continue;
        const struct pp_resume_save *last = &run->save[n - 1];
        /* Killed at once behind a save: its last file may not have been there yet. */
        size_t in_save = last->how & PP_RESUME_TORN || (n > 1 && last->batches == run->n),
               back = in_save + (last->how & PP_RESUME_LATE ? 1 : 0);
        *at = last->batches;
        *before = n > back ? run->save[n - 1 - back].batches : 0;
        return 4 | (last->how & PP_RESUME_LATE) | (int)in_save;
    }
    return 0;
}

/* ---- the same number of ranks ---- */

static void note_difference(struct resume_compared *c, size_t batch, size_t rank)
{
    if (c->first == PP_RESUME_NOWHERE || batch < c->first) {
        c->first = batch;
        c->rank = rank;
    }
    c->last = c->last == PP_RESUME_NOWHERE || batch > c->last ? batch : c->last;
}

/* Steps of `step` batches, one after the other. */
struct walk {
    const struct pp_resume_run *run;
    size_t step, batch, tokens;
    uint64_t set;
};

static int walk_step(struct walk *w)
{
    size_t end = least_of(w->run->n, w->batch + w->step);
    if (w->batch >= end)
        return 0;
    for (; w->batch < end; w->batch++) {
        w->set += w->run->batch[w->batch].set;
        w->tokens += w->run->batch[w->batch].n;
    }
    return 1;
}

/* Both have the same samples from there on, up to where they are as many, which is soon or never. */
static int go_on_alike(struct walk a, size_t at, struct walk r, size_t from)
{
    int more = 1;
    a.batch = at;
    r.batch = from;
    for (int k = 0; more && k < STEPS && (a.tokens != r.tokens || a.tokens < RESUME_LEAST); k++)
        more = walk_step(a.tokens <= r.tokens ? &a : &r);
    return more && a.tokens == r.tokens && a.tokens >= RESUME_LEAST && a.set == r.set;
}

/* The epoch that r's first iteration with a batch is, number `first`: one that it stands in at another place,
 * at the same one it has the order of another epoch. The iterations before it had none: of the resumed epoch
 * nothing was left, or an epoch was dropped. */
static size_t epoch_of_first(struct walk a, struct walk r, size_t from, size_t first)
{
    const struct pp_resume_run *run = a.run;
    size_t due = pp_resume_spot_of(run, from).iteration;
    if (first >= r.run->iterations || due >= run->iterations)
        return due + first;
    size_t begins = r.run->iteration[first].first, done = from - run->iteration[due].first;
    for (size_t i = due; i < run->iterations; i++)
        for (size_t k = 0; k < run->iteration[i].n; k += a.step) {
            int same = i == due ? first && (done || k) : k == done && (!first || done);
            if (!same && go_on_alike(a, run->iteration[i].first + k, r, begins))
                return i;
        }
    return due + first;
}

/* Puts what is counted into t: where not both came to their end, up to the last epoch that both have whole,
 * each to its own. A part of an epoch in another order would be neither left out nor too much. Where one run
 * ended by itself and has no further epoch, what the other run has besides counts. 0: no memory. */
static int use_both(struct tally *t, struct walk x, struct walk y, size_t from, size_t *until)
{
    const struct pp_resume_run *a = x.run, *r = y.run;
    size_t due = pp_resume_spot_of(a, from).iteration, k = 0, first = 0, a_end = a->n, r_end = r->n;
    while (first < r->iterations && !r->iteration[first].n)
        first++;
    size_t e = epoch_of_first(x, y, from, first);
    while (resume_is_whole(a, e + k) && resume_is_whole(r, first + k))
        k++;
    if (!r->finished || (!a->finished && first + k < r->iterations))
        a_end = k > 0               ? a->iteration[e + k - 1].first + a->iteration[e + k - 1].n
                : e == due          ? least_of(a->n, from + r->n)
                : e < a->iterations ? a->iteration[e].first
                                    : a->n;
    if (!a->finished || (!r->finished && e + k < a->iterations))
        r_end = k > 0      ? r->iteration[first + k - 1].first + r->iteration[first + k - 1].n
                : e == due ? least_of(a->n, from + r->n) - least_of(a->n, from)
                           : 0;
    *until = a_end > *until ? a_end : *until;
    return add_uses(t, &t->want, a, from, a_end) && add_uses(t, &t->got, r, 0, r_end);
}

int resume_compare(const struct pp_resume_start *control, const struct pp_resume_start *start, size_t from,
                   struct resume_compared *c)
{
    struct tally t = {0};
    int ok = 1;
    *c = (struct resume_compared){.from = from,
                                  .first = PP_RESUME_NOWHERE,
                                  .last = PP_RESUME_NOWHERE,
                                  .compared = SIZE_MAX,
                                  .only_tails = 1};
    for (size_t i = 0; i < start->ranks; i++) {
        const struct pp_resume_run *a = &control->rank[i], *r = &start->rank[i];
        size_t begin = least_of(c->from, a->n), n = least_of(a->n - begin, r->n), wrong = 0;
        for (size_t k = 0; k < n; k++) {
            const struct pp_resume_batch *x = &a->batch[begin + k], *y = &r->batch[k];
            const struct pp_resume_iteration *it = &a->iteration[x->iteration];
            /* same: from a scratch directory, whatever its name. */
            int bytes = !a->bytes_vary && x->content && y->content && x->content != y->content,
                same = x->content && x->content == y->content,
                files = !same && x->files && y->files && x->files != y->files;
            if (x->order == y->order && !files && !bytes)
                continue;
            note_difference(c, begin + k, i);
            wrong += x->order != y->order;
            c->identity += x->order == y->order && files;
            c->content += x->order == y->order && !files && bytes;
            c->only_tails &= it->ended && begin + k + 1 == it->first + it->n;
        }
        /* Who came to the end has no more, wherever the other one was stopped. */
        if ((r->finished && r->n < a->n - begin) || (a->finished && a->n - begin < r->n)) {
            note_difference(c, begin + n, i);
            wrong++;
            c->only_tails = 0;
        }
        c->ranks_right += !wrong;
        c->ranks_wrong += wrong > 0;
        c->compared = least_of(c->compared, n);
    }
    t.by_file = !c->ranks_wrong && c->identity;
    c->only_tails &= c->first != PP_RESUME_NOWHERE && c->compared > 1;
    for (size_t i = 0; i < start->ranks && ok && c->first != PP_RESUME_NOWHERE; i++)
        ok = use_both(&t, (struct walk){.run = &control->rank[i], .step = 1},
                      (struct walk){.run = &start->rank[i], .step = 1}, from, &c->until);
    count_uses(&t);
    c->repeated = control->rank[0].hashed ? NAN : t.repeated;
    c->left_out = control->rank[0].hashed ? NAN : t.left_out;
    return ok;
}

/* ---- another number of ranks ---- */

int resume_compare_worlds(const struct pp_resume_start *control, const struct pp_resume_start *start,
                          size_t from, struct resume_compared *c)
{
    struct pp_resume_run a = {0}, r = {0};
    struct tally t = {0};
    *c = (struct resume_compared){.from = from,
                                  .first = PP_RESUME_NOWHERE,
                                  .last = PP_RESUME_NOWHERE,
                                  .rank = 0};
    int ok = pp_resume_merge(control->rank, control->ranks, &a) &&
             pp_resume_merge(start->rank, start->ranks, &r);
    size_t world = (size_t)(a.world > 0 ? a.world : 1);
    const struct walk all_a = {.run = &a, .step = world},
                      all_r = {.run = &r, .step = (size_t)(r.world > 0 ? r.world : 1)};
    struct walk x = all_a, y = all_r;
    size_t agreed = x.batch = from * world;
    while (ok && c->first == PP_RESUME_NOWHERE && walk_step(x.tokens <= y.tokens ? &x : &y))
        if (x.tokens == y.tokens && x.set != y.set)
            note_difference(c, agreed / world, 0);
        else if (x.tokens == y.tokens)
            agreed = x.batch;
    c->compared = x.batch / world - from;
    ok = ok && use_both(&t, all_a, all_r, from * world, &c->until);
    c->until /= world;
    count_uses(&t);
    c->repeated = t.repeated;
    c->left_out = t.left_out;
    if (ok && a.finished && r.finished && c->first == PP_RESUME_NOWHERE && t.repeated + t.left_out > 0)
        note_difference(c, x.batch / world, 0);
    pp_resume_free(&a);
    pp_resume_free(&r);
    return ok;
}
