/* The table of metrics and its texts: of a run whose every nanosecond is known, while it grows and after. */
#include "tests/support/golden.h"
#include "tests/support/made_run.h"

#include "report/metrics/metrics.h"
#include "probe/base/crc32c.h"

#include <ctype.h>
#include <math.h>

#define UTC_NS 1.7e18

struct read_run {
    struct pp_live *live;
    struct pp_live_snapshot snap;
    struct pp_metrics_view view;
};

static struct made_run *begin(void)
{
    struct made_run *r = made_begin();
    pp_store_meta_num(r->store, "run", "started_utc_ns", UTC_NS, "ns");
    pp_store_meta_num(r->store, "rank", "rank", 3, NULL);
    pp_store_meta_num(r->store, "rank", "node", 1, NULL);
    return r;
}

static void look(struct read_run *x)
{
    assert_int_equal(pp_live_at(x->live, UINT64_MAX, 15, &x->snap, NULL), PP_OK);
    x->view = (struct pp_metrics_view){.snap = &x->snap,
                                       .totals = pp_live_totals(x->live),
                                       .rank = pp_live_rank(x->live)};
    x->view.facts = pp_live_facts(x->live, &x->view.n_facts);
}

static void open_run(struct read_run *x, const char *path)
{
    assert_int_equal(pp_live_open(path, &x->live, NULL), PP_OK);
    look(x);
}

static char *text_of(const struct pp_metrics_view *v, enum pp_metrics_format format)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    assert_int_equal(pp_metrics_write(v, format, out), 0);
    fclose(out);
    return text;
}

/* The value of the one line that begins with name and, behind it, a blank or a brace with these labels. */
static double value_of(const char *text, const char *series)
{
    const char *at = strstr(text, series);
    while (at && at != text && at[-1] != '\n')
        at = strstr(at + 1, series);
    if (!at)
        fail_msg("no series %s in\n%s", series, text);
    return atof(at + strlen(series) + 1);
}

/* ---- one moment ---- */

static void test_text_is_kept(void **state)
{
    struct made_run *r = begin();
    struct read_run x;
    made_seconds(r, 0, MADE_SECONDS);
    made_finish(r);
    open_run(&x, r->path);
    char *text = text_of(&x.view, PP_METRICS_TEXT), *open = text_of(&x.view, PP_METRICS_OPENMETRICS);
    /* when the test finished the file, and which version it was, are not of the run */
    golden_check("metrics.prom", text);
    golden_check("metrics.om", open);
    assert_string_equal(open + strlen(open) - 6, "# EOF\n");
    free(text);
    free(open);
    pp_live_close(x.live);
    made_free(r);
}

static void test_report_and_sender(void **state)
{
    struct made_run *r = begin();
    struct read_run x;
    struct pp_report report = {.verdict = {.l0 = "input-bound",
                                           .l1 = "storage",
                                           .l2 = "latency",
                                           .confidence = 0.9,
                                           .exposed_share = 0.4,
                                           .explained = NAN},
                               .window_s = 12,
                               .has_steady_state = 1,
                               .headroom_gain = 0.25,
                               .overhead_share = NAN,
                               .cache_hit_share = 0};
    struct pp_metrics_sender sender = {.cpu_s = 1.5, .pushes = 7, .pushes_lost = 2, .pushing = 1};
    struct pp_metric_label label = {"team", "a \"b\" \\ c\n\xff"};
    made_seconds(r, 0, 5);
    open_run(&x, r->path);
    x.view.report = &report;
    x.view.sender = &sender;
    x.view.labels = &label;
    x.view.n_labels = 1;
    char *text = text_of(&x.view, PP_METRICS_TEXT);
#define LABELS "team=\"a \\\"b\\\" \\\\ c\\\\n\\\\xff\",rank=\"3\",node=\"1\""
    assert_true(value_of(text, "pipeprobe_verdict{" LABELS ",class=\"storage\",cause=\"latency\"}") == 1);
    assert_true(value_of(text, "pipeprobe_verdict_confidence_ratio{" LABELS "}") == 0.9);
    assert_true(value_of(text, "pipeprobe_cache_hit_bytes_total{" LABELS "}") == 0);
    assert_true(value_of(text, "pipeprobe_pushes_lost_total{" LABELS "}") == 2);
    assert_null(strstr(text, "verdict_explained"));
    assert_null(strstr(text, "run_end"));
    free(text);
    report.verdict = (struct pp_report_verdict){.l0 = "not-input-bound",
                                                .confidence = NAN,
                                                .exposed_share = NAN,
                                                .explained = NAN};
    report.cache_hit_share = NAN;
    text = text_of(&x.view, PP_METRICS_TEXT);
    assert_true(value_of(text, "pipeprobe_verdict{" LABELS ",class=\"not-input-bound\",cause=\"none\"}") ==
                1);
    assert_null(strstr(text, "cache_hit"));
    free(text);
    pp_live_close(x.live);
    made_free(r);
}

