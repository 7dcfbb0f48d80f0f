/* Made jobs that are killed and resumed: each culprit is named on many random ones, with the first batch that
 * differs and the numbers of samples; correct resumes are never accused. */
#include "probe/sampler/sampler_permutation.h"
#include "report/resume/resume.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { RANKS_MOST = 4, JOBS = 60 };

/* What a job does at its resume. */
enum how {
    RIGHT,       /* the rest of the epoch */
    RIGHT_DROPS, /* takes batches from the epoch's beginning, and drops them */
    RESTARTS,
    EARLY,    /* two batches of elsewhere, then the right place */
    EARLY_0,  /* two large ones, of the beginning of all */
    EARLY_NO, /* one, and there are no workers that could have been ahead */
    BACK,     /* two batches too early */
    OVER_END, /* in the next epoch, behind its first batches */
    EPOCH_0,  /* the sampler's epoch counts from 0, at the right place */
    EPOCH_NEXT,
    TWICE,   /* the resumed epoch is right, the next one has its order again */
    TWICE_0, /* both have epoch 0's */
    NEW_ORDER,
    NEW_LATER,
    LATER_0,       /* later ones have the orders from epoch 0 on */
    LATER_SAMPLER, /* and the sampler says so */
    PREFETCHED,
    SKIPS_MORE,
    BEGINS_EPOCH,
    SHORT,
    STICKS,
    DROPS_EPOCH,
    OTHER_FILES,
    OTHER_BYTES,
    OTHER_TAIL,
    OTHER_WORKERS,
    OTHER_DROPPED, /* and what is dropped as used are other samples */
    BUFFER,
    WRONG_WORLD,
    RIGHT_WORLD,
    RANK_OF_0,
    TORN,
    HOWS
};
static const char *const culprit[HOWS] = {
    [EARLY] = "iterated-early",
    [EARLY_0] = "iterated-early",
    [EARLY_NO] = "rng-mid-epoch",
    [BACK] = "skip-wrong",
    [OVER_END] = "skip-wrong",
    [RESTARTS] = "restarted",
    [EPOCH_0] = "sampler-epoch",
    [EPOCH_NEXT] = "next-epoch",
    [TWICE] = "epoch-twice",
    [TWICE_0] = "epoch-twice",
    [NEW_ORDER] = "rng-mid-epoch",
    [LATER_0] = "generator-lost",
    [LATER_SAMPLER] = "sampler-epoch",
    [NEW_LATER] = "generator-lost",
    [PREFETCHED] = "prefetched-counted",
    [SKIPS_MORE] = "skip-wrong",
    [BEGINS_EPOCH] = "skip-wrong",
    [SHORT] = "partial-batch",
    [STICKS] = "offset-sticks",
    [DROPS_EPOCH] = "epoch-dropped",
    [OTHER_FILES] = "directory-order",
    [OTHER_BYTES] = "augmentation",
    [OTHER_TAIL] = "last-batches",
    [OTHER_WORKERS] = "worker-split",
    [BUFFER] = "buffer-lost",
    [OTHER_DROPPED] = "worker-split",
    [WRONG_WORLD] = "world-size",
    [RANK_OF_0] = "rank-state",
    [TORN] = "torn-checkpoint",
};

struct job {
    uint64_t n, seed;           /* samples of a rank and epoch */
    uint32_t b, epochs, every;  /* samples of a batch; batches from save to save */
    uint32_t ranks, lag, alike; /* alike: epochs from the first on that have its order */
    size_t kill;
};

static uint64_t state;
static uint32_t draw(uint32_t below)
{
    state = pp_resume_mix(state);
    return (uint32_t)(state % below);
}

/* Sample k of the order of that name. */
static uint64_t sample_of(const struct job *j, uint64_t order, uint32_t rank, uint64_t k)
{
    struct pp_permutation p;
    pp_permutation_init(&p, j->n * j->ranks, j->seed, order);
    return pp_permutation_at(&p, k * j->ranks + rank);
}

static struct pp_resume_run new_run(uint32_t rank, uint32_t world)
{
    return (struct pp_resume_run){.rank = rank, .world = world, .restored = 1, .buffer = NAN};
}

struct writing {
    const struct job *j;
    struct pp_resume_run *run;
    uint32_t rank, files, bytes;
    size_t taken; /* batches of the epoch */
    int trained;  /* on the one before */
};

static struct pp_resume_iteration *begin(struct writing *w)
{
    struct pp_resume_iteration *it = pp_resume_iterate(w->run);
    assert_non_null(it);
    it->workers = 2;
    it->prefetch = 2;
    w->taken = 0;
    return it;
}

static void take(struct writing *w, const uint64_t *sample, uint32_t n, int trained)
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

