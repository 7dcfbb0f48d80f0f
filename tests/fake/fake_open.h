/* tests/fake/fake_open.h: puts a fake library in the place of NVIDIA's for this process: opened here once, by
 * its path, it is what dlopen finds later under the soname. For the main function of a unit test. */
#pragma once

#include "tests/support/here.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static inline void *fake_open(const char *soname)
{
    char path[300];
    snprintf(path, sizeof(path), "tests/fake/%s", soname);
    void *lib = dlopen(built(path), RTLD_NOW | RTLD_GLOBAL);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return lib;
}
