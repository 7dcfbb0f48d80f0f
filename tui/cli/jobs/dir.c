#include "tui/cli/jobs/dir.h"

#include "probe/base/err.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

pp_status job_dir_name(const char *output, const char *command, char *dir, size_t size, struct pp_err *err)
{
    char when[32];
    struct stat st;
    time_t now = time(NULL);
    struct tm tm;
    strftime(when, sizeof(when), "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
    int n = output ? snprintf(dir, size, "%s", output)
                   : snprintf(dir, size, "pipeprobe-%s-%s", command, when);
    if (n < 1 || (size_t)n >= size)
        return pp_fail(err, PP_E_USAGE, "-o: a name of 1 to %zu bytes is needed", size - 1);
    char parent[PATH_MAX];
    snprintf(parent, sizeof(parent), "%s", dir);
    if (stat(dirname(parent), &st) != 0 || !S_ISDIR(st.st_mode))
        return pp_fail(err, PP_E_NOT_FOUND, "cannot make the directory %s: there is no such place", dir);
    if (lstat(dir, &st) == 0)
        return pp_fail(err, PP_E_EXISTS,
                       "%s exists; %s writes into a new directory: give another name with -o", dir, command);
    return PP_OK;
}

pp_status job_dir_make(const char *dir, char *path, size_t size, struct pp_err *err)
{
    char real[PATH_MAX];
    if (mkdir(dir, 0777) != 0 || !realpath(dir, real))
        return pp_fail_errno(err, errno, "cannot make the directory %s", dir);
    if (strlen(real) >= size || strchr(real, '\n')) {
        rmdir(dir);
        return pp_fail(err, PP_E_USAGE, "the path of %s is too long, or has a line break", dir);
    }
    strcpy(path, real);
    return PP_OK;
}
