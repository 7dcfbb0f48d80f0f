/* The dashboard without a terminal: keys, the reducer, the layout and the frame at every size, golden screens of a recorded run. */
#include "golden.h"
#include "made_run.h"

#include "tui/dash/click.h"
#include "tui/dash/draw.h"
#include "tui/dash/json.h"
#include "tui/dash/keys.h"
#include "tui/dash/knobs.h"
#include "tui/dash/rows.h"
#include "tui/dash/verdict.h"

#include <ctype.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>

static struct made_run *run;
static struct pp_live *live;
static struct pp_live_snapshot snap;
static const struct pp_report_fix fix = {.knob = "workers", .to = "8", .text = "Use more workers.", .gain = 0.09, .low = 0.05, .high = 0.11, .samples_per_s = 173};
static struct pp_report report = {
    .outcome = "finished",
    .verdict = {
        .l0 = "input-bound", .l1 = "storage", .l2 = "latency", .level = "moderately", .confidence = 0.87, .exposed_share = 0.084, .fixes = &fix, .n_fixes = 1,
        .headline = "STORAGE-BOUND (latency)",
        .sentence = "STORAGE-BOUND (latency), 87 % sure: the trainer waits 8.4 % of its step time for data (MODERATELY input-bound); meanwhile read takes 62 % of the workers' time and is blocked 94 % of it",
        .next_step = "More reads in flight (--workers, --prefetch) when latency holds them up; a faster tier, a cache or packed shards when bandwidth does.",
    },
};
static struct pp_dash_model model = {.path = "runs/run.sqlite", .snap = &snap, .report = &report};

static void look(const struct pp_dash_state *s)
{
    assert_int_equal(pp_live_at(live, pp_dash_at(s), pp_windows[s->window], &snap, NULL), PP_OK);
}

static struct pp_dash_state keys(struct pp_dash_state s, const char *typed)
{
    for (; *typed; typed++) {
        s = pp_dash_key(s, *typed, &model);
        look(&s);
    }
    return s;
}

static int setup(void **state)
{
    run = made_begin();
    made_seconds(run, 0, MADE_SECONDS);
    made_finish(run);
    assert_int_equal(pp_live_open(run->path, &live, NULL), PP_OK);
    model.facts = pp_live_facts(live, &model.n_facts);
    struct pp_dash_state s = pp_dash_start();
    look(&s);
    return 0;
}

static int teardown(void **state)
{
    pp_live_close(live);
    made_free(run);
    return 0;
}

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

/* docs/TOP.md has a line "| `key` | help |" for each row of the table, and none besides. */
static void test_keys_are_documented(void **state)
{
    char *text = calloc(1, 1 << 20), line[256];
    FILE *in = fopen("docs/TOP.md", "r");
    if (!in)
        fail_msg("docs/TOP.md is missing: run from the repository's root");
    assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
    fclose(in);
    const char *at = strstr(text, "\n## Keys\n"), *end = at ? strstr(at + 2, "\n## ") : NULL;
    assert_true(at && end);
    size_t rows = 0;
    for (const char *p = at; (p = strstr(p, "\n| `")) && p < end; p++)
        rows++;
    assert_int_equal(rows, pp_keys_n);
    for (size_t i = 0; i < pp_keys_n; i++) {
        snprintf(line, sizeof(line), "\n| `%s`%s%s | %s |\n", pp_keys[i].name, pp_keys[i].alias_name ? ", " : "", pp_keys[i].alias_name ? pp_keys[i].alias_name : "", pp_keys[i].help);
        if (!strstr(text, line))
            fail_msg("docs/TOP.md lacks this line:%s", line);
    }
    free(text);
}

/* ---- state ---- */

static void test_views(void **state)
{
    static const struct { int key; enum pp_view view; } rows[] = {
        {'g', PP_VIEW_STAGES}, {'w', PP_VIEW_WORKERS}, {'b', PP_VIEW_BATCH}, {'e', PP_VIEW_ERRORS}, {'v', PP_VIEW_EVENTS}, {'i', PP_VIEW_ENVIRONMENT}, {'o', PP_VIEW_OVERVIEW},
    };
    struct pp_dash_state s = pp_dash_start();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        s = pp_dash_key(s, rows[i].key, &model);
        assert_int_equal(s.view, rows[i].view);
    }
    for (int i = 0; i < PP_VIEW_COUNT; i++)
        s = pp_dash_key(s, PP_KEY_TAB, &model);
    assert_int_equal(s.view, PP_VIEW_OVERVIEW); /* once around */
    s = keys(pp_dash_start(), "g?");
    assert_true(s.help);
    s = pp_dash_key(s, PP_KEY_ESC, &model);
    assert_false(s.help);
    assert_int_equal(s.view, PP_VIEW_STAGES);
    for (int i = 0; i < 5; i++)
        s = pp_dash_key(s, PP_KEY_ESC, &model);
    assert_false(s.quit); /* Esc never quits */
    assert_true(keys(s, "q").quit);
}

