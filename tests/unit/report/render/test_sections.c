/* The tables of the report: each column names fields that there are, numbers are marked as such, and text
 * from a run stays inside its cell. */
#include "report/render/html/parts.h"
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
    {&pp_section_evidence_rest, "verdict.evidence"},
    {&pp_section_error_files, "errors.examples"},
    {&pp_section_fixes, "verdict.fixes"},
    {&pp_section_ruled_out, "verdict.ruled_out"},
    {&pp_section_proofs, "proof"},
    {&pp_section_proof_sentences, "proof"},
    {&pp_section_findings, "findings"},
    {&pp_section_found, "findings"},
    {&pp_section_not_found, "findings"},
    {&pp_section_not_measured, "findings"},
    {&pp_section_durations, "phases"},
    {&pp_section_shares, "phases"},
    {&pp_section_waits, "phases"},
    {&pp_section_workers, "workers"},
    {&pp_section_loaders, "loaders"},
    {&pp_section_queues, "queues"},
    {&pp_section_errors, "errors"},
    {&pp_section_error_examples, "errors.examples"},
    {&pp_section_differences, "decode.differences"},
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
            assert_true(!c->head[PP_IN_TEXT] || c->head[PP_IN_TEXT][0] != '#');
            assert_true(!c->head[PP_IN_TEXT] || c->width != 0 ||
                        all[i].section->layout[PP_IN_TEXT] == PP_JOINED);
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
    free(text);
}

/* Below each kind its files, each with its own number of visits. */
static void a_file_has_its_visits(void **state)
{
    struct pp_report_error_example files[] = {{"a|b<i>", "cut", 5}, {"c.jpg", "cut", 1}};
    struct pp_report_error_kind kind = {.examples = files, .n_examples = 2};
    struct pp_report r = {.error_kinds = &kind, .n_error_kinds = 1};
    char path[64];
    struct pp_section_rows rows = pp_section_rows_below(&pp_section_error_files, &r, "errors", 0, "examples",
                                                        path);
    FILE *out = open_memstream(&text, &text_size);
    pp_html_section(out, &rows);
    fclose(out);
    assert_non_null(strstr(text, "<td class=\"path\"><bdi>a|b&lt;i&gt;</bdi></td>"));
    assert_non_null(strstr(text, "data-k=\"errors.0.examples.0.count\">5<"));
    assert_non_null(strstr(text, "data-k=\"errors.0.examples.1.count\">1<"));
    free(text);
}

/* In the order for people, idle parts behind busy; what was not measured as a whole is no line. */
static void what_was_measured_of_the_gpu_is_a_line(void **state)
{
    struct pp_report_gpu g = {.busy_share = 0.5};
    struct pp_gpu_line line[PP_GPU_LINES];
    size_t all_lines = pp_gpu_lines(&g, line);
    assert_in_range(all_lines, 1, PP_GPU_LINES - 1); /* there was room for all of them */
    assert_string_equal(line[0].field->key, "busy_share");
    assert_string_equal(line[1].path, "gpu.idle.");
    g.counters_missing = "no NVML";
    assert_int_equal(pp_gpu_lines(&g, line), all_lines - 4);
    g.not_measured = "no CUPTI";
    assert_int_equal(pp_gpu_lines(&g, line), 0);
    g.counters_missing = NULL;
    assert_int_equal(pp_gpu_lines(&g, line), 4);
}

static void put_wide(const struct pp_section *s, const struct pp_report *r, const char *path, int columns)
{
    struct pp_section_rows rows = pp_section_rows(s, r, path);
    FILE *out = open_memstream(&text, &text_size);
    pp_section_text(&(struct pp_page){.out = out, .columns = columns}, &rows);
    fclose(out);
}

/* One sentence of a section on a page of 60 columns. */
static void put_text(const struct pp_section *s, const struct pp_report *r, const char *path)
{
    put_wide(s, r, path, 60);
}

static void has(const char *words)
{
    if (!strstr(text, words))
        fail_msg("no '%s' in:%s", words, text);
}

