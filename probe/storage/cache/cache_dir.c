#include "probe/storage/cache/cache_ring.h"

#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char marker_name[] = "pipeprobe-cache", segment_prefix[] = "segment-";

enum { NUMBER_DIGITS = 16, SEGMENT_NAME = 32, MARKER = 128, LOCK_TRIES = 200 };
#define LOCK_STEP_NS 5000000u

static void name_segment(uint64_t number, char out[SEGMENT_NAME])
{
    snprintf(out, SEGMENT_NAME, "%s%0*llx", segment_prefix, NUMBER_DIGITS, (unsigned long long)number);
}

/* ---- opening ---- */

static pp_status read_marker(struct pp_cache_dir *d, struct pp_err *err)
{
    char text[MARKER];
    struct stat st;
    unsigned version;
    unsigned long long seed;
    int end = 0;
    ssize_t n = pp_io_pread_full(d->marker, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    if (fstat(d->marker, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        st.st_mode & (S_IWGRP | S_IWOTH))
        return pp_fail(err, PP_E_ACCESS, "cannot use the cache %s: its file %s is another user's, or no file",
                       d->path, marker_name);
    if (sscanf(text, "pipeprobe cache %u", &version) == 1 && version != 1)
        return pp_fail(
            err, PP_E_VERSION,
            "cannot use the cache %s: another version of pipeprobe made it (%u); name another directory, or remove it",
            d->path, version);
    if (sscanf(text, "pipeprobe cache 1 %16llx\n%n", &seed, &end) != 1 || end != n)
        return pp_fail(err, PP_E_CORRUPT,
                       "cannot use the cache %s: its file %s is damaged; remove the directory", d->path,
                       marker_name);
    d->seed = seed;
    return PP_OK;
}

/* NULL: errno says why. */
static DIR *open_list(const struct pp_cache_dir *d)
{
    int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (!list && fd >= 0)
        close(fd);
    return list;
}

static pp_status open_marker(struct pp_cache_dir *d, struct pp_err *err)
{
    const int how = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    d->marker = openat(d->fd, marker_name, how);
    if (d->marker < 0 && errno == ENOENT) {
        /* Files that are neither a marker nor about to become one. */
        DIR *list = open_list(d);
        struct dirent *e;
        pp_status st = list ? PP_OK : pp_fail_errno(err, errno, "cannot list the cache %s", d->path);
        while (st == PP_OK && (e = readdir(list)))
            if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
                strncmp(e->d_name, marker_name, sizeof(marker_name) - 1) != 0)
                st = pp_fail(
                    err, PP_E_EXISTS,
                    "cannot use %s as a cache: it is no cache of pipeprobe, and not empty (%s); name an empty or a new directory",
                    d->path, e->d_name);
        if (list)
            closedir(list);
        if (st != PP_OK)
            return st;
        /* Made under another name and linked: it is there whole, and once. */
        char name[64], text[MARKER];
        uint64_t seed;
        if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
            return pp_fail_errno(err, errno, "cannot make the cache %s: no random number", d->path);
        snprintf(name, sizeof(name), "%s.%ld", marker_name, (long)getpid());
        int n = snprintf(text, sizeof(text), "pipeprobe cache 1 %016llx\n", (unsigned long long)seed);
        int fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        int failed = fd >= 0 && pp_io_write_full(fd, text, (size_t)n) == 0 ? 0 : errno;
        if (fd >= 0 && close(fd) != 0 && !failed)
            failed = errno;
        if (!failed && linkat(d->fd, name, d->fd, marker_name, 0) != 0 && errno != EEXIST)
            failed = errno;
        if (fd >= 0)
            unlinkat(d->fd, name, 0);
        if (failed)
            return pp_fail_errno(err, failed, "cannot make the cache %s", d->path);
        d->marker = openat(d->fd, marker_name, how);
    }
    return d->marker >= 0 ? read_marker(d, err)
                          : pp_fail_errno(err, errno, "cannot use the cache %s: %s", d->path, marker_name);
}

pp_status pp_cache_dir_open(const char *path, struct pp_cache_dir *out, struct pp_err *err)
{
    struct stat info;
    pp_status st = PP_OK;
    *out = (struct pp_cache_dir){.fd = -1, .marker = -1, .path = strdup(path)};
    if (!out->path)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open the cache %s", path);
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        st = pp_fail_errno(err, errno, "cannot make the cache %s", path);
    if (st == PP_OK && (out->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        st = pp_fail_errno(err, errno, "cannot open the cache %s", path);
    if (st == PP_OK && fstat(out->fd, &info) != 0)
        st = pp_fail_errno(err, errno, "cannot use the cache %s", path);
    else if (st == PP_OK && info.st_uid != geteuid())
        st = pp_fail(
            err, PP_E_ACCESS,
            "cannot use the cache %s: it belongs to another user (uid %u); name a directory of your own",
            path, (unsigned)info.st_uid);
    else if (st == PP_OK && (info.st_mode & (S_IWGRP | S_IWOTH)))
        st = pp_fail(err, PP_E_ACCESS,
                     "cannot use the cache %s: other users can write to it; close it to them: chmod go-w %s",
                     path, path);
    if (st == PP_OK)
        st = open_marker(out, err);
    if (st == PP_OK)
        out->read_only = faccessat(out->fd, ".", W_OK | X_OK, AT_EACCESS) != 0;
    if (st != PP_OK)
        pp_cache_dir_close(out);
    return st;
}

void pp_cache_dir_close(struct pp_cache_dir *d)
{
    if (!d->path)
        return;
    if (d->marker >= 0)
        close(d->marker);
    if (d->fd >= 0)
        close(d->fd);
    free(d->path);
    *d = (struct pp_cache_dir){.fd = -1, .marker = -1};
}

/* ---- afterwards ---- */

int pp_cache_dir_is_there(const struct pp_cache_dir *d)
{
    struct stat own, now;
    return fstat(d->marker, &own) == 0 && fstatat(d->fd, marker_name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           own.st_ino == now.st_ino && own.st_dev == now.st_dev;
}

int pp_cache_dir_lock(const struct pp_cache_dir *d)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(d->marker, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -1;
        pp_sleep_until_ns(pp_now_ns() + LOCK_STEP_NS);
    }
    return -1;
}

void pp_cache_dir_unlock(const struct pp_cache_dir *d)
{
    flock(d->marker, LOCK_UN);
}

int pp_cache_dir_segment(const struct pp_cache_dir *d, uint64_t number, int write)
{
    char name[SEGMENT_NAME];
    struct stat st;
    name_segment(number, name);
    int fd = pp_io_openat(d->fd, name, (write ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        !(st.st_mode & (S_IWGRP | S_IWOTH)) && st.st_nlink == 1)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int pp_cache_dir_make_segment(const struct pp_cache_dir *d, uint64_t number)
{
    char name[SEGMENT_NAME];
    name_segment(number, name);
    int fd = openat(d->fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        flock(fd, LOCK_EX | LOCK_NB);
    return fd;
}

void pp_cache_dir_remove_segment(const struct pp_cache_dir *d, uint64_t number)
{
    char name[SEGMENT_NAME];
    name_segment(number, name);
    unlinkat(d->fd, name, 0);
}

int pp_cache_dir_list(const struct pp_cache_dir *d, uint64_t **numbers, size_t *n)
{
    DIR *list = open_list(d);
    int r = 0;
    struct dirent *e;
    size_t cap = 0;
    char again[SEGMENT_NAME];
    *numbers = NULL;
    *n = 0;
    while (list && r == 0 && (e = readdir(list))) {
        if (strncmp(e->d_name, segment_prefix, sizeof(segment_prefix) - 1) != 0)
            continue;
        uint64_t number = strtoull(e->d_name + sizeof(segment_prefix) - 1, NULL, 16);
        name_segment(number, again);
        if (strcmp(again, e->d_name) != 0)
            continue;
        r = pp_grow(numbers, &cap, *n + 1, sizeof(**numbers)) ? 0 : -1;
        if (r == 0)
            (*numbers)[(*n)++] = number;
    }
    if (list)
        closedir(list);
    if (*n)
        qsort(*numbers, *n, sizeof(**numbers), pp_by_u64);
    return list ? r : -1;
}
