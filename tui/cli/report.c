#include "probe/base/err.h"

#include "collectors/import/import.h"
#include "collectors/store/recover.h"
#include "report/build/build.h"
#include "report/render/render.h"
#include "report/source/source.h"
#include "tui/cli/cli.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/output.h"
#include "tui/cli/trace_report.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

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

static const struct {
    const char *end;
    int format;
} suffixes[] = {{".md", MD},   {".html", HTML}, {".htm", HTML},  {".json", JSON},
                {".csv", CSV}, {".txt", TEXT},  {".text", TEXT}, {".log", TEXT}};
enum { SUFFIXES = sizeof(suffixes) / sizeof(*suffixes) };

/* The format of --output's suffix: AUTO where there is none, or is no wish (/dev/stdout); -1 for one that is
 * no format. */
static int format_of_suffix(const char *output, const char **suffix)
{
    const char *base = output ? strrchr(output, '/') : NULL,
               *dot = output ? strrchr(base ? base : output, '.') : NULL;
    if (!dot || dot == (base ? base + 1 : output))
        return AUTO;
    *suffix = dot;
    for (size_t i = 0; i < SUFFIXES; i++)
        if (strcasecmp(dot, suffixes[i].end) == 0)
            return suffixes[i].format;
    return strncmp(output, "/dev/", 5) == 0 ? AUTO : -1;
}

/* A suffix that is no format is a wish that cannot be met, not text under another name. */
static pp_status choose_format(struct options *o, const char *input, struct pp_err *err)
{
    const char *suffix = "";
    int wished = format_of_suffix(o->output, &suffix);
    if (o->json)
        o->format = JSON;
    else if (o->format == AUTO && wished < 0)
        return pp_fail(
            err, PP_E_USAGE,
            "--output %s: a report is not written as %s; the suffixes are .txt, .md, .html, .json and .csv, or give "
            "--format",
            o->output, suffix);
    else if (o->format == AUTO)
        o->format = wished;
    if (o->output && strcmp(o->output, input) == 0)
        return pp_fail(err, PP_E_USAGE, "--output %s is the recording itself", o->output);
    return pp_output_check(o->output, o->force, err);
}

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

