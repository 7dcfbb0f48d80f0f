/* Recordings as parts of an audit: which spans are uses, and what a recording does not say. */
#include "report/audit/audit_read.h"

#include "probe/sampler/sampler_permutation.h"
#include "tests/support/fake_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { N = 64, BATCH = 4, EPOCHS = 3 };

struct job {
    int rank, world, epochs, from_batch, to_batch; /* of the last epoch; to_batch 0: all */
    int ahead; /* batches read behind the last one that the trainer took */
    int same_order, starts_at;
    const char *meta[3][2];
};

static uint64_t sample_at(const struct job *j, int epoch, int i)
{
    struct pp_permutation p;
    pp_permutation_init(&p, N, 1, j->same_order ? 0 : (uint64_t)epoch);
    return pp_permutation_at(&p, (uint64_t)(i * j->world + j->rank));
}

static struct fake_run *run_of(const struct job *j)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "t"),
             workers[2] = {fake_thread(f, PP_LANE_WORKER, "w0"), fake_thread(f, PP_LANE_WORKER, "w1")};
    int batches = N / j->world / BATCH, number = 0;
    static char rank[8][8], world[8][8], start[8][24];
    uint64_t t = FAKE_T0;
    for (int e = 0; e < j->epochs; e++) {
        int last = e == j->epochs - 1, from = e == 0 ? j->from_batch : 0,
            to = last && j->to_batch ? j->to_batch : batches;
        for (int b = from; b < (last ? to + j->ahead : to); b++, number++, t += 10 * FAKE_MS) {
            for (int i = 0; i < BATCH; i++) {
                struct pp_span *s = fake_span(f, workers[i % 2], PP_PHASE_READ, t + (uint64_t)i * 1000, 400);
                s->batch = (uint32_t)number, s->epoch = (uint16_t)(e + j->starts_at);
                s->sample = sample_at(j, e + j->starts_at, b * BATCH + i);
            }
            for (int k = 0; k < 2 && b < to; k++) {
                struct pp_span *s = fake_span(f, trainer, k ? PP_PHASE_STEP : PP_PHASE_DATA_WAIT,
                                              t + (uint64_t)(k + 1) * FAKE_MS, FAKE_MS);
                s->batch = (uint32_t)number, s->epoch = (uint16_t)(e + j->starts_at);
            }
        }
    }
    int at = j->rank % 8;
    snprintf(rank[at], sizeof(rank[at]), "%d", j->rank);
    snprintf(world[at], sizeof(world[at]), "%d", j->world);
    snprintf(start[at], sizeof(start[at]), "%d000000000000", 1 + j->starts_at + j->from_batch);
    fake_num(f, "config", "rank", rank[at], NULL);
    fake_num(f, "config", "world_size", world[at], NULL);
    fake_num(f, "config", "batch_size", "4", NULL);
    fake_num(f, "config", "dataset_samples", "64", NULL);
    fake_num(f, "run", "started_utc_ns", start[at], "ns");
    for (int i = 0; i < 3 && j->meta[i][0]; i++)
        fake_text(f, j->meta[i][1][0] == '=' ? "result" : "config", j->meta[i][0],
                  j->meta[i][1] + (j->meta[i][1][0] == '='));
    return f;
}

static pp_status audit(const struct job *jobs, size_t n, struct pp_audit *out, struct pp_err *err)
{
    struct fake_run *run[4];
    struct pp_source source[4];
    struct pp_audit_files files = {0};
    pp_status st = PP_OK;
    for (size_t i = 0; i < n; i++) {
        run[i] = run_of(&jobs[i]);
        source[i] = fake_source(run[i]);
        assert_int_equal(pp_audit_files_add_source(&files, source[i].path, &source[i], 1, err), PP_OK);
    }
    st = pp_audit_files_judge(&files, out, err);
    pp_audit_files_free(&files);
    for (size_t i = 0; i < n; i++)
        fake_free(run[i]);
    return st;
}

