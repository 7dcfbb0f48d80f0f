#include "tui/cli/recording_name.h"
#include "collectors/store/reader.h"
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "tui/cli/cli.h"
#include <dirent.h>
#include <libgen.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".sqlite"
#define STAMP "%Y%m%d-%H%M%S"

/* STEM.sqlite, or STEM-2.sqlite, ... where that is taken. */
static void free_name(const char *stem, char *buf, size_t size)
{
    snprintf(buf, size, "%s" SUFFIX, stem);
    for (int i = 2; access(buf, F_OK) == 0 && i < 1000; i++)
        snprintf(buf, size, "%s-%d" SUFFIX, stem, i);
}

/* ---- the ranks of a job ---- */

static int of_many(const struct pp_identity *rank)
{
    return rank && rank->launcher && rank->world_size > 1;
}

static pp_status make_directory(const char *dir, struct pp_err *err)
{
    return mkdir(dir, 0777) == 0 || errno == EEXIST
               ? PP_OK
               : pp_fail_errno(err, errno, "the directory %s for the recordings cannot be made", dir);
}

/* Whether the name is our own choice, and another may be taken where it exists. */
static int chosen_by_us(const char *output, const struct pp_identity *rank)
{
    size_t n = output ? strlen(output) : 0;
    return !output || (n && output[n - 1] == '/') || (of_many(rank) && pp_is_directory(output));
}

/* A file per rank: in a directory of the job, in the one that output names, or FILE with the rank in it. */
static pp_status ranked_name(const char *output, const struct pp_identity *rank, char *path, size_t size,
                             struct pp_err *err)
{
    char dir[3072] = "", job[80], own[64], stem[4096];
    int n = snprintf(own, sizeof(own), "rank%04lld", (long long)rank->rank);
    if (rank->attempt > 0)
        snprintf(own + n, sizeof(own) - (size_t)n, "-attempt%lld", (long long)rank->attempt);
    if (!chosen_by_us(output, rank)) {
        snprintf(path, size, "%.*s-%s%s", pp_stem(output), output, own,
                 pp_ends_in(output, SUFFIX) ? SUFFIX : "");
        return PP_OK;
    }
    snprintf(job, sizeof(job), "%.64s", rank->job);
    if (!*rank->job) {
        /* When the process that started this one began: the launcher, which all ranks of a machine have in
         * common. */
        char line[1024];
        unsigned long long ticks = 0, boot = 0;
        snprintf(line, sizeof(line), "/proc/%d/stat", (int)getppid());
        FILE *in = fopen(line, "re");
        const char *at = in && fgets(line, sizeof(line), in) ? strrchr(line, ')') : NULL;
        for (int field = 2; at && field < 22; field++) /* proc(5): starttime is the 22nd, the name the 2nd */
            at = strchr(at + 1, ' ');
        if (at)
            sscanf(at, "%llu", &ticks);
        if (in)
            fclose(in);
        in = fopen("/proc/stat", "re");
        while (in && !boot && fgets(line, sizeof(line), in))
            sscanf(line, "btime %llu", &boot);
        if (in)
            fclose(in);
        time_t began = ticks && boot ? (time_t)(boot + ticks / (unsigned long long)sysconf(_SC_CLK_TCK))
                                     : time(NULL);
        struct tm tm;
        strftime(job, sizeof(job), STAMP, localtime_r(&began, &tm));
    }
    for (char *c = job; *c;
         c++) /* what a launcher calls a job may be anything; it is part of a file name here */
        if (!(*c >= '0' && *c <= '9') && !((*c | 32) >= 'a' && (*c | 32) <= 'z') && !strchr("-_", *c) &&
            !(*c == '.' && c > job))
            *c = '_';
    if (output)
        snprintf(dir, sizeof(dir), "%s", output);
    else
        snprintf(dir, sizeof(dir), "pipeprobe-%s", job);
    if (make_directory(dir, err) != PP_OK)
        return err->code;
    snprintf(stem, sizeof(stem), "%s%s%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/",
             output && *rank->job ? job : "", output && *rank->job ? "-" : "", own);
    free_name(stem, path, size);
    return PP_OK;
}

