#include "tui/cli/range_maps.h"

#include "collectors/attach/namemap.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "tui/cli/shipped.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NAME.map beside the installed program, or in the source tree that it was built in. Returns 1 with its path,
 * or 0. */
static int find_shipped(const char *name, char *path)
{
    char file[NAME_MAX + 1];
    return (size_t)snprintf(file, sizeof(file), "%s.map", name) < sizeof(file) &&
           pp_shipped_find("map", NULL, &pp_shipped_maps, file, path, NULL) == PP_OK;
}

/* A file of that name wins over a shipped map. */
static pp_status find_map(const char *name, char *path, size_t size, struct pp_err *err)
{
    const char *dir = getenv("PIPEPROBE_MAPS");
    if (strchr(name, '/') || access(name, F_OK) == 0) {
        snprintf(path, size, "%s", name);
        return PP_OK;
    }
    if (dir && (size_t)snprintf(path, size, "%s/%s.map", dir, name) < size && access(path, R_OK) == 0)
        return PP_OK;
    if (find_shipped(name, path))
        return PP_OK;
    return pp_fail(err, PP_E_NOT_FOUND,
                   "map not found: %s is neither a file nor a shipped map (dali, pytorch)", name);
}

static pp_status append_file(char **text, size_t *n, const char *path, struct pp_err *err)
{
    struct pp_io_file file = {.limit = 16 << 20};
    pp_status st = pp_io_read_file(AT_FDCWD, path, &file, err);
    char *grown = st == PP_OK ? realloc(*text, *n + file.size + 2) : NULL;
    if (grown) {
        memcpy(grown + *n, file.buf, file.size);
        *n += file.size;
        grown[(*n)++] = '\n';
        grown[*n] = '\0';
        *text = grown;
    } else if (st == PP_OK) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the map %s", path);
    }
    free(file.buf);
    return st;
}

pp_status range_maps_read(const struct pp_opt_list *maps, char **text, size_t *rows, struct pp_err *err)
{
    char path[PATH_MAX];
    size_t n = 0;
    struct pp_namemap *m = pp_namemap_new();
    *text = calloc(1, 1);
    *rows = 0;
    pp_status st = m && *text ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for the maps");
    for (int i = 0; i < maps->n && st == PP_OK; i++) {
        st = find_map(maps->item[i], path, sizeof(path), err);
        if (st == PP_OK)
            st = pp_namemap_add_file(m, path, err);
        if (st == PP_OK)
            st = append_file(text, &n, path, err);
    }
    *rows = pp_namemap_rows(m);
    pp_namemap_free(m);
    return st;
}
