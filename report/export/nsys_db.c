#include "report/export/nsys_db.h"

#include "probe/base/err.h"
#include "report/export/out.h"

#include <stdarg.h>
#include <sys/resource.h>

/* ---- the tables ---- */

#define ENUM_COLUMNS "(id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);"

static const char schema[] =
    "CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER,"
    " text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER);"
    "CREATE TABLE ThreadNames(nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);"
    "CREATE TABLE PROCESSES(globalPid INTEGER, pid INTEGER, name TEXT);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);"
    "CREATE TABLE ANALYSIS_DETAILS(globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, stopTime INTEGER NOT NULL);"
    "CREATE TABLE TARGET_INFO_SYSTEM_ENV(globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER, value TEXT NOT NULL);"
    "CREATE TABLE EXPORT_META_DATA(name TEXT NOT NULL, value TEXT);"
    "CREATE TABLE META_DATA_EXPORT(name TEXT NOT NULL, value TEXT);"
    "CREATE TABLE ENUM_NSYS_EVENT_TYPE" ENUM_COLUMNS
    "INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES(33,'NvtxCategory','NvtxCategory'),(34,'NvtxMark','NvtxMark'),(39,'NvtxThread','NvtxThread'),"
    "(59,'NvtxPushPopRange','NvtxPushPopRange'),(60,'NvtxStartEndRange','NvtxStartEndRange'),(75,'NvtxDomainCreate','NvtxDomainCreate'),"
    "(76,'NvtxDomainDestroy','NvtxDomainDestroy');"
    "CREATE TABLE ENUM_CUDA_MEMCPY_OPER" ENUM_COLUMNS
    "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES(0,'CUDA_MEMCPY_KIND_UNKNOWN','Unknown'),(1,'CUDA_MEMCPY_KIND_HTOD','Host-to-Device'),"
    "(2,'CUDA_MEMCPY_KIND_DTOH','Device-to-Host'),(3,'CUDA_MEMCPY_KIND_HTOA','Host-to-Array'),(4,'CUDA_MEMCPY_KIND_ATOH','Array-to-Host'),"
    "(5,'CUDA_MEMCPY_KIND_ATOA','Array-to-Array'),(6,'CUDA_MEMCPY_KIND_ATOD','Array-to-Device'),(7,'CUDA_MEMCPY_KIND_DTOA','Device-to-Array'),"
    "(8,'CUDA_MEMCPY_KIND_DTOD','Device-to-Device'),(9,'CUDA_MEMCPY_KIND_HTOH','Host-to-Host'),(10,'CUDA_MEMCPY_KIND_PTOP','Peer-to-Peer');"
    "CREATE TABLE ENUM_CUDA_MEM_KIND" ENUM_COLUMNS
    "INSERT INTO ENUM_CUDA_MEM_KIND VALUES(0,'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE','Pageable'),(1,'CUDA_MEMOPR_MEMORY_KIND_PINNED','Pinned'),"
    "(2,'CUDA_MEMOPR_MEMORY_KIND_DEVICE','Device'),(3,'CUDA_MEMOPR_MEMORY_KIND_ARRAY','Array'),(4,'CUDA_MEMOPR_MEMORY_KIND_MANAGED','Managed'),"
    "(5,'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC','Device Static'),(6,'CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC','Managed Static'),"
    "(7,'CUDA_MEMOPR_MEMORY_KIND_UNKNOWN','Unknown');"
    "CREATE TABLE ENUM_CUPTI_SYNC_TYPE" ENUM_COLUMNS
    "INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES(0,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN','Unknown'),"
    "(1,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE','Event'),"
    "(2,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT','Stream Wait Event'),"
    "(3,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE','Stream'),"
    "(4,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE','Context');"
    "CREATE TABLE pipeprobe_meta(section TEXT NOT NULL, key TEXT NOT NULL, value, unit TEXT);"
    "CREATE TABLE pipeprobe_loss(what TEXT NOT NULL, count INTEGER NOT NULL, why TEXT NOT NULL);"
    "CREATE TABLE pipeprobe_counter(time_ns INTEGER NOT NULL, name TEXT NOT NULL, globalTid INTEGER, value REAL NOT NULL);";

/* Columns that are always NULL: added when all rows are in, so that none carries them (SQLite rewrites no row
 * for a new column). */
static const char schema_unused[] =
    "ALTER TABLE NVTX_EVENTS ADD COLUMN int64Value INTEGER; ALTER TABLE NVTX_EVENTS ADD COLUMN doubleValue REAL;"
    "ALTER TABLE NVTX_EVENTS ADD COLUMN uint32Value INTEGER; ALTER TABLE NVTX_EVENTS ADD COLUMN int32Value INTEGER;"
    "ALTER TABLE NVTX_EVENTS ADD COLUMN floatValue REAL; ALTER TABLE NVTX_EVENTS ADD COLUMN jsonTextId INTEGER;"
    "ALTER TABLE NVTX_EVENTS ADD COLUMN jsonText TEXT; ALTER TABLE NVTX_EVENTS ADD COLUMN binaryData TEXT;";

static const char schema_gpu[] =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,"
    " correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
    " greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL,"
    " deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER,"
    " dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER, copyCount INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
    " greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER NOT NULL, graphNodeId INTEGER,"
    " memKind INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
    " greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL,"
    " mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,"
    " blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, localMemoryTotal INTEGER,"
    " gridId INTEGER, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,"
    " greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER);"
    "CREATE TABLE TARGET_INFO_GPU(vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL, busLocation TEXT, isDiscrete INTEGER,"
    " l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, pwGpuId INTEGER, uuid TEXT,"
    " luid INTEGER, chipName TEXT, cuDevice INTEGER);";

