/* CSV and Markdown: kept outputs of a fixed run; every number of the JSON document's sections is in the CSV
 * with the same value; text from a run is text in both. */
#include "tests/support/golden.h"
#include "report/build/build.h"
#include "tests/support/report_fixture.h"

#include <jansson.h>

static void render_with(int (*renderer)(const struct pp_report *, FILE *), const struct pp_report *r)
{
    FILE *out = open_memstream(&report_text, &report_text_size);
    assert_non_null(out);
    assert_int_equal(renderer(r, out), 0);
    fclose(out);
}

static void golden_of(int (*renderer)(const struct pp_report *, FILE *), const char *name)
{
    const struct pp_report *r = report_full();
    render_with(renderer, r);
    golden_check(name, report_text);
    free(report_text);
}

static void test_golden_md(void **state)
{
    golden_of(pp_render_md, "report.md");
}

static void test_golden_csv(void **state)
{
    golden_of(pp_render_csv, "report.csv");
}

/* ---- CSV ---- */

/* The next field of RFC 4180, unquoted into buf; moves *p behind the comma or line end. */
static char *field(const char **p, char *buf, size_t size)
{
    size_t n = 0;
    int quoted = **p == '"';
    for (*p += quoted; **p && (quoted || !strchr(",\r", **p)); (*p)++) {
        if (quoted && **p == '"' && *++*p != '"')
            break;
        assert_true(n + 1 < size);
        buf[n++] = **p;
    }
    buf[n] = '\0';
    *p += **p == ',' ? 1 : strncmp(*p, "\r\n", 2) == 0 ? 2 : 0;
    return buf;
}

/* The value at (section, item, field), into buf; NULL when there is no such row. */
static char *look_up(const char *section, const char *item, const char *name, char *buf, size_t size)
{
    char s[64], i[256], f[64];
    for (const char *p = report_text; *p;) {
        field(&p, s, sizeof(s));
        field(&p, i, sizeof(i));
        field(&p, f, sizeof(f));
        field(&p, buf, size);
        if (strcmp(s, section) == 0 && strcmp(i, item) == 0 && strcmp(f, name) == 0)
            return buf;
    }
    return NULL;
}

static void check_object(const json_t *object, const char *section, const char *item)
{
    const char *key;
    json_t *value;
    char buf[1024];
    json_object_foreach((json_t *)object, key, value)
    {
        if (!(json_is_number(value) || json_is_null(value) || json_is_boolean(value)))
            continue;
        if (!look_up(section, item, key, buf, sizeof(buf)))
            fail_msg("%s,%s,%s is missing", section, item, key);
        if (json_is_boolean(value)) {
            assert_string_equal(buf, json_is_true(value) ? "true" : "false");
            continue;
        }
        if (json_is_null(value) ? buf[0] != '\0' : strtod(buf, NULL) != json_number_value(value))
            fail_msg("%s,%s,%s is %s", section, item, key, buf);
    }
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

static void test_csv_has_the_documents_numbers(void **state)
{
    const struct pp_report *r = report_full();
    json_error_t why;
    json_t *part;
    char item[128], buf[1024];
    size_t i;
    render_with(pp_render_json, r);
    json_t *doc = json_loads(report_text, 0, &why);
    free(report_text);
    render_with(pp_render_csv, r);
    check_object(doc, "run", "");
    check_object(json_object_get(doc, "window"), "window", "");
    check_object(json_object_get(doc, "verdict"), "verdict", "");
    check_object(json_object_get(doc, "overhead"), "overhead", "");
    json_array_foreach(json_object_get(doc, "phases"), i, part)
    {
        snprintf(item, sizeof(item), "%s/%s", text_of(part, "lane"), text_of(part, "phase"));
        check_object(part, "phases", item);
        assert_string_equal(look_up("phases", item, "kind", buf, sizeof(buf)), text_of(part, "kind"));
    }
    json_array_foreach(json_object_get(doc, "workers"), i, part)
        check_object(part, "workers", text_of(part, "name"));
    json_array_foreach(json_object_get(doc, "queues"), i, part)
        check_object(part, "queues", text_of(part, "name"));
    json_array_foreach(json_object_get(doc, "errors"), i, part)
    {
        snprintf(item, sizeof(item), "%s/%s", text_of(part, "kind"), text_of(part, "action"));
        check_object(part, "errors", item);
    }
    json_array_foreach(json_object_get(doc, "findings"), i, part)
        check_object(json_object_get(part, "numbers"), "findings", text_of(part, "kind"));
    json_decref(doc);
    free(report_text);
}

static void test_csv_of_hostile_names(void **state)
{
    static const char evil[] = "=HYPERLINK(\"x\"),a\r\nrun,,samples,9";
    char buf[1024];
    struct fake_run *f = report_full_run(2);
    f->error[0].path = evil;
    struct pp_report *r = report_of(f);
    render_with(pp_render_csv, r);
    assert_non_null(look_up("errors", "corrupt/skipped", "example_path", buf, sizeof(buf)));
    assert_int_equal(buf[0], '\''); /* no formula */
    assert_string_equal(buf + 1, evil);
    assert_string_equal(look_up("run", "", "samples", buf, sizeof(buf)), "560"); /* and no row of its own */
    free(report_text);
    report_done(r, f);
}

/* ---- Markdown ---- */

static void test_md_of_hostile_names(void **state)
{
    struct fake_run *f = report_full_run(2);
    f->error[0].path = "a|b\n\n# x <img src=x> [l](http://e) @everyone `c` **d** <!--";
    struct pp_report *r = report_of(f);
    render_with(pp_render_md, r);
    assert_null(strstr(report_text, "<img"));
    assert_null(strstr(report_text, "<!--"));
    assert_null(strstr(report_text, "\n# x"));
    assert_null(strstr(report_text, "[l]("));
    assert_null(strstr(report_text, "@everyone"));
    assert_non_null(strstr(report_text, "a\\|b")); /* one cell */
    free(report_text);
    report_done(r, f);
}

/* Comments on the usual forges end at 64 KiB. */
static void test_md_fits_a_comment(void **state)
{
    static char path[8000];
    struct fake_run *f = report_full_run(FAKE_THREADS - 2);
    memset(path, '*', sizeof(path) - 1);
    static char kinds[FAKE_ROWS][16];
    for (size_t i = 0; i < FAKE_ROWS; i++) {
        snprintf(kinds[i], sizeof(kinds[i]), "kind-%zu", i);
        f->error[i] = (struct pp_error_row){
            .path = path, .reason = path, .kind = kinds[i], .action = "skipped", .count = 1};
    }
    f->n_errors = FAKE_ROWS;
    struct pp_report *r = report_of(f);
    render_with(pp_render_md, r);
    assert_in_range(report_text_size, 1000, 40000);
    free(report_text);
    report_done(r, f);
}

static void test_nothing_recorded(void **state)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_report *r = report_of(f);
    render_with(pp_render_md, r);
    assert_non_null(strstr(report_text, "inconclusive"));
    assert_null(strstr(report_text, "nan"));
    free(report_text);
    render_with(pp_render_csv, r);
    assert_null(strstr(report_text, "nan"));
    free(report_text);
    report_done(r, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_md),
        cmocka_unit_test(test_golden_csv),
        cmocka_unit_test(test_csv_has_the_documents_numbers),
        cmocka_unit_test(test_csv_of_hostile_names),
        cmocka_unit_test(test_md_of_hostile_names),
        cmocka_unit_test(test_md_fits_a_comment),
        cmocka_unit_test(test_nothing_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
