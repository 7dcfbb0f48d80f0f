/* `pipeprobe top`: the dashboard on a recording, while it grows or afterwards. */
#include "probe/base/err.h"
#include "tui/cli/cli.h"
#include "tui/cli/recording_name.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/metrics/beside.h"
#include "tui/dash/dash.h"
#include "tui/dash/job.h"
#include "tui/dash/state.h"
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { GLYPHS_AUTO, GLYPHS_BLOCK, GLYPHS_BRAILLE, GLYPHS_ASCII };

struct options {
    int once, text, json, line, mouse, glyphs, color, window, view;
    uint64_t interval_ns, at_ns;
    const char *size;
    struct metrics_opts metrics;
};

#define AT(field) offsetof(struct options, field)
static const struct pp_opt_choice glyphs[] = {
    {"auto", NULL}, {"block", NULL}, {"braille", NULL}, {"ascii", NULL}, {NULL, NULL},
};
static const struct pp_opt_choice windows[] = {
    {"1", NULL}, {"5", NULL}, {"15", NULL}, {"60", NULL}, {"300", NULL}, {NULL, NULL},
};
static const struct pp_opt_choice views[] = {
    /* as enum pp_view (state.h); a test compares the names */
    {"overview", NULL}, {"stages", NULL}, {"workers", NULL},     {"batch", NULL},   {"lines", NULL},
    {"errors", NULL},   {"events", NULL}, {"environment", NULL}, {"what-if", NULL}, {NULL, NULL},
};
/* clang-format off */
static const struct pp_opt opts[] = {
    {.name = "at", .type = PP_OPT_DURATION, .offset = AT(at_ns), .arg = "T", .group = "View",
     .help = "start at this time of the run, paused"},
    {.name = "window", .type = PP_OPT_CHOICE, .offset = AT(window), .choices = windows, .dflt = "5",
     .help = "window of rates and shares in seconds"},
    {.name = "view", .type = PP_OPT_CHOICE, .offset = AT(view), .choices = views, .dflt = "overview",
     .arg = "VIEW", .help = "first view: overview, stages, workers, batch, lines, errors, events, environment or what-if"},
    {.name = "once", .type = PP_OPT_FLAG, .offset = AT(once), .group = "Output",
     .help = "one frame on standard output, then exit"},
    {.name = "text", .type = PP_OPT_FLAG, .offset = AT(text),
     .help = "the frame as text (with --once; the default)"},
    {.name = "json", .type = PP_OPT_FLAG, .offset = AT(json),
     .help = "the frame as a document of schema pipeprobe.top/1 (means --once)"},
    {.name = "size", .type = PP_OPT_STRING, .offset = AT(size), .arg = "CxR",
     .help = "columns and rows of that frame (default: the terminal's, or 80x24)"},
    {.name = "line", .type = PP_OPT_FLAG, .offset = AT(line),
     .help = "status lines instead of a screen; default when stdout is not a terminal; with --json lines of JSON"},
    {.name = "interval", .type = PP_OPT_DURATION, .offset = AT(interval_ns), .arg = "T", .dflt = "5s",
     .help = "time between status lines"},
    {.name = "mouse", .type = PP_OPT_FLAG, .offset = AT(mouse),
     .help = "mouse: click selects, wheel scrolls; off: the terminal's copy and paste"},
    {.name = "glyphs", .type = PP_OPT_CHOICE, .offset = AT(glyphs), .choices = glyphs, .dflt = "auto",
     .help = "auto: blocks in a UTF-8 locale, else ASCII"},
    {.name = "color", .type = PP_OPT_CHOICE, .offset = AT(color), .choices = pp_cli_colors, .dflt = "auto",
     .help = "auto: on a terminal, unless NO_COLOR is set"},
    METRICS_OPT_ROWS(AT(metrics), 1),
    {.name = NULL},
};
/* clang-format on */

/* What is shown: one recording, or the ranks of a job. */
struct shown {
    pp_status (*screen)(const struct pp_dash_opts *o, struct pp_err *err);
    pp_status (*lines)(const struct pp_dash_opts *o, FILE *out, struct pp_err *err);
    pp_status (*once)(const struct pp_dash_opts *o, int json, FILE *out, struct pp_err *err);
};
static const struct shown recording = {pp_dash_screen, pp_dash_lines, pp_dash_once},
                          ranks = {pp_job_screen, pp_job_lines, pp_job_once};