static int run(int argc, char **argv)
{
    struct options o = {0};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {0};
    struct pp_report *report = NULL;
    const char **operands = (const char **)argv;
    int n, exit_code = pp_cli_parse(&pp_cmd_report, &set, argc, argv, operands, &n);
    pp_status st;
    if (exit_code >= 0)
        return exit_code;
    if (n == 0)
        st = pp_fail(&err, PP_E_USAGE, "no recording given: name the FILE that 'pipeprobe run' wrote");
    else if (n > 1)
        st = pp_fail(&err, PP_E_USAGE, "one recording at a time, but %d were given (%s, %s%s)", n,
                     operands[0], operands[1], n > 2 ? ", ..." : "");
    else
        st = choose_format(&o, operands[0], &err);
    if (st == PP_OK)
        st = pp_import_trace_format(operands[0]) ? pp_trace_report(operands[0], &report, &err)
                                                 : pp_report_build(operands[0], &report, &err);
    if (st == PP_OK)
        st = pp_output_write(o.output, "report", render, &(struct shown){&o, report}, &err);
    exit_code = st == PP_OK ? pp_report_exit_code(report) : pp_cli_fail(&pp_cmd_report, &err);
    pp_report_free(report);
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

static const char *const tails[] = {"", "-wal", "-shm", "-journal"};
enum { TAILS = sizeof(tails) / sizeof(*tails) };

/* For the signal handler, which may only unlink. */
static struct {
    char dir[1024], file[TAILS][1200];
    volatile sig_atomic_t made;
} temporary;

static void remove_temporary(void)
{
    if (!temporary.made)
        return;
    for (int i = 0; i < TAILS; i++)
        unlink(temporary.file[i]);
    rmdir(temporary.dir);
    temporary.made = 0;
}

static void remove_and_end(int sig)
{
    remove_temporary();
    signal(sig, SIG_DFL);
    raise(sig); /* when the handler returns */
}

static pp_status make_temporary(struct pp_err *err)
{
    const char *where = getenv("TMPDIR");
    char dir[sizeof(temporary.dir)];
    int n = snprintf(dir, sizeof(dir), "%s/pipeprobe-trace-XXXXXX", where && *where ? where : "/tmp");
    if ((size_t)n >= sizeof(dir))
        return pp_fail(err, PP_E_USAGE, "the name of TMPDIR is too long");
    if (!mkdtemp(dir))
        return pp_fail_errno(err, errno, "no temporary directory can be made (%s)", dir);
    memcpy(temporary.dir, dir, sizeof(dir));
    for (int i = 0; i < TAILS; i++)
        snprintf(temporary.file[i], sizeof(temporary.file[i]), "%s/trace.sqlite%s", dir, tails[i]);
    temporary.made = 1;
    interrupt_catch(INTERRUPT_ONCE, remove_and_end);
    return PP_OK;
}

/* Into temporary.file[0]. */
static pp_status import_temporary(const struct import_trace *t, struct pp_err *err)
{
    struct pp_import_result result;
    const struct pp_import_opts o = {.output = temporary.file[0],
                                     .rank = t->rank,
                                     .world_size = t->world_size,
                                     .more = (const char *const *)t->more,
                                     .n_more = t->n_more};
    pp_status st = make_temporary(err);
    return st == PP_OK ? pp_import_file(t->path, &o, &result, err) : st;
}

pp_status pp_trace_report(const char *path, struct pp_report **out, struct pp_err *err)
{
    struct pp_source source;
    memset(&source, 0, sizeof(source));
    *out = NULL;
    pp_status st = import_temporary(
        &(struct import_trace){.path = (char *)path, .rank = -1, .world_size = -1}, err);
    if (st == PP_OK && (st = pp_source_open(temporary.file[0], &source, err)) == PP_OK) {
        source.path = path; /* the recording has no name that lasts */
        st = pp_report_from(&source, out, err);
    }
    pp_source_close(&source);
    remove_temporary();
    return st;
}

pp_status pp_trace_digest(const struct import_trace *trace, struct pp_digest *out, struct pp_err *err)
{
    *out = (struct pp_digest){0};
    pp_status st = import_temporary(trace, err);
    if (st == PP_OK)
        st = pp_digest_read(temporary.file[0], out, err);
    for (size_t i = 0; st == PP_OK && i < out->n_rows; i++) /* likewise */
        out->rows[i].file = pp_arena_printf(&out->arena, "%s", trace->path);
    remove_temporary();
    return st;
}

/* ---- what is there ---- */

static int is_directory_of_traces(const char *dir)
{
    DIR *d = opendir(dir);
    int traces = 0, recordings = 0;
    for (struct dirent *e; d && !recordings && (e = readdir(d));) {
        char path[PATH_MAX];
        if (e->d_name[0] == '.' ||
            (size_t)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= sizeof(path))
            continue;
        recordings |= pp_ends_in(path, ".digest") || pp_reader_is_recording(path);
        traces = traces || pp_import_trace_format(path);
    }
    if (d)
        closedir(d);
    return traces && !recordings;
}

int pp_traces_only(const char *const *operands, int n)
{
    struct stat info;
    int only = n > 0;
    for (int i = 0; i < n && only; i++)
        only = stat(operands[i], &info) == 0 && S_ISDIR(info.st_mode)
                   ? is_directory_of_traces(operands[i])
                   : pp_import_trace_format(operands[i]) != NULL;
    return only;
}

static int begins_as_sqlite(const char *path)
{
    static const char magic[] = "SQLite format 3";
    char head[sizeof(magic)] = "";
    FILE *f = fopen(path, "rb");
    int whole = !f ||
                fread(head, 1, sizeof(head), f) == sizeof(head); /* what cannot be read, the reader says */
    if (f)
        fclose(f);
    return !f || (whole && memcmp(head, magic, sizeof(magic)) == 0);
}

pp_status pp_trace_before_reading(const char *path, struct pp_missing *missing, struct pp_err *err)
{
    struct stat info;
    struct pp_err why;
    const struct pp_importer *format;
    pp_status st = pp_recording_recover(path, missing, err);
    if (st != PP_OK || stat(path, &info) != 0 || !S_ISREG(info.st_mode) || pp_reader_is_recording(path))
        return st;
    pp_status trace = pp_import_format(path, &format, &why);
    if (trace == PP_E_CORRUPT)
        return pp_fail(err, PP_E_CORRUPT, "%s", why.text);
    if (trace == PP_E_UNSUPPORTED && !begins_as_sqlite(path))
        return pp_fail(
            err, PP_E_CORRUPT,
            "%s is neither a recording of pipeprobe, which is an SQLite file, nor a trace of a format "
            "that pipeprobe import takes",
            path);
    return trace == PP_OK
               ? pp_fail(
                     err, PP_E_UNSUPPORTED,
                     "%s is a trace of another profiler (%s) and no recording: pipeprobe report judges it, "
                     "and pipeprobe import makes a recording of it",
                     path, format->what)
               : PP_OK;
}
