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

/* nothing: what to say of a word that leads to no file. */
static pp_status load_glob(const char *pattern, const char *word, const char *nothing, struct pp_runs *out,
                           struct pp_err *err)
{
    glob_t g;
    pp_status st = PP_OK;
    int rc = glob(pattern, GLOB_BRACE, NULL, &g); /* sorted */
    if (rc != 0) {
        globfree(&g);
        return rc == GLOB_NOMATCH ? pp_fail(err, PP_E_NOT_FOUND, "%s: %s", word, nothing)
                                  : pp_fail(err, PP_E_IO, "the files of %s cannot be listed", word);
    }
    for (size_t i = 0; i < g.gl_pathc && st == PP_OK; i++)
        st = load_one(g.gl_pathv[i], out, err);
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
                   ? load_glob(pattern, word, "the directory holds no recording (*.sqlite)", out, err)
                   : pp_fail(err, PP_E_USAGE, "the name of directory %s is too long", word);
    if (errno == ENOENT && strpbrk(word, "*?[{"))
        return load_glob(word, word, "no file matches", out, err);
    return load_one(word, out, err);
}

pp_status pp_runs_load(const char *const *operands, size_t n, struct pp_runs *out, struct pp_err *err)
{
    pp_status st = PP_OK;
    for (size_t i = 0; i < n && st == PP_OK; i++)
        st = load_word(operands[i], out, err);
    return st;
}
