#include "collectors/store/claim.h"

#include "collectors/store/rings.h"
#include "probe/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 100

static void remove_beside(const char *path)
{
    static const char *const suffix[] = {"-wal", "-shm", "-journal"};
    char name[PATH_MAX + 16];
    for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", path, suffix[i]);
        unlink(name);
    }
}

void pp_store_unclaim(const char *path, int lock)
{
    remove_beside(path); /* while the name is ours */
    unlink(path);
    if (lock >= 0)
        close(lock);
}

static pp_status check_directory(const char *path, struct pp_err *err)
{
    char dir[PATH_MAX];
    struct stat st;
    snprintf(dir, sizeof(dir), "%s", path);
    char *slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = '\0';
    else
        strcpy(dir, ".");
    if (stat(dir, &st) != 0)
        return pp_fail_errno(err, errno, "cannot create %s: its directory %s", path, dir);
    if (!S_ISDIR(st.st_mode))
        return pp_fail(err, PP_E_NOT_FOUND, "cannot create %s: %s is not a directory", path, dir);
    if (access(dir, W_OK | X_OK) != 0)
        return pp_fail_errno(err, errno,
                             "cannot create %s: the directory %s is not writable; choose another one with -o",
                             path, dir);
    return PP_OK;
}

static pp_status check_name(const struct pp_store_opts *opts, struct pp_err *err)
{
    struct stat st;
    if (!opts->path || !*opts->path)
        return pp_fail(err, PP_E_USAGE, "the output needs a file name");
    if (strlen(opts->path) > PATH_MAX - 64)
        return pp_fail(err, PP_E_USAGE, "the output's name is too long: %.100s...", opts->path);
    if (stat(opts->path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return pp_fail(err, PP_E_USAGE, "%s is a directory; name a file in it", opts->path);
        if (!opts->force && (!S_ISREG(st.st_mode) || st.st_size > 0))
            return pp_fail(err, PP_E_EXISTS,
                           "%s already exists; use --force to replace it, or choose another name",
                           opts->path);
        if (!S_ISREG(st.st_mode))
            return pp_fail(err, PP_E_USAGE, "%s is not a regular file; choose another name", opts->path);
    }
    return check_directory(opts->path, err);
}

static pp_status taken(const char *path, struct pp_err *err)
{
    return pp_fail(err, PP_E_EXISTS, "another process is recording into %s; choose another name", path);
}

/* A file system without such locks leaves the name to O_EXCL. */
static int is_locked_by_another(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/* Whether the file that was opened still has the name. */
static int has_name(int fd, const char *path, struct stat *st)
{
    struct stat named;
    return fstat(fd, st) == 0 && lstat(path, &named) == 0 && named.st_ino == st->st_ino &&
           named.st_dev == st->st_dev;
}

/* A new file of that name: -1 with errno. */
static int make(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
}

/* With the lock of the file that has the name: it goes, and one of ours comes in its place. EEXIST: another
 * was faster. What lies beside it goes first: once the name is free, it is that other's. */
static int replace(const char *path)
{
    remove_beside(path);
    unlink(path);
    return make(path);
}

/* What is done with the file fd, which has the name and whose lock is ours. *lock is -1 where another got the
 * name. */
static pp_status take_over(const struct pp_store_opts *opts, int fd, int empty, int *lock, struct pp_err *err)
{
    pp_status status = PP_OK;
    *lock = -1;
    if (!empty && !opts->force)
        status = pp_fail(err, PP_E_EXISTS,
                         "%s already exists; use --force to replace it, or choose another name", opts->path);
    if (!status)
        status = pp_rings_discard(opts->path, opts->session_id, err);
    if (status)
        return status;
    if (empty) {
        remove_beside(opts->path); /* of a database that was deleted without them */
        *lock = fd;
        return PP_OK;
    }
    int made = replace(opts->path);
    if (made < 0 && errno != EEXIST)
        return pp_fail_errno(err, errno, "cannot create %s", opts->path);
    if (made >= 0 && !is_locked_by_another(made))
        *lock = made;
    else if (made >= 0)
        close(made);
    return PP_OK;
}

pp_status pp_store_claim(const struct pp_store_opts *opts, int *lock, struct pp_err *err)
{
    pp_status status = check_name(opts, err);
    *lock = -1;
    for (int tries = 0; !status && tries < TRIES; tries++) {
        struct stat st;
        int fd = make(opts->path), made = fd >= 0;
        if (!made && errno != EEXIST)
            return pp_fail_errno(err, errno, "cannot create %s", opts->path);
        if (!made)
            fd = open(opts->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0 && errno != ENOENT) { /* a link, or not ours to read: --force removes the name alone */
            if (!opts->force)
                return taken(opts->path, err);
            unlink(opts->path);
        }
        if (fd < 0)
            continue;
        if (is_locked_by_another(fd)) {
            close(fd);
            return taken(opts->path, err);
        }
        if (has_name(fd, opts->path, &st)) {
            status = take_over(opts, fd, st.st_size == 0, lock, err);
            if (status && made)
                unlink(opts->path);
        }
        if (*lock != fd)
            close(fd);
        if (*lock >= 0)
            return PP_OK;
    }
    return status ? status : taken(opts->path, err);
}
