/* The file: what is written is read, live and finished, whole and in parts. */
#include "tests/support/store_spans.h"

#include <math.h>

static void collect_error(void *ctx, const struct pp_error_row *e)
{
    *(struct pp_error_row *)ctx = *e;
    assert_string_equal(e->path, "a/b.jpg");
    assert_string_equal(e->kind, "corrupt");
    assert_string_equal(e->action, "skipped");
    assert_string_equal(e->reason, "premature end");
}

static void collect_queue(void *ctx, const struct pp_queue_row *q)
{
    ++*(int *)ctx;
    assert_string_equal(q->name, "ready");
    assert_int_equal(q->capacity, 4);
    assert_int_equal(q->get_wait_ns, 22);
    assert_true(q->share_empty == 0.25);
}

static void collect_counter(void *ctx, uint64_t t_ns, const char *name, double value)
{
    ++*(int *)ctx;
    assert_int_equal(t_ns, 5);
    assert_string_equal(name, "rss_bytes");
    assert_true(value == 1e9);
}

static void collect_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    *(uint64_t *)ctx += count;
    assert_string_equal(what, "spans");
    assert_string_equal(why, "ring full");
}

static void collect_meta(void *ctx, const char *key, const char *value, const char *unit, int numeric)
{
    static const char *const want[][3] = {{"workers", "2", ""},
                                          {"link", "2.5", "GB/s"},
                                          {"dataset", "x", ""}};
    int i = (*(int *)ctx)++;
    assert_string_equal(key, want[i][0]);
    assert_string_equal(value, want[i][1]);
    assert_string_equal(unit ? unit : "", want[i][2]);
    assert_int_equal(numeric, i < 2);
}

static void test_everything_comes_back(void **state)
{
    struct pp_store *s = store_create(0);
    struct pp_err err;
    struct pp_error_row e = {0};
    const struct pp_thread_row *threads;
    int queues = 0, counters = 0, metas = 0;
    uint64_t lost = 0;
    double v = -1;
    pp_store_thread(
        s, &(struct pp_store_thread){.id = 0, .lane = PP_LANE_WORKER, .name = "w0", .pid = 1, .tid = 2});
    pp_store_thread(s, &(struct pp_store_thread){.id = 0,
                                                 .lane = PP_LANE_WORKER,
                                                 .name = "w0",
                                                 .pid = 1,
                                                 .tid = 2,
                                                 .recorded = 10000,
                                                 .dropped = 3});
    pp_store_name(s, 3, "custom");
    spans_append(s, 0, 10000);
    assert_int_equal(pp_store_meta_num(s, "config", "workers", 1, NULL), PP_OK);
    pp_store_meta_num(s, "config", "link", 2.5, "GB/s");
    pp_store_meta_text(s, "config", "dataset", "x");
    pp_store_meta_num(s, "config", "workers", 2, NULL);
    pp_store_error(s, &(struct pp_store_error){.t_ns = 9,
                                               .thread = 0,
                                               .batch = PP_NO_BATCH,
                                               .sample = 77,
                                               .path = "a/b.jpg",
                                               .kind = "corrupt",
                                               .action = "skipped",
                                               .reason = "premature end"});
    pp_store_queue(
        s, &(struct pp_store_queue){.name = "ready", .capacity = 4, .get_wait_ns = 22, .share_empty = 0.25});
    pp_store_counter(s, 5, "rss_bytes", 1e9);
    pp_store_counter(s, 6, "unknown", 0.0 / 0.0);
    pp_store_loss(s, "spans", 3, "ring full");
    assert_int_equal(pp_store_finish(s, &err), PP_OK);
    assert_int_equal(pp_store_append(s, 0, NULL, 0), PP_E_USAGE);
    pp_store_close(s);

    struct pp_reader *r = store_open_reader();
    uint64_t bad = 99;
    assert_int_equal(spans_count(r, &bad), 10000);
    assert_int_equal(bad, 0);
    assert_int_equal(pp_reader_threads(r, &threads), 1);
    assert_int_equal(threads[0].lane, PP_LANE_WORKER);
    assert_string_equal(threads[0].name, "w0");
    assert_int_equal(threads[0].recorded, 10000);
    assert_int_equal(threads[0].dropped, 3);
    assert_string_equal(pp_reader_name(r, 3), "custom");
    assert_null(pp_reader_name(r, 4));
    assert_string_equal(pp_reader_meta(r, "config", "dataset"), "x");
    assert_null(pp_reader_meta(r, "config", "absent"));
    assert_int_equal(pp_reader_meta_num(r, "config", "workers", &v), 1);
    assert_true(v == 2);
    assert_int_equal(pp_reader_meta_num(r, "config", "dataset", &v), 0);
    assert_true(v == 2);
    assert_int_equal(pp_reader_each_meta(r, "config", collect_meta, &metas, &err), PP_OK);
    assert_int_equal(metas, 3);
    assert_int_equal(pp_reader_each_error(r, NULL, collect_error, &e, &err), PP_OK);
    assert_int_equal(e.sample, 77);
    assert_int_equal(e.batch, PP_NO_BATCH);
    assert_int_equal(e.count, 1);
    assert_int_equal(pp_reader_each_queue(r, collect_queue, &queues, &err), PP_OK);
    assert_int_equal(pp_reader_each_counter(r, NULL, collect_counter, &counters, &err), PP_OK);
    assert_int_equal(pp_reader_each_loss(r, collect_loss, &lost, &err), PP_OK);
    assert_int_equal(queues, 1);
    assert_int_equal(counters, 1);
    assert_int_equal(lost, 3);
    pp_reader_close(r);
}

