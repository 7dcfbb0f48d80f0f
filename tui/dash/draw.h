/* dash/draw.h: one frame: model and state onto a grid, through the layout and the table of panels. Pure but
 * for the grid. */
#ifndef PP_DASH_DRAW_H
#define PP_DASH_DRAW_H

#include "tui/dash/canvas.h"
#include "tui/dash/grid.h"
#include "tui/dash/layout.h"
#include "tui/dash/state.h"

#include <stdio.h>

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

/* What a click does: a row of a list is chosen, a hint of the footer is pressed. Pure, as keys
 * are. */

/* g: the screen as the user saw it, drawn from s and m. */
struct pp_dash_state pp_dash_click(struct pp_dash_state s, const struct pp_dash_model *m,
                                   const struct pp_grid *g, int row, int col);

/* The numbers behind a frame as one JSON document, schema pipeprobe.top/1; what is not known is
 * null. */

/* 0, or -1 when a write failed. */
int pp_dash_json(const struct pp_dash_state *s, const struct pp_dash_model *m, FILE *out);

#endif
