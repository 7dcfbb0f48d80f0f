#include "probe/trace/session.h"

#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/utf8.h"
#include "probe/base/guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define DEFAULT_RING_SPANS 65536u
#define MIN_RING_SPANS 16u

/* The sessions of this process, so that a fork can silence what the child inherits. Lock order: list, then
 * session. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pp_session *list;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void fork_prepare(void)
{
    pthread_mutex_lock(&list_lock);
    for (struct pp_session *s = list; s; s = s->next)
        pthread_mutex_lock(&s->lock);
    pp_guard_lock();
}

static void fork_unlock(void)
{
    pp_guard_unlock();
    for (struct pp_session *s = list; s; s = s->next)
        pthread_mutex_unlock(&s->lock);
    pthread_mutex_unlock(&list_lock);
}

/* The mapping is shared: two processes writing through one handle would interleave. The child may register
 * afresh. Closing its copy of lock_fd leaves the lock to the parent alone, and it ends with the parent. */
static void fork_child(void)
{
    for (struct pp_session *s = list; s; s = s->next) {
        for (struct pp_thread *t = s->handles; t; t = t->next) {
            __atomic_store_n(&t->recording, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&t->straight_until, 0, __ATOMIC_RELAXED);
        }
        s->owner = 0;
        if (s->lock_fd >= 0)
            close(s->lock_fd);
        s->lock_fd = -1;
    }
    fork_unlock();
}

static void fork_install(void)
{
    pthread_atfork(fork_prepare, fork_unlock, fork_child);
}

void pp_session_enlist(struct pp_session *s)
{
    pthread_once(&fork_once, fork_install);
    pthread_mutex_lock(&list_lock);
    s->next = list;
    list = s;
    pthread_mutex_unlock(&list_lock);
}

int pp_session_reserve(int fd, size_t bytes)
{
    int e;
    do {
        e = posix_fallocate(fd, 0, (off_t)bytes);
    } while (e == EINTR);
    return e;
}

int pp_session_map_file(int fd, size_t bytes, void **out)
{
    struct statfs fs;
    int e = pp_session_reserve(fd, bytes);
    if (e)
        return e;
    /* In memory (/dev/shm) a reserved file has its pages; mapped here, they are not faulted in one by one
     * while somebody records. On a disk that would fill the page cache with what may never be used, and the
     * first store faults all the same. */
    int in_memory = fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == TMPFS_MAGIC;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (in_memory ? MAP_POPULATE : 0), fd, 0);
    if (p == MAP_FAILED)
        return errno;
    pp_guard_add(p, bytes);
    *out = p;
    return 0;
}

/* A file over RLIMIT_FSIZE would raise SIGXFSZ, hence the look beforehand. */
int pp_session_make_file(const char *path, size_t bytes, void **out)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur)
        return EFBIG;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int e = pp_session_map_file(fd, bytes, out);
    close(fd);
    if (e)
        unlink(path);
    return e;
}

