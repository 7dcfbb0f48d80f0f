/* The dashboard's keys and clicks: the table, the reducer that they move, and the state in words and in JSON.
 */
#include "tests/support/dash_fixture.h"

#include "tui/dash/draw.h"
#include "tui/dash/state.h"
#include "tui/dash/rows.h"

#include <jansson.h>
#include <math.h>

/* ---- keys ---- */

static void test_key_table(void **state)
{
    int used[0x2000] = {0};
    for (size_t i = 0; i < pp_keys_n; i++) {
        const struct pp_key *k = &pp_keys[i];
        assert_in_range(k->key, 0x21, 0x7e); /* every action is on a plain character */
        assert_int_equal(k->name[0], k->key);
        assert_true(k->help && k->help[0]);
        const int all[] = {k->key, k->alias[0], k->alias[1]};
        for (int a = 0; a < 3; a++)
            if (all[a] && used[all[a]]++)
                fail_msg("key %d of '%s' is used twice", all[a], k->help);
        assert_ptr_equal(pp_key_find(k->key), k);
    }
    assert_null(pp_key_find(PP_KEY_NONE));
    assert_null(pp_key_find('@'));
}

/* docs/guide/dashboard.md has a line "| `key` | help |" for each row of the table, and none besides. */
static void test_keys_are_documented(void **state)
{
    char *text = calloc(1, 1 << 20), line[256];
    FILE *in = fopen("docs/guide/dashboard.md", "r");
    if (!in)
        fail_msg("docs/guide/dashboard.md is missing: run from the repository's root");
    assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
    fclose(in);
    const char *at = strstr(text, "\n## Keys\n"), *end = at ? strstr(at + 2, "\n## ") : NULL;
    assert_true(at && end);
    size_t rows = 0;
    for (const char *p = at; (p = strstr(p, "\n| `")) && p < end; p++)
        rows++;
    assert_int_equal(rows, pp_keys_n);
    for (size_t i = 0; i < pp_keys_n; i++) {
        snprintf(line, sizeof(line), "\n| `%s`%s%s | %s |\n", pp_keys[i].name,
                 pp_keys[i].alias_name ? ", " : "", pp_keys[i].alias_name ? pp_keys[i].alias_name : "",
                 pp_keys[i].help);
        if (!strstr(text, line))
            fail_msg("docs/guide/dashboard.md lacks this line:%s", line);
    }
    free(text);
}

/* ---- state ---- */

static void test_views(void **state)
{
    static const struct {
        int key;
        enum pp_view view;
    } rows[] = {
        {'g', PP_VIEW_STAGES}, {'w', PP_VIEW_WORKERS}, {'b', PP_VIEW_BATCH},       {'c', PP_VIEW_LINES},
        {'e', PP_VIEW_ERRORS}, {'v', PP_VIEW_EVENTS},  {'i', PP_VIEW_ENVIRONMENT}, {'o', PP_VIEW_OVERVIEW},
    };
    struct pp_dash_state s = pp_dash_start;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        s = pp_dash_key(s, rows[i].key, &dash_model);
        assert_int_equal(s.view, rows[i].view);
    }
    for (int i = 0; i < PP_VIEW_COUNT; i++)
        s = pp_dash_key(s, PP_KEY_TAB, &dash_model);
    assert_int_equal(s.view, PP_VIEW_OVERVIEW); /* once around */
    s = dash_press(pp_dash_start, "g?");
    assert_true(s.help);
    s = pp_dash_key(s, PP_KEY_ESC, &dash_model);
    assert_false(s.help);
    assert_int_equal(s.view, PP_VIEW_STAGES);
    for (int i = 0; i < 5; i++)
        s = pp_dash_key(s, PP_KEY_ESC, &dash_model);
    assert_false(s.quit); /* Esc never quits */
    assert_true(dash_press(s, "q").quit);
}

