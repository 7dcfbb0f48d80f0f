/* dash/dash.h: the dashboard on a recording that grows or has ended: on a terminal, as lines, or as one
 * frame. */
#pragma once

#include "tui/dash/canvas.h"

#include <pipeprobe/status.h>

struct pp_dash_opts {
    const char *path;
    enum pp_glyph_set glyphs;
    int color;
    int mouse;            /* of the screen: clicks choose, the wheel moves */
    int window;           /* index into pp_windows (state.h) */
    int view;             /* enum pp_view (state.h) */
    uint64_t at_ns;       /* since the start of the run; UINT64_MAX: the newest second */
    uint64_t interval_ns; /* of the line mode */
    int json;             /* likewise: lines of JSON, each a document of schema pipeprobe.top/1 */
    int rows, cols;       /* of one frame */
    /* PP_E_INTERRUPTED with a sentence once the user asked for the end by a signal, which also wakes what
     * waits for a key; the caller catches it. Not asked for one frame. */
    pp_status (*interrupted)(struct pp_err *err);
};

/* On the terminal, until the user quits. PP_E_INTERRUPTED; PP_E_UNSUPPORTED when the terminal can show no
 * screen (then nothing was written to it). */
pp_status pp_dash_screen(const struct pp_dash_opts *o, struct pp_err *err);
/* A status line every interval, until the run has ended. */
pp_status pp_dash_lines(const struct pp_dash_opts *o, FILE *out, struct pp_err *err);
/* One frame as text, or as a document of schema pipeprobe.top/1. */
pp_status pp_dash_once(const struct pp_dash_opts *o, int json, FILE *out, struct pp_err *err);
