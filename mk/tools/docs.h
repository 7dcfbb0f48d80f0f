/* mk/tools/docs.h: man pages and shell completion from the command and option tables that --help is made of:
 * they cannot say anything else. Part of the build (make man, make install), not of the program. commands
 * ends with NULL. */
#pragma once

#include "tui/cli/cli.h"

/* roff for man(1): of one command, or with cmd NULL of pipeprobe itself. */
void docs_man(const struct pp_command *const *commands, const struct pp_command *cmd, FILE *out);

void docs_bash(const struct pp_command *const *commands, FILE *out);
void docs_zsh(const struct pp_command *const *commands, FILE *out);

/* Completion of fish. */
void docs_fish(const struct pp_command *const *commands, FILE *out);

/* Words that complete an option's value, or with option NULL the first operand, blanks between them; 0: there
 * are none. out NULL: only asks. */
int docs_words(const char *command, const char *option, FILE *out);