static void test_pause_step_and_replay(void **state)
{
    struct pp_dash_state s = pp_dash_start();
    look(&s);
    uint64_t last = snap.last_s;
    s = keys(s, "[");
    assert_int_equal(s.mode, PP_MODE_HOLD);
    assert_int_equal(snap.at_s, last - 1);
    s = keys(s, "]");
    assert_int_equal(snap.at_s, last);
    s = keys(s, "]");
    assert_string_equal(s.message, "this is the newest complete second");
    s = keys(s, ":10\n");
    assert_int_equal(s.input, PP_INPUT_NONE);
    assert_int_equal(snap.at_s, 1010);
    s = keys(s, "}");
    uint64_t stall = snap.at_s;
    assert_in_range(stall, 1030, 1031);
    s = keys(s, "}");
    assert_int_equal(snap.at_s, stall);
    assert_non_null(strstr(s.message, "no later stall"));
    s = keys(s, "{");
    assert_int_equal(snap.at_s, stall);
    s = keys(s, "p");
    assert_int_equal(s.mode, PP_MODE_PLAY);
    s = keys(s, ">");
    assert_string_equal(s.message, "replay speed 2x");
    s = pp_dash_tick(s, 750000000, &model);
    assert_int_equal(s.at_s, stall + 1);
    s = pp_dash_tick(s, 250000000, &model);
    assert_int_equal(s.at_s, stall + 2);
    s = keys(s, "p");
    assert_int_equal(s.mode, PP_MODE_HOLD);
    struct pp_dash_state held = pp_dash_tick(s, 5000000000, &model);
    assert_int_equal(held.at_s, s.at_s);
    s = keys(s, "p");
    s = pp_dash_tick(s, 100000000000, &model);
    assert_int_equal(s.mode, PP_MODE_FOLLOW); /* at the end it follows */
    s = keys(s, ":soon\n");
    assert_non_null(strstr(s.message, "is no time"));
    assert_int_equal(s.mode, PP_MODE_FOLLOW);
    s = keys(keys(s, ":1d9"), "\x1b");
    assert_int_equal(s.input, PP_INPUT_NONE);
}

static void test_pause_of_a_live_run_goes_on_live(void **state)
{
    struct pp_dash_state s = pp_dash_start();
    look(&s);
    snap.state = PP_LIVE_RUNNING;
    s = pp_dash_key(s, ' ', &model);
    assert_int_equal(s.mode, PP_MODE_HOLD);
    s = pp_dash_key(s, ' ', &model);
    assert_int_equal(s.mode, PP_MODE_FOLLOW);
    s = pp_dash_key(pp_dash_key(s, '[', &model), 'f', &model);
    assert_int_equal(s.mode, PP_MODE_FOLLOW);
}

static void test_sort_filter_search(void **state)
{
    struct pp_rows rows;
    struct pp_dash_state s = keys(pp_dash_start(), "w:40s\n");
    pp_rows_of(&s, &model, &rows);
    assert_int_equal(rows.n, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rows.index[i], i);
    s = keys(s, "S");
    pp_rows_of(&s, &model, &rows);
    assert_int_equal(rows.index[0], 2);
    s = keys(s, "S");
    while (s.sort % PP_SORTS != PP_SORT_ERRORS)
        s = keys(s, "s");
    pp_rows_of(&s, &model, &rows);
    assert_int_equal(rows.index[0], 1); /* the one with an error */
    s = keys(s, "\\worker-2\n");
    pp_rows_of(&s, &model, &rows);
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.index[0], 2);
    s = keys(s, "jjjj");
    assert_int_equal(s.selected[PP_VIEW_WORKERS], 0); /* stays within what is shown */
    s = keys(keys(s, "\\"), "\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\n");
    pp_rows_of(&s, &model, &rows);
    assert_int_equal(rows.n, 3);
    s = keys(s, "s/worker-0\n");
    pp_rows_of(&s, &model, &rows);
    assert_string_equal(snap.workers[rows.index[s.selected[PP_VIEW_WORKERS]]].name, "pp-worker-0");
    s = keys(s, "/nothing has this\n");
    assert_non_null(strstr(s.message, "is in no row"));
    s = keys(s, "iL");
    assert_int_equal(s.selected[PP_VIEW_ENVIRONMENT], (int)model.n_facts - 1);
    s = keys(s, "H");
    assert_int_equal(s.selected[PP_VIEW_ENVIRONMENT], 0);
    s = keys(s, "@");
    assert_non_null(strstr(s.message, "does nothing"));
}

