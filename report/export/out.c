#include "report/export/out.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the place ---- */

pp_status pp_out_no_memory(const char *label, struct pp_err *err)
{
    return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", label);
}

pp_status pp_place_open(struct pp_export_place *p, const char *out, const char *input, int force, int streams,
                        struct pp_err *err)
{
    struct stat there, in;
    int through = 0; /* a device or pipe is written straight through: there is nothing to rename over it */
    *p = (struct pp_export_place){.out = out, .fd = -1, .force = force};
    if (!out || !*out)
        return pp_fail(err, PP_E_USAGE, "the output needs a name");
    if (strcmp(out, "-") == 0) {
        p->fd = STDOUT_FILENO;
        return streams ? PP_OK
                       : pp_fail(err, PP_E_USAGE,
                                 "this format cannot go to standard output; name a file with -o");
    }
    if (stat(out, &there) == 0) {
        if (S_ISDIR(there.st_mode))
            return pp_fail(err, PP_E_USAGE, "exporting to %s: it is a directory; name a file in it", out);
        if (input && stat(input, &in) == 0 && in.st_dev == there.st_dev && in.st_ino == there.st_ino)
            return pp_fail(err, PP_E_USAGE,
                           "exporting to %s: this is the recording itself; choose another name with -o", out);
        through = !S_ISREG(there.st_mode);
        if (through && !streams)
            return pp_fail(err, PP_E_USAGE, "exporting to %s: this format needs a regular file", out);
        if (!through && !force)
            return pp_fail(err, PP_E_EXISTS,
                           "%s already exists; use --force to replace it, or choose another name with -o",
                           out);
    } else if (errno != ENOENT) {
        return pp_fail_errno(err, errno, "exporting to %s", out);
    }
    if (through) {
        p->fd = pp_io_open(out, O_WRONLY, 0);
        return p->fd < 0 ? pp_fail_errno(err, errno, "opening %s for writing", out) : PP_OK;
    }
    if (asprintf(&p->path, "%s.partial-%ld", out, (long)getpid()) < 0) {
        p->path = NULL;
        return pp_out_no_memory(out, err);
    }
    unlink(p->path); /* of a process that had our number and was killed */
    p->fd = pp_io_open(p->path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (p->fd < 0)
        return pp_fail_errno(err, errno, "cannot write %s: no file can be made in its directory", out);
    p->temporary = 1;
    if (!streams) {
        close(p->fd); /* the exporter opens the file by its name */
        p->fd = -1;
    }
    return PP_OK;
}

pp_status pp_place_commit(struct pp_export_place *p, struct pp_err *err)
{
    pp_status st = PP_OK;
    if (!p->temporary)
        return PP_OK;
    int fd = p->fd >= 0 ? p->fd : pp_io_open(p->path, O_RDONLY, 0);
    if (fd < 0 || pp_io_fsync(fd) != 0)
        st = pp_fail_errno(err, errno, "writing %s to disk failed; the partial file was removed", p->out);
    if (fd >= 0 && fd != p->fd)
        close(fd);
    if (st != PP_OK)
        return st;
    /* Another process may have made the file meanwhile: without force it stays. */
    int replaces = p->force, failed = 0;
    if (!replaces && renameat2(AT_FDCWD, p->path, AT_FDCWD, p->out, RENAME_NOREPLACE) != 0) {
        failed = errno;
        replaces = (failed == EINVAL || failed == ENOSYS) &&
                   access(p->out, F_OK) != 0; /* a file system without RENAME_NOREPLACE */
        failed = failed == EINVAL || failed == ENOSYS ? EEXIST : failed;
    }
    if (replaces)
        failed = rename(p->path, p->out) != 0 ? errno : 0;
    if (failed == EEXIST)
        return pp_fail(err, PP_E_EXISTS,
                       "%s was created by another process during the export; use --force to replace it",
                       p->out);
    if (failed)
        return pp_fail_errno(err, failed, "renaming the finished export to %s failed", p->out);
    p->temporary = 0;
    /* So that the new name survives a power cut; a file system that cannot sync a directory is no failure. */
    const char *slash = strrchr(p->out, '/');
    char *dir = slash ? strndup(p->out, slash == p->out ? 1 : (size_t)(slash - p->out)) : strdup(".");
    int dir_fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (dir_fd >= 0) {
        fsync(dir_fd);
        close(dir_fd);
    }
    free(dir);
    return PP_OK;
}

void pp_place_discard(struct pp_export_place *p)
{
    if (p->fd >= 0 && p->fd != STDOUT_FILENO)
        close(p->fd);
    if (p->temporary)
        unlink(p->path);
    free(p->path);
    *p = (struct pp_export_place){.fd = -1};
}

/* ---- buffered writing ---- */

void pp_out_begin(struct pp_out *o, int fd, const char *label)
{
    o->fd = fd;
    o->err_no = 0;
    o->label = label;
    o->used = 0;
}

static void flush_buffer(struct pp_out *o)
{
    if (!o->err_no && o->used && pp_io_write_full(o->fd, o->buf, o->used) != 0)
        o->err_no = errno ? errno : EIO;
    o->used = 0;
}

void pp_out_bytes(struct pp_out *o, const void *bytes, size_t n)
{
    const uint8_t *from = bytes;
    while (n) {
        size_t room = sizeof(o->buf) - o->used, k = n < room ? n : room;
        memcpy(o->buf + o->used, from, k);
        o->used += k;
        from += k;
        n -= k;
        if (o->used == sizeof(o->buf))
            flush_buffer(o);
    }
}

void pp_out_str(struct pp_out *o, const char *s)
{
    pp_out_bytes(o, s, strlen(s));
}

void pp_out_char(struct pp_out *o, char c)
{
    pp_out_bytes(o, &c, 1);
}

void pp_out_uint(struct pp_out *o, uint64_t v)
{
    char digits[20], *at = digits + sizeof(digits);
    do {
        *--at = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    pp_out_bytes(o, at, (size_t)(digits + sizeof(digits) - at));
}

void pp_out_us(struct pp_out *o, uint64_t ns)
{
    unsigned rest = (unsigned)(ns % 1000);
    char decimals[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
    pp_out_uint(o, ns / 1000);
    pp_out_bytes(o, decimals, sizeof(decimals));
}

pp_status pp_out_check(const struct pp_out *o, struct pp_err *err)
{
    return o->err_no ? pp_fail_errno(err, o->err_no, "writing %s failed", o->label) : PP_OK;
}

pp_status pp_out_end(struct pp_out *o, struct pp_err *err)
{
    flush_buffer(o);
    return pp_out_check(o, err);
}
