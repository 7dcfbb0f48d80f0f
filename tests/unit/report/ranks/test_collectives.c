/* Collectives of digest_read.c. Ranks of imported traces: the one that waits least in collectives is the late
 * one, by durations alone; what makes it late; that durations on the GPU are said to be what they are. */
#include "collectors/import/import.h"
#include "report/ranks/ranks.h"
#include "tests/support/made_trace.h"
#include "tests/support/store_dir.h"

#include <math.h>

enum { RANKS = 3 };

struct job {
    double wait_us[RANKS], collective_us[RANKS]; /* per step of 70 ms */
    int nccl, steps;
};

static void read_rank(const struct job *j, int rank, struct pp_digest *out)
{
    struct made_trace t = {.style = TRACE_2024,
                           .steps = j->steps,
                           .wait_us = &j->wait_us[rank],
                           .n_waits = 1,
                           .step_us = 70000,
                           .rank = rank,
                           .world_size = RANKS,
                           .collective_us = j->collective_us[rank],
                           .nccl = j->nccl};
    struct pp_import_opts o = {.output = store_path, .force = 1, .rank = -1, .world_size = -1};
    struct pp_import_result r;
    struct pp_err err = {0};
    char path[128];
    snprintf(path, sizeof(path), "%s/rank.json", store_dir);
    made_trace_write(path, &t, 0);
    if (pp_import_file(path, &o, &r, &err) != PP_OK || pp_digest_read(store_path, 0, out, &err) != PP_OK)
        fail_msg("%s", err.text);
    unlink(path);
}

static void judge(const struct job *j, struct pp_ranks *out)
{
    struct pp_digest all = {0};
    struct pp_err err = {0};
    for (int rank = 0; rank < RANKS; rank++) {
        struct pp_digest one;
        read_rank(j, rank, &one);
        if (pp_digest_merge(&all, &one, &err) != PP_OK)
            fail_msg("%s", err.text);
        pp_digest_free(&one);
    }
    assert_int_equal(pp_ranks_judge(&all, out, &err), PP_OK);
    pp_digest_free(&all);
}

static void test_the_late_rank_has_the_short_collectives(void **state)
{
    static const struct {
        const char *name;
        struct job job;
        enum pp_ranks_kind kind;
        int rank; /* -1: none */
        const char *cause;
    } rows[] = {
        {"input is slow",
         {{4000, 27000, 4000}, {40000, 17000, 40000}, 0, 30},
         PP_RANKS_STRAGGLER,
         1,
         "data_wait"},
        {"the step is slow",
         {{1000, 1000, 1000}, {40000, 40000, 6000}, 0, 30},
         PP_RANKS_STRAGGLER,
         2,
         "step"},
        {"on the GPU", {{1000, 1000, 1000}, {40000, 40000, 6000}, 1, 30}, PP_RANKS_STRAGGLER, 2, "step"},
        {"alike", {{4000, 4000, 4000}, {5000, 5000, 5000}, 0, 30}, PP_RANKS_BALANCED, -1, NULL},
        {"few steps", {{4000, 27000, 4000}, {40000, 17000, 40000}, 0, 12}, PP_RANKS_INCONCLUSIVE, -1, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_ranks r;
        judge(&rows[i].job, &r);
        print_message("%s: %s %s\n", rows[i].name, r.sentence, r.why ? r.why : "");
        assert_int_equal(r.kind, rows[i].kind);
        if (rows[i].rank >= 0)
            assert_true(r.straggler_rank == rows[i].rank);
        assert_string_equal(r.cause ? r.cause : "-", rows[i].cause ? rows[i].cause : "-");
        if (rows[i].kind == PP_RANKS_INCONCLUSIVE)
            assert_non_null(strstr(r.next_step, "Profile 20 steps or more"));
        assert_non_null(strstr(r.note, "NCCL's kernels run beside it on the GPU"));
        pp_ranks_free(&r);
    }
}

/* Two at once cover their time once. */
static void test_what_a_step_is_without_them(void **state)
{
    struct job j = {{4000, 4000, 4000}, {20000, 20000, 20000}, 0, 30};
    struct pp_ranks r;
    judge(&j, &r);
    for (size_t i = 0; i < r.n_rows; i++) {
        assert_true(fabs(r.rows[i].collective_ns - 20e6) < 0.2e6);
        assert_true(fabs(r.rows[i].own_ns - 50e6) < 0.3e6);
        assert_true(fabs(r.rows[i].wait_ns - 4e6) < 0.1e6);
    }
    pp_ranks_free(&r);
}

static void test_without_collectives_only_input_is_compared(void **state)
{
    struct job j = {{4000, 27000, 4000}, {0, 0, 0}, 0, 30};
    struct pp_ranks r;
    judge(&j, &r);
    assert_true(r.straggler_rank == 1);
    assert_non_null(strstr(r.note, "waits for each other were not recorded"));
    assert_null(strstr(r.note, "imported traces"));
    pp_ranks_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_the_late_rank_has_the_short_collectives),
        STORE_TEST(test_what_a_step_is_without_them),
        STORE_TEST(test_without_collectives_only_input_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
