#include "collectors/store/vfs.h"
#include "collectors/store/db.h"
#include "probe/base/err.h"

#include <pthread.h>
#include <sys/stat.h>

enum { SLEEP_MOST_US = 2500 };

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *base;
} over;

/* ---- the index of the log in memory ---- */

static int no_index(sqlite3_file *file, int page, int bytes, int extend, void volatile **out)
{
    *out = NULL;
    return SQLITE_READONLY_CANTINIT;
}

static int no_lock(sqlite3_file *file, int from, int n, int flags)
{
    return SQLITE_OK;
}

static void no_barrier(sqlite3_file *file)
{
}

static int no_unmap(sqlite3_file *file, int delete)
{
    return SQLITE_OK;
}

/* ---- files ---- */

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    const int of_recording = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL,
              writes = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE |
                       SQLITE_OPEN_DELETEONCLOSE;
    struct stat st;
    file->pMethods = NULL;
    if (flags & SQLITE_OPEN_SUPER_JOURNAL)
        return SQLITE_CANTOPEN;
    if (!(flags & of_recording))
        return over.base->xOpen(over.base, name, file, flags, out_flags);
    if (!name || lstat(name, &st) != 0 || !S_ISREG(st.st_mode))
        return SQLITE_CANTOPEN;
    /* As root, SQLite gives a log or a journal that it opens to the owner of the database; but not what it
     * takes for one of its lesser files. */
    int lesser = flags & SQLITE_OPEN_MAIN_DB ? flags : (flags & ~of_recording) | SQLITE_OPEN_SUBJOURNAL;
    int code = over.base->xOpen(over.base, name, file, (lesser & ~writes) | SQLITE_OPEN_READONLY, out_flags);
    if (code != SQLITE_OK || !(flags & SQLITE_OPEN_MAIN_DB))
        return code;
    /* The base's methods work on the base's file; the copy with ours lies behind it. */
    void *behind = (char *)file + over.base->szOsFile;
    if (!sqlite3_uri_boolean(name, "private_index", 0)) {
        pp_index_guard(file, behind);
    } else if (file->pMethods->iVersion >= 2 && file->pMethods->xShmMap) {
        sqlite3_io_methods *copy = behind;
        *copy = *file->pMethods;
        copy->xShmMap = no_index;
        copy->xShmLock = no_lock;
        copy->xShmBarrier = no_barrier;
        copy->xShmUnmap = no_unmap;
        file->pMethods = copy;
    }
    return code;
}

static int delete_nothing(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    return SQLITE_IOERR_DELETE;
}

/* SQLite tries a hundred times, 10 s in all, to make sense of the index of a log that may be changing. A log
 * that is damaged does not change: short sleeps make it a quarter of a second. */
static int sleep_shortly(sqlite3_vfs *vfs, int us)
{
    return over.base->xSleep(over.base, us < SLEEP_MOST_US ? us : SLEEP_MOST_US);
}

static void register_vfs(void)
{
    over.base = sqlite3_vfs_find(NULL);
    if (!over.base)
        return;
    over.vfs = *over.base; /* which works on its own files' data only, whichever name it is called by */
    over.vfs.zName = "pipeprobe-read";
    over.vfs.szOsFile = over.base->szOsFile + pp_index_guard_bytes(sizeof(sqlite3_io_methods));
    over.vfs.xOpen = open_file;
    over.vfs.xDelete = delete_nothing;
    over.vfs.xSleep = sleep_shortly;
    if (sqlite3_vfs_register(&over.vfs, 0) != SQLITE_OK)
        over.base = NULL;
}

pp_status pp_read_open(const char *real, const char *option, const char *path, sqlite3 **db,
                       struct pp_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char uri[3 * PATH_MAX + 64]; /* percent-encoded, for the option */
    size_t n = (size_t)snprintf(uri, sizeof(uri), "file:");
    pthread_once(&once, register_vfs);
    for (const char *p = real; *p && n + 32 < sizeof(uri); p++)
        n += (size_t)snprintf(uri + n, sizeof(uri) - n, strchr("?#% ", *p) ? "%%%02X" : "%c",
                              (unsigned char)*p);
    snprintf(uri + n, sizeof(uri) - n, "%s", option);
    if (!over.base)
        return pp_fail(err, PP_E_SYSTEM, "SQLite has no file system to read %s with", path);
    if (sqlite3_open_v2(uri, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI,
                        over.vfs.zName) != SQLITE_OK)
        return pp_db_fail(*db, err, "cannot read", path);
    sqlite3_extended_result_codes(*db, 1);
    pp_schema_distrust(*db);
    return PP_OK;
}
