/* cli/mistyped.h: PIPEPROBE_* variables that nobody reads, or whose value means nothing. One that was meant
 * for an option and is spelled wrong would otherwise do nothing, silently. */
#ifndef PP_CLI_MISTYPED_H
#define PP_CLI_MISTYPED_H

#include "tui/cli/cli.h"

/* A line to out for each variable of environment (as environ, ends with NULL) that begins with PIPEPROBE_ and
 * is neither an option of one of the commands (ending with NULL) nor a variable that pipeprobe has besides,
 * with the nearest one that is; and for each of the latter whose value it does not know. Returns how many
 * there were. */
int pp_mistyped_variables(const struct pp_command *const *commands, char *const *environment, FILE *out);

#endif
