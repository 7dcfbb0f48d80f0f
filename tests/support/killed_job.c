#include "tests/support/killed_job.h"

#include "probe/sampler/sampler_permutation.h"

#include <math.h>

uint64_t job_seed;
uint32_t job_draw(uint32_t below)
{
    job_seed = pp_resume_mix(job_seed);
    return (uint32_t)(job_seed % below);
}

uint64_t job_sample(const struct job *j, uint64_t order, uint32_t rank, uint64_t k)
{
    struct pp_permutation p;
    pp_permutation_init(&p, j->n * j->ranks, j->seed, order);
    return pp_permutation_at(&p, k * j->ranks + rank);
}

struct pp_resume_run job_new_run(uint32_t rank, uint32_t world)
{
    return (struct pp_resume_run){.rank = rank, .world = world, .restored = 1, .buffer = NAN};
}

struct pp_resume_iteration *job_begin(struct writing *w)
{
    struct pp_resume_iteration *it = pp_resume_iterate(w->run);
    assert_non_null(it);
    it->workers = 2;
    it->prefetch = 2;
    w->taken = 0;
    return it;
}

void job_take(struct writing *w, const uint64_t *sample, uint32_t n, int trained)
{
    uint64_t file[64];
    for (uint32_t k = 0; k < n; k++)
        file[k] = pp_resume_mix(sample[k] + w->files);
    /* A wrapper that takes one ahead gives the batch before. */
    const struct pp_resume_batch b = {.n = n,
                                      .trained = w->j->lag ? w->taken > 0 && w->trained : trained,
                                      .content = pp_resume_mix(sample[0] + w->files + w->bytes)};
    assert_true(pp_resume_take(w->run, &b, sample, file));
    w->trained = trained;
    w->taken++;
}

size_t job_put_epoch(struct writing *w, uint64_t order, uint64_t from, int drop, size_t most, size_t saved)
{
    const struct job *j = w->j;
    uint64_t sample[64];
    size_t done = 0;
    struct pp_resume_iteration *it = job_begin(w);
    for (uint64_t k = drop ? 0 : from; k < j->n && done < most;) {
        uint32_t n = 0;
        int dropped = k < from;
        for (; n < j->b && k < j->n; k++)
            sample[n++] = job_sample(j, order, w->rank, k);
        job_take(w, sample, n, !dropped);
        done += !dropped;
        if (!dropped && j->every && (saved + done) % j->every == 0 && w->taken > j->lag && k < j->n)
            assert_true(pp_resume_save_here(w->run, 0, 0));
    }
    it = &w->run->iteration[w->run->iterations - 1];
    it->ended = w->run->batch && done < most;
    if (done == most && most == (j->n - from + j->b - 1) / j->b)
        it->ended = 1;
    return done;
}

size_t job_epoch_batches(const struct job *j)
{
    return (j->n + j->b - 1) / j->b;
}

void job_put_run(struct writing *w, size_t most)
{
    size_t done = 0;
    for (uint32_t e = 0; e < w->j->epochs && done < most; e++) {
        done += job_put_epoch(w, e < w->j->alike ? 0 : e, 0, 0, most - done, done);
        if (w->run->iteration[w->run->iterations - 1].ended && !(done % (w->j->every ? w->j->every : 1)))
            assert_true(pp_resume_save_here(w->run, 1, 0));
    }
    w->run->finished = done < most || done == w->j->epochs * job_epoch_batches(w->j);
}

uint32_t job_stale(enum how how)
{
    return how == EARLY_NO ? 1 : 2;
}

