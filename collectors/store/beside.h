/* store/beside.h: the files that SQLite uses beside a recording (FILE-journal, FILE-wal, FILE-shm), looked at
 * before SQLite does. They arrive with a recording from elsewhere, and SQLite obeys them: it writes back what
 * a journal says, and deletes the file that a journal names. Nothing here writes. Private to
 * collectors/store. */
#ifndef PP_STORE_BESIDE_H
#define PP_STORE_BESIDE_H

#include <pipeprobe/status.h>

#include <limits.h>

enum pp_beside {
    PP_BESIDE_ABSENT,
    PP_BESIDE_OURS,    /* a regular file of the effective user, with one name */
    PP_BESIDE_FOREIGN, /* a regular file of another user, or one with several names */
    PP_BESIDE_UNFIT    /* a link, pipe, device or directory */
};

/* The name SQLite uses: links in path are followed. real has PATH_MAX bytes; a path that leads nowhere stays
 * as it is. */
void pp_beside_real(const char *path, char *real);
/* suffix: "-journal", "-wal", "-shm", or "" for the file itself. */
enum pp_beside pp_beside_look(const char *real, const char *suffix);

/* PP_E_UNSUPPORTED with a sentence when one of them is no regular file: SQLite would wait for a pipe for
 * ever. */
pp_status pp_beside_check(const char *real, struct pp_err *err);

/* Whether a transaction that was cut off may be rolled back, which writes into the file and deletes the
 * journal. PP_OK: the journal is the effective user's, as is the file, and only of this file; or there is
 * none. Else *err has a clause: why not. */
pp_status pp_beside_may_roll_back(const char *real, struct pp_err *err);
/* Whether the effective user may append to the file: it and what lies beside it are theirs. */
pp_status pp_beside_may_write(const char *real, struct pp_err *err);

#endif
