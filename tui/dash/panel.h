/* dash/panel.h: the panels: each draws itself on a canvas and is a row of the table in draw.c. */
#pragma once

#include "tui/dash/canvas.h"
#include "tui/dash/rows.h"

typedef void pp_panel_draw(const struct pp_canvas *c);
typedef int pp_panel_want(const struct pp_dash_state *s, const struct pp_dash_model *m,
                          int cols); /* rows it would like */

pp_panel_draw pp_panel_verdict; /* panels_frame.c */
pp_panel_draw pp_panel_status, pp_panel_meters, pp_panel_footer, pp_panel_too_small,
    pp_panel_help;                                                   /* panels_frame.c */
pp_panel_draw pp_panel_pipeline, pp_panel_stages, pp_panel_history;  /* panels_flow.c */
pp_panel_draw pp_panel_workers, pp_panel_worker, pp_panel_batch;     /* panels_workers.c */
pp_panel_draw pp_panel_events, pp_panel_environment, pp_panel_lines; /* panels_workers.c */
pp_panel_draw pp_panel_whatif;                                       /* panel_whatif.c */
pp_panel_want pp_want_verdict, pp_want_pipeline;

/* Rows above the knobs in a panel of this many. */
int pp_whatif_list(int rows);
