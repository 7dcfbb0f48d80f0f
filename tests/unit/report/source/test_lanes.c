/* Worker processes that follow each other in one place are one lane; those that live side by side are not. */
#include "report/source/lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TRAINER = 100 };

/* name, pid, life; and what is expected: the row of its lane, its generation */
struct row {
    const char *name;
    int64_t pid;
    uint64_t first, last;
    size_t lane, generation;
};

static void check(const struct row *rows, size_t n, size_t generations)
{
    struct pp_thread_row thread[16] = {{.lane = PP_LANE_TRAINER, .name = "trainer", .pid = TRAINER}};
    struct pp_lane_life life[16] = {{0, 1000}};
    struct pp_lane_place place[16];
    for (size_t i = 0; i < n; i++) {
        thread[i + 1] = (struct pp_thread_row){.id = (uint32_t)i + 1,
                                               .lane = PP_LANE_WORKER,
                                               .name = rows[i].name,
                                               .pid = rows[i].pid,
                                               .tid = (int64_t)(TRAINER + 1 + i)};
        life[i + 1] = (struct pp_lane_life){rows[i].first, rows[i].last};
    }
    assert_int_equal(pp_lanes_join(thread, life, n + 1, place), generations);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(place[i + 1].row, rows[i].lane + 1);
        assert_int_equal(place[i + 1].generation, rows[i].generation);
    }
}

static void test_epochs_of_two_workers_are_two_lanes(void **state)
{
    const struct row rows[] = {{"python", 1, 10, 90, 0, 0},   {"python", 2, 12, 95, 1, 0},
                               {"python", 3, 100, 190, 0, 1}, {"python", 4, 101, 195, 1, 1},
                               {"python", 5, 210, 290, 0, 2}, {"python", 6, 209, 300, 1, 2}};
    struct row by_start[6];
    for (int i = 0; i < 6; i++)
        by_start[i] = rows[i];
    check(by_start, 4, 2);
    by_start[4].lane = 1, by_start[5].lane = 0; /* the one that began first takes the first place */
    check(by_start, 6, 3);
}

static void test_names_hold_their_places(void **state)
{
    const struct row rows[] = {{"worker-0", 1, 10, 90, 0, 0},
                               {"worker-1", 2, 12, 95, 1, 0},
                               {"worker-1", 3, 100, 190, 1, 1},
                               {"worker-0", 4, 101, 195, 0, 1}};
    check(rows, 4, 2);
}

static void test_what_overlaps_or_shares_a_process_stays_apart(void **state)
{
    const struct row overlap[] = {{"python", 1, 10, 90, 0, 0}, {"python", 2, 80, 190, 1, 0}};
    const struct row threads[] = {{"python", 1, 10, 90, 0, 0}, {"python", 1, 100, 190, 1, 0}};
    const struct row own[] = {{"pp-worker", TRAINER, 10, 90, 0, 0}, {"pp-worker", TRAINER, 100, 190, 1, 0}};
    const struct row silent[] = {{"python", 1, UINT64_MAX, 0, 0, 0}, {"python", 2, 10, 20, 1, 0}};
    check(overlap, 2, 1);
    check(threads, 2, 1);
    check(own, 2, 1);
    check(silent, 2, 1);
}

static void test_threads_of_a_pool_follow_each_other(void **state)
{
    const struct row pool[] = {{"pool", TRAINER, 10, 90, 0, 0},
                               {"pool", TRAINER, 12, 80, 1, 0},
                               {"pool", TRAINER, 100, 190, 0, 0},
                               {"pool", TRAINER, 101, 195, 1, 0}};
    const struct row fetches[] = {{"worker 0", TRAINER, 10, 90, 0, 0},
                                  {"worker 0", TRAINER, 100, 190, 0, 0},
                                  {"worker 0", 1, 300, 390, 2, 0}};
    check(pool, 4, 1); /* and no generations: nothing is started again that costs a wait */
    check(fetches, 2, 1);
}

static void test_equal_names_become_numbers(void **state)
{
    struct pp_thread_row thread[3] = {{.lane = PP_LANE_TRAINER, .name = "python", .pid = TRAINER},
                                      {.lane = PP_LANE_WORKER, .name = "python", .pid = 1},
                                      {.lane = PP_LANE_WORKER, .name = "worker-1", .pid = 2}};
    const struct pp_lane_life life[3] = {{0, 9}, {1, 5}, {1, 5}};
    struct pp_lane_place place[3];
    assert_true(pp_lanes_wanted(thread, 3));
    assert_false(pp_lanes_wanted(thread, 1));
    assert_int_equal(pp_lanes_join(thread, life, 3, place), 1);
    assert_false(pp_lanes_unnamed(thread, 3, place, 0));
    assert_true(pp_lanes_unnamed(thread, 3, place, 1));
    assert_false(pp_lanes_unnamed(thread, 3, place, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs_of_two_workers_are_two_lanes),
        cmocka_unit_test(test_names_hold_their_places),
        cmocka_unit_test(test_what_overlaps_or_shares_a_process_stays_apart),
        cmocka_unit_test(test_threads_of_a_pool_follow_each_other),
        cmocka_unit_test(test_equal_names_become_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
