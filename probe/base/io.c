#include "probe/base/io.h"

#include "probe/base/err.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Global on purpose: a test arms it around code that knows nothing of it. All loads and stores are relaxed,
 * for a test arms it before it starts threads and reads the count after joining them. */
static struct {
    atomic_uint mask; /* 0: off */
    _Atomic uint64_t nth, calls;
    atomic_int err_no, sticky;
} fault;

void pp_io_fault(unsigned mask, uint64_t nth, int err_no, int sticky)
{
    atomic_store_explicit(&fault.mask, 0, memory_order_relaxed);
    atomic_store_explicit(&fault.nth, nth, memory_order_relaxed);
    atomic_store_explicit(&fault.calls, 0, memory_order_relaxed);
    atomic_store_explicit(&fault.err_no, err_no, memory_order_relaxed);
    atomic_store_explicit(&fault.sticky, sticky, memory_order_relaxed);
    atomic_store_explicit(&fault.mask, mask, memory_order_relaxed);
}

uint64_t pp_io_fault_calls(void)
{
    return atomic_load_explicit(&fault.calls, memory_order_relaxed);
}

/* 1 with errno set when this call is to fail. */
static int faulted(unsigned kind)
{
    if (!(atomic_load_explicit(&fault.mask, memory_order_relaxed) & kind))
        return 0;
    uint64_t call = atomic_fetch_add_explicit(&fault.calls, 1, memory_order_relaxed) + 1;
    uint64_t nth = atomic_load_explicit(&fault.nth, memory_order_relaxed);
    int sticky = atomic_load_explicit(&fault.sticky, memory_order_relaxed);
    if (nth == 0 || call < nth || (call > nth && !sticky))
        return 0;
    errno = atomic_load_explicit(&fault.err_no, memory_order_relaxed);
    return 1;
}

ssize_t pp_io_text(char *text, size_t size, const char *path, ...)
{
    char name[PATH_MAX];
    ssize_t n = 0, got = -1;
    va_list ap;
    va_start(ap, path);
    vsnprintf(name, sizeof(name), path, ap);
    va_end(ap);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd >= 0 && (got = read(fd, text + n, size - 1 - (size_t)n)) > 0)
        n += got;
    int e = errno;
    if (fd >= 0)
        close(fd);
    errno = e;
    text[n] = '\0';
    return n ? n : got;
}

int pp_io_line(char *line, size_t size, const char *path)
{
    ssize_t n = pp_io_text(line, size, "%s", path);
    line[strcspn(line, "\n")] = '\0';
    return n > 0;
}

int pp_io_machine_ticks(double *busy, double *all)
{
    char text[512];
    double t[8] = {0};
    if (pp_io_text(text, sizeof(text), "/proc/stat") <= 0 ||
        sscanf(text, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
               &t[7]) < 5)
        return 0;
    *all = 0;
    for (size_t i = 0; i < 8; i++)
        *all += t[i];
    *busy = *all - t[3] - t[4]; /* idle, and idle with I/O outstanding */
    return 1;
}

/* Evaluates call until it is not interrupted by a signal; every try asks the fault layer. */
#define RETRY(kind, result, call) \
    do { \
        (result) = faulted(kind) ? -1 : (call); \
    } while ((result) < 0 && errno == EINTR)

static _Thread_local struct pp_io_tally tally;

struct pp_io_tally pp_io_tally(void)
{
    return tally;
}

int pp_io_open(const char *path, int flags, unsigned mode)
{
    int fd;
    tally.opens++;
    RETRY(PP_IO_FAULT_OPEN, fd, open(path, flags | O_CLOEXEC, (mode_t)mode));
    return fd;
}

int pp_io_openat(int dirfd, const char *path, int flags)
{
    int fd;
    tally.opens++;
    RETRY(PP_IO_FAULT_OPEN, fd, openat(dirfd, path, flags | O_CLOEXEC));
    return fd;
}

ssize_t pp_io_read(int fd, void *buf, size_t n)
{
    ssize_t r;
    tally.reads++;
    RETRY(PP_IO_FAULT_READ, r, read(fd, buf, n));
    return r;
}

static ssize_t pread_rest(int fd, void *buf, size_t n, off_t at)
{
    size_t got = 0;
    while (got < n) {
        ssize_t r;
        RETRY(PP_IO_FAULT_READ, r, pread(fd, (char *)buf + got, n - got, at + (off_t)got));
        if (r < 0)
            return -1;
        if (r == 0)
            break;
        got += (size_t)r;
    }
    return (ssize_t)got;
}

ssize_t pp_io_pread_full(int fd, void *buf, size_t n, off_t at)
{
    tally.reads++;
    return pread_rest(fd, buf, n, at);
}

int pp_io_write_full(int fd, const void *buf, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t r;
        RETRY(PP_IO_FAULT_WRITE, r, write(fd, (const char *)buf + done, n - done));
        if (r < 0)
            return -1;
        done += (size_t)r;
    }
    return 0;
}

int pp_io_fsync(int fd)
{
    int r;
    RETRY(PP_IO_FAULT_FSYNC, r, fsync(fd));
    return r;
}

ssize_t pp_io_pread_cached(int fd, void *buf, size_t n, off_t at, struct pp_io_cached *cached)
{
    struct iovec iov = {.iov_base = buf, .iov_len = n};
    ssize_t hit;
    tally.reads++;
    RETRY(PP_IO_FAULT_READ, hit, preadv2(fd, &iov, 1, at, RWF_NOWAIT));
    *cached = (struct pp_io_cached){.known = hit >= 0 || errno == EAGAIN,
                                    .hit_bytes = hit > 0 ? (size_t)hit : 0};
    /* EOPNOTSUPP: the file system cannot answer; EINVAL, ENOSYS: the kernel does not know the flag or the
     * call. */
    if (hit < 0 && errno != EAGAIN && errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS)
        return -1;
    if (hit < 0)
        hit = 0;
    if ((size_t)hit == n)
        return hit;
    /* Short: what follows is beyond the file's end or not cached; only a blocking read can tell. */
    ssize_t rest = pread_rest(fd, (char *)buf + hit, n - (size_t)hit, at + hit);
    return rest < 0 ? -1 : hit + rest;
}

