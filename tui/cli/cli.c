#include "tui/cli/cli.h"
#include "probe/base/err.h"
#include "probe/base/page.h"
#include "probe/base/text.h"
#include "report/replay/knobs.h"
#include "tui/cli/jobs/interrupt.h"
#include "tui/cli/topic.h"
#include <ctype.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

int pp_cli_fail(const struct pp_command *cmd, const struct pp_err *err)
{
    const char *text = err->text[0] ? err->text : pp_status_text(err->code), *at = strstr(text, "~/");
    int as_typed = err->code == PP_E_NOT_FOUND && at && (at == text || strchr(" '=:", at[-1]));
    pp_cli_say(stderr, "pipeprobe %s: %s%s", cmd->name, text,
               as_typed ? "; the shell does not replace ~ within quotes: write $HOME" : "");
    return pp_status_exit_code(err->code);
}

const char *pp_did_you_mean(char *buf, const char *word, const char *const *names)
{
    const char *near = pp_nearest(word, names);
    buf[0] = '\0';
    if (near)
        snprintf(buf, 128, "; did you mean %s?", near);
    return buf;
}

int pp_is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int pp_ends_in(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n > m && strcmp(path + n - m, suffix) == 0;
}

int pp_stem(const char *path)
{
    return (int)(strlen(path) - (pp_ends_in(path, ".sqlite") ? strlen(".sqlite") : 0));
}

void pp_cli_note(const char *label, const char *text)
{
    pp_cli_say(stderr, "%-10s %s", label, text);
}

/* PyTorch's and other names of what an option sets: "num_workers" of --workers, "in_order" False of
 * --out-of-order. */
static const char *option_of_knob(const char *name, const char **value)
{
    const struct pp_knob *knob = pp_knob_find(name, strlen(name));
    if (!knob || !knob->option)
        return NULL;
    int on = knob->flag ? pp_knob_truth(knob, *value ? *value : "True") : -1;
    if (on >= 0)
        *value = on == (knob->flag > 0) ? "true" : "false";
    return knob->option;
}

int pp_cli_program_at(struct pp_opt_set *set, int argc, char **argv)
{
    set->also = option_of_knob;
    return pp_opts_program_at(set, argc, argv);
}

int pp_cli_parse(const struct pp_command *cmd, struct pp_opt_set *set, int argc, char **argv,
                 const char **operands, int *n_operands)
{
    struct pp_err err = {0};
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        int all = strcmp(argv[i], "--help-all") == 0;
        if (all || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            pp_help_command(cmd, stdout, all);
            return 0;
        }
    }
    set->command = cmd->name;
    set->also = option_of_knob;
    if (pp_opts_parse(set, argc, argv, operands, n_operands, &err) != PP_OK)
        return pp_cli_fail(cmd, &err);
    return -1;
}

int pp_cli_parse_job(const struct pp_command *cmd, struct pp_opt_set *set, int argc, char **argv,
                     int *n_operands, char ***job)
{
    int own = 1;
    while (own < argc && strcmp(argv[own], "--") != 0)
        own++;
    *job = own + 1 < argc ? argv + own + 1 : NULL;
    argv[own] = NULL;
    return pp_cli_parse(cmd, set, own, argv, (const char **)argv, n_operands);
}

/* ---- help ---- */

#define HEADING(name, heading) heading,
static const char *const headings[] = {PP_COMMANDS(HEADING)};

