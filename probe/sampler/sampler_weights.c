#include "probe/sampler/sampler.h"

#include "probe/base/err.h"
#include "probe/base/io.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

/* A walk over the words of a text, comments already blanked. */
struct words {
    char *next, *end; /* *end is writable: the text carries one byte more */
    uint64_t line;
};

static void blank_comments(char *text, size_t size)
{
    int inside = 0;
    for (size_t i = 0; i < size; i++) {
        inside = text[i] != '\n' && (inside || text[i] == '#');
        if (inside)
            text[i] = ' ';
    }
}

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

static pp_status parse(struct words *w, const char *path, uint64_t n, double *weights, struct pp_err *err)
{
    uint64_t count = 0, line = 0;
    char *word;
    while ((word = next_word(w, &line))) {
        char *rest;
        double value = strtod(word, &rest);
        if (rest != w->next - 1) /* where the word ends; a NUL byte inside it ends strtod earlier */
            return pp_fail(err, PP_E_CORRUPT,
                           "%s, line %" PRIu64
                           ": \"%.40s\" is not a number; a weights file holds one number per sample",
                           path, line, word);
        if (count < n)
            weights[count] = value;
        count++;
    }
    if (count != n)
        return pp_fail(err, PP_E_USAGE,
                       "%s holds %" PRIu64 " weights, but the dataset has %" PRIu64 " samples", path, count,
                       n);
    return PP_OK;
}

pp_status pp_weights_load(const char *path, uint64_t n, double **out, struct pp_err *err)
{
    pp_status status;
    char *terminated;
    struct pp_io_file file = {0};
    double *weights = NULL;

    *out = NULL;
    status = pp_io_read_file(AT_FDCWD, path, &file, err);
    if (status != PP_OK)
        goto out;
    terminated = realloc(file.buf, file.size + 1);
    if (terminated)
        file.buf = (uint8_t *)terminated;
    weights = n <= SIZE_MAX / sizeof(*weights) ? malloc(n ? n * sizeof(*weights) : 1) : NULL;
    if (!terminated || !weights) {
        status = pp_fail(err, PP_E_NO_MEMORY, "no memory for the %" PRIu64 " weights of %s", n, path);
        goto out;
    }
    blank_comments(terminated, file.size);
    struct words words = {terminated, terminated + file.size, 1};
    status = parse(&words, path, n, weights, err);
    if (status != PP_OK)
        goto out;
    *out = weights;
    weights = NULL;
out:
    free(weights);
    free(file.buf);
    return status;
}
