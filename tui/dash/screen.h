/* dash/screen.h: the terminal behind a grid. Its .c is the only file that knows ncurses. One screen per
 * process, one thread. */
#pragma once

#include "tui/dash/canvas.h"

#include <pipeprobe/status.h>

struct pp_screen;

/* PP_E_UNSUPPORTED with a sentence when TERM cannot be used for a screen. SIGTSTP, SIGCONT and SIGWINCH are
 * taken care of; the caller handles SIGINT and SIGTERM before this call and closes the screen when they come.
 * color 0: only bold and reverse. mouse 0: clicks and the wheel stay the terminal's own. */
pp_status pp_screen_open(int color, int mouse, struct pp_screen **out, struct pp_err *err);
/* Leaves the terminal as it was. NULL is fine. */
void pp_screen_close(struct pp_screen *s);

void pp_screen_size(const struct pp_screen *s, int *rows, int *cols);
/* Shows the grid; only what differs from what is there is sent. */
void pp_screen_show(struct pp_screen *s, const struct pp_grid *g);
/* The next key as in state.h; PP_KEY_NONE after timeout_ms, or when a signal came. at: where a PP_KEY_CLICK
 * was; NULL: nobody asks. */
struct pp_click {
    int row, col;
};
int pp_screen_key(struct pp_screen *s, int timeout_ms, struct pp_click *at);
/* Sends everything anew with the next pp_screen_show. */
void pp_screen_redraw(struct pp_screen *s);