void job_put_resumed(struct writing *w, enum how how, size_t c)
{
    const struct job *j = w->j;
    size_t per = job_epoch_batches(j), e = c / per;
    uint64_t at = c % per * j->b;
    if (how == RESTARTS) {
        job_put_run(w, SIZE_MAX);
        return;
    }
    for (uint32_t k = (uint32_t)e; k < j->epochs; k++) {
        int first = k == e;
        uint64_t order = how == EPOCH_0                                       ? k - e
                         : how == EPOCH_NEXT                                  ? k + 1
                         : how == TWICE && !first                             ? k - 1
                         : (how == LATER_0 || how == LATER_SAMPLER) && !first ? k - e - 1
                         : how == TWICE_0                                     ? (k - e > 1 ? k : 0)
                         : how == NEW_ORDER || (how == NEW_LATER && !first)   ? 1000 + k
                                                                              : k;
        uint64_t from = first ? at : how == STICKS ? at : 0;
        if (how == BEGINS_EPOCH)
            from = 0;
        if (first && (how == EARLY || how == EARLY_0 || how == EARLY_NO || how == BACK))
            from -= (uint64_t)job_stale(how) * j->b;
        if (first && how == OVER_END)
            continue;
        if (k == e + 1 && how == OVER_END)
            from = (uint64_t)3 * j->b;
        if (first && how == PREFETCHED)
            from += (uint64_t)4 * j->b;
        if (first && how == SKIPS_MORE)
            from += (uint64_t)7 * j->b;
        if (first && how == SHORT)
            from += e * (per * j->b - j->n);
        if (how == DROPS_EPOCH && first) {
            job_begin(w)->ended = 1;
            if (k + 1 == j->epochs)
                break;
            continue;
        }
        job_put_epoch(w, order, from, how == RIGHT_DROPS, SIZE_MAX, 0);
        w->run->iteration[w->run->iterations - 1].ended = 1;
        w->run->iteration[w->run->iterations - 1].sampler_epoch = how == LATER_SAMPLER ? (double)order : NAN;
    }
    w->run->finished = 1;
}

struct pp_resume job_answers;
struct pp_resume_run job_runs[3][RANKS_MOST];
const char *job_failed;

void job_forget(void)
{
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < RANKS_MOST; r++)
            pp_resume_free(&job_runs[i][r]);
    pp_arena_free(&job_answers.arena);
}

const struct pp_resume_answer *job_judge(uint32_t ranks, uint32_t then)
{
    const struct pp_resume_start starts[] = {{job_runs[1], ranks, NULL}, {job_runs[2], then, job_failed}},
                                 control = {job_runs[0], ranks, NULL};
    const struct pp_resume_chain chain = {.name = "k1", .start = starts, .starts = 2};
    struct pp_err err;
    assert_int_equal(pp_resume_judge(&(struct pp_resume_input){&control, 1, &chain, 1, NULL}, &job_answers,
                                     &err),
                     PP_OK);
    assert_int_equal(job_answers.answers, 1);
    return &job_answers.answer[0];
}

struct job job_random(enum how how)
{
    struct job j = {
        .n = 300 + job_draw(100), .b = 4 + job_draw(5), .epochs = 4, .every = 5, .ranks = 1 + job_draw(2)};
    j.seed = job_draw(1 << 30);
    if (how == EARLY_0)
        j.b = 32, j.n *= 8;
    if (how == RANK_OF_0)
        j.ranks = 2;
    if (how != SHORT && how != OTHER_TAIL)
        j.n -= j.n % j.b;
    else if (j.n % j.b == 0)
        j.n++;
    j.lag = job_draw(2);
    size_t per = job_epoch_batches(&j), epoch = 1 + job_draw(2);
    j.every = 3 + job_draw(3);
    /* Not in an epoch's last nine batches, and with a save before in the epoch. */
    j.kill = epoch * per + j.every + 3 + job_draw((uint32_t)(per - j.every - 15));
    return j;
}

size_t job_put_before(const struct job *j)
{
    size_t c = 0;
    for (uint32_t r = 0; r < j->ranks; r++) {
        for (int i = 0; i < 2; i++) {
            struct writing w = {.j = j, .run = &job_runs[i][r], .rank = r};
            job_runs[i][r] = job_new_run(r, j->ranks);
            job_put_run(&w, i ? j->kill : SIZE_MAX);
            pp_resume_finish(w.run, j->lag);
        }
        job_runs[1][r].finished = 0;
        assert_true(job_runs[1][r].saves > 0);
        c = job_runs[1][r].save[job_runs[1][r].saves - 1].batches;
    }
    return c;
}

void job_count(double *repeated, double *left, size_t c, uint32_t ranks)
{
    static int uses[1 << 13];
    memset(uses, 0, sizeof(uses));
    *repeated = *left = 0;
    for (uint32_t r = 0; r < ranks; r++) {
        for (size_t i = c; i < job_runs[0][r].n; i++)
            for (uint32_t k = 0; k < job_runs[0][r].batch[i].n; k++)
                uses[job_runs[0][r].token[job_runs[0][r].batch[i].first + k]]--;
        for (size_t i = 0; i < job_runs[2][r].tokens; i++)
            uses[job_runs[2][r].token[i]]++;
    }
    for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
        *repeated += uses[i] > 0 ? uses[i] : 0;
        *left -= uses[i] < 0 ? uses[i] : 0;
    }
}
