#include "tui/cli/rank_files.h"
#include "collectors/import/import.h"
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "tui/cli/cli.h"
#include "tui/cli/output.h"
#include "tui/cli/trace_report.h"
#include <dirent.h>

#define DIGEST ".digest"
enum { MOST_RANKS = 1 << 20 };

/* ---- which files ---- */

struct names {
    char **path;
    size_t n, room, most; /* most 0: any number */
};

static pp_status add_name(struct names *f, const char *dir, const char *name, struct pp_err *err)
{
    char *path = NULL;
    if (f->most && f->n == f->most)
        return pp_fail(err, PP_E_UNSUPPORTED, "more than 65,536 traces at once");
    if (!pp_grow(&f->path, &f->room, f->n + 1, sizeof(*f->path)) ||
        asprintf(&path, "%s%s%s", dir ? dir : "", dir && dir[strlen(dir) - 1] != '/' ? "/" : "", name) < 0)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the names of %zu files", f->n);
    f->path[f->n++] = path;
    return PP_OK;
}

/* Of a directory the traces, or the recordings and digests: it holds other files too. */
static pp_status add_directory(struct names *f, const char *dir, int traces, struct pp_err *err)
{
    DIR *d = opendir(dir);
    pp_status st = d ? PP_OK : pp_fail_errno(err, errno, "reading the directory %s failed", dir);
    for (struct dirent *e; st == PP_OK && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        st = add_name(f, dir, e->d_name, err);
        const char *path = st == PP_OK ? f->path[f->n - 1] : NULL;
        if (path && !(traces ? pp_import_trace_format(path) != NULL
                             : pp_ends_in(path, ".sqlite") || pp_ends_in(path, DIGEST)))
            free(f->path[--f->n]);
    }
    if (d)
        closedir(d);
    return st;
}

static void free_names(struct names *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->path[i]);
    free(f->path);
}

/* Recordings before digests, which may be of them. */
static int by_name(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    int later = pp_ends_in(x, DIGEST) - pp_ends_in(y, DIGEST);
    return later ? later : strcmp(x, y);
}

/* ---- reading them ---- */

/* A file that was named has to be one of a rank; one that only lies in the directory may be anything else,
 * which is said. */
pp_status pp_rank_file_leave_out(pp_status st, int named, const struct pp_err *err)
{
    if (st == PP_OK || named || st == PP_E_NO_MEMORY)
        return st;
    pp_cli_note("left out", err->text);
    return PP_OK;
}

pp_status pp_rank_files_each(const char *const *operands, int n, pp_rank_file_fn *fn, void *ctx,
                             struct pp_err *err)
{
    pp_status st = PP_OK;
    if (!n)
        st = pp_fail(err, PP_E_USAGE,
                     "no recordings given: name the directory that they are in, or the files of the ranks");
    for (int i = 0; st == PP_OK && i < n; i++) {
        struct names f = {0};
        int is_dir = pp_is_directory(operands[i]);
        st = is_dir ? add_directory(&f, operands[i], 0, err) : add_name(&f, NULL, operands[i], err);
        if (st == PP_OK && !f.n)
            st = pp_fail(err, PP_E_USAGE, "%s holds no recording (*.sqlite) and no digest (*.digest)",
                         operands[i]);
        if (f.n)
            qsort(f.path, f.n, sizeof(*f.path), by_name);
        for (size_t k = 0; st == PP_OK && k < f.n; k++)
            st = fn(ctx, f.path[k], !is_dir, err);
        free_names(&f);
    }
    return st;
}

struct gathering {
    struct pp_digest_pile pile;
    uint8_t *recorded;  /* ranks of which a recording was read: MOST_RANKS of them, or NULL */
    struct stat output; /* st_ino 0: there is none */
    int merges;         /* hashes of batches are asked for: `ranks` shows none */
};

static pp_status add_file(void *ctx, const char *path, int named, struct pp_err *err)
{
    struct gathering *g = ctx;
    struct pp_digest one = {0};
    struct stat info;
    if (!named && pp_output_is(&g->output, path))
        return PP_OK;
    int is_digest = pp_digest_is_file(path);
    pp_status st = is_digest ? pp_digest_load(path, &one, err) : pp_digest_read(path, g->merges, &one, err);
    if (st != PP_OK && st != PP_E_NO_MEMORY && !is_digest && pp_ends_in(path, DIGEST) &&
        stat(path, &info) == 0 &&
        S_ISREG(info.st_mode)) /* it is said to be no digest, not to be no recording */
        st = pp_digest_load(path, &one, err);
    /* A digest that was written beside the recordings it is of says nothing that they do not. */
    int repeats = st == PP_OK && is_digest && !named && one.n_rows > 0;
    for (size_t i = 0; repeats && i < one.n_rows; i++)
        repeats = one.rows[i].rank < MOST_RANKS && g->recorded[one.rows[i].rank];
    if (repeats) {
        st = pp_fail(err, PP_E_USAGE, "%s is of ranks whose recordings are here", path);
    } else if (st == PP_OK) {
        for (size_t i = 0; !is_digest && i < one.n_rows; i++)
            if (one.rows[i].rank < MOST_RANKS)
                g->recorded[one.rows[i].rank] = 1;
        return pp_pile_add(&g->pile, &one, err);
    }
    pp_digest_free(&one);
    return pp_rank_file_leave_out(st, named, err);
}

