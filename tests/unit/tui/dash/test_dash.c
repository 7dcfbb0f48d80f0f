/* Golden screens of the dashboard: every view of a recorded run at four sizes, and the pictures in the pages.
 */
#include "tests/support/dash_fixture.h"
#include "report/build/build.h"
#include "tests/support/golden.h"

#include "tui/dash/verdict.h"

/* ---- golden screens ---- */

static void compare(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "dash/%s.txt", name);
    golden_check(path, text);
}

static struct pp_predicted predicted_by_four_workers(void)
{
    return (struct pp_predicted){.set = "num_workers=4",
                                 .measured = 157.9,
                                 .p = {.samples_per_s = 205,
                                       .low = 190,
                                       .high = 214,
                                       .gain = 0.298,
                                       .gain_low = 0.203,
                                       .gain_high = 0.355,
                                       .data_wait_share = 0.012}};
}

/* Every view, at four sizes, in UTF-8 and in the C locale, with colour and without: a file each, the screens
 * one after the other. */
static void test_golden_sizes(void **state)
{
    static const struct {
        int rows, cols;
    } sizes[] = {{40, 120}, {24, 80}, {10, 40}, {1, 1}};
    static const char typed[PP_VIEW_COUNT + 1] = "ogwbceviW?";
    struct pp_predicted answer = predicted_by_four_workers();
    for (int view = 0; view <= PP_VIEW_COUNT; view++) {
        struct pp_dash_state s = dash_press(dash_press(pp_dash_start, ":33\n"),
                                            (char[]){typed[view], typed[view] == 'W' ? '+' : 'j', '\0'});
        char name[80], *all = NULL;
        size_t size;
        FILE *f = open_memstream(&all, &size);
        dash_model.predicted = &answer;
        for (size_t i = 0; i < 4 * sizeof(sizes) / sizeof(*sizes); i++) {
            int utf8 = i >> 1 & 1, color = i & 1, rows = sizes[i / 4].rows, cols = sizes[i / 4].cols;
            char *text = dash_print(rows, cols, utf8 ? PP_GLYPHS_BLOCK : PP_GLYPHS_ASCII, color, &s);
            for (const char *p = text; !utf8 && *p; p++)
                assert_true((unsigned char)*p < 0x80); /* no garbage where only ASCII can be shown */
            if (!color)
                assert_null(strchr(text, '\033'));
            fprintf(f, "==== %dx%d, %s, %s\n%s", cols, rows, utf8 ? "UTF-8" : "C locale",
                    color ? "colour" : "NO_COLOR", text);
            free(text);
        }
        dash_model.predicted = NULL;
        fclose(f);
        snprintf(name, sizeof(name), "view-%s", view == PP_VIEW_COUNT ? "help" : pp_view_names[view]);
        compare(name, all);
        free(all);
    }
}

static void test_golden_views(void **state)
{
    static const struct {
        const char *name, *typed;
    } views[] = {
        {"stall", ":10\n}"},
        {"search", "w/worker-2"},
        {"filtered", "w\\worker-1\n"},
        {"sorted", "wssS"},
    };
    for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
        struct pp_dash_state s = dash_press(dash_press(pp_dash_start, ":42\n"), views[i].typed);
        char *text = dash_print(24, 80, PP_GLYPHS_ASCII, 0, &s);
        compare(views[i].name, text);
        free(text);
    }
    struct pp_report moment = {
        .data_wait_share = 0.31,
        .verdict = {
            .l0 = "input-bound",
            .l1 = "loader",
            .level = "highly",
            .confidence = 0.71,
            .certainty = "likely",
            .exposed_share = 0.31,
            .headline = "LOADER-BOUND",
            .next_step = "Use more workers: --workers auto picks one per usable CPU.",
            .cause = "the 3 workers are busy with decode",
            .sentence =
                "Training runs at 180 samples/s and waits for data 31 % of the time. Cause: the 3 workers are busy with decode. [LOADER-BOUND, likely]"}};
    struct pp_dash_state at33 = dash_press(pp_dash_start, ":33\n");
    dash_model.moment = &moment;
    dash_model.moment_from_ns = MADE_T0 + 19 * MADE_S;
    dash_model.moment_to_ns = MADE_T0 + 34 * MADE_S;
    char *told = dash_print(30, 120, PP_GLYPHS_ASCII, 0, &at33);
    compare("moment", told);
    free(told);
    dash_snap.stalled_ns = 4.4e9;
    dash_snap.workers[1].sample_age_ns = 4.5e9;
    dash_snap.workers[1].sample = 6001;
    dash_snap.workers[1].path = "/data/imagenet/train/n01440764/n01440764_6001.JPEG";
    told = dash_print(30, 120, PP_GLYPHS_ASCII, 0, &at33);
    compare("stalled", told);
    free(told);
    dash_model.moment = NULL;
    struct pp_dash_state s = dash_press(pp_dash_start, ":42\n");
    char *text = dash_print(30, 100, PP_GLYPHS_BRAILLE, 0, &s);
    compare("braille", text);
    free(text);
}

