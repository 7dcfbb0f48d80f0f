/* cli/shell_words.h: a command line as somebody can paste it into a shell. */
#ifndef PP_CLI_SHELL_WORDS_H
#define PP_CLI_SHELL_WORDS_H

#include <stddef.h>

/* The words (ending with NULL) with blanks between them, each quoted where a POSIX shell would take it for
 * something else, cut at size with "...". A word with control characters or what could deceive a terminal
 * (pp_text_plain) is shown with these escaped: it is safe to print, and no longer the word. Returns text. */
char *pp_shell_words(char *const *words, char *text, size_t size);

#endif
