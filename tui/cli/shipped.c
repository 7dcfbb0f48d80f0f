#include "tui/cli/shipped.h"

#include "probe/base/err.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const struct pp_shipped_places pp_shipped_libraries = {{".", "../lib", "../lib/pipeprobe", "../lib64"}};
const struct pp_shipped_places pp_shipped_maps = {{"../share/pipeprobe/maps", "../../samples/maps"}};
const struct pp_shipped_places pp_shipped_python = {{"../share/pipeprobe/python", "../../samples/python"}};

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
