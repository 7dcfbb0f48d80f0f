#include "probe/trace/presence.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pipeprobe/ring.h>
#include <stdio.h>
#include <unistd.h>

#define FD_FROM 512 /* out of the way of a program that counts on low numbers */

static int open_file(const char *dir, int flags)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/" PP_PRESENCE_FILE_NAME, dir) >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
}

/* An open-file-description lock: shared with the children that inherit the descriptor, gone with the last of
 * them. */
static int lock(int fd, short type)
{
    struct flock fl = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &fl);
}

int pp_presence_enter(const char *dir)
{
    int fd = open_file(dir, O_CREAT), high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_FROM);
    if (high >= 0) {
        close(fd);
        fd = high;
    }
    if (fd < 0 || lock(fd, F_RDLCK) == 0)
        return fd;
    int e = errno == EACCES ? EAGAIN : errno;
    close(fd);
    errno = e;
    return -1;
}

int pp_presence_any(const char *dir)
{
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open_file(dir, 0);
    int any = fd >= 0 && fcntl(fd, F_OFD_GETLK, &fl) == 0 && fl.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return any;
}

int pp_presence_end(const char *dir, int *fd)
{
    *fd = open_file(dir, 0);
    if (*fd < 0)
        return errno == ENOENT;
    if (lock(*fd, F_WRLCK) == 0)
        return 1;
    close(*fd);
    *fd = -1;
    return 0;
}
