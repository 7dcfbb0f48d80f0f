/* The walker (order, tracks, flows, what is unknown), the place an export goes to, and the table of formats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/export_source.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/rng.h"
#include "report/export/tracks.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- tracks ---- */

static unsigned place(struct pp_tracks *t, uint64_t start, uint64_t end)
{
    int ok = 1;
    unsigned track = pp_tracks_place(t, start, end, &ok);
    assert_true(ok);
    return track;
}

static void spans_that_nest_or_follow_share_a_track(void **state)
{
    static const struct {
        uint64_t start, end;
        unsigned track;
    } rows[] = {
        {0, 100, 0},   {0, 40, 0},    {10, 20, 0},
        {20, 40, 0},   {40, 100, 0}, /* nested, and ends that touch */
        {100, 200, 0}, {150, 250, 1}, {160, 170, 0},
        {210, 240, 0}, /* 210 is after 200: back on the thread's own */
        {200, 300, 1}, /* late on track 0 (210 was there already), and on track 1 it overlaps 150..250 ... */
    };
    struct pp_tracks t = {0};
    for (size_t i = 0; i + 1 < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(place(&t, rows[i].start, rows[i].end), rows[i].track);
    assert_int_equal(place(&t, 200, 300), 2); /* ... so that it gets a third */
    free(t.track);
}

/* Whatever comes, within a track two spans nest or do not touch, and starts do not go back. */
static void random_spans_never_cross_on_a_track(void **state)
{
    enum { N = 400 };
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct pp_rng rng = pp_rng_key(seed, 1, 2, 3);
        struct {
            uint64_t start, end;
            unsigned track;
        } s[N];
        struct pp_tracks t = {0};
        uint64_t now = 0;
        for (int i = 0; i < N; i++) {
            now += pp_rng_below(&rng, 8);
            s[i].start = pp_rng_below(&rng, 10) ? now
                                                : now - pp_rng_below(&rng, now + 1); /* a tenth comes late */
            s[i].end = s[i].start + pp_rng_below(&rng, 40);
            s[i].track = place(&t, s[i].start, s[i].end);
            assert_true(s[i].track < PP_TRACKS_MAX);
            for (int k = 0; k < i && s[i].track + 1 < PP_TRACKS_MAX; k++) {
                if (s[k].track != s[i].track)
                    continue;
                assert_true(s[k].start <= s[i].start);
                assert_true(s[k].end <= s[i].start || s[i].end <= s[k].end);
            }
        }
        free(t.track);
    }
}

static void more_in_flight_than_tracks_share_the_last(void **state)
{
    struct pp_tracks t = {0};
    for (unsigned i = 0; i < PP_TRACKS_MAX + 5; i++)
        assert_int_equal(place(&t, i, 1000 + i), i < PP_TRACKS_MAX ? i : PP_TRACKS_MAX - 1);
    free(t.track);
}

/* ---- the walker, watched through an exporter that keeps what it is given ---- */

struct seen_span {
    char name[24], thread[24];
    uint64_t start_ns, end_ns;
    enum pp_flow flow;
    unsigned track;
    uint32_t key;
    int waits;
};

static struct seen {
    struct pp_export_run run;
    struct seen_span span[200];
    size_t spans, counters, errors, threads;
    double counter_value;
    char counter_name[24], thread_name[200][24], loss[4][64];
    int opened, closed, complete;
    pp_status fail_span;
} seen;

static pp_status seen_open(const struct pp_export_run *run, struct pp_export_place *place, void **self,
                           struct pp_err *err)
{
    memset(&seen, 0, offsetof(struct seen, fail_span));
    seen.run = *run;
    seen.opened++;
    for (size_t i = 0; i < run->n_losses && i < 4; i++)
        snprintf(seen.loss[i], sizeof(seen.loss[i]), "%llu %.20s: %.30s",
                 (unsigned long long)run->losses[i].count, run->losses[i].what, run->losses[i].why);
    *self = &seen;
    return PP_OK;
}

