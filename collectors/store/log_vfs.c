#include "collectors/store/vfs.h"
#include "probe/base/text.h"

#include <pthread.h>

#define WAITING_BYTES 65536
#define FRAME_HEADER_BYTES 24 /* "The SQLite Database File Format", section 4.1 */

/* The file that SQLite sees; the base's lies behind it. */
struct log_file {
    sqlite3_file file;
    sqlite3_file *base;
    uint8_t *waiting; /* [WAITING_BYTES], to be written at */
    sqlite3_int64 at;
    int n;
    int page_waits; /* the last write was the header of a page that does not end a transaction */
};

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *base;
} over;

static int write_waiting(struct log_file *f)
{
    int n = f->n;
    f->n = 0; /* what fails is the end of its transaction */
    return n ? f->base->pMethods->xWrite(f->base, f->waiting, n, f->at) : SQLITE_OK;
}

/* SQLite also writes headers without their pages, when it sums up anew a transaction that did not fit its
 * cache. */
static int log_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
    static const uint8_t no_commit[4] = {0};
    struct log_file *f = (struct log_file *)file;
    int of_waiting_header = f->page_waits && n != FRAME_HEADER_BYTES && f->n && at == f->at + f->n;
    /* Bytes 4 to 7 of a frame's header: the size of the database after a commit, 0 for every other frame. */
    f->page_waits = n == FRAME_HEADER_BYTES &&
                    memcmp((const uint8_t *)bytes + 4, no_commit, sizeof(no_commit)) == 0;
    int may_wait = n <= WAITING_BYTES && (of_waiting_header || f->page_waits), code = SQLITE_OK;
    if (!may_wait || (f->n && (at != f->at + f->n || n > WAITING_BYTES - f->n)))
        code = write_waiting(f);
    if (code != SQLITE_OK || !may_wait)
        return code != SQLITE_OK ? code : f->base->pMethods->xWrite(f->base, bytes, n, at);
    if (!f->n)
        f->at = at;
    memcpy(f->waiting + f->n, bytes, (size_t)n);
    f->n += n;
    return SQLITE_OK;
}

/* What is asked of the log's file as such. */
#define BASE(name, call) \
    static int log_##name(sqlite3_file *file) \
    { \
        struct log_file *f = (struct log_file *)file; \
        return f->base->pMethods->call(f->base); \
    }
BASE(sector, xSectorSize)
BASE(device, xDeviceCharacteristics)

/* Everything else finds the log written. */
#define BASE_AFTER_WAITING(name, parameters, call) \
    static int log_##name parameters \
    { \
        struct log_file *f = (struct log_file *)file; \
        int code = write_waiting(f); \
        return code == SQLITE_OK ? f->base->pMethods->call : code; \
    }
BASE_AFTER_WAITING(read, (sqlite3_file * file, void *out, int n, sqlite3_int64 at),
                   xRead(f->base, out, n, at))
BASE_AFTER_WAITING(truncate, (sqlite3_file * file, sqlite3_int64 n), xTruncate(f->base, n))
BASE_AFTER_WAITING(sync, (sqlite3_file * file, int flags), xSync(f->base, flags))
BASE_AFTER_WAITING(size, (sqlite3_file * file, sqlite3_int64 *n), xFileSize(f->base, n))
BASE_AFTER_WAITING(control, (sqlite3_file * file, int op, void *arg), xFileControl(f->base, op, arg))
BASE_AFTER_WAITING(lock, (sqlite3_file * file, int level), xLock(f->base, level))
BASE_AFTER_WAITING(unlock, (sqlite3_file * file, int level), xUnlock(f->base, level))
BASE_AFTER_WAITING(reserved, (sqlite3_file * file, int *out), xCheckReservedLock(f->base, out))

static int log_close(sqlite3_file *file)
{
    struct log_file *f = (struct log_file *)file;
    int written = write_waiting(f), closed = f->base->pMethods->xClose(f->base);
    free(f->waiting);
    return written == SQLITE_OK ? closed : written;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_reserved,
    .xFileControl = log_control,
    .xSectorSize = log_sector,
    .xDeviceCharacteristics = log_device,
};

/* Files other than the log are the base's from here on, with the index guarded; so is a log there is no
 * memory for. */
static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    uint8_t *waiting = flags & SQLITE_OPEN_WAL ? malloc(WAITING_BYTES) : NULL;
    struct log_file *f = (struct log_file *)file;
    if (waiting)
        *f = (struct log_file){.base = (sqlite3_file *)(f + 1), .waiting = waiting};
    int code = over.base->xOpen(over.base, name, waiting ? f->base : file, flags, out_flags);
    if (code != SQLITE_OK)
        free(waiting);
    else if (waiting)
        f->file.pMethods = &methods;
    else if (flags & SQLITE_OPEN_MAIN_DB)
        pp_index_guard(file, (char *)file + over.base->szOsFile);
    return code;
}

/* SQLite deletes its own log and journal, and the file that a journal names as one for several databases:
 * never ours. */
static int delete_file(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    int ours = pp_text_ends_in(name, "-journal") || pp_text_ends_in(name, "-wal");
    return ours ? over.base->xDelete(over.base, name, sync_dir) : SQLITE_IOERR_DELETE;
}

static void register_vfs(void)
{
    over.base = sqlite3_vfs_find(NULL);
    if (!over.base)
        return;
    over.vfs = *over.base; /* which works on its own files' data only, whichever name it is called by */
    over.vfs.zName = "pipeprobe-log";
    over.vfs.szOsFile = over.base->szOsFile + pp_index_guard_bytes(sizeof(struct log_file));
    over.vfs.xOpen = open_file;
    over.vfs.xDelete = delete_file;
    if (sqlite3_vfs_register(&over.vfs, 0) != SQLITE_OK)
        over.base = NULL;
}

const char *pp_log_vfs(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_vfs);
    return over.base ? over.vfs.zName : NULL;
}
