/* The functions through which Python, NumPy, HDF5, libjpeg's users and clients of storages get at bytes, also
 * those that are linked into a wheel. Where the real one is not found (another libc), the call goes to the
 * kernel. */
#include "collectors/attach/reads/calls.h"

#include <stdarg.h>
#include <sys/syscall.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Which parts of which files a thread read, as a number: the same whatever is made of them, and on another
 * machine, where the data lie elsewhere. at: an offset; -1: behind the bytes before. */
static void identify(int fd, off_t at, ssize_t bytes)
{
    char link[40], path[PATH_MAX];
    int before = errno;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    /* Not code that is loaded with the first sample, nor what the kernel says of itself. */
    const char *ending = strrchr(path, '.');
    int is_code = strstr(path, ".so.") ||
                  (ending &&
                   (strcmp(ending, ".py") == 0 || strcmp(ending, ".pyc") == 0 || strcmp(ending, ".so") == 0));
    if (path[0] == '/' && strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0 && !is_code) {
        const char *name = strrchr(path, '/'); /* directories may be of this start: a scratch directory */
        int64_t where[2] = {at >= 0 ? at : lseek(fd, 0, SEEK_CUR) - bytes, bytes};
        uint64_t h = XXH3_64bits_withSeed(name, (size_t)(path + n - name), reads_counted.identity);
        reads_counted.identity = XXH3_64bits_withSeed(where, sizeof(where), h);
    }
    errno = before;
}

static void count_read(int fd, enum fd_kind kind, uint64_t from_ns, const void *data, ssize_t bytes, off_t at)
{
    if (reads_counted.identifying && reads_counted.counting && kind == FD_FILE && bytes > 0)
        identify(fd, at, bytes);
    if (kind == FD_SOCKET && bytes > 0)
        requests_received(fd, data, (size_t)bytes, pp_now_ns());
    if (reads_counted.counting)
        reads_count_on(kind, from_ns, bytes);
}

/* With MSG_TRUNC a stream's bytes are counted and dropped: what the call was given may be no buffer. */
#define FILLED(FLAGS, DATA) ((FLAGS)&MSG_TRUNC ? NULL : (DATA))

/* The first buffer, where the status of an answer fits. */
static const void *begin_of(const struct iovec *v, int n)
{
    return n > 0 && v->iov_len >= 16 ? v->iov_base : NULL;
}

/* CALL forwards. DATA is looked at only where it was filled. Of threads that do not count only sockets
 * matter. */
#define READING(NAME, ARGUMENTS, DATA, AT, CALL) \
    static ssize_t counted_##NAME ARGUMENTS \
    { \
        if (__builtin_expect(is_off(), 1)) \
            return CALL; \
        enum fd_kind kind = fds_kind(fd); \
        if (!reads_counted.counting && kind != FD_SOCKET) \
            return CALL; \
        uint64_t from = pp_now_ns(); \
        ssize_t out = CALL; \
        count_read(fd, kind, from, out > 0 ? (DATA) : NULL, out, AT); \
        return out; \
    }
READING(read, (int fd, void *buf, size_t n), buf, -1,
        real.read ? real.read(fd, buf, n) : (ssize_t)syscall(SYS_read, fd, buf, n))
READING(pread, (int fd, void *buf, size_t n, off_t at), buf, at,
        real.pread64 ? real.pread64(fd, buf, n, at) : (ssize_t)syscall(SYS_pread64, fd, buf, n, at))
READING(readv, (int fd, const struct iovec *v, int n), begin_of(v, n), -1,
        real.readv ? real.readv(fd, v, n) : (ssize_t)syscall(SYS_readv, fd, v, n))
READING(preadv, (int fd, const struct iovec *v, int n, off_t at), NULL, at,
        real.preadv64 ? real.preadv64(fd, v, n, at) : (ssize_t)syscall(SYS_preadv, fd, v, n, at, 0))
READING(recv, (int fd, void *buf, size_t n, int flags), FILLED(flags, buf), -1, REAL(recv)(fd, buf, n, flags))
READING(recvfrom, (int fd, void *buf, size_t n, int flags, __SOCKADDR_ARG whom, socklen_t *size),
        FILLED(flags, buf), -1, REAL(recvfrom)(fd, buf, n, flags, whom, size))