static pp_status seen_thread(void *self, const struct pp_thread_row *t, struct pp_err *err)
{
    snprintf(seen.thread_name[seen.threads++], 24, "%s", t->name);
    return PP_OK;
}

static pp_status seen_error(void *self, const struct pp_error_row *e, const struct pp_thread_row *t,
                            struct pp_err *err)
{
    seen.errors++;
    return PP_OK;
}

static pp_status seen_counter(void *self, const struct pp_export_counter *c, struct pp_err *err)
{
    seen.counters++;
    seen.counter_value = c->value;
    snprintf(seen.counter_name, sizeof(seen.counter_name), "%s", c->name);
    return PP_OK;
}

static pp_status seen_spans(void *self, const struct pp_export_span *e, struct pp_err *err)
{
    struct seen_span *s = &seen.span[seen.spans++];
    if (seen.fail_span)
        return pp_fail(err, seen.fail_span, "made to fail");
    *s = (struct seen_span){.start_ns = e->span->start_ns,
                            .end_ns = e->end_ns,
                            .flow = e->flow,
                            .track = e->track,
                            .key = e->key,
                            .waits = e->waits};
    snprintf(s->name, sizeof(s->name), "%s", e->name);
    snprintf(s->thread, sizeof(s->thread), "%s", e->thread->name);
    return PP_OK;
}

static pp_status seen_close(void *self, int complete, struct pp_err *err)
{
    assert_ptr_equal(self, &seen);
    seen.closed++;
    seen.complete = complete;
    return PP_OK;
}

static const struct pp_exporter watcher = {.name = "watcher",
                                           .streams = 1,
                                           .open = seen_open,
                                           .thread = seen_thread,
                                           .error = seen_error,
                                           .counter = seen_counter,
                                           .span = seen_spans,
                                           .close = seen_close};

static pp_status watch(struct fake_export *f, struct pp_export_result *r, struct pp_err *err)
{
    struct pp_source source = fx_source(f);
    return pp_export_walk(&source, &watcher, &(struct pp_export_opts){.out = "-"}, NULL, r, err);
}

static void everything_is_delivered_once(void **state)
{
    struct fake_export f;
    struct pp_export_result r;
    struct pp_err err;
    fx_begin(&f);
    for (uint32_t b = 0; b < 20; b++)
        fx_batch(&f, b);
    f.counter[f.n_counters++] = (typeof(f.counter[0])){FX_T0, "rss_bytes", 5};
    f.name[9] = "queue_ready_batches";
    struct pp_span *c = fake_span(f.run, FX_TRAINER, PP_PHASE_COUNTER, FX_T0 + 5, 0);
    c->name = 9;
    c->bytes = 3;
    f.run->error[f.run->n_errors++] = (struct pp_error_row){.t_ns = FX_T0 + 9, .kind = "corrupt", .count = 1};
    assert_int_equal(watch(&f, &r, &err), PP_OK);
    assert_int_equal(seen.spans, 100);
    assert_int_equal(r.spans, 100);
    assert_int_equal(r.counters, 2);
    assert_int_equal(r.errors, 1);
    assert_int_equal(r.overlapping, 0);
    assert_int_equal(seen.counters, 2);
    assert_int_equal(seen.errors, 1);
    assert_int_equal(seen.threads, 3);
    assert_string_equal(seen.counter_name, "queue_ready_batches"); /* the one among the spans came last */
    assert_true(seen.counter_value == 3);
    assert_int_equal(seen.run.spans, 100);
    assert_int_equal(seen.run.origin_ns, FX_T0);
    assert_int_equal(seen.run.end_ns, FX_T0 + 20000 * FX_US);
    assert_true(seen.complete && seen.closed == 1);
    fx_end(&f);
}

