#include "tui/cli/recording_name.h"

#include "probe/base/err.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void default_name(char *buf, size_t size)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm tm;
    strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
    snprintf(buf, size, "pipeprobe-%s.sqlite", stamp);
    for (int i = 2; access(buf, F_OK) == 0 && i < 1000; i++)
        snprintf(buf, size, "pipeprobe-%s-%d.sqlite", stamp, i);
}

pp_status pp_recording_name(const char *output, int force, char *path, size_t size, struct pp_err *err)
{
    char copy[4096];
    struct stat st;
    if (output && strcmp(output, "-") == 0)
        return pp_fail(
            err, PP_E_USAGE,
            "--output -: a recording is a database and cannot be written to standard output; name a file (./- if it is called -)");
    if (output && strlen(output) + sizeof(".rings") > sizeof(copy))
        return pp_fail(err, PP_E_USAGE, "--output: the name is too long (%zu bytes)", strlen(output));
    if (output)
        snprintf(path, size, "%s", output);
    else
        default_name(path, size);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return pp_fail(err, PP_E_USAGE, "%s is a directory; name a file in it", path);
    int empty = stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
                st.st_size == 0; /* of a start that was killed */
    if (output && !force && !empty && access(path, F_OK) == 0)
        return pp_fail(err, PP_E_EXISTS, "%s already exists; give another --output, or --force to replace it",
                       path);
    snprintf(copy, sizeof(copy), "%s", path);
    const char *dir = dirname(copy);
    if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode))
        return pp_fail(err, PP_E_USAGE, "the recording %s cannot be written: %s is not a directory", path,
                       dir);
    if (access(dir, W_OK | X_OK) != 0)
        return pp_fail_errno(err, errno, "the recording %s cannot be written: directory %s", path, dir);
    return PP_OK;
}

pp_status pp_recording_create_named(const char *output, const struct pp_recording_opts *opts, char *path,
                                    size_t size, struct pp_recording **out, struct pp_err *err)
{
    struct pp_recording_opts named = *opts;
    int tries = PP_RECORDING_NAME_TRIES;
    pp_status st;
    named.store.path = path;
    do
        st = pp_recording_create(&named, out, err);
    while (st == PP_E_EXISTS && !output && --tries > 0 &&
           pp_recording_name(output, opts->store.force, path, size, err) == PP_OK);
    return st;
}
