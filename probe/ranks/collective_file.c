#include "probe/ranks/collective_file.h"

#include "probe/base/clock.h"
#include "probe/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char magic[8] = "ppranks1";

/* It is held for microseconds, or by a process that was stopped in it */
#define DOOR_WAIT_NS UINT64_C(5000000000)
#define DOOR_LOOK_NS 1000000
enum { DOOR = 0, PLACES = 1 };

_Static_assert(sizeof(struct pp_rank_line) == 64 && sizeof(struct pp_ranks_shared) == 64,
               "lines of 64 bytes");

/* ---- locks ---- */

static int lock_byte(int fd, short type, off_t at)
{
    struct flock fl = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &fl);
}

/* Whether another process holds one of n bytes. */
static int is_held(int fd, off_t at, off_t n)
{
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = n};
    return fcntl(fd, F_OFD_GETLK, &fl) == 0 && fl.l_type != F_UNLCK;
}

int pp_ranks_file_has(const struct pp_ranks_file *f, uint32_t rank)
{
    return is_held(f->fd, PLACES + (off_t)rank, 1);
}

static int is_the_file_at(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

/* Never through a link, which any user may have put where the file is expected (/dev/shm, /tmp); and only a
 * file that others cannot cut or write: a rank that has mapped it would be ended by SIGBUS. */
static pp_status open_own(struct pp_ranks_file *f, struct pp_err *err)
{
    struct stat info;
    f->fd = open(f->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (f->fd < 0 && errno == ENOENT) {
        f->fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (f->fd < 0 && errno == EEXIST)
            return PP_E_TRANSIENT; /* another rank was faster */
    }
    if (f->fd < 0 && errno == EISDIR)
        return pp_fail(err, PP_E_USAGE, "--collective: %s is a directory; name a file in it", f->path);
    if (f->fd < 0 && errno == ELOOP)
        return pp_fail(err, PP_E_USAGE, "--collective: %s is a symbolic link; name the file itself", f->path);
    if (f->fd < 0 || fstat(f->fd, &info) != 0)
        return pp_fail_errno(err, errno, "--collective: opening %s failed", f->path);
    if (info.st_uid != geteuid() || (info.st_mode & S_IWOTH))
        return pp_fail(err, PP_E_ACCESS,
                       "--collective: %s %s; name a file of your own that others cannot write", f->path,
                       info.st_uid != geteuid() ? "belongs to another user"
                                                : "can be written by other users");
    return PP_OK;
}

/* Opens the file and goes through its door. Who leaves last removes the file: then it is opened once more. */
static pp_status enter(struct pp_ranks_file *f, struct pp_err *err)
{
    uint64_t until = pp_now_ns() + DOOR_WAIT_NS;
    for (;;) {
        pp_status st = open_own(f, err);
        if (st == PP_E_TRANSIENT)
            continue;
        if (st != PP_OK)
            return st;
        int held = lock_byte(f->fd, F_WRLCK, DOOR) == 0;
        if (held && is_the_file_at(f->fd, f->path))
            return PP_OK;
        if (!held && errno != EAGAIN && errno != EACCES)
            return pp_fail_errno(err, errno,
                                 "--collective: %s cannot be locked (name a file in /dev/shm or /tmp)",
                                 f->path);
        close(f->fd);
        f->fd = -1;
        if (pp_now_ns() > until)
            return pp_fail(
                err, PP_E_SYSTEM,
                "--collective: another process has kept %s locked for 5 s; end it, or name another file",
                f->path);
        pp_sleep_until_ns(pp_now_ns() + DOOR_LOOK_NS);
    }
}

/* ---- the file's contents, behind the door ---- */

static int is_ours(int fd)
{
    struct stat info;
    char begins[sizeof(magic)] = {0}, none[sizeof(magic)] = {0};
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return 0;
    if (info.st_size && pread(fd, begins, sizeof(begins), 0) != (ssize_t)sizeof(begins))
        return 0;
    return memcmp(begins, magic, sizeof(magic)) == 0 ||
           memcmp(begins, none, sizeof(none)) == 0; /* nothing: new, or the process that began it died */
}

/* No process is there: the file's content is of a run that is over. Its room is asked for now, since a
 * mapped page that finds none would end the process. */
static pp_status begin(struct pp_ranks_file *f, uint32_t world_size, struct pp_err *err)
{
    int rc = ftruncate(f->fd, 0) == 0 ? posix_fallocate(f->fd, 0, (off_t)f->size) : errno;
    if (rc == 0 && pwrite(f->fd, &world_size, sizeof(world_size),
                          offsetof(struct pp_ranks_shared, world_size)) != (ssize_t)sizeof(world_size))
        rc = errno;
    if (rc == 0 && pwrite(f->fd, magic, sizeof(magic), 0) != (ssize_t)sizeof(magic))
        rc = errno;
    return rc ? pp_fail_errno(err, rc, "--collective: writing %s failed", f->path) : PP_OK;
}

static pp_status check_size(const struct pp_ranks_file *f, uint32_t world_size, struct pp_err *err)
{
    uint32_t theirs = 0;
    if (pread(f->fd, &theirs, sizeof(theirs), offsetof(struct pp_ranks_shared, world_size)) ==
            (ssize_t)sizeof(theirs) &&
        theirs == world_size)
        return PP_OK;
    return pp_fail(
        err, PP_E_USAGE,
        "--world-size %u: the ranks that share %s already have --world-size %u; give all of them the same, or name another file",
        world_size, f->path, theirs);
}

static pp_status take_place(struct pp_ranks_file *f, const struct pp_collective_opts *o, struct pp_err *err)
{
    int company = is_held(f->fd, PLACES, PP_COLLECTIVE_RANKS);
    pp_status st =
        is_ours(f->fd)
            ? PP_OK
            : pp_fail(err, PP_E_USAGE,
                      "--collective: %s is not a file of the ranks; name a new file for the ranks to share",
                      f->path);
    if (st == PP_OK)
        st = company ? check_size(f, o->world_size, err) : begin(f, o->world_size, err);
    if (st == PP_OK) {
        void *at = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
        if (at == MAP_FAILED)
            st = pp_fail_errno(err, errno, "--collective: mapping %s failed", f->path);
        else
            f->shared = at;
    }
    if (st == PP_OK) {
        const struct pp_rank_line *line = &f->shared->line[o->rank];
        uint32_t state = atomic_load(&line->state);
        if (pp_ranks_file_has(f, o->rank))
            st = pp_fail(err, PP_E_EXISTS,
                         "--rank %u: process %u already has this rank in %s; give every process its own rank",
                         o->rank, atomic_load(&line->pid), f->path);
        else if (state != PP_RANK_ABSENT)
            st = pp_fail(
                err, PP_E_EXISTS,
                "--rank %u: the ranks that share %s %s; start all ranks together, or name another file",
                o->rank, f->path,
                state == PP_RANK_NEVER_CAME ? "continued without this one, which started too late"
                                            : "already had this rank, and it ended");
    }
    if (st == PP_OK && lock_byte(f->fd, F_WRLCK, PLACES + (off_t)o->rank) != 0)
        st = pp_fail_errno(err, errno, "--collective: %s cannot be locked", f->path);
    if (st != PP_OK)
        return st;
    struct pp_rank_line *me = &f->shared->line[o->rank];
    atomic_store(&me->pid, (uint32_t)getpid());
    atomic_store(&me->state, PP_RANK_HERE); /* after the lock: no rank may take it for dead */
    return PP_OK;
}

pp_status pp_ranks_file_join(struct pp_ranks_file *f, const struct pp_collective_opts *o, struct pp_err *err)
{
    *f = (struct pp_ranks_file){.path = strdup(o->path),
                                .fd = -1,
                                .size = sizeof(struct pp_ranks_shared) +
                                        o->world_size * sizeof(struct pp_rank_line)};
    pp_status st = f->path ? enter(f, err) : pp_fail(err, PP_E_NO_MEMORY, "no memory to join %s", o->path);
    if (st == PP_OK) {
        st = take_place(f, o, err);
        lock_byte(f->fd, F_UNLCK, DOOR);
    }
    if (st == PP_OK)
        pp_ranks_file_ring(f);
    return st;
}

/* Where the door's lock is not to be had, the file stays: it does no harm. */
static void remove_if_last(const struct pp_ranks_file *f)
{
    uint64_t until = pp_now_ns() + DOOR_WAIT_NS;
    while (lock_byte(f->fd, F_WRLCK, DOOR) != 0) {
        if (pp_now_ns() > until)
            return;
        pp_sleep_until_ns(pp_now_ns() + DOOR_LOOK_NS);
    }
    if (!is_held(f->fd, PLACES, PP_COLLECTIVE_RANKS) && is_the_file_at(f->fd, f->path))
        unlink(f->path);
}

void pp_ranks_file_leave(struct pp_ranks_file *f)
{
    if (f->shared) {
        remove_if_last(f);
        munmap(f->shared, f->size);
    }
    if (f->fd >= 0)
        close(f->fd); /* and with it the locks */
    free(f->path);
    *f = (struct pp_ranks_file){.fd = -1};
}

/* ---- the bell ---- */

void pp_ranks_file_ring(struct pp_ranks_file *f)
{
    atomic_fetch_add(&f->shared->bell, 1);
    syscall(SYS_futex, &f->shared->bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void pp_ranks_file_sleep(struct pp_ranks_file *f, uint32_t was, long ns)
{
    struct timespec most = {.tv_nsec = ns};
    syscall(SYS_futex, &f->shared->bell, FUTEX_WAIT, was, &most, NULL, 0);
}
