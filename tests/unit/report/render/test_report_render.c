/* The renderers: golden documents of a fixed run (PP_GOLDEN_UPDATE=1 rewrites them for review), the JSON
 * document against its published schema, and that no line of text is wider than the terminal. */
#include "probe/base/text.h"
#include "tests/support/golden.h"
#include "report/build/build.h"
#include "report/render/answer.h"
#include "tests/support/report_fixture.h"

#include <jansson.h>

static void render(const struct pp_report *r, int json, int color, int columns)
{
    FILE *out = open_memstream(&report_text, &report_text_size);
    assert_non_null(out);
    assert_int_equal(json ? pp_render_json(r, out) : pp_render_text(r, out, color, columns), 0);
    fclose(out);
}

static void golden(const struct pp_report *r, int json, const char *name)
{
    render(r, json, 0, 80);
    golden_check(name, report_text);
    free(report_text);
}

static void test_golden_text(void **state)
{
    golden(report_full(), 0, "report.txt");
}

static void golden_short(struct fake_run *f, const char *name)
{
    struct pp_report *r = report_of(f);
    FILE *out = open_memstream(&report_text, &report_text_size);
    assert_non_null(out);
    assert_int_equal(pp_render_short(r, out, 0, 80), 0);
    fclose(out);
    golden_check(name, report_text);
    free(report_text);
    report_done(r, f);
}

/* The answer of each class of verdict: what it says first, what there is to paste, what is left out. */
static void test_golden_short(void **state)
{
    golden_short(report_full_run(2), "report-short.txt");
    golden_short(calloc(1, sizeof(struct fake_run)), "report-short-empty.txt");
    for (int i = 0; i < REPORT_CLASSES; i++) {
        char name[64];
        snprintf(name, sizeof(name), "report-short-%s.txt", report_class_name(i));
        golden_short(report_of_class(i), name);
    }
}

/* The worst case: the run was killed, and every sentence is long. */
static void make_long(struct pp_report *r, char *path, char *reason)
{
    static struct pp_report_proof proofs[2];
    static struct pp_report_error_kind kinds[6];
    static struct pp_report_loss losses[2];
    static struct pp_report_decode decode;
    r->outcome = "interrupted";
    r->path = path;
    r->verdict.next_step = r->verdict.cause = reason;
    r->verdict.headline = "STORAGE-BOUND (latency)";
    r->verdict.other = "num_workers=3: 610 samples/s, +33 %";
    for (size_t k = 0; k < r->n_findings; k++)
        r->findings[k].state = PP_FINDING_FOUND, r->findings[k].sentence = reason;
    for (size_t k = 0; k < 6; k++)
        kinds[k] = (struct pp_report_error_kind){.kind = reason, .action = reason, .count = 3};
    for (size_t k = 0; k < 2; k++) {
        proofs[k] = (struct pp_report_proof){.kind = "fix", .change = reason, .value = "8"};
        losses[k] = (struct pp_report_loss){.what = reason, .why = reason, .count = 1};
    }
    decode = (struct pp_report_decode){.lost = reason, .gave_up = reason};
    r->decode = &decode;
    r->proofs = proofs, r->n_proofs = 2;
    r->error_kinds = kinds, r->n_error_kinds = 6;
    r->losses = losses, r->n_losses = 2;
}

/* One screen; two of them, however long the names in the recording are; and everything that is to be pasted
 * is on it unbroken but behind commas. */
static void test_short_is_one_screen(void **state)
{
    static char path[600], reason[3000];
    memset(path, 'x', sizeof(path) - 1);
    memset(reason, 'y', sizeof(reason) - 1);
    for (size_t i = 0; i < sizeof(reason) - 1; i += 7)
        reason[i] = ' ';
    for (int i = -3; i < REPORT_CLASSES; i++) {
        struct fake_run *f = i == -3   ? report_full_run(2)
                             : i == -2 ? report_full_run(128)
                             : i == -1 ? calloc(1, sizeof(*f))
                                       : report_of_class(i);
        struct pp_report *r = report_of(f);
        for (int worse = 0; worse <= (i < 0 ? 0 : 2); worse++) {
            if (worse)
                make_long(r, path, reason);
            if (worse == 2)
                r->verdict.action.words = reason, r->verdict.action.command = reason;
            FILE *out = open_memstream(&report_text, &report_text_size);
            assert_int_equal(pp_render_short(r, out, 0, 80), 0);
            fclose(out);
            int lines = 0;
            for (char *line = report_text, *end; (end = strchr(line, '\n')); line = end + 1, lines++) {
                int w = 0;
                for (char *p = line; p < end; p++)
                    w += ((unsigned char)*p & 0xc0) != 0x80;
                if (w > 80)
                    fail_msg("%d columns: %.*s", w, (int)(end - line), line);
            }
            if (lines > (worse ? 48 : 24))
                fail_msg("%d lines:\n%s", lines, report_text);
            assert_true(!worse || strstr(report_text, "\nINTERRUPTED after "));
            assert_true(!worse || strstr(report_text, "\nGPU:     lost during the run"));
            assert_true(!worse || strstr(report_text, "\nOr:      num_workers=3"));
            free(report_text);
        }
        report_done(r, f);
    }
}

