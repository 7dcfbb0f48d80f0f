/* One run of a job as it is judged: its hashes packed and read again, and which of its batches were trained
 * on. */
#include "tests/support/killed_job.h"

#include <math.h>

/* A run that is packed and read again has the same batches, places and saves; of what is cut or changed
 * anywhere nothing is read beyond its end. */
static void test_a_digest_has_hashes_of_batches(void **s)
{
    struct job j = {.n = 303, .b = 8, .epochs = 3, .every = 5, .ranks = 1, .lag = 1, .seed = 7};
    struct pp_resume_run run = job_new_run(1, 4), hashed = job_new_run(1, 4), again, other;
    struct writing w = {.j = &j, .run = &run, .rank = 1}, v = {.j = &j, .run = &hashed, .rank = 1};
    hashed.hashing = 1;
    job_put_run(&w, SIZE_MAX);
    job_put_run(&v, SIZE_MAX);
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

/* Only every k-th batch has a mark (an optimizer's step): those before it were trained on as well, but for
 * what was dropped on the way to the old place; an epoch's rest has a step of its own. */
static void test_batches_of_a_step(void **s)
{
    for (int i = 0; i < JOBS; i++) {
        job_seed = (uint64_t)(i + 77);
        struct pp_resume_run run = job_new_run(0, 1);
        size_t k = 1 + job_draw(8), epochs = 1 + job_draw(3), n = 6 * k + 1 + job_draw(40),
               dropped = k * job_draw(3), want = 0;
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
        struct pp_resume_run run = job_new_run(0, 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_digest_has_hashes_of_batches),
        cmocka_unit_test(test_hashes_have_no_more_iterations_than_recordings),
        cmocka_unit_test(test_batches_of_a_step),
        cmocka_unit_test(test_killed_in_a_save_with_a_batch_in_hand),
    };
    return cmocka_run_group_tests_name("resume_run", tests, NULL, NULL);
}