static void test_knobs(void **state)
{
    char set[256];
    struct pp_dash_state s = keys(pp_dash_start(), "+");
    assert_non_null(strstr(s.message, "what-if view"));
    s = keys(s, "W++j-");
    assert_string_equal(pp_knobs_text(&s, &model, set, sizeof(set)), "workers=5 prefetch=1");
    s = keys(s, "-");
    assert_string_equal(s.message, "prefetch goes no further");
    s = keys(s, "0k0");
    assert_string_equal(pp_knobs_text(&s, &model, set, sizeof(set)), "");
    s = keys(s, "/batch-size\n+/decode\n---/cache\n++++++++++++");
    assert_string_equal(pp_knobs_text(&s, &model, set, sizeof(set)), "batch-size=16 cache=1 decode=0.51");
    /* every name is one that the prediction knows */
    for (int i = 0; i < PP_KNOBS; i++) {
        const char *name = NULL, *values;
        for (int k = 0; pp_knobs_help(k, &name, &values) && strcmp(name, pp_knob_rows[i].name) != 0; k++) {
        }
        assert_string_equal(name, pp_knob_rows[i].name);
    }
}

static struct pp_dash_state click_on(struct pp_dash_state s, int rows, int cols, const char *text, int offset)
{
    struct pp_grid g = {0};
    assert_true(pp_grid_resize(&g, rows, cols));
    pp_draw(&g, PP_GLYPHS_ASCII, &s, &model);
    size_t n = strlen(text);
    for (int r = rows - 1; r >= 0; r--)
        for (int c = 0; c + (int)n <= cols; c++) {
            size_t same = 0;
            while (same < n && g.cell[r * cols + c + (int)same].c == (unsigned char)text[same])
                same++;
            if (same == n) {
                s = pp_dash_click(s, &model, &g, r, c + offset);
                pp_grid_free(&g);
                return s;
            }
        }
    fail_msg("'%s' is not on the screen", text);
    return s;
}

static void test_clicks(void **state)
{
    struct pp_dash_state s = keys(pp_dash_start(), ":40\n");
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
    look(&s);
    s = click_on(s, 30, 120, "i W views", 2);
    assert_int_equal(s.view, PP_VIEW_WHATIF);
    s = click_on(s, 30, 120, "prefetch", 0);
    assert_int_equal(s.selected[PP_VIEW_WHATIF], 1);
    assert_true(click_on(s, 30, 120, "q quit", 3).quit);
    s = pp_dash_key(s, PP_KEY_WHEEL_DOWN, &model);
    assert_int_equal(s.selected[PP_VIEW_WHATIF], 2);
    s = pp_dash_key(s, PP_KEY_WHEEL_UP, &model);
    assert_int_equal(s.selected[PP_VIEW_WHATIF], 1);
    struct pp_dash_state typing = keys(s, "/deco");
    typing = click_on(typing, 30, 120, "workers", 0);
    assert_int_equal(typing.selected[PP_VIEW_WHATIF], 1); /* what is being typed comes first */
}

/* Wherever the click is, at any size, the state stays one that can be drawn. */
static void test_clicks_everywhere(void **state)
{
    struct pp_dash_state s = keys(pp_dash_start(), ":42\n");
    struct pp_grid g = {0};
    struct pp_rows rows;
    for (int view = 0; view <= PP_VIEW_COUNT; view++)
        for (int size = 1; size <= 45; size += 4) {
            s.view = (enum pp_view)(view % PP_VIEW_COUNT);
            s.help = view == PP_VIEW_COUNT;
            assert_true(pp_grid_resize(&g, size, size * 4));
            pp_draw(&g, PP_GLYPHS_ASCII, &s, &model);
            for (int row = -1; row <= size; row++)
                for (int col = -1; col <= size * 4; col += 3) {
                    struct pp_dash_state after = pp_dash_click(s, &model, &g, row, col);
                    pp_rows_of(&after, &model, &rows);
                    assert_true(after.selected[after.view] >= 0 && (after.selected[after.view] < rows.n || rows.n == 0));
                }
        }
    pp_grid_free(&g);
}

