/* cli/shipped.h: files that belong to the program: beside it in a build, or where an installation puts them.
 */
#ifndef PP_CLI_SHIPPED_H
#define PP_CLI_SHIPPED_H

#include <pipeprobe/status.h>

#include <limits.h>

/* Folders, relative to the program's own. */
struct pp_shipped_places {
    const char *folder[5];
};
extern const struct pp_shipped_places pp_shipped_libraries, pp_shipped_maps, pp_shipped_python;

/* The first readable file of that name; variable (may be NULL) is an environment variable that names it, or
 * its folder, instead. out: PATH_MAX, absolute. PP_E_NOT_FOUND: a sentence that begins with what. */
pp_status pp_shipped_find(const char *what, const char *variable, const struct pp_shipped_places *places,
                          const char *file, char *out, struct pp_err *err);

#endif
