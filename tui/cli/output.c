#include "tui/cli/output.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "tui/cli/cli.h"
#include <fcntl.h>
#include <unistd.h>

int pp_output_is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

/* Devices and pipes; also what is behind /dev/stdout, which may be a file that another program opened. */
static int is_special(const char *path)
{
    struct stat st;
    return strncmp(path, "/dev/", 5) == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

pp_status pp_output_check(const char *path, int force, struct pp_err *err)
{
    struct stat st;
    if (pp_output_is_stdout(path))
        return PP_OK;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : NULL;
    int is_missing = folder && stat(folder, &st) != 0 && errno == ENOENT;
    if (is_missing)
        pp_fail(err, PP_E_NOT_FOUND, "cannot write %s: the directory %s does not exist", path, folder);
    free(folder);
    if (is_missing)
        return err->code;
    if (stat(path, &st) != 0)
        return PP_OK;
    if (S_ISDIR(st.st_mode))
        return pp_fail(err, PP_E_USAGE, "%s is a directory; name a file in it", path);
    if (!is_special(path) && !force)
        return pp_fail(err, PP_E_EXISTS, "%s exists; --force replaces it", path);
    return PP_OK;
}

/* The whole document in memory first: a file is there complete or not at all. */
pp_status pp_output_write(const char *path, const char *what, int (*write)(void *ctx, FILE *out), void *ctx,
                          struct pp_err *err)
{
    char *text = NULL;
    size_t size = 0;
    pp_status st = PP_OK;
    errno = 0;
    if (pp_output_is_stdout(path))
        return write(ctx, stdout) == 0
                   ? PP_OK
                   : pp_fail_errno(err, errno, "cannot write the %s to standard output", what);
    FILE *out = open_memstream(&text, &size);
    int failed = !out || write(ctx, out) != 0;
    failed |= out && fclose(out) != 0;
    if (failed) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", path);
    } else if (!is_special(path)) {
        st = pp_io_write_atomic(path, text, size, err);
    } else {
        int fd = pp_io_open(path, O_WRONLY | O_APPEND, 0);
        if (fd < 0)
            st = pp_fail_errno(err, errno, "cannot open %s to write", path);
        else if (pp_io_write_full(fd, text, size) != 0)
            st = pp_fail_errno(err, errno, "cannot write %s (%zu bytes)", path, size);
        if (fd >= 0 && close(fd) != 0 && st == PP_OK)
            st = pp_fail_errno(err, errno, "cannot close %s", path);
    }
    free(text);
    return st;
}

void pp_output_say(const char *path, const char *sentence)
{
    if (path && !pp_output_is_stdout(path) && !is_special(path))
        pp_cli_say(stdout, "%s: %s", path, sentence);
}

int pp_output_is(const struct stat *file, const char *path)
{
    struct stat info;
    return file->st_ino && stat(path, &info) == 0 && info.st_ino == file->st_ino &&
           info.st_dev == file->st_dev;
}
