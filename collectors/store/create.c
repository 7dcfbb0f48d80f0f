/* Making a recording's file: its name, its schema, its journal. */
#include "collectors/store/rings.h"
#include "collectors/store/store.h"
#include "collectors/store/vfs.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define BUSY_MS 5000
#define CLAIM_TRIES 100
#define NEW_FILE (O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW)

/* ---- the name ----
 *
 * Several may want it at the same moment, with and without --force: exactly one gets it, and nothing is
 * removed by another. */

static void remove_beside(const char *path)
{
    static const char *const suffix[] = {"-wal", "-shm", "-journal"};
    char name[PATH_MAX + 16];
    for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", path, suffix[i]);
        unlink(name);
    }
}

void pp_store_unclaim(const char *path, int lock)
{
    remove_beside(path); /* while the name is ours */
    unlink(path);
    if (lock >= 0)
        close(lock);
}

static pp_status check_name(const struct pp_store_opts *opts, struct pp_err *err)
{
    const char *path = opts->path;
    char dir[PATH_MAX];
    struct stat st;
    if (!path || !*path)
        return pp_fail(err, PP_E_USAGE, "the output needs a file name");
    if (strlen(path) > PATH_MAX - 64)
        return pp_fail(err, PP_E_USAGE, "the output's name is too long: %.100s...", path);
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return pp_fail(err, PP_E_USAGE, "%s is a directory; name a file in it", path);
        if (!opts->force && (!S_ISREG(st.st_mode) || st.st_size > 0))
            return pp_fail(err, PP_E_EXISTS,
                           "%s already exists; use --force to replace it, or choose another name", path);
        if (!S_ISREG(st.st_mode))
            return pp_fail(err, PP_E_USAGE, "%s is not a regular file; choose another name", path);
    }
    snprintf(dir, sizeof(dir), "%s", path);
    char *slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = '\0';
    else
        strcpy(dir, ".");
    if (stat(dir, &st) != 0)
        return pp_fail_errno(err, errno, "cannot create %s: its directory %s", path, dir);
    if (!S_ISDIR(st.st_mode))
        return pp_fail(err, PP_E_NOT_FOUND, "cannot create %s: %s is not a directory", path, dir);
    if (access(dir, W_OK | X_OK) != 0)
        return pp_fail_errno(err, errno,
                             "cannot create %s: the directory %s is not writable; choose another one with -o",
                             path, dir);
    return PP_OK;
}

static pp_status fail_taken(const char *path, struct pp_err *err)
{
    return pp_fail(err, PP_E_EXISTS, "another process is recording into %s; choose another name", path);
}

/* A file system without such locks leaves the name to O_EXCL. */
static int is_locked_by_another(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/* What is done with the file fd, which has the name and whose lock is ours. *lock is -1 where another got the
 * name. */
static pp_status take_over(const struct pp_store_opts *opts, int fd, int empty, int *lock, struct pp_err *err)
{
    pp_status status = PP_OK;
    *lock = -1;
    if (!empty && !opts->force)
        status = pp_fail(err, PP_E_EXISTS,
                         "%s already exists; use --force to replace it, or choose another name", opts->path);
    if (!status)
        status = pp_rings_discard(opts->path, opts->session_id, err);
    if (status)
        return status;
    remove_beside(opts->path); /* once the name is free, what lies beside it is another's */
    if (empty) {
        *lock = fd;
        return PP_OK;
    }
    unlink(opts->path);
    int made = open(opts->path, NEW_FILE, 0666);
    if (made < 0 && errno != EEXIST) /* else another was faster */
        return pp_fail_errno(err, errno, "cannot create %s", opts->path);
    if (made >= 0 && !is_locked_by_another(made))
        *lock = made;
    else if (made >= 0)
        close(made);
    return PP_OK;
}

/* Makes an empty file of opts->path, for SQLite a new database, and locks it (flock, which ends with the
 * process and is none of SQLite's locks). What was there under that name is removed, with its log and its
 * ring files, only while its own lock is held: with opts->force any recording, else an empty file, which a
 * start that was killed left. *lock is to be closed when the recording has ended. PP_E_EXISTS: a recording is
 * there, or another process records there. */
static pp_status claim_name(const struct pp_store_opts *opts, int *lock, struct pp_err *err)
{
    pp_status status = check_name(opts, err);
    *lock = -1;
    for (int tries = 0; !status && tries < CLAIM_TRIES; tries++) {
        struct stat st, named;
        int fd = open(opts->path, NEW_FILE, 0666), made = fd >= 0;
        if (!made && errno != EEXIST)
            return pp_fail_errno(err, errno, "cannot create %s", opts->path);
        if (!made)
            fd = open(opts->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0 && errno != ENOENT) { /* a link, or not ours to read: --force removes the name alone */
            if (!opts->force)
                return fail_taken(opts->path, err);
            unlink(opts->path);
        }
        if (fd < 0)
            continue;
        if (is_locked_by_another(fd)) {
            close(fd);
            return fail_taken(opts->path, err);
        }
        /* Whether the file that was opened still has the name. */
        if (fstat(fd, &st) == 0 && lstat(opts->path, &named) == 0 && named.st_ino == st.st_ino &&
            named.st_dev == st.st_dev) {
            status = take_over(opts, fd, st.st_size == 0, lock, err);
            if (status && made)
                unlink(opts->path);
        }
        if (*lock != fd)
            close(fd);
        if (*lock >= 0)
            return PP_OK;
    }
    return status ? status : fail_taken(opts->path, err);
}

/* ---- the file ---- */

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

static pp_status write_schema(sqlite3 *db, const char *path, struct pp_err *err)
{
    sqlite3_stmt *st = NULL;
    char sql[160];
    snprintf(sql, sizeof(sql),
             "PRAGMA page_size=%d; BEGIN IMMEDIATE; PRAGMA application_id=%d; PRAGMA user_version=%d;",
             PP_STORE_PAGE_BYTES, PP_STORE_APPLICATION_ID, PP_STORE_VERSION);
    pp_status status = pp_db_exec(db, sql, err, "cannot create", path);
    if (!status)
        status = pp_db_exec(db, pp_schema_tables, err, "cannot create", path);
    if (!status && sqlite3_prepare_v2(db, "INSERT INTO phase VALUES(?,?,?,?,?)", -1, &st, NULL) != SQLITE_OK)
        status = pp_db_fail(db, err, "cannot create", path);
    for (unsigned id = 1; id < PP_PHASE_COUNT && !status; id++) {
        const struct pp_phase_info *p = pp_phase_info(id);
        if (!p)
            continue;
        pp_row_bind(st, PP_ROW(v_int(id), v_text(p->name), v_text(pp_lane_name(p->lane)),
                               v_text(p->kind == PP_KIND_WAIT ? "wait" : "work"), v_text(p->text)));
        if (sqlite3_step(st) != SQLITE_DONE)
            status = pp_db_fail(db, err, "cannot create", path);
        sqlite3_reset(st);
    }
    sqlite3_finalize(st);
    return status ? status : pp_db_exec(db, "COMMIT", err, "cannot create", path);
}

/* The schema goes by the rollback journal first: page 1 is on disk, and names us, before the log exists. */
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
    for (int i = 0; i < ST_ALWAYS && !status; i++)
        if (pp_store_prepare(s, (enum pp_store_statement)i) != SQLITE_OK)
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
    pp_status status = claim_name(opts, &claim, err);
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