/* What a recording says of its configuration is pasted as a count, or not at all. */
static void test_nothing_foreign_is_to_be_pasted(void **state)
{
    struct fake_run *f = report_of_class(0);
    for (size_t i = 0; i < f->n_meta; i++)
        if (strcmp(f->meta[i].section, "config") == 0 && strcmp(f->meta[i].key, "prefetch") == 0)
            f->meta[i].value = "4); import os; os.system('id'";
    struct pp_report *r = report_of(f);
    assert_non_null(r->verdict.action.python);
    assert_null(strstr(r->verdict.action.python, "import"));
    assert_null(strstr(r->verdict.action.python, "prefetch_factor"));
    report_done(r, f);
}

/* Of a recorded job nothing is assumed, and no option is named that only pipeprobe run has. */
static void test_a_job_gets_no_options_of_ours(void **state)
{
    for (int own = 0; own < 2; own++) {
        struct fake_run *f = report_of_class(0);
        for (size_t i = 0; i < f->n_meta && !own; i++)
            if (strcmp(f->meta[i].key, "step") == 0 || strcmp(f->meta[i].key, "format") == 0)
                f->meta[i].key = "map";
        struct pp_report *r = report_of(f);
        assert_int_equal(r->own_loader, own);
        assert_string_equal(r->verdict.action.python,
                            own ? "DataLoader(..., num_workers=8, prefetch_factor=4, pin_memory=True, "
                                  "persistent_workers=True)"
                                : "DataLoader(..., num_workers=8, prefetch_factor=4)");
        assert_true(!r->verdict.action.command == !own);
        FILE *out = open_memstream(&report_text, &report_text_size);
        assert_int_equal(pp_render_text(r, out, 0, 80), 0);
        fclose(out);
        assert_true((strstr(report_text, " --") != NULL) == own);
        free(report_text);
        report_done(r, f);
    }
}

static void test_golden_json(void **state)
{
    golden(report_full(), 1, "report.json");
}

static void test_golden_many_workers(void **state)
{
    struct fake_run *f = report_full_run(128);
    struct pp_report *r = report_of(f);
    golden(r, 0, "report-128-workers.txt");
    report_done(r, f);
}

static void test_golden_nothing_recorded(void **state)
{
    struct fake_run *f = calloc(1, sizeof(*f));
    struct pp_report *r = report_of(f);
    render(r, 0, 0, 80);
    golden_check("report-empty.txt", report_text);
    free(report_text);
    report_done(r, f);
}

/* No line is wider than the terminal, but for tables, which need 80 columns. */
static void test_text_fits(void **state)
{
    const struct pp_report *r = report_full();
    for (int columns = 80; columns <= 140; columns += 5) {
        render(r, 0, 0, columns);
        for (char *line = strtok(report_text, "\n"); line; line = strtok(NULL, "\n")) {
            int w = 0;
            for (char *p = line; *p; p++)
                w += ((unsigned char)*p & 0xc0) != 0x80;
            assert_in_range(w, 1, columns < 120 ? columns : 120);
        }
        free(report_text);
    }
}

/* Where there is little room, findings behind the first stand by name, with what explains a name. */
static void test_findings_by_name(void **state)
{
    struct pp_report r = *report_full();
    struct pp_report_finding found[] = {
        {.kind = "first-batch", .state = PP_FINDING_FOUND, .sentence = "the first batch is late"},
        {.kind = "worker-restarts", .state = PP_FINDING_FOUND, .sentence = "workers start again"},
        {.kind = "shm-full", .state = PP_FINDING_FOUND, .sentence = "/dev/shm is full"}};
    char buf[PP_ANSWER_TEXT];
    r.findings = found;
    r.n_findings = 3;
    assert_string_equal(
        pp_answer(&r, PP_ANSWER_FIRST_FINDING, buf),
        "the first batch is late. Found too: worker-restarts, shm-full (pipeprobe explain NAME)");
    assert_string_equal(pp_answer(&r, PP_ANSWER_FINDINGS, buf),
                        "the first batch is late; workers start again; /dev/shm is full");
}

/* On a page of 40 columns nothing is wider, but for what has no blank to break at: a terminal would break
 * numbers in two. Rows of tables are sentences there, with all numbers of the wide page. */