static void test_pause_step_and_replay(void **state)
{
    struct pp_dash_state s = pp_dash_start;
    dash_look(&s);
    uint64_t last = dash_snap.last_s;
    s = dash_press(s, "[");
    assert_int_equal(s.mode, PP_MODE_HOLD);
    assert_int_equal(dash_snap.at_s, last - 1);
    s = dash_press(s, "]");
    assert_int_equal(dash_snap.at_s, last);
    s = dash_press(s, "]");
    assert_string_equal(s.message, "this is the newest complete second");
    s = dash_press(s, ":10\n");
    assert_int_equal(s.input, PP_INPUT_NONE);
    assert_int_equal(dash_snap.at_s, 1010);
    s = dash_press(s, "}");
    uint64_t stall = dash_snap.at_s;
    assert_in_range(stall, 1030, 1031);
    s = dash_press(s, "}");
    assert_int_equal(dash_snap.at_s, stall);
    assert_non_null(strstr(s.message, "no later stall"));
    s = dash_press(s, "{");
    assert_int_equal(dash_snap.at_s, stall);
    s = dash_press(s, "p");
    assert_int_equal(s.mode, PP_MODE_PLAY);
    s = dash_press(s, ">");
    assert_string_equal(s.message, "replay speed 2x");
    s = pp_dash_tick(s, 750000000, &dash_model);
    assert_int_equal(s.at_s, stall + 1);
    s = pp_dash_tick(s, 250000000, &dash_model);
    assert_int_equal(s.at_s, stall + 2);
    s = dash_press(s, "p");
    assert_int_equal(s.mode, PP_MODE_HOLD);
    struct pp_dash_state held = pp_dash_tick(s, 5000000000, &dash_model);
    assert_int_equal(held.at_s, s.at_s);
    s = dash_press(s, "p");
    s = pp_dash_tick(s, 100000000000, &dash_model);
    assert_int_equal(s.mode, PP_MODE_FOLLOW); /* at the end it follows */
    s = dash_press(s, ":soon\n");
    assert_non_null(strstr(s.message, "is not a time"));
    assert_int_equal(s.mode, PP_MODE_FOLLOW);
    s = dash_press(dash_press(s, ":1d9"), "\x1b");
    assert_int_equal(s.input, PP_INPUT_NONE);
}

static void test_pause_of_a_live_run_goes_on_live(void **state)
{
    struct pp_dash_state s = pp_dash_start;
    dash_look(&s);
    dash_snap.state = PP_LIVE_RUNNING;
    s = pp_dash_key(s, ' ', &dash_model);
    assert_int_equal(s.mode, PP_MODE_HOLD);
    s = pp_dash_key(s, ' ', &dash_model);
    assert_int_equal(s.mode, PP_MODE_FOLLOW);
    s = pp_dash_key(pp_dash_key(s, '[', &dash_model), 'f', &dash_model);
    assert_int_equal(s.mode, PP_MODE_FOLLOW);
}

static void test_sort_filter_search(void **state)
{
    struct pp_rows rows;
    struct pp_dash_state s = dash_press(pp_dash_start, "w:40s\n");
    pp_rows_of(&s, &dash_model, &rows);
    assert_int_equal(rows.n, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rows.index[i], i);
    s = dash_press(s, "S");
    pp_rows_of(&s, &dash_model, &rows);
    assert_int_equal(rows.index[0], 2);
    s = dash_press(s, "S");
    while (s.sort % PP_SORTS != PP_SORT_ERRORS)
        s = dash_press(s, "s");
    pp_rows_of(&s, &dash_model, &rows);
    assert_int_equal(rows.index[0], 1); /* the one with an error */
    s = dash_press(s, "\\worker-2\n");
    pp_rows_of(&s, &dash_model, &rows);
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.index[0], 2);
    s = dash_press(s, "jjjj");
    assert_int_equal(s.selected[PP_VIEW_WORKERS], 0); /* stays within what is shown */
    s = dash_press(dash_press(s, "\\"), "\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\n");
    pp_rows_of(&s, &dash_model, &rows);
    assert_int_equal(rows.n, 3);
    s = dash_press(s, "s/worker-0\n");
    pp_rows_of(&s, &dash_model, &rows);
    assert_string_equal(dash_snap.workers[rows.index[s.selected[PP_VIEW_WORKERS]]].name, "pp-worker-0");
    s = dash_press(s, "/nothing has this\n");
    assert_non_null(strstr(s.message, "is not found in this view"));
    s = dash_press(s, "iL");
    assert_int_equal(s.selected[PP_VIEW_ENVIRONMENT], (int)dash_model.n_facts - 1);
    s = dash_press(s, "H");
    assert_int_equal(s.selected[PP_VIEW_ENVIRONMENT], 0);
    s = dash_press(s, "@");
    assert_non_null(strstr(s.message, "unknown key"));
}

