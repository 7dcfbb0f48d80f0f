/* The nsys exporter's file, asked with SQL what Nsight's own reports ask. That the real reports accept it:
 * tests/e2e/nsys_reads_our_export.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/export_source.h"

#include <sqlite3.h>

static sqlite3 *db;

static void open_export(struct fake_export *f)
{
    struct pp_err err = {0};
    const char *out = fx_path("out.sqlite");
    if (fx_export(f, &pp_export_nsys, out, 1, NULL, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(sqlite3_open_v2(out, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    unlink(out);
}

static void close_export(struct fake_export *f)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    db = NULL;
    fx_end(f);
}

/* All rows as text: cells apart by '|', rows by ' '. */
static const char *ask(const char *sql)
{
    static char answer[2048];
    sqlite3_stmt *st = NULL;
    char *at = answer;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    *at = '\0';
    while (sqlite3_step(st) == SQLITE_ROW) {
        if (at != answer)
            *at++ = ' ';
        for (int i = 0; i < sqlite3_column_count(st); i++) {
            const unsigned char *cell = sqlite3_column_text(st, i);
            at += snprintf(at, (size_t)(answer + sizeof(answer) - at), "%s%s", i ? "|" : "",
                           cell ? (const char *)cell : "NULL");
        }
    }
    sqlite3_finalize(st);
    return answer;
}

static void three_batches(struct fake_export *f)
{
    fx_begin(f);
    for (uint32_t b = 0; b < 3; b++)
        fx_batch(f, b);
}

static void ranges_are_as_nvtx_calls_would_have_been(void **state)
{
    struct fake_export f;
    three_batches(&f);
    fx_span(&f, FX_WORKER, PP_PHASE_SAMPLER, 2300, 2300, PP_NO_BATCH);
    open_export(&f);
    assert_string_equal(ask("PRAGMA integrity_check"), "ok");
    assert_string_equal(ask("PRAGMA journal_mode"), "delete");
    /* start, end, type, category, text, payload, domain; pid and tid unpacked as Nsight's documentation does
     */
    assert_string_equal(
        ask("SELECT start, end, eventType, category, value, uint64Value, domainId, globalTid / 0x1000000 % 0x1000000, globalTid % 0x1000000"
            " FROM NVTX_EVENTS JOIN StringIds ON id = textId WHERE eventType IN (59, 60) AND start >= 2000000 AND category IN (3, 10, 12)"
            " ORDER BY start"),
        "2000000|2200000|59|3|read|2|1|4242|4300 2300000|2400000|59|10|h2d|2|1|4242|4301 2400000|3000000|59|12|step|2|1|4242|4302");
    assert_string_equal(
        ask("SELECT count(*), count(DISTINCT textId), count(text), count(rangeId) FROM NVTX_EVENTS WHERE eventType = 59"),
        "16|6|0|0");
    assert_string_equal(
        ask("SELECT start, end, uint64Value FROM NVTX_EVENTS JOIN StringIds ON id = textId WHERE value = 'sampler'"),
        "2300000|2300000|NULL");
    assert_string_equal(
        ask("SELECT printf('%08X', color) FROM NVTX_EVENTS JOIN StringIds ON id = textId WHERE value = 'step' LIMIT 1"),
        "FF2E9E4F");
    assert_string_equal(ask("SELECT utcEpochNs, utcTime FROM TARGET_INFO_SESSION_START_TIME"),
                        "1700000000000000000|2023-11-14T22:13:20Z");
    assert_string_equal(ask("SELECT duration FROM ANALYSIS_DETAILS"), "3000000");
    close_export(&f);
}

static void each_process_has_one_domain_row(void **state)
{
    struct fake_export f;
    three_batches(&f);
    f.run->thread[FX_TRAINER].pid = 4343;
    open_export(&f);
    assert_string_equal(
        ask("SELECT globalTid / 0x1000000 % 0x1000000, count(*), text, domainId FROM NVTX_EVENTS WHERE eventType = 75 GROUP BY 1"),
        "4242|1|pipeprobe|1 4343|1|pipeprobe|1");
    assert_string_equal(
        ask("SELECT count(*) / 2, min(category), max(category) FROM NVTX_EVENTS WHERE eventType = 33"),
        "23|1|24"); /* every phase but 18, which is no span */
    assert_string_equal(ask("SELECT text FROM NVTX_EVENTS WHERE eventType = 33 AND category = 4 LIMIT 1"),
                        "decode");
    assert_string_equal(ask("SELECT pid FROM PROCESSES ORDER BY 1"), "4242 4343");
    assert_string_equal(
        ask("SELECT value, t.globalTid % 0x1000000, text FROM ThreadNames t JOIN StringIds ON id = nameId"
            " JOIN NVTX_EVENTS e ON e.globalTid = t.globalTid AND eventType = 39 ORDER BY 2"),
        "pp-worker-0|4300|pp-worker-0 pp-copy|4301|pp-copy pp-trainer|4302|pp-trainer");
    /* What joins CPU rows to GPU rows: a process is its threads with the thread part cleared. */
    assert_string_equal(
        ask("SELECT count(*) FROM ThreadNames JOIN PROCESSES ON globalPid = globalTid & ~0xFFFFFF"), "3");
    close_export(&f);
}

