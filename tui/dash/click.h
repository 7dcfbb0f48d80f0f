/* dash/click.h: what a click does: a row of a list is chosen, a hint of the footer is pressed. Pure, as keys
 * are. */
#ifndef PP_DASH_CLICK_H
#define PP_DASH_CLICK_H

#include "tui/dash/grid.h"
#include "tui/dash/state.h"

/* g: the screen as the user saw it, drawn from s and m. */
struct pp_dash_state pp_dash_click(struct pp_dash_state s, const struct pp_dash_model *m,
                                   const struct pp_grid *g, int row, int col);

#endif