/* Samples [from, to) of the order; drop: those before are taken and dropped. Stops behind `most` batches. */
static size_t put_epoch(struct writing *w, uint64_t order, uint64_t from, int drop, size_t most, size_t saved)
{
    const struct job *j = w->j;
    uint64_t sample[64];
    size_t done = 0;
    struct pp_resume_iteration *it = begin(w);
    for (uint64_t k = drop ? 0 : from; k < j->n && done < most;) {
        uint32_t n = 0;
        int dropped = k < from;
        for (; n < j->b && k < j->n; k++)
            sample[n++] = sample_of(j, order, w->rank, k);
        take(w, sample, n, !dropped);
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

static size_t epoch_batches(const struct job *j)
{
    return (j->n + j->b - 1) / j->b;
}

/* The job from its beginning, up to `most` batches. */
static void put_run(struct writing *w, size_t most)
{
    size_t done = 0;
    for (uint32_t e = 0; e < w->j->epochs && done < most; e++) {
        done += put_epoch(w, e < w->j->alike ? 0 : e, 0, 0, most - done, done);
        if (w->run->iteration[w->run->iterations - 1].ended && !(done % (w->j->every ? w->j->every : 1)))
            assert_true(pp_resume_save_here(w->run, 1, 0));
    }
    w->run->finished = done < most || done == w->j->epochs * epoch_batches(w->j);
}

/* Batches before the right place. */
static uint32_t stale(enum how how)
{
    return how == EARLY_NO ? 1 : 2;
}

/* Behind c batches. */
static void put_resumed(struct writing *w, enum how how, size_t c)
{
    const struct job *j = w->j;
    size_t per = epoch_batches(j), e = c / per;
    uint64_t at = c % per * j->b;
    if (how == RESTARTS) {
        put_run(w, SIZE_MAX);
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
            from -= (uint64_t)stale(how) * j->b;
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
            begin(w)->ended = 1;
            if (k + 1 == j->epochs)
                break;
            continue;
        }
        put_epoch(w, order, from, how == RIGHT_DROPS, SIZE_MAX, 0);
        w->run->iteration[w->run->iterations - 1].ended = 1;
        w->run->iteration[w->run->iterations - 1].sampler_epoch = how == LATER_SAMPLER ? (double)order : NAN;
    }
    w->run->finished = 1;
}

static struct pp_resume made;
static struct pp_resume_run runs[3][RANKS_MOST];
static const char *failed; /* how the resumed run did */

static void forget(void)
{
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < RANKS_MOST; r++)
            pp_resume_free(&runs[i][r]);
    pp_resume_free_answers(&made);
}

static const struct pp_resume_answer *judge(uint32_t ranks, uint32_t then)
{
    const struct pp_resume_start starts[] = {{runs[1], ranks, NULL}, {runs[2], then, failed}},
                                 control = {runs[0], ranks, NULL};
    const struct pp_resume_chain chain = {.name = "k1", .start = starts, .starts = 2};
    struct pp_err err;
    assert_int_equal(pp_resume_judge(&(struct pp_resume_input){&control, 1, &chain, 1, NULL}, &made, &err),
                     PP_OK);
    assert_int_equal(made.answers, 1);
    return &made.answer[0];
}

static struct job draw_job(enum how how)
{
    struct job j = {.n = 300 + draw(100), .b = 4 + draw(5), .epochs = 4, .every = 5, .ranks = 1 + draw(2)};
    j.seed = draw(1 << 30);
    if (how == EARLY_0)
        j.b = 32, j.n *= 8;
    if (how == RANK_OF_0)
        j.ranks = 2;
    if (how != SHORT && how != OTHER_TAIL)
        j.n -= j.n % j.b;
    else if (j.n % j.b == 0)
        j.n++;
    j.lag = draw(2);
    size_t per = epoch_batches(&j), epoch = 1 + draw(2);
    j.every = 3 + draw(3);
    /* Not in an epoch's last nine batches, and with a save before in the epoch. */
    j.kill = epoch * per + j.every + 3 + draw((uint32_t)(per - j.every - 15));
    return j;
}

/* A and I; how many batches the newest checkpoint is behind. */
static size_t put_before(const struct job *j)
{
    size_t c = 0;
    for (uint32_t r = 0; r < j->ranks; r++) {
        for (int i = 0; i < 2; i++) {
            struct writing w = {.j = j, .run = &runs[i][r], .rank = r};
            runs[i][r] = new_run(r, j->ranks);
            put_run(&w, i ? j->kill : SIZE_MAX);
            pp_resume_finish(w.run, j->lag);
        }
        runs[1][r].finished = 0;
        assert_true(runs[1][r].saves > 0);
        c = runs[1][r].save[runs[1][r].saves - 1].batches;
    }
    return c;
}

/* The numbers by another way: uses of each sample. */
static void count(double *repeated, double *left, size_t c, uint32_t ranks)
{
    static int uses[1 << 13];
    memset(uses, 0, sizeof(uses));
    *repeated = *left = 0;
    for (uint32_t r = 0; r < ranks; r++) {
        for (size_t i = c; i < runs[0][r].n; i++)
            for (uint32_t k = 0; k < runs[0][r].batch[i].n; k++)
                uses[runs[0][r].token[runs[0][r].batch[i].first + k]]--;
        for (size_t i = 0; i < runs[2][r].tokens; i++)
            uses[runs[2][r].token[i]]++;
    }
    for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
        *repeated += uses[i] > 0 ? uses[i] : 0;
        *left -= uses[i] < 0 ? uses[i] : 0;
    }
}

