#include "probe/dataset/shard_names.h"
#include "probe/base/err.h"
#include "probe/dataset/dataset_walk.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_SHARDS = 1 << 20 };

int pp_is_shard_spec(const char *spec)
{
    static const char *const endings[] = {".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
        if (pp_has_suffix(spec, endings[i]))
            return 1;
    return strchr(spec, '{') && strstr(spec, ".tar");
}

void pp_shard_names_free(struct pp_shard_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->path[i]);
    free(names->path);
    *names = (struct pp_shard_names){0};
}

static pp_status add_path(struct pp_shard_names *out, const char *path, struct pp_err *err)
{
    if (out->n == MAX_SHARDS)
        return pp_fail(err, PP_E_USAGE, "the shard range names more than %d shards", MAX_SHARDS);
    if (out->n == out->cap) {
        size_t cap = out->cap ? out->cap * 2 : 16;
        char **grown = realloc(out->path, cap * sizeof(*grown));
        if (!grown)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu shard names", cap);
        out->path = grown;
        out->cap = cap;
    }
    char *copy = strdup(path);
    if (!copy)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu shard names", out->n + 1);
    out->path[out->n++] = copy;
    return PP_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static pp_status add_directory(struct pp_shard_names *out, const char *path, struct pp_err *err)
{
    pp_status st = PP_OK;
    size_t first = out->n;
    char *full;
    struct dirent *e;
    DIR *d = opendir(path);
    if (!d)
        return pp_fail_errno(err, errno, "cannot list %s", path);
    while (st == PP_OK && (e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.' || !pp_has_suffix(e->d_name, ".tar"))
            continue;
        if (asprintf(&full, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", e->d_name) < 0)
            st = pp_fail(err, PP_E_NO_MEMORY, "no memory to list %s", path);
        else {
            st = add_path(out, full, err);
            free(full);
        }
    }
    closedir(d);
    if (st == PP_OK && out->n == first)
        return pp_fail(err, PP_E_NOT_FOUND, "%s holds no .tar files", path);
    if (st == PP_OK)
        qsort(out->path + first, out->n - first, sizeof(*out->path), by_name);
    return st;
}

static pp_status add_glob(struct pp_shard_names *out, const char *pattern, struct pp_err *err)
{
    pp_status st = PP_OK;
    glob_t found = {0};
    int r = glob(pattern, 0, NULL, &found);
    if (r == GLOB_NOMATCH)
        st = pp_fail(err, PP_E_NOT_FOUND, "no file matches %s", pattern);
    else if (r != 0)
        st = pp_fail(err, r == GLOB_NOSPACE ? PP_E_NO_MEMORY : PP_E_ACCESS,
                     "cannot look for files that match %s", pattern);
    size_t first = out->n;
    for (size_t i = 0; st == PP_OK && i < found.gl_pathc; i++)
        st = add_path(out, found.gl_pathv[i], err);
    if (st == PP_OK && out->n > first) /* glob sorts by the locale */
        qsort(out->path + first, out->n - first, sizeof(*out->path), by_name);
    globfree(&found);
    return st;
}

static pp_status add_expanded(struct pp_shard_names *out, const char *word, struct pp_err *err)
{
    struct stat info;
    if (stat(word, &info) == 0)
        return S_ISDIR(info.st_mode) ? add_directory(out, word, err) : add_path(out, word, err);
    return strpbrk(word, "*?[") ? add_glob(out, word, err) : add_path(out, word, err);
}

/* ---- braces ---- */

/* The closing brace that belongs to the opening one, or NULL. */
static const char *closing(const char *open)
{
    int depth = 0;
    for (const char *p = open; *p; p++) {
        depth += (*p == '{') - (*p == '}');
        if (depth == 0)
            return p;
    }
    return NULL;
}

/* "000000..000009": 1 with its ends and the width numbers are filled to (braceexpand: when either end begins
 * with 0). */
static int parse_range(const char *body, size_t n, uint64_t *from, uint64_t *to, int *width)
{
    char text[48], *end;
    if (n >= sizeof(text) || n == 0)
        return 0;
    memcpy(text, body, n);
    text[n] = '\0';
    char *dots = strstr(text, "..");
    if (!dots || !isdigit((unsigned char)text[0]) || !isdigit((unsigned char)dots[2]))
        return 0;
    *dots = '\0';
    errno = 0;
    *from = strtoull(text, &end, 10);
    if (*end || errno)
        return 0;
    *to = strtoull(dots + 2, &end, 10);
    if (*end || errno)
        return 0;
    size_t a = strlen(text), b = strlen(dots + 2);
    int padded = (text[0] == '0' && a > 1) || (dots[2] == '0' && b > 1);
    *width = padded ? (int)(a > b ? a : b) : 0;
    return 1;
}

static pp_status expand(struct pp_shard_names *out, const char *word, struct pp_err *err);

/* head + body[0..n) + tail, expanded further. */
static pp_status expand_piece(struct pp_shard_names *out, const char *head, size_t head_n, const char *body,
                              size_t n, const char *tail, struct pp_err *err)
{
    char *word;
    if (asprintf(&word, "%.*s%.*s%s", (int)head_n, head, (int)n, body, tail) < 0)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the shard names");
    pp_status st = expand(out, word, err);
    free(word);
    return st;
}

static pp_status expand_range(struct pp_shard_names *out, const char *word, size_t head_n, uint64_t from,
                              uint64_t to, int width, const char *tail, struct pp_err *err)
{
    pp_status st = PP_OK;
    char number[32];
    uint64_t count = (from < to ? to - from : from - to) + 1;
    if (count > MAX_SHARDS || count == 0)
        return pp_fail(err, PP_E_USAGE, "the range in %s names more than %d shards", word, MAX_SHARDS);
    for (uint64_t i = 0; st == PP_OK && i < count; i++) {
        int n = snprintf(number, sizeof(number), "%0*llu", width < 20 ? width : 20,
                         (unsigned long long)(from < to ? from + i : from - i));
        st = expand_piece(out, word, head_n, number, (size_t)n, tail, err);
    }
    return st;
}

/* {a,b,{c,d}}: every alternative at the outermost level. */
static pp_status expand_list(struct pp_shard_names *out, const char *word, const char *open,
                             const char *close, struct pp_err *err)
{
    pp_status st = PP_OK;
    const char *start = open + 1;
    int depth = 0;
    for (const char *p = start; st == PP_OK && p <= close; p++) {
        if ((*p == ',' && depth == 0) || p == close) {
            st = expand_piece(out, word, (size_t)(open - word), start, (size_t)(p - start), close + 1, err);
            start = p + 1;
        }
        depth += (*p == '{') - (*p == '}');
    }
    return st;
}

/* Expands the first pair of braces; what comes after is expanded by the calls this makes. */
static pp_status expand(struct pp_shard_names *out, const char *word, struct pp_err *err)
{
    uint64_t from, to;
    int width;
    const char *open = strchr(word, '{');
    if (!open)
        return add_expanded(out, word, err);
    const char *close = closing(open);
    if (!close)
        return pp_fail(err, PP_E_USAGE, "the shard name %s has an opening brace without a closing one", word);
    size_t n = (size_t)(close - open - 1);
    if (parse_range(open + 1, n, &from, &to, &width))
        return expand_range(out, word, (size_t)(open - word), from, to, width, close + 1, err);
    if (!memchr(open + 1, ',', n))
        return pp_fail(err, PP_E_USAGE,
                       "the braces in %s hold neither a range such as {000..009} nor a list such as {a,b}",
                       word);
    return expand_list(out, word, open, close, err);
}

pp_status pp_shard_names(const char *spec, struct pp_shard_names *out, struct pp_err *err)
{
    struct stat info;
    pp_status st = PP_OK;
    *out = (struct pp_shard_names){0};
    if (stat(spec, &info) == 0)
        return add_expanded(out, spec, err);
    /* Commas outside braces separate; those inside belong to the braces. */
    int depth = 0;
    const char *start = spec;
    for (const char *p = spec; st == PP_OK; p++) {
        if (*p == '\0' || (*p == ',' && depth == 0)) {
            if (p > start)
                st = expand_piece(out, "", 0, start, (size_t)(p - start), "", err);
            start = p + 1;
        }
        if (*p == '\0')
            break;
        depth += (*p == '{') - (*p == '}');
    }
    if (st == PP_OK && out->n == 0)
        st = pp_fail(err, PP_E_USAGE, "%s names no shard", spec);
    return st;
}
