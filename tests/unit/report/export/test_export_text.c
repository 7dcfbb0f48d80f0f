/* What the CSV and Chrome exporters write, to the byte where the format is ours to choose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/export_source.h"

#include <jansson.h>

static char *export_text(struct fake_export *f, const struct pp_exporter *to)
{
    struct pp_err err;
    const char *out = fx_path("out");
    assert_int_equal(fx_export(f, to, out, 0, NULL, &err), PP_OK);
    char *text = fx_slurp(out, NULL);
    assert_non_null(text);
    unlink(out);
    return text;
}

static void expect_line(const char *text, const char *line)
{
    const char *at = strstr(text, line);
    if (!at || (at != text && at[-1] != '\n') || at[strlen(line)] != '\n')
        fail_msg("no line '%s' in:\n%.2000s", line, text);
}

static void csv_has_units_and_leaves_unknown_cells_empty(void **state)
{
    struct fake_export f;
    fx_begin(&f);
    fx_batch(&f, 1);
    f.run->thread[FX_COPY].pid = f.run->thread[FX_COPY].tid = 0;
    f.name[3] = "odd, \"name\"";
    struct pp_span *s = fx_span(&f, FX_WORKER, PP_PHASE_DECODE, 1300, 1400, PP_NO_BATCH);
    s->name = 3;
    s->flags |= PP_SPAN_ERROR | PP_SPAN_HAS_DELAY | PP_SPAN_HAS_CACHE | PP_SPAN_WARMUP;
    s->run_delay_ns = 77;
    s->cache_hit_kib = 4;
    char *text = export_text(&f, &pp_export_csv);
    expect_line(
        text,
        "thread,lane,pid,tid,phase,kind,name,start_ns,dur_ns,epoch,batch,sample,samples,bytes,cpu_ns,run_delay_ns,cache_hit_kib,"
        "error,retry,unfinished,warmup");
    expect_line(
        text,
        "pp-worker-0,worker,4242,4300,read,work,,7001000000,200000,0,1,11,,5000,0,,,0,0,0,0"); /* CPU time 0
                                                                                                  was measured
                                                                                                */
    expect_line(text, "pp-copy,copy,,,h2d,work,,7001300000,100000,0,1,,32,4096,,,,0,0,0,0");
    expect_line(
        text,
        "pp-worker-0,worker,4242,4300,decode,work,\"odd, \"\"name\"\"\",7001300000,100000,0,,,,0,,77,4,1,0,0,1");
    size_t lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 1 + 6);
    free(text);
    fx_end(&f);
}

static void csv_cells_are_no_formulas(void **state)
{
    struct fake_export f;
    fx_begin(&f);
    f.name[3] = "=HYPERLINK(\"http://x\")";
    f.name[4] = "-2+3";
    struct pp_span *s = fx_span(&f, FX_WORKER, PP_PHASE_DECODE, 1300, 1400, PP_NO_BATCH);
    s->name = 3;
    s = fx_span(&f, FX_WORKER, PP_PHASE_DECODE, 1500, 1600, PP_NO_BATCH);
    s->name = 4;
    char *text = export_text(&f, &pp_export_csv);
    assert_non_null(strstr(text, ",work,\"'=HYPERLINK(\"\"http://x\"\")\",7001300000,"));
    assert_non_null(strstr(text, ",work,\"'-2+3\",7001500000,"));
    free(text);
    fx_end(&f);
}

/* ---- chrome ---- */

static json_t *export_json(struct fake_export *f)
{
    json_error_t why;
    char *text = export_text(f, &pp_export_chrome);
    json_t *doc = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (!doc)
        fail_msg("line %d: %s in:\n%.2000s", why.line, why.text, text);
    free(text);
    return doc;
}

static const char *string_at(json_t *event, const char *key)
{
    const char *s = json_string_value(json_object_get(event, key));
    return s ? s : "";
}

static double number_at(json_t *event, const char *key)
{
    json_t *v = json_object_get(event, key);
    assert_true(json_is_number(v));
    return json_number_value(v);
}

/* The nth event of that kind and name; NULL beyond the last. */
static json_t *find_event(json_t *doc, const char *ph, const char *name, int nth)
{
    size_t i;
    json_t *e;
    json_array_foreach(json_object_get(doc, "traceEvents"), i,
                       e) if (strcmp(string_at(e, "ph"), ph) == 0 &&
                              strcmp(string_at(e, "name"), name) == 0 && nth-- == 0) return e;
    return NULL;
}