static pp_status reserve(struct pp_io_file *f, size_t need, const char *path, struct pp_err *err)
{
    if (f->limit && need > f->limit) {
        f->size = need;
        return pp_fail(err, PP_E_UNSUPPORTED, "cannot read %s: it has %zu bytes, and at most %zu are read",
                       path, need, f->limit);
    }
    if (need <= f->cap)
        return PP_OK;
    size_t want = f->cap > SIZE_MAX / 2 || f->cap * 2 < need ? need : f->cap * 2;
    if (f->limit && want > f->limit)
        want = f->limit;
    uint8_t *grown = realloc(f->buf, want);
    if (!grown)
        return pp_fail(err, PP_E_NO_MEMORY, "cannot read %s: no memory for %zu bytes", path, want);
    f->buf = grown;
    f->cap = want;
    return PP_OK;
}

pp_status pp_io_read_file(int dirfd, const char *path, struct pp_io_file *f, struct pp_err *err)
{
    pp_status st = PP_OK;
    struct stat info;
    ssize_t r;

    f->size = 0;
    f->cached = (struct pp_io_cached){0};
    /* O_NONBLOCK means nothing to a regular file, and keeps the open of a pipe from hanging. */
    int fd = pp_io_openat(dirfd, path, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return pp_fail_errno(err, errno, "cannot open %s", path);
    if (fstat(fd, &info) != 0) {
        st = pp_fail_errno(err, errno, "cannot stat %s", path);
        goto out;
    }
    if (!S_ISREG(info.st_mode)) {
        st = pp_fail(err, PP_E_UNSUPPORTED, "cannot read %s: it is %s, not a regular file", path,
                     S_ISDIR(info.st_mode) ? "a directory" : "a pipe or device");
        goto out;
    }
    if (info.st_size == 0) { /* it does not say its size, as those of FUSE and /proc: to its end */
        size_t got = 0;
        do {
            st = reserve(f, got + 4096, path, err);
            if (st != PP_OK)
                goto out;
            r = pp_io_pread_full(fd, f->buf + got, f->cap - got, (off_t)got);
            if (r < 0) {
                st = pp_fail_errno(err, errno, "cannot read %s at byte %zu", path, got);
                goto out;
            }
            got += (size_t)r;
        } while (got == f->cap);
        f->size = got;
        goto out;
    }
    st = reserve(f, (size_t)info.st_size, path, err);
    if (st != PP_OK)
        goto out;
    r = pp_io_pread_cached(fd, f->buf, (size_t)info.st_size, 0, &f->cached);
    if (r < 0)
        st = pp_fail_errno(err, errno, "cannot read %s", path);
    else
        f->size = (size_t)r;
out:
    close(fd);
    return st;
}

pp_status pp_io_replace(const char *path, const void *buf, size_t n, int sync, struct pp_err *err)
{
    static atomic_uint serial;
    pp_status st = PP_OK;
    char *name = NULL;
    int fd = -1, e = EEXIST;
    /* a name may be left behind by a killed process with our number, perhaps on another machine */
    for (int tries = 0; fd < 0 && e == EEXIST && tries < 100; tries++) {
        free(name);
        if (asprintf(&name, "%s.tmp-%ld-%u", path, (long)getpid(),
                     atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed)) < 0) {
            name = NULL;
            e = ENOMEM;
            break;
        }
        fd = pp_io_open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        e = errno;
    }
    if (fd < 0) {
        free(name);
        return pp_fail_errno(err, e, "cannot write %s: no file can be made in its directory", path);
    }
    if (pp_io_write_full(fd, buf, n) != 0 || (sync && pp_io_fsync(fd) != 0))
        st = pp_fail_errno(err, errno, "cannot write %s (%zu bytes)", path, n);
    if (close(fd) != 0 && st == PP_OK)
        st = pp_fail_errno(err, errno, "cannot close %s", name);
    if (st == PP_OK && rename(name, path) != 0)
        st = pp_fail_errno(err, errno, "cannot rename %s to %s", name, path);
    if (st != PP_OK)
        unlink(name);
    free(name);
    return st;
}

pp_status pp_io_write_atomic(const char *path, const void *buf, size_t n, struct pp_err *err)
{
    return pp_io_replace(path, buf, n, 1, err);
}

static atomic_int ignores_file_size_signal;

void pp_io_ignore_file_size_signal(void)
{
    struct sigaction old;
    if (sigaction(SIGXFSZ, NULL, &old) != 0 || old.sa_flags & SA_SIGINFO || old.sa_handler != SIG_DFL)
        return;
    old.sa_handler = SIG_IGN;
    if (sigaction(SIGXFSZ, &old, NULL) == 0)
        atomic_store_explicit(&ignores_file_size_signal, 1, memory_order_relaxed);
}

int pp_io_ignores_file_size_signal(void)
{
    return atomic_load_explicit(&ignores_file_size_signal, memory_order_relaxed);
}

int pp_library_open(const char *const *names, const struct pp_library_call *calls, size_t n)
{
    for (; *names; names++) {
        void *lib = dlopen(*names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        size_t found = 0;
        while (lib && found < n && (*calls[found].at = dlsym(lib, calls[found].name)))
            found++;
        if (lib && found == n)
            return 1;
        if (lib)
            dlclose(lib);
    }
    return 0;
}
