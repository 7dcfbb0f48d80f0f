/* The published schemas and pages against the tables of fields (PP_GOLDEN_UPDATE=1, `make golden`, writes
 * them again). */
#include "report/audit/audit.h"
#include "report/compare/render.h"
#include "report/model/fields.h"
#include "report/ranks/ranks.h"
#include "report/resume/resume.h"
#include "tests/support/field_docs.h"
#include "tests/support/golden.h"

static const struct field_docs report = {
    .id = "pipeprobe.report/1",
    .title = "pipeprobe report",
    .description =
        "What `pipeprobe report --format json` and `pipeprobe run --json` print. Units are in the keys; shares are 0..1; null is unknown, which is not zero. Quantities are of the steady-state window unless they say otherwise.",
    .source = "report/model/fields.c",
    .fields = pp_report_fields,
};
static const struct field_docs comparison = {
    .id = "pipeprobe.compare/1",
    .title = "pipeprobe comparison",
    .description =
        "What `pipeprobe compare --json` and `pipeprobe ci run --json` print. Units are in the keys or in 'unit'; shares are 0.05 for 5 %; null is unknown or not computed, which is not zero.",
    .source = "report/compare/render_json.c",
    .fields = pp_compare_fields,
};

static const struct field_docs ranks = {
    .id = "pipeprobe.ranks/1",
    .title = "pipeprobe ranks",
    .description =
        "What `pipeprobe ranks --json` and `pipeprobe run --ranks N --json` print. Units are in the keys; shares are 0..1; null is unknown, which is not zero. Times are means over steps.",
    .source = "report/ranks/fields.c",
    .fields = pp_ranks_fields,
};

static const struct field_docs audit = {
    .id = "pipeprobe.audit/1",
    .title = "pipeprobe sampling audit",
    .description =
        "What `pipeprobe ranks --audit --json` prints. Numbers count samples; null is unknown, which is not zero.",
    .source = "report/audit/render.c",
    .fields = pp_audit_fields,
};

static const struct field_docs resume = {
    .id = "pipeprobe.resume/1",
    .title = "pipeprobe test of resumed jobs",
    .description =
        "What `pipeprobe resume-test --json` prints. Batches and epochs are those of the uninterrupted run, from 0; null is unknown, which is not zero.",
    .source = "report/resume/fields.c",
    .fields = pp_resume_fields,
};

static void hold(void (*write)(const struct field_docs *, FILE *), const struct field_docs *d,
                 const char *path)
{
    char *text, name[128];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    write(d, out);
    fclose(out);
    snprintf(name, sizeof(name), "../../%s", path); /* from tests/golden */
    golden_check(name, text);
    free(text);
}

static void the_report_schema_is_the_tables(void **state)
{
    hold(field_docs_schema, &report, "docs/report.schema.json");
}

static void the_report_page_is_the_tables(void **state)
{
    hold(field_docs_page, &report, "docs/reference/report-fields.md");
}

static void the_compare_schema_is_the_tables(void **state)
{
    hold(field_docs_schema, &comparison, "docs/compare.schema.json");
}

static void the_compare_page_is_the_tables(void **state)
{
    hold(field_docs_page, &comparison, "docs/reference/compare-fields.md");
}

static void the_ranks_schema_is_the_tables(void **state)
{
    hold(field_docs_schema, &ranks, "docs/ranks.schema.json");
}

static void the_ranks_page_is_the_tables(void **state)
{
    hold(field_docs_page, &ranks, "docs/reference/ranks-fields.md");
}

static void the_audit_schema_is_the_tables(void **state)
{
    hold(field_docs_schema, &audit, "docs/audit.schema.json");
}

static void the_audit_page_is_the_tables(void **state)
{
    hold(field_docs_page, &audit, "docs/reference/audit-fields.md");
}

static void the_resume_schema_is_the_tables(void **state)
{
    hold(field_docs_schema, &resume, "docs/resume.schema.json");
}

static void the_resume_page_is_the_tables(void **state)
{
    hold(field_docs_page, &resume, "docs/reference/resume-fields.md");
}

static size_t fields_without_help(const struct pp_field *fields, int is_list)
{
    size_t n = 0;
    for (const struct pp_field *f = fields; f->type != PP_FIELD_END; f++) {
        if (!is_list && f->type != PP_FIELD_INLINE && !f->help)
            print_message("%s says nothing of itself\n", f->key);
        n += !is_list && f->type != PP_FIELD_INLINE && !f->help;
        if (f->fields)
            n += fields_without_help(f->fields, f->type == PP_FIELD_LIST || f->type == PP_FIELD_MAP);
    }
    return n;
}

static void every_field_says_what_it_is(void **state)
{
    assert_int_equal(fields_without_help(pp_report_fields, 0), 0);
    assert_int_equal(fields_without_help(pp_compare_fields, 0), 0);
    assert_int_equal(fields_without_help(pp_ranks_fields, 0), 0);
    assert_int_equal(fields_without_help(pp_audit_fields, 0), 0);
    assert_int_equal(fields_without_help(pp_resume_fields, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_schema_is_the_tables),  cmocka_unit_test(the_report_page_is_the_tables),
        cmocka_unit_test(the_compare_schema_is_the_tables), cmocka_unit_test(the_compare_page_is_the_tables),
        cmocka_unit_test(the_ranks_schema_is_the_tables),   cmocka_unit_test(the_ranks_page_is_the_tables),
        cmocka_unit_test(the_audit_schema_is_the_tables),   cmocka_unit_test(the_audit_page_is_the_tables),
        cmocka_unit_test(the_resume_schema_is_the_tables),  cmocka_unit_test(the_resume_page_is_the_tables),
        cmocka_unit_test(every_field_says_what_it_is),
    };
    return cmocka_run_group_tests_name("field docs", tests, NULL, NULL);
}
