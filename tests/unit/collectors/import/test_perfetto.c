/* What `pipeprobe export --to perfetto` writes, as a recording again: spans with all that is noted of them,
 * on their threads, at their times; what is not ours, ends early, never ended or goes back in time. The way
 * there and back of whole recordings: tests/e2e/foreign_traces_are_judged.sh. */
#include "collectors/import/import.h"

#include "probe/base/proto.h"
#include "report/build/build.h"
#include "tests/support/made_trace.h"
#include "tests/support/store_dir.h"

#include <math.h>

enum { STEPS = 20, STEP_NS = 50000000, WAIT_NS = 20000000 };
#define ORIGIN_NS UINT64_C(7000000000)
#define UTC_NS UINT64_C(1790000000000000000)
enum { TRAINER = 100, WORKER, BESIDE };
enum { DATA_WAIT = 1, STEP, DECODE, OWN_RANGE };
enum { WORK = 1, WAIT, OTHER };
enum { BATCH = 1, SAMPLES, BYTES, CPU, DELAY, CACHE, WARMUP };
static char trace_path[128];

/* ---- the messages ---- */

static void put_entry(struct pp_proto *p, unsigned kind, uint64_t iid, const char *text)
{
    size_t entry = pp_proto_begin(p, kind);
    pp_proto_uint(p, 1, iid);
    pp_proto_str(p, 2, text);
    pp_proto_end(p, entry);
}

static void put_names(struct pp_proto *p)
{
    static const char *const names[] = {"data_wait", "step", "decode", "augment"},
                             *const categories[] = {"work", "wait", "request"},
                             *const notes[] = {"batch",        "samples",       "bytes", "cpu_ns",
                                               "run_delay_ns", "cache_hit_kib", "warmup"};
    size_t packet = pp_proto_begin(p, 1), data = pp_proto_begin(p, 12);
    for (unsigned i = 0; i < 3; i++)
        put_entry(p, 1, i + 1, categories[i]);
    for (unsigned i = 0; i < 4; i++)
        put_entry(p, 2, i + 1, names[i]);
    for (unsigned i = 0; i < 7; i++)
        put_entry(p, 3, i + 1, notes[i]);
    pp_proto_end(p, data);
    pp_proto_end(p, packet);
}

static void put_clock(struct pp_proto *p, unsigned id, uint64_t ns)
{
    size_t clock = pp_proto_begin(p, 1);
    pp_proto_uint(p, 1, id);
    pp_proto_uint(p, 2, ns);
    pp_proto_end(p, clock);
}

static void put_clocks(struct pp_proto *p)
{
    size_t packet = pp_proto_begin(p, 1), snapshot = pp_proto_begin(p, 6);
    put_clock(p, 3, ORIGIN_NS);
    put_clock(p, 1, UTC_NS);
    pp_proto_end(p, snapshot);
    pp_proto_end(p, packet);
}

/* A thread's track, or with name NULL one beside it. */
static void put_track(struct pp_proto *p, uint64_t uuid, uint64_t parent, const char *name)
{
    size_t packet = pp_proto_begin(p, 1), track = pp_proto_begin(p, 60);
    pp_proto_uint(p, 1, uuid);
    pp_proto_uint(p, 5, parent);
    if (name) {
        size_t thread = pp_proto_begin(p, 4);
        pp_proto_int(p, 1, 4000);
        pp_proto_int(p, 2, (int64_t)uuid);
        pp_proto_str(p, 5, name);
        pp_proto_end(p, thread);
    }
    pp_proto_end(p, track);
    pp_proto_end(p, packet);
}

struct slice {
    uint64_t track, start_ns, dur_ns, batch;
    unsigned name, category;
    int warmup;
};

static size_t begin_event(struct pp_proto *p, uint64_t t_ns, unsigned type, uint64_t track, size_t *packet)
{
    *packet = pp_proto_begin(p, 1);
    pp_proto_uint(p, 8, ORIGIN_NS + t_ns);
    size_t event = pp_proto_begin(p, 11);
    pp_proto_uint(p, 9, type);
    pp_proto_uint(p, 11, track);
    return event;
}

