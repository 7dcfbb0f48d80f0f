#include "tui/cli/resume/resume_run.h"

enum { BEHIND_SAVE = 3 };

static size_t epoch_end(const struct pp_resume_run *a, size_t i)
{
    return a->iteration[i].first + a->iteration[i].n;
}

/* The save in [from, to) that is nearest to `near`; 0: none. */
static size_t save_near(const struct pp_resume_run *a, size_t from, size_t to, size_t near)
{
    size_t best = 0;
    for (size_t i = 0; i < a->saves; i++) {
        size_t at = a->save[i].batches;
        if (at > from && at < to &&
            (!best || llabs((long long)at - (long long)near) < llabs((long long)best - (long long)near)))
            best = at;
    }
    return best;
}

static void put_point(const struct pp_resume_run *a, struct resume_point *point, size_t *n, size_t batch,
                      int again, const char *how)
{
    if (*n == RESUME_POINTS_MAX || batch + 1 >= a->n)
        return;
    struct resume_point *p = &point[(*n)++];
    *p = (struct resume_point){.batch = batch, .again = again};
    snprintf(p->name, sizeof(p->name), "k%zu", *n);
    snprintf(p->how, sizeof(p->how), "%s", how);
}

size_t resume_plan(const struct pp_resume_run *a, const uint64_t *kill_at, size_t n_at, size_t random,
                   uint64_t seed, struct resume_point point[RESUME_POINTS_MAX])
{
    size_t n = 0, first = save_near(a, 0, a->n, 0),
           last = a->iterations ? epoch_end(a, a->iterations - 1) : 0;
    if (a->iterations > 2)
        last = epoch_end(a, a->iterations - 2);
    for (size_t i = 0; i < n_at; i++)
        put_point(a, point, &n, (size_t)kill_at[i], 0, "where it was asked for");
    if (!n_at && a->iterations && first) {
        /* The epoch that is looked into: the second one, where there is one with a save in it. */
        size_t half = a->iteration[0].n / 2;
        put_point(a, point, &n, half > first + 1 ? half : first + 1, 0, "in the middle of epoch 0");
        size_t e = a->iterations > 1 && a->iteration[1].n > 2 * BEHIND_SAVE ? 1 : 0;
        size_t begins = a->iteration[e].first, ends = epoch_end(a, e), middle = begins + (ends - begins) / 2;
        size_t save = save_near(a, begins, ends - BEHIND_SAVE - 1 > begins ? ends - BEHIND_SAVE - 1 : ends,
                                middle);
        if (!save) /* saves at ends of epochs alone */
            save = middle;
        put_point(a, point, &n, save + BEHIND_SAVE, 0,
                  e ? "in epoch 1, behind a save" : "in epoch 0, behind a save");
        for (size_t i = 0; i < a->saves; i++)
            if (e && a->save[i].batches == begins) {
                put_point(a, point, &n, begins + 1, 0, "behind the save at the end of epoch 0");
                break;
            }
        if (resume_plan_again(a, save))
            put_point(a, point, &n, save + BEHIND_SAVE, 1, "in a resumed run of the same epoch again");
        if (save_near(a, save, a->n, save))
            put_point(a, point, &n, save_near(a, save, a->n, save) - 1, 0, "at a save");
    }
    for (size_t i = 0; i < random && first && last > first + 2; i++) {
        seed = pp_resume_mix(seed);
        put_point(a, point, &n, first + 1 + seed % (last - first - 2), 0, "at a random batch");
    }
    return n;
}

struct resume_done_so_far resume_plan_done(const struct pp_resume_run *a, size_t from, size_t to,
                                           uint32_t lag)
{
    struct resume_done_so_far d = {0, 0};
    if (to > a->n || to <= from)
        return d;
    const struct pp_resume_batch *last = &a->batch[to - 1];
    size_t begins = from ? a->iteration[a->batch[from].iteration].first : 0;
    uint32_t before = from ? a->batch[from - 1].marks : 0;
    d.trained = last->marks > before ? last->marks - before + lag : 0;
    /* A run that takes what it drops has the epoch's beginning besides. */
    d.taken = last->number - (from ? a->batch[begins].number : 0) + 1;
    return d;
}

size_t resume_plan_again(const struct pp_resume_run *a, size_t from)
{
    if (from >= a->n)
        return 0;
    size_t end = epoch_end(a, a->batch[from].iteration), save = save_near(a, from, end, from);
    return save && save + BEHIND_SAVE < end ? save + BEHIND_SAVE - from : 0;
}
