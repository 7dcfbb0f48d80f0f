/* Made jobs that are killed and resumed: each culprit is named on many random ones, with the first batch that
 * differs and the numbers of samples; correct resumes are never accused. */
#include "tests/support/killed_job.h"

#include <math.h>

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
    job_count(&repeated, &left, c, j->ranks);
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
            job_runs[i][r].stream = how == BUFFER || how == OTHER_WORKERS || how == OTHER_DROPPED;
    for (uint32_t r = 0; r < j->ranks && how == OTHER_DROPPED; r++)
        for (size_t i = 0; i < job_runs[2][r].iterations; i++)
            job_runs[2][r].iteration[i].workers = 4;
    if (how == OTHER_WORKERS)
        for (uint32_t r = 0; r < j->ranks; r++) {
            struct pp_resume_run *run = &job_runs[2][r];
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
            for (size_t k = 0; k < job_runs[i][r].iterations; k++)
                job_runs[i][r].iteration[k].workers = 0;
    (void)c;
}

static void test_each_culprit_is_named(void **s)
{
    for (int how = 0; how < HOWS; how++)
        for (int i = 0; i < JOBS; i++) {
            job_seed = (uint64_t)(how * 1000 + i + 1);
            if (how == WRONG_WORLD || how == RIGHT_WORLD)
                continue;
            struct job j = job_random((enum how)how);
            size_t c = job_put_before(&j);
            for (uint32_t r = 0; r < j.ranks; r++) {
                struct writing w = {.j = &j, .run = &job_runs[2][r], .rank = how == RANK_OF_0 ? 0 : r};
                job_runs[2][r] = job_new_run(r, j.ranks);
                w.files = how == OTHER_FILES;
                w.bytes = how == OTHER_BYTES;
                if (how == TORN)
                    w.run->failed = 1;
                else
                    job_put_resumed(&w, how == BUFFER || how == OTHER_DROPPED ? NEW_ORDER : (enum how)how, c);
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
                for (uint32_t k = 0; early && k < job_stale((enum how)how) * j.b; k++)
                    w.run->token[k] = job_sample(&j, how == EARLY_0 ? 0 : 77, r, k);
                pp_resume_finish(w.run, j.lag);
            }
            if (how == TORN)
                for (uint32_t r = 0; r < j.ranks; r++)
                    job_runs[1][r].save[job_runs[1][r].saves - 1].how = PP_RESUME_TORN;
            put_stream(&j, (enum how)how, c);
            const struct pp_resume_answer *a = job_judge(j.ranks, j.ranks);
            if (how == BUFFER || how == OTHER_WORKERS || how == OTHER_DROPPED) {
                if (!a->culprit || strcmp(a->culprit, culprit[how]) != 0)
                    fail_msg("how %d: %s, %s", how, a->sentence, a->culprit ? a->culprit : "nothing");
            } else {
                check(&j, (enum how)how, a, c);
            }
            job_forget();
        }
}

/* A batch more, less, moved or exchanged is found where it is. */
static void test_each_change_is_found(void **s)
{
    for (int i = 0; i < 4 * JOBS; i++) {
        job_seed = (uint64_t)(i + 991);
        struct job j = job_random(RIGHT);
        size_t c = job_put_before(&j);
        for (uint32_t r = 0; r < j.ranks; r++) {
            struct writing w = {.j = &j, .run = &job_runs[2][r], .rank = r};
            job_runs[2][r] = job_new_run(r, j.ranks);
            job_put_resumed(&w, RIGHT, c);
            pp_resume_finish(w.run, j.lag);
        }
        struct pp_resume_run *run = &job_runs[2][job_draw(j.ranks)];
        size_t at = 1 + job_draw((uint32_t)run->n - 3), first = at;
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
        const struct pp_resume_answer *a = job_judge(j.ranks, j.ranks);
        assert_string_equal(a->kind_name, "not-exact");
        assert_true(a->first == (double)(c + first) && a->rank == (double)run->rank);
        job_forget();
    }
}

static void test_what_cannot_be_told_is_said(void **s)
{
    job_seed = 5;
    struct job j = job_random(RIGHT);
    j.ranks = 1;
    for (int i = 0; i < 4; i++) {
        size_t c = job_put_before(&j);
        struct writing w = {.j = &j, .run = &job_runs[2][0]};
        job_runs[2][0] = job_new_run(0, 1);
        job_put_resumed(&w, i == 2 ? RESTARTS : RIGHT, c);
        pp_resume_finish(w.run, j.lag);
        if (i == 0)
            job_runs[1][0].saves = 0;
        if (i == 1)
            job_runs[1][0].batch[3].order++;
        if (i == 2)
            w.run->restored = 0;
        if (i == 3)
            w.run->unknown = "the samples are not known";
        static const char *const said[] = {"no checkpoint was seen", "not reproducible even without a kill",
                                           "does not resume by itself", "of a resumed run the samples"};
        const struct pp_resume_answer *a = job_judge(1, 1);
        assert_string_equal(a->kind_name, "cannot-be-told");
        assert_non_null(strstr(a->sentence, said[i]));
        assert_null(a->culprit);
        job_forget();
    }
}

