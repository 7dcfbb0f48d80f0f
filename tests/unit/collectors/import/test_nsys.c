/* Nsight Systems' exports as recordings: ranges by torch's names and by maps, text in either place, tables
 * and columns that are absent, the GPU's tables; files that were made to do harm. */
#include "collectors/import/import.h"

#include "report/build/build.h"
#include "tests/support/store_dir.h"

#include <math.h>

static char trace_path[128];

/* NVTX_EVENTS as schema 3.0 has it, without the columns that the import does not read. */
#define NVTX \
    "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);"
#define STRINGS "CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
#define COUNT "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 19) "
/* twenty steps of 50 ms with a wait of 20 ms at their beginning; pid 0x2d52, tid 0x2d5e */
#define TID "(1 << 48) + (11602 << 24) + 11614"
#define STEPS \
    COUNT \
    "INSERT INTO NVTX_EVENTS SELECT 1000000 + i * 50000000, 1000000 + i * 50000000 + 49990000, 59, 'ProfilerStep#' || i || ', op_id = ' || i, " TID \
    ", NULL, 0 FROM c;"
#define WAITS \
    COUNT "INSERT INTO NVTX_EVENTS SELECT 1010000 + i * 50000000, 1010000 + i * 50000000 + 20000000, 59," \
          " 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__, op_id = ' || i, " TID \
          ", NULL, 0 FROM c;"
#define OPERATORS \
    COUNT \
    "INSERT INTO NVTX_EVENTS SELECT 31000000 + i * 50000000, 31000100 + i * 50000000, 59, 'aten::add, seq = ' || i || ', op_id = 7', " TID \
    ", NULL, 0 FROM c;"