static void check(const struct job *j, enum how how, const struct pp_resume_answer *a, size_t c)
{
    const char *want = culprit[how];
    if (!want && a->kind != PP_RESUME_EXACT)
        fail_msg("how %d, %s: %s (%s)", how, a->kind_name, a->sentence, a->culprit ? a->culprit : "");
    if (want && (!a->culprit || strcmp(a->culprit, want) != 0))
        fail_msg("how %d n %d b %d ranks %d lag %d c %zu: %s, %s for %s", how, (int)j->n, (int)j->b,
                 (int)j->ranks, (int)j->lag, c, a->sentence, a->culprit ? a->culprit : "nothing", want);
    if (!want || how == TORN || how == OTHER_FILES)
        return;
    double repeated, left;
    count(&repeated, &left, c, j->ranks);
    assert_true(a->repeated == repeated && a->left_out == left);
    assert_int_equal(a->kind, PP_RESUME_DIFFERS);
    assert_non_null(a->fix);
    assert_null(strchr(a->culprit_sentence, '{'));
    assert_null(strchr(a->sentence, '{'));
}

/* Of streams a token is a batch; workers divide it. */
static void put_stream(const struct job *j, enum how how, size_t c)
{
    for (uint32_t r = 0; r < j->ranks; r++)
        for (int i = 0; i < 3; i++)
            runs[i][r].stream = how == BUFFER || how == OTHER_WORKERS || how == OTHER_DROPPED;
    for (uint32_t r = 0; r < j->ranks && how == OTHER_DROPPED; r++)
        for (size_t i = 0; i < runs[2][r].iterations; i++)
            runs[2][r].iteration[i].workers = 4;
    if (how == OTHER_WORKERS)
        for (uint32_t r = 0; r < j->ranks; r++) {
            struct pp_resume_run *run = &runs[2][r];
            for (size_t i = 0; i < run->iterations; i++) {
                struct pp_resume_iteration *it = &run->iteration[i];
                it->workers = 4;
                for (size_t k = 0; k + 1 < it->tokens; k += 2) {
                    uint64_t *t = run->token + it->first_token + k, x = t[0];
                    t[0] = t[1];
                    t[1] = x;
                }
            }
            for (size_t i = 0; i < run->n; i++)
                run->batch[i].trained = 1;
            pp_resume_finish(run, 0);
        }
    for (uint32_t r = 0; r < j->ranks && how == EARLY_NO; r++)
        for (int i = 0; i < 3; i++)
            for (size_t k = 0; k < runs[i][r].iterations; k++)
                runs[i][r].iteration[k].workers = 0;
    (void)c;
}

static void test_each_culprit_is_named(void **s)
{
    for (int how = 0; how < HOWS; how++)
        for (int i = 0; i < JOBS; i++) {
            state = (uint64_t)(how * 1000 + i + 1);
            if (how == WRONG_WORLD || how == RIGHT_WORLD)
                continue;
            struct job j = draw_job((enum how)how);
            size_t c = put_before(&j);
            for (uint32_t r = 0; r < j.ranks; r++) {
                struct writing w = {.j = &j, .run = &runs[2][r], .rank = how == RANK_OF_0 ? 0 : r};
                runs[2][r] = new_run(r, j.ranks);
                w.files = how == OTHER_FILES;
                w.bytes = how == OTHER_BYTES;
                if (how == TORN)
                    w.run->failed = 1;
                else
                    put_resumed(&w, how == BUFFER || how == OTHER_DROPPED ? NEW_ORDER : (enum how)how, c);
                if (how == OTHER_TAIL)
                    for (size_t k = 0; k < w.run->iterations; k++) {
                        struct pp_resume_iteration *it = &w.run->iteration[k];
                        const struct pp_resume_batch *b = &w.run->batch[it->first + it->n - 1];
                        for (uint32_t m = 0; m < b->n; m++)
                            w.run->token[b->first + m] = 5000 + m + 100 * r;
                    }
                if (how == BUFFER || how == OTHER_DROPPED)
                    w.run->token[3] = 6000;
                int early = how == EARLY || how == EARLY_0 || how == EARLY_NO;
                for (uint32_t k = 0; early && k < stale((enum how)how) * j.b; k++)
                    w.run->token[k] = sample_of(&j, how == EARLY_0 ? 0 : 77, r, k);
                pp_resume_finish(w.run, j.lag);
            }
            if (how == TORN)
                for (uint32_t r = 0; r < j.ranks; r++)
                    runs[1][r].save[runs[1][r].saves - 1].how = PP_RESUME_TORN;
            put_stream(&j, (enum how)how, c);
            const struct pp_resume_answer *a = judge(j.ranks, j.ranks);
            if (how == BUFFER || how == OTHER_WORKERS || how == OTHER_DROPPED) {
                if (!a->culprit || strcmp(a->culprit, culprit[how]) != 0)
                    fail_msg("how %d: %s, %s", how, a->sentence, a->culprit ? a->culprit : "nothing");
            } else {
                check(&j, (enum how)how, a, c);
            }
            forget();
        }
}

/* A run that is packed and read again has the same batches, places and saves; of what is cut or changed
 * anywhere nothing is read beyond its end. */
