#include "tui/cli/find_recording.h"

#include "collectors/store/reader.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "tui/cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRESH_NS INT64_C(5000000000) /* a recorder commits every second */

/* What was found: the first one, and the others by name for the sentence that asks which. */
struct found {
    char path[PATH_MAX], names[512];
    int n;
};

static void add_name(struct found *f, const char *path)
{
    const char *base = strrchr(path, '/');
    size_t at = strlen(f->names);
    if (f->n++ == 0)
        snprintf(f->path, sizeof(f->path), "%s", path);
    snprintf(f->names + at, sizeof(f->names) - at, "%s%s", at ? ", " : "", base ? base + 1 : path);
}

/* ---- a directory ---- */

static int64_t modified_ns(const char *path, const char *tail)
{
    char name[PATH_MAX + 8];
    struct stat st;
    snprintf(name, sizeof(name), "%s%s", path, tail);
    return stat(name, &st) == 0 && S_ISREG(st.st_mode)
               ? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec
               : -1;
}

static pp_status in_directory(const char *dir, char *path, size_t size, struct pp_err *err)
{
    struct found written = {.n = 0};
    char name[PATH_MAX];
    int64_t now = (int64_t)pp_clock_of(CLOCK_REALTIME), newest = -1;
    int foreign = 0;
    struct dirent *e;
    DIR *d = opendir(dir);
    if (!d)
        return pp_fail_errno(err, errno, "cannot list %s", dir);
    while ((e = readdir(d))) {
        if (!pp_ends_in(e->d_name, ".sqlite") ||
            (size_t)snprintf(name, sizeof(name), "%s/%s", dir, e->d_name) >= sizeof(name))
            continue;
        if (!pp_reader_is_recording(name)) { /* an export lies beside its run, and has the same ending */
            foreign += modified_ns(name, "") >= 0;
            continue;
        }
        int64_t log = modified_ns(name, "-wal"), file = modified_ns(name, ""), at = log > file ? log : file;
        if (log >= 0 && now - at < FRESH_NS)
            add_name(&written, name);
        if (file >= 0 && at > newest) {
            newest = at;
            snprintf(path, size, "%s", name);
        }
    }
    closedir(d);
    if (newest < 0 && foreign)
        return pp_fail(
            err, PP_E_NOT_FOUND,
            "no recording in %s: of its %d .sqlite file%s none was written by 'pipeprobe run'; give the FILE that it writes",
            dir, foreign, foreign == 1 ? "" : "s");
    if (newest < 0)
        return pp_fail(err, PP_E_NOT_FOUND,
                       "no recording (.sqlite) in %s; give the FILE that 'pipeprobe run' writes", dir);
    if (written.n > 1)
        return pp_fail(err, PP_E_USAGE, "%d recordings are being written in %s: %s; name one of them",
                       written.n, dir, written.names);
    return PP_OK;
}

/* ---- a process ---- */

static void add_once(struct found *f, const char *path)
{
    if (f->n == 0 || strcmp(f->path, path) != 0)
        add_name(f, path);
}

/* The recorder has the file open; a program that is recorded has its rings mapped: FILE.rings/ring-0003. */
static pp_status of_process(const char *pid, char *path, size_t size, struct pp_err *err)
{
    struct found f = {.n = 0};
    char dir[64], line[PATH_MAX + 128], target[PATH_MAX];
    snprintf(dir, sizeof(dir), "/proc/%s/fd", pid);
    DIR *d = opendir(dir);
    if (!d && errno == ENOENT)
        return pp_fail(err, PP_E_NOT_FOUND, "no process and no file has the name %s", pid);
    if (!d)
        return pp_fail_errno(err, errno,
                             "cannot list the open files of process %s; name the FILE it records into", pid);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(line, sizeof(line), "%s/%s", dir, e->d_name);
        ssize_t n = readlink(line, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        if (pp_ends_in(target, ".sqlite"))
            add_once(&f, target);
    }
    closedir(d);
    snprintf(dir, sizeof(dir), "/proc/%s/maps", pid);
    FILE *in = f.n == 0 ? fopen(dir, "re") : NULL;
    while (in && fgets(line, sizeof(line), in)) {
        char *mapped = strchr(line, '/'), *end = mapped ? strstr(mapped, ".rings/") : NULL;
        if (!end)
            continue;
        *end = '\0';
        add_once(&f, mapped);
    }
    if (in)
        fclose(in);
    if (f.n == 0)
        return pp_fail(
            err, PP_E_NOT_FOUND,
            "process %s has no recording open; name the process of 'pipeprobe run' or 'pipeprobe exec', or the FILE",
            pid);
    if (f.n > 1)
        return pp_fail(err, PP_E_USAGE, "process %s has %d recordings open: %s; name one of them", pid, f.n,
                       f.names);
    snprintf(path, size, "%s", f.path);
    return PP_OK;
}

pp_status pp_find_recording(const char *what, char *path, size_t size, struct pp_err *err)
{
    struct stat st;
    int there = stat(what, &st) == 0, digits = what[0] && what[strspn(what, "0123456789")] == '\0';
    if (there && S_ISDIR(st.st_mode))
        return in_directory(what, path, size, err);
    if (!there && digits)
        return of_process(what, path, size, err);
    if ((size_t)snprintf(path, size, "%s", what) >= size)
        return pp_fail(err, PP_E_USAGE, "the name of the recording is too long (%zu bytes)", strlen(what));
    return PP_OK;
}