pp_status pp_recording_name(const char *output, const struct pp_identity *rank, int force, char *path,
                            size_t size, struct pp_err *err)
{
    char copy[4096];
    struct stat st;
    int ours = chosen_by_us(output, rank);
    if (output && strcmp(output, "-") == 0)
        return pp_fail(
            err, PP_E_USAGE,
            "--output -: a recording is a database and cannot be written to standard output; name a file (./- if it is called -)");
    if (output && strlen(output) + sizeof("-rank0000000000-attempt0000000000" SUFFIX ".rings") +
                          (of_many(rank) ? 1024 : 0) >
                      sizeof(copy))
        return pp_fail(err, PP_E_USAGE, "--output: the name is too long (%zu bytes)", strlen(output));
    if (of_many(rank)) {
        if (ranked_name(output, rank, path, size, err) != PP_OK)
            return err->code;
    } else if (!ours) {
        snprintf(path, size, "%s", output);
    } else { /* in the directory that output is; NULL: here */
        char stamp[32], stem[3072];
        if (output && make_directory(output, err) != PP_OK)
            return err->code;
        time_t now = time(NULL);
        struct tm tm;
        strftime(stamp, sizeof(stamp), STAMP, localtime_r(&now, &tm));
        snprintf(stem, sizeof(stem), "%spipeprobe-%s", output ? output : "", stamp);
        free_name(stem, path, size);
    }
    if (pp_is_directory(path))
        return pp_fail(err, PP_E_USAGE, "%s is a directory; name a file in it", path);
    int empty = stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
                st.st_size == 0; /* of a start that was killed */
    if (!ours && !force && !empty && access(path, F_OK) == 0)
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

pp_status pp_recording_create_named(const char *output, const struct pp_identity *rank,
                                    const struct pp_recording_opts *opts, char path[PP_RECORDING_PATH],
                                    struct pp_recording **out, struct pp_err *err)
{
    struct pp_recording_opts named = *opts;
    int tries = PP_RECORDING_NAME_TRIES;
    pp_status st;
    named.store.path = path;
    do
        st = pp_recording_create(&named, out, err);
    while (st == PP_E_EXISTS && chosen_by_us(output, rank) && --tries > 0 &&
           pp_recording_name(output, rank, opts->store.force, path, PP_RECORDING_PATH, err) == PP_OK);
    return st;
}

#define FRESH_NS INT64_C(5000000000) /* a recorder commits every second */

/* What was found: the first one, and the others by name for the sentence that asks which. */
struct found {
    char path[PATH_MAX], names[512];
    int n;
};

static void add_once(struct found *f, const char *path)
{
    const char *base = strrchr(path, '/');
    size_t at = strlen(f->names);
    if (f->n && strcmp(f->path, path) == 0)
        return;
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
            add_once(&written, name);
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
                       "no recording (.sqlite) in %s; record one: pipeprobe exec -- python3 train.py", dir);
    if (written.n > 1)
        return pp_fail(err, PP_E_USAGE, "%d recordings are being written in %s: %s; name one of them",
                       written.n, dir, written.names);
    return PP_OK;
}

/* ---- a process ---- */

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
    char named[PATH_MAX];
    int there = stat(what, &st) == 0, digits = what[0] && what[strspn(what, "0123456789")] == '\0';
    const char *here = *what == '-' ? "./" : ""; /* the name is printed to be pasted: it must be no option */
    if ((size_t)snprintf(named, sizeof(named), "%s%s", here, what) >= sizeof(named) || strlen(named) >= size)
        return pp_fail(err, PP_E_USAGE, "the name of the recording is too long (%zu bytes)", strlen(what));
    if (there && S_ISDIR(st.st_mode))
        return in_directory(named, path, size, err);
    if (!there && digits)
        return of_process(what, path, size, err);
    snprintf(path, size, "%s", named);
    return PP_OK;
}

pp_status pp_choose_recording(const char *const *operands, int n, char *path, size_t size, struct pp_err *err)
{
    if (n > 1)
        return pp_fail(err, PP_E_USAGE, "one recording at a time, but %d were given (%s, %s%s)", n,
                       operands[0], operands[1], n > 2 ? ", ..." : "");
    if (n == 1)
        return pp_find_recording(operands[0], path, size, err);
    pp_status st = pp_find_recording(".", path, size, err);
    if (st == PP_E_NOT_FOUND)
        return pp_fail(err, PP_E_USAGE, "no recording given, and none is in this directory");
    if (st == PP_OK && strncmp(path, "./", 2) == 0 && path[2] != '-')
        memmove(path, path + 2, strlen(path + 2) + 1);
    return st;
}
