/* Which parts of which files a thread read, as a number: the same whatever is made of them, and on another
 * machine, where the data lie elsewhere. */
#include "collectors/attach/reads/calls.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Code that is loaded with the first sample, and what the kernel says of itself. */
static int is_data(const char *path)
{
    const char *ending = strrchr(path, '.');
    return path[0] == '/' && strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0 &&
           !strstr(path, ".so.") &&
           !(ending &&
             (strcmp(ending, ".py") == 0 || strcmp(ending, ".pyc") == 0 || strcmp(ending, ".so") == 0));
}

void reads_identify(int fd, off_t at, ssize_t bytes)
{
    char link[40], path[PATH_MAX];
    int before = errno;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    if (is_data(path)) {
        const char *name = strrchr(path, '/'); /* directories may be of this start: a scratch directory */
        int64_t where[2] = {at >= 0 ? at : lseek(fd, 0, SEEK_CUR) - bytes, bytes};
        uint64_t h = XXH3_64bits_withSeed(name, (size_t)(path + n - name), reads_counted.identity);
        reads_counted.identity = XXH3_64bits_withSeed(where, sizeof(where), h);
    }
    errno = before;
}