static void put_note(struct pp_proto *p, unsigned iid, uint64_t value)
{
    size_t note = pp_proto_begin(p, 4);
    pp_proto_uint(p, 1, iid);
    pp_proto_uint(p, 3, value);
    pp_proto_end(p, note);
}

static void put_begin(struct pp_proto *p, const struct slice *s)
{
    size_t packet, event = begin_event(p, s->start_ns, 1, s->track, &packet);
    pp_proto_uint(p, 10, s->name);
    pp_proto_uint(p, 3, s->category);
    put_note(p, BATCH, s->batch);
    put_note(p, SAMPLES, 8);
    put_note(p, BYTES, 4096);
    put_note(p, CPU, 1000);
    put_note(p, DELAY, 200);
    put_note(p, CACHE, 3);
    if (s->warmup)
        put_note(p, WARMUP, 1);
    pp_proto_end(p, event);
    pp_proto_end(p, packet);
}

static void put_end(struct pp_proto *p, uint64_t t_ns, uint64_t track)
{
    size_t packet, event = begin_event(p, t_ns, 2, track, &packet);
    pp_proto_end(p, event);
    pp_proto_end(p, packet);
}

static void put_slice(struct pp_proto *p, struct slice s)
{
    put_begin(p, &s);
    put_end(p, s.start_ns + s.dur_ns, s.track);
}

static void put_head(struct pp_proto *p)
{
    *p = (struct pp_proto){0};
    put_clocks(p);
    put_names(p);
    put_track(p, TRAINER, 0, "trainer");
    put_track(p, WORKER, 0, "worker 0");
    put_track(p, BESIDE, WORKER, NULL);
}

static void put_steps(struct pp_proto *p)
{
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = i * STEP_NS;
        put_slice(p, (struct slice){TRAINER, at, WAIT_NS, i, DATA_WAIT, WAIT, i == 0});
        put_slice(p, (struct slice){TRAINER, at + WAIT_NS, STEP_NS - WAIT_NS, i, STEP, WORK, i == 0});
        put_slice(p, (struct slice){WORKER, at, WAIT_NS, i, DECODE, WORK, 0});
        put_slice(p, (struct slice){BESIDE, at + 5, WAIT_NS, i, OWN_RANGE, WORK, 0});
        put_slice(p, (struct slice){WORKER, at, WAIT_NS, i, DECODE, OTHER, 0}); /* a request, say */
    }
}

static pp_status import_bytes(const struct pp_proto *p, size_t n, struct pp_import_result *r,
                              struct pp_err *err)
{
    struct pp_import_opts o = {.output = store_path, .force = 1, .rank = -1, .world_size = -1};
    assert_false(p->failed);
    snprintf(trace_path, sizeof(trace_path), "%s/x.pftrace", store_dir);
    made_trace_put(trace_path, (const char *)p->buf, n, 0);
    pp_status st = pp_import_file(trace_path, &o, r, err);
    unlink(trace_path);
    return st;
}

/* ---- the tests ---- */