/* Whatever is typed, the state stays one that can be drawn. */
static void test_random_keys(void **state)
{
    struct pp_dash_state s = pp_dash_start();
    struct pp_grid g = {0};
    uint64_t x = 88172645463325252u;
    look(&s);
    for (int i = 0; i < 3000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17; /* Marsaglia's xorshift64 */
        const struct pp_key *k = &pp_keys[x % pp_keys_n];
        int key = x >> 32 & 1 ? k->key : x >> 33 & 1 ? (int)(x >> 40 & 0xff) : k->alias[0];
        s = pp_dash_key(s, key, &model);
        s = pp_dash_tick(s, x >> 44, &model);
        s.quit = s.dump = s.redraw = 0;
        if (i % 10)
            continue;
        look(&s);
        assert_true(snap.at_s >= snap.first_s && snap.at_s <= snap.last_s);
        assert_true(pp_grid_resize(&g, 1 + (int)(x >> 8 & 63), 1 + (int)(x >> 16 & 127)));
        pp_draw(&g, (enum pp_glyph_set)(x >> 24 & 1), &s, &model);
    }
    pp_grid_free(&g);
    s = pp_dash_start();
    look(&s);
}

/* ---- layout ---- */

static int overlap(const struct pp_box *a, const struct pp_box *b)
{
    return a->row < b->row + b->rows && b->row < a->row + a->rows && a->col < b->col + b->cols && b->col < a->col + a->cols;
}

static void check_layout(int rows, int cols, enum pp_view view, int help, const int *want)
{
    struct pp_placed out[PP_PANEL_COUNT];
    size_t n = pp_layout(rows, cols, view, help, want, out);
    assert_in_range(n, 1, PP_PANEL_COUNT);
    for (size_t i = 0; i < n; i++) {
        const struct pp_box *b = &out[i].box;
        if (b->rows < 1 || b->cols < 1 || b->row < 0 || b->col < 0 || b->row + b->rows > rows || b->col + b->cols > cols)
            fail_msg("%dx%d view %d: panel %d is at %d,%d and %dx%d", cols, rows, (int)view, (int)out[i].panel, b->row, b->col, b->cols, b->rows);
        for (size_t k = 0; k < i; k++)
            if (overlap(b, &out[k].box))
                fail_msg("%dx%d view %d: panels %d and %d overlap", cols, rows, (int)view, (int)out[k].panel, (int)out[i].panel);
    }
    if (rows >= PP_ROWS_NEEDED && cols >= PP_COLS_NEEDED)
        assert_int_equal(out[n - 1].box.row + out[n - 1].box.rows, rows); /* no row is left over */
    else
        assert_int_equal(out[0].panel, PP_PANEL_TOO_SMALL);
}

static void test_layout_of_every_size(void **state)
{
    static const int wants[][PP_PANEL_COUNT] = {{0}, {5, 1, 17, 10, 5, 6, 1, 1, 1, 1, 1, 1, 1}, {99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99}};
    for (int rows = 1; rows <= 100; rows++)
        for (int cols = 1; cols <= 300; cols++)
            for (int view = 0; view <= PP_VIEW_COUNT; view++)
                for (int w = 0; w < 3; w++)
                    check_layout(rows, cols, (enum pp_view)(view % PP_VIEW_COUNT), view == PP_VIEW_COUNT, wants[w]);
    assert_int_equal(pp_layout(0, 80, PP_VIEW_OVERVIEW, 0, wants[0], (struct pp_placed[PP_PANEL_COUNT]){{0}}), 0);
}

/* A cell says which box it belongs to; one outside all boxes is blank. */
static void check_drawn(const struct pp_grid *g, const struct pp_dash_state *s)
{
    struct pp_placed placed[PP_PANEL_COUNT];
    size_t n = pp_draw_layout(g->rows, g->cols, s, &model, placed);
    for (int r = 0; r < g->rows; r++)
        for (int c = 0; c < g->cols; c++) {
            const struct pp_cell *cell = &g->cell[r * g->cols + c];
            size_t in = 0;
            while (in < n && !overlap(&placed[in].box, &(struct pp_box){r, c, 1, 1}))
                in++;
            if ((cell->c < 0x20 && cell->c != 0) || cell->c == 0x7f || cell->style >= PP_STYLE_COUNT || (in == n && cell->c != ' '))
                fail_msg("%dx%d view %d: cell %d,%d holds U+%04X in style %d%s", g->cols, g->rows, (int)s->view, r, c, (unsigned)cell->c, cell->style, in == n ? ", outside all panels" : "");
        }
}

