/* DFTracer's files as recordings: both versions of the format, a file or one per process; storage is named
 * where the workers' calls take most of the stalls, and nothing else is; workers of several epochs are one;
 * other ranks are left out and said; files that end early, sums in place of calls. */
#include "collectors/import/import.h"

#include "report/build/build.h"
#include "tests/support/made_trace.h"
#include "tests/support/store_dir.h"

#include <math.h>

enum { MOST_PATHS = 8, TRAINER = 100, STEPS = 20, WAIT_US = 30000, STEP_US = 20000 };

static char paths[MOST_PATHS][128];
static int n_paths;

/* A job: TRAINER, its workers 101, 102, ..., each of which calls during every wait. */
struct job {
    int version;       /* 1 or 2 */
    int workers;       /* processes; 0: the trainer itself calls, inside of its waits */
    int calls_us;      /* of each wait's 30 ms; 0: none */
    int transforms_us; /* ranges data/preprocess likewise */
    int epochs;        /* each has workers of its own; 0: one */
    int other_rank;    /* a second training process with a worker */
    int no_blocks;     /* the loop's body has no range */
    int folded;        /* calls are sums */
};

static FILE *begin_file(const char *name)
{
    snprintf(paths[n_paths], sizeof(paths[0]), "%s/%s", store_dir, name);
    FILE *f = fopen(paths[n_paths++], "w");
    assert_non_null(f);
    return f;
}

static void put_start(FILE *f, int version, int pid, int parent)
{
    fprintf(
        f,
        "%s{\"name\":\"HH\",\"cat\":\"dftracer\",\"type\":1,\"pid\":%d,\"tid\":%d,\"ph\":%s,\"args\":{\"hhash\":\"8e\",\"name\":\"node7\",\"value\":\"8e\"}}\n",
        version == 1 ? "[\n" : "", pid, pid, version == 1 ? "\"M\"" : "4");
    fprintf(
        f,
        "{\"id\":1,\"name\":\"start\",\"cat\":\"dftracer\",\"type\":1,\"pid\":%d,\"tid\":%d,\"ts\":1785104602000000,\"dur\":0,\"ph\":%s,\"args\":{\"hhash\":\"8e\",\"ppid\":%d,\"cfg\":{\"io\":1}}}\n",
        pid, pid, version == 1 ? "\"X\"" : "1", parent);
}

static void put(FILE *f, int version, int pid, const char *cat, const char *name, int64_t us, int dur)
{
    fprintf(
        f,
        "{\"id\":3,\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%lld,\"dur\":%d,\"ph\":%s,\"args\":{\"hhash\":\"8e\",\"ret\":%d,\"level\":2}}\n",
        name, cat, pid, pid, 1785104603000000ll + us, dur, version == 1 ? "\"X\"" : "1",
        name[0] == 'r' ? 65536 : 3);
}

static void put_calls(FILE *f, const struct job *j, int pid, int64_t at)
{
    if (j->folded) {
        fprintf(
            f,
            "{\"name\":\"read\",\"cat\":\"POSIX\",\"type\":3,\"ts\":%lld,\"ph\":3,\"pid\":%d,\"tid\":%d,\"args\":{\"hhash\":\"8e\",\"dft_cnt\":4,\"dur_sum\":%d}}\n",
            1785104603000000ll + (long long)at, pid, pid, j->calls_us);
        return;
    }
    if (!j->calls_us)
        return;
    put(f, j->version, pid, "POSIX", "open64", at, j->calls_us / 4);
    put(f, j->version, pid, "POSIX", "read", at + j->calls_us / 4, j->calls_us / 4);
    put(f, j->version, pid, "STDIO", "fread", at + j->calls_us / 2, j->calls_us / 2);
    put(f, j->version, pid, "POSIX", "write", at, 50); /* of no interest */
}

