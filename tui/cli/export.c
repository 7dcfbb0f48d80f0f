/* `pipeprobe export`: a recorded run in another tool's format. */
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "report/export/export.h"
#include "tui/cli/cli.h"
#include "tui/cli/export_otlp.h"
#include "tui/cli/export_ranks.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/metrics/text_export.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char *output;
    int to, force, quiet;
    uint64_t max_bytes;
};

#define ROW(name, help) {#name, help},
#define METRICS_ROW(name, suffix, kind, help) {#name, help},
static const struct pp_opt_choice formats[] = {
    {"auto", "default: the suffix of --output"},
    PP_EXPORT_FORMATS(ROW) METRICS_EXPORT_FORMATS(METRICS_ROW){"otlp", EXPORT_OTLP_HELP},
    {NULL, NULL},
};
#undef ROW
#undef METRICS_ROW

/* What is written: spans in another tool's format, metrics, or traces. One of the three is there. */
struct target {
    const struct pp_exporter *spans;
    const struct metrics_export_format *metrics;
    int traces;
};

#define AT(field) offsetof(struct options, field)
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "to", .letter = 't', .type = PP_OPT_CHOICE, .offset = AT(to), .arg = "FORMAT",
     .choices = formats, .dflt = "auto", .group = "Options", .help = "what to write"},
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "FILE",
     .help = "default: FILE with the format's suffix; - is standard output"},
    {.name = "max-bytes", .type = PP_OPT_SIZE, .offset = AT(max_bytes), .arg = "SIZE", .dflt = "64M", .min = 4096,
     .max = 1e12, .help = "of otlp: the batches that were waited for longest come first"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force),
     .help = "replace an existing output file"},
    {.name = "quiet", .letter = 'q', .type = PP_OPT_FLAG, .offset = AT(quiet),
     .help = "only errors on standard error"},
    {.name = NULL},
};
/* clang-format on */

static int on_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct pp_progress *p = ctx;
    char text[32];
    if (p->on)
        pp_progress_line(p, "%s spans, %.0f %%", pp_text_count(text, sizeof(text), (double)done),
                         total ? 100.0 * (double)done / (double)total : 100.0);
    return interrupt_asked();
}

/* ---- what to export, as what, to where ---- */

static int has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n > m && strcmp(path + n - m, suffix) == 0;
}

static pp_status choose_format(const struct options *o, struct target *to, struct pp_err *err)
{
    int n = 0, m = 0;
    while (pp_exporters[n])
        n++;
    while (metrics_export_formats[m].name)
        m++;
    *to = (struct target){0};
    if (o->to > n + m) /* choice 0 is "auto" */
        to->traces = 1;
    else if (o->to > n)
        to->metrics = &metrics_export_formats[o->to - 1 - n];
    else if (o->to)
        to->spans = pp_exporters[o->to - 1];
    else if (o->output && (export_otlp_is_url(o->output) || has_suffix(o->output, EXPORT_OTLP_SUFFIX)))
        to->traces = 1;
    else if (o->output && !(to->spans = pp_exporter_by_suffix(o->output)))
        to->metrics = metrics_export_by_suffix(o->output);
    if (to->spans || to->metrics || to->traces)
        return PP_OK;
    return o->output
               ? pp_fail(
                     err, PP_E_USAGE,
                     "the suffix of %s is not a format; give --to, 'pipeprobe export --help' lists the formats",
                     o->output)
               : pp_fail(
                     err, PP_E_USAGE,
                     "no format given: use --to, or -o with the format's suffix; 'pipeprobe export --help' lists them");
}

/* run.sqlite -> run.csv; as nsys, whose suffix is the recording's own, run.nsys.sqlite. The caller frees.
 */
static char *default_output(const char *input, const struct target *to)
{
    size_t n = strlen(input) - (has_suffix(input, ".sqlite") ? strlen(".sqlite") : 0);
    char *path = NULL;
    if (asprintf(&path, "%.*s%s%s", (int)n, input, to->spans == &pp_export_nsys ? ".nsys" : "",
                 to->spans     ? to->spans->suffixes[0]
                 : to->metrics ? to->metrics->suffix
                               : EXPORT_OTLP_SUFFIX) < 0)
        return NULL;
    return path;
}

