/* Python stacks as rows: threads by their numbers, sums of the views, and how old samples are folded. */
#include "tests/support/store_dir.h"

#include "collectors/store/store.h"

static void finish(struct pp_store *s)
{
    struct pp_err err = {0};
    if (pp_store_finish(s, &err) != PP_OK)
        fail_msg("%s", err.text);
    pp_store_close(s);
}

static void sample(struct pp_store *s, uint64_t t_ns, uint32_t stack, char state)
{
    assert_int_equal(pp_store_stack_sample(s, &(struct pp_stack_sample_row){.t_ns = t_ns,
                                                                            .thread = 3,
                                                                            .stack = stack,
                                                                            .state = state}),
                     PP_OK);
}

/* main:1 -> walk:2 -> walk:2 -> blur:9 (a member), and main:1 -> sleep:4 */
static struct pp_store *with_stacks(struct pp_store_opts opts)
{
    static const char *const name[] = {"main", "walk", "Blur.__call__", "sleep"};
    static const struct pp_stack_row frames[] = {
        {1, 0, 1, 1, 0}, {2, 1, 2, 2, 0}, {3, 2, 2, 2, 0}, {4, 3, 3, 9, 1}, {5, 1, 4, 0, 0}};
    opts.path = store_path;
    struct pp_store *s = store_create_with(opts);
    for (uint32_t i = 0; i < 4; i++)
        pp_store_stack_function(s, &(struct pp_stack_function_row){i + 1, 1, name[i], "/job/train.py"});
    pp_store_stack_op(s, &(struct pp_stack_op_row){1, "dataset.transform.transforms[2]", "Blur", "radius=2"});
    for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++)
        assert_int_equal(pp_store_stack(s, &frames[i]), PP_OK);
    return s;
}

static void lines_and_members_are_summed(void **state)
{
    struct pp_store *s = with_stacks((struct pp_store_opts){.path = NULL});
    for (uint64_t i = 0; i < 6; i++)
        sample(s, i, 4, i < 4 ? 'R' : 'S');
    sample(s, 7, 3, 'R');
    sample(s, 8, 5, 'S');
    sample(s, 9, 5, 0);
    finish(s);
    assert_int_equal(store_query("SELECT samples FROM v_stack_line WHERE function = 'main'"), 9);
    assert_int_equal(store_query("SELECT samples FROM v_stack_line WHERE function = 'walk'"),
                     7); /* once each */
    assert_int_equal(store_query("SELECT self FROM v_stack_line WHERE function = 'walk'"), 1);
    assert_int_equal(store_query("SELECT self FROM v_stack_line WHERE line = 9"), 6);
    assert_int_equal(store_query("SELECT on_cpu FROM v_stack_line WHERE line = 9"), 4);
    assert_int_equal(store_query("SELECT self FROM v_stack_line WHERE line IS NULL"), 2);
    assert_int_equal(store_query("SELECT samples * 10 + on_cpu FROM v_stack_op WHERE class = 'Blur'"), 64);
    assert_int_equal(store_query("SELECT count(*) FROM stack_sample WHERE state IS NULL"), 1);
}

static void a_thread_has_its_number(void **state)
{
    struct pp_store *s = with_stacks((struct pp_store_opts){.path = NULL});
    uint32_t id, other, again;
    assert_int_equal(pp_store_stack_thread(s, 70, 71, &other), PP_OK);
    assert_true(other == UINT32_MAX); /* of a process that records nothing */
    pp_store_thread(
        s, &(struct pp_store_thread){.id = 2, .lane = PP_LANE_TRAINER, .name = "t", .pid = 70, .tid = 7});
    assert_int_equal(pp_store_stack_thread(s, 70, 71, &other), PP_OK);
    assert_int_equal(other, PP_THREADS_MAX);
    pp_store_thread(
        s, &(struct pp_store_thread){.id = 3, .lane = PP_LANE_WORKER, .name = "w", .pid = 70, .tid = 70});
    pp_store_stack_thread(s, 70, 70, &id);
    pp_store_stack_thread(s, 70, 71, &again);
    assert_int_equal(id, 3);
    assert_int_equal(again, other);
    pp_store_thread(
        s, &(struct pp_store_thread){.id = 4, .lane = PP_LANE_WORKER, .name = "w", .pid = 72, .tid = 72});
    pp_store_stack_thread(s, 72, 71, &again);
    assert_int_equal(again, PP_THREADS_MAX + 1);
    finish(s);
    assert_int_equal(store_query("SELECT tid FROM stack_thread WHERE id = 16384 AND pid = 70"), 71);
}

static void the_newest_stay_and_older_ones_are_counted(void **state)
{
    struct pp_store *s = with_stacks((struct pp_store_opts){.path = NULL});
    uint64_t n = PP_STORE_STACK_SAMPLES + 10;
    for (uint64_t i = 0; i < n; i++)
        sample(s, i * 100000000, i % 2 ? 4 : 5, 'S');
    finish(s);
    assert_true(store_query("SELECT count(*) FROM stack_sample") <= PP_STORE_STACK_SAMPLES);
    assert_int_equal(store_query("SELECT max(t_ns) / 100000000 FROM stack_sample"), n - 1);
    assert_int_equal(store_query("SELECT sum(n) + (SELECT count(*) FROM stack_sample) FROM stack_rollup"), n);
    assert_int_equal(store_query("SELECT n FROM stack_rollup WHERE minute = 1 AND stack = 4"), 300);
    assert_int_equal(store_query("SELECT samples FROM v_stack_line WHERE line = 9"), n / 2);
}

static void rollups_alone_have_none(void **state)
{
    struct pp_store *s = with_stacks((struct pp_store_opts){.detail = PP_DETAIL_ROLLUP});
    sample(s, 1, 4, 'R');
    finish(s);
    assert_int_equal(store_query("SELECT count(*) FROM stack_sample"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(lines_and_members_are_summed),
        STORE_TEST(a_thread_has_its_number),
        STORE_TEST(the_newest_stay_and_older_ones_are_counted),
        STORE_TEST(rollups_alone_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