/* A terminal that can show no screen gets lines, and is told why. */
static pp_status show(const struct options *o, const struct pp_dash_opts *d, const struct shown *what,
                      struct pp_err *err)
{
    int is_log = o->line && o->json;
    if (!is_log && (o->once || o->json || o->text))
        return what->once(d, o->json, stdout, err);
    interrupt_catch(INTERRUPT_WAKES, NULL); /* before ncurses looks which signals are free */
    if (o->line || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
        return what->lines(d, stdout, err);
    pp_status status = what->screen(d, err);
    if (status != PP_E_UNSUPPORTED)
        return status;
    fprintf(stderr, "pipeprobe top: %s; printing a status line every few seconds instead\n", err->text);
    return what->lines(d, stdout, err);
}

static int run(int argc, char **argv)
{
    static const enum pp_glyph_set sets[] = {[GLYPHS_BLOCK] = PP_GLYPHS_BLOCK,
                                             [GLYPHS_BRAILLE] = PP_GLYPHS_BRAILLE,
                                             [GLYPHS_ASCII] = PP_GLYPHS_ASCII};
    struct options o = {.at_ns = UINT64_MAX};
    struct pp_opt_set set = {.table = opts, .fields = &o};
    struct pp_err err = {.code = PP_OK};
    struct metrics_beside metrics;
    struct winsize terminal;
    char path[4096] = "";
    const char **operands = (const char **)argv;
    int n, end = 0, code = pp_cli_parse(&pp_cmd_top, &set, argc, argv, operands, &n);
    const struct shown *what = &recording;
    pp_status st = PP_OK;
    if (code >= 0)
        return code;
    setlocale(LC_CTYPE, ""); /* what the terminal can show */
    if (n == 1 && pp_is_directory(operands[0]) && pp_job_is(operands[0]))
        what = &ranks;
    else
        st = pp_choose_recording(operands, n, path, sizeof(path), &err);
    if (st != PP_OK)
        ;
    else if (o.text && o.json)
        st = pp_fail(&err, PP_E_USAGE, "--text and --json exclude each other");
    else if (o.interval_ns == 0)
        st = pp_fail(&err, PP_E_USAGE, "--interval 0 is too short; give at least 100ms");
    else
        st = metrics_opts_check(&o.metrics, &err);
    if (st == PP_OK && what == &ranks && metrics_opts_any(&o.metrics))
        st = pp_fail(&err, PP_E_USAGE,
                     "'%s' holds several ranks, and metrics are those of one recording; name its file",
                     operands[0]);
    struct pp_dash_opts d = {
        .path = what == &ranks ? operands[0] : path,
        .glyphs = o.glyphs == GLYPHS_AUTO ? pp_glyphs_of_locale() : sets[o.glyphs],
        .color = pp_cli_use_color((enum pp_color)o.color, stdout),
        .mouse = o.mouse,
        .window = o.window,
        .view = o.view,
        .at_ns = o.at_ns,
        .interval_ns = o.interval_ns,
        .json = o.json,
        .rows = ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0 && terminal.ws_row > 0 ? terminal.ws_row
                                                                                        : 24,
        .cols = pp_cli_columns(stdout),
        .interrupted = interrupt_status,
    };
    if (st == PP_OK && o.size &&
        (sscanf(o.size, "%4dx%4d%n", &d.cols, &d.rows, &end) != 2 || o.size[end] || d.cols < 1 || d.rows < 1))
        st = pp_fail(&err, PP_E_USAGE, "--size %s is not COLUMNSxROWS such as 120x40", o.size);
    if (st == PP_OK) {
        metrics_beside_start(&metrics, &o.metrics, d.path, "pipeprobe top: ", 0);
        st = show(&o, &d, what, &err);
        metrics_beside_end(&metrics);
    }
    return st == PP_OK ? 0 : pp_cli_fail(&pp_cmd_top, &err);
}

static int key_row(size_t i, const char **name, const char **other_name, const char **text)
{
    if (i >= pp_keys_n)
        return 0;
    *name = pp_keys[i].name;
    *other_name = pp_keys[i].alias_name;
    *text = pp_keys[i].help;
    return 1;
}

static const struct pp_command_rows keys = {.title = "KEYS", .row = key_row};

const struct pp_command pp_cmd_top = {
    .name = "top",
    .summary = "watch a run live, or replay a recorded one",
    .usage = "top [FILE|DIR|PID] [options]",
    .opts = opts,
    .notes = "FILE may be growing or complete, yours or another user's; DIR: the ranks of a\n"
             "job, a row each and the worst on top (Enter: its dashboard), else its newest\n"
             "recording; PID: what that process records; without any, the newest recording\n"
             "here. Keys: ? lists them, q quits.\n"
             "Exit code: 0, 130 when interrupted, 4 when FILE is damaged or not a recording.",
    .examples = {"pipeprobe top $(pgrep -n pipeprobe)",
                 "pipeprobe top run.sqlite --at 1m30s --json | jq .stages"},
    .rows = &keys,
    .run = run,
};
