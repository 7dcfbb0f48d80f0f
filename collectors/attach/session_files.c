#include "collectors/attach/session_files.h"

#include "probe/base/guard.h"
#include "probe/base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define END(text) ((text)[sizeof(text) - 1] = '\0')

union file {
    struct pp_process_file process;
    struct pp_loaders_file loaders;
    struct pp_rank_file rank;
};

/* A kind of file: its name, and what it is known by. */
struct kind {
    const char *prefix;
    size_t size;
    pp_process_file_fn *process; /* who gets it: at most one of these three; none: it is not looked at */
    pp_loaders_file_fn *loaders;
    pp_rank_file_fn *rank;
    void *ctx;
    enum pp_session_files then;
};

/* Ends its texts, too. */
static int is_sound(const struct kind *k, union file *f, long long pid)
{
    if (k->process) {
        struct pp_process_file *p = &f->process;
        END(p->command);
        END(p->note);
        END(p->ended);
        END(p->versions);
        END(p->data);
        END(p->seen);
        END(p->mixed);
        return memcmp(p->magic, PP_PROCESS_MAGIC, sizeof(p->magic)) == 0 && p->pid == pid;
    }
    if (k->rank) {
        struct pp_rank_file *r = &f->rank;
        END(r->launcher);
        END(r->job);
        return memcmp(r->magic, PP_RANK_MAGIC, sizeof(r->magic)) == 0 && r->pid == pid;
    }
    struct pp_loaders_file *l = &f->loaders;
    for (unsigned i = 0; i < PP_LOADERS_MAX; i++) {
        END(l->loader[i].start_method);
        END(l->loader[i].dataset);
        END(l->loader[i].sampler);
        END(l->loader[i].code);
        END(l->loader[i].held);
        END(l->loader[i].place);
        END(l->loader[i].source);
        END(l->loader[i].name);
        for (unsigned n = 0; n < PP_SLOW_MAX; n++)
            END(l->slow[i].row[n].name);
    }
    l->n_loaders = l->n_loaders < PP_LOADERS_MAX ? l->n_loaders : PP_LOADERS_MAX;
    return memcmp(l->magic, PP_LOADERS_MAGIC, sizeof(l->magic)) == 0 && l->pid == pid;
}

long long pp_session_file_pid(const char *name, const char *prefix)
{
    const char *digits = name + strlen(prefix);
    size_t n = strspn(digits, "0123456789");
    return n > 0 && n < 10 && !digits[n] ? strtoll(digits, NULL, 10) : -1;
}

static struct pp_session_taken take_files(const char *path, const struct kind *k)
{
    struct pp_session_taken t = {0};
    union file f;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, k->prefix, strlen(k->prefix)) != 0)
            continue;
        int wanted = k->process || k->loaders || k->rank;
        if (wanted && t.taken + t.unsound == PP_SESSION_FILES_MAX) {
            t.too_many++;
        } else if (wanted) {
            struct stat st;
            int fd = pp_io_openat(dirfd(d), e->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
            int sound = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                        pp_io_pread_full(fd, &f, k->size, 0) == (ssize_t)k->size &&
                        is_sound(k, &f, pp_session_file_pid(e->d_name, k->prefix));
            if (fd >= 0)
                close(fd);
            t.taken += sound;
            t.unsound += !sound;
            if (sound && k->process)
                k->process(k->ctx, &f.process);
            if (sound && k->loaders)
                k->loaders(k->ctx, &f.loaders);
            if (sound && k->rank)
                k->rank(k->ctx, &f.rank);
        }
        if (k->then == PP_FILES_GO)
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
    return t;
}

#define KIND(PREFIX, name) \
    .prefix = PP_##PREFIX##_FILE_PREFIX, .size = sizeof(struct pp_##name##_file), .name = fn, .ctx = ctx

struct pp_session_taken pp_process_files_take(const char *dir, pp_process_file_fn *fn, void *ctx)
{
    return take_files(dir, &(struct kind){KIND(PROCESS, process)});
}

struct pp_session_taken pp_loaders_files_take(const char *dir, enum pp_session_files then,
                                              pp_loaders_file_fn *fn, void *ctx)
{
    return take_files(dir, &(struct kind){KIND(LOADERS, loaders), .then = then});
}

struct pp_session_taken pp_rank_files_take(const char *dir, pp_rank_file_fn *fn, void *ctx)
{
    return take_files(dir, &(struct kind){KIND(RANK, rank)});
}

pp_status pp_session_ring_make(char path[PATH_MAX], const char *dir, const char *name, size_t size,
                               const char *what, void **out, struct pp_err *err)
{
    void *ring = MAP_FAILED;
    snprintf(path, PATH_MAX, "%s/%s", dir, name);
    unlink(path);
    int fd = pp_io_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int e = errno;
    if (fd >= 0)
        close(fd);
    if (ring == MAP_FAILED)
        return pp_fail_errno(err, e, "cannot make the file of the job's %s", what);
    pp_guard_add(ring, size);
    *out = ring;
    return PP_OK;
}

void pp_session_ring_remove(const char *path, void *ring, size_t size)
{
    unlink(path);
    pp_guard_remove(ring);
    munmap(ring, size);
}