static void times_count_from_the_earliest_thing(void **state)
{
    struct fake_export f;
    struct pp_err err;
    fx_begin(&f);
    fake_span(f.run, FX_COPY, PP_PHASE_H2D, FX_T0 - 1000,
              10); /* an event that began before the run was declared started */
    assert_int_equal(watch(&f, NULL, &err), PP_OK);
    assert_int_equal(seen.run.origin_ns, FX_T0 - 1000);
    assert_true(seen.run.utc_known);
    assert_int_equal(seen.run.utc_ns, 1700000000000000000 - 1000);
    fx_end(&f);
}

static void a_chunk_comes_in_the_order_that_nests(void **state)
{
    struct fake_export f;
    struct pp_err err;
    static const char *const want[] = {"step", "read", "decode", "transform", "read"};
    fx_begin(&f);
    fx_span(&f, FX_WORKER, PP_PHASE_DECODE, 10, 20,
            0); /* ranges are recorded when they end: the inner ones first */
    fx_span(&f, FX_WORKER, PP_PHASE_TRANSFORM, 20, 30, 0);
    fx_span(&f, FX_WORKER, PP_PHASE_READ, 10, 40, 0);
    fx_span(&f, FX_WORKER, PP_PHASE_STEP, 0, 50, 0);
    fx_span(&f, FX_WORKER, PP_PHASE_READ, 50, 60, 0);
    assert_int_equal(watch(&f, NULL, &err), PP_OK);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(seen.span[i].name, want[i]);
        assert_int_equal(seen.span[i].track, 0);
    }
    fx_end(&f);
}

/* The chunk with the outer range comes after the inner ones have been delivered: it keeps its times, on a
 * track beside. */
static void a_range_that_comes_late_keeps_its_times(void **state)
{
    struct fake_export f;
    struct pp_export_result r;
    struct pp_err err;
    fx_begin(&f);
    for (uint64_t i = 0; i < FAKE_CHUNK; i++)
        fx_span(&f, FX_WORKER, PP_PHASE_DECODE, i * 10, i * 10 + 10, 0);
    fx_span(&f, FX_WORKER, PP_PHASE_READ, 0, 100, 0);
    assert_int_equal(watch(&f, &r, &err), PP_OK);
    assert_string_equal(seen.span[FAKE_CHUNK].name, "read");
    assert_int_equal(seen.span[FAKE_CHUNK].track, 1);
    assert_int_equal(seen.span[FAKE_CHUNK].end_ns, FX_T0 + 100 * FX_US);
    assert_int_equal(r.overlapping, 1);
    fx_end(&f);
}

static const struct seen_span *find_seen(const char *name)
{
    for (size_t i = 0; i < seen.spans; i++)
        if (strcmp(seen.span[i].name, name) == 0)
            return &seen.span[i];
    fail_msg("%s was not delivered", name);
    return NULL;
}

static void a_batch_flows_over_the_phases_there_are(void **state)
{
    struct fake_export f;
    struct pp_err err;
    fx_begin(&f);
    fx_batch(&f, 0);
    assert_int_equal(watch(&f, NULL, &err), PP_OK);
    assert_int_equal(find_seen("collate")->flow, PP_FLOW_START);
    assert_int_equal(find_seen("h2d")->flow, PP_FLOW_STEP);
    assert_int_equal(find_seen("step")->flow, PP_FLOW_END);
    assert_int_equal(find_seen("read")->flow, PP_FLOW_NONE);
    assert_true(find_seen("data_wait")->waits && !find_seen("step")->waits);
    fx_end(&f);

    fx_begin(&f); /* a run that measures a ceiling has no step */
    fx_span(&f, FX_WORKER, PP_PHASE_COLLATE, 0, 10, 3);
    fx_span(&f, FX_COPY, PP_PHASE_H2D, 10, 20, 3);
    fx_span(&f, FX_WORKER, PP_PHASE_COLLATE, 10, 20, PP_NO_BATCH);
    assert_int_equal(watch(&f, NULL, &err), PP_OK);
    assert_int_equal(seen.span[0].flow, PP_FLOW_START);
    assert_int_equal(seen.span[1].flow, PP_FLOW_NONE); /* of no batch */
    assert_int_equal(find_seen("h2d")->flow, PP_FLOW_END);
    fx_end(&f);

    fx_begin(&f); /* one link is no chain */
    fx_span(&f, FX_TRAINER, PP_PHASE_STEP, 0, 10, 3);
    assert_int_equal(watch(&f, NULL, &err), PP_OK);
    assert_int_equal(seen.span[0].flow, PP_FLOW_NONE);
    fx_end(&f);
}