static void make(const char *sql)
{
    sqlite3 *db;
    char *message = NULL;
    snprintf(trace_path, sizeof(trace_path), "%s/t.sqlite", store_dir);
    unlink(trace_path);
    assert_int_equal(sqlite3_open(trace_path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
    sqlite3_close(db);
}

static pp_status import_it(const struct pp_namemap *map, struct pp_import_result *r, struct pp_err *err)
{
    struct pp_import_opts o = {.output = store_path, .force = 1, .map = map, .rank = -1, .world_size = -1};
    pp_status st = pp_import_file(trace_path, &o, r, err);
    unlink(trace_path);
    return st;
}

static struct pp_report *import_and_report(const char *sql, const struct pp_namemap *map)
{
    struct pp_import_result r;
    struct pp_report *report;
    struct pp_err err = {0};
    make(sql);
    if (import_it(map, &r, &err) != PP_OK || pp_report_build(store_path, &report, &err) != PP_OK)
        fail_msg("%s", err.text);
    return report;
}

static void expect_share(struct pp_report *r, double share)
{
    assert_true(fabs(r->data_wait_share - share) < 1e-3);
    assert_string_equal(r->verdict.l0, "input-bound");
    assert_null(r->verdict.l1);
    assert_string_equal(r->subject_kind_name, "trace");
    pp_report_free(r);
}

static void test_ranges_of_torch(void **state)
{
    expect_share(import_and_report(NVTX STEPS WAITS OPERATORS, NULL), 0.4);
    assert_true(store_query("SELECT count(*) FROM span") == 40); /* without the operators */
    assert_true(store_query("SELECT pid = 11602 AND tid = 11614 FROM thread") == 1);
}

static void test_registered_strings(void **state)
{
    expect_share(
        import_and_report(
            STRINGS NVTX
            "INSERT INTO StringIds VALUES(7, 'ProfilerStep#1'), (9, 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__');" COUNT
            "INSERT INTO NVTX_EVENTS SELECT i * 50000000, i * 50000000 + 49990000, 59, NULL, " TID
            ", 7, 0 FROM c;" COUNT
            "INSERT INTO NVTX_EVENTS SELECT i * 50000000 + 10000, i * 50000000 + 20010000, 60, NULL, " TID
            ", 9, 0 FROM c;",
            NULL),
        0.4);
}

static void test_a_map_names_ranges_of_the_program(void **state)
{
    struct pp_namemap *map = pp_namemap_new();
    struct pp_err err = {0};
    assert_int_equal(pp_namemap_add_text(map, "mine:load = data_wait\nforward = step\n", "test", &err),
                     PP_OK);
    expect_share(
        import_and_report(
            NVTX
            "INSERT INTO NVTX_EVENTS VALUES(0, NULL, 75, 'mine', 0, NULL, 3);" COUNT
            "INSERT INTO NVTX_EVENTS SELECT i * 50000000, i * 50000000 + 20000000, 59, 'load', " TID
            ", NULL, 3 FROM c;" COUNT
            "INSERT INTO NVTX_EVENTS SELECT i * 50000000 + 20000000, i * 50000000 + 50000000, 59, 'forward', " TID
            ", NULL, 0 FROM c;",
            map),
        0.4);
    pp_namemap_free(map);
}

static void test_what_the_gpu_did(void **state)
{
    struct pp_report *r = import_and_report(
        NVTX STEPS WAITS
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, bytes INTEGER,"
        " copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, greenContextId INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, shortName INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);" COUNT
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT i * 50000000 + 25000000, i * 50000000 + 26000000, 0, 7, 2 * i, 602112, 1, 0, 2, NULL FROM c;" COUNT
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i * 50000000 + 27000000, i * 50000000 + 47000000, 0, 7, 2 * i + 1, 3 FROM c;" COUNT
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i * 50000000 + 24000000, i * 50000000 + 24010000, " TID
        ", 2 * i + 1, 4 FROM c;",
        NULL);
    assert_non_null(r->gpu);
    assert_null(r->gpu->not_measured);
    assert_true(fabs(r->gpu->pageable_share - 1) < 1e-9);
    assert_true(fabs(r->gpu->busy_share - 0.4) < 0.02);
    expect_share(r, 0.4);
}

/* Tables as versions of Nsight Systems write them, with their columns in their order: 2022.4 (schema 3.0),
 * 2024.6 (3.16: green contexts, binary data), 2026.2 (3.25: copy counts, other meta data). Ranges of torch
 * have their text inline, those of registered strings by number. */
#define NVTX_LEAD \
    "CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER," \
    " text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL," \
    " uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT"
#define COPY_TAIL \
    " bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER," \
    " srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER"
#define LEAD \
    "(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
#define IDS "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
#define KERNEL_TAIL \
    " demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER"
#define RUNTIME \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER," \
    " correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);"
#define SCHEMA_3_0 \
    STRINGS NVTX_LEAD ");" RUNTIME "CREATE TABLE EXPORT_META_DATA(name TEXT, value TEXT);" \
                      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY" LEAD IDS COPY_TAIL ");" \
                      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL" LEAD IDS KERNEL_TAIL ");" \
                      "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION" LEAD IDS \
                      " syncType INTEGER NOT NULL, eventId INTEGER);"
#define SCHEMA_3_16 \
    STRINGS NVTX_LEAD \
        ", binaryData BLOB);" RUNTIME "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);" \
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY" LEAD "greenContextId INTEGER, " IDS COPY_TAIL ");" \
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL" LEAD "greenContextId INTEGER, " IDS KERNEL_TAIL ");" \
        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION" LEAD "greenContextId INTEGER, " IDS \
        " syncType INTEGER NOT NULL, eventId INTEGER);"
#define SCHEMA_3_25 \
    STRINGS RUNTIME "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);" NVTX_LEAD ", binaryData BLOB);" \
                    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL" LEAD \
                    "greenContextId INTEGER, " IDS KERNEL_TAIL ");" \
                    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY" LEAD "greenContextId INTEGER, " IDS COPY_TAIL \
                    ", copyCount INTEGER);" \
                    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION" LEAD "greenContextId INTEGER, " IDS \
                    " syncType INTEGER NOT NULL, eventId INTEGER);"

