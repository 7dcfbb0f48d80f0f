/* Other tools' rules on runs made up so that each rule's figure can be worked out by hand: on its threshold's
 * one side, and on the other. */
#include "tests/lab/other_tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000.0

/* 100 batches of 10: a step of 20 ms, and by default 2 workers that take 3 ms per read, 2 ms decoding, 0.5 ms
 * transforming, on 4 CPUs. */
struct made {
    double wait_ms, sync_ms, h2d_ms; /* per batch */
    double read_ms, decode_ms;       /* per sample */
    double longest_wait_ms, cpu_share;
    double ready, arrived; /* share of the time the queues before and behind the copies are empty */
    const char *copy_buffers, *pageable;
};
#define USUAL \
    .read_ms = 3, .decode_ms = 2, .cpu_share = 0.5, .ready = 0.9, .arrived = 0.9, .copy_buffers = "2", \
    .pageable = "0"

static struct other_tool_verdict judged(const char *name, const struct made *m)
{
    enum { BATCHES = 100, SAMPLES = 1000 };
    struct pp_report_phase phases[] = {
        {.phase = PP_PHASE_DATA_WAIT,
         .lane = PP_LANE_TRAINER,
         .total_ns = (uint64_t)(BATCHES * m->wait_ms * MS),
         .mean_ns = m->wait_ms * MS,
         .max_ns = (uint64_t)((m->longest_wait_ms > m->wait_ms ? m->longest_wait_ms : m->wait_ms) * MS)},
        {.phase = PP_PHASE_STEP,
         .lane = PP_LANE_TRAINER,
         .total_ns = (uint64_t)(BATCHES * 20 * MS),
         .mean_ns = 20 * MS},
        {.phase = PP_PHASE_DEVICE_SYNC,
         .lane = PP_LANE_TRAINER,
         .total_ns = (uint64_t)(BATCHES * m->sync_ms * MS),
         .mean_ns = m->sync_ms * MS},
        {.phase = PP_PHASE_H2D,
         .lane = PP_LANE_COPY,
         .total_ns = (uint64_t)(BATCHES * m->h2d_ms * MS),
         .mean_ns = m->h2d_ms * MS},
        {.phase = PP_PHASE_READ,
         .lane = PP_LANE_WORKER,
         .total_ns = (uint64_t)(SAMPLES * m->read_ms * MS),
         .mean_ns = m->read_ms * MS,
         .cpu_share = 0},
        {.phase = PP_PHASE_DECODE,
         .lane = PP_LANE_WORKER,
         .total_ns = (uint64_t)(SAMPLES * m->decode_ms * MS),
         .mean_ns = m->decode_ms * MS,
         .cpu_share = m->cpu_share},
        {.phase = PP_PHASE_TRANSFORM,
         .lane = PP_LANE_WORKER,
         .total_ns = (uint64_t)(SAMPLES * 0.5 * MS),
         .mean_ns = 0.5 * MS,
         .cpu_share = 1},
    };
    struct pp_report_worker workers[2] = {{.thread = 1}, {.thread = 2}};
    struct pp_report_queue queues[2] = {{.name = "ready", .share_empty = m->ready},
                                        {.name = "arrived", .share_empty = m->arrived}};
    struct pp_report_pair config[2] = {{.key = "copy_buffers", .value = m->copy_buffers},
                                       {.key = "pageable", .value = m->pageable}};
    struct pp_report_pair environment[1] = {{.key = "usable_cpus", .value = "4"}};
    double batch_s = (m->wait_ms + 20 + m->sync_ms) / 1e3;
    struct pp_report r = {.phases = phases,
                          .n_phases = 7,
                          .workers = workers,
                          .n_workers = 2,
                          .queues = queues,
                          .n_queues = 2,
                          .config = config,
                          .n_config = 2,
                          .environment = environment,
                          .n_environment = 1,
                          .window_samples = SAMPLES,
                          .window_batches = BATCHES,
                          .samples_per_s = 10 / batch_s,
                          .without_waits_samples_per_s = 10 / 0.020};
    struct other_tool_verdict v = {0};
    for (int i = 0;; i++) {
        const char *at = other_tool(i, &r, &v);
        if (!at)
            fail_msg("no rule of %s", name);
        if (strcmp(at, name) == 0)
            return v;
    }
}

