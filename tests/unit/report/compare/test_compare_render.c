/* What is printed: golden documents of comparisons made up, the JSON against its published schema, CI formats
 * against their own rules, and that all forms say the same. */
#include "tests/support/fake_runs.h"
#include "tests/support/golden.h"
#include "tests/support/json_schema.h"

#include "report/ci/outputs.h"
#include "report/compare/render.h"

/* A comparison with something of everything: a regression, a change of class, an outlier, a count, a metric
 * on one side only, options and environment that differ. */
static struct pp_compare eventful(struct pp_runs *base, struct pp_runs *head)
{
    static const char *const allow[] = {"kernel", NULL};
    struct pp_compare_opts o;
    struct pp_compare c;
    struct pp_err err;
    *base = fake_side("base", 7, 1, 0.01, 1);
    *head = fake_side("head", 7, 1.12, 0.01, 2);
    head->run[3].metric[PP_CMP_FIRST_BATCH_S] = 2.5;
    for (size_t i = 0; i < 7; i++) {
        snprintf(base->run[i].l0, sizeof(base->run[i].l0), "not-input-bound");
        base->run[i].l1[0] = '\0';
        head->run[i].metric[PP_CMP_READS] = 1004;
        base->run[i].metric[PP_CMP_ERRORS] = NAN;
        base->run[i].has_spent = head->run[i].has_spent = 1;
        base->run[i].spent_ns[PP_SPENT_STEP] = 1e6, head->run[i].spent_ns[PP_SPENT_STEP] = 1.01e6;
        base->run[i].spent_ns[PP_SPENT_DECODE] = 4e4 + 1e3 * (double)i; /* means: 43 us */
        head->run[i].spent_ns[PP_SPENT_DECODE] = 1.5e5;
        base->run[i].spent_ns[PP_SPENT_OTHER] = 2e3;
        base->run[i].metric[PP_CMP_OPENS] = head->run[i].metric[PP_CMP_OPENS] = NAN;
        if (!pp_run_set_field(&base->run[i], "kernel", "6.1") ||
            !pp_run_set_field(&head->run[i], "kernel", "6.2") ||
            !pp_run_set_field(&head->run[i], "config.workers", "1<2>|3"))
            abort();
    }
    fake_quick(&o);
    o.allow = allow;
    if (pp_compare_build(&(struct pp_compare_side){"runs/main", base},
                         &(struct pp_compare_side){"runs/branch|<x>", head}, &o, &c, &err) != PP_OK)
        fail_msg("%s", err.text);
    return c;
}

static struct pp_compare quiet(struct pp_runs *base, struct pp_runs *head)
{
    struct pp_compare_opts o;
    struct pp_compare c;
    struct pp_err err;
    *base = fake_side("base", 7, 1, 0.004, 1);
    *head = fake_side("head", 7, 0.9, 0.004, 2);
    fake_quick(&o);
    if (pp_compare_build(&(struct pp_compare_side){"baseline.json", base},
                         &(struct pp_compare_side){"runs", head}, &o, &c, &err) != PP_OK)
        fail_msg("%s", err.text);
    return c;
}

/* Made side by side on a machine that drifts; the second look. */
static struct pp_compare side_by_side(struct pp_runs *base, struct pp_runs *head)
{
    struct pp_compare_opts o;
    struct pp_compare c;
    struct pp_err err;
    *base = fake_side("base", 14, 1, 0.01, 1);
    *head = fake_side("head", 14, 1.1, 0.01, 2);
    fake_drift(base, head, 0.1, 3);
    fake_quick(&o);
    o.paired = 1;
    o.look_share = 0.2;
    if (pp_compare_build(&(struct pp_compare_side){"old/pipeprobe run data", base},
                         &(struct pp_compare_side){"this run", head}, &o, &c, &err) != PP_OK)
        fail_msg("%s", err.text);
    return c;
}

enum form { TEXT, COLOR, MARKDOWN, JSON, JUNIT, JUNIT_STRICT, OPENMETRICS, BENCHMARK, ANNOTATIONS, FORMS };

