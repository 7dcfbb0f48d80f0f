/* The roll-ups: however spans come, their sums are those of the rows. */
#include "collectors/store/hist_blob.h"
#include "tests/support/second_hist.h"
#include "tests/support/store_dir.h"

#include "collectors/store/db.h"
#include "collectors/store/reader.h"
#include "collectors/store/store.h"
#include "collectors/store/writer.h"

#include "probe/base/rng.h"

struct second_sum {
    uint64_t n;
    struct pp_hist hist;
    uint64_t long_ones;
    int bad;
};
#define LONG_NS 70000u

static void add_second(void *ctx, const struct pp_second_row *row)
{
    struct second_sum *sum = ctx;
    sum->n += row->n;
    sum->bad += !second_hist(row, &sum->hist);
    sum->long_ones += pp_second_at_least(row, LONG_NS);
}

/* The blob keeps every duration within its bucket: sums of counts and the bucket of a known value. */
static void test_rollup_histogram(void **state)
{
    struct pp_store *s = store_create_with((struct pp_store_opts){0});
    struct pp_err err;
    struct pp_rng rng = pp_rng_key(1, 1, 1, 1);
    struct second_sum *sum = calloc(1, sizeof(*sum));
    int64_t last_id = 0;
    uint64_t in_ms = 0, long_ones = 0, nearly = 0;
    sum->hist.min = UINT64_MAX;
    for (int i = 0; i < 3000; i++) {
        uint64_t dur = pp_rng_next(&rng) >> (20 + pp_rng_next(&rng) % 44);
        struct pp_span span = {.start_ns = 1000000000u,
                               .dur_ns = dur,
                               .phase = PP_PHASE_READ,
                               .batch = PP_NO_BATCH};
        in_ms += dur < 100;
        long_ones += dur >= LONG_NS;
        nearly += dur < LONG_NS && dur >= LONG_NS / 1000 * 992;
        pp_store_append(s, 0, &span, 1);
    }
    pp_store_commit(s, &err);
    struct pp_reader *r;
    assert_int_equal(pp_reader_open(store_path, &r, &err), PP_OK);
    assert_int_equal(pp_reader_each_second_after(r, &last_id, add_second, sum, &err), PP_OK);
    assert_int_equal(sum->n, 3000);
    assert_int_equal(sum->bad, 0);
    assert_int_equal(sum->hist.count, 3000);
    assert_in_range(sum->long_ones, long_ones, long_ones + nearly);
    uint64_t below = 0;
    for (int i = 0; i < 100; i++)
        below += sum->hist.bucket[i]; /* exact below 128 */
    assert_int_equal(below, in_ms);
    struct pp_second_row lie = {.n = 1, .hist = (const uint8_t *)"\xff\xff\xff", .hist_bytes = 3};
    assert_int_equal(second_hist(&lie, &sum->hist), 0);
    assert_int_equal(pp_second_at_least(&lie, 0), 0);
    pp_reader_close(r);
    pp_store_close(s);
    free(sum);
}

/* The bucket of any value has it in its range, and the ranges follow one another. */
static void test_buckets(void **state)
{
    struct pp_rng rng = pp_rng_key(2, 7, 1, 8);
    uint64_t low, high, next;
    for (int i = 0; i < 20000; i++) {
        uint64_t v = i < 256 ? (1ull << i / 4) + (uint64_t)(i % 4) - 1
                             : pp_rng_next(&rng) >> pp_rng_below(&rng, 64);
        pp_hist_blob_range((uint32_t)pp_hist_blob_bucket(v), &low, &high);
        assert_true(low <= v && v <= high);
        assert_true(v < 128 ? low == high : high - low < v / 64);
        pp_hist_blob_range((uint32_t)pp_hist_blob_bucket(v) + 1, &next, &high);
        assert_true(next == high || next > v); /* the last bucket has none after it */
    }
    assert_int_equal(pp_hist_blob_bucket(0), 0);
    assert_int_equal(pp_hist_blob_bucket(UINT64_MAX), PP_HIST_BUCKETS - 1);
}

/* Spans of a thread that hops between batches, seconds (also back), phases and counters, with and without
 * what a lean span leaves out. */
