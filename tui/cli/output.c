#include "tui/cli/output.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int pp_output_is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

/* Devices and pipes; also what is behind /dev/stdout, which may be a file that another program opened. */
static int special(const char *path)
{
    struct stat st;
    return strncmp(path, "/dev/", 5) == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

pp_status pp_output_check(const char *path, int force, struct pp_err *err)
{
    struct stat st;
    if (pp_output_is_stdout(path) || stat(path, &st) != 0)
        return PP_OK;
    if (S_ISDIR(st.st_mode))
        return pp_fail(err, PP_E_USAGE, "%s is a directory; name a file in it", path);
    if (!special(path) && !force)
        return pp_fail(err, PP_E_EXISTS, "%s exists; --force replaces it", path);
    return PP_OK;
}

static pp_status write_as_it_is(const char *path, const char *text, size_t size, struct pp_err *err)
{
    int fd = pp_io_open(path, O_WRONLY | O_APPEND, 0);
    pp_status status = PP_OK;
    if (fd < 0)
        return pp_fail_errno(err, errno, "cannot open %s to write", path);
    if (pp_io_write_full(fd, text, size) != 0)
        status = pp_fail_errno(err, errno, "cannot write %s (%zu bytes)", path, size);
    if (close(fd) != 0 && status == PP_OK)
        status = pp_fail_errno(err, errno, "cannot close %s", path);
    return status;
}

pp_status pp_output_write(const char *path, const char *text, size_t size, struct pp_err *err)
{
    return special(path) ? write_as_it_is(path, text, size, err) : pp_io_write_atomic(path, text, size, err);
}