/* Every size from 1x1 to 300x100, the views in turn, and every view at every size of up to 30 rows and 100 columns: printable characters in known
 * styles, none outside the panels; a write outside the cells is the sanitizer's to find. PP_TEST_EVERY=1: every view at every size (minutes). */
static void test_draws_inside_at_every_size(void **state)
{
    struct pp_dash_state s = keys(pp_dash_start(), ":42\n");
    struct pp_grid g = {0};
    int every = getenv("PP_TEST_EVERY") != NULL;
    for (int rows = 1; rows <= 100; rows++)
        for (int cols = 1; cols <= 300; cols++)
            for (int view = 0; view <= PP_VIEW_COUNT; view++) {
                if (!every && view != (rows * 7 + cols) % (PP_VIEW_COUNT + 1) && (rows > 30 || cols > 100 || (rows + cols) % 5))
                    continue;
                s.view = (enum pp_view)(view % PP_VIEW_COUNT);
                s.help = view == PP_VIEW_COUNT;
                assert_true(pp_grid_resize(&g, rows, cols));
                pp_draw(&g, (enum pp_glyph_set)((rows + cols) % PP_GLYPH_SETS), &s, &model);
                check_drawn(&g, &s);
            }
    pp_grid_free(&g);
}

/* ---- grid ---- */

static void test_grid_text(void **state)
{
    static const struct { const char *text, *utf8, *ascii; int columns; } rows[] = {
        {"plain", "plain", "plain", 5}, {"caf\xc3\xa9!", "caf\xc3\xa9!", "caf?!", 5}, {"a\x1b[31mb\n", "a?[31mb?", "a?[31mb?", 8}, {"\xff\xc0\xaf", "???", "???", 3},
        {"\xe7\x8c\xab.", "\xe7\x8c\xab.", "?.", 3}, {"e\xcc\x81x", "ex", "e?x", 2}, {"\xed\xa0\x80", "???", "???", 3}, {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "?", 2},
    };
    struct pp_grid g = {0};
    struct pp_box box = {0, 0, 1, 20};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (int ascii = 0; ascii < 2; ascii++) {
            char *out = NULL;
            size_t size;
            FILE *f = open_memstream(&out, &size);
            assert_true(pp_grid_resize(&g, 1, 20));
            g.ascii = ascii;
            pp_grid_put(&g, &box, 0, 0, PP_STYLE_PLAIN, rows[i].text);
            if (!ascii)
                assert_int_equal(pp_grid_columns(&g, rows[i].text), rows[i].columns);
            assert_int_equal(pp_grid_print(&g, 0, f), 0);
            fclose(f);
            out[strcspn(out, "\n")] = '\0';
            assert_string_equal(out, ascii ? rows[i].ascii : rows[i].utf8);
            free(out);
        }
    /* half of a wide character has no room */
    assert_true(pp_grid_resize(&g, 1, 2));
    pp_grid_put(&g, &(struct pp_box){0, 0, 1, 2}, 0, 1, PP_STYLE_PLAIN, "\xe7\x8c\xab");
    assert_int_equal(g.cell[1].c, '?');
    pp_grid_put(&g, &(struct pp_box){0, 0, 1, 1}, 0, 0, PP_STYLE_PLAIN, "abcdef");
    assert_int_equal(g.cell[1].c, '?'); /* outside of the box nothing changed */
    pp_grid_free(&g);
}

static void test_glyphs_follow_the_locale(void **state)
{
    assert_non_null(setlocale(LC_CTYPE, "C"));
    assert_int_equal(pp_glyphs_of_locale(), PP_GLYPHS_ASCII);
    if (setlocale(LC_CTYPE, "C.UTF-8"))
        assert_int_equal(pp_glyphs_of_locale(), PP_GLYPHS_BLOCK);
    setlocale(LC_CTYPE, "C");
}

/* ---- golden screens ---- */

static char *print(int rows, int cols, enum pp_glyph_set glyphs, int color, const struct pp_dash_state *s)
{
    struct pp_grid g = {0};
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    assert_true(pp_grid_resize(&g, rows, cols));
    pp_draw(&g, glyphs, s, &model);
    assert_int_equal(pp_grid_print(&g, color, f), 0);
    fclose(f);
    pp_grid_free(&g);
    return out;
}

static void compare(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "dash/%s.txt", name);
    golden_check(path, text);
}