void pp_help_all(const struct pp_command *const *commands, FILE *out)
{
    fputs("pipeprobe finds out why a training job waits for its data, and what to change.\n\n"
          "Usage: pipeprobe COMMAND [options]   (COMMAND --help: its options; --version)\n",
          out);
    for (size_t i = 0; commands[i]; i++) {
        if (i == 0 || strcmp(headings[i], headings[i - 1]) != 0)
            fprintf(out, "\n%s:\n", headings[i]);
        fprintf(out, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    }
    fputs("  help      this list, or 'pipeprobe help COMMAND [--all]'\n\n", out);
    const struct pp_page page = {.out = out, .columns = 80};
    char text[512] = "Guides, 'pipeprobe help TOPIC':";
    for (int i = 0; pp_topics[i]; i++)
        pp_text_add(text, sizeof(text), "%s %s", i ? "," : "", pp_topics[i]);
    pp_page_text(&page, PP_TONE_PLAIN, "", 0, 0, text);
    fputs("\n"
          "Exit codes:\n"
          "  0    success\n"
          "  1    a regression, or a finding above the given threshold\n"
          "  2    wrong command line: an option, a value or a path that cannot be\n"
          "  3    inconclusive, or not comparable\n"
          "  4    not measured for another reason: contents, access, device, I/O\n"
          "  130  interrupted\n\n"
          "Options also come from PIPEPROBE_NAME variables and from [command] sections of\n"
          "~/.config/pipeprobe/config; the command line wins.\n",
          out);
}

void pp_help_command(const struct pp_command *cmd, FILE *out, int all)
{
    /* "A   or   B" on two lines where one is too narrow. */
    static const char either[] = "   or   ";
    const char *second = strlen(cmd->usage) + sizeof("Usage: pipeprobe ") - 1 > 80
                             ? strstr(cmd->usage, either)
                             : NULL;
    fprintf(out, "Usage: pipeprobe %.*s\n", second ? (int)(second - cmd->usage) : (int)strlen(cmd->usage),
            cmd->usage);
    if (second)
        fprintf(out, "   or: pipeprobe %s\n", second + sizeof(either) - 1);
    fprintf(out, "%c%s.\n\n", toupper((unsigned char)cmd->summary[0]), cmd->summary + 1);
    int columns = pp_cli_columns(out),
        left_out = pp_opts_help(cmd->opts, out, columns < PP_HELP_COLUMNS ? columns : PP_HELP_COLUMNS, all);
    if (left_out)
        fprintf(out, "%d more options: pipeprobe %s --help-all\n", left_out, cmd->name);
    if (cmd->notes)
        fprintf(out, "\n%s\n", cmd->notes);
    fputs("\nExamples:\n", out);
    for (int i = 0; i < 2; i++)
        if (cmd->examples[i])
            fprintf(out, "  %s\n", cmd->examples[i]);
}

/* ---- variables of the environment ---- */

#define PREFIX "PIPEPROBE_"
enum { PREFIX_BYTES = sizeof(PREFIX) - 1, VARIABLE_BYTES = 96 };

/* What is read, or set for programs that are started, beside the options. */
static const struct {
    const char *name, *only; /* only: the one value that it is read for, NULL: any */
} variables[] = {{"CLOCK", "monotonic"}, {"COLLECTOR", NULL},  {"INJECT_LIB", NULL}, {"NVJPEG_LIB", NULL},
                 {"LIB", NULL},          {"PYTHON_DIR", NULL}, {"MAPS", NULL},       {"NEXT_INJECTION", NULL},
                 {"OVERRIDE", NULL},     {"RESUME_RUN", NULL}, {"EXEC_RANKS", NULL}, {"SESSION", NULL},
                 {"SIMD", "portable"},   {"LIVE", NULL}};
enum { VARIABLES = sizeof(variables) / sizeof(*variables) };

int pp_cli_mistyped(const struct pp_command *const *commands, char *const *environment, FILE *out)
{
    size_t options = 0, k = 0;
    int found = 0;
    for (const struct pp_command *const *c = commands; *c; c++)
        for (const struct pp_opt *o = (*c)->opts; o->name; o++)
            options++;
    char(*text)[VARIABLE_BYTES] = calloc(options + 1, sizeof(*text));
    const char **known = calloc(options + VARIABLES + 1,
                                sizeof(*known)); /* without the prefix; options first */
    for (; text && known && *commands; commands++)
        for (const struct pp_opt *o = (*commands)->opts; o->name; o++, k++)
            known[k] = pp_opt_variable(text[k], VARIABLE_BYTES, o->name) + PREFIX_BYTES;
    for (size_t i = 0; text && known && i < VARIABLES; i++)
        known[k++] = variables[i].name;
    for (; text && known && *environment; environment++) {
        char name[VARIABLE_BYTES], upper[VARIABLE_BYTES] = "";
        size_t length = strcspn(*environment, "="), i = 0;
        const char *value = *environment + length + ((*environment)[length] == '=');
        if (strncmp(*environment, PREFIX, PREFIX_BYTES) != 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(length - PREFIX_BYTES), *environment + PREFIX_BYTES);
        while (i < k && strcmp(known[i], name) != 0)
            i++;
        const char *only = i >= options && i < k ? variables[i - options].only : NULL;
        if (only && *value && strcmp(value, only) != 0) { /* an empty one is as none */
            fprintf(out, "pipeprobe: " PREFIX "%s=%s has no effect; the only valid value is %s\n", name,
                    value, only);
            found++;
        }
        if (i < k)
            continue;
        for (size_t at = 0; name[at]; at++)
            upper[at] = (char)toupper((unsigned char)name[at]);
        const char *near = pp_nearest(upper, known);
        fprintf(out, "pipeprobe: " PREFIX "%s is set, but no option has this name%s%s%s\n", name,
                near ? "; did you mean " PREFIX : "", near ? near : "", near ? "?" : "");
        found++;
    }
    free(text);
    free(known);
    return found;
}

/* ---- words for a shell ---- */

/* Adds text, or nothing and returns 0 where it does not fit whole. */
static int add_text(char *out, size_t size, size_t *n, const char *text)
{
    size_t length = strlen(text);
    if (*n + length >= size)
        return 0;
    memcpy(out + *n, text, length + 1);
    *n += length;
    return 1;
}

char *pp_shell_words(char *const *words, char *text, size_t size)
{
    const size_t room = size - sizeof(" ...");
    size_t n = 0;
    int fits = 1;
    *text = '\0';
    for (size_t i = 0; fits && words[i]; i++) {
        size_t before = n;
        char one[2] = "", *plain = pp_text_plain(words[i]);
        fits = plain && (!i || add_text(text, room, &n, " "));
        if (fits && pp_text_is_shell_word(plain)) {
            fits = add_text(text, room, &n, plain);
        } else if (fits) {
            fits = add_text(text, room, &n, "'");
            for (const char *c = plain; fits && *c; c++) {
                one[0] = *c;
                fits = add_text(text, room, &n, *c == '\'' ? "'\\''" : one);
            }
            fits = fits && add_text(text, room, &n, "'");
        }
        free(plain);
        if (!fits) {
            n = before;
            text[n] = '\0';
            add_text(text, size, &n, n ? " ..." : "...");
        }
    }
    return text;
}

/* ---- the terminal ----
 *
 * What the terminal behind a stream can show: colour and columns; and the line of progress on it. */

const struct pp_opt_choice pp_cli_colors[] = {
    {"auto", NULL},
    {"always", NULL},
    {"never", NULL},
    {NULL, NULL},
};

/* https://no-color.org: any non-empty value of NO_COLOR counts. */
int pp_cli_use_color(enum pp_color when, FILE *out)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (when != PP_COLOR_AUTO)
        return when == PP_COLOR_ALWAYS;
    return !(no_color && *no_color) && term && strcmp(term, "dumb") != 0 && isatty(fileno(out));
}

