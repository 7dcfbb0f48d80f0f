#include "report/compare/load.h"

#include "probe/base/err.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pp_status load_one(const char *path, struct pp_runs *out, struct pp_err *err)
{
    struct pp_run *run = pp_runs_push(out);
    if (!run)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for another run");
    pp_status st = pp_run_load(path, run, err);
    if (st != PP_OK)
        out->n--; /* nothing in it to free */
    return st;
}

/* What pipeprobe leaves beside a recording. */
static int is_companion(const char *path)
{
    static const char *const endings[] = {".sqlite.log", "-wal", "-shm", "-journal"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
        if (n > strlen(endings[i]) && strcmp(path + n - strlen(endings[i]), endings[i]) == 0)
            return 1;
    return 0;
}

/* A file among others that is no recording: the sentence says which word led to it. */
static pp_status load_found(const char *path, const char *word, struct pp_runs *out, struct pp_err *err)
{
    struct pp_err why = {0};
    pp_status st = load_one(path, out, &why);
    if (st == PP_OK)
        return st;
    return pp_fail(err, st, "%s; it is one of the files of %s: name recordings only", why.text, word);
}

/* `ci run --keep DIR` keeps both sides of a comparison in one directory, which is no sample of either. */
static pp_status check_one_side(const glob_t *g, const char *dir, struct pp_err *err)
{
    size_t side[2] = {0}, length = strlen(dir);
    while (length > 1 && dir[length - 1] == '/')
        length--;
    for (size_t i = 0; i < g->gl_pathc; i++) {
        const char *name = strrchr(g->gl_pathv[i], '/') + 1;
        side[0] += strncmp(name, "base-", 5) == 0;
        side[1] += strncmp(name, "head-", 5) == 0;
    }
    if (side[0] && side[1])
        return pp_fail(
            err, PP_E_USAGE,
            "%s holds both sides of a comparison, %zu base-*.sqlite and %zu head-*.sqlite: name one of them, such as "
            "'%.*s/head-*.sqlite'",
            dir, side[0], side[1], (int)length, dir);
    return PP_OK;
}

/* dir: word is one. */
static pp_status load_glob(const char *pattern, const char *word, int dir, struct pp_runs *out,
                           struct pp_err *err)
{
    const char *nothing = dir ? "the directory holds no recording (*.sqlite)" : "no file matches";
    glob_t g;
    pp_status st = PP_OK;
    int rc = glob(pattern, GLOB_BRACE, NULL, &g); /* sorted */
    if (rc != 0) {
        globfree(&g);
        return rc == GLOB_NOMATCH ? pp_fail(err, PP_E_NOT_FOUND, "%s: %s", word, nothing)
                                  : pp_fail(err, PP_E_IO, "the files of %s cannot be listed", word);
    }
    size_t before = out->n;
    st = dir ? check_one_side(&g, word, err) : PP_OK;
    for (size_t i = 0; i < g.gl_pathc && st == PP_OK; i++)
        if (dir || !is_companion(g.gl_pathv[i]))
            st = load_found(g.gl_pathv[i], word, out, err);
    if (st == PP_OK && out->n == before)
        st = pp_fail(err, PP_E_NOT_FOUND, "%s: no recording matches", word);
    globfree(&g);
    return st;
}

/* A directory's name may hold characters that mean something to glob(3). */
static int as_pattern(char *buf, size_t size, const char *dir)
{
    size_t at = 0;
    for (; *dir; dir++) {
        if (at + 16 > size)
            return 0;
        if (strchr("*?[]{}\\", *dir))
            buf[at++] = '\\';
        buf[at++] = *dir;
    }
    strcpy(buf + at, "/*.sqlite");
    return 1;
}

static pp_status load_word(const char *word, struct pp_runs *out, struct pp_err *err)
{
    char pattern[PATH_MAX];
    struct stat s;
    errno = 0;
    int is_dir = stat(word, &s) == 0 && S_ISDIR(s.st_mode);
    if (is_dir && access(word, R_OK | X_OK) != 0) /* glob(3) would find nothing in it */
        return pp_fail_errno(err, errno, "cannot list the directory %s", word);
    if (is_dir)
        return as_pattern(pattern, sizeof(pattern), word)
                   ? load_glob(pattern, word, 1, out, err)
                   : pp_fail(err, PP_E_USAGE, "the name of directory %s is too long", word);
    if (errno == ENOENT && strpbrk(word, "*?[{"))
        return load_glob(word, word, 0, out, err);
    return load_one(word, out, err);
}

pp_status pp_runs_load(const char *const *operands, size_t n, struct pp_runs *out, struct pp_err *err)
{
    pp_status st = PP_OK;
    for (size_t i = 0; i < n && st == PP_OK; i++)
        st = load_word(operands[i], out, err);
    return st;
}