static struct pp_predicted predicted_by_four_workers(void)
{
    return (struct pp_predicted){.set = "workers=4", .measured = 157.9, .p = {.samples_per_s = 205, .low = 190, .high = 214, .gain = 0.298, .gain_low = 0.203, .gain_high = 0.355, .data_wait_share = 0.012}};
}

/* Every view, at four sizes, in UTF-8 and in the C locale, with colour and without: a file each, the screens one after the other. */
static void test_golden_sizes(void **state)
{
    static const struct { int rows, cols; } sizes[] = {{40, 120}, {24, 80}, {10, 40}, {1, 1}};
    static const char typed[PP_VIEW_COUNT + 1] = "ogwbeviW?";
    struct pp_predicted answer = predicted_by_four_workers();
    for (int view = 0; view <= PP_VIEW_COUNT; view++) {
        struct pp_dash_state s = keys(keys(pp_dash_start(), ":33\n"), (char[]){typed[view], typed[view] == 'W' ? '+' : 'j', '\0'});
        char name[80], *all = NULL;
        size_t size;
        FILE *f = open_memstream(&all, &size);
        model.predicted = &answer;
        for (size_t i = 0; i < 4 * sizeof(sizes) / sizeof(*sizes); i++) {
            int utf8 = i >> 1 & 1, color = i & 1, rows = sizes[i / 4].rows, cols = sizes[i / 4].cols;
            char *text = print(rows, cols, utf8 ? PP_GLYPHS_BLOCK : PP_GLYPHS_ASCII, color, &s);
            for (const char *p = text; !utf8 && *p; p++)
                assert_true((unsigned char)*p < 0x80); /* no garbage where only ASCII can be shown */
            if (!color)
                assert_null(strchr(text, '\033'));
            fprintf(f, "==== %dx%d, %s, %s\n%s", cols, rows, utf8 ? "UTF-8" : "C locale", color ? "colour" : "NO_COLOR", text);
            free(text);
        }
        model.predicted = NULL;
        fclose(f);
        snprintf(name, sizeof(name), "view-%s", view == PP_VIEW_COUNT ? "help" : pp_view_name((enum pp_view)view));
        compare(name, all);
        free(all);
    }
}

static void test_golden_views(void **state)
{
    static const struct { const char *name, *typed; } views[] = {
        {"stall", ":10\n}"}, {"search", "w/worker-2"}, {"filtered", "w\\worker-1\n"}, {"sorted", "wssS"},
    };
    for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
        struct pp_dash_state s = keys(keys(pp_dash_start(), ":42\n"), views[i].typed);
        char *text = print(24, 80, PP_GLYPHS_ASCII, 0, &s);
        compare(views[i].name, text);
        free(text);
    }
    struct pp_report moment = {.verdict = {.l0 = "input-bound", .l1 = "loader", .level = "highly", .confidence = 0.71, .exposed_share = 0.31, .headline = "LOADER-BOUND", .next_step = "Use more workers: --workers auto picks one per usable CPU.",
                                           .sentence = "LOADER-BOUND, 71 % sure: the trainer waits 31 % of its step time for data (HIGHLY input-bound); the 3 workers are busy with decode"}};
    struct pp_dash_state at33 = keys(pp_dash_start(), ":33\n");
    model.moment = &moment;
    model.moment_from_ns = MADE_T0 + 19 * MADE_S;
    model.moment_to_ns = MADE_T0 + 34 * MADE_S;
    char *told = print(30, 120, PP_GLYPHS_ASCII, 0, &at33);
    compare("moment", told);
    free(told);
    snap.stalled_ns = 4.4e9;
    snap.workers[1].sample_age_ns = 4.5e9;
    snap.workers[1].sample = 6001;
    snap.workers[1].path = "/data/imagenet/train/n01440764/n01440764_6001.JPEG";
    told = print(30, 120, PP_GLYPHS_ASCII, 0, &at33);
    compare("stalled", told);
    free(told);
    model.moment = NULL;
    struct pp_dash_state s = keys(pp_dash_start(), ":42\n");
    char *text = print(30, 100, PP_GLYPHS_BRAILLE, 0, &s);
    compare("braille", text);
    free(text);
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

/* A page has the line "<!-- screen NAME -->", and under it, after a blank line, the screen as an indented block. */
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
        fail_msg("%s: screen %s is out of date; PP_GOLDEN_UPDATE=1 renews it; it is now:\n%s", page, name, block);
    free(block);
    free(copy);
    free(text);
}