enum { NARROWEST = 40, WIDEST = 400, USUAL = 80 };

/* POSIX's COLUMNS stands in where there is no terminal to ask: a log viewer's width, a pager's. */
int pp_cli_columns(FILE *out)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int64_t n;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return columns && pp_parse_int(columns, &n) == PP_OK && n >= NARROWEST && n <= WIDEST ? (int)n : USUAL;
}

/* ---- lines ---- */

/* Broken for a person who reads it: a log and what is searched with grep keep a line whole. */
void pp_cli_say(FILE *out, const char *fmt, ...)
{
    char *text = NULL, lead[64];
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    char *plain = text ? pp_text_plain(text) : NULL;
    const char *line = plain ? plain : "no memory for a message";
    int begin = (int)strspn(line, " "), width = pp_page_width(line, strlen(line)),
        columns = isatty(fileno(out)) || getenv("COLUMNS") ? pp_cli_columns(out) : width;
    size_t word = (size_t)begin + strcspn(line + begin, " ");
    const struct pp_page page = {.out = out, .columns = columns};
    snprintf(lead, sizeof(lead), "%.*s ", (int)word, line);
    if (width > columns && (int)word + 12 > columns) { /* a line of its own, with room for a word */
        fprintf(out, "%.*s\n", (int)word, line);
        snprintf(lead, sizeof(lead), "%*s", begin + 2, "");
    }
    if (width > columns && word < sizeof(lead) - 1)
        pp_page_text(&page, PP_TONE_PLAIN, lead, begin + 2, 0, line + word);
    else
        fprintf(out, "%s\n", line);
    free(plain);
    free(text);
}