READING(recvmsg, (int fd, struct msghdr *m, int flags),
        FILLED(flags, begin_of(m->msg_iov, (int)m->msg_iovlen)), -1, REAL(recvmsg)(fd, m, flags))
SHOWN_AS(read, counted_read);
SHOWN_AS(pread, counted_pread);
SHOWN_AS(pread64, counted_pread);
SHOWN_AS(readv, counted_readv);
SHOWN_AS(preadv, counted_preadv);
SHOWN_AS(preadv64, counted_preadv);
SHOWN_AS(recv, counted_recv);
SHOWN_AS(recvfrom, counted_recvfrom);
SHOWN_AS(recvmsg, counted_recvmsg);

CHECKED(ssize_t, __read_chk, (int fd, void *buf, size_t n, size_t room), n, room, counted_read(fd, buf, n))
CHECKED(ssize_t, __pread_chk, (int fd, void *buf, size_t n, off_t at, size_t room), n, room,
        counted_pread(fd, buf, n, at))
CHECKED(ssize_t, __pread64_chk, (int fd, void *buf, size_t n, off_t at, size_t room), n, room,
        counted_pread(fd, buf, n, at))
CHECKED(ssize_t, __recv_chk, (int fd, void *buf, size_t n, size_t room, int flags), n, room,
        counted_recv(fd, buf, n, flags))
CHECKED(ssize_t, __recvfrom_chk,
        (int fd, void *buf, size_t n, size_t room, int flags, __SOCKADDR_ARG whom, socklen_t *size), n, room,
        counted_recvfrom(fd, buf, n, flags, whom, size))

/* ---- files ---- */

SHOWN size_t fread(void *buf, size_t size, size_t n, FILE *f)
{
#define FORWARD (real.fread ? real.fread(buf, size, n, f) : fread_unlocked(buf, size, n, f))
    if (!is_counting())
        return FORWARD;
    uint64_t from = pp_now_ns();
    size_t out = FORWARD;
#undef FORWARD
    int before = errno, fd = fileno(f);
    errno = before;
    enum fd_kind kind = fd < 0 ? FD_FILE : fds_kind(fd);
    if (reads_counted.identifying && kind == FD_FILE && out)
        identify(fileno(f), ftello(f) - (off_t)(out * size), (ssize_t)(out * size));
    reads_count_on(kind, from, (ssize_t)(out * size));
    return out;
}

static FILE *counted_fopen(const char *path, const char *mode)
{
    COUNTED(FILE *, REAL(fopen64)(path, mode), FD_FILE, OPENED);
}
SHOWN_AS(fopen, counted_fopen);
SHOWN_AS(fopen64, counted_fopen);

static int forward_openat(int dir, const char *path, int flags, mode_t mode)
{
    int fd = real.openat64 ? real.openat64(dir, path, flags, mode)
                           : (int)syscall(SYS_openat, dir, path, flags, mode);
    if (fd >= 0 && fds_kind_known(fd) != FD_UNKNOWN) /* libc closed what the number was before */
        fds_forget(fd);
    return fd;
}

/* The mode is there only with the flags that make a file. */
#define MODE_OF(flags, mode) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list more; \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    }

static int counted_open(const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    COUNTED(int, forward_openat(AT_FDCWD, path, flags, mode), FD_FILE, OPENED);
}
SHOWN_AS(open, counted_open);
SHOWN_AS(open64, counted_open);

static int counted_openat(int dir, const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    COUNTED(int, forward_openat(dir, path, flags, mode), FD_FILE, OPENED);
}
SHOWN_AS(openat, counted_openat);
SHOWN_AS(openat64, counted_openat);

SHOWN int close(int fd)
{
    fds_forget(fd);
    return real.close ? real.close(fd) : (int)syscall(SYS_close, fd);
}

#define DUPLICATING(NAME, ARGUMENTS, VALUES) \
    SHOWN int NAME ARGUMENTS \
    { \
        if (fd != to) \
            fds_forget(to); \
        return REAL(NAME) VALUES; \
    }
DUPLICATING(dup2, (int fd, int to), (fd, to))
DUPLICATING(dup3, (int fd, int to, int flags), (fd, to, flags))
