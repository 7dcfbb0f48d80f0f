/* The HTML page: its numbers are the JSON document's, nothing from a run becomes markup, it needs nothing
 * else, and it stays small. */
#include "tests/support/report_fixture.h"

#include "report/build/build.h"
#include "report/render/html/html.h"

#include <jansson.h>

static void to_html(const struct pp_report *r)
{
    FILE *out = open_memstream(&report_text, &report_text_size);
    assert_non_null(out);
    assert_int_equal(pp_render_html(r, out), 0);
    fclose(out);
}

static json_t *to_json(const struct pp_report *r)
{
    char *doc;
    size_t size;
    json_error_t why;
    FILE *out = open_memstream(&doc, &size);
    assert_int_equal(pp_render_json(r, out), 0);
    fclose(out);
    json_t *root = json_loads(doc, JSON_DECODE_ANY, &why);
    assert_non_null(root);
    free(doc);
    return root;
}

/* ---- held to the JSON document ---- */

/* "phases.0.p50_ns" */
static json_t *at_path(json_t *doc, const char *path)
{
    char copy[256], *rest = copy, *part;
    snprintf(copy, sizeof(copy), "%s", path);
    while (doc && (part = strsep(&rest, ".")) != NULL)
        doc = json_is_array(doc) ? json_array_get(doc, (size_t)atoi(part)) : json_object_get(doc, part);
    return doc;
}

/* Every number on the page is the one in the document. Returns how many there were. */
static size_t check_numbers(json_t *doc)
{
    size_t n = 0;
    for (const char *p = report_text; (p = strstr(p, "<span data-v=\"")) != NULL; n++) {
        char key[256] = "";
        p += strlen("<span data-v=\"");
        double shown = strtod(p, NULL);
        const char *k = strstr(p, "data-k=\"") + strlen("data-k=\"");
        memcpy(key, k, strcspn(k, "\""));
        json_t *v = at_path(doc, key);
        if (!json_is_number(v) || json_number_value(v) != shown)
            fail_msg("%s is %.17g on the page, and %s in the document", key, shown,
                     v ? "another" : "missing");
    }
    return n;
}

/* Every number of a section of the document is on the page. */
static void check_all_shown(const json_t *part, const char *path, const char *const *left_out)
{
    char sub[256], wanted[300];
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_number(part)) {
        snprintf(wanted, sizeof(wanted), "data-k=\"%s\"", path);
        if (!strstr(report_text, wanted))
            fail_msg("%s is not on the page", path);
    } else if (json_is_array(part)) {
        json_array_foreach(part, i, value)
        {
            snprintf(sub, sizeof(sub), "%s.%zu", path, i);
            check_all_shown(value, sub, left_out);
        }
    } else if (json_is_object(part)) {
        json_object_foreach((json_t *)part, key, value)
        {
            int skip = 0;
            for (const char *const *l = left_out; *l; l++)
                skip |= strcmp(*l, key) == 0;
            snprintf(sub, sizeof(sub), "%s.%s", path, key);
            if (!skip)
                check_all_shown(value, sub, left_out);
        }
    }
}

static void test_numbers_are_the_documents(void **state)
{
    static const char *const sections[] = {"phases", "workers",  "queues", "errors",
                                           "losses", "overhead", "window"};
    static const char *const left_out[] = {"thread",   "bytes",  "puts",   "gets", "sync_ns",
                                           "ready_ns", "advice", "effort", NULL};
    const struct pp_report *r = report_full();
    json_t *doc = to_json(r);
    to_html(r);
    assert_true(check_numbers(doc) > 200);
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
        check_all_shown(json_object_get(doc, sections[i]), sections[i], left_out);
    check_all_shown(at_path(doc, "series.coarse"), "series.coarse", left_out);
    check_all_shown(at_path(doc, "series.waterfalls"), "series.waterfalls", left_out);
    static const char *const headline[] = {"samples_per_s",
                                           "data_wait_share",
                                           "duration_s",
                                           "batches",
                                           "samples",
                                           "epochs",
                                           "span_count",
                                           "error_count",
                                           "retry_count",
                                           "verdict.confidence",
                                           "verdict.headroom_samples_per_s",
                                           "verdict.headroom_gain",
                                           "verdict.fixes"};
    for (size_t i = 0; i < sizeof(headline) / sizeof(*headline); i++)
        check_all_shown(at_path(doc, headline[i]), headline[i], left_out);
    static const char *const texts[] = {"verdict.cause", "verdict.next_step", "verdict.python",
                                        "verdict.command"};
    char *page = report_text;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        char *text;
        size_t size;
        FILE *escaped = open_memstream(&text, &size);
        pp_html_text(escaped, json_string_value(at_path(doc, texts[i])));
        fclose(escaped);
        if (!text[0] || !strstr(page, text))
            fail_msg("the page does not say %s: %s", texts[i], text);
        free(text);
    }
    json_decref(doc);
    free(report_text);
}

