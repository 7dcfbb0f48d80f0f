/* trace/join.h: recording into a session that another process opened, and what becomes known about a thread
 * only after it has registered. The owner drains; a joined process only adds rings, and its closing leaves
 * the files alone. */
#pragma once

#include "probe/trace/trace.h"

/* Maps the session in dir. PP_E_NOT_FOUND, PP_E_ACCESS, PP_E_CORRUPT (no session file), PP_E_VERSION (another
 * ring ABI). Joining twice gives two handles on one session. Registering, recording, forking and interning
 * then work as in the process that opened it. */
pp_status pp_session_join(const char *dir, struct pp_session **out, struct pp_err *err);

/* Joins as the owner: this process drains, reads the clock pair and removes the files when it closes. lock_fd
 * holds the session's lock (it was inherited) and belongs to the session from here on, also on failure. */
pp_status pp_session_adopt(const char *dir, int lock_fd, struct pp_session **out, struct pp_err *err);

/* A new name or lane for a registered thread; any thread of its process may call. A drain that reads the name
 * meanwhile may see half of the old, half of the new; it reads it again when it stops. t == NULL is fine. */
void pp_thread_rename(struct pp_thread *t, const char *name);
void pp_thread_set_lane(struct pp_thread *t, pp_lane lane);

/* For spans whose times are taken one by one and not as laps: a stamp is a moment in the ring's own unit (TSC
 * ticks or nanoseconds), the same for all threads of a session. pp_span_put_stamped records a span whose
 * start_ns and dur_ns are stamps and their difference. */
uint64_t pp_thread_stamp(const struct pp_thread *t);
uint64_t pp_thread_stamps_ns(const struct pp_thread *t, uint64_t from, uint64_t to);
void pp_span_put_stamped(struct pp_thread *t, const struct pp_span *span);

/* Which processes of a session are still there. Each holds a shared lock on one file of the session
 * directory; the lock goes with the process however it ends, and a forked child inherits it. A process that
 * can lock the file for itself alone knows that all have gone. */

/* A descriptor to be closed when this process has recorded its last span; -1 with errno (EAGAIN: the session
 * is being ended). */
int pp_presence_enter(const char *session_dir);
/* 1: all have gone, and none can enter any more while *fd is open. 0: not yet. */
int pp_presence_end(const char *session_dir, int *fd);
/* 1: some process holds the lock of this file of the session (also this one, through another descriptor). 0:
 * none does, or there is no such file. */
int pp_session_file_is_locked(const char *session_dir, const char *name);