static void no_gpu_row_is_made_up(void **state)
{
    struct fake_export f;
    three_batches(&f);
    fake_text(f.run, "config", "device_kind", "host");
    open_export(&f);
    assert_string_equal(
        ask("SELECT count(*) FROM sqlite_master WHERE name LIKE 'CUPTI%' OR name = 'TARGET_INFO_GPU'"), "0");
    close_export(&f);
}

static void copies_of_a_device_run_are_rows(void **state)
{
    struct fake_export f;
    three_batches(&f);
    fx_span(&f, FX_COPY, PP_PHASE_H2D, 2500, 2500, 7)
        ->bytes = 1; /* no shorter than 1 ns: gputrace divides by it */
    fx_span(&f, FX_COPY, PP_PHASE_H2D, 2600, 2700, 8)->flags |= PP_SPAN_ERROR; /* did not happen */
    fake_text(f.run, "config", "device_kind", "fake");
    fake_text(f.run, "config", "device_name", "fake device");
    fake_num(f.run, "config", "pinned", "1", NULL);
    open_export(&f);
    assert_string_equal(
        ask("SELECT m.start, m.end, bytes, copyKind, srcKind, dstKind, deviceId, m.globalPid = r.globalTid & ~0xFFFFFF"
            " FROM CUPTI_ACTIVITY_KIND_MEMCPY m JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING(correlationId) ORDER BY 1"),
        "300000|400000|4096|1|1|2|0|1 1300000|1400000|4096|1|1|2|0|1 2300000|2400000|4096|1|1|2|0|1 2500000|2500001|1|1|1|2|0|1");
    /* nvtxgpuproj: the call lies inside the range of its thread */
    assert_string_equal(
        ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN NVTX_EVENTS n ON n.globalTid = r.globalTid AND n.category = 10"
            " AND n.start <= r.start AND n.end >= r.end"),
        "3");
    assert_string_equal(
        ask("SELECT DISTINCT value, r.end - r.start FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds ON id = nameId"),
        "cudaMemcpyAsync|1");
    assert_string_equal(ask("SELECT id, name FROM TARGET_INFO_GPU"), "0|fake device");
    assert_string_equal(ask("SELECT label FROM ENUM_CUDA_MEMCPY_OPER WHERE id = 1"), "Host-to-Device");
    close_export(&f);
}

static void copies_keep_their_calls_beyond_one_statement(void **state)
{
    struct fake_export f;
    fx_begin(&f);
    for (uint32_t b = 0; b < 2 * 64 + 21; b++) /* statements that are full, and one that is not */
        fx_span(&f, FX_COPY, PP_PHASE_H2D, b * 10, b * 10 + 5, b)->bytes = b;
    fake_text(f.run, "config", "device_kind", "fake");
    open_export(&f);
    assert_string_equal(
        ask("SELECT count(*), sum(bytes), sum(m.rowid = correlationId), sum(m.end - m.start) FROM CUPTI_ACTIVITY_KIND_MEMCPY m"),
        "149|11026|149|745000");
    assert_string_equal(
        ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY m JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING(correlationId) JOIN NVTX_EVENTS n"
            " ON n.uint64Value = bytes AND n.start = m.start AND n.end = m.end WHERE r.start = m.start"),
        "149");
    close_export(&f);
}

static void absurd_numbers_are_cut(void **state)
{
    struct fake_export f;
    fx_begin(&f);
    fx_span(&f, FX_COPY, PP_PHASE_H2D, 0, 10, 0)->bytes = UINT64_C(1) << 63;
    fake_text(f.run, "config", "device_kind", "fake");
    open_export(&f);
    assert_string_equal(ask("SELECT bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY"), "9223372036854775806");
    close_export(&f);
}