static json_t *need_event(json_t *doc, const char *ph, const char *name, int nth)
{
    json_t *e = find_event(doc, ph, name, nth);
    if (!e)
        fail_msg("no %s event %d named %s", ph, nth, name);
    return e;
}

static void chrome_events_carry_times_ids_and_notes(void **state)
{
    struct fake_export f;
    fx_begin(&f);
    fx_batch(&f, 2);
    fake_span(f.run, FX_WORKER, PP_PHASE_DECODE, FX_T0 + 2500001, 1002);
    json_t *doc = export_json(&f), *e = need_event(doc, "X", "read", 0), *args = json_object_get(e, "args");
    assert_true(number_at(e, "ts") == 2000.0 && number_at(e, "dur") == 200.0);
    assert_true(number_at(e, "pid") == 4242 && number_at(e, "tid") == 4300);
    assert_true(number_at(args, "batch") == 2 && number_at(args, "sample") == 12 &&
                number_at(args, "bytes") == 5000 && number_at(args, "cpu_ns") == 0);
    assert_null(json_object_get(args, "samples"));
    assert_null(json_object_get(args, "run_delay_ns"));
    assert_string_equal(string_at(e, "cat"), "work");
    assert_string_equal(string_at(need_event(doc, "X", "data_wait", 0), "cat"), "wait");
    e = need_event(doc, "X", "decode", 0);
    assert_true(number_at(e, "ts") == 2500.001 && number_at(e, "dur") == 1.002);
    assert_null(json_object_get(e, "args"));
    e = need_event(doc, "M", "thread_name", 1);
    assert_string_equal(string_at(json_object_get(e, "args"), "name"), "pp-copy");
    assert_true(number_at(e, "tid") == 4301);
    assert_non_null(find_event(doc, "M", "process_name", 0));
    assert_null(find_event(doc, "M", "process_name", 1));
    json_decref(doc);
    fx_end(&f);
}

static void chrome_flows_follow_a_batch(void **state)
{
    static const struct {
        const char *ph;
        double ts_us, tid;
    } hops[] = {{"s", 200, 4300}, {"t", 300, 4301}, {"f", 400, 4302}};
    struct fake_export f;
    fx_begin(&f);
    for (uint32_t b = 0; b < 3; b++)
        fx_batch(&f, b);
    json_t *doc = export_json(&f);
    for (size_t h = 0; h < 3; h++) {
        for (int b = 0; b < 3; b++) {
            json_t *e = need_event(doc, hops[h].ph, "batch", b);
            assert_true(number_at(e, "id") == b && number_at(e, "ts") == 1000.0 * b + hops[h].ts_us &&
                        number_at(e, "tid") == hops[h].tid);
        }
        assert_null(find_event(doc, hops[h].ph, "batch", 3));
    }
    assert_string_equal(string_at(need_event(doc, "f", "batch", 0), "bp"), "e");
    json_decref(doc);
    fx_end(&f);
}

/* Names a careless writer would break the document with, counters, errors, losses, an overlap. */
static void chrome_survives_odd_content(void **state)
{
    struct fake_export f;
    fx_begin(&f);
    fx_batch(&f, 0);
    f.name[5] = "a \"b\" \\ \n \xff";
    fx_span(&f, FX_COPY, PP_PHASE_H2D, 350, 450, 1)->name = 5; /* crosses h2d of batch 0 */
    f.run->thread[FX_WORKER].name = "w\"0";
    f.counter[f.n_counters++] = (typeof(f.counter[0])){FX_T0 + 1500, "queue \"a\"", 2.5};
    f.counter[f.n_counters++] = (typeof(f.counter[0])){FX_T0 + 2000, "psi", NAN};
    f.run->error[f.run->n_errors++] = (struct pp_error_row){.t_ns = FX_T0 + 42000,
                                                            .path = "x\"y",
                                                            .kind = "corrupt",
                                                            .action = "skipped",
                                                            .reason = NULL,
                                                            .count = 3};
    f.run->loss[f.run->n_losses++] = (typeof(f.run->loss[0])){"spans", "the \"ring\" was full", 12};
    fake_text(f.run, "config", "dataset", "/data/\"q\"");
    json_t *doc = export_json(&f), *e = need_event(doc, "X", "a \"b\" \\ \n \xef\xbf\xbd", 0);
    assert_true(number_at(e, "tid") == 4301 + (1 << 22));
    e = need_event(doc, "M", "thread_name", 3);
    assert_string_equal(string_at(json_object_get(e, "args"), "name"), "pp-copy (overlapping 1)");
    e = need_event(doc, "C", "queue \"a\"", 0);
    assert_true(number_at(json_object_get(e, "args"), "value") == 2.5 && number_at(e, "ts") == 1.5);
    assert_null(find_event(doc, "C", "psi", 0));
    e = need_event(doc, "i", "corrupt", 0);
    assert_string_equal(string_at(json_object_get(e, "args"), "path"), "x\"y");
    assert_true(number_at(json_object_get(e, "args"), "count") == 3 && number_at(e, "ts") == 42);
    json_t *other = json_object_get(doc, "otherData");
    assert_string_equal(string_at(other, "loss.0"), "12 spans: the \"ring\" was full");
    assert_string_equal(string_at(other, "config.dataset"), "/data/\"q\"");
    assert_string_equal(string_at(other, "origin_utc_ns"), "1700000000000000000");
    json_decref(doc);
    fx_end(&f);
}