/* The screens in the pages are of the recorded run of this test, judged for real: what a reader sees is what the program shows. */
static void test_pictures(void **state)
{
    static const struct { const char *page, *name; int rows, cols; const char *typed; } pictures[] = {
        {"README.md", "overview", 27, 100, ""}, {"docs/TOP.md", "overview", 32, 100, ""}, {"docs/TOP.md", "batch", 13, 100, "b"}, {"docs/TOP.md", "what-if", 22, 100, "W"},
        {"docs/TOP.md", "small", 10, 40, ""},
    };
    struct pp_report *whole, *moment;
    struct pp_predicted answer;
    struct pp_predictor *p = pp_predictor_start(run->path);
    assert_int_equal(pp_verdict_of_all(run->path, &whole, NULL), PP_OK);
    assert_int_equal(pp_verdict_of_part(run->path, MADE_T0 + 20 * MADE_S, MADE_T0 + 35 * MADE_S, &moment, NULL), PP_OK);
    struct pp_dash_model before = model;
    model.report = whole;
    model.moment = moment;
    model.moment_from_ns = MADE_T0 + 20 * MADE_S;
    model.moment_to_ns = MADE_T0 + 35 * MADE_S;
    for (size_t i = 0; i < sizeof(pictures) / sizeof(*pictures); i++) {
        struct pp_dash_state s = keys(keys(pp_dash_start(), ":34\n"), pictures[i].typed);
        while (s.view == PP_VIEW_WHATIF && !(pp_predictor_ask(p, "", &answer) && answer.set[0] == '\0'))
            usleep(10000);
        model.predicted = &answer;
        char *screen = print(pictures[i].rows, pictures[i].cols, PP_GLYPHS_BLOCK, 0, &s);
        model.predicted = NULL;
        compare_picture(pictures[i].page, pictures[i].name, screen);
        free(screen);
    }
    model = before;
    pp_predictor_stop(p);
    pp_report_free(whole);
    pp_report_free(moment);
}

/* ---- words ---- */

static void test_state_in_words(void **state)
{
    char text[1024];
    struct pp_dash_state s = pp_dash_start();
    look(&s);
    assert_string_equal(pp_state_text(&s, &model, text, sizeof(text)), "ENDED finished");
    snap.state = PP_LIVE_KILLED;
    assert_string_equal(pp_state_text(&s, &model, text, sizeof(text)), "ENDED killed");
    snap.state = PP_LIVE_RUNNING;
    snap.quiet_s = 0.4;
    assert_string_equal(pp_state_text(&s, &model, text, sizeof(text)), "LIVE");
    snap.quiet_s = 12.3;
    assert_string_equal(pp_state_text(&s, &model, text, sizeof(text)), "STALE 12 s");
    snap.deleted = 1;
    assert_string_equal(pp_state_text(&s, &model, text, sizeof(text)), "STALE 12 s, file deleted");
    look(&s);
    s = keys(s, "[[");
    assert_string_equal(pp_state_text(&s, &model, text, sizeof(text)), "PAUSED -0:02");
    pp_line_text(&s, &model, text, sizeof(text));
    assert_non_null(strstr(text, "samples/s"));
    assert_non_null(strstr(text, "STORAGE-BOUND"));
    assert_null(strchr(text, '\n'));
}

static void test_json(void **state)
{
    struct pp_dash_state s = keys(pp_dash_start(), ":42\n");
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    assert_int_equal(pp_dash_json(&s, &model, f), 0);
    fclose(f);
    json_t *doc = json_loads(out, 0, NULL);
    assert_non_null(doc);
    assert_string_equal(json_string_value(json_object_get(doc, "schema")), "pipeprobe.top/1");
    assert_true(fabs(json_number_value(json_object_get(doc, "at_s")) - 43) < 1e-6);
    assert_true(json_number_value(json_object_get(doc, "samples_per_s")) == snap.samples_per_s);
    assert_int_equal(json_array_size(json_object_get(doc, "workers")), 3);
    json_t *third = json_array_get(json_object_get(doc, "workers"), 1);
    assert_non_null(strstr(json_string_value(json_object_get(third, "path")), "/data/imagenet/train/n"));
    assert_true(json_is_null(json_object_get(doc, "moment_verdict")));
    assert_int_equal(json_array_size(json_object_get(doc, "stages")), snap.n_stages);
    json_decref(doc);
    free(out);
}

