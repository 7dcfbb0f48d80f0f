#include "tui/cli/import_files.h"

#include "collectors/import/import.h"
#include "probe/base/array.h"
#include "probe/base/err.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST = 65536 };

struct found {
    struct import_trace *traces;
    size_t n, room;
};

static pp_status add_trace(struct found *f, const char *dir, const char *name, struct pp_err *err)
{
    char *path = NULL;
    if (f->n == MOST)
        return pp_fail(err, PP_E_UNSUPPORTED, "more than 65,536 traces at once");
    if (!pp_grow(&f->traces, &f->room, f->n + 1, sizeof(*f->traces)) ||
        asprintf(&path, "%s%s%s", dir ? dir : "", dir && dir[strlen(dir) - 1] != '/' ? "/" : "", name) < 0)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the names of %zu traces", f->n);
    f->traces[f->n++] = (struct import_trace){.path = path, .rank = -1, .world_size = -1};
    return PP_OK;
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(((const struct import_trace *)a)->path, ((const struct import_trace *)b)->path);
}

static int by_rank(const void *a, const void *b)
{
    const struct import_trace *x = a, *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : by_name(a, b);
}

/* What is no trace is left out: a directory of profiles holds other files too. */
static pp_status add_directory(struct found *f, const char *dir, struct pp_err *err)
{
    size_t before = f->n;
    DIR *d = opendir(dir);
    pp_status st = d ? PP_OK : pp_fail_errno(err, errno, "reading the directory %s failed", dir);
    for (struct dirent *e; st == PP_OK && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        st = add_trace(f, dir, e->d_name, err);
        if (st == PP_OK && !pp_import_trace_format(f->traces[f->n - 1].path))
            free(f->traces[--f->n].path);
    }
    if (d)
        closedir(d);
    if (st == PP_OK && f->n == before)
        st = pp_fail(
            err, PP_E_USAGE,
            "the directory %s holds no trace of a known format; 'pipeprobe import --help' lists them", dir);
    return st;
}

/* A rank each; a rank of its own for every one. */
static pp_status give_ranks(struct found *f, struct pp_err *err)
{
    int all = 1;
    int64_t world = (int64_t)f->n;
    qsort(f->traces, f->n, sizeof(*f->traces), by_name);
    for (size_t i = 0; i < f->n; i++)
        all &= pp_import_rank_of(f->traces[i].path, &f->traces[i].rank, &f->traces[i].world_size);
    for (size_t i = 0; i < f->n; i++) {
        struct import_trace *t = &f->traces[i];
        t->rank = all ? t->rank : (int64_t)i;
        world = t->rank >= world ? t->rank + 1 : world;
    }
    for (size_t i = 0; i < f->n; i++)
        if (f->traces[i].world_size < world)
            f->traces[i].world_size = world;
    qsort(f->traces, f->n, sizeof(*f->traces), by_rank);
    for (size_t i = 1; i < f->n; i++)
        if (f->traces[i].rank == f->traces[i - 1].rank)
            return pp_fail(err, PP_E_USAGE, "%s and %s are both of rank %lld; import one trace of each rank",
                           f->traces[i - 1].path, f->traces[i].path, (long long)f->traces[i].rank);
    return PP_OK;
}

pp_status import_files_find(const char *const *operands, int n, struct import_trace **out, size_t *n_out,
                            struct pp_err *err)
{
    struct found f = {NULL, 0, 0};
    struct stat info;
    pp_status st =
        n ? PP_OK
          : pp_fail(err, PP_E_USAGE,
                    "no trace given: name the file that the profiler wrote, or the directory of several");
    for (int i = 0; i < n && st == PP_OK; i++)
        st = stat(operands[i], &info) == 0 && S_ISDIR(info.st_mode) ? add_directory(&f, operands[i], err)
                                                                    : add_trace(&f, NULL, operands[i], err);
    if (st == PP_OK && f.n > 1) {
        /* Files of a format of which each process of a job writes one become one trace, the first of them. */
        struct import_trace *first = NULL;
        size_t kept = 0;
        char **more = calloc(f.n, sizeof(*more));
        if (!more) {
            st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the names of %zu traces", f.n);
        } else {
            qsort(f.traces, f.n, sizeof(*f.traces), by_name);
            for (size_t i = 0; i < f.n; i++) {
                const struct pp_importer *format = pp_import_trace_format(f.traces[i].path);
                if (format && format->joins && first) {
                    more[first->n_more++] = f.traces[i].path;
                    continue;
                }
                f.traces[kept] = f.traces[i];
                if (format && format->joins) {
                    first = &f.traces[kept];
                    first->more = more;
                }
                kept++;
            }
            f.n = kept;
            if (!first)
                free(more);
        }
    }
    if (st == PP_OK && f.n > 1)
        st = give_ranks(&f, err);
    *out = f.traces;
    *n_out = f.n;
    return st;
}

void import_files_free(struct import_trace *traces, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < traces[i].n_more; k++)
            free(traces[i].more[k]);
        free(traces[i].more);
        free(traces[i].path);
    }
    free(traces);
}
