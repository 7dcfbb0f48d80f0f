#include "collectors/attach/reads/fds.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kind of each descriptor. Any thread may find it out and write it: all of them find the same. */
static _Atomic uint8_t kinds[FDS_MAX];
static pid_t process; /* a child of vfork has our memory, and closes what stays open here */

static void note_process(void)
{
    process = getpid();
}

__attribute__((constructor)) static void prepare(void)
{
    note_process();
    pthread_atfork(NULL, NULL, note_process);
}

static int is_watched(int fd)
{
    return fd >= 0 && fd < FDS_MAX;
}

enum fd_kind fds_kind_known(int fd)
{
    return is_watched(fd) ? (enum fd_kind)atomic_load_explicit(&kinds[fd], memory_order_relaxed) : FD_FILE;
}

enum fd_kind fds_kind(int fd)
{
    enum fd_kind kind = fds_kind_known(fd);
    struct stat st;
    int before = errno, domain = 0;
    socklen_t n = sizeof(domain);
    if (kind == FD_UNKNOWN && is_watched(fd) && fstat(fd, &st) == 0) {
        kind = S_ISFIFO(st.st_mode) ? FD_PIPE : FD_FILE;
        if (S_ISSOCK(st.st_mode)) {
            getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n);
            kind = domain == AF_INET || domain == AF_INET6 ? FD_SOCKET : FD_LOCAL;
        }
        fds_set(fd, kind);
    }
    errno = before;
    return kind;
}

void fds_set(int fd, enum fd_kind kind)
{
    if (is_watched(fd))
        atomic_store_explicit(&kinds[fd], (uint8_t)kind, memory_order_relaxed);
}

void fds_forget(int fd)
{
    enum fd_kind kind = fds_kind_known(fd);
    if (kind == FD_UNKNOWN || !is_watched(fd) || getpid() != process)
        return;
    if (kind == FD_SOCKET)
        requests_closed(fd);
    fds_set(fd, FD_UNKNOWN);
}
