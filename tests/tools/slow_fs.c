/* slow_fs DIR MOUNT [-o lookup_ms=N,open_ms=N,read_ms=N,bandwidth=BYTES_PER_S] [-o eio=FILE] [-o write]
 * [-o count=FILE]: DIR once more at MOUNT, with the slowness of a remote mount: what a look-up or attribute,
 * an open and a read take, and how fast the link is that all reads share. Listing a directory is fast and
 * tells what is a directory, as NFS does. While the file named by eio exists, reads, writes and fsync answer
 * EIO, as a server or disk that is gone. It is read-only without "write". On SIGTERM it unmounts and writes
 * to FILE how often it was asked: "lookups N", "opens N", "reads N", "listings N", "failures N".
 *
 * The slowness is real to the reader: the kernel waits for this process as it waits for a server. Nothing
 * is kept in the page cache between two opens. */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static struct {
    unsigned lookup_ms, open_ms, read_ms;
    unsigned long bandwidth; /* bytes/s; 0: no limit */
    char *source, *count, *eio;
    int write, root_fd;
} fs;

static atomic_ulong lookups, opens, reads, listings, failures;

static const struct fuse_opt options[] = {
    {"lookup_ms=%u", offsetof(typeof(fs), lookup_ms), 0},
    {"open_ms=%u", offsetof(typeof(fs), open_ms), 0},
    {"read_ms=%u", offsetof(typeof(fs), read_ms), 0},
    {"bandwidth=%lu", offsetof(typeof(fs), bandwidth), 0},
    {"count=%s", offsetof(typeof(fs), count), 0},
    {"eio=%s", offsetof(typeof(fs), eio), 0},
    {"write", offsetof(typeof(fs), write), 1},
    FUSE_OPT_END,
};

static void wait_ns(unsigned long ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        continue;
}

/* A token bucket without a burst: when the link has moved what was asked of it before. */
static void wait_for_link(size_t bytes)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned long free_ns;
    struct timespec t;
    if (!fs.bandwidth)
        return;
    clock_gettime(CLOCK_MONOTONIC, &t);
    unsigned long now = (unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec;
    pthread_mutex_lock(&lock);
    free_ns = (free_ns > now ? free_ns : now) + bytes * 1000000000 / fs.bandwidth;
    unsigned long until = free_ns;
    pthread_mutex_unlock(&lock);
    wait_ns(until - now);
}

static int is_gone(void)
{
    int gone = fs.eio && access(fs.eio, F_OK) == 0;
    failures += (unsigned long)gone;
    return gone;
}

static const char *below_root(const char *path)
{
    return path[1] ? path + 1 : ".";
}

static int slow_getattr(const char *path, struct stat *info, struct fuse_file_info *fi)
{
    (void)fi;
    lookups++;
    wait_ns(fs.lookup_ms * 1000000ul);
    return fstatat(fs.root_fd, below_root(path), info, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : -errno;
}

static int slow_readdir(const char *path, void *to, fuse_fill_dir_t fill, off_t offset,
                        struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
    (void)offset, (void)fi, (void)flags;
    listings++;
    int fd = openat(fs.root_fd, below_root(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d)
        return -errno;
    for (struct dirent *e; (e = readdir(d));)
        fill(to, e->d_name, &(struct stat){.st_ino = e->d_ino, .st_mode = DTTOIF(e->d_type)}, 0, 0);
    closedir(d);
    return 0;
}

static int slow_open(const char *path, struct fuse_file_info *fi)
{
    opens++;
    wait_ns(fs.open_ms * 1000000ul);
    int flags = fs.write ? (fi->flags & O_ACCMODE) == O_RDONLY ? O_RDONLY : O_RDWR : O_RDONLY;
    int fd = openat(fs.root_fd, below_root(path), flags | (fi->flags & O_TRUNC) | O_CLOEXEC);
    fi->fh = (uint64_t)fd;
    return fd >= 0 ? 0 : -errno;
}

static int slow_read(const char *path, char *to, size_t size, off_t offset, struct fuse_file_info *fi)
{
    (void)path;
    reads++;
    wait_ns(fs.read_ms * 1000000ul);
    if (is_gone())
        return -EIO;
    ssize_t n = pread((int)fi->fh, to, size, offset);
    if (n > 0)
        wait_for_link((size_t)n);
    return n >= 0 ? (int)n : -errno;
}

static int slow_release(const char *path, struct fuse_file_info *fi)
{
    (void)path;
    close((int)fi->fh);
    return 0;
}

/* ---- for a mount that is written to ---- */

#define DONE(call) ((call) == 0 ? 0 : -errno)

static int slow_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
    int fd = openat(fs.root_fd, below_root(path),
                    O_RDWR | O_CREAT | (fi->flags & (O_EXCL | O_TRUNC)) | O_CLOEXEC, mode);
    fi->fh = (uint64_t)fd;
    return fd >= 0 ? 0 : -errno;
}

static int slow_write(const char *path, const char *from, size_t size, off_t offset,
                      struct fuse_file_info *fi)
{
    (void)path;
    ssize_t n = is_gone() ? (errno = EIO, -1) : pwrite((int)fi->fh, from, size, offset);
    return n >= 0 ? (int)n : -errno;
}

static int slow_fsync(const char *path, int data_only, struct fuse_file_info *fi)
{
    (void)path, (void)data_only;
    return is_gone() ? -EIO : DONE(fsync((int)fi->fh));
}

static int slow_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
    int fd = fi ? (int)fi->fh : openat(fs.root_fd, below_root(path), O_WRONLY | O_CLOEXEC);
    int rc = fd >= 0 ? DONE(ftruncate(fd, size)) : -errno;
    if (!fi && fd >= 0)
        close(fd);
    return rc;
}