/* Rows stay in their columns while nothing is cut and no two cells touch; else all of a row is a sentence. */
static void a_row_is_a_sentence_where_a_cell_has_no_room(void **state)
{
#define LONG "a_name_of_sixty_characters_and_more_that_no_page_has_a_column_for"
    struct pp_report_worker worker = {.name = "worker 0", .samples = 29, .loader = "several"};
    struct pp_report_op ops[] = {
        {.name = "read and blur in Birds.__getitem__",
         .place = "birds.py:3",
         .share = 0.76,
         .low = 0.73,
         .high = 0.79},
        {.name = "\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4",
         .place = "b.py:3"},
        {.name = "Crop(size=224, pad=3, fill=0)",
         .place = "train_imagenet.py:1234",
         .share = 0.14,
         .low = 0.12,
         .high = 0.17},
        {.name = LONG, .place = "b.py:7"}};
    struct pp_report r = {.workers = &worker,
                          .n_workers = 1,
                          .ops = ops,
                          .n_ops = 4,
                          .verdict = {.evidence = {{.name = "a name that is as long as its column is",
                                                    .value = "60 %",
                                                    .threshold = "at least 20 %",
                                                    .supports = 1}},
                                      .evidences = 1}};
    put_wide(&pp_section_workers, &r, "workers", 80);
    has("\n  worker 0             29 ");
    has("\n      loader several\n"); /* below, behind its head: the row has no room */
    free(text);
    put_wide(&pp_section_ops, &r, "ops", 160);
    has("\n  read and blur           birds.py:3         76 (73-79) %");
    has("\n  \u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4\u00c4           b.py:3                0 (0-0) %");
    has("\n  Crop line train_imagenet.py:1234, of stall 14 (12-17) %");
    has("\n  " LONG " line b.py:7, of stall ");
    free(text);
    put_wide(&pp_section_evidence, &r, "verdict.evidence", 80);
    has("\n  + a name that is as long as its column is     60 %  at least 20 %\n");
    free(text);
}

static void a_long_cell_wraps_behind_the_others(void **state)
{
    struct pp_report r = {.verdict = {.evidence = {{.name = "stall",
                                                    .value = "60 %",
                                                    .threshold = "at least 20 %, as XProf has it",
                                                    .supports = 1},
                                                   {.name = "a law", .value = "0 %", .kind = PP_EVIDENCE_LAW},
                                                   {.name = "idle", .value = "1 %", .supports = -1}},
                                      .evidences = 3}};
    put_text(&pp_section_evidence, &r, "verdict.evidence");
    assert_string_equal(text, "\nHow this was decided (+ for the cause, - against it)\n"
                              "  + stall                             60 %\n"
                              "      at least 20 %, as XProf has it\n"
                              "  - idle                               1 %\n");
    free(text);
}

static void changes_are_listed_as_they_are_advised(void **state)
{
    struct pp_report_fix fixes[] = {
        {.change = "workers=8", .gain = 0.5, .low = 0.4, .high = 0.6, .samples_per_s = 15, .text = "more"},
        {.change = "workers=4", .gain = 0.2, .low = 0.1, .high = 0.3, .samples_per_s = 12, .text = ""},
        {.change = "half the work",
         .advice = PP_ADVICE_MEASURE,
         .gain = 0.9,
         .low = 0.8,
         .high = 1,
         .samples_per_s = 19,
         .text = "half the work: smaller images"},
        {.change = "prefetch=9",
         .advice = PP_ADVICE_NO,
         .gain = 0.01,
         .low = 0,
         .high = 0.02,
         .samples_per_s = 10,
         .text = ""},
    };
    struct pp_report r = {.verdict = {.l1 = "loader", .fixes = fixes, .n_fixes = 4}};
    put_text(&pp_section_fixes, &r, "verdict.fixes");
    assert_string_equal(text, "\nPredicted gains (replay, 80 % interval)\n"
                              "  +50 % (+40 to +60 %)      workers=8: 15 samples/s; more\n"
                              "  +20 % (+10 to +30 %)      workers=4: 12 samples/s\n"
                              "  +90 % (+80 to +100 %)     half the work: 19 samples/s;\n"
                              "                            smaller images\n");
    free(text);
    r.verdict.l1 = NULL; /* no cause: nothing to predict for */
    put_text(&pp_section_fixes, &r, "verdict.fixes");
    assert_string_equal(text, "");
    free(text);
}