static void test_spans_come_back(void **state)
{
    static const struct {
        const char *sql;
        double is;
    } rows[] = {
        {"SELECT count(*) FROM span", 4 * STEPS},
        {"SELECT count(*) FROM v_span WHERE phase = 'data_wait' AND dur_ns = 20000000", STEPS},
        {"SELECT count(*) FROM v_span WHERE phase = 'step' AND dur_ns = 30000000", STEPS},
        {"SELECT count(DISTINCT batch) FROM v_span WHERE phase = 'step'", STEPS},
        {"SELECT sum(bytes) FROM v_span WHERE phase = 'decode'", STEPS * 4096.0},
        {"SELECT sum(cpu_ns) FROM v_span WHERE phase = 'decode'", STEPS * 1000.0},
        {"SELECT sum(run_delay_ns) FROM v_span WHERE phase = 'decode'", STEPS * 200.0},
        {"SELECT count(DISTINCT thread) FROM span", 2}, /* what overlapped is on its thread */
        {"SELECT count(*) FROM thread WHERE name = 'worker 0' AND pid = 4000 AND tid = 101", 1},
    };
    struct pp_proto p;
    struct pp_import_result r;
    struct pp_report *report;
    struct pp_err err = {0};
    put_head(&p);
    put_steps(&p);
    if (import_bytes(&p, p.n, &r, &err) != PP_OK || pp_report_build(store_path, &report, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_string_equal(r.what, "pipeprobe export --to perfetto");
    assert_null(r.ended);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (store_query(rows[i].sql) != rows[i].is)
            fail_msg("%s: %g", rows[i].sql, store_query(rows[i].sql));
    assert_true(fabs(store_query("SELECT value FROM meta WHERE key = 'started_utc_ns'") - (double)UTC_NS) <
                1e3);
    assert_true(fabs(report->data_wait_share - 0.4) < 0.001);
    assert_string_equal(report->verdict.l0, "input-bound");
    assert_null(report->verdict.l1); /* an export has no CPUs */
    pp_report_free(report);
    pp_proto_free(&p);
}

/* Wherever it ends, what is whole before is taken, and nothing else. */
static void test_files_that_end_early(void **state)
{
    struct pp_proto p;
    struct pp_import_result r;
    struct pp_err err = {0};
    uint64_t before = 0;
    put_head(&p);
    size_t head = p.n;
    put_steps(&p);
    for (size_t n = head; n < p.n; n += 97) {
        pp_status st = import_bytes(&p, n, &r, &err);
        if (st != PP_OK) { /* there is no step yet */
            assert_int_equal(st, PP_E_EMPTY);
            assert_int_equal(before, 0);
            continue;
        }
        assert_true(r.events >= before && r.steps <= STEPS);
        assert_true(!r.ended || r.ended_at == n);
        before = r.events;
    }
    assert_true(before > 9 * STEPS);
    pp_proto_free(&p);
}

static void test_spans_that_cannot_be(void **state)
{
    struct pp_proto p;
    struct pp_import_result r;
    struct pp_err err = {0};
    put_head(&p);
    put_steps(&p);
    put_begin(&p, &(struct slice){TRAINER, STEPS * UINT64_C(50000000), 0, STEPS, STEP, WORK, 0}); /* no end */
    put_begin(&p, &(struct slice){TRAINER, STEPS * UINT64_C(50000000), 0, STEPS, STEP, WORK, 0});
    put_end(&p, 1, TRAINER);                                            /* before its begin */
    put_end(&p, STEPS * UINT64_C(50000000), TRAINER);                   /* of nothing */
    put_slice(&p, (struct slice){9999, 5, 5, 1, STEP, WORK, 0});        /* on no track */
    put_slice(&p, (struct slice){TRAINER, 5, 5, 1, 77777777, WORK, 0}); /* without a name */
    put_slice(&p, (struct slice){TRAINER, 5, 5, 1, STEP, 99, 0});       /* of no category */
    if (import_bytes(&p, p.n, &r, &err) != PP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(r.steps, STEPS);
    assert_true(store_query("SELECT count(*) FROM span") == 4 * STEPS);
    assert_true(store_query("SELECT sum(count) FROM loss") >= 2);
    pp_proto_free(&p);
}

static void test_others_are_refused(void **state)
{
    struct pp_proto p = {0};
    struct pp_import_result r;
    struct pp_err err = {0};
    put_clocks(&p);
    put_track(&p, TRAINER, 0, "main");
    assert_int_equal(import_bytes(&p, p.n, &r, &err), PP_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "pipeprobe export --to perfetto"));
    pp_proto_free(&p);
    put_head(&p);
    assert_int_equal(import_bytes(&p, p.n, &r, &err), PP_E_EMPTY);
    pp_proto_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_spans_come_back),
        STORE_TEST(test_files_that_end_early),
        STORE_TEST(test_spans_that_cannot_be),
        STORE_TEST(test_others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