int pp_cli_run(const struct pp_command *cmd, int argc, char **argv)
{
    if (cmd->run)
        return cmd->run(argc, argv);
    struct pp_err err = {0};
    struct pp_opt_set set = {.table = cmd->opts, .fields = calloc(1, cmd->fields)};
    const char **operands = (const char **)argv;
    int n, code = set.fields
                      ? pp_cli_parse(cmd, &set, argc, argv, operands, &n)
                      : pp_cli_fail(cmd, (pp_fail(&err, PP_E_NO_MEMORY, "no memory for options"), &err));
    if (code < 0) {
        code = 0;
        if (cmd->act(set.fields, operands, n, &code, &err) != PP_OK)
            code = pp_cli_fail(cmd, &err);
    }
    free(set.fields);
    return code;
}

int pp_cli_run_lines(const struct pp_command *cmd, int argc, char **argv)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = stdout, *kept = NULL;
    if (isatty(fileno(out)) || getenv("COLUMNS"))
        kept = open_memstream(&text, &size);
    if (kept)
        stdout = kept;
    int code = pp_cli_run(cmd, argc, argv);
    stdout = out;
    if (kept)
        fclose(kept);
    if (text && text[0] == '{') /* a document */
        fputs(text, out);
    else
        for (char *at = text, *line; (line = strsep(&at, "\n")) && at;)
            pp_cli_say(out, "%s", line);
    free(text);
    return code;
}

pp_status pp_cli_ask(const char *what, const char *text, int yes, int quiet, struct pp_err *err)
{
    char answer[16] = "";
    if (!yes && !(isatty(STDIN_FILENO) && isatty(STDERR_FILENO)))
        return pp_fail(err, PP_E_USAGE, "%s: give --yes where no terminal can be asked", what);
    if (!yes || !quiet)
        fputs(text, stderr);
    if (yes)
        return PP_OK;
    fputs("Start? [y/N] ", stderr);
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y')
               ? PP_OK
               : pp_fail(err, PP_E_INTERRUPTED, "nothing was started");
}

/* ---- progress ---- */

void pp_progress_begin(struct pp_progress *p, int quiet)
{
    const char *term = getenv("TERM");
    *p = (struct pp_progress){0};
    p->on = !quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    p->width = pp_cli_columns(stderr);
}

/* One column stays free: a full line would wrap on some terminals and could not be taken back. */
void pp_progress_line(struct pp_progress *p, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (!p->on)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    char *plain = pp_text_plain(text);
    fprintf(stderr, "\r%.*s\033[K", p->width > 1 ? p->width - 1 : 0, plain ? plain : "");
    fflush(stderr);
    free(plain);
    p->shown = 1;
}

void pp_progress_parts(struct pp_progress *p, const char *const *part, size_t n)
{
    char text[512] = "";
    size_t at = 0, room = p->width > 1 ? (size_t)p->width - 1 : 0;
    room = room < sizeof(text) ? room : sizeof(text) - 1;
    for (size_t i = 0; i < n; i++) {
        size_t gap = at ? 2 : 0, length = strlen(part[i]);
        if (length && at + gap + length <= room)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", gap ? "  " : "", part[i]);
    }
    pp_progress_line(p, "%s", text);
}

void pp_progress_clear(struct pp_progress *p)
{
    if (!p->shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    p->shown = 0;
}

int pp_progress_opening(void *ctx, const char *what, uint64_t done, uint64_t total)
{
    char n[32], of[32];
    pp_text_count(n, sizeof(n), (double)done);
    pp_text_count(of, sizeof(of), (double)total);
    pp_progress_line(ctx, "%s: %s%s%s", what, n, total ? " of " : "", total ? of : "");
    return interrupt_asked();
}
