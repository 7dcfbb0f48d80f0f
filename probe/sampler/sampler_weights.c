#include "probe/sampler/sampler.h"

#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/sampler/sampler_alias.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>

/* What a file holds one of per sample. */
struct list {
    const char *what; /* "weights" */
    const char *kind; /* "a number" */
    size_t size;      /* of an element: a double, or an int64_t */
    int is_whole;
};

static const struct list weights_list = {"weights", "a number", sizeof(double), 0},
                         classes_list = {"classes", "a whole number", sizeof(int64_t), 1};

/* The words of the text, in which comments are blanked; *end is writable, for words are ended in place. */
static pp_status parse(const struct list *l, char *next, char *end, const char *path, uint64_t n,
                       void *values, struct pp_err *err)
{
    uint64_t count = 0, line = 1, spare;
    for (;; count++) {
        for (; next < end && isspace((unsigned char)*next); next++)
            line += *next == '\n';
        if (next >= end)
            break;
        char *word = next, *rest;
        while (next < end && !isspace((unsigned char)*next))
            next++;
        int ends_line = next < end && *next == '\n';
        *next = '\0';
        void *into = count < n ? (char *)values + count * l->size : (char *)&spare;
        errno = 0;
        if (l->is_whole)
            *(int64_t *)into = strtoll(word, &rest, 10);
        else
            *(double *)into = strtod(word, &rest);
        if ((l->is_whole && errno) || rest != next) /* a NUL byte inside the word ends strtod earlier */
            return pp_fail(err, PP_E_CORRUPT,
                           "%s, line %" PRIu64 ": \"%.40s\" is not %s; a %s file holds one number per sample",
                           path, line, word, l->kind, l->what);
        line += (uint64_t)ends_line;
        next++;
    }
    if (count != n)
        return pp_fail(err, PP_E_USAGE, "%s holds %" PRIu64 " %s, but the dataset has %" PRIu64 " samples",
                       path, count, l->what, n);
    return PP_OK;
}

static pp_status load(const struct list *l, const char *path, uint64_t n, void **out, struct pp_err *err)
{
    char *terminated;
    struct pp_io_file file = {0};
    void *values = NULL;

    *out = NULL;
    pp_status status = pp_io_read_file(AT_FDCWD, path, &file, err);
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
    status = parse(l, terminated, terminated + file.size, path, n, values, err);
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

/* Column i is hit with probability 1/n; it keeps the hit with probability keep[i] / 2^53 and passes it on to
 * alias[i] otherwise. */
struct pp_alias {
    uint64_t n;
    uint64_t *keep;
    uint32_t *alias;
};

#define UNIT 0x1.0p53

/* Pairs columns below the mean with ones above it. stack holds the small columns from the left and the large
 * ones from the right. */
static void pair_columns(struct pp_alias *a, double *scaled, uint32_t *stack, uint64_t heaviest)
{
    uint64_t smalls = 0, larges = a->n;
    for (uint64_t i = 0; i < a->n; i++) {
        if (scaled[i] < 1)
            stack[smalls++] = (uint32_t)i;
        else
            stack[--larges] = (uint32_t)i;
    }
    while (smalls > 0 && larges < a->n) {
        uint32_t small = stack[--smalls], large = stack[larges];
        a->keep[small] = (uint64_t)(scaled[small] * UNIT);
        a->alias[small] = large;
        scaled[large] -= 1 - scaled[small];
        if (scaled[large] < 1) {
            larges++;
            stack[smalls++] = large;
        }
    }
    for (; larges < a->n; larges++)
        a->keep[stack[larges]] = (uint64_t)UNIT;
    /* Rounding may leave small columns without a partner. The last 1e-15 goes to the heaviest index, so that
     * a zero stays a zero. */
    while (smalls > 0) {
        uint32_t small = stack[--smalls];
        a->keep[small] = (uint64_t)(scaled[small] * UNIT);
        a->alias[small] = (uint32_t)heaviest;
    }
}

pp_status pp_alias_create(const double *weights, uint64_t n, struct pp_alias **out, struct pp_err *err)
{
    pp_status status = PP_OK;
    uint64_t heaviest = 0;

    *out = NULL;
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(weights[i]) || weights[i] < 0)
            return pp_fail(err, PP_E_USAGE,
                           "weight %" PRIu64 " is %g: weights must be finite and not negative", i,
                           weights[i]);
        if (weights[i] > weights[heaviest])
            heaviest = i;
    }
    if (weights[heaviest] == 0)
        return pp_fail(err, PP_E_USAGE, "all %" PRIu64 " weights are zero: at least one must be above zero",
                       n);
    struct pp_alias *a = calloc(1, sizeof(*a));
    double *scaled = malloc(n * sizeof(*scaled));
    uint32_t *stack = malloc(n * sizeof(*stack));
    if (a) {
        a->n = n;
        a->keep = malloc(n * sizeof(*a->keep));
        a->alias = calloc(n, sizeof(*a->alias));
    }
    if (!a || !scaled || !stack || !a->keep || !a->alias) {
        status = pp_fail(err, PP_E_NO_MEMORY,
                         "no memory for the table of %" PRIu64 " weights (%" PRIu64 " MiB while it is built)",
                         n, n * 24 >> 20);
        goto out;
    }
    /* The weights in units of the mean. Dividing by the heaviest first keeps the sum finite for weights near
     * DBL_MAX. */
    long double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += weights[i] / weights[heaviest];
    for (uint64_t i = 0; i < n; i++)
        scaled[i] = (double)((long double)(weights[i] / weights[heaviest]) * (long double)n / sum);
    pair_columns(a, scaled, stack, heaviest);
    *out = a;
    a = NULL;
out:
    free(stack);
    free(scaled);
    pp_alias_destroy(a);
    return status;
}

void pp_alias_destroy(struct pp_alias *a)
{
    if (!a)
        return;
    free(a->alias);
    free(a->keep);
    free(a);
}

uint64_t pp_alias_pick(const struct pp_alias *a, struct pp_rng *rng)
{
    uint64_t column = pp_rng_below(rng, a->n);
    return pp_rng_next(rng) >> 11 < a->keep[column] ? column : a->alias[column];
}
