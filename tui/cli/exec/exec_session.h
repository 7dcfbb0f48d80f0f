/* tui/cli/exec/exec_session.h: `pipeprobe exec --serve`: a recording for a process that goes on before and
 * after it, as a notebook does. It starts us, reads where the session is, joins, leaves, and says so on our
 * standard input. */
#ifndef PP_TUI_CLI_EXEC_EXEC_SESSION_H
#define PP_TUI_CLI_EXEC_EXEC_SESSION_H

#include "collectors/attach/launch.h"
#include "tui/cli/exec/exec_python.h"
#include "tui/cli/exec/exec_record.h"

/* One line of JSON on standard output:
 * {"schema":"pipeprobe.session/1","recording":FILE,"session":DIRECTORY,"hooks":DIRECTORY,"reads":FILE},
 * absolute; hooks and reads are null where there are none. 0, or 125 and a sentence. */
int exec_session_print(const struct exec_record *r, const struct exec_python *python, struct pp_err *err);

/* Until standard input has a byte or ends, the process that started us has gone, or a signal of
 * pp_launch_begin comes, which goes into l->signalled. 0. */
int exec_session_wait(struct pp_launch *l);

#endif