/* One ordinary file a person can ask: rows, views and roll-ups agree with each other. */
static void test_plain_sql(void **state)
{
    struct pp_store *s = store_create(0);
    struct pp_err err;
    char wal[128];
    pp_store_thread(s, &(struct pp_store_thread){.id = 0, .lane = PP_LANE_WORKER, .name = "w0"});
    spans_append(s, 0, 5000);
    pp_store_commit(s, &err);
    spans_append(s, 5000, 5000);
    assert_int_equal(pp_store_finish(s, &err), PP_OK);
    pp_store_close(s);
    snprintf(wal, sizeof(wal), "%s-wal", store_path);
    assert_int_not_equal(access(wal, F_OK), 0);
    store_assert_integrity();
    assert_true(store_query("SELECT count(*) FROM span") == 10000);
    assert_true(
        store_query("SELECT count(*) FROM span WHERE batch = 3 AND sample BETWEEN 12 AND 15 AND epoch = 1") ==
        16);
    assert_true(
        store_query(
            "SELECT count(*) FROM v_span WHERE phase = 'decode' AND thread = 'w0' AND lane = 'worker'") ==
        2500);
    assert_true(store_query("SELECT sum(n) FROM rollup_second") == 10000);
    assert_true(store_query("SELECT sum(n) FROM rollup_second WHERE second = 105") == 1000);
    assert_true(store_query("SELECT count FROM v_phase_summary WHERE phase = 'read'") == 2500);
    assert_true(store_query("SELECT abs(cpu_s - 1.5) < 1e-9 FROM v_phase_summary WHERE phase = 'read'") == 1);
    assert_true(store_query("SELECT sum(n) FROM rollup_batch WHERE batch = 312 AND phase = 3") ==
                4); /* 5000 lies within batch 312 */
    assert_true(store_query("SELECT count(*) FROM v_batch") == 625);
    assert_true(store_query("SELECT step_ms FROM v_batch WHERE batch = 312") == 4);
    assert_true(store_query("SELECT count(*) FROM v_worker") == 4);
    assert_true(store_query("SELECT count(*) FROM v_second") > 10);
    assert_true(store_query("SELECT count(*) FROM v_stall") == 0);
    assert_true(store_query("SELECT count(*) FROM v_error") == 0);
    assert_true(store_query("SELECT count(*) FROM v_error_file") == 0);
    assert_true(store_query("SELECT count(*) FROM phase") == PP_PHASE_COUNT - 1);
    assert_true(store_query("SELECT value FROM meta WHERE section = 'run' AND key = 'span_rows'") == 10000);
}

static void collect_proof(void *ctx, const struct pp_proof_row *p)
{
    int *n = ctx;
    if (++*n == 1) {
        assert_string_equal(p->kind, "fix");
        assert_string_equal(p->change, "workers");
        assert_string_equal(p->value, "8");
        assert_true(p->base == 100 && p->predicted == 190 && p->predicted_low == 180 &&
                    p->predicted_high == 200 && p->measured == 195);
        assert_true(isnan(p->measured_low) && isnan(p->measured_high) && isnan(p->ballast_cpus));
        assert_int_equal(p->rounds, 1);
        assert_null(p->recording);
    } else {
        assert_string_equal(p->value, "");
        assert_true(isnan(p->predicted_low) && p->measured_low == 180 && p->measured_high == 205 &&
                    p->ballast_cpus == 1.5);
        assert_int_equal(p->rounds, 3);
        assert_string_equal(p->recording, "x.sqlite");
    }
}