static int write_form(const struct pp_compare *c, enum form form, FILE *out)
{
    switch (form) {
    case TEXT: return pp_compare_text(c, out, 0, 80);
    case COLOR: return pp_compare_text(c, out, 1, 80);
    case MARKDOWN: return pp_compare_markdown(c, out);
    case JSON: return pp_fields_json(pp_compare_fields, c, out);
    case JUNIT: return pp_ci_junit(c, 0, out);
    case JUNIT_STRICT: return pp_ci_junit(c, 1, out);
    case OPENMETRICS: return pp_ci_openmetrics(c, out);
    case BENCHMARK: return pp_ci_benchmark(c, out);
    case ANNOTATIONS: return pp_ci_annotations(c, out);
    case FORMS: break;
    }
    return -1;
}

static char *form_text(const struct pp_compare *c, enum form form)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(write_form(c, form, out), 0);
    fclose(out);
    return text;
}

static void done(struct pp_compare *c, struct pp_runs *base, struct pp_runs *head)
{
    pp_compare_free(c);
    pp_runs_free(base);
    pp_runs_free(head);
}

static void golden_documents(void **state)
{
    static const struct {
        enum form form;
        const char *name;
    } rows[] = {{TEXT, "compare.txt"},
                {MARKDOWN, "compare.md"},
                {JSON, "compare.json"},
                {JUNIT, "compare-junit.xml"},
                {OPENMETRICS, "compare-openmetrics.txt"},
                {BENCHMARK, "compare-benchmark.json"},
                {ANNOTATIONS, "compare-annotations.txt"}};
    struct pp_runs base, head;
    struct pp_compare c = eventful(&base, &head);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = form_text(&c, rows[i].form);
        golden_check(rows[i].name, text);
        free(text);
    }
    done(&c, &base, &head);
    c = quiet(&base, &head);
    char *text = form_text(&c, TEXT);
    golden_check("compare-improved.txt", text);
    free(text);
    done(&c, &base, &head);
    c = side_by_side(&base, &head);
    text = form_text(&c, TEXT);
    golden_check("compare-paired.txt", text);
    free(text);
    done(&c, &base, &head);
}

/* One file without scripts; the rows add up to the last one; nothing of a label becomes markup. */
static void a_page_shows_both_sides(void **state)
{
    struct pp_runs base, head;
    struct pp_compare c = eventful(&base, &head);
    struct pp_compare_spent_row row[PP_SPENT_KINDS + 2];
    size_t n = pp_compare_spent_rows(&c, row), size;
    double sum[2] = {0};
    char *page = NULL;
    for (size_t i = 0; i + 1 < n; i++)
        sum[0] += row[i].base_ns, sum[1] += row[i].head_ns;
    assert_int_equal(n, 4); /* step, decode, other, in all */
    assert_string_equal(row[n - 1].words, "in all");
    assert_float_equal(row[n - 1].base_ns, sum[0], 1e-6);
    assert_float_equal(row[n - 1].head_ns, sum[1], 1e-6);
    assert_float_equal(sum[0], 1.045e6, 1e-6);
    assert_float_equal(sum[1], 1.16e6, 1e-6);
    FILE *out = open_memstream(&page, &size);
    assert_non_null(out);
    assert_int_equal(pp_compare_html(&c, NULL, NULL, out), 0);
    fclose(out);
    static const char *const there[] = {"runs/branch|&lt;x&gt;", "waits for data: decode", "+107 us",
                                        "REGRESSED", "config.workers"},
                             *const never[] = {"<x>", "<script", "http:", "https:", "src=", "<link"};
    for (size_t i = 0; i < sizeof(there) / sizeof(*there); i++)
        if (!strstr(page, there[i]))
            fail_msg("the page does not say %s", there[i]);
    for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
        if (strstr(page, never[i]))
            fail_msg("the page says %s", never[i]);
    free(page);
    done(&c, &base, &head);
}