static pp_status choose_output(const struct options *o, const char *input, const struct target *to,
                               char **out, struct pp_err *err)
{
    *out = o->output ? strdup(o->output) : default_output(input, to);
    if (!*out)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the arguments");
    if (to->spans == &pp_export_nsys && !has_suffix(*out, ".sqlite") && strcmp(*out, "-") != 0)
        return pp_fail(err, PP_E_USAGE, "-o %s: nsys opens only names that end in .sqlite", *out);
    return PP_OK;
}

/* ---- what the user should know ---- */

/* nsys stats X.nsys-rep reads a sibling X.sqlite, however old either is. */
static void warn_sibling(const char *out)
{
    char *report = NULL;
    if (asprintf(&report, "%.*s.nsys-rep", (int)(strlen(out) - strlen(".sqlite")), out) < 0)
        return;
    if (access(report, F_OK) == 0)
        fprintf(stderr, "note: 'nsys stats %s' will read the export %s from now on\n", report, out);
    free(report);
}

static void note_loss(void *ctx, const char *what, uint64_t count, const char *why)
{
    char text[32];
    (void)ctx;
    if (count)
        fprintf(stderr, "note: missing in the recording: %s %s: %s\n",
                pp_text_count(text, sizeof(text), (double)count), what, why);
    else /* not a number of things */
        fprintf(stderr, "note: %s: %s\n", what, why);
}

static void note_losses(const struct pp_source *source)
{
    struct pp_err err;
    source->each_loss(source->ctx, note_loss, NULL, &err);
}

static void note_done(const struct pp_source *source, const struct pp_exporter *to, const char *out,
                      const struct pp_export_result *r)
{
    char text[32];
    int to_stdout = strcmp(out, "-") == 0;
    fprintf(stderr, "%s spans to %s\n", pp_text_count(text, sizeof(text), (double)r->spans),
            to_stdout ? "standard output" : out);
    if (r->gpu_rows)
        fprintf(stderr, "%s rows of GPU activity with them\n",
                pp_text_count(text, sizeof(text), (double)r->gpu_rows));
    if (r->requests)
        fprintf(stderr, "%s to storage with them\n",
                pp_text_counted(text, sizeof(text), (double)r->requests, "request", "requests"));
    note_losses(source);
    if (r->damaged_chunks)
        fprintf(stderr, "note: %s damaged (checksum): those spans are missing\n",
                pp_text_counted(text, sizeof(text), (double)r->damaged_chunks, "chunk of the recording is",
                                "chunks of the recording are"));
    if (to->next && !to_stdout) {
        fputs("next: ", stderr);
        fprintf(stderr, to->next, out);
        fputc('\n', stderr);
    }
    if (to == &pp_export_nsys)
        warn_sibling(out);
}

/* One recording, or those of several ranks on one clock. */
static pp_status export_files(const char *const *inputs, int n, const struct pp_exporter *to, const char *out,
                              const struct options *o, struct pp_err *err)
{
    struct pp_source source = {0};
    struct export_ranks *ranks = NULL;
    struct pp_export_result result;
    struct pp_progress progress;
    struct pp_export_opts eo = {
        .out = out, .force = o->force, .no_flows = n > 1, .progress = on_progress, .progress_ctx = &progress};
    pp_status st = n > 1 ? export_ranks_open(inputs, (size_t)n, o->quiet, &ranks, &source, err)
                         : pp_source_open_threads(inputs[0], &source, err);
    if (st != PP_OK)
        goto out;
    pp_progress_begin(&progress, o->quiet);
    st = pp_export(&source, to, &eo, &result, err);
    pp_progress_clear(&progress);
    if (st == PP_OK && !o->quiet)
        note_done(&source, to, out, &result);
out:
    if (n > 1)
        export_ranks_free(ranks);
    else
        pp_source_close(&source);
    return st;
}

