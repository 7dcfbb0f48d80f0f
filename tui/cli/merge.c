/* `pipeprobe merge`: the recordings of ranks, or digests of them, as one digest. */
#include "tui/cli/cli.h"
#include "tui/cli/merge_follow.h"
#include "tui/cli/output.h"
#include "tui/cli/rank_files.h"

#include "probe/base/err.h"
#include "report/ranks/digest_file.h"

#include <stdlib.h>

struct options {
    const char *output;
    uint64_t every_ns;
    int force, beside;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "FILE",
     .group = "Options", .help = "the digest; call it NAME.digest, as directories are searched for"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force), .dflt = "0",
     .help = "replace FILE"},
    {.name = "every", .type = PP_OPT_DURATION, .offset = AT(every_ns), .arg = "TIME", .min = 1e8, .max = 86400e9,
     .help = "while they are recorded: write it anew each TIME, until all have ended"},
    {.name = "beside", .advanced = 1, .type = PP_OPT_FLAG, .offset = AT(beside), .dflt = "0",
     .help = "for run and exec: names of recordings come by standard input, until it ends"},
    {.name = NULL},
};
/* clang-format on */

static int merge_main(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err;
    struct pp_digest all = {0};
    int n = 0, code;
    const char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    pp_err_clear(&err);
    pp_status st = operands ? PP_OK : pp_fail(&err, PP_E_NO_MEMORY, "no memory for the arguments");
    if (st == PP_OK && (code = pp_cli_parse(&pp_cmd_merge, &set, argc, argv, operands, &n)) >= 0)
        goto out;
    if (st == PP_OK && pp_output_is_stdout(o.output))
        st = pp_fail(&err, PP_E_USAGE, "give the digest a name: --output FILE");
    if (st == PP_OK)
        st = pp_output_check(o.output, o.force, &err);
    if (st == PP_OK && o.every_ns)
        st = merge_follow(&(struct merge_follow_opts){operands, n, o.beside, o.output, o.every_ns}, &err);
    else if (st == PP_OK)
        st = pp_rank_files_read(operands, n, o.output, &all, &err);
    if (st == PP_OK && !o.every_ns)
        st = pp_digest_store(&all, o.output, &err);
    code = st == PP_OK ? 0 : pp_cli_fail(&pp_cmd_merge, &err);
out:
    pp_digest_free(&all);
    free(operands);
    return code;
}

const struct pp_command pp_cmd_merge = {
    .name = "merge",
    .summary = "make one small digest of the recordings of many ranks",
    .usage = "merge FILE|DIRECTORY... -o DIGEST",
    .opts = opts,
    .notes = "Takes recordings and digests in any order and any tree: the result is the same\n"
             "file, byte by byte. Merge per machine first, then what the machines gave.\n"
             "pipeprobe ranks reads digests as it reads recordings. --every is for a job that\n"
             "runs: the digest is then at most TIME old when a machine is lost. Started with\n"
             "run or exec, that is --digest-to DIR.",
    .examples = {"pipeprobe merge /scratch/job -o $(hostname).digest",
                 "pipeprobe merge *.digest -o job.digest"},
    .run = merge_main,
};