/* In each step a pageable copy, a launch, a kernel of 10 ms and a synchronisation that waits for its end; a
 * second process has a copy and a kernel of its own. */
#define PID "(1 << 48) + (11602 << 24)"
#define GPU_ROWS \
    "INSERT INTO StringIds VALUES(3, 'conv'), (4, 'cudaLaunchKernel'), (5, 'cudaStreamSynchronize'), (6, 'cudaMemcpyAsync');" COUNT \
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind)" \
    " SELECT i * 50000000 + 25000000, i * 50000000 + 26000000, 0, 1, 7, 9 * i, " PID \
    ", 602112, 1, 0, 2 FROM c;" COUNT \
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName)" \
    " SELECT i * 50000000 + 27000000, i * 50000000 + 37000000, 0, 1, 7, 9 * i + 1, " PID \
    ", 3, 3 FROM c;" COUNT \
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName)" \
    " SELECT i * 50000000, i * 50000000 + 49000000, 1, 1, 7, 9 * i + 1, (1 << 48) + (99 << 24), 3, 3 FROM c;" COUNT \
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i * 50000000 + 23000000, i * 50000000 + 23010000, 0, " TID \
    ", 9 * i, 6, 0, NULL FROM c;" COUNT \
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i * 50000000 + 24000000, i * 50000000 + 24010000, 0, " TID \
    ", 9 * i + 1, 4, 0, NULL FROM c;" COUNT \
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i * 50000000 + 28000000, i * 50000000 + 37100000, 0, " TID \
    ", 9 * i + 2, 5, 0, NULL FROM c;" COUNT \
    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, deviceId, contextId, streamId, correlationId, globalPid, syncType)" \
    " SELECT i * 50000000 + 28000000, i * 50000000 + 37000000, 0, 1, 7, 9 * i + 2, " PID ", 3 FROM c;"
#define INLINE_RANGES \
    COUNT \
    "INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) SELECT i * 50000000, i * 50000000 + 49990000, 59," \
    " 'ProfilerStep#' || i || ', op_id = ' || i, " TID ", 0 FROM c;" COUNT \
    "INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) SELECT i * 50000000 + 10000, i * 50000000 + 20010000, 59," \
    " 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__, op_id = ' || i, " TID ", 0 FROM c;"
#define REGISTERED_RANGES \
    "INSERT INTO StringIds VALUES(11, 'ProfilerStep#1'), (12, 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__');" COUNT \
    "INSERT INTO NVTX_EVENTS(start, end, eventType, textId, globalTid, domainId) SELECT i * 50000000, i * 50000000 + 49990000, 59, 11, " TID \
    ", 0 FROM c;" COUNT \
    "INSERT INTO NVTX_EVENTS(start, end, eventType, textId, globalTid, domainId) SELECT i * 50000000 + 10000, i * 50000000 + 20010000, 60, 12, " TID \
    ", 0 FROM c;"
#define OTHER_TRAINER \
    COUNT \
    "INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) SELECT i * 50000000, i * 50000000 + 40000000, 59," \
    " 'ProfilerStep#' || i, (1 << 48) + (99 << 24) + 99, 0 FROM c WHERE i < 9;" \
    "INSERT INTO NVTX_EVENTS(start, eventType, text, globalTid, domainId) VALUES(5, 39, 'main', " TID \
    ", 0);"

