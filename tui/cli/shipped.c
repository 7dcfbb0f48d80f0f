#include "tui/cli/shipped.h"
#include "collectors/attach/namemap.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include <fcntl.h>
#include <libgen.h>
#include <unistd.h>

const struct pp_shipped_places pp_shipped_libraries = {{".", "../lib", "../lib/pipeprobe", "../lib64"}};
const struct pp_shipped_places pp_shipped_maps = {{"../share/pipeprobe/maps", "../../samples/maps"}};
const struct pp_shipped_places pp_shipped_python = {{"../share/pipeprobe/python", "../../samples/python"}};
const struct pp_shipped_places pp_shipped_hooks = {
    {"python/attach", "../lib/pipeprobe/python/attach", "../lib64/pipeprobe/python/attach"}};

static int readable(const char *folder, const char *file, char *out)
{
    char path[PATH_MAX];
    int n = file ? snprintf(path, sizeof(path), "%s/%s", folder, file)
                 : snprintf(path, sizeof(path), "%s", folder);
    return n > 0 && (size_t)n < sizeof(path) && access(path, R_OK) == 0 && realpath(path, out) != NULL;
}

pp_status pp_shipped_find(const char *what, const char *variable, const struct pp_shipped_places *places,
                          const char *file, char *out, struct pp_err *err)
{
    const char *asked = variable ? getenv(variable) : NULL;
    char self[PATH_MAX], folder[PATH_MAX];
    if (asked && *asked)
        return readable(asked, file, out) || readable(asked, NULL, out)
                   ? PP_OK
                   : pp_fail(err, PP_E_NOT_FOUND, "%s: %s cannot be read", variable, asked);
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    const char *own = dirname(self);
    for (size_t i = 0; i < sizeof(places->folder) / sizeof(places->folder[0]) && places->folder[i]; i++)
        if ((size_t)snprintf(folder, sizeof(folder), "%s/%s", own, places->folder[i]) < sizeof(folder) &&
            readable(folder, file, out))
            return PP_OK;
    return pp_fail(err, PP_E_NOT_FOUND, "%s: %s is neither beside %s nor where it is installed%s%s", what,
                   file, own, variable ? "; its path may be given in " : "", variable ? variable : "");
}

/* ---- maps ---- */

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
        /* A file of that name wins over a shipped map, which is NAME.map beside the installed program, or in
         * the source tree that it was built in. */
        const char *name = maps->item[i], *dir = getenv("PIPEPROBE_MAPS");
        char file[NAME_MAX + 1];
        if (strchr(name, '/') || access(name, F_OK) == 0)
            snprintf(path, sizeof(path), "%s", name);
        else if (!(dir && (size_t)snprintf(path, sizeof(path), "%s/%s.map", dir, name) < sizeof(path) &&
                   access(path, R_OK) == 0) &&
                 !((size_t)snprintf(file, sizeof(file), "%s.map", name) < sizeof(file) &&
                   pp_shipped_find("map", NULL, &pp_shipped_maps, file, path, NULL) == PP_OK))
            st = pp_fail(err, PP_E_NOT_FOUND,
                         "map not found: %s is neither a file nor a shipped map (dali, pytorch)", name);
        if (st == PP_OK)
            st = pp_namemap_add_file(m, path, err);
        if (st == PP_OK)
            st = append_file(text, &n, path, err);
    }
    if (st == PP_OK && pp_shipped_find("map", NULL, &pp_shipped_maps, "dali.map", path, NULL) == PP_OK)
        (void)append_file(text, &n, path, NULL); /* not asked for: it may not be installed */
    *rows = pp_namemap_rows(m);
    pp_namemap_free(m);
    return st;
}