static void test_narrow_page(void **state)
{
    struct pp_report whole = *report_full(), *r = &whole;
    char share[32], rate[32];
    r->verdict.action.python = "DataLoader(..., num_workers=8, pin_memory=True, persistent_workers=True)";
    render(r, 0, 0, 40);
    assert_non_null(strstr(report_text, "persistent_workers=True)"));
    for (char *line = report_text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        size_t n = (size_t)(end - line), first = strspn(line, " ");
        if (n > 40 && (memchr(line + first, ' ', n - first) || strncmp(line + first, "persistent", 10) == 0))
            fail_msg("%zu columns: %.*s", n, (int)n, line);
    }
    for (size_t i = 0; i < r->n_workers; i++) {
        pp_text_percent(share, sizeof(share), r->workers[i].busy_share);
        pp_text_rate(rate, sizeof(rate), r->workers[i].samples_per_s);
        assert_true(strstr(report_text, share) && strstr(report_text, rate));
    }
    assert_non_null(strstr(report_text, "\n  read count "));
    assert_non_null(strstr(report_text, "\nHow this was decided (+ for the cause, -\nagainst it)\n"));
    free(report_text);
}

/* A run that cannot be replayed has no list of changes, and says why; what was ruled out stands there all the
 * same. */
static void test_no_change_is_predicted(void **state)
{
    static const char *const ruled_out[] = {"storage: the reads hit the page cache"};
    struct fake_run *f = report_full_run(2);
    struct pp_report *r = report_of(f);
    r->verdict.l0 = "input-bound";
    r->verdict.l1 = "storage";
    r->verdict.n_fixes = 0;
    r->verdict.action.fix = NULL;
    r->verdict.why_no_fixes = "the replay of the unchanged run is off by 53 %";
    r->verdict.ruled_out[0] = ruled_out[0];
    r->verdict.n_ruled_out = 1;
    render(r, 0, 0, 80);
    assert_non_null(
        strstr(report_text, "\nGain:    not predicted: the replay of the unchanged run is off by 53 %\n"));
    assert_non_null(strstr(report_text, "\nNot the cause ("));
    free(report_text);
    size_t size;
    FILE *out = open_memstream(&report_text, &size);
    assert_int_equal(pp_render_md(r, out), 0);
    fclose(out);
    assert_non_null(
        strstr(report_text, "\nGain: not predicted: the replay of the unchanged run is off by 53 %\n"));
    free(report_text);
    report_done(r, f);
}

/* Colour adds escapes and takes nothing away. */
static void test_color_only_adds(void **state)
{
    const struct pp_report *r = report_full();
    render(r, 0, 0, 80);
    char *plain = report_text;
    render(r, 0, 1, 80);
    assert_non_null(strchr(report_text, '\033'));
    assert_null(strchr(plain, '\033')); /* nor one from a file name */
    char *to = report_text;
    for (char *from = report_text; *from;) {
        if (*from == '\033')
            from = strchr(from, 'm') + 1;
        else
            *to++ = *from++;
    }
    *to = '\0';
    assert_string_equal(report_text, plain);
    free(report_text);
    free(plain);
}

/* ---- the published schema ---- */

static int type_matches(const json_t *schema_type, const json_t *value)
{
    const char *name = json_string_value(schema_type);
    switch (json_typeof(value)) {
    case JSON_OBJECT: return strcmp(name, "object") == 0;
    case JSON_ARRAY: return strcmp(name, "array") == 0;
    case JSON_STRING: return strcmp(name, "string") == 0;
    case JSON_INTEGER: return strcmp(name, "integer") == 0 || strcmp(name, "number") == 0;
    case JSON_REAL: return strcmp(name, "number") == 0;
    case JSON_TRUE:
    case JSON_FALSE: return strcmp(name, "boolean") == 0;
    case JSON_NULL: return strcmp(name, "null") == 0;
    }
    return 0;
}

static int any_type(const json_t *type, const json_t *value)
{
    if (json_is_string(type))
        return type_matches(type, value);
    for (size_t i = 0; i < json_array_size(type); i++)
        if (type_matches(json_array_get(type, i), value))
            return 1;
    return 0;
}

static int in_enum(const json_t *allowed, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(allowed); i++)
        if (json_equal(json_array_get(allowed, i), value))
            return 1;
    return 0;
}

