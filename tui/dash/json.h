/* dash/json.h: the numbers behind a frame as one JSON document, schema pipeprobe.top/1; what is not known is
 * null. */
#ifndef PP_DASH_JSON_H
#define PP_DASH_JSON_H

#include "tui/dash/state.h"

#include <stdio.h>

/* 0, or -1 when a write failed. */
int pp_dash_json(const struct pp_dash_state *s, const struct pp_dash_model *m, FILE *out);

#endif
