/* Local file systems, mounts included. Names are paths; handle is a descriptor, state the mapping of a file
 * opened to be borrowed from.
 *
 * A whole file is four calls: openat relative to the directory's descriptor, fstat, preadv2, close. */
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/storage/storage.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* <linux/mman.h>, since Linux 5.14; the headers of the build machine may be older than the kernel run on. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

extern const struct pp_storage_ops pp_storage_posix; /* at the end */

struct mapping {
    uint8_t *bytes;
    size_t size, page;
    int cache_visible; /* mincore tells the truth only to who may write the file (Linux 5.2); to others
                          everything looks cached */
};

/* URLs, and the pipes that WebDataset takes, unless such a path exists. */
static int posix_accepts(const char *place)
{
    struct stat info;
    int is_url = strstr(place, "://") || strncmp(place, "pipe:", 5) == 0;
    return !is_url || stat(place, &info) == 0 ? 10 : 0;
}

static pp_status posix_attach(const char *place, struct pp_storage **out, struct pp_err *err)
{
    static struct pp_storage files = {
        .ops = &pp_storage_posix,
        .flags = PP_STORAGE_LOCAL | PP_STORAGE_PAGE_CACHE | PP_STORAGE_LISTS | PP_STORAGE_BORROWS,
    };
    *out = &files;
    return PP_OK;
}

static void posix_detach(struct pp_storage *s)
{
}

static int fd_of(const struct pp_object *o)
{
    return o ? (int)o->handle : AT_FDCWD;
}

static void fill_info(const struct stat *st, struct pp_place_info *out)
{
    *out = (struct pp_place_info){.kind = S_ISREG(st->st_mode)   ? PP_PLACE_OBJECT
                                          : S_ISDIR(st->st_mode) ? PP_PLACE_DIRECTORY
                                                                 : PP_PLACE_OTHER,
                                  .size = (uint64_t)st->st_size,
                                  .version = st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec,
                                  .id = {(uint64_t)st->st_dev, (uint64_t)st->st_ino}};
}

static pp_status posix_stat(const struct pp_storage *s, const struct pp_object *dir, const char *name,
                            const char *attempt, struct pp_place_info *out, struct pp_err *err)
{
    struct stat st;
    if (fstatat(fd_of(dir), name, &st, 0) != 0)
        return pp_fail_errno(err, errno, "cannot %s %s", attempt, name);
    fill_info(&st, out);
    return PP_OK;
}

static pp_status posix_info(const struct pp_object *o, const char *name, struct pp_place_info *out,
                            struct pp_err *err)
{
    struct stat st;
    if (fstat((int)o->handle, &st) != 0)
        return pp_fail_errno(err, errno, "cannot stat %s", name);
    fill_info(&st, out);
    return PP_OK;
}

static void posix_close(struct pp_object *o)
{
    struct mapping *m = o->state;
    if (m)
        munmap(m->bytes, m->size);
    free(m);
    close((int)o->handle);
}

static pp_status posix_open(const struct pp_storage *s, const struct pp_open *o, struct pp_object *out,
                            struct pp_err *err)
{
    /* O_NONBLOCK means nothing to a regular file, and keeps the open of a pipe from hanging. */
    int flags = o->how & PP_OPEN_DIRECTORY ? O_RDONLY | O_DIRECTORY : O_RDONLY | O_NONBLOCK;
    int fd = pp_io_openat(fd_of(o->dir), o->name, flags);
    if (fd < 0) {
        int e = errno;
        pp_status st = pp_fail_errno(err, e, "cannot %s %s", o->attempt, o->name);
        /* A directory behind too many links or too long a name is as good as none. */
        int is_none = o->how & PP_OPEN_DIRECTORY && (e == ELOOP || e == ENAMETOOLONG);
        if (is_none && err)
            err->code = PP_E_NOT_FOUND;
        return is_none ? PP_E_NOT_FOUND : st;
    }
    out->handle = fd;
    if (o->how & PP_OPEN_SEQUENTIAL)
        posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (!(o->how & PP_OPEN_BORROW))
        return PP_OK;
    struct stat st;
    struct mapping *m = NULL;
    pp_status status = PP_OK;
    if (fstat(fd, &st) != 0)
        status = pp_fail_errno(err, errno, "cannot %s %s", o->attempt, o->name);
    else if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return PP_OK; /* nothing that could be borrowed: info says so */
    else if (!(m = malloc(sizeof(*m))))
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", o->name);
    if (m) {
        *m = (struct mapping){.size = (size_t)st.st_size, .page = (size_t)sysconf(_SC_PAGESIZE)};
        m->bytes = mmap(NULL, m->size, PROT_READ, MAP_SHARED, fd, 0);
        if (m->bytes == MAP_FAILED) {
            status = pp_fail_errno(err, errno, "cannot map %s (%zu bytes)", o->name, m->size);
            free(m);
        } else {
            m->cache_visible = st.st_uid == geteuid() || faccessat(fd_of(o->dir), o->name, W_OK, 0) == 0;
            out->state = m;
        }
    }
    if (status != PP_OK)
        close(fd);
    return status;
}

/* ---- reading ---- */

static pp_status posix_read_at(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    struct pp_io_cached cached;
    ssize_t n = pp_io_pread_cached((int)o->handle, r->buf, r->size, (off_t)r->offset, &cached);
    if (n < 0)
        return pp_fail_errno(err, errno, "cannot read %s%s%s at byte %llu", r->part ? r->part : "",
                             r->part ? " in " : "", r->name, (unsigned long long)r->offset);
    r->data = r->buf;
    r->got = (size_t)n;
    r->cache_known = cached.known;
    r->cache_hit_bytes = cached.hit_bytes;
    return PP_OK;
}