/* A newer file, a foreign program, a damaged one: nothing is left out and nothing is guessed. */
static void what_is_unknown_still_goes_through(void **state)
{
    struct fake_export f;
    struct pp_export_result r;
    struct pp_err err;
    fx_begin(&f);
    f.name[7] = "DALI decode";
    fx_span(&f, FX_WORKER, (pp_phase)200, 0, 10, 0);
    fx_span(&f, FX_WORKER, PP_PHASE_NONE, 10, 20, 0)->name = 7;
    fx_span(&f, FX_WORKER, PP_PHASE_DECODE, 20, 30, 0)->name = 250; /* a name that is not in the table */
    fake_span(f.run, FX_WORKER, PP_PHASE_READ, FX_T0 + 30000, UINT64_MAX - 5); /* an end beyond time */
    f.id_offset = 40;
    f.run->bad_chunks = 2;
    f.run->loss[f.run->n_losses++] = (typeof(f.run->loss[0])){"spans", "the ring was full", 12};
    fake_text(f.run, "run", "recovery", "recovered 5 spans");
    assert_int_equal(watch(&f, &r, &err), PP_OK);
    assert_string_equal(seen.span[0].name, "phase 200");
    assert_string_equal(seen.span[0].thread, "thread 40");
    assert_string_equal(seen.span[1].name, "DALI decode");
    assert_int_equal(seen.span[1].key, 256 + 7);
    assert_string_equal(seen.span[2].name, "decode");
    assert_int_equal(seen.span[2].key, PP_PHASE_DECODE);
    assert_true(seen.span[3].end_ns == UINT64_MAX);
    assert_int_equal(seen.threads, 4);
    assert_string_equal(seen.thread_name[3], "thread 40");
    assert_int_equal(r.losses, 2);
    assert_int_equal(r.damaged_chunks, 2);
    assert_string_equal(seen.loss[0], "12 spans: the ring was full");
    assert_string_equal(seen.loss[1], "2 chunks of spans: their checksums do not match: ");
    assert_string_equal(seen.run.recovery, "recovered 5 spans");
    fx_end(&f);
}