static void test_predictions_are_drawn(void **state)
{
    static const struct pp_report_fix fixes[] = {{.knob = "workers",
                                                  .to = "<8>",
                                                  .text = "more & more",
                                                  .gain = 0.9,
                                                  .low = 0.5,
                                                  .high = 1.2,
                                                  .samples_per_s = 304},
                                                 {.knob = "order",
                                                  .to = "out-of-order",
                                                  .text = "as finished",
                                                  .advice = PP_ADVICE_NO,
                                                  .gain = -0.01,
                                                  .low = -0.04,
                                                  .high = 0.02,
                                                  .samples_per_s = 158}};
    struct pp_report_curve_point points[] = {{1, 100, 90, 110}, {2, 190, 170, 215}, {8, 400, 300, 500}};
    struct pp_report_curve curve = {.knob = "workers", .now = 2, .points = points, .n_points = 3};
    struct fake_run *f = report_full_run(2);
    struct pp_report *r = report_of(f);
    r->curves = &curve;
    r->n_curves = 1;
    r->verdict.fixes = fixes;
    r->verdict.n_fixes = 2;
    r->verdict.ruled_out[0] = "<storage>: gains nothing";
    r->verdict.n_ruled_out = 1;
    r->verdict.replay_error = -0.028;
    r->verdict.late_samples_per_s = 93.5;
    json_t *doc = to_json(r);
    to_html(r);
    check_numbers(doc);
    static const char *const none[] = {"now", "advice", "effort", NULL};
    check_all_shown(at_path(doc, "series.curves"), "series.curves", none);
    check_all_shown(at_path(doc, "verdict.fixes"), "verdict.fixes", none);
    check_all_shown(at_path(doc, "verdict.replay_error"), "verdict.replay_error", none);
    check_all_shown(at_path(doc, "verdict.late_samples_per_s"), "verdict.late_samples_per_s", none);
    assert_non_null(strstr(report_text, "id=\"whatif\""));
    assert_non_null(strstr(report_text, "&lt;storage&gt;: gains nothing"));
    assert_non_null(strstr(report_text, "workers \xe2\x86\x92 &lt;8&gt;</title>")); /* a bar */
    assert_null(strstr(report_text, "out-of-order</title>")); /* none for what gains nothing */
    json_decref(doc);
    free(report_text);
    report_done(r, f);
}

/* The card has the words of the first page, and what pipeprobe keeps for itself is not the job's setting. */
static void test_words_of_the_first_page(void **state)
{
    const struct pp_report *full = report_full();
    struct pp_report r = *full;
    struct pp_report_pair config[] = {{.key = "dataloader", .value = "4711.0"},
                                      {.key = "ring_spans", .value = "16384"},
                                      {.key = "num_workers", .value = "3"}};
    r.config = config;
    r.n_config = 3;
    r.made = "2026-11-28 08:33 UTC by pipeprobe exec -- python3 <train>.py in /home/me";
    to_html(&r);
    static const char *const there[] = {"STORAGE-BOUND (latency) &middot; likely",
                                        "Do</span> More reads in flight",
                                        ">Gain: ",
                                        "<code>pipeprobe explain storage/latency</code>",
                                        "num_workers</th>",
                                        "python3 &lt;train&gt;.py in /home/me"},
                             *const never[] = {"4711.0", "ring_spans", "Predicted with", "of step time"};
    for (size_t i = 0; i < sizeof(there) / sizeof(*there); i++)
        if (!strstr(report_text, there[i]))
            fail_msg("the page does not say %s", there[i]);
    for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
        if (strstr(report_text, never[i]))
            fail_msg("the page says %s", never[i]);
    free(report_text);
}

