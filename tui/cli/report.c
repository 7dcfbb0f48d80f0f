#include "probe/base/err.h"
#include "report/build/build.h"
#include "report/render/render.h"
#include "tui/cli/cli.h"
#include "tui/cli/output.h"
#include "tui/cli/recording_name.h"
#include "tui/cli/trace_report.h"
#include <strings.h>

struct options {
    int format, color, json, full, force;
    double gpu_hour;
    const char *output, *loader;
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
    {.name = "loader", .type = PP_OPT_STRING, .offset = AT(loader), .arg = "NAME",
     .help = "of several DataLoaders the one to judge: its variable, or file:line"},
    {.name = "output", .letter = 'o', .type = PP_OPT_STRING, .offset = AT(output), .arg = "FILE",
     .help = "write to FILE instead of standard output"},
    {.name = "force", .letter = 'f', .type = PP_OPT_FLAG, .offset = AT(force),
     .help = "replace an existing output file"},
    {.name = "gpu-hour", .type = PP_OPT_DOUBLE, .offset = AT(gpu_hour), .min = 0, .max = 1e6, .arg = "PRICE",
     .dflt = "0", .help = "say what the wait costs in a day where an hour of a GPU costs PRICE"},
    {.name = "color", .type = PP_OPT_CHOICE, .offset = AT(color), .choices = pp_cli_colors, .dflt = "auto",
     .help = "auto: on a terminal, unless NO_COLOR is set"},
    {.name = NULL},
};
/* clang-format on */

static const struct {
    const char *end;
    int format;
} suffixes[] = {{".md", MD},   {".html", HTML}, {".htm", HTML},  {".json", JSON},
                {".csv", CSV}, {".txt", TEXT},  {".text", TEXT}, {".log", TEXT}};
enum { SUFFIXES = sizeof(suffixes) / sizeof(*suffixes) };

struct shown {
    const struct options *o;
    const struct pp_report *report;
};

static int render(void *ctx, FILE *out)
{
    const struct shown *s = ctx;
    const struct options *o = s->o;
    switch (o->format) {
    case MD: return pp_render_md(s->report, out);
    case HTML: return pp_render_html(s->report, out);
    case JSON: return pp_render_json(s->report, out);
    case CSV: return pp_render_csv(s->report, out);
    }
    /* a file is read elsewhere: 80 columns, and no colour unless asked for */
    int file = !pp_output_is_stdout(o->output),
        color = file ? o->color == PP_COLOR_ALWAYS : pp_cli_use_color((enum pp_color)o->color, out);
    return (o->full ? pp_render_text : pp_render_short)(s->report, out, color,
                                                        file ? 80 : pp_cli_columns(out));
}

static pp_status act(void *fields, const char **operands, int n, int *code, struct pp_err *err)
{
    struct options *o = fields;
    struct pp_report *report = NULL;
    char path[4096];
    /* By the suffix, where there is one; that of /dev/stdout is no wish. A suffix that is no format is a wish
     * that cannot be met, not text under another name. */
    const char *name = o->output ? basename(o->output) : "", *dot = strrchr(name, '.');
    int wished = AUTO;
    size_t known = 0;
    while (dot && known < SUFFIXES && strcasecmp(dot, suffixes[known].end) != 0)
        known++;
    if (dot && dot != name)
        wished = known < SUFFIXES ? suffixes[known].format : strncmp(o->output, "/dev/", 5) == 0 ? AUTO : -1;
    pp_status st = pp_choose_recording(operands, n, path, sizeof(path), err);
    if (st == PP_OK && !o->json && o->format == AUTO && wished < 0)
        st = pp_fail(
            err, PP_E_USAGE,
            "--output %s: a report is not written as %s; the suffixes are .txt, .md, .html, .json and .csv, or give "
            "--format",
            o->output, dot);
    o->format = o->json ? JSON : o->format == AUTO ? wished : o->format;
    if (st == PP_OK && o->output && strcmp(o->output, path) == 0)
        st = pp_fail(err, PP_E_USAGE, "--output %s is the recording itself", o->output);
    if (st == PP_OK)
        st = pp_output_check(o->output, o->force, err);
    if (st == PP_OK)
        st = pp_report_of_file(path, o->loader, &report, err);
    if (st == PP_OK)
        pp_report_price(report, o->gpu_hour);
    if (st == PP_OK)
        st = pp_output_write(o->output, "report", render, &(struct shown){o, report}, err);
    if (st == PP_OK)
        pp_output_say(o->output, report->verdict.head);
    if (st == PP_OK)
        *code = pp_report_exit_code(report);
    pp_report_free(report);
    return st;
}

const struct pp_command pp_cmd_report = {
    .name = "report",
    .summary = "show the bottleneck of a recorded run, with the evidence",
    .usage = "report [FILE|DIR] [options]",
    .opts = opts,
    .notes = "Without FILE, the newest recording in DIR, or in this directory.\n"
             "FILE may be a trace of another profiler, as 'pipeprobe import' takes it.\n"
             "Exit code: 0 for a verdict and for a ceiling (a run without a step), 3 when too\n"
             "little was recorded for a verdict, 4 when FILE is damaged or not a recording.",
    .examples = {"pipeprobe report run.sqlite -o report.html",
                 "pipeprobe report run.sqlite --json | jq .verdict.sentence"},
    .fields = sizeof(struct options),
    .act = act,
};
