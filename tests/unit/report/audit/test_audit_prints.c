/* Iterable data sets: workers and ranks that give the same samples are told by the content of the first ones.
 */
#include "report/audit/audit_read.h"

#include "tests/support/fake_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { RANKS = 4, WORKERS = 3, EPOCHS = 2, ROWS = WORKERS * EPOCHS };

/* Sample i of a worker has the content i, and what is added for its worker, rank and epoch. */
struct job {
    const char *name;
    int ranks, workers, epochs;
    uint32_t n, period;                    /* prints of a worker; after period they begin again */
    uint64_t of_worker, of_rank, of_epoch; /* apart */
    int odd_worker, odd_rank;              /* these are apart all the same; -1: none */
    uint32_t short_worker;                 /* worker 1 has so many; 0: as many as the others */
    const char *cause[2];
};

static uint64_t content(const struct job *j, int rank, int worker, int epoch, uint32_t i)
{
    uint64_t apart = j->of_worker * (uint64_t)worker + j->of_rank * (uint64_t)rank +
                     j->of_epoch * (uint64_t)epoch + (worker == j->odd_worker ? 7000 : 0) +
                     (rank == j->odd_rank ? 9000 : 0);
    return 1 + i % j->period + apart;
}

static pp_status no_feed(void *ctx, size_t part, uint16_t epoch, pp_audit_use_fn *fn, void *fn_ctx,
                         struct pp_err *err)
{
    fail_msg("nothing has numbers");
    return PP_OK;
}

static void audit(const struct job *j, struct pp_audit *out)
{
    static struct pp_audit_prints prints[RANKS][ROWS];
    struct pp_audit_part part[RANKS];
    struct pp_err err;
    for (int r = 0; r < j->ranks; r++) {
        part[r] = (struct pp_audit_part){.rank = r,
                                         .world_size = j->ranks,
                                         .file = "x",
                                         .unknown = "an iterable data set",
                                         .samples = NAN,
                                         .batch_size = NAN,
                                         .drop_last = -1,
                                         .prints = prints[r]};
        for (int e = 0; e < j->epochs; e++)
            for (int w = 0; w < j->workers; w++) {
                struct pp_audit_prints *p = &prints[r][part[r].n_prints++];
                *p = (struct pp_audit_prints){.epoch = (uint16_t)e, .worker = (uint32_t)w, .n = j->n};
                p->n = w == 1 && j->short_worker ? j->short_worker : p->n;
                for (uint32_t i = 0; i < p->n; i++)
                    p->print[i] = content(j, r, w, e, i);
            }
    }
    struct pp_audit_input in = {.parts = part, .n_parts = (size_t)j->ranks, .feed = no_feed};
    assert_int_equal(pp_audit_judge(&in, out, &err), PP_OK);
}

static const struct job jobs[] = {
    {"workers divide", 1, 3, 2, 16, 16, 100, 0, 0, -1, -1, 0, {NULL}},
    {"workers do not", 1, 3, 2, 16, 16, 0, 0, 0, -1, -1, 0, {"workers-alike"}},
    {"nor in shuffled epochs", 1, 3, 2, 16, 16, 0, 0, 500, -1, -1, 0, {"workers-alike"}},
    {"a single worker", 1, 1, 2, 16, 16, 0, 0, 0, -1, -1, 0, {NULL}},
    {"one worker of three is alone", 1, 3, 2, 16, 16, 0, 0, 0, 2, -1, 0, {NULL}},
    {"ranks divide, workers do not", 4, 2, 1, 16, 16, 0, 100, 0, -1, -1, 0, {"workers-alike"}},
    {"workers divide, ranks do not", 4, 2, 1, 16, 16, 100, 0, 0, -1, -1, 0, {"ranks-alike"}},
    {"neither", 4, 3, 2, 16, 16, 0, 0, 0, -1, -1, 0, {"ranks-alike", "workers-alike"}},
    {"both", 4, 3, 2, 16, 16, 100, 1000, 0, -1, -1, 0, {NULL}},
    {"one rank of four is alone", 4, 2, 1, 16, 16, 100, 0, 0, -1, 3, 0, {NULL}},
    {"one worker each, ranks do not divide", 4, 1, 2, 16, 16, 0, 0, 0, -1, -1, 0, {"ranks-alike"}},
    {"eight are enough", 1, 2, 1, 8, 16, 0, 0, 0, -1, -1, 0, {"workers-alike"}},
    {"seven are not", 1, 2, 1, 7, 16, 0, 0, 0, -1, -1, 0, {NULL}},
    {"a worker with fewer is left out", 1, 2, 1, 16, 16, 0, 0, 0, -1, -1, 5, {NULL}},
    {"what both have is compared", 1, 2, 1, 16, 16, 0, 0, 0, -1, -1, 9, {"workers-alike"}},
    {"zeros", 4, 3, 1, 16, 1, 0, 0, 0, -1, -1, 0, {NULL}},
    {"eight kinds of sample", 1, 2, 1, 16, 8, 0, 0, 0, -1, -1, 0, {NULL}},
    {"nine kinds of sample", 1, 2, 1, 16, 9, 0, 0, 0, -1, -1, 0, {"workers-alike"}},
};

