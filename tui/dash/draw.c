#include "tui/dash/draw.h"

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