static void processes_have_the_name_of_what_ran(void **state)
{
    static const struct {
        const char *command_line, *program;
    } rows[] = {
        {"pipeprobe run a -- b", "pipeprobe"},
        {"pipeprobe exec -- /usr/bin/python3 train.py a/b", "python3"},
        {"pipeprobe exec -o x -- ./loader", "loader"},
        {"pipeprobe exec -- dir/", "pipeprobe"},
        {NULL, "pipeprobe"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fake_export f;
        struct pp_err err;
        fx_begin(&f);
        if (rows[i].command_line)
            fake_text(f.run, "run", "command_line", rows[i].command_line);
        assert_int_equal(watch(&f, NULL, &err), PP_OK);
        assert_string_equal(seen.run.program, rows[i].program);
        fx_end(&f);
    }
}

static void an_empty_run_is_walked_too(void **state)
{
    struct fake_export f = {.run = calloc(1, sizeof(*f.run))};
    struct pp_export_result r;
    struct pp_err err;
    assert_int_equal(watch(&f, &r, &err), PP_OK);
    assert_int_equal(r.spans, 0);
    assert_int_equal(seen.run.origin_ns, 0);
    assert_false(seen.run.utc_known);
    fx_end(&f);
}

static void a_failing_hook_ends_the_walk(void **state)
{
    struct fake_export f;
    struct pp_err err;
    fx_begin(&f);
    fx_batch(&f, 0);
    seen.fail_span = PP_E_NO_SPACE;
    assert_int_equal(watch(&f, NULL, &err), PP_E_NO_SPACE);
    seen.fail_span = PP_OK;
    assert_string_equal(err.text, "made to fail");
    assert_int_equal(seen.spans, 1);
    assert_true(seen.closed == 1 && !seen.complete);
    fx_end(&f);
}

static int stop_at(void *ctx, uint64_t done, uint64_t total)
{
    assert_int_equal(total, 100);
    return done >= *(uint64_t *)ctx;
}

/* ---- the place ---- */

static size_t entries(void)
{
    DIR *d = opendir(fx_dir);
    size_t n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void put(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static void twenty_batches(struct fake_export *f)
{
    fx_begin(f);
    for (uint32_t b = 0; b < 20; b++)
        fx_batch(f, b);
}

static void an_interrupted_export_leaves_nothing(void **state)
{
    struct fake_export f;
    struct pp_err err;
    uint64_t after = 50;
    twenty_batches(&f);
    struct pp_source source = fx_source(&f);
    for (size_t i = 0; pp_exporters[i]; i++) {
        struct pp_export_opts o = {.out = fx_path("stopped.sqlite"),
                                   .progress = stop_at,
                                   .progress_ctx = &after};
        assert_int_equal(pp_export(&source, pp_exporters[i], &o, NULL, &err), PP_E_INTERRUPTED);
        assert_int_equal(entries(), 0);
    }
    fx_end(&f);
}

static void an_existing_output_is_refused(void **state)
{
    struct fake_export f;
    struct pp_err err;
    twenty_batches(&f);
    struct pp_source source = fx_source(&f);
    const char *out = fx_path("there.sqlite");
    for (size_t i = 0; pp_exporters[i]; i++) {
        put(out, "mine");
        assert_int_equal(fx_export(&f, pp_exporters[i], out, 0, NULL, &err), PP_E_EXISTS);
        assert_non_null(strstr(err.text, "--force"));
        char *text = fx_slurp(out, NULL);
        assert_string_equal(text, "mine");
        free(text);
        assert_int_equal(fx_export(&f, pp_exporters[i], out, 1, NULL, &err), PP_OK);
        text = fx_slurp(out, NULL);
        assert_string_not_equal(text, "mine");
        free(text);
        /* The recording itself is never the output, force or not. */
        source.path = out;
        assert_int_equal(pp_export(&source, pp_exporters[i], &(struct pp_export_opts){.out = out, .force = 1},
                                   NULL, &err),
                         PP_E_USAGE);
        assert_int_equal(unlink(out), 0);
    }
    assert_int_equal(fx_export(&f, &pp_export_csv, fx_dir, 1, NULL, &err), PP_E_USAGE);
    assert_int_equal(fx_export(&f, &pp_export_csv, fx_path("no/such/dir.csv"), 0, NULL, &err),
                     PP_E_NOT_FOUND);
    assert_int_equal(fx_export(&f, &pp_export_nsys, "-", 0, NULL, &err), PP_E_USAGE);
    assert_int_equal(fx_export(&f, &pp_export_nsys, "/dev/null", 0, NULL, &err), PP_E_USAGE);
    assert_int_equal(fx_export(&f, &pp_export_csv, "/dev/null", 0, NULL, &err), PP_OK);
    assert_int_equal(fx_export(&f, &pp_export_csv, "/dev/full", 0, NULL, &err), PP_E_NO_SPACE);
    assert_int_equal(entries(), 0);
    fx_end(&f);
}

/* Every open, write and fsync fails once: one sentence, what was there stays, nothing else is left. */
static void every_failing_call_leaves_what_was_there(void **state)
{
    struct fake_export f;
    struct pp_err err;
    const char *out = fx_path("kept.sqlite");
    uint64_t nth = 1;
    twenty_batches(&f);
    put(out, "mine");
    for (size_t i = 0; pp_exporters[i]; i++) {
        for (nth = 1;; nth++) {
            pp_io_fault(PP_IO_FAULT_OPEN | PP_IO_FAULT_WRITE | PP_IO_FAULT_FSYNC, nth, ENOSPC, 1);
            pp_status st = fx_export(&f, pp_exporters[i], out, 1, NULL, &err);
            uint64_t calls = pp_io_fault_calls();
            pp_io_fault(0, 0, 0, 0);
            if (calls < nth) {
                assert_int_equal(st, PP_OK);
                put(out, "mine");
                break;
            }
            assert_int_equal(st, PP_E_NO_SPACE);
            assert_non_null(strstr(err.text, out));
            assert_null(strchr(err.text, '\n'));
            char *text = fx_slurp(out, NULL);
            assert_string_equal(text, "mine");
            free(text);
            assert_int_equal(entries(), 1);
        }
        assert_true(nth > 2); /* an open and an fsync at least */
    }
    unlink(out);
    fx_end(&f);
}

/* SQLite writes past the fault layer: a limit on the size of files stands for the full disk. */
static void a_file_size_limit_is_one_sentence(void **state)
{
    struct fake_export f;
    struct pp_err err;
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    fx_begin(&f);
    for (uint32_t b = 0; b < 2000; b++)
        fx_batch(&f, b);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit <= 400000; limit += 50000) {
        small.rlim_cur = limit;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        pp_status nsys = fx_export(&f, &pp_export_nsys, fx_path("small.sqlite"), 0, NULL, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_true(nsys == PP_E_IO || nsys == PP_E_NO_SPACE);
        assert_non_null(strstr(err.text, "small.sqlite"));
        assert_null(strchr(err.text, '\n'));
        assert_int_equal(entries(), 0);
    }
    signal(SIGXFSZ, SIG_DFL);
    fx_end(&f);
}

/* ---- the table ---- */

static void formats_are_found_by_suffix(void **state)
{
    static const struct {
        const char *path, *format;
    } rows[] = {
        {"a.sqlite", "nsys"},      {"x/y.json", "chrome"},
        {"r.pftrace", "perfetto"}, {"r.perfetto-trace", "perfetto"},
        {"r.json", "chrome"},      {"r.csv", "csv"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_string_equal(pp_exporter_by_suffix(rows[i].path)->name, rows[i].format);
    }
    assert_null(pp_exporter_by_suffix("a.txt"));
    assert_null(pp_exporter_by_suffix(".csv"));
    for (size_t i = 0; pp_exporters[i]; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(pp_exporters[i]->name, pp_exporters[k]->name);
}

static int tear_down(void **state)
{
    return rmdir(fx_dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_that_nest_or_follow_share_a_track),
        cmocka_unit_test(random_spans_never_cross_on_a_track),
        cmocka_unit_test(more_in_flight_than_tracks_share_the_last),
        cmocka_unit_test(everything_is_delivered_once),
        cmocka_unit_test(times_count_from_the_earliest_thing),
        cmocka_unit_test(a_chunk_comes_in_the_order_that_nests),
        cmocka_unit_test(a_range_that_comes_late_keeps_its_times),
        cmocka_unit_test(a_batch_flows_over_the_phases_there_are),
        cmocka_unit_test(what_is_unknown_still_goes_through),
        cmocka_unit_test(processes_have_the_name_of_what_ran),
        cmocka_unit_test(an_empty_run_is_walked_too),
        cmocka_unit_test(a_failing_hook_ends_the_walk),
        cmocka_unit_test(an_interrupted_export_leaves_nothing),
        cmocka_unit_test(an_existing_output_is_refused),
        cmocka_unit_test(every_failing_call_leaves_what_was_there),
        cmocka_unit_test(a_file_size_limit_is_one_sentence),
        cmocka_unit_test(formats_are_found_by_suffix),
    };
    return cmocka_run_group_tests_name("export", tests, fx_set_up, tear_down);
}