static void test_knobs(void **state)
{
    char set[256];
    struct pp_dash_state s = dash_press(pp_dash_start, "+");
    assert_non_null(strstr(s.message, "what-if view"));
    s = dash_press(s, "W++j-");
    assert_string_equal(pp_knobs_text(&s, &dash_model, set, sizeof(set)), "num_workers=5 prefetch_factor=1");
    s = dash_press(s, "-");
    assert_string_equal(s.message, "prefetch_factor is at its limit");
    s = dash_press(s, "0k0");
    assert_string_equal(pp_knobs_text(&s, &dash_model, set, sizeof(set)), "");
    s = dash_press(s, "/batch-size\n+/decode\n---/cache\n++++++++++++");
    assert_string_equal(pp_knobs_text(&s, &dash_model, set, sizeof(set)),
                        "batch_size=16 cache=1 decode=0.51");
}

static struct pp_dash_state click_on(struct pp_dash_state s, int rows, int cols, const char *text, int offset)
{
    struct pp_grid g = {0};
    assert_true(pp_grid_resize(&g, rows, cols));
    pp_draw(&g, PP_GLYPHS_ASCII, &s, &dash_model);
    size_t n = strlen(text);
    for (int r = rows - 1; r >= 0; r--)
        for (int c = 0; c + (int)n <= cols; c++) {
            size_t same = 0;
            while (same < n && g.cell[r * cols + c + (int)same].c == (unsigned char)text[same])
                same++;
            if (same == n) {
                s = pp_dash_click(s, &dash_model, &g, r, c + offset);
                pp_grid_free(&g);
                return s;
            }
        }
    fail_msg("'%s' is not on the screen", text);
    return s;
}

static void test_clicks(void **state)
{
    struct pp_dash_state s = dash_press(pp_dash_start, ":40\n");
    s = click_on(s, 30, 120, "pp-worker-2", 3);
    assert_int_equal(s.selected[PP_VIEW_OVERVIEW], 2);
    s = click_on(s, 30, 120, "Workers by", 0); /* a heading chooses nothing */
    assert_int_equal(s.selected[PP_VIEW_OVERVIEW], 2);
    s = click_on(s, 30, 120, "o g w b", 2);
    assert_int_equal(s.view, PP_VIEW_STAGES);
    s = click_on(s, 30, 120, "transform", 0);
    assert_int_equal(s.selected[PP_VIEW_STAGES], 2);
    s = click_on(s, 30, 120, "? help", 4);
    assert_true(s.help);
    s = click_on(s, 30, 120, "? help", 0);
    assert_false(s.help);
    s = click_on(s, 30, 120, "[ ] step", 5);
    assert_int_equal(s.at_s, 1039);
    s = click_on(s, 30, 120, "[ ] step", 2);
    dash_look(&s);
    s = click_on(s, 30, 120, "i W views", 2);
    assert_int_equal(s.view, PP_VIEW_WHATIF);
    s = click_on(s, 30, 120, "prefetch", 0);
    assert_int_equal(s.selected[PP_VIEW_WHATIF], 1);
    assert_true(click_on(s, 30, 120, "q quit", 3).quit);
    s = pp_dash_key(s, PP_KEY_WHEEL_DOWN, &dash_model);
    assert_int_equal(s.selected[PP_VIEW_WHATIF], 2);
    s = pp_dash_key(s, PP_KEY_WHEEL_UP, &dash_model);
    assert_int_equal(s.selected[PP_VIEW_WHATIF], 1);
    struct pp_dash_state typing = dash_press(s, "/deco");
    typing = click_on(typing, 30, 120, "workers", 0);
    assert_int_equal(typing.selected[PP_VIEW_WHATIF], 1); /* what is being typed comes first */
}

/* Wherever the click is, at any size, the state stays one that can be drawn. */
static void test_clicks_everywhere(void **state)
{
    struct pp_dash_state s = dash_press(pp_dash_start, ":42\n");
    struct pp_grid g = {0};
    struct pp_rows rows;
    for (int view = 0; view <= PP_VIEW_COUNT; view++)
        for (int size = 1; size <= 45; size += 4) {
            s.view = (enum pp_view)(view % PP_VIEW_COUNT);
            s.help = view == PP_VIEW_COUNT;
            assert_true(pp_grid_resize(&g, size, size * 4));
            pp_draw(&g, PP_GLYPHS_ASCII, &s, &dash_model);
            for (int row = -1; row <= size; row++)
                for (int col = -1; col <= size * 4; col += 3) {
                    struct pp_dash_state after = pp_dash_click(s, &dash_model, &g, row, col);
                    pp_rows_of(&after, &dash_model, &rows);
                    assert_true(after.selected[after.view] >= 0 &&
                                (after.selected[after.view] < rows.n || rows.n == 0));
                }
        }
    pp_grid_free(&g);
}

