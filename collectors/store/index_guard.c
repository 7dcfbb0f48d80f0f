#include "collectors/store/vfs.h"

#include "probe/base/guard.h"

enum { REGIONS = 64 }; /* of 32 KiB, for 4,096 pages of the log each; those behind are not guarded */

/* Behind the file. Its methods point here. */
struct guarded {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *base;
    void *region[REGIONS];
};

static struct guarded *guard_of(sqlite3_file *file)
{
    return (struct guarded *)((const char *)file->pMethods - offsetof(struct guarded, methods));
}

static int map_index(sqlite3_file *file, int page, int bytes, int extend, void volatile **out)
{
    struct guarded *g = guard_of(file);
    int code = g->base->xShmMap(file, page, bytes, extend, out);
    if (*out && page >= 0 && page < REGIONS && !g->region[page]) {
        g->region[page] = (void *)*out;
        pp_guard_add(g->region[page], (size_t)bytes);
    }
    return code;
}

/* The base unmaps its regions: none of them is guarded any more. */
#define BASE_UNGUARDED(name, parameters, call) \
    static int name parameters \
    { \
        struct guarded *g = guard_of(file); \
        for (int i = 0; i < REGIONS; i++) \
            if (g->region[i]) \
                pp_guard_remove(g->region[i]); \
        memset(g->region, 0, sizeof(g->region)); \
        return g->base->call; \
    }
BASE_UNGUARDED(unmap_index, (sqlite3_file * file, int delete), xShmUnmap(file, delete))
BASE_UNGUARDED(close_file, (sqlite3_file * file), xClose(file))

int pp_index_guard_bytes(int own)
{
    return own > (int)sizeof(struct guarded) ? own : (int)sizeof(struct guarded);
}

void pp_index_guard(sqlite3_file *file, void *behind)
{
    struct guarded *g = behind;
    if (file->pMethods->iVersion < 2 || !file->pMethods->xShmMap)
        return;
    *g = (struct guarded){.methods = *file->pMethods, .base = file->pMethods};
    g->methods.xShmMap = map_index;
    g->methods.xShmUnmap = unmap_index;
    g->methods.xClose = close_file;
    file->pMethods = &g->methods;
}

int pp_index_was_cut(sqlite3 *db)
{
    sqlite3_file *file = NULL;
    int cut = 0;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file ||
        !file->pMethods || file->pMethods->iVersion < 2 || file->pMethods->xShmMap != map_index)
        return 0;
    const struct guarded *g = guard_of(file);
    for (int i = 0; i < REGIONS && !cut; i++)
        cut = g->region[i] && pp_guard_was_cut(g->region[i]);
    return cut;
}
