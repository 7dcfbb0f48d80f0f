/* Made jobs that are killed near an epoch's end, or resumed on other numbers of ranks: what is left of the
 * epoch, what comes again, and where two runs are held against each other. */
#include "tests/support/killed_job.h"

#include <math.h>
#include <time.h>

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
        struct writing w = {.j = &j, .run = &job_runs[2][0]};
        size_t c = job_put_before(&j);
        assert_true(c == j.kill);
        job_runs[2][0] = job_new_run(0, 1);
        for (uint32_t e = cases[i].from; e < cases[i].to; e++)
            job_put_epoch(&w, e, 0, 0, SIZE_MAX, 0);
        w.run->finished = 1;
        pp_resume_finish(w.run, 0);
        const struct pp_resume_answer *a = job_judge(1, 1);
        if (cases[i].culprit) {
            assert_string_equal(a->culprit, cases[i].culprit);
            double repeated, left;
            job_count(&repeated, &left, c, 1);
            assert_true(a->repeated == repeated && a->left_out == left);
        } else {
            assert_string_equal(a->kind_name, "exact");
        }
        job_forget();
    }
}

/* Another number of ranks: the global order is cut by step into the batches of the ranks. */
static void put_world(const struct job *j, struct pp_resume_run *run, uint32_t world, uint32_t b,
                      uint64_t from, uint32_t epoch, size_t most, int saves)
{
    const struct job all = {.n = j->n, .seed = j->seed, .ranks = 1};
    size_t steps = 0;
    for (uint32_t r = 0; r < world; r++)
        run[r] = job_new_run(r, world);
    for (uint32_t e = epoch; e < j->epochs && steps < most; e++) {
        for (uint32_t r = 0; r < world; r++)
            assert_non_null(pp_resume_iterate(&run[r]));
        for (uint64_t k = e == epoch ? from : 0; k < j->n && steps < most; k += (uint64_t)world * b) {
            for (uint32_t r = 0; r < world; r++) {
                uint64_t sample[64];
                uint32_t n = 0;
                for (uint64_t i = k + r; n < b && i < j->n; i += world)
                    sample[n++] = job_sample(&all, e, 0, i);
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
        job_seed = (uint64_t)(i + 77);
        struct job j = {.n = 480, .seed = job_draw(1 << 30), .ranks = 2, .b = 8, .epochs = 3};
        size_t kill = 36 + job_draw(9), c = kill - kill % 5, step = c % 30;
        for (int wrong = 0; wrong < 2; wrong++) {
            put_world(&j, job_runs[0], 2, 8, 0, 0, SIZE_MAX, 1);
            put_world(&j, job_runs[1], 2, 8, 0, 0, kill, 1);
            put_world(&j, job_runs[2], 4, wrong ? 8 : 4, step * (wrong ? 32 : 16), 1, SIZE_MAX, 0);
            const struct pp_resume_answer *a = job_judge(2, 4);
            if (!wrong) {
                assert_string_equal(a->kind_name, "exact");
            } else {
                assert_string_equal(a->culprit, "world-size");
                assert_true(a->left_out == (double)step * 16 && a->repeated == 0 && a->first == (double)c);
            }
            job_forget();
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
        job_seed = (uint64_t)(i + 1234);
        const uint32_t *world = worlds[i % 4];
        struct job j = {.n = 480, .seed = job_draw(1 << 30), .ranks = 2, .b = 8, .epochs = 3};
        size_t per = 480 / (8 * world[0]), kill = per + 6 + job_draw((uint32_t)per - 7), c = kill - kill % 5,
               most = i % 3 ? 3 + job_draw(4) : SIZE_MAX;
        put_world(&j, job_runs[0], world[0], 8, 0, 0, i % 5 ? SIZE_MAX : per * 2 + 9, 1);
        put_world(&j, job_runs[1], world[0], 8, 0, 0, kill, 1);
        uint64_t over = i % 7 == 3 ? 32 : 0; /* samples of the next epoch, which are left out too */
        put_world(&j, job_runs[2], world[1], 8, i % 2 && !over ? 480 : over, i % 2 && !over ? 1 : 2, most, 0);
        if (i % 5 == 0)
            for (uint32_t r = 0; r < world[0]; r++)
                job_runs[0][r].iteration[2].ended = 0;
        if (most != SIZE_MAX)
            for (uint32_t r = 0; r < world[1]; r++)
                job_runs[2][r].iteration[job_runs[2][r].iterations - 1].ended = 0;
        const struct pp_resume_answer *a = job_judge(world[0], world[1]);
        size_t rest = 960 - c * 8 * world[0] + (most == SIZE_MAX && i % 5 ? over : 0);
        assert_string_equal(a->kind_name, rest ? "not-exact" : "exact");
        if (rest && (a->left_out != (double)rest || a->repeated > 0 || a->first != (double)c))
            fail_msg("%d: %u to %u ranks, behind %zu: %s", i, world[0], world[1], c, a->sentence);
        job_forget();
    }
}

/* A loop looks at a batch before it trains, in each start: that is no epoch, and no part of what is counted.
 */
static void test_what_is_only_looked_at_is_no_epoch(void **s)
{
    for (int i = 0; i < JOBS; i++) {
        job_seed = (uint64_t)(i + 55);
        struct job j = job_random(RIGHT);
        j.ranks = 1, j.lag = 0;
        size_t c = 0, per = job_epoch_batches(&j);
        for (int k = 0; k < 3; k++) {
            const uint64_t sample = 5;
            job_runs[k][0] = job_new_run(0, 1);
            struct writing w = {.j = &j, .run = &job_runs[k][0]};
            job_begin(&w);
            job_take(&w, &sample, 1, 0);
            if (k < 2)
                job_put_run(&w, k ? j.kill : per * 3 + 2);
            else
                job_put_epoch(&w, c / per, c % per * j.b, 0, SIZE_MAX, 0), job_put_epoch(&w, 7, 0, 0, 3, 0);
            if (k == 1)
                c = j.kill / j.every * j.every;
            w.run->finished = 0;
            pp_resume_finish(w.run, 0);
            c = k == 1 ? w.run->save[w.run->saves - 1].batches : c;
        }
        job_runs[2][0].iteration[0].ended = 1;
        const struct pp_resume_answer *a = job_judge(1, 1);
        assert_string_equal(a->culprit, "generator-lost");
        assert_true(a->first == (double)((c / per + 1) * per) && a->first_epoch == (double)(c / per + 1));
        assert_true(a->repeated == 0 && a->left_out == 0);
        job_forget();
    }
}

/* The uninterrupted run was stopped in its last epoch; the resumed one came to its end an epoch too early. */
static void test_an_early_end_is_seen_beside_a_run_that_was_stopped(void **s)
{
    for (int i = 0; i < 2 * JOBS; i++) {
        job_seed = (uint64_t)(i + 331);
        struct job j = job_random(DROPS_EPOCH);
        size_t c = job_put_before(&j), stop = 3 * job_epoch_batches(&j) + 2 + job_draw(4);
        for (uint32_t r = 0; r < j.ranks; r++) {
            struct writing w = {.j = &j, .run = &job_runs[0][r], .rank = r};
            pp_resume_free(w.run);
            *w.run = job_new_run(r, j.ranks);
            job_put_run(&w, stop);
            pp_resume_finish(w.run, j.lag);
            w = (struct writing){.j = &j, .run = &job_runs[2][r], .rank = r};
            job_runs[2][r] = job_new_run(r, j.ranks);
            j.epochs -= i % 2;
            job_put_resumed(&w, RIGHT, c);
            j.epochs += i % 2;
            pp_resume_finish(w.run, j.lag);
        }
        const struct pp_resume_answer *a = job_judge(j.ranks, j.ranks);
        if (i % 2 == 0) {
            assert_string_equal(a->kind_name, "exact");
        } else {
            double repeated, left;
            job_count(&repeated, &left, c, j.ranks);
            if (!a->culprit || strcmp(a->culprit, "epoch-dropped") != 0)
                fail_msg("%d ranks %d kill %zu c %zu stop %zu: %s %s", i, (int)j.ranks, j.kill, c, stop,
                         a->sentence, a->culprit ? a->culprit : "");
            assert_true(a->first == (double)(3 * job_epoch_batches(&j)) && a->left_out == left && left > 0);
        }
        job_forget();
    }
}

/* Batches of two samples, and of the resumed run an odd one at first: they never line up, and where it stands
 * is looked for a bounded number of batches behind each of the others. */
static void test_sizes_that_never_line_up(void **s)
{
    enum { N = 100000, C = 100, BOUND_S = 4 };
    for (int i = 0; i < 3; i++) {
        struct pp_resume_run *run = &job_runs[i][0];
        *run = job_new_run(0, 1);
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
    const struct pp_resume_answer *a = job_judge(1, 1);
    assert_string_equal(a->kind_name, "not-exact");
    assert_true(clock() - began < (clock_t)BOUND_S * CLOCKS_PER_SEC);
    job_forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_epoch_that_was_over_comes_again),
        cmocka_unit_test(test_other_numbers_of_ranks),
        cmocka_unit_test(test_nothing_is_left_of_the_epoch),
        cmocka_unit_test(test_what_is_only_looked_at_is_no_epoch),
        cmocka_unit_test(test_an_early_end_is_seen_beside_a_run_that_was_stopped),
        cmocka_unit_test(test_sizes_that_never_line_up),
    };
    return cmocka_run_group_tests_name("resume_epochs", tests, NULL, NULL);
}
