#include "probe/base/err.h"
#include "report/build/build.h"
#include "report/render/render.h"
#include "tui/cli/cli.h"
#include "tui/cli/output.h"
#include "tui/cli/trace_report.h"

#include "collectors/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct options {
    int format, color, json, full, force;
    const char *output;
};
enum { AUTO, TEXT, MD, HTML, JSON, CSV };

#define AT(field) offsetof(struct options, field)
static const struct pp_opt_choice formats[] = {
    {"auto", "default: by the suffix of --output (.md, .html, .json, .csv), else text"},
    {"text", "for a terminal"},
    {"md", "Markdown for a pull request"},
    {"html", "one self-contained page with charts"},
    {"json", "one document of schema pipeprobe.report/1"},
    {"csv", "section,item,field,value"},
    {NULL, NULL},
};
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "format", .type = PP_OPT_CHOICE, .offset = AT(format), .choices = formats, .arg = "FORMAT",
     .dflt = "auto", .group = "Options", .help = "text is the answer on one screen; the others have everything"},
    {.name = "full", .type = PP_OPT_FLAG, .offset = AT(full),
     .help = "text: everything that is known, not only the answer"},
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json), .help = "the same as --format json"},
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "FILE",
     .help = "write to FILE instead of standard output"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force),
     .help = "replace an existing output file"},
    {.name = "color", .type = PP_OPT_CHOICE, .offset = AT(color), .choices = pp_cli_colors, .dflt = "auto",
     .help = "auto: on a terminal, unless NO_COLOR is set"},
    {.name = NULL},
};
/* clang-format on */

static pp_status read_operand(const char *const *operands, int n, struct pp_err *err)
{
    if (n == 0)
        return pp_fail(err, PP_E_USAGE, "no recording given: name the FILE that 'pipeprobe run' wrote");
    if (n > 1)
        return pp_fail(err, PP_E_USAGE, "one recording at a time, but %d were given (%s, %s%s)", n,
                       operands[0], operands[1], n > 2 ? ", ..." : "");
    return PP_OK;
}

static const struct {
    const char *end;
    int format;
} suffixes[] = {{".md", MD},   {".html", HTML}, {".htm", HTML},  {".json", JSON},
                {".csv", CSV}, {".txt", TEXT},  {".text", TEXT}, {".log", TEXT}};
enum { SUFFIXES = sizeof(suffixes) / sizeof(*suffixes) };

/* Of the last part of the path; NULL: it has none. */
static const char *suffix_of(const char *output)
{
    const char *base = strrchr(output, '/'), *dot = strrchr(base ? base : output, '.');
    return dot && dot != (base ? base + 1 : output) ? dot : NULL;
}

/* A suffix that is no format is a wish that cannot be met, not text under another name. */
static pp_status check_suffix(const struct options *o, struct pp_err *err)
{
    const char *dot = o->output && strncmp(o->output, "/dev/", 5) != 0 ? suffix_of(o->output) : NULL;
    if (!dot || o->json || o->format != AUTO)
        return PP_OK;
    for (size_t i = 0; i < SUFFIXES; i++)
        if (strcasecmp(dot, suffixes[i].end) == 0)
            return PP_OK;
    return pp_fail(
        err, PP_E_USAGE,
        "--output %s: a report is not written as %s; the suffixes are .txt, .md, .html, .json and .csv, or give "
        "--format",
        o->output, dot);
}

static pp_status check_output(const struct options *o, const char *input, struct pp_err *err)
{
    if (check_suffix(o, err) != PP_OK)
        return err->code;
    if (o->output && strcmp(o->output, input) == 0)
        return pp_fail(err, PP_E_USAGE, "--output %s is the recording itself", o->output);
    return pp_output_check(o->output, o->force, err);
}

static int format_of(const struct options *o)
{
    const char *dot = o->output ? suffix_of(o->output) : NULL;
    if (o->json)
        return JSON;
    for (size_t i = 0; o->format == AUTO && dot && i < SUFFIXES; i++)
        if (strcasecmp(dot, suffixes[i].end) == 0)
            return suffixes[i].format;
    return o->format == AUTO ? TEXT : o->format;
}

static int render(const struct options *o, const struct pp_report *r, FILE *out)
{
    switch (format_of(o)) {
    case MD: return pp_render_md(r, out);
    case HTML: return pp_render_html(r, out);
    case JSON: return pp_render_json(r, out);
    case CSV: return pp_render_csv(r, out);
    }
    /* a file is read elsewhere: 80 columns, and no colour unless asked for */
    int file = !pp_output_is_stdout(o->output),
        color = file ? o->color == PP_COLOR_ALWAYS : pp_cli_use_color((enum pp_color)o->color, out);
    return (o->full ? pp_render_text : pp_render_short)(r, out, color, file ? 80 : pp_cli_columns(out));
}

static pp_status write_file(const struct options *o, const struct pp_report *r, struct pp_err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", o->output);
    int failed = render(o, r, out);
    failed |= fclose(out);
    pp_status status = failed ? pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", o->output)
                              : pp_output_write(o->output, text, size, err);
    free(text);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    struct pp_report *report = NULL;
    int n, exit_code = 0;
    const char **operands = calloc((size_t)argc + 1, sizeof(*operands));
    pp_status status = operands ? PP_OK : pp_fail(&err, PP_E_NO_MEMORY, "no memory for the arguments");
    if (status == PP_OK && (exit_code = pp_cli_parse(&pp_cmd_report, &set, argc, argv, operands, &n)) >= 0)
        goto out;
    if (status == PP_OK)
        status = read_operand(operands, n, &err);
    if (status == PP_OK)
        status = check_output(&o, operands[0], &err);
    if (status == PP_OK)
        status = pp_import_trace_format(operands[0]) ? pp_trace_report(operands[0], &report, &err)
                                                     : pp_report_build(operands[0], &report, &err);
    if (status == PP_OK && !pp_output_is_stdout(o.output))
        status = write_file(&o, report, &err);
    else if (status == PP_OK && render(&o, report, stdout) != 0)
        status = pp_fail_errno(&err, errno, "cannot write the report to standard output");
    exit_code = status == PP_OK ? pp_report_exit_code(report) : pp_cli_fail(&pp_cmd_report, &err);
out:
    pp_report_free(report);
    free(operands);
    return exit_code;
}

const struct pp_command pp_cmd_report = {
    .name = "report",
    .summary = "show the bottleneck of a recorded run, with the evidence",
    .usage = "report FILE [options]",
    .opts = opts,
    .notes = "FILE may be a trace of another profiler, as 'pipeprobe import' takes it.\n"
             "Exit code: 0 for a verdict and for a ceiling (a run without a step), 3 when too\n"
             "little was recorded for a verdict, 4 when FILE is damaged or not a recording.",
    .examples = {"pipeprobe report run.sqlite -o report.html",
                 "pipeprobe report run.sqlite --json | jq .verdict.sentence"},
    .run = run,
};