static void make(struct pp_rng *rng, struct pp_span *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t kind = pp_rng_below(rng, 8);
        s[i] = (struct pp_span){
            .start_ns = 50000000000u + pp_rng_below(rng, 4000000000u),
            .dur_ns = pp_rng_below(rng, 1u << pp_rng_below(rng, 31)),
            .batch = pp_rng_below(rng, 5) ? (uint32_t)pp_rng_below(rng, 40) : PP_NO_BATCH,
            .sample = pp_rng_below(rng, 2) ? pp_rng_below(rng, 1000) : PP_NO_SAMPLE,
            .phase = kind == 7 ? PP_PHASE_COUNTER : (uint8_t)(PP_PHASE_READ + kind % 3),
            .flags = PP_SPAN_HAS_CPU | PP_SPAN_HAS_DELAY | PP_SPAN_HAS_CACHE,
            .bytes = pp_rng_below(rng, 2) ? pp_rng_below(rng, 100000) : 0,
            .cache_hit_kib = (uint32_t)pp_rng_below(rng, 100),
            .name = kind == 7,
        };
        s[i].cpu_ns = pp_rng_below(rng, 2) ? s[i].dur_ns / 2 : 0;
        s[i].run_delay_ns = s[i].dur_ns / 4;
        if (s[i].sample != PP_NO_SAMPLE && pp_rng_below(rng, 2))
            s[i].flags |= PP_SPAN_COUNT;
    }
}

/* What a lean span has: times, phase and ids. */
static void make_lean(struct pp_span *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s[i].bytes = s[i].cpu_ns = s[i].run_delay_ns = s[i].cache_hit_kib = s[i].flags = 0;
        s[i].sample = s[i].sample % 1000 ? s[i].sample : PP_NO_SAMPLE;
    }
}

/* Laps of some phases, of few batches, a counter here and there; they pass from one second into the next and
 * may go on where the last ones ended. */
static void make_laps(struct pp_rng *rng, struct pp_span *s, size_t n)
{
    static uint64_t t = 50000000000u;
    uint32_t batch = (uint32_t)pp_rng_below(rng, 4);
    if (pp_rng_below(rng, 2))
        t = 50000000000u + pp_rng_below(rng, 4000000000u);
    for (size_t i = 0; i < n; i++) {
        uint64_t kind = pp_rng_below(rng, 100);
        s[i] = (struct pp_span){.start_ns = t,
                                .dur_ns = pp_rng_below(rng, 1u << pp_rng_below(rng, 25)),
                                .batch = batch,
                                .sample = PP_NO_SAMPLE,
                                .phase = kind ? (uint8_t)(PP_PHASE_READ + kind % 3) : PP_PHASE_COUNTER,
                                .name = kind == 0};
        t += s[i].dur_ns;
        batch += pp_rng_below(rng, 300) == 0;
    }
}

/* Rows of one that the other does not have, both ways. */
static double differences(const char *rows, const char *rollup)
{
    char sql[2048];
    snprintf(
        sql, sizeof(sql),
        "SELECT (SELECT count(*) FROM (SELECT %s EXCEPT SELECT %s)) + (SELECT count(*) FROM (SELECT %s EXCEPT SELECT %s))",
        rows, rollup, rollup, rows);
    return store_query(sql);
}

/* Three threads take turns in pieces of any size, with commits in between: the parts add up to what the rows
 * say, per second and per batch. */