/* ---- the words of the report ---- */

/* A starved step, an epoch's end, a job that failed: each in its own words, and whole on a usual screen. */
static void test_verdict_has_the_reports_words(void **state)
{
    struct pp_report before = dash_report;
    struct pp_dash_state s = pp_dash_start;
    dash_report.data_wait_share = 0.087;
    dash_report.starved_s = 3;
    dash_report.verdict.exposed_share = 0.66;
    dash_report.verdict.headline = "CPU-STARVED (cpu-contended)";
    char *text = dash_print(24, 80, PP_GLYPHS_ASCII, 0, &s);
    assert_non_null(strstr(text, "CPU-STARVED (cpu-contended), waits 8.7 % for data and 57 % for a CPU;"));
    assert_non_null(strstr(text, "faster tier, a cache or packed shards.")); /* the end of what to do */
    free(text);
    text = dash_print(20, 40, PP_GLYPHS_ASCII, 0, &s);
    for (const char *const *n = (const char *const[]){"8.7 %", "57 %", "+9 %", NULL}; *n; n++)
        assert_non_null(strstr(text, *n)); /* at 40 columns the numbers stay */
    free(text);
    dash_report.verdict.outside = "between epochs";
    dash_report.verdict.outside_share = 0.29;
    text = dash_print(24, 80, PP_GLYPHS_ASCII, 0, &s);
    assert_non_null(strstr(text, ", loses 29 % of the time between epochs;"));
    free(text);
    enum pp_live_state was = dash_snap.state;
    dash_snap.state = PP_LIVE_FAILED;
    dash_report.outcome = "failed";
    dash_report.ended = "worker 1 raised OSError: image file is truncated";
    dash_report.ended_remedy = "Mend the sample.";
    text = dash_print(24, 80, PP_GLYPHS_ASCII, 0, &s);
    assert_non_null(strstr(text, "Failed: worker 1 raised OSError: image file is truncated."));
    assert_non_null(strstr(text, "Do: Mend the sample."));
    free(text);
    dash_snap.state = was;
    dash_report = before;
}

static void test_workers_of_several_loaders(void **state)
{
    struct pp_report before = dash_report;
    struct pp_report_loader loaders[2] = {{.row = "1.0"}, {.row = "1.1"}};
    struct pp_report_worker workers[2] = {{.thread = dash_snap.workers[0].thread, .loader = "train_loader"},
                                          {.thread = dash_snap.workers[1].thread, .loader = "val_loader"}};
    const char *names[] = {dash_snap.workers[0].name, dash_snap.workers[1].name};
    struct pp_dash_state s = pp_dash_start;
    dash_report.loaders = loaders, dash_report.n_loaders = 2;
    dash_report.workers = workers, dash_report.n_workers = 2;
    dash_snap.workers[0].name = dash_snap.workers[1].name = "worker 0";
    char *text = dash_print(34, 80, PP_GLYPHS_ASCII, 0, &s);
    assert_non_null(strstr(text, "0 train_loader"));
    assert_non_null(strstr(text, "0 val_loader"));
    free(text);
    dash_snap.workers[0].name = names[0], dash_snap.workers[1].name = names[1];
    dash_report = before;
}

/* ---- the status line ---- */

/* Whose pipeline it is stands there at 80 columns; and all that the line may say at once has room. */
static void test_status_names_its_subject(void **state)
{
    static const struct {
        enum pp_subject_kind kind;
        const char *subject, *shown;
    } rows[] = {
        {PP_SUBJECT_OWN_LOADER, "pipeprobe's own loader on /data/imagenet/train", " pipeprobe's loader  "},
        {PP_SUBJECT_PYTORCH_LOADER, "PyTorch's DataLoader on /data", " PyTorch DataLoader  "},
        {PP_SUBJECT_JOB, "the job train.py", " job train.py  "},
        {PP_SUBJECT_PROGRAM, "the program x (libpipeprobe)", " program x  "},
    };
    struct pp_dash_state s = dash_press(pp_dash_start, ":33\n");
    struct pp_report before = dash_report;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        dash_report.subject_kind = rows[i].kind;
        dash_report.subject = rows[i].subject;
        char *text = dash_print(24, 80, PP_GLYPHS_ASCII, 0, &s);
        assert_non_null(strstr(text, rows[i].shown));
        assert_non_null(strstr(text, "errors 0"));
        free(text);
    }
    dash_look(&s);
    dash_snap.gpu[PP_LIVE_GPU_UTILIZATION] = 42;
    dash_snap.dropped = 7;
    char *text = dash_print(24, 200, PP_GLYPHS_ASCII, 0, &s);
    static const char *const parts[] = {"samples/s", "wait ",    "program x",    "errors ",   "AU ",
                                        "over 5 s",  "GPU 42 %", "spans lost 7", "run.sqlite"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        assert_non_null(strstr(text, parts[i]));
    free(text);
    dash_report = before;
    dash_look(&s);
}

