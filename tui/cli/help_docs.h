/* tui/cli/help_docs.h: man pages and shell completion from the command and option tables that --help is made
 * of: they cannot say anything else. `pipeprobe help --man [COMMAND]`, `pipeprobe help --completion
 * bash|zsh`; make man and make install call them. */
#ifndef PP_TUI_CLI_HELP_DOCS_H
#define PP_TUI_CLI_HELP_DOCS_H

#include "tui/cli/cli.h"

/* roff for man(1): of one command, or with cmd NULL of pipeprobe itself. commands ends with NULL. */
void pp_help_man(const struct pp_command *const *commands, const struct pp_command *cmd, FILE *out);

void pp_help_bash(const struct pp_command *const *commands, FILE *out);
void pp_help_zsh(const struct pp_command *const *commands, FILE *out);

#endif
