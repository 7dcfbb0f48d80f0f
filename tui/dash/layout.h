/* dash/layout.h: where panels go: a pure function of the screen's size, the view, and how many rows each
 * panel would like.
 *
 * From 40x10 on there is a view; below, one panel says how much is needed. Panels lie one above the other
 * over the whole width; on wide screens the events stand beside the history. When rows are short, panels are
 * dropped in the order of their `drop` number, then the rest get their least, and what is left goes to them
 * in order of the table up to what they would like; the last of it to the one that grows. The meters are left
 * out when they want no row. */
#ifndef PP_DASH_LAYOUT_H
#define PP_DASH_LAYOUT_H

#include "tui/dash/grid.h"
#include "tui/dash/state.h"

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

#endif