static void test_every_version_of_the_schema(void **state)
{
    static const struct {
        const char *name, *sql;
    } rows[] = {
        {"3.0, text inline", SCHEMA_3_0 INLINE_RANGES GPU_ROWS OTHER_TRAINER},
        {"3.0, registered strings", SCHEMA_3_0 REGISTERED_RANGES GPU_ROWS OTHER_TRAINER},
        {"3.16, text inline", SCHEMA_3_16 INLINE_RANGES GPU_ROWS OTHER_TRAINER},
        {"3.16, registered strings", SCHEMA_3_16 REGISTERED_RANGES GPU_ROWS OTHER_TRAINER},
        {"3.25, text inline", SCHEMA_3_25 INLINE_RANGES GPU_ROWS OTHER_TRAINER},
        {"3.25, registered strings", SCHEMA_3_25 REGISTERED_RANGES GPU_ROWS OTHER_TRAINER},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_report *r = import_and_report(rows[i].sql, NULL);
        print_message("%s: %s %s\n", rows[i].name, r->verdict.sentence, r->verdict.next_step);
        assert_non_null(r->gpu);
        assert_true(fabs(r->gpu->pageable_share - 1) < 1e-9);
        assert_true(fabs(r->gpu->busy_share - 0.2) < 0.02); /* without the other process's kernels */
        assert_non_null(strstr(r->verdict.next_step, "pin_memory=True"));
        assert_true(store_query("SELECT count(*) FROM gpu WHERE kind = 'kernel' AND name = 'conv'") == 20);
        assert_true(
            store_query("SELECT count(*) FROM gpu WHERE kind = 'sync' AND name = 'stream synchronize'") ==
            20);
        assert_true(store_query("SELECT count FROM loss WHERE what = 'ranks'") == 1);
        assert_true(store_query("SELECT count FROM loss WHERE what = 'gpu'") == 20);
        assert_true(store_query("SELECT count(*) FROM thread WHERE name = 'main' AND pid = 11602") == 1);
        expect_share(r, 0.4);
    }
}

/* A trainer that waits for the GPU in each step, and hardly for data. */
static void test_synchronisation_is_named(void **state)
{
    struct pp_report *r = import_and_report(
        SCHEMA_3_25 COUNT
        "INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) SELECT i * 50000000, i * 50000000 + 49990000, 59,"
        " 'ProfilerStep#' || i, " TID ", 0 FROM c;" COUNT
        "INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) SELECT i * 50000000 + 10000, i * 50000000 + 60000, 59,"
        " 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__', " TID ", 0 FROM c;" GPU_ROWS,
        NULL);
    print_message("%s\n", r->verdict.next_step);
    assert_string_equal(r->verdict.l0, "not-input-bound");
    assert_non_null(strstr(r->verdict.next_step, "synchronising calls per step"));
    assert_non_null(strstr(r->verdict.next_step, "pin_memory=True"));
    pp_report_free(r);
}

/* Known by its domain: the same name in another one is no operator of DALI's. */
static void test_dali_is_known_by_its_domain(void **state)
{
    struct pp_namemap *map = pp_namemap_new();
    assert_int_equal(pp_namemap_add_file(map, "samples/maps/dali.map", NULL), PP_OK);
    assert_int_equal(pp_namemap_add_text(map, "next_batch = data_wait", "own", NULL), PP_OK);
    struct pp_report *r = import_and_report(
        NVTX STEPS COUNT
        "INSERT INTO NVTX_EVENTS SELECT 1010000 + i * 50000000, 21010000 + i * 50000000, 59, 'next_batch', " TID
        ", NULL, 0 FROM c;"
        "INSERT INTO NVTX_EVENTS VALUES(0, NULL, 75, 'DALI', 0, NULL, 3), (0, NULL, 75, 'mine', 0, NULL, 4);" COUNT
        "INSERT INTO NVTX_EVENTS SELECT i * 50000000 + 2000000, i * 50000000 + 9000000, 59, '[DALI][CPU op] decoders__Image', " TID
        " + 1, NULL, 3 FROM c;" COUNT
        "INSERT INTO NVTX_EVENTS SELECT i * 50000000 + 9500000, i * 50000000 + 9900000, 59, '[DALI][CPU op] decoders__Image', " TID
        " + 1, NULL, 4 FROM c;",
        map);
    assert_true(store_query("SELECT count(*) FROM v_span WHERE phase = 'decode'") == 20);
    assert_true(
        store_query(
            "SELECT count(*) FROM meta WHERE section = 'config' AND key = 'loader' AND value = 'nvidia.dali'") ==
        1);
    pp_report_free(r);
    pp_namemap_free(map);
    /* A DataLoader beside it has the waits: they are not DALI's. */
    map = pp_namemap_new();
    assert_int_equal(pp_namemap_add_file(map, "samples/maps/dali.map", NULL), PP_OK);
    r = import_and_report(
        NVTX STEPS WAITS
        "INSERT INTO NVTX_EVENTS VALUES(0, NULL, 75, 'DALI', 0, NULL, 3);" COUNT
        "INSERT INTO NVTX_EVENTS SELECT i * 50000000 + 2000000, i * 50000000 + 9000000, 59, '[DALI][CPU op] decoders__Image', " TID
        " + 1, NULL, 3 FROM c;",
        map);
    assert_true(store_query("SELECT count(*) FROM meta WHERE section = 'config' AND key = 'loader'") == 0);
    pp_report_free(r);
    pp_namemap_free(map);
}

