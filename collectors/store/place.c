/* Whether the run's file is still where it was made. After a
 * deletion, a move or a replacement the recorder would write into a file without a name, with its log beside
 * another file: SQLite would take the log's pages for that file's. */
#include "collectors/store/index_guard.h"
#include "collectors/store/store.h"

#include "probe/base/err.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const suffix[PP_STORE_LOG_FILES] = {"-wal", "-shm"};

static uint64_t inode_of(const char *path, const char *end, char *name, size_t size)
{
    struct stat st;
    snprintf(name, size, "%s%s", path, end);
    return lstat(name, &st) == 0 ? st.st_ino : 0;
}

void pp_store_note_place(struct pp_store *s)
{
    char name[PATH_MAX + 8];
    for (int i = 0; i < PP_STORE_LOG_FILES; i++)
        s->log_inode[i] = inode_of(s->path, suffix[i], name, sizeof(name));
}

/* What SQLite would find by an index that was cut is not what the log holds: nothing is committed, and the
 * log is not taken in, neither here nor when the file is closed. */
static pp_status leave_the_log(struct pp_store *s)
{
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_wal_autocheckpoint(s->db, 0);
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    s->in_transaction = 0;
    s->index_cut = 1;
    return pp_fail(
        &s->failure, PP_E_IO,
        "another program truncated %s-shm during the recording; what was committed before is in the file and its log, and is read by any command. Record again to a path that nothing else writes",
        s->path);
}

pp_status pp_store_check_place(struct pp_store *s)
{
    int moved = 0;
    if (!s->failure.code && pp_index_was_cut(s->db))
        return leave_the_log(s);
    if (s->failure.code || sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK ||
        !moved)
        return s->failure.code;
    s->lost = 1;
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    s->in_transaction = 0;
    sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                              NULL); /* one that was moved is whole up to the last commit */
    return pp_fail(
        &s->failure, PP_E_IO,
        "%s was deleted, moved or replaced during the recording; the moved file holds what was recorded. Record again to a path that nothing else writes",
        s->path);
}

void pp_store_clear_place(const struct pp_store *s)
{
    char name[PATH_MAX + 8];
    for (int i = 0; s->lost && i < PP_STORE_LOG_FILES; i++)
        if (s->log_inode[i] && inode_of(s->path, suffix[i], name, sizeof(name)) == s->log_inode[i])
            unlink(name);
}