pp_status pp_rank_files_read(const char *const *operands, int n, const char *output, struct pp_digest *out,
                             struct pp_err *err)
{
    struct gathering g = {.recorded = calloc(MOST_RANKS, 1), .merges = output != NULL};
    if (!output || stat(output, &g.output) != 0)
        g.output = (struct stat){0};
    *out = (struct pp_digest){0};
    pp_status st = g.recorded ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory to read %d files", n);
    if (st == PP_OK && pp_traces_only(operands, n)) { /* of another profiler, one of each rank */
        struct import_trace *traces = NULL;
        size_t n_traces = 0;
        st = import_files_find(operands, n, &traces, &n_traces, err);
        if (st == PP_OK && n_traces == 1 && traces[0].rank < 0)
            traces[0].rank = 0, traces[0].world_size = 1;
        for (size_t i = 0; st == PP_OK && i < n_traces; i++) {
            struct pp_digest one;
            st = pp_trace_digest(&traces[i], &one, err);
            if (st == PP_OK)
                st = pp_pile_add(&g.pile, &one, err);
            else
                pp_digest_free(&one);
        }
        import_files_free(traces, n_traces);
    } else if (st == PP_OK) {
        st = pp_rank_files_each(operands, n, add_file, &g, err);
    }
    if (st == PP_OK)
        st = pp_pile_end(&g.pile, out, err);
    if (st == PP_OK && !out->n_rows)
        st = pp_fail(err, PP_E_USAGE, "%s holds no recording of a rank", operands[0]);
    if (st != PP_OK)
        pp_digest_free(out);
    pp_pile_free(&g.pile);
    free(g.recorded);
    return st;
}

/* ---- traces of other profilers ---- */

enum { MOST = 65536 };

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int by_rank(const void *a, const void *b)
{
    const struct import_trace *x = a, *y = b;
    return x->rank != y->rank ? PP_COMPARE(x->rank, y->rank) : strverscmp(x->path, y->path);
}

/* Takes the names. Files of a format of which each process of a job writes one become one trace, the first of
 * them. */
static pp_status make_traces(struct names *f, struct import_trace **out, size_t *n_out, struct pp_err *err)
{
    struct import_trace *traces = calloc(f->n, sizeof(*traces)), *first = NULL;
    char **more = calloc(f->n, sizeof(*more));
    if (!traces || !more) {
        free(traces);
        free(more);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the names of %zu traces", f->n);
    }
    qsort(f->path, f->n, sizeof(*f->path), by_version);
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct pp_importer *format = f->n > 1 ? pp_import_trace_format(f->path[i]) : NULL;
        int joins = format && format->joins;
        if (joins && first) {
            more[first->n_more++] = f->path[i];
            continue;
        }
        traces[n] = (struct import_trace){.path = f->path[i], .rank = -1, .world_size = -1};
        if (joins) {
            first = &traces[n];
            first->more = more;
        }
        n++;
    }
    if (!first)
        free(more);
    f->n = 0;
    *out = traces;
    *n_out = n;
    return PP_OK;
}

pp_status import_files_find(const char *const *operands, int n, struct import_trace **out, size_t *n_out,
                            struct pp_err *err)
{
    struct names f = {.most = MOST};
    pp_status st =
        n ? PP_OK
          : pp_fail(err, PP_E_USAGE,
                    "no trace given: name the file that the profiler wrote, or the directory of several");
    *out = NULL;
    *n_out = 0;
    for (int i = 0; i < n && st == PP_OK; i++) {
        size_t before = f.n;
        st = pp_is_directory(operands[i]) ? add_directory(&f, operands[i], 1, err)
                                          : add_name(&f, NULL, operands[i], err);
        if (st == PP_OK && f.n == before)
            st = pp_fail(
                err, PP_E_USAGE,
                "the directory %s holds no trace of a known format; 'pipeprobe import --help' lists them",
                operands[i]);
    }
    if (st == PP_OK)
        st = make_traces(&f, out, n_out, err);
    if (st == PP_OK && *n_out > 1) {
        /* A rank each, of those in the order of their names; a rank of its own for every one. */
        struct import_trace *traces = *out;
        int all = 1;
        int64_t world = (int64_t)*n_out;
        for (size_t i = 0; i < *n_out; i++)
            all &= pp_import_rank_of(traces[i].path, &traces[i].rank, &traces[i].world_size);
        for (size_t i = 0; i < *n_out; i++) {
            traces[i].rank = all ? traces[i].rank : (int64_t)i;
            world = traces[i].rank >= world ? traces[i].rank + 1 : world;
        }
        for (size_t i = 0; i < *n_out; i++)
            if (traces[i].world_size < world)
                traces[i].world_size = world;
        qsort(traces, *n_out, sizeof(*traces), by_rank);
        for (size_t i = 1; st == PP_OK && i < *n_out; i++)
            if (traces[i].rank == traces[i - 1].rank)
                st = pp_fail(err, PP_E_USAGE,
                             "%s and %s are both of rank %lld; import one trace of each rank",
                             traces[i - 1].path, traces[i].path, (long long)traces[i].rank);
    }
    free_names(&f);
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