static void what_cupti_recorded_is_in_its_tables(void **state)
{
    struct fake_export f;
    three_batches(&f);
    fx_gpu(&f);
    f.run->thread[FX_WORKER].tid = 4302; /* one thread by two names, as the main thread is that trains */
    open_export(&f);
    assert_string_equal(
        ask("SELECT start, end, deviceId, contextId, streamId, correlationId, bytes, copyKind, srcKind, dstKind FROM CUPTI_ACTIVITY_KIND_MEMCPY"),
        "320000|380000|1|3|13|21|4096|1|0|2 330000|330001|1|3|13|22|7|2|2|1"); /* none made of h2d spans */
    assert_string_equal(ask("SELECT start, end, bytes, correlationId FROM CUPTI_ACTIVITY_KIND_MEMSET"),
                        "340000|340100|64|23");
    assert_string_equal(
        ask("SELECT start, end, deviceId, streamId, value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName"),
        "415000|915000|0|14|pp_spin");
    assert_string_equal(
        ask("SELECT start, end, syncType, correlationId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"),
        "920000|970000|4|25");
    assert_string_equal(
        ask("SELECT r.start, r.end, eventClass, value, returnValue, globalTid % 0x1000000 FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds ON id = nameId"),
        "310000|315000|1|cuMemcpyHtoDAsync_v2|0|4301 410000|413000|1|cuLaunchKernel|719|4302");
    /* What nvtxgpuproj does: the call inside a range of its thread, its work on the device by correlation and
     * process. */
    assert_string_equal(
        ask("SELECT n.category, k.start FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING(correlationId) JOIN NVTX_EVENTS n"
            " ON n.globalTid = r.globalTid AND n.start <= r.start AND n.end >= r.end AND k.globalPid = r.globalTid & ~0xFFFFFF WHERE n.category = 12"),
        "12|415000");
    assert_string_equal(ask("SELECT id, name FROM TARGET_INFO_GPU ORDER BY 1"), "0|a GPU 1|a GPU");
    assert_string_equal(ask("SELECT count(*), count(DISTINCT globalTid) FROM ThreadNames"), "2|2");
    close_export(&f);
}

static void requests_are_ranges_of_threads_for_them(void **state)
{
    struct fake_export f;
    three_batches(&f);
    fx_requests(&f);
    open_export(&f);
    assert_string_equal(
        ask("SELECT n.start, n.end, s.value, uint64Value, t.value FROM NVTX_EVENTS n JOIN StringIds s ON s.id = n.textId"
            " JOIN ThreadNames USING(globalTid) JOIN StringIds t ON t.id = nameId WHERE category = 1000 AND eventType = 59 AND n.start < 60000 ORDER BY n.rowid"),
        "10000|210000|GET 206|10|requests to 10.0.0.1:443 10000|15000|queue|NULL|requests to 10.0.0.1:443"
        " 15000|35000|connect|NULL|requests to 10.0.0.1:443 35000|65000|tls|NULL|requests to 10.0.0.1:443"
        " 50000|60000|GET 503|11|requests to 10.0.0.1:443 (overlapping 1)"
        " 50000|60000|first byte|NULL|requests to 10.0.0.1:443 (overlapping 1)");
    assert_string_equal(ask("SELECT count(*) FROM NVTX_EVENTS WHERE category = 1000 AND eventType = 59"),
                        "15");
    assert_string_equal(
        ask("SELECT text, globalTid >> 24 = (SELECT globalPid >> 24 FROM PROCESSES) FROM NVTX_EVENTS WHERE category = 1000 AND eventType = 33"),
        "request|1");
    assert_string_equal(ask("SELECT count(*) FROM StringIds GROUP BY value HAVING count(*) > 1"), "");
    close_export(&f);
}

static void pageable_copies_are_told_apart(void **state)
{
    static const struct {
        const char *pinned, *kind_and_call_ns;
    } rows[] = {{"0", "0|100000"}, {"1", "1|1"}, {NULL, "7|1"}};
    for (size_t i = 0; i < 3; i++) {
        struct fake_export f;
        fx_begin(&f);
        fx_batch(&f, 0);
        fake_text(f.run, "config", "device_kind", "cuda");
        if (rows[i].pinned)
            fake_num(f.run, "config", "pinned", rows[i].pinned, NULL);
        open_export(&f);
        assert_string_equal(
            ask("SELECT srcKind, r.end - r.start FROM CUPTI_ACTIVITY_KIND_MEMCPY JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING(correlationId)"),
            rows[i].kind_and_call_ns);
        close_export(&f);
    }
}