/* ---- what lasts ---- */

struct lint {
    size_t series;
    const struct pp_metric *last;
};

static void lint_point(void *ctx, const struct pp_metric *m, const struct pp_metric_point *p)
{
    struct lint *l = ctx;
    l->series += p->histogram ? p->histogram->n_bounds + 3 : 1;
    if (l->last && m != l->last)
        assert_true(m > l->last); /* the points of a row come together */
    l->last = m;
    for (size_t i = 0; i < p->n_labels; i++) {
        assert_non_null(strstr(m->labels, p->label[i].name));
        assert_null(strchr(p->label[i].value, '/')); /* a path */
    }
}

static void test_names_and_cardinality(void **state)
{
    static const char *const units[] = {"", "seconds", "bytes", "ratio"};
    struct made_run *r = begin();
    struct read_run x;
    struct lint l = {0};
    made_seconds(r, 0, MADE_SECONDS);
    made_finish(r);
    open_run(&x, r->path);
    pp_metrics_each(&x.view, lint_point, &l);
    if (l.series > 31)
        fail_msg("%zu series for one rank", l.series);
    size_t common = l.series;
    l = (struct lint){0};
    x.view.all = 1;
    pp_metrics_each(&x.view, lint_point, &l);
    assert_true(l.series > common); /* the rare ones */
    for (const struct pp_metric *m = pp_metrics; m->name; m++) {
        int known = 0;
        for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
            known |= strcmp(m->unit, units[i]) == 0;
        assert_true(known && *m->help && m->help[strlen(m->help) - 1] == '.' && m->use);
        assert_int_equal(strncmp(m->name, "pipeprobe_", 10), 0);
        for (const char *c = m->name; *c; c++)
            assert_true(islower((unsigned char)*c) || *c == '_');
        if (*m->unit)
            assert_string_equal(m->name + strlen(m->name) - strlen(m->unit), m->unit);
        assert_true((m->value != NULL) != (m->each != NULL));
        for (const struct pp_metric *o = pp_metrics; o != m; o++)
            assert_string_not_equal(o->name, m->name);
    }
    pp_live_close(x.live);
    made_free(r);
}

