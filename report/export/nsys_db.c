#include "report/export/nsys.h"

#include "probe/base/err.h"

#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>

static pp_status fail(const struct nsys_db *d, struct pp_err *err)
{
    int code = d->db ? sqlite3_errcode(d->db) : SQLITE_NOMEM, os = d->db ? sqlite3_system_errno(d->db) : 0;
    const char *why = d->db ? sqlite3_errmsg(d->db) : "no memory";
    struct rlimit limit;
    if ((code & 0xff) == SQLITE_FULL)
        return pp_fail(err, PP_E_NO_SPACE, "writing %s failed: the disk or the quota is full", d->label);
    if ((code & 0xff) == SQLITE_NOMEM)
        return pp_fail(err, PP_E_NO_MEMORY, "writing %s failed: no memory", d->label);
    /* The errno of a failed write is often gone by now; a limit on file size, where one is set, is the likely
     * cause. */
    if (sqlite3_extended_errcode(d->db) == SQLITE_IOERR_WRITE && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY)
        return pp_fail(err, PP_E_NO_SPACE,
                       "writing %s failed: a file-size limit of %llu bytes is in force (ulimit -f)", d->label,
                       (unsigned long long)limit.rlim_cur);
    if ((code & 0xff) == SQLITE_IOERR && os)
        return pp_fail_errno(err, os, "writing %s failed", d->label);
    return pp_fail(err, PP_E_IO, "writing %s failed: %s", d->label, why);
}

static pp_status exec(struct nsys_db *d, const char *sql, struct pp_err *err)
{
    return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK ? PP_OK : fail(d, err);
}

pp_status nsys_db_open(struct nsys_db *d, const char *path, const char *label, int gpu, struct pp_err *err)
{
    d->label = label;
    if (sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return fail(d, err);
    pp_status st = exec(
        d,
        "PRAGMA page_size=16384; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
        "PRAGMA cache_size=-16384; BEGIN;",
        err);
    if (st == PP_OK)
        st = exec(d, nsys_schema, err);
    if (st == PP_OK && gpu)
        st = exec(d, nsys_schema_gpu, err);
    return st;
}

pp_status nsys_db_finish(struct nsys_db *d, struct pp_err *err)
{
    pp_status st = exec(d, nsys_schema_unused, err);
    return st == PP_OK ? exec(d, "COMMIT; PRAGMA journal_mode=DELETE", err) : st;
}

void nsys_db_close(struct nsys_db *d)
{
    sqlite3_close_v2(d->db);
    d->db = NULL;
}

pp_status nsys_prepare(struct nsys_db *d, const char *sql, sqlite3_stmt **out, struct pp_err *err)
{
    return sqlite3_prepare_v3(d->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL) == SQLITE_OK
               ? PP_OK
               : fail(d, err);
}

pp_status nsys_step(struct nsys_db *d, sqlite3_stmt *st, struct pp_err *err)
{
    pp_status status = sqlite3_step(st) == SQLITE_DONE ? PP_OK : fail(d, err);
    sqlite3_reset(st);
    return status;
}

pp_status nsys_string(struct nsys_db *d, const char *text, uint32_t *id, struct pp_err *err)
{
    *id = ++d->strings;
    return nsys_row(d, err, "INSERT INTO StringIds(id, value) VALUES(?,?)", "is", (int64_t)*id, text);
}

pp_status nsys_device(struct nsys_db *d, const char *name, uint32_t id, struct pp_err *err)
{
    return nsys_row(d, err, "INSERT INTO TARGET_INFO_GPU(vmId, id, name, cuDevice) VALUES(?,?,?,?)", "iisi",
                    (int64_t)1 << 48, (int64_t)id, name ? name : "CUDA device", (int64_t)id);
}

pp_status nsys_row(struct nsys_db *d, struct pp_err *err, const char *sql, const char *types, ...)
{
    sqlite3_stmt *st = NULL;
    va_list ap;
    pp_status status = nsys_prepare(d, sql, &st, err);
    if (status != PP_OK)
        return status;
    va_start(ap, types);
    for (int i = 0; types[i]; i++)
        if (types[i] == 'i')
            sqlite3_bind_int64(st, i + 1, va_arg(ap, int64_t));
        else if (types[i] == 's')
            sqlite3_bind_text(st, i + 1, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
    va_end(ap);
    status = nsys_step(d, st, err);
    sqlite3_finalize(st);
    return status;
}

pp_status nsys_text_event(struct nsys_db *d, int64_t global_tid, const struct nsys_text_event *e,
                          struct pp_err *err)
{
    return nsys_row(
        d, err,
        "INSERT INTO NVTX_EVENTS(start, eventType, category, globalTid, domainId, text) VALUES(?,?,nullif(?,0),?,?,?)",
        "iiiiis", e->start, (int64_t)e->type, (int64_t)e->category, global_tid, (int64_t)NSYS_DOMAIN_ID,
        e->text);
}

pp_status nsys_name_thread(struct nsys_db *d, int64_t global_tid, const char *name, struct pp_err *err)
{
    uint32_t id;
    pp_status st = nsys_string(d, name, &id, err);
    if (st == PP_OK)
        st = nsys_row(d, err, "INSERT INTO ThreadNames(nameId, priority, globalTid) VALUES(?,0,?)", "ii",
                      (int64_t)id, global_tid);
    return st == PP_OK
               ? nsys_text_event(d, global_tid,
                                 &(struct nsys_text_event){.type = NSYS_THREAD_NAME, .text = name}, err)
               : st;
}
