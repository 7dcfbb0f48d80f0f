/* store/rings.h: the ring files beside a run's file ("<path>.rings", written by probe/trace), as an earlier
 * run left them: found, locked, read and removed. Private to collectors/store. */
#pragma once

#include "probe/base/std.h"

#include <pipeprobe/ring.h>
#include <pipeprobe/status.h>

/* The ring directory of a run whose lock we hold, so that no recorder and no other recovery is at it. */
struct pp_rings {
    char dir[PATH_MAX];
    int fd;                       /* session file; closing it gives the lock back */
    struct pp_session_file *file; /* a copy, with PP_THREADS_MAX threads at most; NULL: none we can read */
};

/* Foreign: of another user, or where others may write, and of no live recorder; they are neither read nor
 * removed. */
enum pp_rings_found { PP_RINGS_ABSENT, PP_RINGS_LIVE, PP_RINGS_DEAD, PP_RINGS_UNREADABLE, PP_RINGS_FOREIGN };

/* To be closed whatever was found; the lock is held where they are dead. */
enum pp_rings_found pp_rings_open(const char *path, struct pp_rings *r);
void pp_rings_close(struct pp_rings *r);
/* Removes the files. Cut off in here, what is left is still a session. */
void pp_rings_remove(const struct pp_rings *r);

/* Opens ring i of a session that can be read, and says which records are in it; -1 when there is none or it
 * does not hold together. */
int pp_rings_open_ring(const struct pp_rings *r, uint32_t i, struct pp_ring_file *ring);

/* Ring files of an earlier run are worthless once path is replaced: removes them, but not the session of that
 * id (0: none). PP_E_EXISTS while another process records into them. */
pp_status pp_rings_discard(const char *path, uint64_t session_id, struct pp_err *err);
