#include "probe/base/library.h"

#include <dlfcn.h>

int pp_library_open(const char *const *names, const struct pp_library_call *calls, size_t n)
{
    for (; *names; names++) {
        void *lib = dlopen(*names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        size_t found = 0;
        while (lib && found < n && (*calls[found].at = dlsym(lib, calls[found].name)))
            found++;
        if (lib && found == n)
            return 1;
        if (lib)
            dlclose(lib);
    }
    return 0;
}
