#include "collectors/store/claim.h"
#include "collectors/store/log_vfs.h"
#include "collectors/store/schema_check.h"
#include "collectors/store/store.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define BUSY_MS 5000

static const char *const statement_sql[ST_COUNT] = {
    [ST_META] =
        "INSERT INTO meta VALUES(?,?,?,?) ON CONFLICT(section, key) DO UPDATE SET value = excluded.value, unit = excluded.unit",
    [ST_THREAD] = "REPLACE INTO thread VALUES(?,?,?,?,?,?,?)",
    [ST_NAME] = "REPLACE INTO name VALUES(?,?)",
    [ST_CHUNK] =
        "INSERT INTO chunk(thread, seq0, n, first_start_ns, last_end_ns, checksum, body, next_seq) VALUES(?,?,?,?,?,?,?,?)",
    [ST_ERROR] =
        "INSERT INTO error(t_ns, thread, batch, sample, path, kind, action, reason) VALUES(?,?,?,?,?,?,?,?)",
    [ST_ERROR_MORE] = "UPDATE error SET count = count + 1 WHERE id = ?",
    [ST_QUEUE] = "REPLACE INTO queue VALUES(?,?,?,?,?,?,?,?,?)",
    [ST_COUNTER] = "INSERT INTO counter(t_ns, name, value) VALUES(?,?,?)",
    [ST_LOSS] = "INSERT INTO loss VALUES(?,?,?)",
};

/* A write-ahead log shares memory between its users, which file systems over a network do not promise. */
static int network_file_system(const char *path)
{
    static const unsigned long types[] = {
        NFS_SUPER_MAGIC,         SMB_SUPER_MAGIC,         0xff534d42ul /* cifs */,
        0xfe534d42ul /* smb2 */, 0x65735546ul /* fuse */, V9FS_MAGIC,
        CEPH_SUPER_MAGIC,        AFS_SUPER_MAGIC,         0x0bd00bd0ul /* lustre */,
        0x47504653ul /* gpfs */,
    };
    struct statfs fs;
    if (statfs(path, &fs) != 0)
        return 0;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (((unsigned long)fs.f_type & 0xfffffffful) == types[i])
            return 1;
    return 0;
}