static void put_worker(const struct job *j, int pid, int parent, int from, int to)
{
    char name[64];
    snprintf(name, sizeof(name), "t-%d.pfw", pid);
    FILE *f = begin_file(name);
    put_start(f, j->version, pid, parent);
    for (int i = from; i < to; i++) {
        int64_t at = (int64_t)i * (WAIT_US + STEP_US);
        put(f, j->version, pid, "data", "item", at, WAIT_US - 100);
        put_calls(f, j, pid, at + 10);
        if (j->transforms_us)
            put(f, j->version, pid, "data", "preprocess", at + 20 + j->calls_us, j->transforms_us);
    }
    fclose(f);
}

static void put_trainer(const struct job *j, int pid)
{
    char name[64];
    snprintf(name, sizeof(name), "t-%d.pfw", pid);
    FILE *f = begin_file(name);
    put_start(f, j->version, pid, 1);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = (int64_t)i * (WAIT_US + STEP_US);
        if (!j->workers)
            put_calls(f, j, pid, at + 10);
        put(f, j->version, pid, "dataloader", "fetch.iter", at, WAIT_US);
        put(f, j->version, pid, "compute", "forward", at + WAIT_US + 100, STEP_US / 2);
        if (!j->no_blocks)
            put(f, j->version, pid, "dataloader", "fetch.block", at + WAIT_US, STEP_US);
    }
    put(f, j->version, pid, "pipeline", "epoch.block", 0, STEPS * (WAIT_US + STEP_US));
    fputs(j->version == 1 ? "]\n" : "", f);
    fclose(f);
}

static void write_job(const struct job *j)
{
    int epochs = j->epochs ? j->epochs : 1;
    n_paths = 0;
    put_trainer(j, TRAINER);
    for (int e = 0; e < epochs; e++)
        for (int w = 0; w < j->workers; w++)
            put_worker(j, TRAINER + 1 + e * j->workers + w, TRAINER, e * STEPS / epochs,
                       (e + 1) * STEPS / epochs);
    if (j->other_rank) {
        put_trainer(j, 200);
        put_worker(j, 201, 200, 0, STEPS);
    }
}

static pp_status import_files(struct pp_import_result *r, struct pp_err *err)
{
    const char *more[MOST_PATHS];
    for (int i = 1; i < n_paths; i++)
        more[i - 1] = paths[i];
    struct pp_import_opts o = {.output = store_path,
                               .force = 1,
                               .rank = -1,
                               .world_size = -1,
                               .more = more,
                               .n_more = (size_t)n_paths - 1};
    pp_status st = pp_import_file(paths[0], &o, r, err);
    for (int i = 0; i < n_paths; i++)
        unlink(paths[i]);
    return st;
}

static struct pp_report *report_of(const struct job *j, struct pp_import_result *r)
{
    struct pp_report *report;
    struct pp_err err = {0};
    write_job(j);
    if (import_files(r, &err) != PP_OK || pp_report_build(store_path, &report, &err) != PP_OK)
        fail_msg("%s", err.text);
    return report;
}