static void test_tables_and_columns_may_be_absent(void **state)
{
    static const struct {
        const char *sql;
        const char *says;
    } rows[] = {
        {"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER);",
         "none of its 0 events is a step"},
        {"CREATE TABLE NVTX_EVENTS(start INTEGER);INSERT INTO NVTX_EVENTS VALUES(1);",
         "none of its 1 events is a step"},
        {NVTX OPERATORS, "none of its 20 events is a step"},
        {"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(5, 9);",
         "nsys profile --pytorch=autograd-nvtx"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_import_result r;
        struct pp_err err = {0};
        make(rows[i].sql);
        assert_int_equal(import_it(NULL, &r, &err), PP_E_EMPTY);
        if (!strstr(err.text, rows[i].says))
            fail_msg("'%s' is not in '%s'", rows[i].says, err.text);
        assert_int_equal(access(store_path, F_OK), -1);
    }
}

static void test_a_file_that_was_made_to_do_harm(void **state)
{
    static const struct {
        const char *sql, *says;
    } rows[] = {
        {"CREATE TABLE t(a); CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i AS start FROM c;",
         "is not an ordinary table"},
        {"CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, domainId INTEGER, globalTid INTEGER, textId INTEGER,"
         " text TEXT AS (printf('%.*c', 1000000, 'x')));INSERT INTO NVTX_EVENTS(start, end, eventType, domainId) VALUES(1, 2, 59, 0);",
         "is a step"}, /* the column counts as absent */
        {"CREATE TABLE NVTX_EVENTS(start, end, eventType, text, globalTid, textId, domainId);"
         "INSERT INTO NVTX_EVENTS VALUES(-9223372036854775808, 9223372036854775807, 59, 'step', -1, -1, -9), ('x', 1e300, 59, x'00ff', 'y', 'z', 1e300);",
         "is a step"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_import_result r;
        struct pp_err err = {0};
        make(rows[i].sql);
        assert_int_not_equal(import_it(NULL, &r, &err), PP_OK);
        if (!strstr(err.text, rows[i].says))
            fail_msg("'%s' is not in '%s'", rows[i].says, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_ranges_of_torch),
        STORE_TEST(test_registered_strings),
        STORE_TEST(test_a_map_names_ranges_of_the_program),
        STORE_TEST(test_what_the_gpu_did),
        STORE_TEST(test_every_version_of_the_schema),
        STORE_TEST(test_synchronisation_is_named),
        STORE_TEST(test_dali_is_known_by_its_domain),
        STORE_TEST(test_tables_and_columns_may_be_absent),
        STORE_TEST(test_a_file_that_was_made_to_do_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