/* ---- pictures ---- */

static char *read_all(const char *path)
{
    FILE *in = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (!in || !text)
        fail_msg("%s is missing: run from the repository's root", path);
    size_t n = fread(text, 1, (1 << 20) - 1, in);
    text[n] = '\0';
    fclose(in);
    return text;
}

static void write_all(const char *path, const char *before, size_t n, const char *middle, const char *after)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fwrite(before, 1, n, out);
    fprintf(out, "%s%s", middle, after);
    assert_int_equal(fclose(out), 0);
}

/* A page has the line "<!-- screen NAME -->", and under it, after a blank line, the screen as an indented
 * block. */
static void compare_picture(const char *page, const char *name, const char *screen)
{
    char mark[80], *text = read_all(page), *block = NULL, *copy = strdup(screen), *rest = copy, *line;
    size_t size;
    FILE *f = open_memstream(&block, &size);
    while ((line = strsep(&rest, "\n")) && rest)
        fprintf(f, *line ? "    %s\n" : "\n", line);
    fputc('\n', f);
    fclose(f);
    snprintf(mark, sizeof(mark), "\n<!-- screen %s -->\n\n", name);
    char *at = strstr(text, mark), *end = at ? at + strlen(mark) : NULL;
    if (!at)
        fail_msg("%s has no line '<!-- screen %s -->'", page, name);
    size_t head = (size_t)(end - text);
    while (*end == '\n' || strncmp(end, "    ", 4) == 0)
        end += strcspn(end, "\n") + 1;
    if (getenv("PP_GOLDEN_UPDATE"))
        write_all(page, text, head, block, end);
    else if (strncmp(text + head, block, strlen(block)) != 0 || text + head + strlen(block) != end)
        fail_msg("%s: screen %s is out of date; PP_GOLDEN_UPDATE=1 renews it; it is now:\n%s", page, name,
                 block);
    free(block);
    free(copy);
    free(text);
}

/* The screens in the pages are of the recorded run of this test, judged for real: what a reader sees is what
 * the program shows. */
static void test_pictures(void **state)
{
    static const struct {
        const char *page, *name;
        int rows, cols;
        const char *typed;
    } pictures[] = {
        {"docs/guide/dashboard.md", "overview", 32, 100, ""},
        {"docs/guide/dashboard.md", "batch", 13, 100, "b"},
        {"docs/guide/dashboard.md", "what-if", 22, 100, "W"},
        {"docs/guide/dashboard.md", "small", 10, 40, ""},
    };
    struct pp_report *whole, *moment;
    struct pp_predicted answer;
    struct pp_predictor *p = pp_predictor_start(dash_run->path);
    const struct pp_verdict_part part = {MADE_T0 + 20 * MADE_S, MADE_T0 + 35 * MADE_S};
    assert_int_equal(pp_verdict_of(dash_run->path, NULL, NULL, &whole, NULL), PP_OK);
    assert_int_equal(pp_verdict_of(dash_run->path, &part, NULL, &moment, NULL), PP_OK);
    struct pp_dash_model before = dash_model;
    dash_model.report = whole;
    dash_model.moment = moment;
    dash_model.moment_from_ns = MADE_T0 + 20 * MADE_S;
    dash_model.moment_to_ns = MADE_T0 + 35 * MADE_S;
    for (size_t i = 0; i < sizeof(pictures) / sizeof(*pictures); i++) {
        struct pp_dash_state s = dash_press(dash_press(pp_dash_start, ":34\n"), pictures[i].typed);
        while (s.view == PP_VIEW_WHATIF && !(pp_predictor_ask(p, "", &answer) && answer.set[0] == '\0'))
            usleep(10000);
        dash_model.predicted = &answer;
        char *screen = dash_print(pictures[i].rows, pictures[i].cols, PP_GLYPHS_BLOCK, 0, &s);
        dash_model.predicted = NULL;
        compare_picture(pictures[i].page, pictures[i].name, screen);
        free(screen);
    }
    dash_model = before;
    pp_predictor_stop(p);
    pp_report_free(whole);
    pp_report_free(moment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_sizes),
        cmocka_unit_test(test_golden_views),
        cmocka_unit_test(test_verdict_has_the_reports_words),
        cmocka_unit_test(test_workers_of_several_loaders),
        cmocka_unit_test(test_status_names_its_subject),
        cmocka_unit_test(test_pictures),
    };
    return cmocka_run_group_tests_name("dash", tests, dash_setup, dash_teardown);
}
