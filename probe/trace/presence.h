/* trace/presence.h: which processes of a session are still there. Each holds a shared lock on one file of the
 * session directory; the lock goes with the process however it ends, and a forked child inherits it. A
 * process that can lock the file for itself alone knows that all have gone. */
#ifndef PP_TRACE_PRESENCE_H
#define PP_TRACE_PRESENCE_H

/* A descriptor to be closed when this process has recorded its last span; -1 with errno (EAGAIN: the session
 * is being ended). */
int pp_presence_enter(const char *session_dir);
/* 1: some process holds it (also this one, through another descriptor). 0: none does, or there is no such
 * file. */
int pp_presence_any(const char *session_dir);
/* 1: all have gone, and none can enter any more while *fd is open. 0: not yet. */
int pp_presence_end(const char *session_dir, int *fd);

#endif