static int slow_fallocate(const char *path, int mode, off_t offset, off_t size, struct fuse_file_info *fi)
{
    (void)path;
    return DONE(fallocate((int)fi->fh, mode, offset, size));
}

static int slow_unlink(const char *path)
{
    return DONE(unlinkat(fs.root_fd, below_root(path), 0));
}

static int slow_mkdir(const char *path, mode_t mode)
{
    return DONE(mkdirat(fs.root_fd, below_root(path), mode));
}

static int slow_rmdir(const char *path)
{
    return DONE(unlinkat(fs.root_fd, below_root(path), AT_REMOVEDIR));
}

static int slow_rename(const char *from, const char *to, unsigned flags)
{
    (void)flags;
    return DONE(renameat(fs.root_fd, below_root(from), fs.root_fd, below_root(to)));
}

static int slow_statfs(const char *path, struct statvfs *out)
{
    (void)path;
    return DONE(fstatvfs(fs.root_fd, out));
}

/* Listings with attributes would look every file up, unasked. */
static void *slow_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
    (void)config;
    conn->want &= ~(unsigned)(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
    return NULL;
}

static const struct fuse_operations operations = {.init = slow_init,
                                                  .getattr = slow_getattr,
                                                  .readdir = slow_readdir,
                                                  .open = slow_open,
                                                  .read = slow_read,
                                                  .create = slow_create,
                                                  .write = slow_write,
                                                  .fsync = slow_fsync,
                                                  .truncate = slow_truncate,
                                                  .fallocate = slow_fallocate,
                                                  .unlink = slow_unlink,
                                                  .mkdir = slow_mkdir,
                                                  .rmdir = slow_rmdir,
                                                  .rename = slow_rename,
                                                  .statfs = slow_statfs,
                                                  .release = slow_release};

/* The first operand is ours, the second the mount point. */
static int take_source(void *data, const char *arg, int key, struct fuse_args *out)
{
    (void)data, (void)out;
    if (key != FUSE_OPT_KEY_NONOPT || fs.source)
        return 1;
    fs.source = realpath(arg, NULL);
    return fs.source ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
    if (fuse_opt_parse(&args, &fs, options, take_source) != 0 || !fs.source)
        return fputs(
                   "usage: slow_fs DIR MOUNT [-o lookup_ms=N,open_ms=N,read_ms=N,bandwidth=BYTES_PER_S,eio=FILE,write,count=FILE]\n",
                   stderr),
               2;
    fs.root_fd = open(fs.source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fs.root_fd < 0)
        return perror(fs.source), 2;
    fuse_opt_add_arg(&args, "-f");
    if (!fs.write)
        fuse_opt_add_arg(&args, "-oro");
    int rc = fuse_main(args.argc, args.argv, &operations, NULL);
    FILE *out = fs.count ? fopen(fs.count, "w") : NULL;
    if (out) {
        fprintf(out, "lookups %lu\nopens %lu\nreads %lu\nlistings %lu\nfailures %lu\n", lookups, opens, reads,
                listings, failures);
        fclose(out);
    }
    fuse_opt_free_args(&args);
    return rc;
}
