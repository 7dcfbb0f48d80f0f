/* slow_fs DIR MOUNT [-o lookup_ms=N,open_ms=N,read_ms=N,bandwidth=BYTES_PER_S] [-o count=FILE]: DIR once more
 * at MOUNT, read-only, with the slowness of a remote mount: what a look-up or attribute, an open and a read
 * take, and how fast the link is that all reads share. Listing a directory is fast and tells what is a
 * directory, as NFS does. On SIGTERM it unmounts and writes to FILE how often it was asked: "lookups N",
 * "opens N", "reads N", "listings N".
 *
 * The slowness is real to whoever reads: the kernel waits for this process as it waits for a server. Nothing
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
#include <time.h>
#include <unistd.h>

static struct {
    unsigned lookup_ms, open_ms, read_ms;
    unsigned long bandwidth; /* bytes/s; 0: no limit */
    char *source, *count;
    int root_fd;
} fs;

static atomic_ulong lookups, opens, reads, listings;

static const struct fuse_opt options[] = {
    {"lookup_ms=%u", offsetof(typeof(fs), lookup_ms), 0},
    {"open_ms=%u", offsetof(typeof(fs), open_ms), 0},
    {"read_ms=%u", offsetof(typeof(fs), read_ms), 0},
    {"bandwidth=%lu", offsetof(typeof(fs), bandwidth), 0},
    {"count=%s", offsetof(typeof(fs), count), 0},
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
    int fd = openat(fs.root_fd, below_root(path), O_RDONLY | O_CLOEXEC);
    fi->fh = (uint64_t)fd;
    return fd >= 0 ? 0 : -errno;
}

static int slow_read(const char *path, char *to, size_t size, off_t offset, struct fuse_file_info *fi)
{
    (void)path;
    reads++;
    wait_ns(fs.read_ms * 1000000ul);
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
                   "usage: slow_fs DIR MOUNT [-o lookup_ms=N,open_ms=N,read_ms=N,bandwidth=BYTES_PER_S,count=FILE]\n",
                   stderr),
               2;
    fs.root_fd = open(fs.source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fs.root_fd < 0)
        return perror(fs.source), 2;
    fuse_opt_add_arg(&args, "-f");
    fuse_opt_add_arg(&args, "-oro");
    int rc = fuse_main(args.argc, args.argv, &operations, NULL);
    FILE *out = fs.count ? fopen(fs.count, "w") : NULL;
    if (out) {
        fprintf(out, "lookups %lu\nopens %lu\nreads %lu\nlistings %lu\n", lookups, opens, reads, listings);
        fclose(out);
    }
    fuse_opt_free_args(&args);
    return rc;
}
