/* The one lifecycle of a recording, for each kind of recorder: what is in the file, and what is left beside
 * it. */
#include "tests/support/store_dir.h"

#include "collectors/record/recording.h"

#include "probe/base/clock.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct pp_recording *create_recording(struct pp_recording_opts opts)
{
    struct pp_recording *r = NULL;
    struct pp_err err;
    opts.store.path = store_path;
    if (pp_recording_create(&opts, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    return r;
}

static void assert_text(const char *sql, const char *want)
{
    sqlite3 *db;
    sqlite3_stmt *st = store_first_row(&db, SQLITE_OPEN_READONLY, sql);
    assert_string_equal((const char *)sqlite3_column_text(st, 0), want);
    sqlite3_finalize(st);
    sqlite3_close(db);
}

#define RUN_KEYS \
    "SELECT group_concat(key, ' ') FROM (SELECT key FROM meta WHERE section = 'run' ORDER BY rowid)"

static void put_span(struct pp_session *session)
{
    struct pp_thread *t = pp_thread_register(session, PP_LANE_MAIN, "main");
    pp_span_put(t, &(struct pp_span){.start_ns = pp_now_ns(), .dur_ns = 1000, .phase = PP_PHASE_READ});
    pp_thread_retire(t);
}

static void test_own_rings(void **state)
{
    struct pp_err err;
    struct pp_recording *r = create_recording((struct pp_recording_opts){.ring_spans = 1024, .tool = "test"});
    pp_store_meta_text(pp_recording_store(r), "config", "source", "test");
    assert_string_equal(pp_recording_rings_dir(r), store_rings);
    assert_int_equal(pp_recording_start(r, "test --now", &err), PP_OK);
    put_span(pp_recording_session(r));
    const struct pp_drain_stats *stats = pp_recording_stop(r);
    assert_int_equal(stats->spans, 1);
    assert_ptr_equal(pp_recording_stop(r), stats);
    assert_int_equal(stats->spans, 1);
    pp_store_meta_num(pp_recording_store(r), "result", "exit_status", 0, NULL);
    assert_int_equal(pp_recording_finish(r, "finished", 0, &err), PP_OK);
    assert_int_equal(pp_recording_lost(r), 0);
    pp_recording_free(r);
    assert_text(
        RUN_KEYS,
        "journal_mode tool version command_line started_mono_ns started_utc_ns session_id ended_mono_ns"
        " outcome spans span_rows");
    assert_text("SELECT value FROM meta WHERE key = 'outcome'", "finished");
    assert_true(store_query("SELECT count(*) FROM meta WHERE section = 'environment'") > 5);
    assert_true(store_query("SELECT count(*) FROM span") == 1);
    store_assert_integrity();
}

/* Spans that come from another machine's trace: its times, and nothing that is told of this one. */
static void test_no_rings(void **state)
{
    struct pp_err err;
    struct pp_recording *r = create_recording(
        (struct pp_recording_opts){.rings = PP_RINGS_NONE,
                                   .tool = "importer",
                                   .started_ns = 5000,
                                   .started_utc_ns = 1700000000000000000u});
    struct pp_store *s = pp_recording_store(r);
    assert_null(pp_recording_session(r));
    assert_int_equal(pp_recording_start(r, NULL, &err), PP_OK);
    pp_store_thread(s,
                    &(struct pp_store_thread){.lane = PP_LANE_WORKER, .name = "worker", .pid = 7, .tid = 8});
    struct pp_span span = {.start_ns = 6000, .dur_ns = 10, .phase = PP_PHASE_READ, .batch = 3};
    assert_int_equal(pp_store_append(s, 0, &span, 1), PP_OK);
    assert_int_equal(pp_recording_finish(r, "finished", 9000, &err), PP_OK);
    pp_recording_free(r);
    assert_true(store_query("SELECT value FROM meta WHERE key = 'started_mono_ns'") == 5000);
    assert_true(store_query("SELECT value FROM meta WHERE key = 'started_utc_ns'") == 1.7e18);
    assert_true(store_query("SELECT value FROM meta WHERE key = 'ended_mono_ns'") == 9000);
    assert_true(store_query("SELECT count(*) FROM meta WHERE section = 'environment'") == 0);
    assert_true(store_query("SELECT count(*) FROM meta WHERE key IN ('session_id', 'command_line')") == 0);
    assert_true(store_query("SELECT count(*) FROM span") == 1);
    store_assert_integrity();
}

static void test_abandoned(void **state)
{
    struct pp_err err;
    struct pp_recording *r = create_recording((struct pp_recording_opts){.tool = "test"});
    assert_int_equal(access(store_rings, F_OK), 0);
    pp_recording_abandon(r);
    assert_int_not_equal(access(store_path, F_OK), 0);
    r = create_recording((struct pp_recording_opts){.tool = "test"});
    assert_int_equal(pp_recording_start(r, NULL, &err), PP_OK);
    put_span(pp_recording_session(r));
    pp_recording_abandon(r); /* the drain has its thread still */
    pp_recording_abandon(NULL);
    pp_recording_free(NULL);
}

/* A refusal leaves what was there, and nothing else. */
static void test_refused(void **state)
{
    struct pp_err err;
    struct pp_recording *r = (struct pp_recording *)&err;
    struct pp_recording_opts opts = {.store.path = store_path, .tool = "test"};
    int fd = open(store_path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1); /* an empty one holds nothing, and is replaced */
    close(fd);
    assert_int_equal(pp_recording_create(&opts, &r, &err), PP_E_EXISTS);
    assert_null(r);
    assert_int_equal(access(store_path, F_OK), 0);
    assert_int_not_equal(access(store_rings, F_OK), 0);
    unlink(store_path);
    fd = open(store_rings, O_CREAT | O_WRONLY, 0600); /* no directory: no session can be made */
    assert_true(fd >= 0);
    close(fd);
    assert_int_not_equal(pp_recording_create(&opts, &r, &err), PP_OK);
    assert_null(r);
    assert_int_not_equal(access(store_path, F_OK), 0);
    unlink(store_rings);
    static char long_name[5000];
    memset(long_name, 'x', sizeof(long_name) - 1);
    opts.store.path = long_name;
    assert_int_equal(pp_recording_create(&opts, &r, &err), PP_E_USAGE);
}

static void test_file_taken_away(void **state)
{
    struct pp_err err;
    struct pp_recording *r = create_recording((struct pp_recording_opts){.tool = "test"});
    assert_int_equal(pp_recording_start(r, NULL, &err), PP_OK);
    unlink(store_path);
    put_span(pp_recording_session(r));
    assert_int_equal(pp_recording_finish(r, "finished", 0, &err), PP_E_IO);
    assert_non_null(strstr(err.text, "was deleted, moved or replaced"));
    assert_int_equal(pp_recording_lost(r), 1);
    pp_recording_free(r);
}

#define LEAVES_ONLY_THE_RUN(f) cmocka_unit_test_setup_teardown(f, store_setup, store_teardown_only_the_run)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LEAVES_ONLY_THE_RUN(test_own_rings),       LEAVES_ONLY_THE_RUN(test_no_rings),
        LEAVES_ONLY_THE_RUN(test_abandoned),       LEAVES_ONLY_THE_RUN(test_refused),
        LEAVES_ONLY_THE_RUN(test_file_taken_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
