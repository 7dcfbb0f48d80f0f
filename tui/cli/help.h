/* tui/cli/help.h: what --help and --version print. The command table belongs to main.c and is handed in; it
 * ends with NULL. */
#ifndef PP_TUI_CLI_HELP_H
#define PP_TUI_CLI_HELP_H

#include "tui/cli/cli.h"

void pp_help_all(const struct pp_command *const *commands, FILE *out);
/* all: every option, grouped; else what most people need, on one screen. */
void pp_help_command(const struct pp_command *cmd, FILE *out, int all);
void pp_help_version(FILE *out);

#endif