static json_t *parsed(const struct pp_compare *c, enum form form)
{
    json_error_t why;
    char *text = form_text(c, form);
    json_t *doc = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (!doc)
        fail_msg("line %d: %s", why.line, why.text);
    free(text);
    return doc;
}

static void json_follows_its_schema(void **state)
{
    struct pp_runs base, head;
    struct pp_compare (*const make[])(struct pp_runs *, struct pp_runs *) = {eventful, quiet, side_by_side};
    for (int i = 0; i < 3; i++) {
        struct pp_compare c = make[i](&base, &head);
        json_t *doc = parsed(&c, JSON),
               *of_first = json_object_get(json_array_get(json_object_get(doc, "metrics"), 0),
                                           "pair_log_times_worse");
        schema_check_file("docs/compare.schema.json", doc);
        assert_int_equal(json_array_size(of_first), i == 2 ? 14 : 0);
        json_decref(doc);
        done(&c, &base, &head);
    }
}

static void is_number(const json_t *v, double want)
{
    if (isnan(want))
        assert_true(json_is_null(v));
    else
        assert_true(json_is_number(v) && json_number_value(v) == want);
}

/* The model's numbers arrive in JSON as they are, and every other form shows the same answer. */
static void all_forms_say_the_same(void **state)
{
    struct pp_runs base, head;
    struct pp_compare c = eventful(&base, &head);
    json_t *doc = parsed(&c, JSON), *metrics = json_object_get(doc, "metrics");
    char *text = form_text(&c, TEXT), *md = form_text(&c, MARKDOWN), *xml = form_text(&c, JUNIT), line[256],
         value[32];
    assert_int_equal(json_array_size(metrics), PP_CMP_COUNT_OF_METRICS);
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++) {
        const struct pp_compare_metric *m = &c.metric[i];
        const struct pp_cmp_metric *row = &pp_cmp_metrics[i];
        json_t *j = json_array_get(metrics, (size_t)i);
        assert_string_equal(json_string_value(json_object_get(j, "metric")), row->key);
        assert_string_equal(json_string_value(json_object_get(j, "answer")), pp_answer_names[m->answer]);
        is_number(json_object_get(j, "base_median"), m->base_median);
        is_number(json_object_get(j, "head_median"), m->head_median);
        is_number(json_object_get(j, "times_worse_low"), m->low);
        is_number(json_object_get(j, "p_all"), m->p_all);
        for (size_t k = 0; k < c.n_head; k++)
            is_number(json_array_get(json_object_get(j, "head"), k), m->head[k]);
        snprintf(line, sizeof(line), "<testcase classname=\"pipeprobe\" name=\"%s\"%s", row->key,
                 m->answer == PP_NOT_REGRESSED ? "/>" : ">");
        assert_true((strstr(xml, line) != NULL) == (m->gated != 0));
        if (m->answer == PP_NOT_MEASURED)
            continue;
        snprintf(line, sizeof(line), "\n%-20s %9s", row->title,
                 pp_cmp_value_text(value, sizeof(value), row, m->base_median));
        assert_non_null(strstr(text, line));
        snprintf(line, sizeof(line), "\n| %s | %s |", row->title, value);
        assert_non_null(strstr(md, line));
    }
    assert_int_equal(json_integer_value(json_object_get(doc, "regressed")), (json_int_t)c.regressed);
    free(text);
    free(md);
    free(xml);
    json_decref(doc);
    done(&c, &base, &head);
}

static void text_fits_80_columns(void **state)
{
    struct pp_runs base, head;
    struct pp_compare c = eventful(&base, &head);
    char *text = form_text(&c, TEXT);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        if (end - line > 80)
            fail_msg("%.*s: %d columns", (int)(end - line), line, (int)(end - line));
    free(text);
    done(&c, &base, &head);
}

static void strict_fails_what_is_inconclusive(void **state)
{
    struct pp_runs base, head;
    struct pp_compare c = eventful(&base, &head);
    char *lax = form_text(&c, JUNIT), *strict = form_text(&c, JUNIT_STRICT);
    assert_non_null(strstr(lax, "<skipped message=\"measured in HEAD only\"/>"));
    assert_non_null(strstr(strict, "<failure type=\"inconclusive\" message=\"measured in HEAD only\"/>"));
    free(lax);
    free(strict);
    done(&c, &base, &head);
}