/* What the step lacks besides data is the first sentence's number, or no tile; the document does not have it.
 */
static void test_a_tile_for_what_is_no_number_of_the_document(void **state)
{
    for (int i = 0; i < 3; i++) {
        struct pp_report r = *report_full();
        r.starved_s = 3;
        r.collective_share = NAN;
        r.data_wait_share = 0.5;
        r.verdict.exposed_share = 0.5 + (double[]){0.08, 0.004, -0.1}[i];
        to_html(&r);
        assert_true((strstr(report_text, "<p>Waits for a CPU</p>") != NULL) == (i == 0));
        assert_true(i > 0 || strstr(report_text, "CPU</p><p class=\"big\">8.0 %<small>"));
        const char *p99 = strstr(report_text, "<p>Wait, p99</p>");
        assert_true(p99 && strcspn(strstr(p99, "data-k=\"phases."), "<") < 60);
        free(report_text);
    }
}

/* A job without a loader: where its own thread was, in text and on the page, and of no step. */
static void test_lines_of_a_job_without_steps(void **state)
{
    struct pp_report_step_line line = {"Memory.window", "train.py:28", NULL, 0.62, 0.55, 0.69, 1};
    for (int has_step = 0; has_step < 2; has_step++) {
        struct pp_report r = {.step_lines = &line, .n_step_lines = 1, .has_step = has_step};
        for (int html = 0; html < 2; html++) {
            FILE *out = open_memstream(&report_text, &report_text_size);
            assert_int_equal(html ? pp_render_html(&r, out) : pp_render_text(&r, out, 0, 80), 0);
            fclose(out);
            assert_non_null(strstr(report_text, "Memory.window"));
            assert_true((strstr(report_text, "Lines of the training steps") != NULL) == has_step);
            assert_null(strstr(report_text, "Lines that cost the stall"));
            free(report_text);
        }
    }
}

/* ---- hostile names ---- */

static void escaped(const char *from, const char *wanted)
{
    char *got;
    size_t size;
    FILE *out = open_memstream(&got, &size);
    pp_html_text(out, from);
    fclose(out);
    assert_string_equal(got, wanted);
    free(got);
}

#define FFFD "\xef\xbf\xbd"

static void test_escape(void **state)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"a<b>&\"'c", "a&lt;b&gt;&amp;&quot;&#39;c"},
        {"caf\xc3\xa9 \xf0\x9f\x90\x8d", "caf\xc3\xa9 \xf0\x9f\x90\x8d"},
        {"\x1b[31m\x7f", FFFD "[31m" FFFD},
        {"\xff\xfe", FFFD FFFD},
        {"\xc0\xbc", FFFD FFFD},
        /* an overlong '<' */ {"\xed\xa0\x80", FFFD FFFD FFFD},
        /* a surrogate */ {"\xe2\x82", FFFD FFFD}, /* cut short */
        {"\xe2\x80\xaegpj.exe", FFFD "gpj.exe"},
        {"\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\xd8\x9c\xe2\x80\x8b", FFFD FFFD FFFD FFFD FFFD},
        {"\xe2\x81\xa6x\xe2\x81\xa9", FFFD "x" FFFD},
        {"\xc2\x85", FFFD},
        {"\xef\xbf\xbe", FFFD},
        {"\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD},
        {"tab\tnew\nline", "tab\tnew\nline"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        escaped(cases[i].from, cases[i].to);
    escaped(NULL, "");
}

#define EVIL "</td><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='x"

/* Whatever the file says, in every place where text of it is shown. */
static void test_nothing_becomes_markup(void **state)
{
    struct fake_run *f = report_full_run(2);
    for (size_t i = 0; i < f->n_threads; i++)
        f->thread[i].name = EVIL;
    for (size_t i = 0; i < f->n_meta; i++)
        if (!f->meta[i].numeric)
            f->meta[i].value = EVIL;
    fake_num(f, "environment", EVIL, "12", EVIL);
    fake_num(f, "environment", "a_bytes\"><script>", "12", "bytes");
    fake_text(f, "run", "outcome", EVIL);
    for (size_t i = 0; i < f->n_errors; i++)
        f->error[i].path = f->error[i].kind = f->error[i].action = f->error[i].reason = EVIL;
    f->queue[0].name = f->loss[0].what = f->loss[0].why = EVIL;
    struct pp_report *r = report_of(f);
    r->path = EVIL;
    to_html(r);
    assert_null(strstr(report_text, "<script"));
    assert_null(strstr(report_text, "<img"));
    for (const char *p = report_text; (p = strstr(p, "onload=")) != NULL; p++)
        assert_memory_equal(p + 7, "&#39;", 5);
    free(report_text);
    report_done(r, f);
}

static void test_needs_nothing_else(void **state)
{
    static const char *const never[] = {"http:", "https:", "<script", "<link", "<iframe", "@import", "src="};
    const struct pp_report *r = report_full();
    to_html(r);
    for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
        if (strstr(report_text, never[i]))
            fail_msg("the page says %s", never[i]);
    for (const char *p = report_text; (p = strstr(p, "href=")) != NULL; p++)
        assert_memory_equal(p, "href=\"#", 7); /* of the page itself */
    assert_non_null(strstr(report_text, "prefers-color-scheme:dark"));
    assert_non_null(strstr(report_text, "@media print"));
    free(report_text);
}

/* ---- sizes and edges ---- */

static void test_stays_small(void **state)
{
    struct fake_run *f = report_full_run(FAKE_THREADS - 2);
    struct pp_report *r = report_of(f);
    to_html(r);
    assert_in_range(report_text_size, 10000, 600000);
    free(report_text);
    report_done(r, f);
}

static void test_nothing_recorded(void **state)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_report *r = report_of(f);
    to_html(r);
    assert_non_null(strstr(report_text, "</html>"));
    assert_null(strstr(report_text, "nan"));
    assert_null(strstr(report_text, "inf\""));
    assert_non_null(strstr(report_text, "This run is unfinished"));
    free(report_text);
    report_done(r, f);
}

