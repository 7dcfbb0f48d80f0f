/* `pipeprobe ranks`: one answer from the recordings of all ranks of a job. */
#include "tui/cli/cli.h"

#include "probe/base/err.h"
#include "report/ranks/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
    int json, all;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json), .group = "Options",
     .help = "one document of schema pipeprobe.ranks/1"},
    {.name = "all", .letter = 'a', .type = PP_OPT_FLAG, .offset = AT(all),
     .help = "text: a line for every rank, not only for those that are last most often"},
    {.name = NULL},
};
/* clang-format on */

/* ---- which files ---- */

struct names {
    char **path;
    size_t n, room;
};

static pp_status add_name(struct names *f, const char *dir, const char *name, struct pp_err *err)
{
    size_t n = strlen(name) + (dir ? strlen(dir) + 1 : 0) + 1;
    char *path = malloc(n);
    if (f->n == f->room && path) {
        size_t room = f->room ? 2 * f->room : 64;
        char **grown = realloc(f->path, room * sizeof(*grown));
        if (!grown) {
            free(path);
            path = NULL;
        } else {
            f->path = grown;
            f->room = room;
        }
    }
    if (!path)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the names of %zu files", f->n);
    snprintf(path, n, "%s%s%s", dir ? dir : "", dir && dir[strlen(dir) - 1] != '/' ? "/" : "", name);
    f->path[f->n++] = path;
    return PP_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int is_recording_name(const char *name)
{
    size_t n = strlen(name);
    return n > 7 && name[0] != '.' && strcmp(name + n - 7, ".sqlite") == 0;
}

/* Of a directory the *.sqlite in it, by name. */
static pp_status list_directory(struct names *f, const char *dir, struct pp_err *err)
{
    size_t before = f->n;
    DIR *d = opendir(dir);
    pp_status st = d ? PP_OK : pp_fail_errno(err, errno, "reading the directory %s failed", dir);
    for (struct dirent *e; st == PP_OK && (e = readdir(d));)
        if (is_recording_name(e->d_name))
            st = add_name(f, dir, e->d_name, err);
    if (d)
        closedir(d);
    if (f->n > before)
        qsort(f->path + before, f->n - before, sizeof(*f->path), by_name);
    if (st == PP_OK && f->n == before)
        st = pp_fail(err, PP_E_USAGE, "%s holds no recording (*.sqlite)", dir);
    return st;
}

/* ---- reading them ---- */

/* A file that was named has to be one of a rank; one that only lies in the directory may be anything else,
 * which is said. */
static pp_status read_file(const char *path, int named, struct pp_digest *all, struct pp_err *err)
{
    struct pp_digest one = {0};
    pp_status st = pp_digest_read(path, &one, err);
    if (st == PP_OK)
        st = pp_digest_merge(all, &one, err);
    else if (!named && st != PP_E_NO_MEMORY) {
        pp_cli_note("left out", err->text);
        st = PP_OK;
    }
    pp_digest_free(&one);
    return st;
}

static pp_status read_operand(const char *operand, struct pp_digest *all, struct pp_err *err)
{
    struct names f = {0};
    struct stat info;
    int is_dir = stat(operand, &info) == 0 && S_ISDIR(info.st_mode);
    pp_status st = is_dir ? list_directory(&f, operand, err) : add_name(&f, NULL, operand, err);
    for (size_t i = 0; st == PP_OK && i < f.n; i++)
        st = read_file(f.path[i], !is_dir, all, err);
    for (size_t i = 0; i < f.n; i++)
        free(f.path[i]);
    free(f.path);
    return st;
}

/* ---- the command ---- */

static int ranks_main(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err;
    struct pp_digest all = {0};
    struct pp_ranks ranks = {0};
    int n = 0, code;
    const char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    pp_err_clear(&err);
    pp_status st = operands ? PP_OK : pp_fail(&err, PP_E_NO_MEMORY, "no memory for the arguments");
    if (st == PP_OK && (code = pp_cli_parse(&pp_cmd_ranks, &set, argc, argv, operands, &n)) >= 0)
        goto out;
    if (st == PP_OK && !n)
        st = pp_fail(&err, PP_E_USAGE,
                     "no recordings given: name the directory that they are in, or the files of the ranks");
    for (int i = 0; st == PP_OK && i < n; i++)
        st = read_operand(operands[i], &all, &err);
    if (st == PP_OK && !all.n_rows)
        st = pp_fail(&err, PP_E_USAGE, "%s holds no recording of a rank", operands[0]);
    if (st == PP_OK)
        st = pp_ranks_judge(&all, &ranks, &err);
    if (st == PP_OK && o.json && pp_ranks_json(&ranks, stdout) != 0)
        st = pp_fail_errno(&err, errno, "cannot write to standard output");
    else if (st == PP_OK && !o.json)
        pp_ranks_text(&ranks, o.all, stdout);
    code = st != PP_OK                           ? pp_cli_fail(&pp_cmd_ranks, &err)
           : ranks.kind == PP_RANKS_INCONCLUSIVE ? pp_status_exit_code(PP_E_INCONCLUSIVE)
                                                 : 0;
out:
    pp_ranks_free(&ranks);
    pp_digest_free(&all);
    free(operands);
    return code;
}

const struct pp_command pp_cmd_ranks = {
    .name = "ranks",
    .summary = "name the rank that a job of many processes waits for, and why",
    .usage = "ranks DIRECTORY | FILE... [options]",
    .opts = opts,
    .notes = "Reads the recordings of a job's ranks, one each: of a directory all *.sqlite.\n"
             "Put pipeprobe in front of each process: its launcher says which rank it is, and\n"
             "the recordings are pipeprobe-JOB/rank0000.sqlite, ... Steps are compared by\n"
             "number; clocks of machines need not agree. Exit code: 0, or 3 when there are\n"
             "fewer than 2 ranks or 20 steps to compare.",
    .examples = {"torchrun --nproc-per-node 4 --no-python pipeprobe exec -- python train.py",
                 "pipeprobe ranks pipeprobe-JOB"},
    .run = ranks_main,
};
