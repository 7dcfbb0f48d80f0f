#include "collectors/store/db.h"

#include "probe/base/err.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

pp_status pp_db_fail(sqlite3 *db, struct pp_err *err, const char *what, const char *path)
{
    int code = db ? sqlite3_extended_errcode(db) : SQLITE_NOMEM, e = db ? sqlite3_system_errno(db) : 0,
        no_room = e == ENOSPC || e == EDQUOT || e == EFBIG;
    pp_status status;
    struct rlimit limit;
    const char *why = db ? sqlite3_errmsg(db) : "out of memory";
    struct statvfs fs;
    switch (code & 0xff) {
    case SQLITE_FULL: status = PP_E_NO_SPACE; break;
    case SQLITE_IOERR: status = no_room ? PP_E_NO_SPACE : PP_E_IO; break;
    case SQLITE_NOMEM: status = PP_E_NO_MEMORY; break;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: status = PP_E_ACCESS; break;
    case SQLITE_CANTOPEN: status = no_room ? PP_E_NO_SPACE : PP_E_ACCESS; break;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: status = PP_E_CORRUPT; break;
    default: status = PP_E_SYSTEM; break;
    }
    /* A log or journal is a file of its own. SQLite's errno is of its second try, to read what it could not
     * make. File systems without a fixed number say 0 of 0. */
    if ((code & 0xff) == SQLITE_CANTOPEN && statvfs(path, &fs) == 0 && fs.f_files > 0 && fs.f_favail == 0)
        return pp_fail(err, PP_E_NO_SPACE,
                       "%s %s: no inode is left for its log; remove files there or choose another directory",
                       what, path);
    /* The errno of a failed write is often gone by now; a limit on file size, where one is set, is the likely
     * cause. */
    if (code == SQLITE_IOERR_WRITE && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return pp_fail(err, PP_E_NO_SPACE,
                       "%s %s: %s; a file-size limit of %llu bytes is in force (ulimit -f)", what, path, why,
                       (unsigned long long)limit.rlim_cur);
    if ((code & 0xff) == SQLITE_CORRUPT)
        return pp_fail(err, status,
                       "%s %s: it is damaged (%s); copy it again from where it was recorded, or record again",
                       what, path, why);
    return pp_fail(err, status, "%s %s: %s%s", what, path, why,
                   status == PP_E_NO_SPACE ? "; free some space or choose another directory" : "");
}

pp_status pp_db_exec(sqlite3 *db, const char *sql, struct pp_err *err, const char *what, const char *path)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? PP_OK : pp_db_fail(db, err, what, path);
}

int pp_db_journal_mode(sqlite3 *db, const char *mode)
{
    char sql[64];
    sqlite3_stmt *st = NULL;
    int same = 0;
    snprintf(sql, sizeof(sql), "PRAGMA journal_mode=%s", mode);
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        same = sqlite3_stricmp((const char *)sqlite3_column_text(st, 0), mode) == 0;
    sqlite3_finalize(st);
    return same;
}

sqlite3_int64 pp_db_number(sqlite3 *db, const char *sql, sqlite3_int64 otherwise)
{
    sqlite3_stmt *st = NULL;
    sqlite3_int64 v = otherwise;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        v = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return v;
}

uint64_t pp_db_bytes(sqlite3 *db)
{
    return (uint64_t)pp_db_number(db, "PRAGMA page_count", 0) *
           (uint64_t)pp_db_number(db, "PRAGMA page_size", 0);
}

/* Offsets are those of "The SQLite Database File Format", section 1.3. */
pp_status pp_db_check_file(const char *path, struct pp_err *err)
{
    uint8_t h[100];
    char name[PATH_MAX + 16];
    struct stat st;
    pp_status status = PP_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe does not make us wait */
    if (fd < 0)
        return pp_fail_errno(err, errno, "cannot open %s", path);
    if (fstat(fd, &st) != 0) {
        status = pp_fail_errno(err, errno, "cannot open %s", path);
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        status = pp_fail(err, PP_E_USAGE, "%s is not a file; give the .sqlite file of a run", path);
        goto out;
    }
    if (st.st_size == 0) {
        status = pp_fail(
            err, PP_E_EMPTY,
            "%s is empty; it holds no run: its recording was ended before it began, and a new one may have its name",
            path);
        goto out;
    }
    ssize_t got = pread(fd, h, sizeof(h), 0);
    if (got < 0) {
        status = pp_fail_errno(err, errno, "cannot read %s", path);
        goto out;
    }
    if (got != (ssize_t)sizeof(h) || memcmp(h, "SQLite format 3", 16) != 0) {
        status = pp_fail(err, PP_E_CORRUPT, "%s is not an SQLite file; give the file a `pipeprobe run` wrote",
                         path);
        goto out;
    }
    if (pp_be32(h + 68) != PP_STORE_APPLICATION_ID) {
        status = pp_fail(err, PP_E_UNSUPPORTED, "%s is an SQLite file, but not a pipeprobe run", path);
        goto out;
    }
    if (pp_be32(h + 60) > PP_STORE_VERSION) {
        status = pp_fail(err, PP_E_VERSION,
                         "%s has schema version %u and this pipeprobe reads up to %d; use a newer pipeprobe",
                         path, pp_be32(h + 60), PP_STORE_VERSION);
        goto out;
    }
    uint64_t page = (uint64_t)h[16] << 8 | h[17], pages = pp_be32(h + 28);
    uint64_t says = (page == 1 ? 65536 : page) * pages;
    /* While a log or a journal holds pages, the size of the main file may rightly differ from what its header
     * says. */
    int has_log = 0;
    for (size_t i = 0; i < 2; i++) {
        struct stat log;
        snprintf(name, sizeof(name), "%s-%s", path, i ? "journal" : "wal");
        has_log |= stat(name, &log) == 0 && log.st_size > 0;
    }
    if ((uint64_t)st.st_size < says && !has_log)
        status = pp_fail(err, PP_E_CORRUPT,
                         "%s is truncated: it has %lld of %llu bytes; copy it again, or record again", path,
                         (long long)st.st_size, (unsigned long long)says);
out:
    close(fd);
    return status;
}

