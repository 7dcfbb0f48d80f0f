/* A store's life after its making: the lock, the first failure, a transaction; what was appended becomes a
 * commit, and in the end all of it is released. */
#include "collectors/store/store.h"
#include "collectors/store/vfs.h"

#include "probe/base/err.h"

#include <sys/stat.h>
#include <unistd.h>

pp_status pp_store_fail(struct pp_store *s, const char *what)
{
    if (!s->failure.code) {
        pp_db_fail(s->db, &s->failure, what, s->path);
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* SQLite may have done it already */
        s->in_transaction = 0;
    }
    return s->failure.code;
}

pp_status pp_store_usable(const struct pp_store *s)
{
    return s->failure.code ? s->failure.code : s->db ? PP_OK : PP_E_USAGE;
}

pp_status pp_store_enter(struct pp_store *s)
{
    pthread_mutex_lock(&s->lock);
    return pp_store_usable(s);
}

pp_status pp_store_leave(struct pp_store *s, pp_status status)
{
    pthread_mutex_unlock(&s->lock);
    return status;
}

pp_status pp_store_begin(struct pp_store *s)
{
    pp_status status = pp_store_usable(s);
    if (status || s->in_transaction)
        return status;
    if (sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return pp_store_fail(s, "cannot write to");
    s->in_transaction = 1;
    return PP_OK;
}

/* ---- the place of the file ----
 *
 * After a deletion, a move or a replacement the recorder would write into a file without a name, with its log
 * beside another file: SQLite would take the log's pages for that file's. */

static const char *const log_suffix[PP_STORE_LOG_FILES] = {"-wal", "-shm"};

static uint64_t inode_of(const char *path, const char *suffix, char *name, size_t size)
{
    struct stat st;
    snprintf(name, size, "%s%s", path, suffix);
    return lstat(name, &st) == 0 ? st.st_ino : 0;
}

void pp_store_note_place(struct pp_store *s)
{
    char name[PATH_MAX + 8];
    for (int i = 0; i < PP_STORE_LOG_FILES; i++)
        s->log_inode[i] = inode_of(s->path, log_suffix[i], name, sizeof(name));
}

pp_status pp_store_check_place(struct pp_store *s)
{
    int moved = 0;
    if (s->failure.code)
        return s->failure.code;
    if (pp_index_was_cut(s->db)) {
        /* What SQLite would find by an index that was cut is not what the log holds: nothing is committed,
         * and the log is not taken in, neither here nor when the file is closed. */
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
    if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || !moved)
        return PP_OK;
    s->lost = 1;
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    s->in_transaction = 0;
    /* One that was moved is whole up to the last commit. */
    sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return pp_fail(
        &s->failure, PP_E_IO,
        "%s was deleted, moved or replaced during the recording; the moved file holds what was recorded. Record again to a path that nothing else writes",
        s->path);
}

/* ---- commits ---- */

pp_status pp_store_flush(struct pp_store *s)
{
    pp_status status = pp_store_usable(s);
    if (!status)
        status = pp_store_cut_chunks(s);
    if (!status && s->in_transaction && pp_rollup_commit(s->rollup) != SQLITE_OK)
        status = pp_store_fail(s, "cannot write roll-ups to");
    if (!status && s->in_transaction)
        status = pp_store_mind_size(s);
    if (!status && s->in_transaction)
        status = pp_store_check_place(s);
    if (!status && s->in_transaction) {
        if (sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
            status = pp_store_fail(s, "cannot commit to");
        s->in_transaction = 0;
    }
    return status;
}

pp_status pp_store_commit(struct pp_store *s, struct pp_err *err)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = pp_store_flush(s);
    if (status && s->failure.code && err)
        *err = s->failure;
    __atomic_store_n(&s->failed, s->failure.code != PP_OK, __ATOMIC_RELAXED);
    return pp_store_leave(s, status);
}

int pp_store_failed(const struct pp_store *s)
{
    return __atomic_load_n(&s->failed, __ATOMIC_RELAXED);
}

struct pp_store_progress pp_store_progress(struct pp_store *s)
{
    pthread_mutex_lock(&s->lock);
    struct pp_store_progress p = s->progress;
    p.detail = s->detail;
    p.lost = s->lost;
    if (s->checkpoint)
        p.checkpoint_cpu_ns = pp_checkpoint_cpu_ns(s->checkpoint);
    pthread_mutex_unlock(&s->lock);
    return p;
}

/* ---- the end ---- */

void pp_store_end_checkpoints(struct pp_store *s)
{
    if (!s->checkpoint)
        return;
    s->progress.checkpoint_cpu_ns = pp_checkpoint_cpu_ns(s->checkpoint);
    pp_checkpoint_free(s->checkpoint);
    s->checkpoint = NULL;
}

void pp_store_release_db(struct pp_store *s)
{
    pp_store_end_checkpoints(s);
    pp_rollup_free(s->rollup);
    s->rollup = NULL;
    for (int i = 0; i < ST_COUNT; i++) {
        sqlite3_finalize(s->st[i]);
        s->st[i] = NULL;
    }
    sqlite3_close(s->db);
    s->db = NULL;
    /* Of a file that was lost our log is worth nothing, as far as it is still ours. */
    char name[PATH_MAX + 8];
    for (int i = 0; s->lost && i < PP_STORE_LOG_FILES; i++)
        if (s->log_inode[i] && inode_of(s->path, log_suffix[i], name, sizeof(name)) == s->log_inode[i])
            unlink(name);
}

void pp_store_close(struct pp_store *s)
{
    if (!s)
        return;
    if (s->db && s->rollup && pp_store_flush(s) == PP_OK) {
        pp_store_end_checkpoints(s);
        sqlite3_busy_timeout(s->db, 200); /* a live reader may keep the log alive; then it stays */
        pp_db_journal_mode(s->db, "delete");
    }
    pp_store_release_db(s);
    pp_store_free_spans(s);
    free(s->stacks);
    pp_chunk_codec_free(s->codec);
    pthread_mutex_destroy(&s->lock);
    if (s->discard && !s->lost)
        pp_store_unclaim(s->path, -1);
    if (s->claim >= 0)
        close(s->claim); /* after SQLite's: closing a file gives up every lock of its own */
    free(s->path);
    free(s);
}

const char *pp_store_sqlite_version(void)
{
    return sqlite3_libversion();
}

void pp_store_discard(struct pp_store *s)
{
    s->discard = 1;
}
