#include "collectors/attach/accounts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Out of the way of a program that counts on low numbers, or closes what it does not know */
#define FD_FROM 512

void pp_accounts_open(struct pp_accounts *a)
{
    struct stat st;
    int low = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    *a = (struct pp_accounts){.fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, FD_FROM)};
    if (low >= 0)
        close(low);
    if (a->fd >= 0 && fstat(a->fd, &st) == 0) {
        a->dev = st.st_dev;
        a->ino = st.st_ino;
    }
}

void pp_accounts_close(struct pp_accounts *a)
{
    struct stat st;
    if (a->fd >= 0 && fstat(a->fd, &st) == 0 && st.st_dev == a->dev && st.st_ino == a->ino)
        close(a->fd);
    a->fd = -1;
}