static void annotations_are_one_line_each(void **state)
{
    struct pp_runs base, head;
    struct pp_compare c = quiet(&base, &head);
    char *text = form_text(&c, ANNOTATIONS);
    assert_string_equal(text, "");
    free(text);
    done(&c, &base, &head);
    c = eventful(&base, &head);
    snprintf(c.attribution, sizeof(c.attribution), "50 %%\nof it");
    text = form_text(&c, ANNOTATIONS);
    assert_non_null(strstr(text, "::error title=pipeprobe attribution::50 %25%0Aof it\n"));
    free(text);
    done(&c, &base, &head);
}

static void benchmark_is_smaller_is_better(void **state)
{
    struct pp_runs base, head;
    struct pp_compare c = quiet(&base, &head);
    json_t *doc = parsed(&c, BENCHMARK), *first = json_array_get(doc, 0);
    assert_string_equal(json_string_value(json_object_get(first, "unit")), "s/sample");
    assert_true(
        fabs(json_number_value(json_object_get(first, "value")) * c.metric[PP_CMP_SAMPLES_PER_S].head_median -
             1) < 1e-12);
    json_decref(doc);
    done(&c, &base, &head);
}

static void write_failures_are_told(void **state)
{
    struct pp_runs base, head;
    struct pp_compare c = eventful(&base, &head);
    for (int form = 0; form < FORMS; form++) {
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        assert_int_equal(write_form(&c, (enum form)form, full), -1);
        fclose(full);
    }
    done(&c, &base, &head);
}

static void windows(struct pp_run *r, double low, double high)
{
    r->spread.known = 1;
    r->spread.window_s = 0.5;
    for (int i = 0; i < PP_CMP_COUNT_OF_METRICS; i++)
        r->spread.low[i] = r->spread.high[i] = NAN;
    r->spread.low[PP_CMP_SAMPLES_PER_S] = low;
    r->spread.high[PP_CMP_SAMPLES_PER_S] = high;
}

/* Two single runs: a change is shown where the windows lie apart, and nothing is called a regression of
 * timings. */
static void two_single_runs_are_a_table(void **state)
{
    for (int apart = 0; apart <= 1; apart++) {
        struct pp_runs base = fake_side("a", 1, 1, 0, 1), head = fake_side("b", 1, 1.5, 0, 2);
        struct pp_compare_opts o;
        struct pp_compare c;
        struct pp_err err;
        fake_quick(&o);
        windows(&base.run[0], 600, 1100);
        windows(&head.run[0], 500, apart ? 590 : 700);
        assert_int_equal(pp_compare_build(&(struct pp_compare_side){"a", &base},
                                          &(struct pp_compare_side){"b", &head}, &o, &c, &err),
                         PP_OK);
        char *text = form_text(&c, TEXT);
        assert_non_null(strstr(text, apart ? "-33.3 %  windows of the run" : "       ~  windows of the run"));
        assert_non_null(strstr(text, "1,000 +-40 %"));
        assert_non_null(strstr(text, "=  exact"));
        assert_non_null(strstr(text, "One run on each side"));
        assert_null(strstr(text, "REGRESSED"));
        assert_int_equal(pp_compare_exit_code(&c, 0), 3);
        free(text);
        done(&c, &base, &head);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_single_runs_are_a_table),
        cmocka_unit_test(golden_documents),
        cmocka_unit_test(a_page_shows_both_sides),
        cmocka_unit_test(json_follows_its_schema),
        cmocka_unit_test(all_forms_say_the_same),
        cmocka_unit_test(text_fits_80_columns),
        cmocka_unit_test(strict_fails_what_is_inconclusive),
        cmocka_unit_test(annotations_are_one_line_each),
        cmocka_unit_test(benchmark_is_smaller_is_better),
        cmocka_unit_test(write_failures_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
