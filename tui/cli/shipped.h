/* cli/shipped.h: files that come with the program: maps, scenarios. */
#ifndef PP_CLI_SHIPPED_H
#define PP_CLI_SHIPPED_H

#include <stddef.h>

/* Finds KIND/NAME ("maps", "dali.map"; name "" is the directory) beside the installed program
 * (PREFIX/share/pipeprobe) or in the source tree the program was built in (samples/). Returns 1 with the
 * path, or 0. */
int shipped_find(const char *kind, const char *name, char *path, size_t size);

#endif
