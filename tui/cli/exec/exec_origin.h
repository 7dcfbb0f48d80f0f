/* tui/cli/exec/exec_origin.h: what a recording was made of: the directory, and the commit of the job's code.
 */
#ifndef PP_TUI_CLI_EXEC_EXEC_ORIGIN_H
#define PP_TUI_CLI_EXEC_EXEC_ORIGIN_H

#include "collectors/store/store.h"

/* Stores run.directory, environment.gpu (the models that NVIDIA's driver lists) and, where git knows one
 * here, run.git_commit (of HEAD; changes since are not seen).
 */
void exec_origin_store(struct pp_store *store);

#endif
