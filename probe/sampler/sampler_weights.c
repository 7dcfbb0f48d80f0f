#include "probe/sampler/sampler.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

/* A walk over the words of a text, comments already blanked. */
struct words {
    char *next, *end; /* *end is writable: the text carries one byte more */
    uint64_t line;
};

static int is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next word, terminated in place, or NULL. *line: where it stands. */
static char *next_word(struct words *w, uint64_t *line)
{
    for (; w->next < w->end && is_space(*w->next); w->next++)
        w->line += *w->next == '\n';
    if (w->next >= w->end)
        return NULL;
    char *word = w->next;
    *line = w->line;
    while (w->next < w->end && !is_space(*w->next))
        w->next++;
    w->line += w->next < w->end && *w->next == '\n';
    *w->next++ = '\0';
    return word;
}

/* What a file holds one of per sample. */
struct list {
    const char *what;                                       /* "weights" */
    const char *kind;                                       /* "a number" */
    size_t size;                                            /* of an element */
    int (*read)(const char *word, char **rest, void *into); /* 0: it is none */
};

static int read_weight(const char *word, char **rest, void *into)
{
    *(double *)into = strtod(word, rest);
    return 1;
}

static int read_class(const char *word, char **rest, void *into)
{
    errno = 0;
    long long v = strtoll(word, rest, 10);
    *(int64_t *)into = v;
    return errno == 0;
}

static const struct list weights_list = {"weights", "a number", sizeof(double), read_weight},
                         classes_list = {"classes", "a whole number", sizeof(int64_t), read_class};

static pp_status parse(const struct list *l, struct words *w, const char *path, uint64_t n, void *values,
                       struct pp_err *err)
{
    uint64_t count = 0, line = 0, spare;
    char *word;
    while ((word = next_word(w, &line))) {
        char *rest;
        void *into = count < n ? (char *)values + count * l->size : (char *)&spare;
        int ok = l->read(word, &rest, into);
        if (!ok || rest != w->next - 1) /* where the word ends; a NUL byte inside it ends strtod earlier */
            return pp_fail(err, PP_E_CORRUPT,
                           "%s, line %" PRIu64 ": \"%.40s\" is not %s; a %s file holds one number per sample",
                           path, line, word, l->kind, l->what);
        count++;
    }
    if (count != n)
        return pp_fail(err, PP_E_USAGE, "%s holds %" PRIu64 " %s, but the dataset has %" PRIu64 " samples",
                       path, count, l->what, n);
    return PP_OK;
}

static pp_status load(const struct list *l, const char *path, uint64_t n, void **out, struct pp_err *err)
{
    pp_status status;
    char *terminated;
    struct pp_io_file file = {0};
    void *values = NULL;

    *out = NULL;
    status = pp_io_read_file(AT_FDCWD, path, &file, err);
    if (status != PP_OK)
        goto out;
    terminated = realloc(file.buf, file.size + 1);
    if (terminated)
        file.buf = (uint8_t *)terminated;
    values = n <= SIZE_MAX / l->size ? malloc(n ? n * l->size : 1) : NULL;
    if (!terminated || !values) {
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the %" PRIu64 " %s of %s", n, l->what, path);
        goto out;
    }
    int inside = 0;
    for (size_t i = 0; i < file.size; i++) {
        inside = terminated[i] != '\n' && (inside || terminated[i] == '#');
        if (inside)
            terminated[i] = ' ';
    }
    struct words words = {terminated, terminated + file.size, 1};
    status = parse(l, &words, path, n, values, err);
    if (status != PP_OK)
        goto out;
    *out = values;
    values = NULL;
out:
    free(values);
    free(file.buf);
    return status;
}

pp_status pp_weights_load(const char *path, uint64_t n, double **out, struct pp_err *err)
{
    void *values;
    pp_status status = load(&weights_list, path, n, &values, err);
    *out = values;
    return status;
}

pp_status pp_classes_load(const char *path, uint64_t n, int64_t **out, struct pp_err *err)
{
    void *values;
    pp_status status = load(&classes_list, path, n, &values, err);
    *out = values;
    return status;
}
