/* collectors/attach/rank_session.h: the ranks of a job under one `pipeprobe exec`, which stands above their
 * launcher. Each gets a recording of its own: a process that the launcher's environment calls a rank, and
 * another one than exec itself is, asks for it when it begins, with a file "rank-PID" in the session
 * directory; exec makes the recording (tui/cli/exec/exec_ranks.c) and answers with a file "session-of-KEY",
 * which holds the directory of that rank's session. Further processes of the rank find the answer there.
 *
 * A process that the environment calls none may have learnt from its process group that it is one.
 *
 * PIPEPROBE_EXEC_RANKS tells the program that there is an exec to be asked: "PID:KEY", of exec and of the
 * rank that exec itself is ("" where it is none). Libc alone: this goes into foreign processes. */
#pragma once

#include "probe/ranks/identity.h"

#include <pipeprobe/ring.h>

#define PP_RANK_MAGIC "PPRANK\0"
#define PP_RANKS_VARIABLE "PIPEPROBE_EXEC_RANKS"
enum { PP_RANK_KEY = 96 }; /* bytes that hold a key */

/* What a rank says of itself; the numbers as in struct pp_identity. */
struct pp_rank_file {
    char magic[8];
    int64_t pid, rank, world_size, local_rank, local_size, node, attempt;
    char launcher[48], job[128];
};

/* One name per rank of a job: digits, letters and dashes. */
void pp_rank_key(const struct pp_identity *id, char *buf, size_t size);

/* In a process of the program, for the session directory that it was given: where it records in place of it.
 * 0: there. Waits for the answer while exec lives, PP_RANK_WAIT_MS at most. rank and world_size: where the
 * environment says nothing; -1: it is none then. */
enum { PP_RANK_WAIT_MS = 10000 };
int pp_rank_session(const char *dir, int64_t rank, int64_t world_size, char *own, size_t size);
#define PP_RANK_OF_PROGRAM "the program" /* the launcher of such a rank */

/* Whether a launcher started this process as one of several. */
int pp_rank_is_one_of_several(void);
/* In exec. 0: no launcher of the table makes such a rank. */
int pp_rank_file_identity(const struct pp_rank_file *f, struct pp_identity *out);
