/* Baselines: what is written comes back, damage is told, a failing disk leaves the old one. History: values
 * and series. The order of runs. */
#include "tests/support/fake_runs.h"
#include "tests/support/json_schema.h"

#include "collectors/store/history.h"
#include "probe/base/io.h"
#include "report/ci/baseline.h"
#include "report/ci/plan.h"
#include "report/stats/paired.h"

#include <errno.h>
#include <unistd.h>

static char dir[] = "/tmp/pp-test-ci-XXXXXX", path[64];
static const struct pp_baseline_about about = {.label = "v1 \"x\"",
                                               .created_utc = "2026-01-02T03:04:05Z",
                                               .version = "0.1.0"};

static int make_dir(void **state)
{
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/baseline.json", dir);
    return 0;
}

static int remove_dir(void **state)
{
    char name[96];
    unlink(path);
    snprintf(name, sizeof(name), "%s/history.sqlite", dir);
    unlink(name);
    return rmdir(dir);
}

static void contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' does not say '%s'", text, part);
}

static void write_text(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void baselines_come_back_as_they_were(void **state)
{
    struct pp_runs runs = fake_side("runs/a\xc3\xa9", 7, 1, 0.03, 1), back;
    struct pp_baseline_about read_about;
    struct pp_err err;
    json_error_t why;
    runs.run[2].metric[PP_CMP_CPU_S_PER_SAMPLE] = NAN;
    runs.run[3].metric[PP_CMP_OPENS] = NAN;
    runs.run[3].why[PP_CMP_OPENS] = PP_WHY_NO_EPOCH;
    assert_int_equal(pp_baseline_write(path, &runs, &about, &err), PP_OK);
    assert_true(pp_baseline_is(path));
    json_t *doc = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    assert_non_null(doc);
    json_t *metrics = json_object_get(json_array_get(json_object_get(doc, "runs"), 0), "metrics");
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        assert_true(json_object_get(metrics, pp_cmp_metrics[i].key) != NULL);
    json_decref(doc);
    assert_int_equal(pp_baseline_read(path, &back, &read_about, &err), PP_OK);
    assert_string_equal(read_about.label, about.label);
    assert_string_equal(read_about.created_utc, about.created_utc);
    assert_int_equal(back.n, 7);
    for (size_t i = 0; i < 7; i++) {
        const struct pp_run *a = &runs.run[i], *b = &back.run[i];
        assert_string_equal(a->path, b->path);
        assert_string_equal(a->l1, b->l1);
        assert_memory_equal(a->why, b->why, sizeof(a->why));
        assert_true(a->batch_s == b->batch_s);
        assert_memory_equal(a->part_s, b->part_s, sizeof(a->part_s));
        for (int m = 0; m < PP_CMP_COUNT_OF_METRICS; m++)
            assert_true(a->metric[m] == b->metric[m] || (isnan(a->metric[m]) && isnan(b->metric[m])));
        assert_string_equal(pp_run_field(b, "cpu_model"), "Test CPU");
        assert_string_equal(pp_run_field(b, "config.workers"), "2");
    }
    pp_runs_free(&runs);
    pp_runs_free(&back);
}

/* fields and metrics are open objects: their keys follow from tables. */
static void baselines_follow_their_schema(void **state)
{
    struct pp_runs runs = fake_side("run", 2, 1, 0.03, 1);
    struct pp_err err;
    json_error_t why;
    runs.run[1].metric[PP_CMP_ERRORS] = NAN;
    assert_int_equal(pp_baseline_write(path, &runs, &about, &err), PP_OK);
    json_t *doc = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    assert_non_null(doc);
    schema_check_file("docs/baseline.schema.json", doc);
    json_decref(doc);
    pp_runs_free(&runs);
}

static void damaged_baselines_are_told(void **state)
{
    static const struct {
        const char *text, *says;
        pp_status status;
    } rows[] = {
        {"", "not JSON", PP_E_CORRUPT},
        {"{", "not JSON: line 1", PP_E_CORRUPT},
        {"[]", "is not a baseline", PP_E_UNSUPPORTED},
        {"{}", "is not a baseline", PP_E_UNSUPPORTED},
        {"{\"schema\":\"pipeprobe.report/1\"}", "pipeprobe.report/1", PP_E_UNSUPPORTED},
        {"{\"schema\":\"pipeprobe.baseline/2\"}", "pipeprobe.baseline/2", PP_E_VERSION},
        {"{\"schema\":\"pipeprobe.baseline/1\"}", "label, fields or runs", PP_E_CORRUPT},
        {"{\"schema\":\"pipeprobe.baseline/1\",\"label\":\"\",\"fields\":{},\"runs\":[]}", "holds no runs",
         PP_E_EMPTY},
        {"{\"schema\":\"pipeprobe.baseline/1\",\"label\":7,\"fields\":{},\"runs\":[]}", "label",
         PP_E_CORRUPT},
        {"{\"schema\":\"pipeprobe.baseline/1\",\"fields\":{},\"runs\":[3]}", "no metrics", PP_E_CORRUPT},
        {"{\"schema\":\"pipeprobe.baseline/1\",\"fields\":{},\"runs\":[{\"metrics\":{\"samples_per_s\":\"fast\"}}]}",
         "is not a number", PP_E_CORRUPT},
        {"{\"schema\":\"pipeprobe.baseline/1\",\"fields\":{\"kernel\":6},\"runs\":[{\"metrics\":{}}]}",
         "is not a text", PP_E_CORRUPT},
        {"{\"schema\":\"pipeprobe.baseline/1\",\"fields\":{},\"runs\":[{\"metrics\":{},\"l0\":5}]}",
         "verdict", PP_E_CORRUPT},
        {"{\"schema\":\"pipeprobe.baseline/1\",\"fields\":{},\"runs\":[{\"metrics\":{},\"parts\":5}]}",
         "parts", PP_E_CORRUPT},
        {"{\"schema\":\"pipeprobe.baseline/1\",\"fields\":{},\"runs\":[{\"metrics\":{\"samples_per_s\":1e999}}]}",
         "not JSON", PP_E_CORRUPT},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pp_runs runs;
        struct pp_err err;
        write_text(rows[i].text);
        pp_status st = pp_baseline_read(path, &runs, NULL, &err);
        if (st != rows[i].status)
            fail_msg("row %zu: %s: %s", i, pp_status_name(st), st == PP_OK ? "" : err.text);
        contains(err.text, rows[i].says);
        contains(err.text, path);
        pp_runs_free(&runs);
    }
    struct pp_runs runs;
    struct pp_err err;
    assert_int_equal(pp_baseline_read("/nonexistent/b.json", &runs, NULL, &err), PP_E_NOT_FOUND);
    assert_false(pp_baseline_is("/nonexistent/b.json"));
    write_text("SQLite format 3");
    assert_false(pp_baseline_is(path));
}

/* Every truncation of a good baseline is an error, never a crash, never a shorter baseline. */
static void cut_short_baselines_are_errors(void **state)
{
    struct pp_runs runs = fake_side("run", 1, 1, 0.03, 1), back;
    struct pp_err err;
    char text[16384];
    assert_int_equal(pp_baseline_write(path, &runs, &about, &err), PP_OK);
    FILE *f = fopen(path, "r");
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    for (size_t cut = 0; cut + 2 < n; cut += 7) {
        text[n] = '\0';
        char kept = text[cut];
        text[cut] = '\0';
        write_text(text);
        text[cut] = kept;
        assert_int_equal(pp_baseline_read(path, &back, NULL, &err), PP_E_CORRUPT);
        pp_runs_free(&back);
    }
    pp_runs_free(&runs);
}

/* Whatever call fails, the old baseline is whole or the new one is. */
static void failing_disks_leave_a_whole_baseline(void **state)
{
    struct pp_runs old = fake_side("old", 2, 1, 0.03, 1), new = fake_side("new", 3, 1, 0.03, 2), back;
    struct pp_err err;
    assert_int_equal(pp_baseline_write(path, &old, &about, &err), PP_OK);
    for (uint64_t nth = 1; nth <= 6; nth++) {
        pp_io_fault(PP_IO_FAULT_OPEN | PP_IO_FAULT_WRITE | PP_IO_FAULT_FSYNC, nth, ENOSPC, 0);
        pp_status st = pp_baseline_write(path, &new, &about, &err);
        uint64_t calls = pp_io_fault_calls();
        pp_io_fault(0, 0, 0, 0);
        if (st != PP_OK)
            assert_int_equal(st, PP_E_NO_SPACE);
        assert_int_equal(pp_baseline_read(path, &back, NULL, &err), PP_OK);
        assert_true(back.n == 2 || back.n == 3);
        assert_true(st != PP_OK || back.n == 3);
        pp_runs_free(&back);
        if (calls < nth)
            break;
        assert_true(nth < 6);
    }
    pp_runs_free(&old);
    pp_runs_free(&new);
}

static void both_sides_take_turns(void **state)
{
    static const enum pp_ci_side abba[] = {PP_CI_BASE, PP_CI_HEAD, PP_CI_HEAD, PP_CI_BASE};
    size_t at[2] = {0, 0}, n[2] = {0, 0};
    for (size_t i = 0; i < 28; i++) {
        enum pp_ci_side s = pp_ci_abba(i);
        assert_int_equal(s, abba[i % 4]);
        at[s] += i;
        n[s]++;
        if (i % 2)
            assert_int_equal(n[PP_CI_BASE],
                             n[PP_CI_HEAD]); /* after every pair, so any number of runs is balanced */
    }
    assert_int_equal(at[PP_CI_BASE],
                     at[PP_CI_HEAD]); /* a linear drift of the machine hits both sides alike */
    assert_true(pp_ci_look_share(7, 7, 0) == 1);
    assert_true(pp_ci_look_share(7, 14, 0) + pp_ci_look_share(7, 14, 1) == 1);
    assert_true(0.01 * pp_ci_look_share(7, 14, 0) >
                pp_sign_flip_floor(7)); /* seven pairs can show something at the first look */
}

/* ---- history ---- */

struct seen {
    int n;
    double sum;
    char last[64], series[64];
};

static void see(void *ctx, const struct pp_history_row *row)
{
    struct seen *s = ctx;
    s->n++;
    s->sum += row->median;
    snprintf(s->last, sizeof(s->last), "%s", row->label);
    snprintf(s->series, sizeof(s->series), "%s", row->series);
}

static void history_keeps_values_in_order(void **state)
{
    char name[96], label[16];
    struct pp_history *h;
    struct pp_err err;
    snprintf(name, sizeof(name), "%s/history.sqlite", dir);
    assert_int_equal(pp_history_open(name, 0, &h, &err), PP_E_NOT_FOUND);
    assert_int_equal(pp_history_open(name, 1, &h, &err), PP_OK);
    for (int i = 0; i < 6; i++) {
        struct pp_history_value v[] = {{"samples_per_s", 100 + i, 7}, {"first_batch_s", 0.5, 7}};
        snprintf(label, sizeof(label), "c%d", i);
        assert_int_equal(pp_history_add(h,
                                        &(struct pp_history_point){.utc_s = 1000 - i,
                                                                   .label = label,
                                                                   .series = i % 2 ? "odd" : "even",
                                                                   .value = v,
                                                                   .n_values = 2},
                                        &err),
                         PP_OK);
    }
    struct pp_history_value again[] = {{"samples_per_s", 7, 7}};
    assert_int_equal(pp_history_add(h,
                                    &(struct pp_history_point){
                                        .label = "c1", .series = "odd", .value = again, .n_values = 1},
                                    &err),
                     PP_E_EXISTS);
    struct pp_history_value twice[] = {{"samples_per_s", 7, 7}, {"samples_per_s", 8, 7}};
    assert_int_not_equal(pp_history_add(h,
                                        &(struct pp_history_point){
                                            .label = "c9", .series = "odd", .value = twice, .n_values = 2},
                                        &err),
                         PP_OK);
    pp_history_close(h);
    assert_int_equal(pp_history_open(name, 0, &h, &err), PP_OK);
    struct seen s = {0};
    assert_int_equal(pp_history_each(h, "samples_per_s", see, &s, &err), PP_OK);
    assert_int_equal(s.n, 6); /* the two that failed left nothing */
    assert_true(s.sum == 615);
    assert_string_equal(s.series, "odd");
    assert_string_equal(s.last, "c1"); /* by time: the lower number was added later with an earlier time */
    struct seen none = {0};
    assert_int_equal(pp_history_each(h, "bytes_read_per_epoch", see, &none, &err), PP_OK);
    assert_int_equal(none.n, 0);
    pp_history_close(h);
}

static void other_files_are_no_history(void **state)
{
    struct pp_history *h;
    struct pp_err err;
    char name[96];
    write_text(
        "this is no database, but long enough to be read as one by a reader that skips its first bytes..........");
    assert_int_equal(pp_history_open(path, 1, &h, &err), PP_E_CORRUPT);
    snprintf(name, sizeof(name), "%s/missing/history.sqlite", dir);
    assert_int_equal(pp_history_open(name, 1, &h, &err), PP_E_ACCESS);
}

static void series_are_of_one_machine_and_work(void **state)
{
    struct pp_runs a = fake_side("a", 1, 1, 0.01, 1), b = fake_side("b", 1, 1.5, 0.05, 9);
    char x[128], y[128];
    assert_true(pp_run_set_field(&b.run[0], "memory_total", "8010000000"));
    assert_true(pp_run_set_field(&b.run[0], "kernel", "6.2"));
    pp_series_name(&a.run[0], x, sizeof(x));
    pp_series_name(&b.run[0], y, sizeof(y));
    assert_string_equal(x, y);
    assert_true(pp_run_set_field(&b.run[0], "config.workers", "3"));
    pp_series_name(&b.run[0], y, sizeof(y));
    assert_string_not_equal(x, y);
    pp_runs_free(&a);
    pp_runs_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(baselines_come_back_as_they_were),
        cmocka_unit_test(baselines_follow_their_schema),
        cmocka_unit_test(damaged_baselines_are_told),
        cmocka_unit_test(cut_short_baselines_are_errors),
        cmocka_unit_test(failing_disks_leave_a_whole_baseline),
        cmocka_unit_test(both_sides_take_turns),
        cmocka_unit_test(history_keeps_values_in_order),
        cmocka_unit_test(other_files_are_no_history),
        cmocka_unit_test(series_are_of_one_machine_and_work),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