static void test_those_that_do_not_divide_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        const struct job *j = &jobs[i];
        size_t n = (size_t)(j->cause[0] != NULL) + (j->cause[1] != NULL);
        struct pp_audit a;
        audit(j, &a);
        if (a.n_causes != n || (n && strcmp(a.causes[0].name, j->cause[0]) != 0) ||
            (n > 1 && strcmp(a.causes[1].name, j->cause[1]) != 0) ||
            a.kind != (n ? PP_AUDIT_BROKEN : PP_AUDIT_INCONCLUSIVE)) {
            pp_audit_text(&a, 1, stdout);
            fail_msg("%s: %s, %zu causes", j->name, a.kind_name, a.n_causes);
        }
        for (size_t c = 0; c < n; c++) {
            assert_true(a.causes[c].epochs == j->epochs && a.causes[c].first_epoch == 0);
            assert_true(isnan(a.causes[c].samples) && a.causes[c].fix != NULL);
            assert_string_equal(a.causes[c].ranks, j->ranks == 1 ? "0" : "0-3");
        }
        assert_non_null(strstr(a.note, "samples of an iterable data set have no numbers"));
        pp_arena_free(&a.arena);
    }
}

/* ---- from a recording ---- */

/* Loader 0 gives 40 batches in two epochs, of which two workers make the odd and the even ones; loader 1,
 * whose workers are alike, gives four. */
static pp_status each_order(void *ctx, const struct pp_order_row *only, pp_order_fn *fn, void *fn_ctx,
                            struct pp_err *err)
{
    static const struct pp_order_row rows[] = {
        {.pid = 9, .loader = 0, .epoch = 0, .first_batch = 0, .batches = 20},
        {.pid = 9, .loader = 1, .epoch = 0, .first_batch = 20, .batches = 4},
        {.pid = 9, .loader = 0, .epoch = 1, .first_batch = 24, .batches = 20}};
    for (size_t i = 0; i < 3; i++)
        fn(fn_ctx, &rows[i]);
    return PP_OK;
}

static const char *name_of(void *ctx, uint16_t id)
{
    return id == 3 ? "sample_print" : "another";
}

static void put(struct fake_run *f, uint32_t thread, int batch, uint64_t print)
{
    uint64_t t = FAKE_T0 + (uint64_t)batch * FAKE_MS;
    struct pp_span *s = fake_span(f, thread, PP_PHASE_TRANSFORM, t, 1000);
    s->batch = (uint32_t)batch;
    for (int i = 0; i < 2; i++) { /* another counter of the same thread is none of its prints */
        s = fake_span(f, thread, PP_PHASE_COUNTER, t + 1000, 0);
        s->batch = PP_NO_BATCH;
        s->name = (uint16_t)(3 + i);
        s->bytes = print;
    }
}

static void test_prints_are_read_by_epoch_and_worker(void **state)
{
    (void)state;
    for (int alike = 0; alike < 2; alike++) {
        struct fake_run *f = calloc(1, sizeof(*f));
        struct pp_audit_files files = {0};
        struct pp_audit a;
        struct pp_err err;
        uint32_t trainer = fake_thread(f, PP_LANE_TRAINER, "t"),
                 workers[2] = {fake_thread(f, PP_LANE_WORKER, "w0"), fake_thread(f, PP_LANE_WORKER, "w1")};
        fake_text(f, "config", "source", "pytorch");
        fake_num(f, "run", "started_utc_ns", "1000000000000", "ns");
        for (int b = 0; b < 44; b++) {
            int w = b % 2, validates = b >= 20 && b < 24;
            struct pp_span *s = fake_span(f, trainer, PP_PHASE_DATA_WAIT, FAKE_T0 + (uint64_t)b * FAKE_MS,
                                          1000);
            s->batch = (uint32_t)b;
            for (int i = 0; i < 2; i++)
                put(f, workers[w], b, (uint64_t)(10 * (b / 2 * 2 + (alike || validates ? 0 : w)) + i));
        }
        struct pp_source source = fake_source(f);
        source.each_order = each_order;
        source.name = name_of;
        assert_int_equal(pp_audit_files_add_source(&files, source.path, &source, 1, &err), PP_OK);
        const struct pp_audit_part *p = &files.file[0].part;
        assert_int_equal(p->n_prints, 4); /* two workers in two epochs of loader 0 */
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(p->prints[i].epoch, i / 2);
            assert_int_equal(p->prints[i].worker, workers[i % 2]);
            assert_int_equal(p->prints[i].n, PP_AUDIT_PRINTS);
            assert_int_equal(p->prints[i].print[1], p->prints[i].print[0] + 1);
        }
        assert_int_equal(pp_audit_files_judge(&files, &a, &err), PP_OK);
        assert_int_equal(a.kind, alike ? PP_AUDIT_BROKEN : PP_AUDIT_INCONCLUSIVE);
        pp_arena_free(&a.arena);
        pp_audit_files_free(&files);
        fake_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_those_that_do_not_divide_are_named),
        cmocka_unit_test(test_prints_are_read_by_epoch_and_worker),
    };
    return cmocka_run_group_tests_name("audit of iterable data sets", tests, NULL, NULL);
}