/* Looks at a growing run see no counter fall, and the last one the same as a single look at the end. */
static void test_counters_only_grow(void **state)
{
    static const char *const series[] = {
        "pipeprobe_samples_total{rank=\"3\",node=\"1\"}",
        "pipeprobe_batches_total{rank=\"3\",node=\"1\"}",
        "pipeprobe_read_bytes_total{rank=\"3\",node=\"1\"}",
        "pipeprobe_phase_seconds_total{rank=\"3\",node=\"1\",phase=\"data_wait\",lane=\"trainer\"}",
        "pipeprobe_phase_duration_seconds_count{rank=\"3\",node=\"1\",phase=\"data_wait\"}",
        "pipeprobe_phase_duration_seconds_bucket{rank=\"3\",node=\"1\",phase=\"data_wait\",le=\"0.1\"}",
    };
    enum { N = sizeof(series) / sizeof(*series) };
    struct made_run *r = begin();
    struct read_run grown, whole;
    double before[N] = {0};
    made_seconds(r, 0, 5);
    open_run(&grown, r->path);
    for (int s = 5; s < MADE_SECONDS; s += 11) {
        made_seconds(r, s, s + 11 < MADE_SECONDS ? s + 11 : MADE_SECONDS);
        assert_int_equal(pp_live_refresh(grown.live, NULL, NULL), PP_OK);
        look(&grown);
        char *text = text_of(&grown.view, PP_METRICS_TEXT);
        for (int i = 0; i < N; i++) {
            double now = value_of(text, series[i]);
            assert_true(now > before[i]);
            before[i] = now;
        }
        free(text);
    }
    made_finish(r);
    assert_int_equal(pp_live_refresh(grown.live, NULL, NULL), PP_OK);
    look(&grown);
    open_run(&whole, r->path);
    char *a = text_of(&grown.view, PP_METRICS_TEXT), *b = text_of(&whole.view, PP_METRICS_TEXT);
    assert_string_equal(a, b);
    assert_non_null(strstr(a, "pipeprobe_errors_total{"));
    free(a);
    free(b);
    pp_live_close(grown.live);
    pp_live_close(whole.live);
    made_free(r);
}

/* ---- with times ---- */

/* Each series of the history has its points together and in order, and its counters end where the sums do. */
static void test_history(void **state)
{
    struct made_run *r = begin();
    struct read_run x;
    char *text = NULL, series[256] = "", *line, *rest;
    size_t n;
    double at = 0, last_samples = 0;
    made_seconds(r, 0, MADE_SECONDS);
    made_finish(r);
    open_run(&x, r->path);
    double samples = x.view.totals->samples;
    for (unsigned points = 1000; points; points /= 50) {
        FILE *out = open_memstream(&text, &n);
        assert_int_equal(pp_metrics_history(x.live, &x.view, points, out, NULL), PP_OK);
        fclose(out);
        size_t waits = 0, changes = 0;
        for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
            char *time = strrchr(line, ' '), *value;
            if (line[0] == '#')
                continue;
            *time = '\0';
            value = strrchr(line, ' ');
            *value = '\0';
            if (strncmp(line, "pipeprobe_phase_duration_seconds", 32) == 0)
                continue; /* the lines of a histogram belong together */
            if (strcmp(line, series) != 0)
                changes++, at = 0;
            snprintf(series, sizeof(series), "%s", line);
            assert_true(atof(time + 1) > at);
            at = atof(time + 1);
            assert_true(at > UTC_NS / 1e9 && at <= UTC_NS / 1e9 + MADE_SECONDS + 2);
            waits += strncmp(line, "pipeprobe_data_wait_ratio", 25) == 0;
            if (strncmp(line, "pipeprobe_samples_total", 23) == 0)
                last_samples = atof(value + 1);
        }
        assert_true(last_samples == samples);
        assert_true(changes < 70 && waits <= points + 2 && waits >= (points > 60 ? 60 : points / 2));
        free(text);
        look(&x); /* the snapshot is of the live history's last call */
    }
    pp_live_close(x.live);
    made_free(r);
}

/* ---- TensorBoard ---- */