static pp_status make_dir(const struct pp_session_opts *opts, char **out, struct pp_err *err)
{
    const char *const base[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", getenv("TMPDIR"), "/tmp"};
    char path[PATH_MAX];
    struct stat st;
    for (size_t i = 0; !opts->dir && i < sizeof(base) / sizeof(base[0]); i++) {
        if (!base[i] || !*base[i] ||
            (size_t)snprintf(path, sizeof(path), "%s/pipeprobe-XXXXXX", base[i]) >= sizeof(path) ||
            !mkdtemp(path))
            continue;
        *out = strdup(path);
        return *out ? PP_OK : PP_E_SYSTEM;
    }
    if (!opts->dir) {
        pp_fail_errno(err, errno, "cannot make a directory for the recording session in /dev/shm or /tmp");
        return PP_E_SYSTEM;
    }
    if (mkdir(opts->dir, 0700) != 0 && errno != EEXIST)
        return pp_fail_errno(err, errno, "cannot make the session directory %s", opts->dir);
    /* One that was there may be another's, who could then move and remove what we make in it. */
    if (lstat(opts->dir, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & (S_IWGRP | S_IWOTH)))
        return pp_fail(
            err, PP_E_ACCESS,
            "%s is a link, belongs to another user, or may be written by others: remove it, or choose another name for the recording",
            opts->dir);
    *out = strdup(opts->dir);
    return *out ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory for the recording session");
}

static void fill_session_file(struct pp_session_file *f, const struct pp_session_opts *opts,
                              struct pp_stamp_sync *sync)
{
    f->abi = PP_RING_ABI;
    f->file_bytes = sizeof(*f);
    if (getrandom(&f->session_id, sizeof(f->session_id), 0) != sizeof(f->session_id))
        f->session_id = pp_now_ns() ^ (uint64_t)getpid() << 40;
    f->owner_pid = getpid();
    f->created_ns = pp_now_ns();
    uint64_t n = MIN_RING_SPANS, want = opts->ring_spans ? opts->ring_spans : DEFAULT_RING_SPANS;
    while (n < want && n < PP_RING_SPANS_MAX)
        n *= 2;
    f->ring_spans = n;
    f->resources = opts->resources != 0;
    pp_stamp_begin(f, sync);
    memcpy(f->magic, PP_SESSION_MAGIC, sizeof(f->magic)); /* last: a half-made file is no session */
}

pp_status pp_session_open(const struct pp_session_opts *opts, struct pp_session **out, struct pp_err *err)
{
    static const struct pp_session_opts defaults;
    char path[PATH_MAX];
    pp_status status = PP_OK;
    *out = NULL;
    if (!opts)
        opts = &defaults;
    struct pp_session *s = calloc(1, sizeof(*s));
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the recording session");
    s->lock_fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    status = make_dir(opts, &s->dir, err);
    if (status)
        goto out;
    if ((size_t)snprintf(path, sizeof(path), "%s/" PP_SESSION_FILE_NAME, s->dir) >= sizeof(path)) {
        status = pp_fail(err, PP_E_USAGE, "the session directory's name is too long: %s", s->dir);
        goto out;
    }
    void *p = NULL;
    int e = pp_session_make_file(path, sizeof(*s->file), &p);
    if (e == EEXIST) {
        status = pp_fail(
            err, PP_E_EXISTS,
            "%s already holds a recording session; open its run with `pipeprobe report` to recover it, or remove the directory",
            s->dir);
        goto out;
    }
    s->file = p;
    s->owner = !e;
    if (!e) {
        /* An open-file-description lock: it conflicts with any other opener, in this process too, ends with
         * the process however it ends, and is not confused by a reused pid. The description is not the one
         * that was mapped, for a mapping that a child inherited would keep the lock alive. A file system
         * without locks leaves the session unlocked. */
        struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        s->lock_fd = open(path, O_RDWR | O_CLOEXEC);
        if (s->lock_fd < 0)
            e = errno;
        else if (fcntl(s->lock_fd, F_OFD_SETLK, &fl) != 0 && (errno == EAGAIN || errno == EACCES))
            e = EAGAIN;
    }
    if (e) {
        status = pp_fail_errno(err, e, "cannot make the session file %s", path);
        goto out;
    }
    fill_session_file(s->file, opts, &s->sync);
    pp_session_enlist(s);
    *out = s;
    return PP_OK;
out:
    pp_session_close(s, 0);
    return status;
}

void pp_session_state_loader(struct pp_session *s, const uint32_t said[PP_STATED])
{
    for (int i = 0; i < PP_STATED; i++) {
        uint32_t unsaid = 0; /* a number by itself: nothing else is published with it */
        if (said[i])
            __atomic_compare_exchange_n(&s->file->stated[i], &unsaid, said[i], 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED);
    }
}

int pp_session_is_anothers(const char *dir, int session_fd)
{
    struct stat ours, there;
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/" PP_SESSION_FILE_NAME, dir);
    return session_fd >= 0 && fstat(session_fd, &ours) == 0 &&
           (lstat(path, &there) != 0 || ours.st_dev != there.st_dev || ours.st_ino != there.st_ino);
}

void pp_session_discard(const char *dir, int session_fd)
{
    DIR *d = pp_session_is_anothers(dir, session_fd) ? NULL : opendir(dir);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));)
        if (pp_session_has_file(e->d_name))
            unlinkat(dirfd(d), e->d_name, 0);
    unlinkat(dirfd(d), PP_SESSION_FILE_NAME, 0);
    closedir(d);
    rmdir(dir);
}

