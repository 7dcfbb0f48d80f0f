#include "report/export/place.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A device or pipe is written straight through: there is nothing to rename over it. */
static pp_status look(const struct pp_export_place *p, const char *input, int streams, int *through,
                      struct pp_err *err)
{
    struct stat out, in;
    *through = 0;
    if (stat(p->out, &out) != 0)
        return errno == ENOENT ? PP_OK : pp_fail_errno(err, errno, "exporting to %s", p->out);
    if (S_ISDIR(out.st_mode))
        return pp_fail(err, PP_E_USAGE, "exporting to %s: it is a directory; name a file in it", p->out);
    if (input && stat(input, &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return pp_fail(err, PP_E_USAGE,
                       "exporting to %s: this is the recording itself; choose another name with -o", p->out);
    *through = !S_ISREG(out.st_mode);
    if (*through && !streams)
        return pp_fail(err, PP_E_USAGE, "exporting to %s: this format needs a regular file", p->out);
    if (!*through && !p->force)
        return pp_fail(err, PP_E_EXISTS,
                       "%s already exists; use --force to replace it, or choose another name with -o",
                       p->out);
    return PP_OK;
}

static pp_status make_temporary(struct pp_export_place *p, struct pp_err *err)
{
    if (asprintf(&p->path, "%s.partial-%ld", p->out, (long)getpid()) < 0) {
        p->path = NULL;
        return pp_fail(err, PP_E_NO_MEMORY, "exporting to %s: out of memory", p->out);
    }
    unlink(p->path); /* of a process that had our number and was killed */
    p->fd = pp_io_open(p->path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (p->fd < 0)
        return pp_fail_errno(err, errno, "exporting to %s: cannot create a file in its directory", p->out);
    p->temporary = 1;
    return PP_OK;
}

pp_status pp_place_open(struct pp_export_place *p, const char *out, const char *input, int force, int streams,
                        struct pp_err *err)
{
    pp_status st;
    int through;
    *p = (struct pp_export_place){.out = out, .fd = -1, .force = force};
    if (!out || !*out)
        return pp_fail(err, PP_E_USAGE, "the output needs a name");
    if (strcmp(out, "-") == 0) {
        p->fd = STDOUT_FILENO;
        return streams ? PP_OK
                       : pp_fail(err, PP_E_USAGE,
                                 "this format cannot go to standard output; name a file with -o");
    }
    st = look(p, input, streams, &through, err);
    if (st == PP_OK && !through)
        st = make_temporary(p, err);
    if (st == PP_OK && through) {
        p->fd = pp_io_open(out, O_WRONLY, 0);
        if (p->fd < 0)
            st = pp_fail_errno(err, errno, "opening %s for writing", out);
    }
    if (st == PP_OK && !streams) {
        close(p->fd); /* the exporter opens the file by its name */
        p->fd = -1;
    }
    return st;
}

static pp_status sync_file(const struct pp_export_place *p, struct pp_err *err)
{
    int fd = p->fd >= 0 ? p->fd : pp_io_open(p->path, O_RDONLY, 0);
    pp_status st = PP_OK;
    if (fd < 0 || pp_io_fsync(fd) != 0)
        st = pp_fail_errno(err, errno, "writing %s to disk failed; the partial file was removed", p->out);
    if (fd >= 0 && fd != p->fd)
        close(fd);
    return st;
}

/* The name may have come to be while we were writing: without force it is then left alone. */
static int rename_into_place(const struct pp_export_place *p)
{
    if (!p->force) {
        if (renameat2(AT_FDCWD, p->path, AT_FDCWD, p->out, RENAME_NOREPLACE) == 0)
            return 0;
        if (errno != EINVAL && errno != ENOSYS)
            return -1;
        if (access(p->out, F_OK) == 0) { /* a file system without RENAME_NOREPLACE */
            errno = EEXIST;
            return -1;
        }
    }
    return rename(p->path, p->out);
}

/* So that the new name survives a power cut; a file system that cannot sync a directory is no failure. */
static void sync_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

pp_status pp_place_commit(struct pp_export_place *p, struct pp_err *err)
{
    pp_status st;
    if (!p->temporary)
        return PP_OK;
    st = sync_file(p, err);
    if (st != PP_OK)
        return st;
    if (rename_into_place(p) != 0)
        return errno == EEXIST
                   ? pp_fail(err, PP_E_EXISTS,
                             "%s was created by another process during the export; use --force to replace it",
                             p->out)
                   : pp_fail_errno(err, errno, "renaming the finished export to %s failed", p->out);
    p->temporary = 0;
    sync_directory(p->out);
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