/* Bytes that vary between uninterrupted runs are no fault of a resume; those that do not are. */
static void test_bytes_that_are_not_seeded(void **s)
{
    for (int seeded = 0; seeded < 2; seeded++) {
        job_seed = 12;
        struct job j = job_random(RIGHT);
        j.ranks = 1;
        size_t c = job_put_before(&j);
        struct writing w = {.j = &j, .run = &job_runs[2][0], .bytes = 9};
        job_runs[2][0] = job_new_run(0, 1);
        job_put_resumed(&w, RIGHT, c);
        pp_resume_finish(w.run, j.lag);
        struct pp_resume_run second = job_new_run(0, 1);
        struct writing again = {.j = &j, .run = &second, .bytes = seeded ? 0 : 5};
        job_put_run(&again, SIZE_MAX);
        pp_resume_finish(&second, j.lag);
        pp_resume_note_bytes(&(struct pp_resume_start){job_runs[0], 1, NULL},
                             &(struct pp_resume_start){&second, 1, NULL});
        const struct pp_resume_answer *a = job_judge(1, 1);
        assert_string_equal(a->kind_name, seeded ? "not-exact" : "exact");
        assert_true((strstr(job_answers.note, "not seeded") != NULL) == !seeded);
        pp_resume_free(&second);
        job_forget();
    }
}

/* A checkpoint that another thread writes has what was before: it goes on anywhere behind the one before
 * that. */
static void test_a_checkpoint_that_another_thread_writes(void **s)
{
    for (int late = 0; late < 2; late++) {
        job_seed = 12;
        struct job j = job_random(RIGHT);
        j.ranks = 1;
        size_t c = job_put_before(&j);
        struct pp_resume_run *killed = &job_runs[1][0];
        struct writing w = {.j = &j, .run = &job_runs[2][0]};
        assert_true(killed->saves > 1 && killed->save[killed->saves - 2].batches < c);
        killed->save[killed->saves - 1].how = late ? PP_RESUME_LATE : 0;
        job_runs[2][0] = job_new_run(0, 1);
        job_put_resumed(&w, RIGHT, c - 1);
        pp_resume_finish(w.run, j.lag);
        const struct pp_resume_answer *a = job_judge(1, 1);
        assert_string_equal(a->kind_name, late ? "exact" : "not-exact");
        assert_true(!late || (a->older && a->resumed_at == (double)(c - 1)));
        job_forget();
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
        job_seed = i + 1;
        struct job j = job_random(NEW_ORDER);
        j.ranks = 1;
        j.alike = cases[i].alike;
        size_t c = job_put_before(&j);
        struct pp_resume_run *run = &job_runs[2][0];
        struct writing w = {.j = &j, .run = run};
        *run = job_new_run(0, 1);
        job_put_resumed(&w, NEW_ORDER, c);
        run->token[3] = 6000;
        pp_resume_finish(run, j.lag);
        for (int k = 0; k < 3; k++) {
            job_runs[k][0].stream = cases[i].stream;
            job_runs[k][0].persistent = 1;
        }
        run->buffer = cases[i].buffer;
        for (size_t k = 0; k < run->iterations; k++)
            run->iteration[k].workers = cases[i].workers;
        const struct pp_resume_answer *a = job_judge(1, 1);
        if (!a->culprit || strcmp(a->culprit, cases[i].culprit) != 0)
            fail_msg("case %zu: %s, %s", i, a->sentence, a->culprit ? a->culprit : "nothing");
        job_forget();
    }
}

/* What the resumed run did is judged, right or wrong, and how it ended is said. */
static void test_how_a_resumed_run_failed_is_said(void **s)
{
    static const enum how hows[] = {RIGHT, BEGINS_EPOCH};
    job_failed = "failed with exit status 1: the disk is full";
    for (int i = 0; i < 3; i++) {
        job_seed = 12;
        struct job j = job_random(RIGHT);
        j.ranks = 1;
        size_t c = job_put_before(&j);
        struct writing w = {.j = &j, .run = &job_runs[2][0]};
        job_runs[2][0] = job_new_run(0, 1);
        if (i < 2)
            job_put_resumed(&w, hows[i], c);
        w.run->finished = 0;
        pp_resume_finish(w.run, j.lag);
        const struct pp_resume_answer *a = job_judge(1, 1);
        assert_string_equal(a->kind_name, i == 1 ? "not-exact" : "cannot-be-told");
        assert_non_null(strstr(a->sentence, "failed with exit status 1: the disk is full."));
        job_forget();
    }
    job_failed = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_culprit_is_named),
        cmocka_unit_test(test_each_change_is_found),
        cmocka_unit_test(test_what_cannot_be_told_is_said),
        cmocka_unit_test(test_bytes_that_are_not_seeded),
        cmocka_unit_test(test_a_checkpoint_that_another_thread_writes),
        cmocka_unit_test(test_workers_that_keep_their_epoch),
        cmocka_unit_test(test_how_a_resumed_run_failed_is_said),
    };
    return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