/* The part of JSON Schema that the published one uses. */
static void check(const json_t *root, json_t *schema, json_t *value, const char *path)
{
    char sub[256];
    const char *ref = json_string_value(json_object_get(schema, "$ref")), *key;
    json_t *part, *name;
    size_t i;
    if (ref) {
        schema = json_object_get(json_object_get(root, "$defs"), strrchr(ref, '/') + 1);
        assert_non_null(schema);
    }
    json_t *type = json_object_get(schema, "type"), *allowed = json_object_get(schema, "enum"),
           *constant = json_object_get(schema, "const");
    if (type && !any_type(type, value))
        fail_msg("%s has the wrong type", path);
    if (allowed && !in_enum(allowed, value))
        fail_msg("%s is none of the listed values", path);
    if (constant && !json_equal(constant, value))
        fail_msg("%s is not the constant", path);
    json_t *low = json_object_get(schema, "minimum"), *high = json_object_get(schema, "maximum");
    if (json_is_number(value) && ((low && json_number_value(value) < json_number_value(low)) ||
                                  (high && json_number_value(value) > json_number_value(high))))
        fail_msg("%s is out of range", path);
    json_array_foreach(json_object_get(schema, "required"), i,
                       name) if (json_is_object(value) && !json_object_get(value, json_string_value(name)))
        fail_msg("%s lacks %s", path, json_string_value(name));
    json_t *properties = json_object_get(schema, "properties"), *items = json_object_get(schema, "items");
    if (json_is_object(value) && properties)
        json_object_foreach(value, key, part)
        {
            snprintf(sub, sizeof(sub), "%s.%s", path, key);
            json_t *property = json_object_get(properties, key);
            if (!property)
                fail_msg("%s is not in the schema", sub);
            check(root, property, part, sub);
        }
    if (json_is_array(value) && items)
        json_array_foreach(value, i, part)
        {
            snprintf(sub, sizeof(sub), "%s[%zu]", path, i);
            check(root, items, part, sub);
        }
}

static json_t *rendered(struct fake_run *f)
{
    json_error_t why;
    struct pp_report *r = report_of(f);
    render(r, 1, 0, 80);
    json_t *doc = json_loads(report_text, JSON_REJECT_DUPLICATES, &why);
    if (!doc)
        fail_msg("line %d: %s", why.line, why.text);
    free(report_text);
    pp_report_free(r);
    return doc;
}

static void test_schema(void **state)
{
    json_error_t why;
    json_t *schema = json_load_file("docs/report.schema.json", 0, &why);
    if (!schema)
        fail_msg("docs/report.schema.json: line %d: %s", why.line, why.text);
    struct fake_run *runs[] = {report_full_run(2), report_full_run(0), calloc(1, sizeof(struct fake_run))};
    for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
        json_t *doc = rendered(runs[i]);
        check(schema, schema, doc, "$");
        json_decref(doc);
        fake_free(runs[i]);
    }
    json_decref(schema);
}

/* Numbers are numbers and as the model has them; unknown is null. */
static void test_values(void **state)
{
    struct fake_run *f = report_full_run(2);
    struct pp_report *r = report_of(f);
    json_t *doc = rendered(f);
    assert_string_equal(json_string_value(json_object_get(doc, "schema")), "pipeprobe.report/1");
    assert_true(json_number_value(json_object_get(doc, "samples_per_s")) == r->samples_per_s);
    assert_true(json_number_value(json_object_get(doc, "data_wait_share")) == r->data_wait_share);
    assert_true(json_is_null(json_object_get(json_object_get(doc, "verdict"), "reason")));
    assert_int_equal(json_array_size(json_object_get(doc, "workers")), 2);
    assert_int_equal(json_array_size(json_object_get(doc, "phases")), r->n_phases);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(doc, "environment"), "memory_bytes")),
                     8589934592);
    assert_string_equal(json_string_value(json_object_get(json_object_get(doc, "config_notes"), "workers")),
                        "auto: one per usable CPU");
    json_decref(doc);
    report_done(r, f);
}

static void test_write_failure_is_told(void **state)
{
    const struct pp_report *r = report_full();
    for (int json = 0; json < 2; json++) {
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        assert_int_equal(json ? pp_render_json(r, full) : pp_render_text(r, full, 0, 80), -1);
        fclose(full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_text),
        cmocka_unit_test(test_golden_short),
        cmocka_unit_test(test_short_is_one_screen),
        cmocka_unit_test(test_nothing_foreign_is_to_be_pasted),
        cmocka_unit_test(test_a_job_gets_no_options_of_ours),
        cmocka_unit_test(test_golden_json),
        cmocka_unit_test(test_golden_many_workers),
        cmocka_unit_test(test_golden_nothing_recorded),
        cmocka_unit_test(test_text_fits),
        cmocka_unit_test(test_narrow_page),
        cmocka_unit_test(test_findings_by_name),
        cmocka_unit_test(test_no_change_is_predicted),
        cmocka_unit_test(test_color_only_adds),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_write_failure_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
