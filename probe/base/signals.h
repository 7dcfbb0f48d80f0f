/* base/signals.h: the signals that ask a command to end. */
#ifndef PP_PROBE_BASE_SIGNALS_H
#define PP_PROBE_BASE_SIGNALS_H

#include <signal.h>

/* *act for SIGINT, SIGTERM and SIGHUP; a SIGHUP that the process was started to ignore (nohup) stays ignored.
 */
void pp_signals_catch(const struct sigaction *act);

#endif