static void chrome_of_an_empty_run_is_a_document(void **state)
{
    struct fake_export f = {.run = calloc(1, sizeof(*f.run))};
    f.counter[f.n_counters++] = (typeof(f.counter[0])){5, "rss_bytes", 1};
    json_t *doc = export_json(&f);
    assert_int_equal(json_array_size(json_object_get(doc, "traceEvents")), 1);
    json_decref(doc);
    fx_end(&f);
}

/* The name that a metadata event gives a process or a thread. */
static const char *named(json_t *doc, const char *what, json_t *event)
{
    size_t i;
    json_t *e;
    json_array_foreach(json_object_get(doc, "traceEvents"), i,
                       e) if (strcmp(string_at(e, "name"), what) == 0 &&
                              number_at(e, "pid") == number_at(event, "pid") &&
                              (strcmp(what, "process_name") == 0 ||
                               number_at(e, "tid") ==
                                   number_at(event, "tid"))) return string_at(json_object_get(e, "args"),
                                                                              "name");
    return "";
}

static void chrome_draws_what_the_gpu_did(void **state)
{
    struct fake_export f;
    fx_begin(&f);
    fx_batch(&f, 0);
    fx_gpu(&f);
    json_t *doc = export_json(&f);
    for (int i = 0, calls = 0, works = 0; i < FX_DRAWN; i++) {
        const struct fx_drawn *d = &fx_drawn[i];
        json_t *e = need_event(doc, "X", d->name, 0),
               *bytes = json_object_get(json_object_get(e, "args"), "bytes");
        int of_device = d->group && strncmp(d->group, "GPU", 3) == 0,
            call = strcmp(d->category, "cuda_driver") == 0;
        assert_true(number_at(e, "ts") == (double)d->start_us &&
                    number_at(e, "dur") == (double)d->length_ns / 1e3);
        assert_string_equal(string_at(e, "cat"), d->category);
        assert_string_equal(named(doc, "thread_name", e), d->track);
        assert_string_equal(named(doc, "process_name", e), of_device ? d->group : "pipeprobe");
        assert_int_equal(json_integer_value(bytes), d->bytes);
        if (!d->flow)
            continue;
        json_t *flow = need_event(doc, call ? "s" : "f", "ac2g", call ? calls++ : works++);
        assert_true(number_at(flow, "id") == (double)(UINT64_C(1) << 40 | d->flow) &&
                    number_at(flow, "ts") == number_at(e, "ts") &&
                    number_at(flow, "tid") == number_at(e, "tid"));
    }
    json_decref(doc);
    fx_end(&f);
}

static void chrome_draws_requests(void **state)
{
    struct fake_export f;
    fx_begin(&f);
    fx_batch(&f, 0);
    fx_requests(&f);
    json_t *doc = export_json(&f);
    for (int i = 0; i < FX_ASKED; i++) {
        const struct fx_asked *a = &fx_asked[i];
        int nth = 0;
        for (int k = 0; k < i; k++)
            nth += strcmp(fx_asked[k].name, a->name) == 0;
        json_t *e = need_event(doc, "X", a->name, nth), *args = json_object_get(e, "args");
        assert_true(number_at(e, "ts") == (double)a->start_us && number_at(e, "dur") == (double)a->length_us);
        assert_string_equal(string_at(e, "cat"), a->failed ? "request,error" : "request");
        assert_string_equal(named(doc, "thread_name", e), a->track);
        assert_string_equal(named(doc, "process_name", e), "pipeprobe");
        assert_int_equal(json_integer_value(json_object_get(args, "bytes")), a->bytes);
        assert_true(a->part == !args);
    }
    json_t *args = json_object_get(need_event(doc, "X", "GET 206", 0), "args");
    assert_string_equal(string_at(args, "prefix"), "s3://b/train");
    assert_int_equal(json_integer_value(json_object_get(args, "sample")), 10);
    json_decref(doc);
    fx_end(&f);
}

