#include "collectors/store/rings.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void pp_rings_close(struct pp_rings *r)
{
    if (r->fd >= 0)
        close(r->fd);
    free(r->file);
    r->fd = -1;
    r->file = NULL;
}

/* A session is made by its user, for that user alone (probe/trace/session.c): in what others could make or
 * change, names lead where they like, and so would we. */
static int is_ours(const char *name, int directory)
{
    struct stat st;
    return lstat(name, &st) == 0 && (directory ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode)) &&
           st.st_uid == geteuid() && (!directory || !(st.st_mode & (S_IWGRP | S_IWOTH)));
}

enum pp_rings_found pp_rings_open(const char *path, struct pp_rings *r)
{
    char name[PATH_MAX + 16];
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    *r = (struct pp_rings){.fd = -1};
    if ((size_t)snprintf(r->dir, sizeof(r->dir), "%s.rings", path) >= sizeof(r->dir))
        return PP_RINGS_ABSENT;
    snprintf(name, sizeof(name), "%s/" PP_SESSION_FILE_NAME, r->dir);
    int ours = is_ours(r->dir, 1) && is_ours(name, 0);
    r->fd = open(name, (ours ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (r->fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? PP_RINGS_ABSENT
               : ours                              ? PP_RINGS_UNREADABLE
                                                   : PP_RINGS_FOREIGN;
    struct pp_session_file *f = r->file = malloc(sizeof(*f));
    if (f && !(pp_io_pread_full(r->fd, f, sizeof(*f), 0) == (ssize_t)sizeof(*f) &&
               memcmp(f->magic, PP_SESSION_MAGIC, sizeof(f->magic)) == 0 && f->abi == PP_RING_ABI &&
               f->file_bytes == sizeof(*f))) {
        free(f);
        r->file = NULL;
    }
    if (r->file && r->file->threads > PP_THREADS_MAX)
        r->file->threads = PP_THREADS_MAX;
    int held = ours ? fcntl(r->fd, F_OFD_SETLK, &fl) != 0 && (errno == EAGAIN || errno == EACCES)
                    : fcntl(r->fd, F_OFD_GETLK, &fl) == 0 && fl.l_type != F_UNLCK;
    /* A process that records without a collector, or the child it forked, holds a lock on this one. */
    snprintf(name, sizeof(name), "%s/" PP_PRESENCE_FILE_NAME, r->dir);
    int presence = held ? -1 : open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    fl = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    held |= presence >= 0 && fcntl(presence, F_OFD_GETLK, &fl) == 0 && fl.l_type != F_UNLCK;
    if (presence >= 0)
        close(presence);
    if (held)
        return PP_RINGS_LIVE;
    if (!ours)
        return PP_RINGS_FOREIGN;
    return r->file ? PP_RINGS_DEAD : PP_RINGS_UNREADABLE;
}

/* Cut off in here, what is left is still a session: its file goes last. */
void pp_rings_remove(const struct pp_rings *r)
{
    DIR *d = opendir(r->dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (pp_session_has_file(e->d_name))
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        unlinkat(dirfd(d), PP_SESSION_FILE_NAME, 0);
    if (d)
        closedir(d);
    rmdir(r->dir);
}

pp_status pp_rings_discard(const char *path, uint64_t session_id, struct pp_err *err)
{
    struct pp_rings r;
    enum pp_rings_found found = pp_rings_open(path, &r);
    pp_status status = PP_OK;
    if (session_id && r.file && r.file->session_id == session_id)
        found = PP_RINGS_ABSENT;
    if (found == PP_RINGS_LIVE && !(r.file && r.file->owner_pid == getpid()))
        status = pp_fail(err, PP_E_EXISTS, "another process is recording into %s; choose another name", path);
    if (found == PP_RINGS_FOREIGN)
        status = pp_fail(
            err, PP_E_ACCESS,
            "%s.rings belongs to another user, or others may write in it: remove it, or choose another name",
            path);
    if (found == PP_RINGS_DEAD || found == PP_RINGS_UNREADABLE)
        pp_rings_remove(&r);
    pp_rings_close(&r);
    return status;
}

/* Opens ring i of the session and says which records are in it; -1 when there is none or it does not hold
 * together. */
int pp_rings_open_ring(const struct pp_rings *r, uint32_t i, struct pp_ring_file *ring)
{
    char name[PATH_MAX + 32];
    struct stat st;
    snprintf(name, sizeof(name), "%s/" PP_RING_FILE_FORMAT, r->dir, i);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && pp_io_pread_full(fd, ring, sizeof(*ring), 0) == (ssize_t)sizeof(*ring) &&
        memcmp(ring->magic, PP_RING_MAGIC, sizeof(ring->magic)) == 0 && ring->abi == PP_RING_ABI &&
        ring->file_bytes_header == sizeof(*ring) && ring->session_id == r->file->session_id &&
        ring->thread == i && ring->capacity && (ring->capacity & (ring->capacity - 1)) == 0 &&
        ring->capacity <= PP_RING_SPANS_MAX &&
        (uint64_t)st.st_size == sizeof(*ring) + ring->capacity * sizeof(struct pp_span) &&
        ring->head >= ring->tail && ring->head - ring->tail <= ring->capacity)
        return fd;
    close(fd);
    return -1;
}
