/* `pipeprobe ranks`: one answer from the recordings of all ranks of a job. */
#include "tui/cli/cli.h"
#include "tui/cli/output.h"
#include "tui/cli/trace_report.h"
#include "probe/base/err.h"
#include "report/audit/audit_read.h"
#include "report/ranks/ranks.h"
#include <unistd.h>

struct options {
    const char *html;
    double gpu_hour;
    int json, all, force, audit;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json), .group = "Options",
     .help = "one document of schema pipeprobe.ranks/1 (--audit: pipeprobe.audit/1)"},
    {.name = "html", .type = PP_OPT_STRING, .offset = AT(html), .arg = "FILE",
     .help = "a page with a map of ranks and time, and the first batch by rank and epoch; - is stdout"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force), .dflt = "0",
     .help = "replace FILE"},
    {.name = "all", .letter = 'a', .type = PP_OPT_FLAG, .offset = AT(all),
     .help = "text: a line for every rank (--audit: epoch), not only for those that stand out"},
    {.name = "gpu-hour", .type = PP_OPT_DOUBLE, .offset = AT(gpu_hour), .min = 0, .max = 1e6, .arg = "PRICE",
     .dflt = "0", .help = "say what the wait for the last rank costs in a day where a GPU's hour costs PRICE"},
    {.name = "audit", .type = PP_OPT_FLAG, .offset = AT(audit), .dflt = "0",
     .help = "instead: was each sample used once per epoch, and if not, why"},
    {.name = NULL},
};
/* clang-format on */

/* ---- the audit of samples ---- */

static pp_status add_recording(void *ctx, const char *path, int named, struct pp_err *err)
{
    pp_status st = pp_digest_is_file(path)
                       ? pp_fail(err, PP_E_USAGE,
                                 "%s is a digest, which holds no samples: name the recordings", path)
                       : pp_audit_files_add(ctx, path, err);
    return pp_rank_file_leave_out(st, named, err);
}

static pp_status audit_samples(const struct options *o, const char *const *operands, int n, int *code,
                               struct pp_err *err)
{
    struct pp_audit_files files = {0};
    struct pp_audit a = {0};
    pp_status st = pp_traces_only(operands, n)
                       ? pp_fail(
                             err, PP_E_UNSUPPORTED,
                             "%s: traces of other profilers do not say which samples were used; record the "
                             "job: pipeprobe exec -- torchrun train.py",
                             operands[0])
                       : pp_rank_files_each(operands, n, add_recording, &files, err);
    if (st == PP_OK && !files.n)
        st = pp_fail(err, PP_E_USAGE, "%s holds no recording", operands[0]);
    if (st == PP_OK)
        st = pp_audit_files_judge(&files, &a, err);
    if (st == PP_OK && o->json && pp_fields_json(pp_audit_fields, &a, stdout) != 0)
        st = pp_fail_errno(err, errno, "cannot write to standard output");
    else if (st == PP_OK && !o->json)
        pp_audit_text(&a, o->all, stdout);
    *code = a.kind == PP_AUDIT_BROKEN         ? 1
            : a.kind == PP_AUDIT_INCONCLUSIVE ? pp_status_exit_code(PP_E_INCONCLUSIVE)
                                              : 0;
    pp_arena_free(&a.arena);
    pp_audit_files_free(&files);
    return st;
}

/* ---- the command ---- */

static int write_page(void *ranks, FILE *out)
{
    return pp_ranks_html(ranks, out);
}

static pp_status judge_ranks(const struct options *o, const char *const *operands, int n, int *code,
                             struct pp_err *err)
{
    struct pp_digest all = {0};
    struct pp_ranks ranks = {0};
    pp_status st = pp_rank_files_read(operands, n, NULL, &all, err);
    if (st == PP_OK)
        st = pp_ranks_judge(&all, &ranks, err);
    if (st == PP_OK)
        pp_ranks_price(&ranks, o->gpu_hour);
    if (st == PP_OK && o->html)
        st = pp_output_write(o->html, "page", write_page, &ranks, err);
    if (st == PP_OK && o->json && pp_fields_json(pp_ranks_fields, &ranks, stdout) != 0)
        st = pp_fail_errno(err, errno, "cannot write to standard output");
    else if (st == PP_OK && !o->json && !(o->html && pp_output_is_stdout(o->html)))
        pp_ranks_text(&ranks, o->all, stdout);
    /* The commands and paths of the answer are those of the machines that recorded. */
    char here[HOST_NAME_MAX + 1] = "";
    const char *first = NULL;
    int others = 0, elsewhere = st == PP_OK;
    gethostname(here, HOST_NAME_MAX);
    for (size_t i = 0; elsewhere && i < all.n_rows; i++) {
        const char *host = all.rows[i].host;
        elsewhere = host && strcmp(host, here) != 0;
        first = first ? first : host;
        others |= elsewhere && strcmp(host, first) != 0;
    }
    if (elsewhere && first)
        pp_cli_say(
            stderr,
            "note       recorded on %.*s%s, not on this one; commands and paths in the answer are for %s",
            HOST_NAME_MAX, first, others ? " and other machines" : "",
            others ? "those machines" : "that one");
    *code = ranks.kind == PP_RANKS_INCONCLUSIVE ? pp_status_exit_code(PP_E_INCONCLUSIVE) : 0;
    pp_ranks_free(&ranks);
    pp_digest_free(&all);
    return st;
}

static pp_status act(void *fields, const char **operands, int n, int *code, struct pp_err *err)
{
    const struct options *o = fields;
    pp_status st = PP_OK;
    if (o->html && o->json && pp_output_is_stdout(o->html))
        st = pp_fail(err, PP_E_USAGE, "--html - and --json both write to standard output; name a file");
    if (st == PP_OK && o->html && o->audit)
        st = pp_fail(err, PP_E_USAGE, "--html and --audit exclude each other: the page has no audit");
    if (st == PP_OK && o->html && !pp_output_is_stdout(o->html))
        st = pp_output_check(o->html, o->force, err);
    if (st == PP_OK)
        st = (o->audit ? audit_samples : judge_ranks)(o, operands, n, code, err);
    return st;
}

const struct pp_command pp_cmd_ranks = {
    .name = "ranks",
    .summary = "name the rank that a job of many processes waits for, and why",
    .usage = "ranks DIRECTORY | FILE... [options]",
    .opts = opts,
    .notes = "Reads the recordings of a job's ranks, one each (of a directory all *.sqlite),\n"
             "and digests that pipeprobe merge wrote (*.digest); or a directory of traces,\n"
             "one of each rank, as pipeprobe import takes them.\n"
             "Put pipeprobe in front of the launcher or of each process: the launcher says\n"
             "which rank it is; files are pipeprobe-JOB/rank0000.sqlite, ... Steps are\n"
             "compared by number; clocks of machines need not agree. Exit code: 0, or 3 when\n"
             "there are fewer than 2 ranks or 20 steps to compare. --audit: 1 when\n"
             "samples were used too often or not at all, 3 when the recordings cannot tell.",
    .examples = {"pipeprobe exec -- torchrun --nproc_per_node 4 train.py",
                 "pipeprobe ranks pipeprobe-JOB --html job.html"},
    .fields = sizeof(struct options),
    .act = act,
};
