/* `pipeprobe import`: traces that other profilers wrote, as recordings. */
#include "tui/cli/cli.h"
#include "tui/cli/shipped.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/rank_files.h"
#include "tui/cli/recording_name.h"
#include "collectors/import/import.h"
#include "probe/base/err.h"
#include "probe/base/text.h"

struct options {
    const char *output;
    struct pp_opt_list maps;
    int force, quiet;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "FILE",
     .group = "Options", .help = "default: pipeprobe-DATE-TIME.sqlite; of several traces NAME-rank0003.sqlite"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force),
     .help = "replace existing recordings"},
    {.name = "map", .type = PP_OPT_LIST, .offset = AT(maps), .arg = "FILE|NAME",
     .help = "phases by the names of ranges, as of exec (pytorch, dali, a file)"},
    {.name = "quiet", .letter = 'q', .type = PP_OPT_FLAG, .offset = AT(quiet),
     .help = "only errors on standard error"},
    {.name = NULL},
};
/* clang-format on */

static int catching;

/* While a trace is read there is no file of it yet, and a signal ends us as ever. While its file is written
 * the first one ends the import, and the file is removed; a second one ends us at once, and leaves it. */
static pp_status stopped(struct pp_err *err)
{
    if (!catching)
        interrupt_catch(INTERRUPT_ONCE | INTERRUPT_AS_FOUND, NULL);
    catching = 1;
    return interrupt_status(err);
}

/* One trace into one recording. several: the file is that of its rank. */
static pp_status import_one(const struct options *o, const struct import_trace *t, int several,
                            const struct pp_namemap *map, const char *command_line, struct pp_err *err)
{
    char path[4096], steps[32], waits[32];
    struct pp_identity rank = pp_identity_of("import", t->rank, t->world_size);
    struct pp_import_result r;
    snprintf(rank.job, sizeof(rank.job), "import");
    pp_status st = pp_recording_name(o->output, several ? &rank : NULL, o->force, path, sizeof(path), err);
    if (st == PP_OK)
        st = pp_import_file(t->path,
                            &(struct pp_import_opts){.output = path,
                                                     .force = o->force,
                                                     .map = map,
                                                     .command_line = command_line,
                                                     .rank = t->rank,
                                                     .world_size = t->world_size,
                                                     .stopped = stopped,
                                                     .more = (const char *const *)t->more,
                                                     .n_more = t->n_more},
                            &r, err);
    if (catching)
        interrupt_catch_no_more();
    catching = 0;
    if (st != PP_OK || o->quiet)
        return st;
    pp_cli_say(stderr, "imported   %s: %s, %s of the trainer (%s)", path,
               pp_text_counted(steps, sizeof(steps), (double)r.steps, "step", "steps"),
               pp_text_counted(waits, sizeof(waits), (double)r.fetches, "wait", "waits"), r.what);
    if (r.ended)
        pp_cli_say(stderr, "note       %s is cut: %s, at byte %llu; what is whole before it was taken",
                   t->path, r.ended, (unsigned long long)r.ended_at);
    if (!r.workers)
        pp_cli_note("note",
                    "the trace has no worker process; to see them: pipeprobe exec -- python train.py");
    if (r.other_trainers)
        pp_cli_say(
            stderr,
            "note       %llu other training processes are left out; where they have files of their own, import these by themselves",
            (unsigned long long)r.other_trainers);
    if (!several)
        pp_cli_say(stderr, "next       pipeprobe report %s", path);
    return PP_OK;
}

static int import_main(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err;
    struct pp_namemap *map = NULL;
    struct import_trace *traces = NULL;
    size_t n_traces = 0;
    char command[1024];
    char *text = NULL;
    size_t rows;
    const char **operands = (const char **)argv;
    size_t begins = (size_t)snprintf(command, sizeof(command), "pipeprobe ");
    pp_shell_words(argv, command + begins, sizeof(command) - begins);
    int n, code = pp_cli_parse(&pp_cmd_import, &set, argc, argv, operands, &n);
    if (code >= 0)
        return code;
    pp_err_clear(&err);
    pp_status st = import_files_find(operands, n, &traces, &n_traces, &err);
    if (st == PP_OK && !(map = pp_namemap_new()))
        st = pp_fail(&err, PP_E_NO_MEMORY, "no memory for the maps");
    if (st == PP_OK)
        st = range_maps_read(&o.maps, &text, &rows, &err);
    if (st == PP_OK)
        st = pp_namemap_add_text(map, text, "--map", &err);
    for (size_t i = 0; i < n_traces && st == PP_OK; i++)
        if (i == 0 || (st = interrupt_status(&err)) == PP_OK) /* it came when the last file was finished */
            st = import_one(&o, &traces[i], n_traces > 1, map, command, &err);
    if (st == PP_OK && n_traces > 1 && !o.quiet)
        pp_cli_note("next", "pipeprobe ranks FILE... compares them");
    code = st == PP_OK ? 0 : pp_cli_fail(&pp_cmd_import, &err);
    free(text);
    import_files_free(traces, n_traces);
    pp_namemap_free(map);
    return code;
}

const struct pp_command pp_cmd_import = {
    .name = "import",
    .summary = "make a recording of another profiler's trace",
    .usage = "import TRACE|DIRECTORY... [-o FILE] [options]",
    .opts = opts,
    .notes = "TRACE: torch.profiler's Chrome JSON, .json or .json.gz, of any version since\n"
             "2021; Nsight Systems' .sqlite; .xplane.pb of JAX or TensorFlow. A directory\n"
             "holds one per rank. They tell how long the trainer waits for data, not why:\n"
             "they have no workers. DFTracer's .pfw or .pfw.gz have the reads of workers:\n"
             "a directory holds one per process of one rank.\n"
             "'pipeprobe report TRACE' judges a trace without keeping the recording.",
    .examples = {"pipeprobe import train.pt.trace.json.gz -o train.sqlite",
                 "pipeprobe import profiles/ -o job.sqlite"},
    .run = import_main,
};
