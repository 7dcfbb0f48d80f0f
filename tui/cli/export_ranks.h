/* tui/cli/export_ranks.h: the recordings of several ranks as one source on one clock, for `pipeprobe export`.
 */
#ifndef PP_TUI_CLI_EXPORT_RANKS_H
#define PP_TUI_CLI_EXPORT_RANKS_H

#include "report/source/source.h"

struct export_ranks;

/* Opens the files; *source is theirs together, until export_ranks_free. Says on stderr how each clock was
 * aligned, unless quiet. */
pp_status export_ranks_open(const char *const *files, size_t n, int quiet, struct export_ranks **out,
                            struct pp_source *source, struct pp_err *err);
void export_ranks_free(struct export_ranks *r); /* NULL is fine */

#endif