/* ---- the file, and plain rows ---- */

static pp_status fail_sqlite(const struct nsys_db *d, struct pp_err *err)
{
    int code = d->db ? sqlite3_errcode(d->db) : SQLITE_NOMEM, os = d->db ? sqlite3_system_errno(d->db) : 0;
    const char *why = d->db ? sqlite3_errmsg(d->db) : "no memory";
    struct rlimit limit;
    if ((code & 0xff) == SQLITE_FULL)
        return pp_fail(err, PP_E_NO_SPACE, "writing %s failed: the disk or the quota is full", d->label);
    if ((code & 0xff) == SQLITE_NOMEM)
        return pp_fail(err, PP_E_NO_MEMORY, "writing %s failed: no memory", d->label);
    /* The errno of a failed write is often gone by now; a limit on file size, if there is one, is likely. */
    if (sqlite3_extended_errcode(d->db) == SQLITE_IOERR_WRITE && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY)
        return pp_fail(err, PP_E_NO_SPACE,
                       "writing %s failed: a file-size limit of %llu bytes is in force (ulimit -f)", d->label,
                       (unsigned long long)limit.rlim_cur);
    if ((code & 0xff) == SQLITE_IOERR && os)
        return pp_fail_errno(err, os, "writing %s failed", d->label);
    return pp_fail(err, PP_E_IO, "writing %s failed: %s", d->label, why);
}

static pp_status execute(struct nsys_db *d, const char *sql, struct pp_err *err)
{
    return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK ? PP_OK : fail_sqlite(d, err);
}

pp_status nsys_db_open(struct nsys_db *d, const char *path, const char *label, int gpu, struct pp_err *err)
{
    d->label = label;
    if (sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return fail_sqlite(d, err);
    pp_status st = execute(
        d,
        "PRAGMA page_size=16384; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
        "PRAGMA cache_size=-16384; BEGIN;",
        err);
    if (st == PP_OK)
        st = execute(d, schema, err);
    if (st == PP_OK && gpu)
        st = execute(d, schema_gpu, err);
    return st;
}

pp_status nsys_db_finish(struct nsys_db *d, struct pp_err *err)
{
    pp_status st = execute(d, schema_unused, err);
    return st == PP_OK ? execute(d, "COMMIT; PRAGMA journal_mode=DELETE", err) : st;
}

pp_status nsys_prepare(struct nsys_db *d, const char *sql, sqlite3_stmt **out, struct pp_err *err)
{
    return sqlite3_prepare_v3(d->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL) == SQLITE_OK
               ? PP_OK
               : fail_sqlite(d, err);
}

pp_status nsys_step(struct nsys_db *d, sqlite3_stmt *st, struct pp_err *err)
{
    pp_status status = sqlite3_step(st) == SQLITE_DONE ? PP_OK : fail_sqlite(d, err);
    sqlite3_reset(st);
    return status;
}

pp_status nsys_string(struct nsys_db *d, const char *text, uint32_t *id, struct pp_err *err)
{
    *id = ++d->strings;
    return nsys_row(d, err, "INSERT INTO StringIds(id, value) VALUES(?,?)", "is", (int64_t)*id, text);
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

/* ---- rows of integers, many a statement ---- */

static pp_status prepare_rows(struct nsys_db *d, const char *into, const char *row, int rows,
                              sqlite3_stmt **out, struct pp_err *err)
{
    char *sql = malloc(strlen(into) + (size_t)rows * (strlen(row) + 1) + 1);
    if (!sql)
        return pp_out_no_memory(d->label, err);
    char *at = stpcpy(sql, into);
    for (int i = 0; i < rows; i++)
        at = stpcpy(stpcpy(at, i ? "," : ""), row);
    pp_status st = nsys_prepare(d, sql, out, err);
    free(sql);
    return st;
}

pp_status nsys_rows_open(struct nsys_db *d, struct nsys_rows *r, const char *into, const char *row,
                         struct pp_err *err)
{
    pp_status st = prepare_rows(d, into, row, NSYS_ROWS, &r->many, err);
    if (st == PP_OK)
        st = prepare_rows(d, into, row, 1, &r->one, err);
    if (st != PP_OK)
        return st;
    r->values = sqlite3_bind_parameter_count(r->one);
    r->pending = malloc(NSYS_ROWS * (size_t)r->values * sizeof(*r->pending));
    return r->pending ? PP_OK : pp_out_no_memory(d->label, err);
}

static void bind_values(sqlite3_stmt *st, const int64_t *values, int n)
{
    for (int i = 0; i < n; i++)
        if (values[i] == NSYS_NULL)
            sqlite3_bind_null(st, i + 1);
        else
            sqlite3_bind_int64(st, i + 1, values[i]);
}

pp_status nsys_rows_put(struct nsys_db *d, struct nsys_rows *r, const int64_t *values, struct pp_err *err)
{
    memcpy(r->pending + (ptrdiff_t)r->n * r->values, values, (size_t)r->values * sizeof(*values));
    if (++r->n < NSYS_ROWS)
        return PP_OK;
    bind_values(r->many, r->pending, NSYS_ROWS * r->values);
    r->n = 0;
    return nsys_step(d, r->many, err);
}

pp_status nsys_rows_flush(struct nsys_db *d, struct nsys_rows *r, struct pp_err *err)
{
    pp_status st = PP_OK;
    for (int i = 0; i < r->n && st == PP_OK; i++) {
        bind_values(r->one, r->pending + (ptrdiff_t)i * r->values, r->values);
        st = nsys_step(d, r->one, err);
    }
    r->n = 0;
    return st;
}