static void test_write_failure_is_told(void **state)
{
    const struct pp_report *r = report_full();
    int (*const renderers[])(const struct pp_report *, FILE *) = {pp_render_html, pp_render_md,
                                                                  pp_render_csv};
    for (size_t i = 0; i < 3; i++) {
        FILE *full = fopen("/dev/full", "w");
        assert_int_equal(renderers[i](r, full), -1);
        fclose(full);
    }
}

static void test_coordinates(void **state)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0, "0"},           {1, "1"},   {-1.5, "-1.5"}, {2.25, "2.25"}, {0.01, "0.01"},
                 {1200.004, "1200"}, {NAN, "0"}, {-0.001, "0"},  {99.999, "100"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *got;
        size_t size;
        FILE *out = open_memstream(&got, &size);
        pp_svg_num(out, cases[i].v);
        fclose(out);
        assert_string_equal(got, cases[i].text);
        free(got);
    }
}

static void test_ticks(void **state)
{
    static const double ends[] = {1e-6, 0.013, 0.9, 1, 7, 8.36, 59, 61, 3599, 86400, 1e6, 1e8};
    double at[8];
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        int n = pp_svg_time_ticks(0, ends[i], at);
        assert_in_range(n, 2, 8);
        for (int k = 0; k < n; k++)
            assert_true(at[k] >= 0 && at[k] <= ends[i] * 1.000001 && (k == 0 || at[k] > at[k - 1]));
        n = pp_svg_time_ticks(ends[i] * 7, ends[i] * 7.3, at); /* a part of a run */
        assert_in_range(n, 1, 8);
        for (int k = 0; k < n; k++)
            assert_true(at[k] >= ends[i] * 6.99999 && at[k] <= ends[i] * 7.30001);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_the_documents),
        cmocka_unit_test(test_predictions_are_drawn),
        cmocka_unit_test(test_words_of_the_first_page),
        cmocka_unit_test(test_a_tile_for_what_is_no_number_of_the_document),
        cmocka_unit_test(test_lines_of_a_job_without_steps),
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_nothing_becomes_markup),
        cmocka_unit_test(test_needs_nothing_else),
        cmocka_unit_test(test_stays_small),
        cmocka_unit_test(test_nothing_recorded),
        cmocka_unit_test(test_write_failure_is_told),
        cmocka_unit_test(test_coordinates),
        cmocka_unit_test(test_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