static pp_status posix_read_whole(const struct pp_storage *s, const struct pp_object *dir, struct pp_read *r,
                                  struct pp_err *err)
{
    struct pp_io_file f = {.buf = r->buf, .cap = r->cap, .limit = r->limit};
    pp_status st = pp_io_read_file(fd_of(dir), r->name, &f, err);
    if (st == PP_E_UNSUPPORTED && r->limit && f.size > r->limit)
        st = pp_read_fail_limit(r, f.size, err);
    r->data = r->buf = f.buf;
    r->cap = f.cap;
    r->got = f.size;
    r->cache_known = f.cached.known;
    r->cache_hit_bytes = f.cached.hit_bytes;
    return st;
}

static pp_status posix_borrow(const struct pp_object *o, struct pp_read *r, struct pp_err *err)
{
    const struct mapping *m = o->state;
    if (!m || r->offset > m->size)
        return pp_fail(err, PP_E_CORRUPT, "cannot read %s at byte %llu: it ends before", r->name,
                       (unsigned long long)r->offset);
    size_t left = m->size - r->offset, size = r->size < left ? r->size : left, hit = 0;
    uint64_t from = r->offset & ~(uint64_t)(m->page - 1), end = r->offset + size;
    /* What of it is in the page cache, page by page. */
    unsigned char resident[256];
    for (uint64_t at = from; m->cache_visible && at < end;) {
        uint64_t pages = (end - at + m->page - 1) / m->page;
        if (pages > sizeof(resident))
            pages = sizeof(resident);
        if (mincore(m->bytes + at, pages * m->page, resident) != 0)
            break;
        for (uint64_t i = 0; i < pages; i++, at += m->page) {
            uint64_t first = at > r->offset ? at : r->offset, last = at + m->page < end ? at + m->page : end;
            if (resident[i] & 1)
                hit += last - first;
        }
    }
    /* Brings the bytes into memory here, so that the wait for the disk falls into the read and not into the
     * first use of the bytes, and so that a file that was cut meanwhile is an error and not a SIGBUS. */
    if (size > 0 && madvise(m->bytes + from, end - from, MADV_POPULATE_READ) != 0) {
        if (errno == EFAULT || errno == EHWPOISON)
            return pp_fail(err, PP_E_IO,
                           "cannot read %s at byte %llu: the file was truncated or its disk failed", r->name,
                           (unsigned long long)r->offset);
        for (uint64_t at = from; at < end; at += m->page) /* a kernel before 5.14 */
            (void)*(volatile const uint8_t *)(m->bytes + at);
    }
    r->data = m->bytes + r->offset;
    r->got = size;
    r->cache_known = m->cache_visible;
    r->cache_hit_bytes = hit;
    return PP_OK;
}

/* ---- listing ---- */

static pp_status posix_list(const struct pp_object *dir, const char *name, pp_entry_fn *each, void *ctx,
                            struct pp_err *err)
{
    /* closedir closes what it was given, and the object stays open. */
    int fd = fcntl((int)dir->handle, F_DUPFD_CLOEXEC, 0);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        int e = errno;
        if (fd >= 0)
            close(fd);
        return pp_fail_errno(err, e, "cannot list %s", name);
    }
    rewinddir(d); /* the position is shared with the object's descriptor */
    pp_status st = PP_OK;
    struct dirent *e;
    while (st == PP_OK && (errno = 0, e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        struct pp_entry entry = {.name = e->d_name,
                                 .kind = e->d_type == DT_DIR                              ? PP_ENTRY_DIRECTORY
                                         : e->d_type == DT_UNKNOWN || e->d_type == DT_LNK ? PP_ENTRY_UNTOLD
                                                                                          : PP_ENTRY_OBJECT};
        st = each(ctx, &entry, err);
    }
    if (st == PP_OK && errno != 0)
        st = pp_fail_errno(err, errno, "cannot list %s", name);
    closedir(d);
    return st;
}

static pp_status posix_match(const struct pp_storage *s, const char *pattern, pp_entry_fn *each, void *ctx,
                             struct pp_err *err)
{
    pp_status st = PP_OK;
    glob_t found = {0};
    int r = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (r == GLOB_NOMATCH)
        st = pp_fail(err, PP_E_NOT_FOUND, "no file matches %s", pattern);
    else if (r != 0)
        st = pp_fail(err, r == GLOB_NOSPACE ? PP_E_NO_MEMORY : PP_E_ACCESS,
                     "cannot list the files that match %s", pattern);
    for (size_t i = 0; st == PP_OK && i < found.gl_pathc; i++)
        st = each(ctx, &(struct pp_entry){.name = found.gl_pathv[i], .kind = PP_ENTRY_UNTOLD}, err);
    globfree(&found);
    return st;
}

const struct pp_storage_ops pp_storage_posix = {
    .name = "posix",
    .help = "paths of this machine",
    .accepts = posix_accepts,
    .attach = posix_attach,
    .detach = posix_detach,
    .stat = posix_stat,
    .open = posix_open,
    .close = posix_close,
    .info = posix_info,
    .read_at = posix_read_at,
    .borrow = posix_borrow,
    .read_whole = posix_read_whole,
    .list = posix_list,
    .match = posix_match,
};