static void expect(const struct job *jobs, size_t n, enum pp_audit_kind kind, const char *cause)
{
    struct pp_audit a;
    struct pp_err err;
    assert_int_equal(audit(jobs, n, &a, &err), PP_OK);
    if (a.kind != kind)
        pp_audit_text(&a, 1, stdout);
    assert_int_equal(a.kind, kind);
    if (cause)
        assert_string_equal(a.causes[0].name, cause);
    else
        assert_int_equal(a.n_causes, 0);
    pp_arena_free(&a.arena);
}

static void test_the_samples_of_batches_that_were_taken_count(void **state)
{
    struct job two[] = {{.rank = 0, .world = 2, .epochs = EPOCHS}, {.rank = 1, .world = 2, .epochs = EPOCHS}};
    expect(two, 2, PP_AUDIT_CLEAN, NULL);
    for (int i = 0; i < 2; i++)
        two[i].to_batch = 3, two[i].ahead = 2; /* read, and not used */
    expect(two, 2, PP_AUDIT_CLEAN, NULL);
    two[1].rank = 0, two[1].starts_at = 1; /* the same rank, an epoch later */
    expect(two, 1, PP_AUDIT_INCONCLUSIVE, NULL);
    two[0].same_order = two[1].same_order = 1;
    expect(two, 1, PP_AUDIT_BROKEN, "same-order");
}

static void test_a_resumed_rank_is_one_run(void **state)
{
    struct job parts[] = {{.world = 1, .epochs = 2, .to_batch = 5, .ahead = 3},
                          {.world = 1,
                           .epochs = 2,
                           .starts_at = 1,
                           .from_batch = 5,
                           .meta = {{"resume", "state"}, {"start_position", "20"}, {"ended_by", "=epochs"}}}};
    expect(parts, 2, PP_AUDIT_CLEAN, NULL);
    parts[1].from_batch = 4;
    expect(parts, 2, PP_AUDIT_BROKEN, "resume-repeats");
    parts[1].from_batch = 6;
    expect(parts, 2, PP_AUDIT_BROKEN, "resume-skips");
}

static void test_what_a_recording_does_not_say(void **state)
{
    static const char *const rows[][2] = {{"source", "pytorch"},
                                          {"cached_batches", "true"},
                                          {"stream", "true"},
                                          {"sampler", "weighted"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct job two[] = {{.rank = 0, .world = 2, .epochs = EPOCHS, .meta = {{rows[i][0], rows[i][1]}}},
                            {.rank = 1, .world = 2, .epochs = EPOCHS, .meta = {{rows[i][0], rows[i][1]}}}};
        struct pp_audit a;
        struct pp_err err;
        assert_int_equal(audit(two, 2, &a, &err), PP_OK);
        assert_int_equal(a.kind, PP_AUDIT_INCONCLUSIVE);
        assert_non_null(a.note);
        pp_arena_free(&a.arena);
    }
}

static void test_files_that_do_not_belong_together_are_refused(void **state)
{
    struct job two[] = {{.rank = 0, .world = 2, .epochs = 1}, {.rank = 1, .world = 4, .epochs = 1}};
    struct pp_audit a;
    struct pp_err err;
    assert_int_equal(audit(two, 2, &a, &err), PP_E_USAGE);
    assert_non_null(strstr(err.text, "audit them apart"));
    pp_arena_free(&a.arena);
    two[1] = two[0];
    assert_int_equal(audit(two, 2, &a, &err), PP_E_USAGE);
    assert_non_null(strstr(err.text, "both of rank 0"));
    pp_arena_free(&a.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_samples_of_batches_that_were_taken_count),
        cmocka_unit_test(test_a_resumed_rank_is_one_run),
        cmocka_unit_test(test_what_a_recording_does_not_say),
        cmocka_unit_test(test_files_that_do_not_belong_together_are_refused),
    };
    return cmocka_run_group_tests_name("audit of recordings", tests, NULL, NULL);
}
