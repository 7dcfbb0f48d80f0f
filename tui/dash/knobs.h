/* dash/knobs.h: the knobs of the what-if view (report/replay/knobs.h: those with a step): how far each has
 * been moved, as the text that the prediction is asked with. Pure. */
#ifndef PP_DASH_KNOBS_H
#define PP_DASH_KNOBS_H

#include "report/replay/knobs.h"
#include "tui/dash/state.h"

/* The i-th of them; NULL after the last. There are PP_DASH_KNOBS at most. */
const struct pp_knob *pp_dash_knob(int i);
int pp_dash_knobs(void);

/* Value of knob i after `step` moves, as shown and asked ("4", "0.64"); the recorded one at step 0. */
const char *pp_knob_text(const struct pp_dash_model *m, int i, int step, char *buf, size_t size);
/* Moves a step, and stays where the value would leave its range. */
int pp_knob_move(const struct pp_dash_model *m, int i, int step, int by);
/* 0: the recording does not say what it was (another program's run), so it cannot be turned. */
int pp_knob_is_recorded(const struct pp_dash_model *m, int i);
/* "num_workers=4 decode=0.8" of the knobs that were moved; "" for none. */
const char *pp_knobs_text(const struct pp_dash_state *s, const struct pp_dash_model *m, char *buf,
                          size_t size);

#endif