static pp_status write_phases(sqlite3 *db, const char *path, struct pp_err *err)
{
    sqlite3_stmt *st = NULL;
    pp_status status = PP_OK;
    if (sqlite3_prepare_v2(db, "INSERT INTO phase VALUES(?,?,?,?,?)", -1, &st, NULL) != SQLITE_OK)
        return pp_db_fail(db, err, "cannot create", path);
    for (unsigned id = 1; id < PP_PHASE_COUNT && !status; id++) {
        const struct pp_phase_info *p = pp_phase_info(id);
        if (!p)
            continue;
        sqlite3_bind_int(st, 1, (int)id);
        sqlite3_bind_text(st, 2, p->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(st, 3, pp_lane_name(p->lane), -1, SQLITE_STATIC);
        sqlite3_bind_text(st, 4, p->kind == PP_KIND_WAIT ? "wait" : "work", -1, SQLITE_STATIC);
        sqlite3_bind_text(st, 5, p->text, -1, SQLITE_STATIC);
        if (sqlite3_step(st) != SQLITE_DONE)
            status = pp_db_fail(db, err, "cannot create", path);
        sqlite3_reset(st);
    }
    sqlite3_finalize(st);
    return status;
}

static pp_status write_schema(sqlite3 *db, const char *path, struct pp_err *err)
{
    char sql[160];
    snprintf(sql, sizeof(sql),
             "PRAGMA page_size=%d; BEGIN IMMEDIATE; PRAGMA application_id=%d; PRAGMA user_version=%d;",
             PP_STORE_PAGE_BYTES, PP_STORE_APPLICATION_ID, PP_STORE_VERSION);
    pp_status status = pp_db_exec(db, sql, err, "cannot create", path);
    if (!status)
        status = pp_db_exec(db, pp_schema_tables, err, "cannot create", path);
    if (!status)
        status = write_phases(db, path, err);
    if (!status)
        status = pp_db_exec(db, "COMMIT", err, "cannot create", path);
    return status;
}

/* The schema goes through the rollback journal first: page 1 is on disk, and names us, before the log exists.
 */
static void choose_journal(struct pp_store *s)
{
    const char *why = "the file system is a network one";
    int wal = !network_file_system(s->path);
    if (wal) {
        why = "the file system does not support it";
        wal = pp_db_journal_mode(s->db, "wal");
    }
    if (!wal)
        pp_db_journal_mode(s->db, "delete");
    else
        s->checkpoint = pp_checkpoint_new(&(struct pp_checkpoint_opts){
            .db = s->db, .path = s->path, .from = PP_STORE_LOG_PAGES, .most = PP_STORE_LOG_PAGES_MAX});
    pp_store_meta_text(s, "run", "journal_mode", wal ? "wal" : "delete");
    if (!wal) {
        char text[160];
        snprintf(text, sizeof(text), "no write-ahead log (%s): commits use a rollback journal and cost more",
                 why);
        pp_store_loss(s, "write_ahead_log", 0, text);
    }
}

/* Prepares what a store needs on an open database, taking it over (it is closed on failure too). */
static pp_status adopt(sqlite3 *db, const char *path, uint64_t max_rows, struct pp_store **out,
                       struct pp_err *err)
{
    pp_status status = PP_OK;
    struct pp_store *s = calloc(1, sizeof(*s));
    if (!s) {
        sqlite3_close(db);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", path);
    }
    pthread_mutex_init(&s->lock, NULL);
    s->db = db;
    s->claim = -1;
    s->max_rows = max_rows ? max_rows : PP_STORE_MAX_ROWS;
    s->path = strdup(path);
    s->codec = pp_chunk_codec_new();
    sqlite3_busy_timeout(db, BUSY_MS);
    for (int i = 0; i < ST_COUNT && !status; i++)
        if (sqlite3_prepare_v3(db, statement_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->st[i], NULL) !=
            SQLITE_OK)
            status = pp_db_fail(db, err, "cannot write", path);
    if (!status)
        s->rollup = pp_rollup_new(db);
    if (!status && (!s->path || !s->codec || !s->rollup))
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", path);
    if (status) {
        pp_store_close(s);
        return status;
    }
    *out = s;
    return PP_OK;
}

pp_status pp_store_create(const struct pp_store_opts *opts, struct pp_store **out, struct pp_err *err)
{
    sqlite3 *db = NULL;
    struct pp_store *s = NULL;
    *out = NULL;
    int claim;
    pp_status status = pp_store_claim(opts, &claim, err);
    if (status)
        return status;
    if (network_file_system(opts->path)) { /* whose server may take our lock for SQLite's */
        close(claim);
        claim = -1;
    }
    pp_io_ignore_file_size_signal();
    if (sqlite3_open_v2(opts->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        pp_log_vfs()) != SQLITE_OK) {
        status = pp_db_fail(db, err, "cannot create", opts->path);
        sqlite3_close(db);
        goto out;
    }
    sqlite3_extended_result_codes(db, 1);
    sqlite3_exec(db, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
    sqlite3_wal_autocheckpoint(db, PP_STORE_LOG_PAGES);
    status = write_schema(db, opts->path, err);
    if (status) {
        sqlite3_close(db);
        goto out;
    }
    status = adopt(db, opts->path, opts->max_rows, &s, err);
    if (status)
        goto out;
    s->claim = claim;
    claim = -1;
    choose_journal(s);
    s->max_bytes = opts->max_bytes;
    if (opts->detail != PP_DETAIL_SAMPLE)
        pp_store_lower_detail(s, opts->detail, "as asked");
    if (opts->session_id) {
        char id[24];
        snprintf(id, sizeof(id), "%016llx", (unsigned long long)opts->session_id);
        pp_store_meta_text(s, "run", "session_id", id);
    }
    status = pp_store_commit(s, err);
    if (status) {
        claim = s->claim;
        s->claim = -1;
        pp_store_close(s);
        goto out;
    }
    pp_store_note_place(s);
    *out = s;
    return PP_OK;
out:
    pp_store_unclaim(opts->path, claim); /* half a schema is of no use */
    return status;
}

pp_status pp_store_resume(const char *path, struct pp_store **out, struct pp_err *err)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    struct pp_store *s = NULL;
    *out = NULL;
    pp_io_ignore_file_size_signal();
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, pp_log_vfs()) != SQLITE_OK) {
        pp_status status = pp_db_fail(db, err, "cannot append to", path);
        sqlite3_close(db);
        return status;
    }
    sqlite3_extended_result_codes(db, 1);
    pp_schema_distrust(db);
    pp_status status = pp_schema_check_write(db, path, err);
    if (status) {
        sqlite3_close(db);
        return status;
    }
    status = adopt(db, path, 0, &s, err);
    if (status)
        return status;
    int code = sqlite3_prepare_v2(
        db, "SELECT thread, max(coalesce(next_seq, seq0 + n)) FROM chunk GROUP BY thread", -1, &st, NULL);
    while (code == SQLITE_OK && (code = sqlite3_step(st)) == SQLITE_ROW) {
        sqlite3_int64 thread = sqlite3_column_int64(st, 0);
        if (thread >= 0 && thread < PP_THREADS_MAX)
            s->pending[thread].seq = (uint64_t)sqlite3_column_int64(st, 1);
        code = SQLITE_OK;
    }
    if (code != SQLITE_DONE)
        status = pp_db_fail(db, err, "cannot append to", path);
    sqlite3_finalize(st);
    if (status)
        pp_store_close(s);
    else
        *out = s;
    return status;
}
