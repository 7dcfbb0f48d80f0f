/* tui/cli/exec/exec_map.h: the maps a user asked for, as one text. */
#ifndef PP_TUI_CLI_EXEC_EXEC_MAP_H
#define PP_TUI_CLI_EXEC_EXEC_MAP_H

#include "probe/base/opts.h"

#include <pipeprobe/status.h>

/* Each item of maps is a file, or the name of a shipped map ("pytorch"). *text (free it) is all of them, one
 * behind the other, checked; *rows counts their rows. No maps: an empty text. */
pp_status exec_map_read(const struct pp_opt_list *maps, char **text, size_t *rows, struct pp_err *err);

#endif
