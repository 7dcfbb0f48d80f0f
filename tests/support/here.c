#include "tests/support/here.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *built(const char *name)
{
    static char path[2 * PATH_MAX];
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    char *tests = NULL;
    for (char *p = self; (p = strstr(p, "/tests/")); p++)
        tests = p;
    if (tests)
        *tests = '\0';
    snprintf(path, sizeof(path), "%s/%s", self, name);
    return path;
}