static void a_list_leads_with_the_name_and_ends_in_what_to_do(void **state)
{
    struct pp_report_finding findings[] = {
        {.kind = "first-batch", .state = PP_FINDING_FOUND, .sentence = "slow <start>", .next_step = "wait"},
        {.kind = "epoch-order", .state = PP_FINDING_NOT_FOUND, .sentence = "all differ"},
        {.kind = "late-rank", .state = PP_FINDING_FOUND, .sentence = "rank 3"},
        {.kind = "buffer-debt", .state = PP_FINDING_NOT_FOUND, .sentence = "none"},
    };
    struct pp_report r = {.findings = findings, .n_findings = 4};
    struct pp_section_rows rows = pp_section_rows(&pp_section_found, &r, "findings");
    put_text(&pp_section_found, &r, "findings");
    assert_string_equal(text, "  ! first-batch       slow <start>\n"
                              "                      wait\n"
                              "  ! late-rank         rank 3\n");
    free(text);
    put_text(&pp_section_not_found, &r, "findings");
    assert_string_equal(text, "  - not found         epoch-order, buffer-debt\n");
    free(text);
    FILE *out = open_memstream(&text, &text_size);
    assert_int_equal(pp_section_md(out, &rows, 99), 2);
    fclose(out);
    assert_string_equal(text, "**Also found:**\n\n- **first-batch:** slow &lt;start&gt;. wait\n"
                              "- **late-rank:** rank 3\n");
    free(text);
    out = open_memstream(&text, &text_size);
    pp_html_section(out, &rows);
    fclose(out);
    assert_string_equal(text, "<dl><dt>first-batch</dt><dd>slow &lt;start&gt;. <strong>wait</strong></dd>\n"
                              "<dt>late-rank</dt><dd>rank 3</dd>\n</dl>\n");
    free(text);
}

static void a_kind_of_errors_has_its_other_files_below(void **state)
{
    struct pp_report_error_example files[] = {{"a", "cut", 1}, {"b", "empty", 2}, {"c", NULL, 1}};
    struct pp_report_error_kind kind = {.kind = "corrupt",
                                        .action = "skipped",
                                        .example_path = "a",
                                        .example_reason = "cut",
                                        .count = 4,
                                        .examples = files,
                                        .n_examples = 3};
    struct pp_report r = {.error_kinds = &kind, .n_error_kinds = 1};
    put_text(&pp_section_errors, &r, "errors");
    assert_string_equal(text, "    4 corrupt, skipped; such as a: cut\n      b (2 visits): empty\n      c\n");
    free(text);
}

/* The same numbers in three printers; in HTML each with its place in the document. */
static void a_line_of_the_gpu_has_its_own_unit(void **state)
{
    struct pp_report_gpu g = {.busy_share = 0.5, .copy_bytes_per_s = 2048};
    struct pp_report r = {.gpu = &g};
    struct pp_gpu_line line[PP_GPU_LINES];
    struct pp_section_rows rows = pp_section_gpu_rows(&r, line);
    FILE *out = open_memstream(&text, &text_size);
    pp_section_text(&(struct pp_page){.out = out, .columns = 80}, &rows);
    pp_section_md(out, &rows, 99);
    pp_html_section(out, &rows);
    fclose(out);
    assert_non_null(strstr(text, "  busy with kernels                         50.0 %\n"));
    assert_non_null(strstr(text, "| GPU | |\n|---|---:|\n| busy with kernels | 50.0 % |\n"));
    assert_non_null(strstr(text, "data-v=\"0.5\" data-k=\"gpu.busy_share\">50.0 %</span></td>"));
    assert_non_null(strstr(text, "data-k=\"gpu.idle.launch_gap_share\""));
    assert_non_null(strstr(text, "data-k=\"gpu.copy_bytes_per_s\">2.00 KiB</span>/s</td>"));
    free(text);
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
        cmocka_unit_test(a_file_has_its_visits),
        cmocka_unit_test(what_was_measured_of_the_gpu_is_a_line),
        cmocka_unit_test(a_long_cell_wraps_behind_the_others),
        cmocka_unit_test(a_row_is_a_sentence_where_a_cell_has_no_room),
        cmocka_unit_test(changes_are_listed_as_they_are_advised),
        cmocka_unit_test(a_list_leads_with_the_name_and_ends_in_what_to_do),
        cmocka_unit_test(a_kind_of_errors_has_its_other_files_below),
        cmocka_unit_test(a_line_of_the_gpu_has_its_own_unit),
        cmocka_unit_test(no_rows_no_table),
    };
    return cmocka_run_group_tests_name("sections", tests, NULL, NULL);
}