static void overlapping_spans_are_start_end_ranges(void **state)
{
    struct fake_export f;
    fx_begin(&f);
    for (uint32_t b = 0; b < 100; b++) /* more than a statement's rows, not a multiple of them */
        fx_span(&f, FX_COPY, PP_PHASE_H2D, b * 10, b * 10 + 15, b);
    open_export(&f);
    assert_string_equal(
        ask("SELECT eventType, count(*), count(DISTINCT rangeId) FROM NVTX_EVENTS WHERE textId NOTNULL GROUP BY 1"),
        "59|50|0 60|50|50");
    assert_string_equal(
        ask("SELECT count(*), sum(end - start), count(DISTINCT uint64Value) FROM NVTX_EVENTS WHERE textId NOTNULL"),
        "100|1500000|100");
    close_export(&f);
}

static void the_rest_lies_beside(void **state)
{
    struct fake_export f;
    three_batches(&f);
    fake_text(f.run, "environment", "cpu_model", "some CPU");
    fake_num(f.run, "config", "workers", "2", "threads");
    f.counter[f.n_counters++] = (typeof(f.counter[0])){FX_T0 + 10, "rss_bytes", 1.5e9};
    f.run->error[f.run->n_errors++] = (struct pp_error_row){.t_ns = FX_T0 + 20,
                                                            .thread = FX_WORKER,
                                                            .path = "a'b.jpg",
                                                            .kind = "corrupt",
                                                            .reason = "cut",
                                                            .count = 1};
    f.run->loss[f.run->n_losses++] = (typeof(f.run->loss[0])){"spans", "the ring was full", 12};
    open_export(&f);
    assert_string_equal(ask("SELECT time_ns, name, globalTid, value FROM pipeprobe_counter"),
                        "10|rss_bytes|NULL|1500000000.0");
    assert_string_equal(ask("SELECT start, text FROM NVTX_EVENTS WHERE eventType = 34"),
                        "20|error corrupt: a'b.jpg: cut");
    assert_string_equal(ask("SELECT count, what, why FROM pipeprobe_loss"), "12|spans|the ring was full");
    assert_string_equal(ask("SELECT value + 1, unit FROM pipeprobe_meta WHERE section = 'config'"),
                        "3|threads");
    assert_string_equal(ask("SELECT name, value FROM TARGET_INFO_SYSTEM_ENV"), "cpu_model|some CPU");
    assert_string_equal(
        ask("SELECT count(*) FROM (SELECT * FROM META_DATA_EXPORT INTERSECT SELECT * FROM EXPORT_META_DATA)"),
        "6");
    /* nsys analyze makes a view of every table with columns start and end, under its bare name */
    assert_string_equal(
        ask("SELECT count(*) FROM sqlite_master m WHERE name LIKE 'pipeprobe%' AND EXISTS (SELECT 1 FROM pragma_table_info(m.name) WHERE name IN ('start', 'end'))"),
        "0");
    assert_string_equal(ask("SELECT count(*) FROM sqlite_master WHERE name GLOB '*[^A-Za-z0-9_]*'"), "0");
    close_export(&f);
}

static void columns_of_newer_versions_are_there(void **state)
{
    static const char *const columns[][2] = {
        {"NVTX_EVENTS", "binaryData"},
        {"NVTX_EVENTS", "jsonTextId"},
        {"CUPTI_ACTIVITY_KIND_MEMCPY", "greenContextId"},
        {"CUPTI_ACTIVITY_KIND_MEMCPY", "copyCount"},
    };
    struct fake_export f;
    three_batches(&f);
    fake_text(f.run, "config", "device_kind", "fake");
    open_export(&f);
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        char sql[160];
        snprintf(sql, sizeof(sql), "SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'",
                 columns[i][0], columns[i][1]);
        assert_string_equal(ask(sql), "1");
    }
    close_export(&f);
}

static int tear_down(void **state)
{
    return rmdir(fx_dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_as_nvtx_calls_would_have_been),
        cmocka_unit_test(each_process_has_one_domain_row),
        cmocka_unit_test(no_gpu_row_is_made_up),
        cmocka_unit_test(copies_of_a_device_run_are_rows),
        cmocka_unit_test(copies_keep_their_calls_beyond_one_statement),
        cmocka_unit_test(absurd_numbers_are_cut),
        cmocka_unit_test(what_cupti_recorded_is_in_its_tables),
        cmocka_unit_test(requests_are_ranges_of_threads_for_them),
        cmocka_unit_test(pageable_copies_are_told_apart),
        cmocka_unit_test(overlapping_spans_are_start_end_ranges),
        cmocka_unit_test(the_rest_lies_beside),
        cmocka_unit_test(columns_of_newer_versions_are_there),
    };
    return cmocka_run_group_tests_name("export_nsys", tests, fx_set_up, tear_down);
}