static void test_each_rule_on_both_sides_of_its_threshold(void **state)
{
    static const struct {
        const char *name;
        struct made run;
        int bound;
        const char *l1;
    } rows[] = {
        /* 1.1 of 21.1 ms is 5.2 %, 1 of 21 is 4.8 %; reads 3 s, copies 0, the rest 2.5 s */
        {"XProf", {USUAL, .wait_ms = 1.1}, 1, "storage"},
        {"XProf", {USUAL, .wait_ms = 1}, 0, NULL},
        {"XProf", {USUAL, .wait_ms = 5, .h2d_ms = 40}, 1, "sync"}, /* enqueued for 4 s */
        {"XProf",
         {.read_ms = 2, .decode_ms = 1.6, .wait_ms = 5},
         1,
         "transform"}, /* reads 2 s, decode and transform 2.1 s: their sum counts */
        {"XProf", {USUAL, .sync_ms = 0.7}, 1, NULL}, /* 3.4 % unknown: potentially, and nothing named */
        /* a call of 51 us among short ones */
        {"tf.data analysis", {USUAL, .longest_wait_ms = 0.051}, 1, NULL},
        {"tf.data analysis", {USUAL, .longest_wait_ms = 0.049}, 0, NULL},
        {"TensorBoard plugin", {USUAL, .wait_ms = 1.1}, 1, "loader"},
        {"TensorBoard plugin", {USUAL, .wait_ms = 1}, 0, NULL},
        /* 2.3 of 22.3 ms is 10.3 %, 2.2 of 22.2 is 9.9 % */
        {"TraceML", {USUAL, .wait_ms = 2.3}, 1, NULL},
        {"TraceML", {USUAL, .wait_ms = 2.2}, 0, NULL},
        {"TraceML",
         {.copy_buffers = "1", .wait_ms = 5, .h2d_ms = 4},
         1,
         "sync"},                                                 /* 4 of the 5 ms are copies: 16 % of 25 */
        {"TraceML", {USUAL, .wait_ms = 5, .h2d_ms = 4}, 1, NULL}, /* with two buffers they overlap the step */
        /* 500 samples/s without input; with 6.1 ms of wait 383 (1.305 times), with 5.9 ms 386 (1.295) */
        {"FastFlow", {USUAL, .wait_ms = 6.1}, 1, "transform"},
        {"FastFlow", {USUAL, .wait_ms = 5.9}, 0, NULL},
        {"SPDL", {USUAL, .wait_ms = 5}, 1, "transform"},
        {"SPDL",
         {.wait_ms = 5, .ready = 0.2, .arrived = 0.9},
         1,
         "sync"}, /* ready before the copies, not behind them */
        {"SPDL", {.wait_ms = 5, .ready = 0.2, .arrived = 0.4}, 0, NULL},
        /* fetch: 2 workers x 1000 / 3 s = 667/s; prep: 2 x 1000 / 2.5 s = 800/s; the trainer takes 500/s */
        {"DS-Analyzer", {USUAL}, 0, NULL},
        {"DS-Analyzer", {.read_ms = 5, .decode_ms = 2}, 1, "storage"},   /* 400/s fetched */
        {"DS-Analyzer", {.read_ms = 3, .decode_ms = 4}, 1, "transform"}, /* 2000 / 4.5 s = 444/s prepared */
        /* 4 CPUs over 1 + 0.5 ms of CPU a sample make 2667/s; over 8 + 0.5 ms, 471/s */
        {"Plumber", {USUAL, .wait_ms = 5}, 1, "storage"},
        {"Plumber", {.decode_ms = 16, .cpu_share = 0.5, .wait_ms = 5}, 1, "transform"},
        {"Plumber", {USUAL, .wait_ms = 1}, 0, NULL},
        {"msprof-analyze", {USUAL, .wait_ms = 10.1}, 1, NULL},
        {"msprof-analyze", {USUAL, .wait_ms = 9.9}, 0, NULL},
        {"nsys gpu_gaps", {USUAL, .wait_ms = 5, .longest_wait_ms = 501}, 1, NULL},
        {"nsys gpu_gaps", {USUAL, .wait_ms = 120}, 0, NULL}, /* 86 % of the step, and silent */
        {"nsys memcpy and sync", {USUAL}, 0, NULL},
        {"nsys memcpy and sync", {USUAL, .sync_ms = 0.01}, 1, "sync"},
        {"nsys memcpy and sync", {.pageable = "1", .copy_buffers = "2"}, 1, "sync"},
        {"largest mean wall time", {USUAL, .wait_ms = 5}, 1, "storage"},
        {"largest mean wall time", {USUAL, .wait_ms = 5, .h2d_ms = 3.1}, 1, "sync"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct made run = rows[i].run;
        run.copy_buffers = run.copy_buffers ? run.copy_buffers : "2";
        run.pageable = run.pageable ? run.pageable : "0";
        struct other_tool_verdict v = judged(rows[i].name, &run);
        if (v.input_bound != rows[i].bound)
            fail_msg("row %zu, %s: input-bound %d, not %d", i, rows[i].name, v.input_bound, rows[i].bound);
        if (rows[i].l1 && (!v.l1 || strcmp(v.l1, rows[i].l1) != 0))
            fail_msg("row %zu, %s: says %s, not %s", i, rows[i].name, v.l1 ? v.l1 : "nothing", rows[i].l1);
    }
}

/* One part of thirty in which the device does little is enough for nsys; the others are busy. */
static void test_a_quiet_part_is_low_utilisation(void **state)
{
    struct pp_report_slice slices[120];
    struct pp_report r = {.slices = slices, .n_slices = 120};
    struct other_tool_verdict v;
    int row = 0;
    for (int i = 0; i < 120; i++)
        slices[i] = (struct pp_report_slice){.step_share = 0.5, .h2d_share = 0.1};
    while (strcmp(other_tool(row, NULL, &v), "nsys gpu_time_util") != 0)
        row++;
    other_tool(row, &r, &v);
    assert_false(v.input_bound);
    slices[40].step_share = slices[41]
                                .step_share = 0; /* half of part 10: (0.1 + 0.1 + 0.6 + 0.6) / 4 = 35 % */
    other_tool(row, &r, &v);
    assert_true(v.input_bound);
}

/* The slowest call's own path, not the longest span of the run. */
static void test_tf_data_walks_the_slowest_call(void **state)
{
    struct pp_report_leg legs[] = {{.what = "decode", .phase = PP_PHASE_DECODE, .in_wait_ns = 2 * MS},
                                   {.what = "h2d", .phase = PP_PHASE_H2D, .in_wait_ns = 3 * MS},
                                   {.what = "on the device", .phase = PP_PHASE_NONE, .in_wait_ns = 9 * MS}};
    struct pp_report_batch batches[] = {{.which = "typical"}, {.which = "worst", .legs = legs, .n_legs = 3}};
    struct pp_report_phase phases[] = {{.phase = PP_PHASE_DATA_WAIT, .max_ns = 14000000},
                                       {.phase = PP_PHASE_READ, .max_ns = 50000000}};
    struct pp_report r = {.waterfalls = batches, .n_waterfalls = 2, .phases = phases, .n_phases = 2};
    struct other_tool_verdict v;
    assert_string_equal(other_tool(1, &r, &v), "tf.data analysis");
    assert_true(v.input_bound);
    assert_string_equal(v.l1, "sync");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_rule_on_both_sides_of_its_threshold),
                                       cmocka_unit_test(test_a_quiet_part_is_low_utilisation),
                                       cmocka_unit_test(test_tf_data_walks_the_slowest_call)};
    return cmocka_run_group_tests_name("other_tools", tests, NULL, NULL);
}