static uint64_t little(const uint8_t *p, int n)
{
    uint64_t v = 0;
    for (int i = n; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static uint32_t masked(const uint8_t *p, size_t n)
{
    uint32_t c = pp_crc32c(p, n);
    return (c >> 15 | c << 17) + 0xa282ead8u;
}

static void test_event_file(void **state)
{
    /* Event{wall_time: 1.5, step: 300, summary{value{tag: "a", simple_value: 0.25}}} by hand */
    static const uint8_t want[] = {0x09, 0,    0,    0,    0,    0, 0,   0xf8, 0x3f, 0x10, 0xac, 0x02,
                                   0x2a, 0x0a, 0x0a, 0x08, 0x0a, 1, 'a', 0x15, 0,    0,    0x80, 0x3e};
    char *text = NULL;
    size_t n, frames = 0;
    FILE *out = open_memstream(&text, &n);
    assert_int_equal(pp_crc32c((const uint8_t *)"123456789", 9), 0xe3069283);
    pp_tfevents_begin(out, 1.5);
    pp_tfevents_scalar(out, 1.5, 300, "a", 0.25f);
    fclose(out);
    const uint8_t *at = (const uint8_t *)text, *end = at + n;
    for (; at < end; frames++) {
        uint64_t length = little(at, 8);
        assert_int_equal(little(at + 8, 4), masked(at, 8));
        assert_true(length <= (uint64_t)(end - at) - 16);
        assert_int_equal(little(at + 12 + length, 4), masked(at + 12, length));
        if (frames == 1) {
            assert_int_equal(length, sizeof(want));
            assert_memory_equal(at + 12, want, sizeof(want));
        }
        at += 16 + length;
    }
    assert_int_equal(frames, 2);
    free(text);
}

/* ---- labels ---- */

static void test_labels(void **state)
{
    static const struct {
        const char *text, *name, *value; /* name NULL: refused */
    } rows[] = {
        {"team=vision", "team", "vision"},
        {"job=a=b", "job", "a=b"},
        {"x=", "x", ""},
        {"novalue", NULL, NULL},
        {"=v", NULL, NULL},
        {"1a=v", NULL, NULL},
        {"a-b=v", NULL, NULL},
        {"rank=1", NULL, NULL},
        {"phase=x", NULL, NULL},
        {"le=1", NULL, NULL},
        {"__x=1", NULL, NULL},
        {"a b=1", NULL, NULL},
        {"worker=1", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct pp_metric_label_text storage;
        struct pp_metric_label label;
        struct pp_err err;
        pp_status st = pp_metric_label_parse(rows[i].text, &storage, &label, &err);
        assert_int_equal(st, rows[i].name ? PP_OK : PP_E_USAGE);
        if (rows[i].name) {
            assert_string_equal(label.name, rows[i].name);
            assert_string_equal(label.value, rows[i].value);
        }
    }
}

/* ---- the page ---- */

static void test_page_is_the_table(void **state)
{
    static const char *const types[] = {"counter", "gauge", "info", "histogram"};
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    fputs(
        "# Metrics\n\nGenerated from the table in `report/metrics/table.c` by `make golden`. Each series also has the labels "
        "`rank` and `node` where a launcher\nsays them, and those of `--metrics-label`. What is not known has no series. "
        "Ratios are 0 to 1.\nWhat is marked *rare* goes to Prometheus and OpenTelemetry only with `--metrics-all`; "
        "`pipeprobe metrics FILE`, exports, TensorBoard and\nMLflow have it. Panels and alerts are those of "
        "`samples/grafana` and `samples/prometheus`.\nHow to serve and send them: [metrics](../guide/metrics.md).\n\n"
        "| metric | type | labels | | for |\n|---|---|---|---|---|\n",
        out);
    for (const struct pp_metric *m = pp_metrics; m->name; m++)
        fprintf(out, "| `%s%s` | %s | %s | %s | %s%s |\n", m->name,
                m->type == PP_METRIC_COUNTER ? "_total"
                : m->type == PP_METRIC_INFO  ? "_info"
                                             : "",
                types[m->type], m->labels, m->help, m->rare ? "*rare*: " : "", m->use);
    fclose(out);
    golden_check("../../docs/reference/metrics.md", text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_is_kept),
        cmocka_unit_test(test_report_and_sender),
        cmocka_unit_test(test_names_and_cardinality),
        cmocka_unit_test(test_counters_only_grow),
        cmocka_unit_test(test_history),
        cmocka_unit_test(test_event_file),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_page_is_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