static pp_status export_metrics(const char *input, const struct metrics_export_format *to, const char *out,
                                const struct options *o, struct pp_err *err)
{
    pp_status st = metrics_export(input, to, out, o->force, err);
    if (st == PP_OK && !o->quiet && to->kind == METRICS_AS_EVENTS)
        fprintf(stderr, "gauges with their times to %s\nnext: tensorboard --logdir %s\n", out, out);
    else if (st == PP_OK && !o->quiet)
        fprintf(stderr, "metrics%s to %s\n", to->kind == METRICS_AT_THE_END ? "" : " with their times",
                strcmp(out, "-") == 0 ? "standard output" : out);
    return st;
}

static pp_status export_traces(const char *input, const char *out, const struct options *o,
                               struct pp_err *err)
{
    struct export_otlp_opts eo = {.out = out,
                                  .force = o->force,
                                  .quiet = o->quiet,
                                  .max_bytes = o->max_bytes};
    return export_otlp(input, &eo, err);
}

enum { MOST_RANKS = 256 };

static pp_status check_operands(const char *const *operands, int n, const struct target *to,
                                struct pp_err *err)
{
    if (n > 1 && !to->spans)
        return pp_fail(err, PP_E_USAGE, "%s are of one recording, but %d were given (%s, %s%s)",
                       to->metrics ? "metrics" : "traces for a server", n, operands[0], operands[1],
                       n > 2 ? ", ..." : "");
    if (n > MOST_RANKS)
        return pp_fail(
            err, PP_E_USAGE,
            "a timeline of %d recordings cannot be read; name at most %d, such as the straggler's and one other rank's",
            n, MOST_RANKS);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(operands[i], operands[k]) == 0)
                return pp_fail(err, PP_E_USAGE, "%s is named twice", operands[i]);
    return PP_OK;
}

static int export_main(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    struct target to = {0};
    char *out = NULL;
    int n = 0, exit_code = 0;
    const char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    pp_status st = operands ? PP_OK : pp_fail(&err, PP_E_NO_MEMORY, "no memory for the arguments");
    if (st == PP_OK && (exit_code = pp_cli_parse(&pp_cmd_export, &set, argc, argv, operands, &n)) >= 0)
        goto out;
    interrupt_catch(INTERRUPT_ONCE, NULL); /* one that is stopped takes its temporary file along */
    if (st == PP_OK)
        st = n ? PP_OK
               : pp_fail(&err, PP_E_USAGE, "no recording given: name the FILE that 'pipeprobe run' wrote");
    if (st == PP_OK)
        st = choose_format(&o, &to, &err);
    if (st == PP_OK)
        st = check_operands(operands, n, &to, &err);
    if (st == PP_OK)
        st = choose_output(&o, operands[0], &to, &out, &err);
    if (st == PP_OK)
        st = to.spans     ? export_files(operands, n, to.spans, out, &o, &err)
             : to.metrics ? export_metrics(operands[0], to.metrics, out, &o, &err)
                          : export_traces(operands[0], out, &o, &err);
    exit_code = st == PP_OK ? 0 : pp_cli_fail(&pp_cmd_export, &err);
out:
    free(out);
    free(operands);
    return exit_code;
}

const struct pp_command pp_cmd_export = {
    .name = "export",
    .summary = "write a recorded run in another tool's format",
    .usage = "export FILE... --to FORMAT [-o OUT] [options]",
    .opts = opts,
    .notes = "OUT is created when it is complete. Several FILEs are ranks of one job, in one\n"
             "timeline: the clocks of ranks on other hosts are aligned with the first FILE's\n"
             "by the ends of collective steps. Details: docs/reference/exports.md.",
    .examples = {"pipeprobe export run.sqlite --to nsys",
                 "pipeprobe export job/rank0000.sqlite job/rank0003.sqlite --to perfetto"},
    .run = export_main,
};
