#include "tui/dash/draw.h"

#include "tui/dash/keys.h"
#include "tui/dash/panel.h"

/* want NULL: a row. list: rows above the list that the user moves in; 0: there is none. */
static const struct {
    pp_panel_draw *draw;
    pp_panel_want *want;
    int list;
} panels[PP_PANEL_COUNT] = {
    [PP_PANEL_VERDICT] = {pp_panel_verdict, pp_want_verdict},
    [PP_PANEL_STATUS] = {pp_panel_status, NULL},
    [PP_PANEL_METERS] = {pp_panel_meters, pp_want_meters},
    [PP_PANEL_PIPELINE] = {pp_panel_pipeline, pp_want_pipeline},
    [PP_PANEL_WORKERS] = {pp_panel_workers, pp_want_workers, 2},
    [PP_PANEL_HISTORY] = {pp_panel_history, NULL},
    [PP_PANEL_EVENTS] = {pp_panel_events, NULL, 1},
    [PP_PANEL_STAGES] = {pp_panel_stages, NULL, 2},
    [PP_PANEL_WORKER] = {pp_panel_worker, NULL},
    [PP_PANEL_BATCH] = {pp_panel_batch, NULL},
    [PP_PANEL_ENVIRONMENT] = {pp_panel_environment, NULL, 1},
    [PP_PANEL_WHATIF] = {pp_panel_whatif, NULL},
    [PP_PANEL_HELP] = {pp_panel_help, NULL},
    [PP_PANEL_FOOTER] = {pp_panel_footer, NULL},
    [PP_PANEL_TOO_SMALL] = {pp_panel_too_small, NULL},
};

/* Rows for panels whose wish depends on nothing: a heading and two rows of each curve; a handful of events;
 * facts about a worker. */
static int fixed_want(enum pp_panel p)
{
    return p == PP_PANEL_HISTORY ? 5 : p == PP_PANEL_EVENTS ? 6 : p == PP_PANEL_WORKER ? 7 : 1;
}

size_t pp_draw_layout(int rows, int cols, const struct pp_dash_state *s, const struct pp_dash_model *m,
                      struct pp_placed *out)
{
    int want[PP_PANEL_COUNT];
    for (int p = 0; p < PP_PANEL_COUNT; p++)
        want[p] = panels[p].want ? panels[p].want(s, m, cols) : fixed_want((enum pp_panel)p);
    return pp_layout(rows, cols, s->view, s->help, want, out);
}

void pp_draw(struct pp_grid *g, enum pp_glyph_set glyphs, const struct pp_dash_state *s,
             const struct pp_dash_model *m)
{
    struct pp_placed placed[PP_PANEL_COUNT];
    g->ascii = glyphs == PP_GLYPHS_ASCII;
    size_t n = pp_draw_layout(g->rows, g->cols, s, m, placed);
    for (size_t i = 0; i < n; i++)
        panels[placed[i].panel].draw(&(struct pp_canvas){
            .grid = g, .box = placed[i].box, .glyphs = &pp_glyph_sets[glyphs], .s = s, .m = m});
}

int pp_list_begins(enum pp_panel panel, const struct pp_box *box)
{
    return panel == PP_PANEL_WHATIF ? pp_whatif_list(box->rows) : panels[panel].list;
}

static uint32_t cell(const struct pp_grid *g, int row, int col)
{
    return col >= 0 && col < g->cols ? g->cell[(size_t)row * (size_t)g->cols + (size_t)col].c : ' ';
}

/* A letter that stands alone is the key; of a word, the key its hint begins with: "? help", "{ } stall". Two
 * blanks part the hints. */
static int key_under(const struct pp_grid *g, int row, int col)
{
    if (cell(g, row, col) == ' ')
        return PP_KEY_NONE;
    if (cell(g, row, col - 1) != ' ' || cell(g, row, col + 1) != ' ')
        while (col > 0 && !(cell(g, row, col - 1) == ' ' && cell(g, row, col - 2) == ' '))
            col--;
    int alone = cell(g, row, col + 1) == ' ' && cell(g, row, col) < 0x7f;
    return alone && pp_key_find((int)cell(g, row, col)) ? (int)cell(g, row, col) : PP_KEY_NONE;
}

struct pp_dash_state pp_dash_click(struct pp_dash_state s, const struct pp_dash_model *m,
                                   const struct pp_grid *g, int row, int col)
{
    struct pp_placed placed[PP_PANEL_COUNT];
    size_t n = row >= 0 && row < g->rows && col >= 0 && col < g->cols
                   ? pp_draw_layout(g->rows, g->cols, &s, m, placed)
                   : 0;
    for (size_t i = 0; i < n && s.input == PP_INPUT_NONE; i++) {
        const struct pp_box *b = &placed[i].box;
        int inside = row >= b->row && row < b->row + b->rows && col >= b->col && col < b->col + b->cols,
            list = pp_list_begins(placed[i].panel, b);
        int events_beside = s.view == PP_VIEW_OVERVIEW &&
                            placed[i].panel == PP_PANEL_EVENTS; /* there it is the workers that are chosen */
        if (inside && placed[i].panel == PP_PANEL_FOOTER && key_under(g, row, col) != PP_KEY_NONE)
            return pp_dash_key(s, key_under(g, row, col), m);
        if (inside && list && !events_beside) {
            struct pp_rows rows;
            pp_rows_of(&s, m, &rows);
            int *selected = &s.selected[s.view],
                at = pp_list_top(*selected, rows.n, b->rows - list) + row - b->row - list;
            if (row >= b->row + list && at < rows.n)
                *selected = at;
        }
    }
    return s;
}
