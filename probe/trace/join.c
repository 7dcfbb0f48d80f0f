#include "probe/trace/join.h"
#include "probe/trace/session.h"

#include "probe/base/err.h"
#include "probe/base/guard.h"
#include "probe/base/utf8.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FD_FROM 512 /* out of the way of a program that counts on low numbers */

pp_status pp_session_join(const char *dir, struct pp_session **out, struct pp_err *err)
{
    char path[PATH_MAX];
    struct stat st;
    pp_status status = PP_OK;
    int fd = -1;
    *out = NULL;
    struct pp_session *s = calloc(1, sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the recording session");
    s->lock_fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    s->dir = realpath(dir, NULL);
    if (!s->dir)
        status = pp_fail_errno(err, errno, "cannot find the recording session %s", dir);
    else if ((size_t)snprintf(path, sizeof(path), "%s/" PP_SESSION_FILE_NAME, s->dir) >= sizeof(path))
        status = pp_fail(err, PP_E_USAGE, "the session directory's name is too long: %s", s->dir);
    else if ((fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) < 0)
        status = pp_fail_errno(err, errno, "cannot open the recording session %s", path);
    else if (fstat(fd, &st) != 0 || st.st_size != (off_t)sizeof(*s->file))
        status = pp_fail(err, PP_E_CORRUPT, "%s is not a recording session", path);
    void *p = MAP_FAILED;
    if (status == PP_OK &&
        (p = mmap(NULL, sizeof(*s->file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
        status = pp_fail_errno(err, errno, "cannot map the recording session %s", path);
    if (p != MAP_FAILED) {
        const struct pp_session_file *f = p; /* another process's: checked before it is believed */
        pp_guard_add(p, sizeof(*f));
        if (memcmp(f->magic, PP_SESSION_MAGIC, sizeof(f->magic)) != 0 || !f->ring_spans ||
            f->ring_spans > PP_RING_SPANS_MAX || (f->ring_spans & (f->ring_spans - 1)))
            status = pp_fail(err, PP_E_CORRUPT, "%s is not a recording session", path);
        else if (f->abi != PP_RING_ABI || f->file_bytes != sizeof(*f))
            status = pp_fail(err, PP_E_VERSION, "%s is a recording session of another version of pipeprobe",
                             path);
        else
            s->file = p;
        if (status != PP_OK)
            pp_session_unmap(p, sizeof(*f));
    }
    if (fd >= 0)
        close(fd);
    if (status == PP_OK)
        pp_session_enlist(s);
    else
        pp_session_close(s, 0), s = NULL;
    *out = s;
    return status;
}

pp_status pp_session_adopt(const char *dir, int lock_fd, struct pp_session **out, struct pp_err *err)
{
    pp_status status = pp_session_join(dir, out, err);
    if (status != PP_OK) {
        close(lock_fd);
        return status;
    }
    pthread_mutex_lock(&(*out)->lock);
    (*out)->lock_fd = lock_fd;
    (*out)->owner = 1;
    pp_stamp_resume((*out)->file, &(*out)->sync);
    pthread_mutex_unlock(&(*out)->lock);
    return PP_OK;
}

/* In words, so that a reader sees each of the four either old or new. */
void pp_thread_rename(struct pp_thread *t, const char *name)
{
    uint64_t word[sizeof(t->ring->name) / sizeof(uint64_t)];
    if (!t || !name)
        return;
    pp_utf8_copy((char *)word, sizeof(word), name);
    for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
        __atomic_store_n(&((uint64_t *)(void *)t->ring->name)[i], word[i], __ATOMIC_RELAXED);
}

void pp_thread_set_lane(struct pp_thread *t, pp_lane lane)
{
    if (t)
        __atomic_store_n(&t->ring->lane, (uint32_t)lane, __ATOMIC_RELAXED);
}

/* ---- presence ---- */

static int open_presence(const char *dir, int flags)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/" PP_PRESENCE_FILE_NAME, dir) >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
}

/* Its open-file-description lock is shared with the children that inherit the descriptor, and gone with the
 * last of them. */
int pp_presence_enter(const char *dir)
{
    struct flock fl = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int fd = open_presence(dir, O_CREAT), high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_FROM);
    if (high >= 0) {
        close(fd);
        fd = high;
    }
    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &fl) == 0)
        return fd;
    int e = errno == EACCES ? EAGAIN : errno;
    close(fd);
    errno = e;
    return -1;
}

int pp_session_file_is_locked(const char *dir, const char *name)
{
    char path[PATH_MAX + 16];
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    int locked = fd >= 0 && fcntl(fd, F_OFD_GETLK, &fl) == 0 && fl.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return locked;
}

int pp_presence_end(const char *dir, int *fd)
{
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    *fd = open_presence(dir, 0);
    if (*fd < 0)
        return errno == ENOENT;
    if (fcntl(*fd, F_OFD_SETLK, &fl) == 0)
        return 1;
    close(*fd);
    *fd = -1;
    return 0;
}