static void test_what_may_be_said(void **state)
{
    static const struct {
        const char *name;
        struct job job;
        const char *l0, *l1, *says, *advises;
    } rows[] = {
        {"calls take most",
         {.version = 2, .workers = 2, .calls_us = 24000},
         "input-bound",
         "storage",
         "calls of files",
         NULL},
        {"of version 1",
         {.version = 1, .workers = 2, .calls_us = 24000},
         "input-bound",
         "storage",
         "calls of files",
         NULL},
        {"the body of the loop has no range",
         {.version = 2, .workers = 2, .calls_us = 24000, .no_blocks = 1},
         "input-bound",
         "storage",
         "calls of files",
         NULL},
        {"calls take little",
         {.version = 2, .workers = 2, .calls_us = 6000},
         "input-bound",
         NULL,
         "calls of files for 20.0 %",
         "pipeprobe exec"},
        {"transforms take most",
         {.version = 2, .workers = 2, .calls_us = 3000, .transforms_us = 24000},
         "input-bound",
         NULL,
         "transforms that have a range for 80.0 %",
         "pipeprobe exec"},
        {"the trainer calls",
         {.version = 2, .calls_us = 24000},
         "input-bound",
         "loader",
         "num_workers=0",
         "num_workers"},
        {"no calls",
         {.version = 2, .workers = 1},
         "input-bound",
         NULL,
         "no calls of worker processes",
         "pipeprobe exec"},
        {"sums",
         {.version = 2, .workers = 1, .calls_us = 24000, .folded = 1},
         "input-bound",
         NULL,
         "no calls of worker",
         "pipeprobe exec"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_import_result r;
        struct pp_report *report = report_of(&rows[i].job, &r);
        const struct pp_report_verdict *v = &report->verdict;
        print_message("%s: %s\n", rows[i].name, v->sentence);
        assert_string_equal(v->l0, rows[i].l0);
        assert_string_equal(v->l1 ? v->l1 : "-", rows[i].l1 ? rows[i].l1 : "-");
        assert_non_null(strstr(v->sentence, rows[i].says));
        assert_true(!rows[i].advises || (v->next_step && strstr(v->next_step, rows[i].advises)) ||
                    strstr(v->sentence, rows[i].advises));
        assert_true(isnan(v->confidence));
        assert_true(fabs(report->data_wait_share - (double)WAIT_US / (WAIT_US + STEP_US)) < 0.01);
        assert_int_equal(r.steps, rows[i].job.no_blocks ? 0 : STEPS);
        assert_int_equal(r.fetches, STEPS);
        pp_report_free(report);
    }
}

/* tests/recordings/dftracer: 10 batches of 4 files of 5,000 bytes by 2 workers, DFTracer 2.2.0; a clock
 * around next() said 0.1540 of 0.2999 s for all but the first. */
static void test_files_that_were_recorded(void **state)
{
    struct pp_import_result r;
    struct pp_report *report;
    struct pp_err err = {0};
    const char *more[] = {"tests/recordings/dftracer/job-1.pfw.gz", "tests/recordings/dftracer/job-2.pfw.gz"};
    struct pp_import_opts o = {
        .output = store_path, .force = 1, .rank = -1, .world_size = -1, .more = more, .n_more = 2};
    if (pp_import_file("tests/recordings/dftracer/job-0.pfw.gz", &o, &r, &err) != PP_OK ||
        pp_report_build(store_path, &report, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_true(fabs(report->data_wait_share - 0.1540 / 0.2999) < 0.02);
    assert_int_equal(r.steps, 10);
    assert_true(store_query("SELECT sum(bytes) FROM span WHERE phase = 3") == 40 * 5000);
    assert_true(store_query("SELECT count(*) FROM span WHERE phase = 3") == 40 * 5);
    assert_true(store_query("SELECT count(DISTINCT pid) FROM thread WHERE lane = 'worker'") == 2);
    assert_null(report->verdict.l1);
    pp_report_free(report);
}

static void test_calls_have_their_bytes_and_processes(void **state)
{
    struct job j = {.version = 2, .workers = 2, .calls_us = 8000};
    struct pp_import_result r;
    pp_report_free(report_of(&j, &r));
    assert_true(r.workers);
    assert_true(store_query("SELECT count(*) FROM span WHERE phase = 3") == 2 * 3 * STEPS);
    assert_true(store_query("SELECT sum(bytes) FROM span WHERE phase = 3") == 2 * STEPS * 65536.0);
    assert_true(store_query("SELECT count(DISTINCT pid) FROM thread WHERE lane = 'worker'") == 2);
    assert_true(
        store_query(
            "SELECT count(*) FROM meta WHERE section = 'environment' AND key = 'hostname' AND value = 'node7'") ==
        1);
    assert_true(
        store_query("SELECT count(*) FROM loss WHERE what = 'resources' AND why LIKE '%page cache%'") == 1);
}

static void test_workers_of_epochs_follow_each_other(void **state)
{
    struct job j = {.version = 2, .workers = 2, .calls_us = 24000, .epochs = 2};
    struct pp_import_result r;
    struct pp_report *report = report_of(&j, &r);
    assert_true(store_query("SELECT count(*) FROM thread WHERE lane = 'worker'") == 2);
    assert_string_equal(report->verdict.l1,
                        "storage"); /* as threads of their own they would be idle half the time */
    pp_report_free(report);
}

static void test_other_ranks_are_left_out_and_said(void **state)
{
    struct job j = {.version = 2, .workers = 1, .calls_us = 24000, .other_rank = 1};
    struct pp_import_result r;
    pp_report_free(report_of(&j, &r));
    assert_int_equal(r.other_trainers, 1);
    assert_true(store_query("SELECT count(*) FROM thread") == 2);
    assert_true(store_query("SELECT count(*) FROM loss WHERE what = 'ranks' AND why LIKE '%left out%'") == 1);
}

static void test_sums_are_said(void **state)
{
    struct job j = {.version = 2, .workers = 1, .calls_us = 8000, .folded = 1};
    struct pp_import_result r;
    pp_report_free(report_of(&j, &r));
    assert_true(store_query("SELECT count FROM loss WHERE what = 'calls' AND why LIKE '%AGGREGATION%'") ==
                STEPS);
}

/* A process that was killed leaves a line without its end; version 1 also an array without its end, which is
 * nothing to be said. */
static void test_files_that_end_early(void **state)
{
    for (int cut = 0; cut < 2; cut++)
        for (int version = 1; version <= 2; version++) {
            struct job j = {.version = version, .calls_us = 8000};
            struct pp_import_result r;
            struct pp_err err = {0};
            char text[65536];
            write_job(&j);
            FILE *f = fopen(paths[0], "r");
            size_t size = fread(text, 1, sizeof(text), f);
            fclose(f);
            size -= version == 1 ? 2 : 0; /* "]\n" */
            made_trace_put(paths[0], text, size - (cut ? 20 : 0), version == 2);
            assert_int_equal(import_files(&r, &err), PP_OK);
            assert_int_equal(r.ended != NULL, cut);
            assert_int_equal(r.steps, STEPS);
        }
}

static void test_what_is_refused(void **state)
{
    struct pp_import_result r;
    struct pp_err err = {0};
    n_paths = 0;
    FILE *f = begin_file("calls.pfw");
    put_start(f, 2, 7, 1);
    put(f, 2, 7, "POSIX", "read", 5, 7);
    fclose(f);
    assert_int_equal(import_files(&r, &err), PP_E_EMPTY);
    assert_non_null(strstr(err.text, "ai.dataloader.fetch.iter"));
    assert_int_equal(access(store_path, F_OK), -1);
    n_paths = 0;
    f = begin_file("other.jsonl");
    fputs("{\"name\": \"x\", \"cat\": \"y\", \"pid\": 1, \"ph\": \"X\"}\n", f);
    fclose(f);
    assert_int_equal(import_files(&r, &err), PP_E_UNSUPPORTED);
    n_paths = 0;
    f = begin_file("ns.pfw");
    put_start(f, 2, 7, 1);
    fputs(
        "{\"name\":\"CM\",\"cat\":\"dftracer\",\"pid\":7,\"tid\":7,\"ph\":4,\"args\":{\"name\":\"time_metric\",\"value\":\"NS\"}}\n",
        f);
    fclose(f);
    assert_int_equal(import_files(&r, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "times in NS"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_what_may_be_said),
        STORE_TEST(test_files_that_were_recorded),
        STORE_TEST(test_calls_have_their_bytes_and_processes),
        STORE_TEST(test_workers_of_epochs_follow_each_other),
        STORE_TEST(test_other_ranks_are_left_out_and_said),
        STORE_TEST(test_sums_are_said),
        STORE_TEST(test_files_that_end_early),
        STORE_TEST(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