static void test_a_digest_has_hashes_of_batches(void **s)
{
    struct job j = {.n = 303, .b = 8, .epochs = 3, .every = 5, .ranks = 1, .lag = 1, .seed = 7};
    struct pp_resume_run run = new_run(1, 4), hashed = new_run(1, 4), again, other;
    struct writing w = {.j = &j, .run = &run, .rank = 1}, v = {.j = &j, .run = &hashed, .rank = 1};
    hashed.hashing = 1;
    put_run(&w, SIZE_MAX);
    put_run(&v, SIZE_MAX);
    assert_int_equal(hashed.tokens, 0);
    size_t n, bytes;
    uint8_t *packed = pp_resume_pack(&hashed, &n), *damaged = malloc(n);
    assert_true(packed && pp_resume_unpack(packed, n, &again));
    assert_true(n < 40 * run.n);
    pp_resume_finish(&run, 1);
    pp_resume_finish(&again, 1);
    assert_true(again.n == run.n && again.saves == run.saves && again.iterations == run.iterations);
    assert_true(again.tokens == run.n && again.rank == 1 && again.world == 4 && isnan(again.buffer));
    for (size_t i = 0; i < run.saves; i++)
        assert_int_equal(again.save[i].batches, run.save[i].batches);
    for (size_t i = 0; i < run.n; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_equal(again.batch[i].order == again.batch[k].order,
                             run.batch[i].order == run.batch[k].order);
    for (bytes = 0; bytes < n; bytes++) {
        assert_false(pp_resume_unpack(packed, bytes, &other));
        pp_resume_free(&other);
        memcpy(damaged, packed, n);
        damaged[bytes] ^= (uint8_t)(1u << bytes % 8);
        (void)pp_resume_unpack(damaged, n, &other);
        assert_true(other.tokens + other.n + other.saves < n);
        pp_resume_finish(&other, (uint32_t)(bytes % 3));
        pp_resume_free(&other);
    }
    hashed.unknown = "not known";
    free(packed);
    packed = pp_resume_pack(&hashed, &n);
    assert_true(!packed && n == 0 && !pp_resume_unpack(packed, n, &other));
    free(damaged);
    pp_resume_free(&run);
    pp_resume_free(&hashed);
    pp_resume_free(&again);
}

/* Iterations without a batch cost seven bytes each: bytes may claim no more of them than a recording has. */
static void test_hashes_have_no_more_iterations_than_recordings(void **s)
{
    enum { HEAD = 12, WORDS = 7, ONE_MORE = PP_RESUME_ITERATIONS + 1 };
    static uint8_t bytes[HEAD + WORDS * ONE_MORE] = {0, 1, 0, 0, 4, 0, 0, 1, 1, 1, 1, 1};
    for (uint32_t more = 0; more < 2; more++) {
        struct pp_resume_run run;
        bytes[2] = (uint8_t)(0x80 | more);
        bytes[3] = 0x80;
        assert_int_equal(pp_resume_unpack(bytes, sizeof(bytes) - (more ? 0 : WORDS), &run), !more);
        assert_int_equal(run.iterations, PP_RESUME_ITERATIONS);
        pp_resume_free(&run);
    }
}

/* Killed behind the save at an epoch's end, the last one's too. */
static void test_an_epoch_that_was_over_comes_again(void **s)
{
    static const struct {
        uint32_t done, from, to; /* epochs: that were over; that the resumed run has */
        const char *culprit;
    } cases[] = {{2, 2, 4, NULL},          {2, 1, 4, "epoch-twice"}, {4, 4, 4, NULL},
                 {4, 3, 4, "epoch-twice"}, {3, 3, 5, "epoch-twice"}, {4, 0, 4, "restarted"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct job j = {
            .n = 320, .b = 8, .epochs = 4, .every = 5, .ranks = 1, .seed = 7 + i, .kill = 40 * cases[i].done};
        struct writing w = {.j = &j, .run = &runs[2][0]};
        size_t c = put_before(&j);
        assert_true(c == j.kill);
        runs[2][0] = new_run(0, 1);
        for (uint32_t e = cases[i].from; e < cases[i].to; e++)
            put_epoch(&w, e, 0, 0, SIZE_MAX, 0);
        w.run->finished = 1;
        pp_resume_finish(w.run, 0);
        const struct pp_resume_answer *a = judge(1, 1);
        if (cases[i].culprit) {
            assert_string_equal(a->culprit, cases[i].culprit);
            double repeated, left;
            count(&repeated, &left, c, 1);
            assert_true(a->repeated == repeated && a->left_out == left);
        } else {
            assert_string_equal(a->kind_name, "exact");
        }
        forget();
    }
}

/* Another number of ranks: the global order is cut by step into the batches of the ranks. */
static void put_world(const struct job *j, struct pp_resume_run *run, uint32_t world, uint32_t b,
                      uint64_t from, uint32_t epoch, size_t most, int saves)
{
    const struct job all = {.n = j->n, .seed = j->seed, .ranks = 1};
    size_t steps = 0;
    for (uint32_t r = 0; r < world; r++)
        run[r] = new_run(r, world);
    for (uint32_t e = epoch; e < j->epochs && steps < most; e++) {
        for (uint32_t r = 0; r < world; r++)
            assert_non_null(pp_resume_iterate(&run[r]));
        for (uint64_t k = e == epoch ? from : 0; k < j->n && steps < most; k += (uint64_t)world * b) {
            for (uint32_t r = 0; r < world; r++) {
                uint64_t sample[64];
                uint32_t n = 0;
                for (uint64_t i = k + r; n < b && i < j->n; i += world)
                    sample[n++] = sample_of(&all, e, 0, i);
                const struct pp_resume_batch batch = {.n = n, .trained = 1};
                assert_true(pp_resume_take(&run[r], &batch, sample, NULL));
            }
            steps++;
            if (saves && steps % 5 == 0)
                assert_true(pp_resume_save_here(&run[0], 0, 0));
        }
    }
    for (uint32_t r = 0; r < world; r++) {
        run[r].finished = most == SIZE_MAX;
        for (size_t i = 0; i < run[r].iterations; i++)
            run[r].iteration[i].ended = 1;
        pp_resume_finish(&run[r], 0);
    }
}

static void test_other_numbers_of_ranks(void **s)
{
    for (int i = 0; i < JOBS; i++) {
        state = (uint64_t)(i + 77);
        struct job j = {.n = 480, .seed = draw(1 << 30), .ranks = 2, .b = 8, .epochs = 3};
        size_t kill = 36 + draw(9), c = kill - kill % 5, step = c % 30;
        for (int wrong = 0; wrong < 2; wrong++) {
            put_world(&j, runs[0], 2, 8, 0, 0, SIZE_MAX, 1);
            put_world(&j, runs[1], 2, 8, 0, 0, kill, 1);
            put_world(&j, runs[2], 4, wrong ? 8 : 4, step * (wrong ? 32 : 16), 1, SIZE_MAX, 0);
            const struct pp_resume_answer *a = judge(2, 4);
            if (!wrong) {
                assert_string_equal(a->kind_name, "exact");
            } else {
                assert_string_equal(a->culprit, "world-size");
                assert_true(a->left_out == (double)step * 16 && a->repeated == 0 && a->first == (double)c);
            }
            forget();
        }
    }
}

/* So far behind the checkpoint that nothing of the epoch is left: an iteration without a batch, or none where
 * the job does not ask for one, or where the place goes on in the next epoch; the next epoch is whole, or cut
 * as the run was stopped in it. */
static void test_nothing_is_left_of_the_epoch(void **s)
{
    static const uint32_t worlds[][2] = {{2, 2}, {2, 4}, {4, 2}, {1, 1}};
    for (int i = 0; i < 4 * JOBS; i++) {
        state = (uint64_t)(i + 1234);
        const uint32_t *world = worlds[i % 4];
        struct job j = {.n = 480, .seed = draw(1 << 30), .ranks = 2, .b = 8, .epochs = 3};
        size_t per = 480 / (8 * world[0]), kill = per + 6 + draw((uint32_t)per - 7), c = kill - kill % 5,
               most = i % 3 ? 3 + draw(4) : SIZE_MAX;
        put_world(&j, runs[0], world[0], 8, 0, 0, i % 5 ? SIZE_MAX : per * 2 + 9, 1);
        put_world(&j, runs[1], world[0], 8, 0, 0, kill, 1);
        uint64_t over = i % 7 == 3 ? 32 : 0; /* samples of the next epoch, which are left out too */
        put_world(&j, runs[2], world[1], 8, i % 2 && !over ? 480 : over, i % 2 && !over ? 1 : 2, most, 0);
        if (i % 5 == 0)
            for (uint32_t r = 0; r < world[0]; r++)
                runs[0][r].iteration[2].ended = 0;
        if (most != SIZE_MAX)
            for (uint32_t r = 0; r < world[1]; r++)
                runs[2][r].iteration[runs[2][r].iterations - 1].ended = 0;
        const struct pp_resume_answer *a = judge(world[0], world[1]);
        size_t rest = 960 - c * 8 * world[0] + (most == SIZE_MAX && i % 5 ? over : 0);
        assert_string_equal(a->kind_name, rest ? "not-exact" : "exact");
        if (rest && (a->left_out != (double)rest || a->repeated > 0 || a->first != (double)c))
            fail_msg("%d: %u to %u ranks, behind %zu: %s", i, world[0], world[1], c, a->sentence);
        forget();
    }
}

/* A loop looks at a batch before it trains, in each start: that is no epoch, and no part of what is counted.
 */
static void test_what_is_only_looked_at_is_no_epoch(void **s)
{
    for (int i = 0; i < JOBS; i++) {
        state = (uint64_t)(i + 55);
        struct job j = draw_job(RIGHT);
        j.ranks = 1, j.lag = 0;
        size_t c = 0, per = epoch_batches(&j);
        for (int k = 0; k < 3; k++) {
            const uint64_t sample = 5;
            runs[k][0] = new_run(0, 1);
            struct writing w = {.j = &j, .run = &runs[k][0]};
            begin(&w);
            take(&w, &sample, 1, 0);
            if (k < 2)
                put_run(&w, k ? j.kill : per * 3 + 2);
            else
                put_epoch(&w, c / per, c % per * j.b, 0, SIZE_MAX, 0), put_epoch(&w, 7, 0, 0, 3, 0);
            if (k == 1)
                c = j.kill / j.every * j.every;
            w.run->finished = 0;
            pp_resume_finish(w.run, 0);
            c = k == 1 ? w.run->save[w.run->saves - 1].batches : c;
        }
        runs[2][0].iteration[0].ended = 1;
        const struct pp_resume_answer *a = judge(1, 1);
        assert_string_equal(a->culprit, "generator-lost");
        assert_true(a->first == (double)((c / per + 1) * per) && a->first_epoch == (double)(c / per + 1));
        assert_true(a->repeated == 0 && a->left_out == 0);
        forget();
    }
}

/* A batch more, less, moved or exchanged is found where it is. */
static void test_each_change_is_found(void **s)
{
    for (int i = 0; i < 4 * JOBS; i++) {
        state = (uint64_t)(i + 991);
        struct job j = draw_job(RIGHT);
        size_t c = put_before(&j);
        for (uint32_t r = 0; r < j.ranks; r++) {
            struct writing w = {.j = &j, .run = &runs[2][r], .rank = r};
            runs[2][r] = new_run(r, j.ranks);
            put_resumed(&w, RIGHT, c);
            pp_resume_finish(w.run, j.lag);
        }
        struct pp_resume_run *run = &runs[2][draw(j.ranks)];
        size_t at = 1 + draw((uint32_t)run->n - 3), first = at;
        struct pp_resume_batch *b = run->batch, kept = b[at];
        if (i % 4 == 0) { /* left out */
            memmove(b + at, b + at + 1, (run->n - at - 1) * sizeof(*b));
            run->n--;
        } else if (i % 4 == 1) { /* used again */
            b[at] = b[at - 1];
        } else if (i % 4 == 2) { /* rotated */
            b[at] = b[at + 1];
            b[at + 1] = kept;
        } else { /* two samples exchanged within it */
            uint64_t *t = run->token + kept.first, x = t[0];
            t[0] = t[1];
            t[1] = x;
            b[at].order ^= 1;
        }
        const struct pp_resume_answer *a = judge(j.ranks, j.ranks);
        assert_string_equal(a->kind_name, "not-exact");
        assert_true(a->first == (double)(c + first) && a->rank == (double)run->rank);
        forget();
    }
}

/* The uninterrupted run was stopped in its last epoch; the resumed one came to its end an epoch too early. */
static void test_an_early_end_is_seen_beside_a_run_that_was_stopped(void **s)
{
    for (int i = 0; i < 2 * JOBS; i++) {
        state = (uint64_t)(i + 331);
        struct job j = draw_job(DROPS_EPOCH);
        size_t c = put_before(&j), stop = 3 * epoch_batches(&j) + 2 + draw(4);
        for (uint32_t r = 0; r < j.ranks; r++) {
            struct writing w = {.j = &j, .run = &runs[0][r], .rank = r};
            pp_resume_free(w.run);
            *w.run = new_run(r, j.ranks);
            put_run(&w, stop);
            pp_resume_finish(w.run, j.lag);
            w = (struct writing){.j = &j, .run = &runs[2][r], .rank = r};
            runs[2][r] = new_run(r, j.ranks);
            j.epochs -= i % 2;
            put_resumed(&w, RIGHT, c);
            j.epochs += i % 2;
            pp_resume_finish(w.run, j.lag);
        }
        const struct pp_resume_answer *a = judge(j.ranks, j.ranks);
        if (i % 2 == 0) {
            assert_string_equal(a->kind_name, "exact");
        } else {
            double repeated, left;
            count(&repeated, &left, c, j.ranks);
            if (!a->culprit || strcmp(a->culprit, "epoch-dropped") != 0)
                fail_msg("%d ranks %d kill %zu c %zu stop %zu: %s %s", i, (int)j.ranks, j.kill, c, stop,
                         a->sentence, a->culprit ? a->culprit : "");
            assert_true(a->first == (double)(3 * epoch_batches(&j)) && a->left_out == left && left > 0);
        }
        forget();
    }
}

static void test_what_cannot_be_told_is_said(void **s)
{
    state = 5;
    struct job j = draw_job(RIGHT);
    j.ranks = 1;
    for (int i = 0; i < 4; i++) {
        size_t c = put_before(&j);
        struct writing w = {.j = &j, .run = &runs[2][0]};
        runs[2][0] = new_run(0, 1);
        put_resumed(&w, i == 2 ? RESTARTS : RIGHT, c);
        pp_resume_finish(w.run, j.lag);
        if (i == 0)
            runs[1][0].saves = 0;
        if (i == 1)
            runs[1][0].batch[3].order++;
        if (i == 2)
            w.run->restored = 0;
        if (i == 3)
            w.run->unknown = "the samples are not known";
        static const char *const said[] = {"no checkpoint was seen", "not reproducible even without a kill",
                                           "does not resume by itself", "of a resumed run the samples"};
        const struct pp_resume_answer *a = judge(1, 1);
        assert_string_equal(a->kind_name, "cannot-be-told");
        assert_non_null(strstr(a->sentence, said[i]));
        assert_null(a->culprit);
        forget();
    }
}

/* Only every k-th batch has a mark (an optimizer's step): those before it were trained on as well, but for
 * what was dropped on the way to the old place; an epoch's rest has a step of its own. */
static void test_batches_of_a_step(void **s)
{
    for (int i = 0; i < JOBS; i++) {
        state = (uint64_t)(i + 77);
        struct pp_resume_run run = new_run(0, 1);
        size_t k = 1 + draw(8), epochs = 1 + draw(3), n = 6 * k + 1 + draw(40), dropped = k * draw(3),
               want = 0;
        for (size_t e = 0; e < epochs; e++) {
            assert_non_null(pp_resume_iterate(&run));
            size_t from = e ? 0 : dropped;
            for (size_t b = 0; b < n; b++) {
                const struct pp_resume_batch batch = {.n = 1,
                                                      .trained = b >= from &&
                                                                 ((b - from) % k == k - 1 || b + 1 == n)};
                const uint64_t sample = b;
                assert_true(pp_resume_take(&run, &batch, &sample, NULL));
            }
            want += n - from;
        }
        pp_resume_spread(&run);
        size_t trained = 0;
        for (size_t b = 0; b < run.n; b++)
            trained += (size_t)run.batch[b].trained;
        assert_int_equal(trained, want);
        assert_int_equal(pp_resume_lag(&run), epochs > 1 ? 0 : dropped);
        pp_resume_free(&run);
    }
}

/* A wrapper has one batch more than was trained on when the job saves, and is killed at once. */
static void test_killed_in_a_save_with_a_batch_in_hand(void **s)
{
    for (uint32_t lag = 0; lag < 4; lag++) {
        struct pp_resume_run run = new_run(0, 1);
        assert_non_null(pp_resume_iterate(&run));
        for (uint64_t b = 0; b < 5 + lag; b++) {
            const struct pp_resume_batch batch = {.n = 1, .trained = b >= lag};
            assert_true(pp_resume_take(&run, &batch, &b, NULL));
            if (b == 2 + lag)
                assert_true(pp_resume_save_here(&run, 0, 0));
        }
        assert_true(pp_resume_save_here(&run, 0, 0));
        pp_resume_finish(&run, lag);
        assert_int_equal(run.n, 5);
        assert_int_equal(run.save[0].batches, 3);
        assert_int_equal(run.save[1].batches, 5);
        pp_resume_free(&run);
    }
}

/* Bytes that vary between uninterrupted runs are no fault of a resume; those that do not are. */
static void test_bytes_that_are_not_seeded(void **s)
{
    for (int seeded = 0; seeded < 2; seeded++) {
        state = 12;
        struct job j = draw_job(RIGHT);
        j.ranks = 1;
        size_t c = put_before(&j);
        struct writing w = {.j = &j, .run = &runs[2][0], .bytes = 9};
        runs[2][0] = new_run(0, 1);
        put_resumed(&w, RIGHT, c);
        pp_resume_finish(w.run, j.lag);
        struct pp_resume_run second = new_run(0, 1);
        struct writing again = {.j = &j, .run = &second, .bytes = seeded ? 0 : 5};
        put_run(&again, SIZE_MAX);
        pp_resume_finish(&second, j.lag);
        pp_resume_note_bytes(&(struct pp_resume_start){runs[0], 1, NULL},
                             &(struct pp_resume_start){&second, 1, NULL});
        const struct pp_resume_answer *a = judge(1, 1);
        assert_string_equal(a->kind_name, seeded ? "not-exact" : "exact");
        assert_true((strstr(made.note, "not seeded") != NULL) == !seeded);
        pp_resume_free(&second);
        forget();
    }
}

/* A checkpoint that another thread writes has what was before: it goes on anywhere behind the one before
 * that. */
static void test_a_checkpoint_that_another_thread_writes(void **s)
{
    for (int late = 0; late < 2; late++) {
        state = 12;
        struct job j = draw_job(RIGHT);
        j.ranks = 1;
        size_t c = put_before(&j);
        struct pp_resume_run *killed = &runs[1][0];
        struct writing w = {.j = &j, .run = &runs[2][0]};
        assert_true(killed->saves > 1 && killed->save[killed->saves - 2].batches < c);
        killed->save[killed->saves - 1].how = late ? PP_RESUME_LATE : 0;
        runs[2][0] = new_run(0, 1);
        put_resumed(&w, RIGHT, c - 1);
        pp_resume_finish(w.run, j.lag);
        const struct pp_resume_answer *a = judge(1, 1);
        assert_string_equal(a->kind_name, late ? "exact" : "not-exact");
        assert_true(!late || (a->older && a->resumed_at == (double)(c - 1)));
        forget();
    }
}

/* Workers that stay have the epoch in which they were started, where all epochs of a stream have one order,
 * and nothing else tells why the resumed run has another one. */
static void test_workers_that_keep_their_epoch(void **s)
{
    static const struct {
        uint32_t alike; /* epochs of the uninterrupted run that have one order, of four */
        int stream;
        double workers, buffer; /* of the resumed run */
        const char *culprit;
    } cases[] = {{4, 1, 2, NAN, "sampler-epoch"}, {4, 0, 2, NAN, "rng-mid-epoch"},
                 {4, 1, 4, NAN, "worker-split"},  {4, 1, 2, 64, "buffer-lost"},
                 {2, 1, 2, NAN, "buffer-lost"},   {1, 1, 2, NAN, "buffer-lost"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        state = i + 1;
        struct job j = draw_job(NEW_ORDER);
        j.ranks = 1;
        j.alike = cases[i].alike;
        size_t c = put_before(&j);
        struct pp_resume_run *run = &runs[2][0];
        struct writing w = {.j = &j, .run = run};
        *run = new_run(0, 1);
        put_resumed(&w, NEW_ORDER, c);
        run->token[3] = 6000;
        pp_resume_finish(run, j.lag);
        for (int k = 0; k < 3; k++) {
            runs[k][0].stream = cases[i].stream;
            runs[k][0].persistent = 1;
        }
        run->buffer = cases[i].buffer;
        for (size_t k = 0; k < run->iterations; k++)
            run->iteration[k].workers = cases[i].workers;
        const struct pp_resume_answer *a = judge(1, 1);
        if (!a->culprit || strcmp(a->culprit, cases[i].culprit) != 0)
            fail_msg("case %zu: %s, %s", i, a->sentence, a->culprit ? a->culprit : "nothing");
        forget();
    }
}

/* Batches of two samples, and of the resumed run an odd one at first: they never line up, and where it stands
 * is looked for a bounded number of batches behind each of the others. */
static void test_sizes_that_never_line_up(void **s)
{
    enum { N = 100000, C = 100, BOUND_S = 4 };
    for (int i = 0; i < 3; i++) {
        struct pp_resume_run *run = &runs[i][0];
        *run = new_run(0, 1);
        assert_non_null(pp_resume_iterate(run));
        for (uint64_t k = i == 2 ? C : 0; k < (i == 1 ? C + 5 : N); k++) {
            const uint64_t sample[] = {2 * k + (i == 2), 2 * k + 1 + (i == 2), 2 * k + 2};
            const struct pp_resume_batch b = {.n = i == 2 && k == C ? 3 : 2, .trained = 1};
            assert_true(pp_resume_take(run, &b, sample, NULL));
            if (i == 1 && k + 1 == C)
                assert_true(pp_resume_save_here(run, 0, 0));
        }
        pp_resume_finish(run, 0);
    }
    clock_t began = clock();
    const struct pp_resume_answer *a = judge(1, 1);
    assert_string_equal(a->kind_name, "not-exact");
    assert_true(clock() - began < (clock_t)BOUND_S * CLOCKS_PER_SEC);
    forget();
}

/* What the resumed run did is judged, right or wrong, and how it ended is said. */
static void test_how_a_resumed_run_failed_is_said(void **s)
{
    static const enum how hows[] = {RIGHT, BEGINS_EPOCH};
    failed = "failed with exit status 1: the disk is full";
    for (int i = 0; i < 3; i++) {
        state = 12;
        struct job j = draw_job(RIGHT);
        j.ranks = 1;
        size_t c = put_before(&j);
        struct writing w = {.j = &j, .run = &runs[2][0]};
        runs[2][0] = new_run(0, 1);
        if (i < 2)
            put_resumed(&w, hows[i], c);
        w.run->finished = 0;
        pp_resume_finish(w.run, j.lag);
        const struct pp_resume_answer *a = judge(1, 1);
        assert_string_equal(a->kind_name, i == 1 ? "not-exact" : "cannot-be-told");
        assert_non_null(strstr(a->sentence, "failed with exit status 1: the disk is full."));
        forget();
    }
    failed = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_culprit_is_named),
        cmocka_unit_test(test_a_digest_has_hashes_of_batches),
        cmocka_unit_test(test_hashes_have_no_more_iterations_than_recordings),
        cmocka_unit_test(test_an_epoch_that_was_over_comes_again),
        cmocka_unit_test(test_other_numbers_of_ranks),
        cmocka_unit_test(test_nothing_is_left_of_the_epoch),
        cmocka_unit_test(test_what_is_only_looked_at_is_no_epoch),
        cmocka_unit_test(test_each_change_is_found),
        cmocka_unit_test(test_an_early_end_is_seen_beside_a_run_that_was_stopped),
        cmocka_unit_test(test_what_cannot_be_told_is_said),
        cmocka_unit_test(test_batches_of_a_step),
        cmocka_unit_test(test_killed_in_a_save_with_a_batch_in_hand),
        cmocka_unit_test(test_bytes_that_are_not_seeded),
        cmocka_unit_test(test_a_checkpoint_that_another_thread_writes),
        cmocka_unit_test(test_workers_that_keep_their_epoch),
        cmocka_unit_test(test_sizes_that_never_line_up),
        cmocka_unit_test(test_how_a_resumed_run_failed_is_said),
    };
    return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
