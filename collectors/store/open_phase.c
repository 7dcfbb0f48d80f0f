/* What each thread was in, looked at once a second, as rows. The statement is prepared at the first use, so
 * that a file made before the table existed can still be recovered. */
#include "collectors/store/bind.h"
#include "collectors/store/store.h"

#include <stdio.h>

#define AT_ONCE 4096u /* rows that go together once there are too many */

/* The oldest go: who looks at a run of many hours looks at its newest. */
static pp_status forget_oldest(struct pp_store *s)
{
    char sql[160];
    snprintf(
        sql, sizeof(sql),
        "DELETE FROM open_phase WHERE t_ns < (SELECT t_ns FROM open_phase ORDER BY t_ns, thread LIMIT 1 OFFSET %u)",
        AT_ONCE);
    s->open_phases -= AT_ONCE;
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? PP_OK
                                                                   : pp_store_fail(s, "cannot write to");
}

static pp_status insert(struct pp_store *s, const struct pp_store_open_phase *o)
{
    sqlite3_stmt *st = s->open_phase;
    sqlite3_bind_int64(st, 1, (sqlite3_int64)o->t_ns);
    sqlite3_bind_int64(st, 2, o->thread);
    sqlite3_bind_int(st, 3, (int)o->phase);
    pp_bind_unless(st, 4, o->batch, PP_NO_BATCH);
    pp_bind_unless(st, 5, o->sample, PP_NO_SAMPLE);
    sqlite3_bind_int64(st, 6, (sqlite3_int64)o->since_ns);
    pp_bind_text(st, 7, o->path);
    int code = sqlite3_step(st);
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    return code == SQLITE_DONE ? PP_OK : pp_store_fail(s, "cannot write to");
}

pp_status pp_store_open_phase(struct pp_store *s, const struct pp_store_open_phase *o)
{
    pthread_mutex_lock(&s->lock);
    pp_status status = s->detail == PP_DETAIL_ROLLUP ? PP_END : pp_store_begin(s);
    if (!status && !s->open_phase &&
        sqlite3_prepare_v3(s->db, "INSERT OR REPLACE INTO open_phase VALUES(?,?,?,?,?,?,?)", -1,
                           SQLITE_PREPARE_PERSISTENT, &s->open_phase, NULL) != SQLITE_OK)
        status = pp_store_fail(s, "cannot write to");
    if (!status)
        status = insert(s, o);
    if (!status && ++s->open_phases > PP_STORE_OPEN_PHASES)
        status = forget_oldest(s);
    pthread_mutex_unlock(&s->lock);
    return status == PP_END ? PP_OK : status;
}