static void test_sums_are_those_of_the_rows(void **state)
{
    static struct pp_span spans[700];
    struct pp_rng rng = pp_rng_key(3, 1, 4, 2);
    struct pp_store *s = store_create_with((struct pp_store_opts){0});
    struct pp_err err;
    for (uint32_t t = 0; t < 3; t++)
        pp_store_thread(s, &(struct pp_store_thread){.id = t, .lane = PP_LANE_WORKER, .name = "w"});
    pp_store_name(s, 1, "c");
    for (int i = 0; i < 200; i++) {
        size_t n = (size_t)pp_rng_below(&rng, i % 5 ? 40 : 700) + 1;
        make(&rng, spans, n);
        if (i / 8 % 3 == 1) /* some chunks are lean, some begin so */
            make_lean(spans, n);
        if (i / 8 % 3 == 2)
            make_laps(&rng, spans, n);
        assert_int_equal(pp_store_append(s, (uint32_t)pp_rng_below(&rng, 3), spans, n), PP_OK);
        if (pp_rng_below(&rng, 6) == 0)
            assert_int_equal(pp_store_commit(s, &err), PP_OK);
    }
    assert_int_equal(pp_store_finish(s, &err), PP_OK);
    pp_store_close(s);
    assert_true(store_query("SELECT sum(n) FROM rollup_second") > 1000);
#define SUMS \
    "count(*), sum(dur_ns), max(dur_ns), coalesce(sum(cpu_ns), 0), coalesce(sum(run_delay_ns), 0), sum(bytes)" /* absent in a row that has none */
#define PARTS "sum(n), sum(total_ns), max(max_ns), sum(cpu_ns), sum(run_delay_ns), sum(bytes)"
    assert_true(
        differences(
            "(start_ns + dur_ns) / 1000000000, thread, phase, " SUMS
            ", coalesce(sum(cache_hit_kib), 0), sum(coalesce(samples, sample IS NOT NULL)) FROM span GROUP BY 1, 2, 3",
            "second, thread, phase, " PARTS
            ", sum(cache_hit_kib), sum(samples) FROM rollup_second GROUP BY 1, 2, 3") == 0);
    assert_true(
        differences(
            "batch, phase, " SUMS
            ", sum(coalesce(samples, sample IS NOT NULL)), min(start_ns), max(start_ns + dur_ns) FROM span WHERE batch IS NOT NULL GROUP BY 1, 2",
            "batch, phase, " PARTS
            ", sum(samples), min(first_start_ns), max(last_end_ns) FROM rollup_batch GROUP BY 1, 2") == 0);
}

/* A file of version 1, as one that is recovered may be, has one row per batch and phase, and keeps it so. */
static void test_version_1(void **state)
{
    struct pp_span span = {.start_ns = 5, .dur_ns = 10, .batch = 3, .phase = PP_PHASE_READ, .sample = 1};
    struct pp_chunk_builder *b = pp_chunk_builder_new();
    sqlite3 *db;
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, pp_schema_tables, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(
            db,
            "PRAGMA user_version=1; DROP TABLE rollup_batch;"
            "CREATE TABLE rollup_batch(batch INTEGER NOT NULL, phase INTEGER NOT NULL, n INTEGER NOT NULL, samples INTEGER NOT NULL,"
            " total_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL, cpu_ns INTEGER NOT NULL, run_delay_ns INTEGER NOT NULL, bytes INTEGER NOT NULL,"
            " first_start_ns INTEGER NOT NULL, last_end_ns INTEGER NOT NULL, PRIMARY KEY(batch, phase)) WITHOUT ROWID",
            NULL, NULL, NULL),
        SQLITE_OK);
    struct pp_rollup *r = pp_rollup_new(db);
    assert_non_null(r);
    for (int i = 0; i < 3; i++) {
        struct pp_chunk_shape shape = {.gaps = 0};
        pp_chunk_look(b, &shape, &span, 0, 1);
        assert_int_equal(pp_rollup_add(r, 0, &span, 1, &shape), SQLITE_OK);
        assert_int_equal(pp_rollup_commit(r), SQLITE_OK);
        span.start_ns += 100;
    }
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT n, total_ns, first_start_ns, last_end_ns FROM rollup_batch",
                                        -1, &st, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_true(sqlite3_column_int(st, 0) == 3 && sqlite3_column_int(st, 1) == 30 &&
                sqlite3_column_int(st, 2) == 5 && sqlite3_column_int(st, 3) == 215);
    assert_int_equal(sqlite3_step(st), SQLITE_DONE);
    sqlite3_finalize(st);
    pp_rollup_free(r);
    pp_chunk_builder_free(b);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_version_1),
        cmocka_unit_test_setup_teardown(test_rollup_histogram, store_setup, store_teardown_only_the_run),
        cmocka_unit_test_setup_teardown(test_sums_are_those_of_the_rows, store_setup,
                                        store_teardown_only_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
