/* cli/shipped.h: files that belong to the program: beside it in a build, or where an installation puts them;
 * and the maps of names among them. */
#pragma once

#include "probe/base/opts.h"
#include <pipeprobe/status.h>

/* Folders, relative to the program's own. */
struct pp_shipped_places {
    const char *folder[5];
};
extern const struct pp_shipped_places pp_shipped_libraries, pp_shipped_maps, pp_shipped_python,
    pp_shipped_hooks;

/* The first readable file of that name; variable (may be NULL) is an environment variable that names it, or
 * its folder, instead. out: PATH_MAX, absolute. PP_E_NOT_FOUND: a sentence that begins with what. */
pp_status pp_shipped_find(const char *what, const char *variable, const struct pp_shipped_places *places,
                          const char *file, char *out, struct pp_err *err);

/* Each item of maps is a file, or the name of a shipped map ("pytorch"). *text (free it) is all of them, one
 * behind the other, checked; *rows counts their rows. Behind them is DALI's, which no other domain meets. */
pp_status range_maps_read(const struct pp_opt_list *maps, char **text, size_t *rows, struct pp_err *err);
