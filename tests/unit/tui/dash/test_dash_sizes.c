/* The dashboard at every size: panels stay inside and never overlap, a frame stays inside its panels, text
 * stays inside its box. */
#include "tests/support/dash_fixture.h"

#include "probe/base/text.h"

#include <locale.h>

/* ---- layout ---- */

static int overlap(const struct pp_box *a, const struct pp_box *b)
{
    return a->row < b->row + b->rows && b->row < a->row + a->rows && a->col < b->col + b->cols &&
           b->col < a->col + a->cols;
}

static void check_layout(int rows, int cols, enum pp_view view, int help, const int *want)
{
    struct pp_placed out[PP_PANEL_COUNT];
    size_t n = pp_layout(rows, cols, view, help, want, out);
    assert_in_range(n, 1, PP_PANEL_COUNT);
    for (size_t i = 0; i < n; i++) {
        const struct pp_box *b = &out[i].box;
        if (b->rows < 1 || b->cols < 1 || b->row < 0 || b->col < 0 || b->row + b->rows > rows ||
            b->col + b->cols > cols)
            fail_msg("%dx%d view %d: panel %d is at %d,%d and %dx%d", cols, rows, (int)view,
                     (int)out[i].panel, b->row, b->col, b->cols, b->rows);
        for (size_t k = 0; k < i; k++)
            if (overlap(b, &out[k].box))
                fail_msg("%dx%d view %d: panels %d and %d overlap", cols, rows, (int)view, (int)out[k].panel,
                         (int)out[i].panel);
    }
    if (rows >= PP_ROWS_NEEDED && cols >= PP_COLS_NEEDED)
        assert_int_equal(out[n - 1].box.row + out[n - 1].box.rows, rows); /* no row is left over */
    else
        assert_int_equal(out[0].panel, PP_PANEL_TOO_SMALL);
}

static void test_layout_of_every_size(void **state)
{
    static const int wants[][PP_PANEL_COUNT] = {{0},
                                                {5, 1, 17, 10, 5, 6, 1, 1, 1, 1, 1, 1, 1},
                                                {99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99}};
    for (int rows = 1; rows <= 100; rows++)
        for (int cols = 1; cols <= 300; cols++)
            for (int view = 0; view <= PP_VIEW_COUNT; view++)
                for (int w = 0; w < 3; w++)
                    check_layout(rows, cols, (enum pp_view)(view % PP_VIEW_COUNT), view == PP_VIEW_COUNT,
                                 wants[w]);
    assert_int_equal(pp_layout(0, 80, PP_VIEW_OVERVIEW, 0, wants[0], (struct pp_placed[PP_PANEL_COUNT]){{0}}),
                     0);
}

/* A cell says which box it belongs to; one outside all boxes is blank. */
static void check_drawn(const struct pp_grid *g, const struct pp_dash_state *s)
{
    struct pp_placed placed[PP_PANEL_COUNT];
    size_t n = pp_draw_layout(g->rows, g->cols, s, &dash_model, placed);
    for (int r = 0; r < g->rows; r++)
        for (int c = 0; c < g->cols; c++) {
            const struct pp_cell *cell = &g->cell[r * g->cols + c];
            size_t in = 0;
            while (in < n && !overlap(&placed[in].box, &(struct pp_box){r, c, 1, 1}))
                in++;
            if ((cell->c < 0x20 && cell->c != 0) || cell->c == 0x7f || cell->style >= PP_STYLE_COUNT ||
                (in == n && cell->c != ' '))
                fail_msg("%dx%d view %d: cell %d,%d holds U+%04X in style %d%s", g->cols, g->rows,
                         (int)s->view, r, c, (unsigned)cell->c, cell->style,
                         in == n ? ", outside all panels" : "");
        }
}

/* Every size from 1x1 to 300x100, the views in turn, and every view at every size of up to 30 rows and 100
 * columns: printable characters in known styles, none outside the panels; a write outside the cells is the
 * sanitizer's to find. PP_TEST_EVERY=1: every view at every size (minutes). */
static void test_draws_inside_at_every_size(void **state)
{
    struct pp_dash_state s = dash_press(pp_dash_start, ":42\n");
    struct pp_grid g = {0};
    int every = getenv("PP_TEST_EVERY") != NULL;
    for (int rows = 1; rows <= 100; rows++)
        for (int cols = 1; cols <= 300; cols++)
            for (int view = 0; view <= PP_VIEW_COUNT; view++) {
                if (!every && view != (rows * 7 + cols) % (PP_VIEW_COUNT + 1) &&
                    (rows > 30 || cols > 100 || (rows + cols) % 5))
                    continue;
                s.view = (enum pp_view)(view % PP_VIEW_COUNT);
                s.help = view == PP_VIEW_COUNT;
                assert_true(pp_grid_resize(&g, rows, cols));
                pp_draw(&g, (enum pp_glyph_set)((rows + cols) % PP_GLYPH_SETS), &s, &dash_model);
                check_drawn(&g, &s);
            }
    pp_grid_free(&g);
}

/* ---- grid ---- */

static void test_grid_text(void **state)
{
    static const struct {
        const char *text, *utf8, *ascii;
        int columns;
    } rows[] = {
        {"plain", "plain", "plain", 5},
        {"caf\xc3\xa9!", "caf\xc3\xa9!", "caf?!", 5},
        {"a\x1b[31mb\n", "a?[31mb?", "a?[31mb?", 8},
        {"\xff\xc0\xaf", "???", "???", 3},
        {"\xe7\x8c\xab.", "\xe7\x8c\xab.", "?.", 3},
        {"e\xcc\x81x", "ex", "e?x", 2},
        {"\xed\xa0\x80", "???", "???", 3},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "?", 2},
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

/* Whatever a recording calls its threads and files: no character that steers a terminal or deceives its
 * reader stands in a cell, which is all that curses and the printed frame get. */
static void test_grid_refuses_every_deceptive_character(void **state)
{
    struct pp_grid g = {0};
    int shown = 0;
    assert_true(pp_grid_resize(&g, 1, 2));
    for (uint32_t c = 1; c <= 0x10ffff; c++) {
        char text[5] = {0};
        if (c >= 0xd800 && c < 0xe000)
            continue;
        int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        for (int i = n - 1; i > 0; i--)
            text[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
        text[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xffu) | c >> 6 * (n - 1));
        g.cell[0].c = ' ';
        pp_grid_put(&g, &(struct pp_box){0, 0, 1, 2}, 0, 0, PP_STYLE_PLAIN, text);
        if (pp_text_is_deceptive(g.cell[0].c) || (pp_text_is_deceptive(c) && g.cell[0].c != '?'))
            fail_msg("U+%04X shows U+%04X", c, g.cell[0].c);
        shown += g.cell[0].c == c;
    }
    assert_in_range(shown, 1000000, 0x10ffff); /* the others are shown as they are */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout_of_every_size),
        cmocka_unit_test(test_draws_inside_at_every_size),
        cmocka_unit_test(test_grid_text),
        cmocka_unit_test(test_grid_refuses_every_deceptive_character),
        cmocka_unit_test(test_glyphs_follow_the_locale),
    };
    return cmocka_run_group_tests_name("dash_sizes", tests, dash_setup, dash_teardown);
}
