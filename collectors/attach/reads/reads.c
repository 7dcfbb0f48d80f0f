/* The functions that are interposed: those through which Python, NumPy, HDF5 and libjpeg's users get at a
 * file's bytes. The real ones are looked up once, before main; where one is not found (another libc), the
 * call goes to the kernel. */
#include "collectors/attach/reads/reads.h"

#include "probe/base/clock.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static __thread struct pp_reads counted __attribute__((tls_model("initial-exec")));

SHOWN struct pp_reads *pipeprobe_reads_of_thread(void);

struct pp_reads *pipeprobe_reads_of_thread(void)
{
    return &counted;
}

static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static ssize_t (*real_readv)(int, const struct iovec *, int);
static ssize_t (*real_preadv)(int, const struct iovec *, int, off_t);
static size_t (*real_fread)(void *, size_t, size_t, FILE *);
static int (*real_openat)(int, const char *, int, ...);
static FILE *(*real_fopen)(const char *, const char *);

__attribute__((constructor)) static void find_real_ones(void)
{
    *(void **)&real_read = dlsym(RTLD_NEXT, "read");
    *(void **)&real_pread = dlsym(RTLD_NEXT, "pread64");
    *(void **)&real_readv = dlsym(RTLD_NEXT, "readv");
    *(void **)&real_preadv = dlsym(RTLD_NEXT, "preadv64");
    *(void **)&real_fread = dlsym(RTLD_NEXT, "fread");
    *(void **)&real_openat = dlsym(RTLD_NEXT, "openat64");
    *(void **)&real_fopen = dlsym(RTLD_NEXT, "fopen64");
}

/* A CPU clock is a system call, as the read is. A call this short ran all the time, near enough; of a longer
 * one the CPU time is what has passed since the clock was read last, less the time before the call. */
#define SHORT_NS 30000u

static uint64_t cpu_of(uint64_t from_ns, uint64_t to_ns)
{
    uint64_t wall_ns = to_ns - from_ns;
    if (wall_ns < SHORT_NS)
        return wall_ns;
    uint64_t cpu_ns = pp_thread_cpu_ns(), ran_ns = cpu_ns - counted.at_cpu_ns,
             before_ns = from_ns - counted.at_ns;
    counted.at_ns = to_ns;
    counted.at_cpu_ns = cpu_ns;
    ran_ns = ran_ns > before_ns ? ran_ns - before_ns : 0;
    return ran_ns < wall_ns ? ran_ns : wall_ns;
}

static void count_call(uint64_t from_ns, ssize_t bytes)
{
    uint64_t to_ns = pp_now_ns();
    counted.ns += to_ns - from_ns;
    counted.cpu_ns += counted.counting > 1 ? cpu_of(from_ns, to_ns) : 0;
    counted.bytes += bytes > 0 ? (uint64_t)bytes : 0;
    counted.calls++;
}

/* CALL forwards; what it returned, in bytes, is BYTES of `out`. */
#define COUNTED(TYPE, CALL, BYTES) \
    if (__builtin_expect(!counted.counting, 1)) \
        return CALL; \
    uint64_t from = pp_now_ns(); \
    TYPE out = CALL; \
    count_call(from, BYTES); \
    return out

SHOWN ssize_t read(int fd, void *buf, size_t n)
{
    COUNTED(ssize_t, real_read ? real_read(fd, buf, n) : (ssize_t)syscall(SYS_read, fd, buf, n), out);
}

static ssize_t counted_pread(int fd, void *buf, size_t n, off_t at)
{
    COUNTED(ssize_t, real_pread ? real_pread(fd, buf, n, at) : (ssize_t)syscall(SYS_pread64, fd, buf, n, at),
            out);
}

SHOWN ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
    return counted_pread(fd, buf, n, at);
}

SHOWN ssize_t pread64(int fd, void *buf, size_t n, off64_t at)
{
    return counted_pread(fd, buf, n, at);
}

SHOWN ssize_t readv(int fd, const struct iovec *v, int n)
{
    COUNTED(ssize_t, real_readv ? real_readv(fd, v, n) : (ssize_t)syscall(SYS_readv, fd, v, n), out);
}

/* Behind both names: a call of an exported one may be another library's that is in front. */
static ssize_t counted_preadv(int fd, const struct iovec *v, int n, off_t at)
{
    COUNTED(ssize_t, real_preadv ? real_preadv(fd, v, n, at) : (ssize_t)syscall(SYS_preadv, fd, v, n, at, 0),
            out);
}

SHOWN ssize_t preadv(int fd, const struct iovec *v, int n, off_t at)
{
    return counted_preadv(fd, v, n, at);
}

SHOWN ssize_t preadv64(int fd, const struct iovec *v, int n, off64_t at)
{
    return counted_preadv(fd, v, n, at);
}

SHOWN size_t fread(void *buf, size_t size, size_t n, FILE *f)
{
    COUNTED(size_t, real_fread ? real_fread(buf, size, n, f) : fread_unlocked(buf, size, n, f),
            (ssize_t)(out * size));
}

static FILE *counted_fopen(const char *path, const char *mode)
{
    if (!real_fopen) /* another library's constructor came before ours */
        find_real_ones();
    COUNTED(FILE *, real_fopen(path, mode), 0);
}

SHOWN FILE *fopen(const char *path, const char *mode)
{
    return counted_fopen(path, mode);
}

SHOWN FILE *fopen64(const char *path, const char *mode)
{
    return counted_fopen(path, mode);
}

static int counted_openat(int dir, const char *path, int flags, mode_t mode)
{
    COUNTED(int,
            real_openat ? real_openat(dir, path, flags, mode)
                        : (int)syscall(SYS_openat, dir, path, flags, mode),
            0);
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

SHOWN int open(const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return counted_openat(AT_FDCWD, path, flags, mode);
}

SHOWN int open64(const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return counted_openat(AT_FDCWD, path, flags, mode);
}

SHOWN int openat(int dir, const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return counted_openat(dir, path, flags, mode);
}

SHOWN int openat64(int dir, const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return counted_openat(dir, path, flags, mode);
}
