#include "collectors/attach/process_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct pp_process_file *pp_process_file_map(const char *session_dir)
{
    char path[PATH_MAX];
    struct pp_process_file *f = MAP_FAILED;
    snprintf(path, sizeof(path), "%s/" PP_PROCESS_FILE_PREFIX "%d", session_dir, (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return NULL;
    /* Reserved before it is mapped: a store into a hole on a full disk would be a SIGBUS. */
    if (posix_fallocate(fd, 0, sizeof(*f)) == 0)
        f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (f == MAP_FAILED)
        return NULL;
    f->pid = getpid();
    f->parent_pid = getppid();
    fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, f->command, sizeof(f->command) - 1) : 0;
    if (fd >= 0)
        close(fd);
    for (ssize_t i = 0; i + 1 < n; i++)
        f->command[i] = f->command[i] ? f->command[i] : ' ';
    memcpy(f->magic, PP_PROCESS_MAGIC, sizeof(f->magic));
    return f;
}

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
