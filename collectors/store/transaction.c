/* What every file of the writer stands on: the lock, the first failure, a transaction and a statement in it.
 */
#include "collectors/store/store.h"

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