static int tear_down(void **state)
{
    return rmdir(fx_dir);
}

/* Without Python stacks a thread's phases stand for them, with their time. */
static void profiles_without_stacks_have_phases(void **state)
{
    struct fake_export f;
    fx_begin(&f);
    fx_batch(&f, 1);
    char *text = export_text(&f, &pp_export_folded);
    expect_line(text, "pp-worker-0;read 200");
    free(text);
    text = export_text(&f, &pp_export_speedscope);
    json_error_t error;
    json_t *doc = json_loads(text, 0, &error), *profiles = json_object_get(doc, "profiles");
    assert_true(json_array_size(profiles) > 0);
    for (size_t i = 0; i < json_array_size(profiles); i++) {
        json_t *profile = json_array_get(profiles, i), *weights = json_object_get(profile, "weights");
        json_int_t all = 0;
        assert_int_equal(json_array_size(weights), json_array_size(json_object_get(profile, "samples")));
        for (size_t k = 0; k < json_array_size(weights); k++)
            all += json_integer_value(json_array_get(weights, k));
        assert_true(all == json_integer_value(json_object_get(profile, "endValue")));
    }
    json_decref(doc);
    free(text);
    text = export_text(&f, &pp_export_pprof);
    assert_int_equal(text[0], 0x0a); /* field 1, a message: the type of a value */
    free(text);
    fx_end(&f);
}

/* load for a second at four times the pace, then decode for two; the trainer's thread is seen once. */
static pp_status each_stack(void *ctx, const struct pp_stack_walk *to, struct pp_err *err)
{
    (void)ctx;
    (void)err;
    to->function(to->ctx, &(struct pp_stack_function_row){1, 1, "load", "train.py"});
    to->function(to->ctx, &(struct pp_stack_function_row){2, 9, "decode", "train.py"});
    to->frame(to->ctx, &(struct pp_stack_row){1, 0, 1, 3, 0});
    to->frame(to->ctx, &(struct pp_stack_row){2, 0, 2, 9, 0});
    for (uint64_t i = 0; i <= 60; i++) {
        int early = i < 40;
        struct pp_stack_sample_row row = {.t_ns = FX_T0 + (early ? i * 25000 : (i - 30) * 100000) * FX_US,
                                          .thread = FX_WORKER,
                                          .stack = early ? 1 : 2,
                                          .state = 'R',
                                          .flags = early ? PP_STACK_DENSE : 0};
        to->sample(to->sample_ctx, &row);
    }
    to->sample(to->sample_ctx,
               &(struct pp_stack_sample_row){.t_ns = FX_T0, .thread = FX_TRAINER, .stack = 2, .state = 'R'});
    return PP_OK;
}

static void early_stacks_stand_for_less(void **state)
{
    struct fake_export f;
    fx_begin(&f);
    f.each_stack = each_stack;
    fx_batch(&f, 1);
    char *text = export_text(&f, &pp_export_folded);
    expect_line(text, "pp-worker-0;load (train.py:3) 1000000");
    expect_line(text, "pp-worker-0;decode (train.py:9) 2100000"); /* the last sample has its time too */
    expect_line(text, "pp-trainer;decode (train.py:9) 100000");   /* for the mean of all threads */
    free(text);
    fx_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_units_and_leaves_unknown_cells_empty),
        cmocka_unit_test(csv_cells_are_no_formulas),
        cmocka_unit_test(chrome_events_carry_times_ids_and_notes),
        cmocka_unit_test(chrome_flows_follow_a_batch),
        cmocka_unit_test(chrome_survives_odd_content),
        cmocka_unit_test(chrome_of_an_empty_run_is_a_document),
        cmocka_unit_test(chrome_draws_what_the_gpu_did),
        cmocka_unit_test(chrome_draws_requests),
        cmocka_unit_test(profiles_without_stacks_have_phases),
        cmocka_unit_test(early_stacks_stand_for_less),
    };
    return cmocka_run_group_tests_name("export_text", tests, fx_set_up, tear_down);
}
