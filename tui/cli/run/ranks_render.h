/* tui/cli/run/ranks_render.h: what the recordings of a job's ranks say, a line each, on standard output. */
#ifndef PP_TUI_CLI_RUN_RANKS_RENDER_H
#define PP_TUI_CLI_RUN_RANKS_RENDER_H

#include "report/model/model.h"

struct rank_result {
    int code; /* exit code, 128 + N for a signal; -1: not started */
    const char *file;
    struct pp_report *report; /* NULL: there is none */
};

void ranks_text(const struct rank_result *ranks, int n);
void ranks_json(const struct rank_result *ranks, int n); /* schema pipeprobe.ranks/1 */

#endif
