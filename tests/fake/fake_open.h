/* tests/fake/fake_open.h: puts a fake library in the place of NVIDIA's for this process: opened here once, by
 * its path, it is what dlopen finds later under the soname. For the main function of a unit test. */
#ifndef FAKE_OPEN_H
#define FAKE_OPEN_H

#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void *fake_open(const char *soname)
{
    char self[4096], path[4200];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    snprintf(path, sizeof(path), "%s/../fake/%s", dirname(self), soname);
    void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return lib;
}

#endif
