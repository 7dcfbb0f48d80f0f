/* dash/draw.h: one frame: model and state onto a grid, through the layout and the table of panels. Pure but
 * for the grid. */
#pragma once

#include "probe/base/fields.h"
#include "tui/dash/canvas.h"
#include "tui/dash/state.h"

/* ---- where the panels go ----
 *
 * A pure function of the screen's size, the view, and how many rows each panel would like.
 *
 * From 40x10 on there is a view; below, one panel says how much is needed. Panels lie one above the other
 * over the whole width; on wide screens the events stand beside the history. When rows are short, panels are
 * dropped in the order of their `drop` number, then the rest get their least, and what is left goes to them
 * in order of the table up to what they would like; the last of it to the one that grows. The meters are left
 * out when they want no row. */

enum pp_panel {
    PP_PANEL_VERDICT,
    PP_PANEL_STATUS,
    PP_PANEL_METERS,
    PP_PANEL_PIPELINE,
    PP_PANEL_WORKERS,
    PP_PANEL_HISTORY,
    PP_PANEL_EVENTS,
    PP_PANEL_STAGES,
    PP_PANEL_WORKER,
    PP_PANEL_BATCH,
    PP_PANEL_LINES,
    PP_PANEL_ENVIRONMENT,
    PP_PANEL_WHATIF,
    PP_PANEL_HELP,
    PP_PANEL_FOOTER,
    PP_PANEL_TOO_SMALL,
    PP_PANEL_COUNT
};

enum { PP_ROWS_NEEDED = 10, PP_COLS_NEEDED = 40, PP_COLS_WIDE = 110 };

struct pp_placed {
    enum pp_panel panel;
    struct pp_box box;
};

/* Fills out[PP_PANEL_COUNT], from the top; returns how many. want[panel]: rows it would like. 0 panels for a
 * screen without cells. */
size_t pp_layout(int rows, int cols, enum pp_view view, int help, const int want[PP_PANEL_COUNT],
                 struct pp_placed *out);

/* Draws over a blank grid (pp_grid_resize). Nothing is drawn outside the boxes of the layout. */
void pp_draw(struct pp_grid *g, enum pp_glyph_set glyphs, const struct pp_dash_state *s,
             const struct pp_dash_model *m);

/* Where the panels are; for out see pp_layout. */
size_t pp_draw_layout(int rows, int cols, const struct pp_dash_state *s, const struct pp_dash_model *m,
                      struct pp_placed *out);

/* What the status bar and the line mode say about the run: "LIVE", "PAUSED -0:12", "STALE 7 s", "ENDED
 * killed". */
const char *pp_state_text(const struct pp_dash_state *s, const struct pp_dash_model *m, char *buf,
                          size_t size);
/* One line without cursor addressing, for logs and screen readers. */
void pp_line_text(const struct pp_dash_state *s, const struct pp_dash_model *m, char *buf, size_t size);

/* What a click does: a row of a list is chosen, a hint of the footer is pressed. Pure, as keys are. */

/* g: the screen as the user saw it, drawn from s and m. */
struct pp_dash_state pp_dash_click(struct pp_dash_state s, const struct pp_dash_model *m,
                                   const struct pp_grid *g, int row, int col);

/* The numbers behind a frame (a struct pp_dash_model) as one JSON document (pp_fields_json), schema
 * pipeprobe.top/1; what is not known is null. */
extern const struct pp_field pp_dash_fields[];