/* Whatever is typed, the state stays one that can be drawn. */
static void test_random_keys(void **state)
{
    struct pp_dash_state s = pp_dash_start;
    struct pp_grid g = {0};
    uint64_t x = 88172645463325252u;
    dash_look(&s);
    for (int i = 0; i < 3000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17; /* Marsaglia's xorshift64 */
        const struct pp_key *k = &pp_keys[x % pp_keys_n];
        int key = x >> 32 & 1 ? k->key : x >> 33 & 1 ? (int)(x >> 40 & 0xff) : k->alias[0];
        s = pp_dash_key(s, key, &dash_model);
        s = pp_dash_tick(s, x >> 44, &dash_model);
        s.quit = s.dump = s.redraw = 0;
        if (i % 10)
            continue;
        dash_look(&s);
        assert_true(dash_snap.at_s >= dash_snap.first_s && dash_snap.at_s <= dash_snap.last_s);
        assert_true(pp_grid_resize(&g, 1 + (int)(x >> 8 & 63), 1 + (int)(x >> 16 & 127)));
        pp_draw(&g, (enum pp_glyph_set)(x >> 24 & 1), &s, &dash_model);
    }
    pp_grid_free(&g);
    s = pp_dash_start;
    dash_look(&s);
}

/* ---- words ---- */

static void test_state_in_words(void **state)
{
    char text[1024];
    struct pp_dash_state s = pp_dash_start;
    dash_look(&s);
    assert_string_equal(pp_state_text(&s, &dash_model, text, sizeof(text)), "ENDED finished");
    dash_snap.state = PP_LIVE_KILLED;
    assert_string_equal(pp_state_text(&s, &dash_model, text, sizeof(text)), "ENDED killed");
    dash_snap.state = PP_LIVE_RUNNING;
    dash_snap.quiet_s = 0.4;
    assert_string_equal(pp_state_text(&s, &dash_model, text, sizeof(text)), "LIVE");
    dash_snap.quiet_s = 12.3;
    assert_string_equal(pp_state_text(&s, &dash_model, text, sizeof(text)), "STALE 12 s");
    dash_snap.deleted = 1;
    assert_string_equal(pp_state_text(&s, &dash_model, text, sizeof(text)), "STALE 12 s, file deleted");
    dash_look(&s);
    s = dash_press(s, "[[");
    assert_string_equal(pp_state_text(&s, &dash_model, text, sizeof(text)), "PAUSED -0:02");
    pp_line_text(&s, &dash_model, text, sizeof(text));
    assert_non_null(strstr(text, "samples/s"));
    assert_non_null(strstr(text, "STORAGE-BOUND"));
    assert_null(strchr(text, '\n'));
}

static void test_json(void **state)
{
    dash_press(pp_dash_start, ":42\n");
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    assert_int_equal(pp_fields_json(pp_dash_fields, &dash_model, f), 0);
    fclose(f);
    json_t *doc = json_loads(out, 0, NULL);
    assert_non_null(doc);
    assert_string_equal(json_string_value(json_object_get(doc, "schema")), "pipeprobe.top/1");
    assert_true(fabs(json_number_value(json_object_get(doc, "at_s")) - 43) < 1e-6);
    assert_true(json_number_value(json_object_get(doc, "samples_per_s")) == dash_snap.samples_per_s);
    assert_int_equal(json_array_size(json_object_get(doc, "workers")), 3);
    json_t *third = json_array_get(json_object_get(doc, "workers"), 1);
    assert_non_null(strstr(json_string_value(json_object_get(third, "path")), "/data/imagenet/train/n"));
    assert_true(json_is_null(json_object_get(doc, "moment_verdict")));
    assert_int_equal(json_array_size(json_object_get(doc, "stages")), dash_snap.n_stages);
    json_decref(doc);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_table),
        cmocka_unit_test(test_keys_are_documented),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_pause_step_and_replay),
        cmocka_unit_test(test_pause_of_a_live_run_goes_on_live),
        cmocka_unit_test(test_sort_filter_search),
        cmocka_unit_test(test_knobs),
        cmocka_unit_test(test_clicks),
        cmocka_unit_test(test_clicks_everywhere),
        cmocka_unit_test(test_random_keys),
        cmocka_unit_test(test_state_in_words),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests_name("dash_keys", tests, dash_setup, dash_teardown);
}
