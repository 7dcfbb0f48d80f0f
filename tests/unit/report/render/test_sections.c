/* The tables of the report: each column names fields that there are, numbers are marked as such, and text
 * from a run stays inside its cell. */
#include "report/render/html/section.h"
#include "report/render/sections.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct {
    const struct pp_section *section;
    const char *path;
} all[] = {
    {&pp_section_evidence, "verdict.evidence"},
    {&pp_section_fixes, "verdict.fixes"},
    {&pp_section_proofs, "proof"},
    {&pp_section_findings, "findings"},
    {&pp_section_durations, "phases"},
    {&pp_section_shares, "phases"},
    {&pp_section_waits, "phases"},
    {&pp_section_workers, "workers"},
    {&pp_section_queues, "queues"},
    {&pp_section_errors, "errors"},
    {&pp_section_losses, "losses.items"},
    {&pp_section_steps_over_time, "series.coarse"},
    {&pp_section_queues_over_time, "series.coarse"},
    {&pp_section_errors_over_time, "series.coarse"},
    {&pp_section_curve, "series.curves.points"},
    {&pp_section_legs, "series.waterfalls.legs"},
};

/* The table of a path's rows, also below rows. */
static const struct pp_field *fields_at(const char *path)
{
    const struct pp_field *fields = pp_report_fields;
    char key[64];
    for (size_t n; *path; path += n + (path[n] == '.')) {
        n = strcspn(path, ".");
        snprintf(key, sizeof(key), "%.*s", (int)n, path);
        fields = pp_fields_key(fields, key)->fields;
    }
    return fields;
}

static void columns_name_fields_and_mark_numbers(void **state)
{
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        for (size_t k = 0; k < all[i].section->n_columns; k++) {
            const struct pp_section_column *c = &all[i].section->columns[k];
            const struct pp_field *f;
            char part[64];
            int parts = 0, numbers = 0;
            for (size_t at = 0; pp_section_part(c, fields_at(all[i].path), &at, &f, part, sizeof(part));) {
                parts++;
                numbers += f && f->type != PP_FIELD_TEXT && !c->words;
            }
            assert_true(parts > 0);
            assert_true(c->head[PP_IN_TEXT] || c->head[PP_IN_MD] || c->head[PP_IN_HTML]);
            assert_true(!c->head[PP_IN_TEXT] || (c->width != 0 && c->head[PP_IN_TEXT][0] != '#'));
            if (numbers && !(c->flags & (PP_CELL_BAR | PP_CELL_ROW_HEAD)))
                for (int in = PP_IN_MD; in <= PP_IN_HTML; in++)
                    assert_true(!c->head[in] || c->head[in][0] == '#');
        }
}

static char *text;
static size_t text_size;

static void a_report_of_errors(struct pp_report *r, struct pp_report_error_kind *errors)
{
    static const struct pp_report_error_kind kinds[] = {
        {.kind = "corrupt",
         .action = "skipped",
         .example_path = "a|b<i>",
         .example_reason = "@all",
         .count = 1234,
         .files = 7},
        {.kind = "warning", .action = "used", .example_path = "x", .count = 1, .files = 1},
        {.kind = "empty", .action = "skipped", .count = 2},
    };
    memcpy(errors, kinds, sizeof(kinds));
    *r = (struct pp_report){.error_kinds = errors, .n_error_kinds = 3};
}

static void words_between_fields_need_both(void **state)
{
    struct pp_report_error_kind errors[3];
    struct pp_report r;
    a_report_of_errors(&r, errors);
    struct pp_section_rows rows = pp_section_rows(&pp_section_errors, &r, "errors");
    FILE *out = open_memstream(&text, &text_size);
    pp_section_md(out, &rows, 99);
    fclose(out);
    assert_string_equal(text, "| visits | files | kind | action | example |\n|---:|---:|---|---|---|\n"
                              "| 1,234 | 7 | corrupt | skipped | a\\|b&lt;i&gt;: &#64;all |\n"
                              "| 1 | 1 | warning | used | x |\n"
                              "| 2 | 0 | empty | skipped |  |\n");
    free(text);
}

static void a_number_carries_its_path(void **state)
{
    struct pp_report_error_kind errors[3];
    struct pp_report r;
    a_report_of_errors(&r, errors);
    FILE *out = open_memstream(&text, &text_size);
    pp_html_section_at(out, &pp_section_errors, &r, "errors");
    fclose(out);
    assert_non_null(strstr(
        text,
        "<td class=\"n\" data-h=\"visits\"><span data-v=\"1234\" data-k=\"errors.0.count\">1,234</span></td>"));
    assert_non_null(strstr(text, "<td class=\"path\"><bdi>a|b&lt;i&gt;</bdi></td>"));
    free(text);
}

/* In the order for people, idle parts behind busy; what was not measured as a whole is no line. */
static void what_was_measured_of_the_gpu_is_a_line(void **state)
{
    struct pp_report_gpu g = {.busy_share = 0.5};
    struct pp_gpu_line line[PP_GPU_LINES];
    size_t all_lines = pp_gpu_lines(&g, line);
    assert_in_range(all_lines, 1, PP_GPU_LINES - 1); /* none was left out for want of room */
    assert_string_equal(line[0].field->key, "busy_share");
    assert_string_equal(line[1].path, "gpu.idle.");
    g.counters_missing = "no NVML";
    assert_int_equal(pp_gpu_lines(&g, line), all_lines - 4);
    g.not_measured = "no CUPTI";
    assert_int_equal(pp_gpu_lines(&g, line), 0);
    g.counters_missing = NULL;
    assert_int_equal(pp_gpu_lines(&g, line), 4);
}

static void no_rows_no_table(void **state)
{
    struct pp_report r = {.n_queues = 0};
    struct pp_section_rows rows = pp_section_rows(&pp_section_queues, &r, "queues");
    FILE *out = open_memstream(&text, &text_size);
    pp_section_text(&(struct pp_page){.out = out, .columns = 80}, &rows);
    fclose(out);
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_name_fields_and_mark_numbers),
        cmocka_unit_test(words_between_fields_need_both),
        cmocka_unit_test(a_number_carries_its_path),
        cmocka_unit_test(what_was_measured_of_the_gpu_is_a_line),
        cmocka_unit_test(no_rows_no_table),
    };
    return cmocka_run_group_tests_name("sections", tests, NULL, NULL);
}
