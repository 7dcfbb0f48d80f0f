/* Traces of torch.profiler, of every style since 2021, as recordings: steps and waits as they were, whatever
 * the version calls them; what may be concluded; what is refused; what is left out is said. */
#include "collectors/import/import.h"

#include "collectors/store/reader.h"
#include "probe/base/err.h"
#include "report/build/build.h"
#include "tests/support/made_trace.h"
#include "tests/support/store_dir.h"

#include <math.h>

static char trace_path[128];

static pp_status import_it(const char *name, struct pp_import_result *r, struct pp_err *err)
{
    struct pp_import_opts o = {.output = store_path, .force = 1, .rank = -1, .world_size = -1};
    snprintf(trace_path, sizeof(trace_path), "%s/%s", store_dir, name);
    return pp_import_file(trace_path, &o, r, err);
}

static struct pp_import_result import_made(const struct made_trace *t, int zipped)
{
    struct pp_import_result r;
    struct pp_err err = {0};
    const char *name = zipped ? "x.pt.trace.json.gz" : "x.pt.trace.json";
    snprintf(trace_path, sizeof(trace_path), "%s/%s", store_dir, name);
    made_trace_write(trace_path, t, zipped);
    if (import_it(name, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    unlink(trace_path);
    return r;
}

/* The sum of a phase's spans, and how many there are. */
struct sums {
    uint64_t ns[PP_PHASE_COUNT], n[PP_PHASE_COUNT];
};

static int add_spans(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct sums *s = ctx;
    for (size_t i = 0; i < n; i++) {
        s->ns[spans[i].phase] += spans[i].dur_ns;
        s->n[spans[i].phase]++;
    }
    return 0;
}

static struct sums sum_up(void)
{
    struct sums s = {{0}, {0}};
    struct pp_reader *reader;
    struct pp_err err = {0};
    assert_int_equal(pp_reader_open(store_path, &reader, &err), PP_OK);
    assert_int_equal(pp_reader_each_chunk(reader, add_spans, &s, NULL, &err), PP_OK);
    pp_reader_close(reader);
    return s;
}

static struct pp_report *report_of(void)
{
    struct pp_report *r;
    struct pp_err err = {0};
    if (pp_report_build(store_path, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    return r;
}

static const double slow_us[] = {30000}, fast_us[] = {80}, by_two_us[] = {40000, 150},
                    uneven_us[] = {100, 18000, 200, 900};

static void test_every_style_gives_the_same_recording(void **state)
{
    for (int style = TRACE_2021; style <= TRACE_NS; style++)
        for (int zipped = 0; zipped < 2; zipped++) {
            struct made_trace t = {.style = style,
                                   .steps = 8,
                                   .wait_us = slow_us,
                                   .n_waits = 1,
                                   .step_us = 50000,
                                   .operators = 20};
            struct pp_import_result r = import_made(&t, zipped);
            struct sums s = sum_up();
            assert_int_equal(r.steps, 8);
            assert_int_equal(r.fetches, 8);
            assert_int_equal(r.waits, PP_WAITS_LOADER);
            assert_int_equal(s.n[PP_PHASE_DATA_WAIT], 8);
            assert_int_equal(s.ns[PP_PHASE_DATA_WAIT], 8 * UINT64_C(30000000));
            /* from the first wait, 100 us after its ProfilerStep, to the end of the last step */
            assert_int_equal(s.n[PP_PHASE_STEP], 8);
            assert_int_equal(s.ns[PP_PHASE_STEP] + s.ns[PP_PHASE_DATA_WAIT], 8 * UINT64_C(50000000) - 101000);
            assert_int_equal(s.n[PP_PHASE_USER], 8); /* Optimizer.step; operators are left out */
        }
}

static void test_verdicts_stay_inside_of_what_a_trace_shows(void **state)
{
    static const struct {
        const char *name;
        struct made_trace trace;
        const char *l0, *l1, *says, *advises;
    } rows[] = {
        {"slow, with workers",
         {.style = TRACE_2022, .steps = 8, .wait_us = slow_us, .n_waits = 1, .step_us = 50000},
         "input-bound",
         NULL,
         "no worker process",
         "pipeprobe exec -- python train.py"},
        {"slow, without",
         {.style = TRACE_2021,
          .steps = 6,
          .wait_us = slow_us,
          .n_waits = 1,
          .step_us = 50000,
          .single_process = 1},
         "input-bound",
         "loader",
         "num_workers=0",
         "num_workers"},
        {"fast",
         {.style = TRACE_2024, .steps = 6, .wait_us = fast_us, .n_waits = 1, .step_us = 50000},
         "not-input-bound",
         NULL,
         "NOT input-bound",
         "Optimise the step itself"},
        {"fast, pageable",
         {.style = TRACE_2024, .steps = 6, .wait_us = fast_us, .n_waits = 1, .step_us = 50000, .gpu = 1},
         "not-input-bound",
         NULL,
         "NOT input-bound",
         "pin_memory=True"},
        {"slow, and the GPU has work meanwhile",
         {.style = TRACE_2024,
          .steps = 8,
          .wait_us = slow_us,
          .n_waits = 1,
          .step_us = 50000,
          .gpu = 1,
          .kernel_us = 49500},
         "not-input-bound",
         NULL,
         "NOT input-bound",
         "The CPU waits for batches for 60.0 % of the time"},
        {"without fetches",
         {.style = TRACE_2022,
          .steps = 8,
          .wait_us = fast_us,
          .n_waits = 1,
          .step_us = 50000,
          .no_fetches = 1},
         "inconclusive",
         NULL,
         "no event of the trace is a wait",
         "pipeprobe exec"},
        {"fetches of another thread",
         {.style = TRACE_2022,
          .steps = 8,
          .wait_us = slow_us,
          .n_waits = 1,
          .step_us = 50000,
          .other_thread = 1},
         "inconclusive",
         NULL,
         "another thread",
         "pipeprobe exec"},
        {"two steps",
         {.style = TRACE_2022, .steps = 2, .wait_us = slow_us, .n_waits = 1, .step_us = 50000},
         "inconclusive",
         NULL,
         "1 step besides its first one, at least 3",
         "active=30"},
        {"steps that differ",
         {.style = TRACE_2022, .steps = 6, .wait_us = uneven_us, .n_waits = 4, .step_us = 50000},
         "inconclusive",
         NULL,
         "95 % interval",
         "active=30"},
        {"without ProfilerStep",
         {.style = TRACE_2022, .steps = 9, .wait_us = slow_us, .n_waits = 1, .step_us = 50000, .no_steps = 1},
         "input-bound",
         NULL,
         "no worker process",
         "pipeprobe exec"},
        {"the program's own ranges",
         {.style = TRACE_2022,
          .steps = 9,
          .wait_us = slow_us,
          .n_waits = 1,
          .step_us = 50000,
          .annotated = 1},
         "input-bound",
         NULL,
         "no worker process",
         "pipeprobe exec"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        import_made(&rows[i].trace, 0);
        struct pp_report *r = report_of();
        const struct pp_report_verdict *v = &r->verdict;
        print_message("%s: %s\n", rows[i].name, v->sentence);
        assert_string_equal(v->l0, rows[i].l0);
        assert_int_equal(v->l1 != NULL, rows[i].l1 != NULL);
        if (v->l1)
            assert_string_equal(v->l1, rows[i].l1);
        if (!strstr(v->sentence, rows[i].says))
            fail_msg("%s: '%s' is not in '%s'", rows[i].name, rows[i].says, v->sentence);
        if (!v->next_step || !strstr(v->next_step, rows[i].advises))
            fail_msg("%s: '%s' is not in '%s'", rows[i].name, rows[i].advises,
                     v->next_step ? v->next_step : "-");
        assert_true(isnan(v->confidence)); /* calibrated on recordings */
        assert_int_equal(v->n_rejected, 0);
        assert_string_equal(r->subject_kind_name, "trace");
        pp_report_free(r);
    }
}

static void test_shares_are_those_of_the_trace(void **state)
{
    struct made_trace t = {
        .style = TRACE_2022, .steps = 12, .wait_us = by_two_us, .n_waits = 2, .step_us = 100000};
    import_made(&t, 1);
    struct pp_report *r = report_of();
    /* the first step is warm-up: 5 long and 6 short waits, from the second wait to the end */
    double want = (5 * 40.0 + 6 * 0.15) / (11 * 100.0 - 0.101);
    assert_true(fabs(r->data_wait_share - want) < 1e-6);
    pp_report_free(r);
}

static const struct pp_report_finding *finding(const struct pp_report *r, const char *kind)
{
    for (size_t i = 0; i < r->n_findings; i++)
        if (strcmp(r->findings[i].kind, kind) == 0)
            return &r->findings[i];
    fail_msg("no finding %s", kind);
    return NULL;
}

static void test_the_rhythm_of_waits_tells_the_workers(void **state)
{
    static const double by_four_us[] = {200, 150, 60000, 300};
    static const struct {
        struct made_trace trace;
        const char *says;
    } rows[] = {
        {{.style = TRACE_2022, .steps = 12, .wait_us = by_two_us, .n_waits = 2, .step_us = 100000},
         "every 2 batches"},
        {{.style = TRACE_2022, .steps = 20, .wait_us = by_four_us, .n_waits = 4, .step_us = 100000},
         "every 4 batches"},
        {{.style = TRACE_2022, .steps = 20, .wait_us = slow_us, .n_waits = 1, .step_us = 100000}, NULL},
        {{.style = TRACE_2022, .steps = 6, .wait_us = by_two_us, .n_waits = 2, .step_us = 100000}, NULL},
        {{.style = TRACE_2022,
          .steps = 20,
          .wait_us = by_four_us,
          .n_waits = 4,
          .step_us = 100000,
          .single_process = 1},
         NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        import_made(&rows[i].trace, 0);
        struct pp_report *r = report_of();
        const struct pp_report_finding *f = finding(r, "lockstep-waits");
        assert_int_equal(f->state == PP_FINDING_FOUND, rows[i].says != NULL);
        if (rows[i].says)
            assert_non_null(strstr(f->sentence, rows[i].says));
        pp_report_free(r);
    }
}

static int count_loss(const struct pp_report *r, const char *what, const char *why)
{
    for (size_t i = 0; i < r->n_losses; i++)
        if (strcmp(r->losses[i].what, what) == 0 && strstr(r->losses[i].why, why))
            return 1;
    return 0;
}

static void test_a_cut_trace_is_taken_to_its_last_whole_event(void **state)
{
    struct made_trace t = {
        .style = TRACE_2024, .steps = 40, .wait_us = slow_us, .n_waits = 1, .step_us = 50000, .operators = 5};
    struct pp_import_result r;
    struct pp_err err = {0};
    size_t size;
    char *text = made_trace_text(&t, &size);
    snprintf(trace_path, sizeof(trace_path), "%s/cut.json", store_dir);
    made_trace_put(trace_path, text, size / 2, 0);
    assert_int_equal(import_it("cut.json", &r, &err), PP_OK);
    unlink(trace_path);
    free(text);
    assert_true(r.steps >= 18 && r.steps <= 20);
    assert_non_null(r.ended);
    assert_int_equal(r.ended_at, size / 2);
    struct pp_report *report = report_of();
    assert_true(count_loss(report, "trace", "ends inside of an event"));
    assert_true(count_loss(report, "workers", "pipeprobe exec"));
    assert_string_equal(report->verdict.l0, "input-bound");
    pp_report_free(report);
}

static void test_gpu_activity_comes_along(void **state)
{
    struct made_trace t = {
        .style = TRACE_2021, .steps = 8, .wait_us = fast_us, .n_waits = 1, .step_us = 50000, .gpu = 1};
    import_made(&t, 0);
    struct pp_report *r = report_of();
    assert_non_null(r->gpu);
    assert_null(r->gpu->not_measured);
    assert_true(fabs(r->gpu->pageable_share - 1) < 1e-9);
    assert_int_equal(r->gpu->kernels, 7);
    pp_report_free(r);
}

static void test_a_flood_of_ranges_leaves_the_steps(void **state)
{
    struct pp_import_result r;
    struct pp_err err = {0};
    snprintf(trace_path, sizeof(trace_path), "%s/flood.json", store_dir);
    FILE *f = fopen(trace_path, "w");
    assert_non_null(f);
    fputs("{\"schemaVersion\": 1, \"traceEvents\": [", f);
    for (int i = 0; i < 410000; i++)
        fprintf(
            f,
            "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"mine%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1},\n",
            i % 1100, i * 2);
    for (int i = 0; i < 20; i++)
        fprintf(
            f,
            "{\"ph\":\"X\",\"name\":\"ProfilerStep#%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":9999},"
            "{\"ph\":\"X\",\"name\":\"enumerate(DataLoader)#_X.__next__\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":5000},\n",
            i, i * 10000, i * 10000 + 1);
    fputs("]}", f);
    fclose(f);
    assert_int_equal(import_it("flood.json", &r, &err), PP_OK);
    unlink(trace_path);
    assert_int_equal(r.steps, 20);
    struct pp_report *report = report_of();
    assert_string_equal(report->verdict.l0, "input-bound"); /* what is lost is no step */
    assert_true(fabs(report->data_wait_share - 0.5) < 0.001);
    assert_true(count_loss(report, "ranges", "more than 400,000"));
    assert_true(count_loss(report, "names", "more than 1,000"));
    pp_report_free(report);
}

static void test_the_rank_is_stored(void **state)
{
    struct made_trace t = {.style = TRACE_2024,
                           .steps = 8,
                           .wait_us = fast_us,
                           .n_waits = 1,
                           .step_us = 50000,
                           .rank = 3,
                           .world_size = 8};
    struct pp_reader *reader;
    struct pp_err err = {0};
    double rank = -1, world = -1;
    import_made(&t, 0);
    assert_int_equal(pp_reader_open(store_path, &reader, &err), PP_OK);
    assert_true(pp_reader_meta_num(reader, "rank", "rank", &rank) &&
                pp_reader_meta_num(reader, "rank", "world_size", &world));
    assert_true(rank == 3 && world == 8);
    assert_string_equal(pp_reader_meta(reader, "environment", "hostname"), "node1");
    assert_string_equal(pp_reader_meta(reader, "run", "source"), "kineto");
    double utc = 0;
    assert_true(pp_reader_meta_num(reader, "run", "started_utc_ns", &utc));
    assert_true(fabs(utc - 1727743127000000000.0) < 1e9); /* base + 5 s */
    pp_reader_close(reader);
}

static void test_ranks_are_read_from_the_beginning_or_the_name(void **state)
{
    static const struct {
        const char *name;
        int in_trace;
        int64_t rank, world;
    } rows[] = {{"rank5.json", 1, 3, 8}, {"job_rank-12.pt.trace.json", 0, 12, -1}, {"x.json", 0, -1, -1}};
    for (size_t i = 0; i < 3; i++) {
        struct made_trace t = {.style = TRACE_2024,
                               .steps = 1,
                               .wait_us = fast_us,
                               .n_waits = 1,
                               .step_us = 500,
                               .rank = 3,
                               .world_size = rows[i].in_trace ? 8 : 0};
        int64_t rank, world;
        snprintf(trace_path, sizeof(trace_path), "%s/%s", store_dir, rows[i].name);
        made_trace_write(trace_path, &t, 0);
        assert_int_equal(pp_import_rank_of(trace_path, &rank, &world), rows[i].rank >= 0);
        assert_int_equal(rank, rows[i].rank);
        assert_int_equal(world, rows[i].world);
        unlink(trace_path);
    }
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *name, *text;
        pp_status status;
        const char *says;
    } rows[] = {
        {"empty.json", "", PP_E_EMPTY, "is empty"},
        {"other.json", "{\"a\": 1}", PP_E_UNSUPPORTED, "no trace of a known format. Known are: "},
        {"text.json", "hello", PP_E_UNSUPPORTED, "no trace of a known format"},
        {"events.json", "{\"schemaVersion\": 1, \"traceEvents\": []}", PP_E_EMPTY,
         "none of its 0 events is a step"},
        {"none.json", "{\"schemaVersion\": 1, \"deviceProperties\": []}", PP_E_CORRUPT, "no \"traceEvents\""},
        {"cut.json", "{\"schemaVersion\": 1, \"deviceProp", PP_E_CORRUPT, "ends inside of an event"},
        {"ops.json",
         "{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1}]}",
         PP_E_EMPTY, "none of its 1 events is a step .* or a wait"},
        {"ray.json",
         "[{\"ph\": \"X\", \"cat\": \"task:execute\", \"name\": \"task:execute\", \"pid\": \"Node 1\", \"tid\": \"worker:1\", \"ts\": 1, \"dur\": 1}]",
         PP_E_EMPTY, "Ray's timeline has tasks and no training loop"},
    };
    struct pp_import_result r;
    struct pp_err err = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(trace_path, sizeof(trace_path), "%s/%s", store_dir, rows[i].name);
        made_trace_put(trace_path, rows[i].text, strlen(rows[i].text), 0);
        assert_int_equal(import_it(rows[i].name, &r, &err), rows[i].status);
        const char *says = rows[i].says, *star = strstr(says, ".*");
        char first[128];
        snprintf(first, sizeof(first), "%.*s", (int)(star ? star - says : (long)strlen(says)), says);
        if (!strstr(err.text, first) || (star && !strstr(err.text, star + 2)))
            fail_msg("'%s' is not '%s'", err.text, says);
        unlink(trace_path);
        assert_int_equal(access(store_path, F_OK), -1); /* nothing is written */
    }
    assert_int_equal(import_it("nowhere.json", &r, &err), PP_E_NOT_FOUND);
}

static void test_a_recording_is_no_trace(void **state)
{
    struct made_trace t = {
        .style = TRACE_2024, .steps = 8, .wait_us = fast_us, .n_waits = 1, .step_us = 50000};
    const struct pp_importer *format;
    struct pp_err err = {0};
    import_made(&t, 0);
    assert_int_equal(pp_import_format(store_path, &format, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "is a recording already"));
    assert_null(pp_import_trace_format(store_path));
}

static void test_an_existing_output_stays(void **state)
{
    struct made_trace t = {
        .style = TRACE_2024, .steps = 8, .wait_us = fast_us, .n_waits = 1, .step_us = 50000};
    struct pp_import_opts o = {.output = store_path, .rank = -1, .world_size = -1};
    struct pp_import_result r;
    struct pp_err err = {0};
    import_made(&t, 0);
    snprintf(trace_path, sizeof(trace_path), "%s/t.json", store_dir);
    made_trace_write(trace_path, &t, 0);
    assert_int_equal(pp_import_file(trace_path, &o, &r, &err), PP_E_EXISTS);
    assert_true(pp_reader_is_recording(store_path));
    unlink(trace_path);
}

static int answers; /* of these the last one ends the import */

static pp_status stopped(struct pp_err *err)
{
    return --answers > 0 ? PP_OK : pp_fail(err, PP_E_INTERRUPTED, "stopped by Ctrl-C");
}

static void test_one_that_is_stopped_leaves_no_file(void **state)
{
    struct pp_import_result r;
    struct pp_import_opts o = {.output = store_path, .rank = -1, .world_size = -1, .stopped = stopped};
    snprintf(trace_path, sizeof(trace_path), "%s/x.pt.trace.json", store_dir);
    made_trace_write(trace_path,
                     &(struct made_trace){
                         .style = TRACE_2022, .steps = 8, .wait_us = slow_us, .n_waits = 1, .step_us = 50000},
                     0);
    unlink(store_path);
    int last = 1;
    for (;; last++) {
        struct pp_err err = {0};
        answers = last;
        pp_status st = pp_import_file(trace_path, &o, &r, &err);
        if (st == PP_OK)
            break;
        assert_int_equal(st, PP_E_INTERRUPTED);
        assert_int_equal(answers, 0);
        assert_string_equal(err.text, "stopped by Ctrl-C");
        assert_int_not_equal(access(store_path, F_OK), 0);
    }
    assert_true(last > 3); /* it is asked before the file is there, while it is written, and after */
    unlink(trace_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_every_style_gives_the_same_recording),
        STORE_TEST(test_one_that_is_stopped_leaves_no_file),
        STORE_TEST(test_verdicts_stay_inside_of_what_a_trace_shows),
        STORE_TEST(test_shares_are_those_of_the_trace),
        STORE_TEST(test_the_rhythm_of_waits_tells_the_workers),
        STORE_TEST(test_a_cut_trace_is_taken_to_its_last_whole_event),
        STORE_TEST(test_gpu_activity_comes_along),
        STORE_TEST(test_a_flood_of_ranges_leaves_the_steps),
        STORE_TEST(test_the_rank_is_stored),
        STORE_TEST(test_ranks_are_read_from_the_beginning_or_the_name),
        STORE_TEST(test_what_is_refused),
        STORE_TEST(test_a_recording_is_no_trace),
        STORE_TEST(test_an_existing_output_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
