/* cli/range_maps.h: the maps a user asked for, as one text. */
#ifndef PP_CLI_RANGE_MAPS_H
#define PP_CLI_RANGE_MAPS_H

#include "probe/base/opts.h"

#include <pipeprobe/status.h>

/* Each item of maps is a file, or the name of a shipped map ("pytorch"). *text (free it) is all of them, one
 * behind the other, checked; *rows counts their rows. No maps: an empty text. */
pp_status range_maps_read(const struct pp_opt_list *maps, char **text, size_t *rows, struct pp_err *err);

#endif
