/* A store's life after its making: the lock, the first failure, a transaction and a statement in it; what was
 * appended becomes a commit, and in the end all of it is released. */
#include "collectors/store/claim.h"
#include "collectors/store/store.h"

#include <stdlib.h>
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

pp_status pp_store_step(struct pp_store *s, enum pp_store_statement st, const char *what)
{
    pp_status status = pp_store_begin(s);
    if (!status && sqlite3_step(s->st[st]) != SQLITE_DONE)
        status = pp_store_fail(s, what);
    sqlite3_reset(s->st[st]);
    sqlite3_clear_bindings(s->st[st]);
    return status;
}

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

int pp_store_lost(const struct pp_store *s)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&s->lock;
    pthread_mutex_lock(lock);
    int lost = s->lost;
    pthread_mutex_unlock(lock);
    return lost;
}

void pp_store_cost(const struct pp_store *s, struct pp_store_cost *out)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&s->lock;
    pthread_mutex_lock(lock);
    *out = s->cost;
    if (s->checkpoint)
        out->checkpoint_cpu_ns = pp_checkpoint_cpu_ns(s->checkpoint);
    pthread_mutex_unlock(lock);
}

void pp_store_end_checkpoints(struct pp_store *s)
{
    if (!s->checkpoint)
        return;
    s->cost.checkpoint_cpu_ns = pp_checkpoint_cpu_ns(s->checkpoint);
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
    for (int i = 0; i < PP_STORE_RARE_STATEMENTS; i++) {
        sqlite3_finalize(s->rare[i]);
        s->rare[i] = NULL;
    }
    sqlite3_close(s->db);
    s->db = NULL;
    pp_store_clear_place(s);
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
    pp_chunk_codec_free(s->codec);
    pthread_mutex_destroy(&s->lock);
    if (s->discard && !s->lost)
        pp_store_unclaim(s->path, -1);
    if (s->claim >= 0)
        close(s->claim); /* after SQLite's: closing a file gives up every lock of its own */
    free(s->path);
    free(s);
}

void pp_store_discard(struct pp_store *s)
{
    s->discard = 1;
}

const char *pp_store_sqlite_version(void)
{
    return sqlite3_libversion();
}