static int count_proofs(void)
{
    struct pp_err err;
    int n = 0;
    struct pp_reader *r = store_open_reader();
    assert_int_equal(pp_reader_each_proof(r, collect_proof, &n, &err), PP_OK);
    pp_reader_close(r);
    return n;
}

/* A proof is written into a finished file, replaces an earlier one, and a file from before there were proofs
 * has none. */
static void test_proof(void **state)
{
    const struct pp_proof_row rows[] = {
        {.kind = "fix",
         .change = "workers",
         .value = "8",
         .base = 100,
         .predicted = 190,
         .predicted_low = 180,
         .predicted_high = 200,
         .measured = 195,
         .measured_low = NAN,
         .measured_high = NAN,
         .rounds = 1,
         .ballast_cpus = NAN},
        {.kind = "headroom",
         .change = "free-input",
         .value = "",
         .base = 100,
         .predicted = 210,
         .predicted_low = NAN,
         .predicted_high = NAN,
         .measured = 201,
         .measured_low = 180,
         .measured_high = 205,
         .rounds = 3,
         .ballast_cpus = 1.5,
         .recording = "x.sqlite"},
    };
    struct pp_store *s = store_create(0);
    struct pp_err err = {0};
    sqlite3 *db;
    spans_append(s, 0, 100);
    assert_int_equal(pp_store_finish(s, &err), PP_OK);
    pp_store_close(s);
    assert_int_equal(count_proofs(), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pp_proof_write(store_path, rows, 2, &err), PP_OK);
    assert_int_equal(count_proofs(), 2);
    assert_true(
        store_query(
            "SELECT predicted_samples_per_s / measured_samples_per_s FROM proof WHERE kind = 'fix'") ==
        190.0 / 195);

    assert_int_equal(sqlite3_open_v2(store_path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DROP TABLE proof", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(count_proofs(), 0);
    assert_int_equal(pp_proof_write(store_path, rows, 1, &err), PP_OK);
    assert_int_equal(count_proofs(), 1);
    store_assert_integrity();

    unlink(store_path);
    assert_int_not_equal(pp_proof_write(store_path, rows, 1, &err), PP_OK);
    assert_non_null(strstr(err.text, store_path));
}

static void test_rows_are_sampled_by_batch(void **state)
{
    struct pp_store *s = store_create(2000);
    struct pp_err err;
    spans_append(s, 0, 10000);
    assert_int_equal(pp_store_finish(s, &err), PP_OK);
    pp_store_close(s);
    double rows = store_query("SELECT count(*) FROM span");
    assert_true(rows > 1200 && rows < 2800);
    assert_true(
        store_query(
            "SELECT count(*) FROM (SELECT batch, count(*) c FROM span GROUP BY batch) WHERE c NOT IN (16)") ==
        0);
    assert_true(store_query("SELECT count FROM loss WHERE what = 'span_rows'") == 10000 - rows);
    struct pp_reader *r = store_open_reader();
    assert_int_equal(spans_count(r, NULL), 10000);
    pp_reader_close(r);
}

static void test_counters_in_spans(void **state)
{
    struct pp_store *s = store_create(0);
    struct pp_err err;
    struct pp_span c = {.start_ns = 5,
                        .bytes = 17,
                        .name = 2,
                        .phase = PP_PHASE_COUNTER,
                        .batch = PP_NO_BATCH,
                        .sample = PP_NO_SAMPLE};
    pp_store_name(s, 2, "depth");
    pp_store_append(s, 0, &c, 1);
    pp_store_counter(s, 6, "rss_bytes", 3);
    assert_int_equal(pp_store_finish(s, &err), PP_OK);
    pp_store_close(s);
    assert_true(store_query("SELECT value FROM counter WHERE name = 'depth' AND t_ns = 5") == 17);
    assert_true(store_query("SELECT count(*) FROM counter") == 2);
    assert_true(store_query("SELECT count(*) FROM span") == 0);
}

static void add_part(void *ctx, const struct pp_second_row *row)
{
    *(uint64_t *)ctx += row->n;
}

static void test_live_reading(void **state)
{
    struct pp_store *s = store_create(0);
    struct pp_err err;
    int64_t last = 0;
    uint64_t n = 0;
    spans_append(s, 0, 100);
    pp_store_commit(s, &err);
    struct pp_reader *r = store_open_reader();
    assert_int_equal(spans_count(r, NULL), 100);
    spans_append(s, 100, 5000);
    assert_int_equal(spans_count(r, NULL), 100); /* cut but not committed is not there */
    pp_store_commit(s, &err);
    assert_int_equal(spans_count(r, NULL), 5100);
    assert_int_equal(pp_reader_each_second_after(r, &last, add_part, &n, &err), PP_OK);
    assert_int_equal(n, 5100);
    spans_append(s, 5100, 10);
    pp_store_commit(s, &err);
    assert_int_equal(pp_reader_each_second_after(r, &last, add_part, &n, &err), PP_OK);
    assert_int_equal(n, 5110);                         /* each part is read once */
    assert_int_equal(pp_store_finish(s, &err), PP_OK); /* with the reader still at it */
    assert_int_equal(spans_count(r, NULL), 5110);
    pp_reader_close(r);
    pp_store_close(s);
    store_assert_integrity();
}

struct part {
    uint64_t chunks, spans, first_ns, last_ns, times, samples;
};

static int see_part(void *ctx, uint32_t thread, const struct pp_span *spans, size_t n)
{
    struct part *p = ctx;
    p->chunks++;
    p->spans += n;
    for (size_t i = 0; i < n; i++) {
        p->first_ns = p->first_ns ? p->first_ns : spans[i].start_ns;
        p->times += spans[i].start_ns > p->last_ns && spans[i].dur_ns == 1000000; /* in order */
        p->samples += spans[i].sample != 0;
        p->last_ns = spans[i].start_ns;
    }
    return 0;
}

/* A part of the time, and of the columns. */
static void test_reading_a_part(void **state)
{
    enum { PIECES = 20, EACH = 100 };
    const uint64_t begin = 100000000000u, ms = 1000000;
    struct pp_store *s = store_create(0);
    struct pp_err err;
    struct part all = {0}, some = {0}, none = {0};
    for (uint64_t i = 0; i < PIECES; i++) {
        spans_append(s, i * EACH, EACH);
        assert_int_equal(pp_store_commit(s, &err), PP_OK);
    }
    struct pp_reader *r = store_open_reader();
    assert_int_equal(pp_reader_each_chunk_of(r, NULL, see_part, &all, NULL, &err), PP_OK);
    assert_int_equal(all.spans, PIECES * EACH);
    assert_int_equal(all.times, PIECES * EACH);
    assert_int_equal(all.samples, PIECES * EACH - 4);
    /* the 5th to the 7th chunk */
    const struct pp_wanted wanted = {.columns = PP_COLUMN_START,
                                     .from_ns = begin + 450 * ms,
                                     .to_ns = begin + 650 * ms};
    uint64_t bad = 1;
    assert_int_equal(pp_reader_each_chunk_of(r, &wanted, see_part, &some, &bad, &err), PP_OK);
    assert_int_equal(bad, 0);
    assert_int_equal(all.chunks, PIECES);
    assert_int_equal(some.chunks, 3);
    assert_int_equal(some.spans, 3 * EACH);
    assert_int_equal(some.times, 3 * EACH); /* with the durations that starts are told from */
    assert_int_equal(some.first_ns, begin + 400 * ms);
    assert_int_equal(some.last_ns, begin + 699 * ms);
    assert_int_equal(some.samples, 0);
    assert_int_equal(
        pp_reader_each_chunk_of(r, &(struct pp_wanted){.from_ns = begin + 2000 * ms + 1, .to_ns = UINT64_MAX},
                                see_part, &none, NULL, &err),
        PP_OK);
    assert_int_equal(none.chunks, 0);
    pp_reader_close(r);
    pp_store_close(s);
}

static void test_close_without_finish(void **state)
{
    struct pp_store *s = store_create(0);
    spans_append(s, 0, 777);
    pp_store_close(s);
    struct pp_reader *r = store_open_reader();
    assert_int_equal(spans_count(r, NULL), 777);
    pp_reader_close(r);
    assert_true(store_query("SELECT count(*) FROM span") == 0);
}

static void test_errors_beyond_the_limit(void **state)
{
    struct pp_store *s = store_create(0);
    struct pp_err err;
    for (int i = 0; i < 100050; i++)
        pp_store_error(s, &(struct pp_store_error){.thread = 1,
                                                   .sample = (uint64_t)i,
                                                   .path = "p",
                                                   .kind = i & 1 ? "io" : "corrupt",
                                                   .action = "skipped",
                                                   .reason = "r"});
    assert_int_equal(pp_store_commit(s, &err), PP_OK);
    pp_store_close(s);
    assert_true(store_query("SELECT sum(count) FROM error") == 100050);
    assert_true(store_query("SELECT count(*) FROM error") == 100002);
    assert_true(store_query("SELECT sum(count) FROM error WHERE kind = 'io'") == 50025);
}

/* The example of a kind is one row: its path with its own reason. A file is listed once, with its visits. */
static void test_error_views_pair_path_and_reason(void **state)
{
    static const struct pp_store_error rows[] = {
        {.path = "z/garbage.jpg",
         .kind = "unsupported",
         .action = "skipped",
         .reason = "starts with 0xf9 0xbd"},
        {.path = "a/really.jpg",
         .kind = "unsupported",
         .action = "skipped",
         .reason = "looks like a WebP image"},
        {.path = "z/garbage.jpg",
         .kind = "unsupported",
         .action = "skipped",
         .reason = "starts with 0xf9 0xbd"},
        {.path = "b.jpg", .kind = "empty", .action = "skipped", .reason = "has 0 bytes"},
    };
    struct pp_store *s = store_create(0);
    struct pp_err err;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        pp_store_error(s, &rows[i]);
    assert_int_equal(pp_store_finish(s, &err), PP_OK);
    pp_store_close(s);
    assert_true(store_query("SELECT count(*) FROM v_error") == 2);
    assert_true(
        store_query("SELECT count = 3 AND files = 2 AND example_path = 'z/garbage.jpg' AND example_reason = "
                    "'starts with 0xf9 0xbd' FROM v_error WHERE kind = 'unsupported'") == 1);
    assert_true(store_query("SELECT count(*) FROM v_error_file") == 3);
    assert_true(store_query("SELECT visits = 2 AND reason LIKE 'starts%' FROM v_error_file WHERE path = "
                            "'z/garbage.jpg'") == 1);
}

static void note_look(void *ctx, const struct pp_open_phase_row *row)
{
    uint64_t *seen = ctx; /* rows, oldest, newest */
    seen[1] = seen[0]++ ? seen[1] : row->t_ns;
    seen[2] = row->t_ns;
}

/* Of the looks at what is open the newest stay, and the file does not grow for ever. */
static void test_open_phases_are_bounded(void **state)
{
    enum { LOOKS = 300000, MOST = 262144 };
    struct pp_store *s;
    struct pp_reader *r;
    uint64_t seen[3] = {0};
    assert_int_equal(pp_store_create(&(struct pp_store_opts){.path = store_path}, &s, NULL), PP_OK);
    for (uint64_t i = 1; i <= LOOKS; i++)
        assert_int_equal(pp_store_open_phase(s, &(struct pp_store_open_phase){.t_ns = i,
                                                                              .thread = 3,
                                                                              .phase = PP_PHASE_READ,
                                                                              .sample = i,
                                                                              .batch = PP_NO_BATCH}),
                         PP_OK);
    assert_int_equal(pp_store_commit(s, NULL), PP_OK);
    assert_int_equal(pp_reader_open(store_path, &r, NULL), PP_OK);
    assert_int_equal(pp_reader_each_open_phase(r, 0, UINT64_MAX, note_look, seen, NULL), PP_OK);
    assert_in_range(seen[0], MOST - 4096, MOST);
    assert_int_equal(seen[2], LOOKS);
    assert_int_equal(seen[1], LOOKS - seen[0] + 1);
    memset(seen, 0, sizeof(seen));
    assert_int_equal(pp_reader_each_open_phase(r, LOOKS - 9, LOOKS - 5, note_look, seen, NULL), PP_OK);
    assert_int_equal(seen[0], 5);
    pp_reader_close(r);
    pp_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_everything_comes_back),
        STORE_TEST(test_plain_sql),
        STORE_TEST(test_proof),
        STORE_TEST(test_rows_are_sampled_by_batch),
        STORE_TEST(test_counters_in_spans),
        STORE_TEST(test_live_reading),
        STORE_TEST(test_reading_a_part),
        STORE_TEST(test_close_without_finish),
        STORE_TEST(test_errors_beyond_the_limit),
        STORE_TEST(test_error_views_pair_path_and_reason),
        STORE_TEST(test_open_phases_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