#define JOURNAL_HEADER 28 /* "The SQLite Database File Format", section 3 */
#define NAME_BYTES (PATH_MAX + 16)

static const char *const suffixes[] = {"-journal", "-wal", "-shm"};
enum { SUFFIXES = sizeof(suffixes) / sizeof(*suffixes) };

void pp_beside_real(const char *path, char *real)
{
    char *found = realpath(path, NULL);
    snprintf(real, PATH_MAX, "%s", found ? found : path);
    free(found);
}

static enum pp_beside kind_of(const struct stat *st, int is_recording)
{
    if (!S_ISREG(st->st_mode))
        return PP_BESIDE_UNFIT;
    return st->st_uid == geteuid() && (is_recording || st->st_nlink == 1) ? PP_BESIDE_OURS
                                                                          : PP_BESIDE_FOREIGN;
}

enum pp_beside pp_beside_look(const char *real, const char *suffix)
{
    char name[NAME_BYTES];
    struct stat st;
    snprintf(name, sizeof(name), "%s%s", real, suffix);
    return lstat(name, &st) == 0 ? kind_of(&st, !*suffix) : PP_BESIDE_ABSENT;
}

pp_status pp_beside_check(const char *real, struct pp_err *err)
{
    for (int i = 0; i < SUFFIXES; i++)
        if (pp_beside_look(real, suffixes[i]) == PP_BESIDE_UNFIT)
            return pp_fail(
                err, PP_E_UNSUPPORTED,
                "%s%s is a link, a pipe or a device, and no file of a recording; remove it to read %s", real,
                suffixes[i], real);
    return PP_OK;
}

/* A recorder never has two databases in one transaction, so its journal names no other file ("super-journal",
 * whose record ends in the magic), and begins with a file that was no larger than now. */
pp_status pp_beside_may_roll_back(const char *real, struct pp_err *err)
{
    static const uint8_t magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    uint8_t head[JOURNAL_HEADER] = {0}, end[sizeof(magic)];
    char name[NAME_BYTES];
    struct stat file, journal;
    pp_status status = PP_OK;
    snprintf(name, sizeof(name), "%s-journal", real);
    if (lstat(name, &journal) != 0 || (S_ISREG(journal.st_mode) && journal.st_size == 0))
        return PP_OK;
    if (lstat(real, &file) != 0 || kind_of(&file, 1) != PP_BESIDE_OURS)
        return pp_fail(err, PP_E_ACCESS, "the recording belongs to another user, who can");
    if (kind_of(&journal, 0) != PP_BESIDE_OURS)
        return pp_fail(err, PP_E_ACCESS, "it belongs to another user, or is a link");
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return pp_fail(err, PP_E_ACCESS, "it cannot be opened: %s", strerror(errno));
    if (fstat(fd, &journal) != 0 || kind_of(&journal, 0) != PP_BESIDE_OURS)
        status = pp_fail(err, PP_E_ACCESS, "it has just been replaced");
    else if (journal.st_size < JOURNAL_HEADER)
        ; /* SQLite takes nothing from it */
    else if (pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
             pread(fd, end, sizeof(end), journal.st_size - (off_t)sizeof(end)) != (ssize_t)sizeof(end))
        status = pp_fail(err, PP_E_IO, "it cannot be read");
    else if (memcmp(end, magic, sizeof(magic)) == 0)
        status = pp_fail(
            err, PP_E_UNSUPPORTED,
            "it names another file, which rolling back would delete; no journal of pipeprobe does");
    else if (memcmp(head, magic, sizeof(magic)) == 0 &&
             (uint64_t)pp_be32(head + 16) * pp_be32(head + 24) > (uint64_t)file.st_size)
        status = pp_fail(err, PP_E_UNSUPPORTED, "it is of a larger file");
    close(fd);
    return status;
}

pp_status pp_beside_may_write(const char *real, struct pp_err *err)
{
    enum pp_beside file = pp_beside_look(real, "");
    if (file != PP_BESIDE_OURS)
        return pp_fail(err, PP_E_ACCESS, "%s belongs to another user, who can take them in by opening it",
                       real);
    for (int i = 0; i < SUFFIXES; i++) {
        enum pp_beside beside = pp_beside_look(real, suffixes[i]);
        if (beside != PP_BESIDE_ABSENT && beside != PP_BESIDE_OURS)
            return pp_fail(err, PP_E_ACCESS, "%s%s belongs to another user, or is a link; remove it", real,
                           suffixes[i]);
    }
    struct pp_err why = {.code = PP_OK};
    pp_status status = pp_beside_may_roll_back(real, &why);
    return status ? pp_fail(err, status, "%s-journal cannot be rolled back: %s", real, why.text) : PP_OK;
}