/* What is judged at a glance is judged the same; only intervals and series are left out. */
static void test_glance_is_the_verdict(void **state)
{
    struct pp_report *whole, *glance;
    assert_int_equal(pp_report_build(run->path, &whole, NULL), PP_OK);
    assert_int_equal(pp_verdict_of_all(run->path, &glance, NULL), PP_OK);
    assert_string_equal(glance->verdict.sentence, whole->verdict.sentence);
    assert_string_equal(glance->verdict.next_step, whole->verdict.next_step);
    assert_true(glance->verdict.confidence == whole->verdict.confidence);
    assert_true(whole->verdict.n_fixes > 0);
    assert_int_equal(glance->verdict.n_fixes, whole->verdict.n_fixes);
    for (size_t i = 0; i < whole->verdict.n_fixes; i++) {
        assert_string_equal(glance->verdict.fixes[i].knob, whole->verdict.fixes[i].knob);
        assert_true(glance->verdict.fixes[i].gain == whole->verdict.fixes[i].gain && isnan(glance->verdict.fixes[i].low) && isfinite(whole->verdict.fixes[i].low));
    }
    pp_report_free(whole);
    pp_report_free(glance);
}

/* The two threads beside the display: verdict and prediction come, and an answer says which question it is for. */
static void test_threads_beside(void **state)
{
    struct pp_verdicts *v = pp_verdicts_start(run->path);
    struct pp_predictor *p = pp_predictor_start(run->path);
    const struct pp_report *r = NULL;
    struct pp_predicted answer = {.set = "none"};
    assert_true(v && p);
    for (int i = 0; i < 600 && (!r || strcmp(answer.set, "workers=4") != 0); i++) {
        pp_predictor_ask(p, i < 3 ? "workers=2" : "workers=4", &answer);
        r = pp_verdicts_newest(v);
        usleep(50000);
    }
    assert_non_null(r);
    assert_string_equal(r->outcome, "finished");
    assert_true(r->verdict.sentence && r->verdict.sentence[0]);
    assert_string_equal(answer.set, "workers=4");
    if (answer.status == PP_OK)
        assert_true(answer.p.low <= answer.p.samples_per_s && answer.p.samples_per_s <= answer.p.high && answer.measured > 0);
    else
        assert_true(answer.why[0]);
    pp_verdicts_wake(v);
    pp_verdicts_stop(v);
    pp_predictor_stop(p);
    /* of a part: the seconds that stall, and those before, get different verdicts, and each says which part it is of */
    static const struct { uint64_t from_s, to_s; const char *level; } parts[] = {{1030, 1035, "highly"}, {1010, 1025, "not"}, {1030, 1035, "highly"}};
    v = pp_verdicts_start_parts(run->path);
    assert_null(pp_verdicts_newest(v));
    for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++) {
        uint64_t from = parts[k].from_s * MADE_S, to = parts[k].to_s * MADE_S, of_from = 0, of_to = 0;
        for (int i = 0; i < 600 && (of_from != from || of_to != to); i++) {
            pp_verdicts_ask(v, from, to, 1);
            r = pp_verdicts_newest(v);
            pp_verdicts_part(v, &of_from, &of_to);
            usleep(20000);
        }
        assert_true(r && of_from == from && of_to == to);
        assert_string_equal(r->verdict.level, parts[k].level);
    }
    pp_verdicts_stop(v);
    /* a file that is not there gives no verdict, and stopping does not wait for one */
    v = pp_verdicts_start("/tmp/there/is/no/such.sqlite");
    assert_null(pp_verdicts_newest(v));
    pp_verdicts_stop(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_table), cmocka_unit_test(test_keys_are_documented), cmocka_unit_test(test_views), cmocka_unit_test(test_pause_step_and_replay),
        cmocka_unit_test(test_pause_of_a_live_run_goes_on_live), cmocka_unit_test(test_sort_filter_search), cmocka_unit_test(test_knobs), cmocka_unit_test(test_clicks), cmocka_unit_test(test_clicks_everywhere), cmocka_unit_test(test_random_keys),
        cmocka_unit_test(test_layout_of_every_size), cmocka_unit_test(test_draws_inside_at_every_size), cmocka_unit_test(test_grid_text),
        cmocka_unit_test(test_glyphs_follow_the_locale), cmocka_unit_test(test_golden_sizes), cmocka_unit_test(test_golden_views), cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_state_in_words), cmocka_unit_test(test_json), cmocka_unit_test(test_glance_is_the_verdict), cmocka_unit_test(test_threads_beside),
    };
    return cmocka_run_group_tests_name("dash", tests, setup, teardown);
}
