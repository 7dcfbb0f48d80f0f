/* The dashboard on a recorded run (made_run.h), without a terminal: the model it shows, keys as if typed, a
 * frame as text. One of each per test program; dash_setup and dash_teardown belong to its group. */
#pragma once

#include "tests/support/made_run.h"
#include "tui/dash/draw.h"

/* The recording, the reader on it, and the model that the screens show; dash_snap is what dash_look read
 * last. */
extern struct made_run *dash_run;
extern struct pp_live *dash_live;
extern struct pp_live_snapshot dash_snap;
extern struct pp_report dash_report;
extern struct pp_dash_model dash_model;

/* Reads what the state looks at. */
void dash_look(const struct pp_dash_state *s);
/* The state after these keys, each followed by a look. */
struct pp_dash_state dash_press(struct pp_dash_state s, const char *typed);

int dash_setup(void **state);
int dash_teardown(void **state);

/* The frame of this size; the caller frees it. */
char *dash_print(int rows, int cols, enum pp_glyph_set glyphs, int color, const struct pp_dash_state *s);