void pp_session_hand_over(struct pp_session *s)
{
    pthread_mutex_lock(&s->lock);
    s->owner = 0;
    pthread_mutex_unlock(&s->lock);
}

int pp_ring_believable(const struct pp_session *s, const struct pp_ring_file *r, size_t bytes,
                       uint32_t thread)
{
    const uint64_t capacity = __atomic_load_n(&r->capacity, __ATOMIC_RELAXED); /* once: it may change */
    return memcmp(r->magic, PP_RING_MAGIC, sizeof(r->magic)) == 0 && r->abi == PP_RING_ABI &&
           r->session_id == s->file->session_id && r->thread == thread && capacity &&
           (capacity & (capacity - 1)) == 0 && capacity <= PP_RING_SPANS_MAX &&
           bytes == sizeof(*r) + capacity * sizeof(struct pp_span);
}

void pp_session_unmap(void *at, size_t bytes)
{
    if (!at)
        return;
    pp_guard_remove(at);
    munmap(at, bytes);
}

void pp_session_close(struct pp_session *s, int keep_files)
{
    if (!s)
        return;
    pthread_mutex_lock(&list_lock);
    PP_UNLINK(list, s);
    pthread_mutex_unlock(&list_lock);
    int unread = 0;
    for (uint32_t i = 0; s->owner && keep_files && i < PP_THREADS_MAX && !unread; i++) {
        const struct pp_ring_file *r = s->map[i].ring;
        unread = r &&
                 __atomic_load_n(&r->head, __ATOMIC_ACQUIRE) != __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
    }
    if (s->owner && !unread)
        pp_session_discard(s->dir, s->lock_fd);
    while (s->handles) {
        struct pp_thread *t = s->handles;
        s->handles = t->next;
        if (t->schedstat_fd >= 0)
            close(t->schedstat_fd);
        free(t);
    }
    for (uint32_t i = 0; i < PP_THREADS_MAX; i++)
        pp_session_unmap(s->map[i].ring, s->map[i].bytes);
    pp_session_unmap(s->file, sizeof(*s->file));
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    pthread_mutex_destroy(&s->lock);
    free(s->dir);
    free(s);
}

const char *pp_session_dir(const struct pp_session *s)
{
    return s ? s->dir : NULL;
}

uint32_t pp_thread_id(const struct pp_thread *t)
{
    return t ? t->id : UINT32_MAX;
}

uint16_t pp_name_intern(struct pp_session *s, const char *name)
{
    if (!s || !name || !*name)
        return 0;
    char text[PP_NAME_BYTES];
    pp_utf8_copy(text, sizeof(text), name);
    for (uint32_t i = 1; i < PP_NAMES_MAX; i++) {
        struct pp_name_slot *slot = &s->file->name[i];
        uint32_t state = PP_SLOT_FREE;
        if (__atomic_compare_exchange_n(&slot->state, &state, PP_SLOT_CLAIMED, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_ACQUIRE)) {
            memcpy(slot->text, text, sizeof(text));
            __atomic_store_n(&slot->state, PP_SLOT_READY,
                             __ATOMIC_RELEASE); /* pairs with the acquires here and in pp_session_name */
            return (uint16_t)i;
        }
        /* A slot another thread is just filling is passed over: the worst is one name under two ids. */
        if (state == PP_SLOT_READY && memcmp(slot->text, text, sizeof(text)) == 0)
            return (uint16_t)i;
    }
    return 0;
}
