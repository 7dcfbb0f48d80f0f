#include "mk/tools/docs.h"

#include <ctype.h>
#include <string.h>

/* Text as roff: a backslash is written out, hyphens are ones to be searched and copied, and no line begins a
 * request. */
static void put_roff(FILE *out, const char *text)
{
    int line_start = 1;
    for (; text && *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        line_start = *text == '\n';
    }
}

/* A summary as a sentence of its own: a capital and a full stop. */
static void put_sentence(FILE *out, const char *summary)
{
    fputc(toupper((unsigned char)*summary), out);
    put_roff(out, summary + 1);
    fputs(".\n", out);
}

static void put_upper(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc(toupper((unsigned char)*text), out);
}

static void section(FILE *out, const char *name)
{
    fprintf(out, ".SH %s\n", name);
}

static void put_head(FILE *out, const struct pp_command *cmd)
{
    fputs(".\\\" Made from the option tables.\n.TH \"PIPEPROBE", out);
    if (cmd) {
        fputc('-', out);
        put_upper(out, cmd->name);
    }
    fputs("\" 1 \"\" \"pipeprobe " PP_VERSION "\" \"pipeprobe manual\"\n.nh\n.ad l\n", out);
    section(out, "NAME");
    fprintf(out, "pipeprobe%s%s \\- ", cmd ? "\\-" : "", cmd ? cmd->name : "");
    put_roff(out, cmd ? cmd->summary : "find out why a training job waits for its data, and what to change");
    fputc('\n', out);
}

/* ---- options ---- */

static int is_on(const struct pp_opt *o)
{
    return o->dflt && (strcmp(o->dflt, "1") == 0 || strcmp(o->dflt, "true") == 0);
}

static void put_choices(FILE *out, const struct pp_opt *o)
{
    int helped = 0;
    for (const struct pp_opt_choice *c = o->choices; c && c->name; c++)
        helped |= c->help && *c->help;
    for (const struct pp_opt_choice *c = o->choices; c && c->name && !helped; c++)
        fprintf(out, "%s\\fB%s\\fR%s", c == o->choices ? "One of " : ", ", c->name, c[1].name ? "" : ".\n");
    if (!helped)
        return;
    fputs(".RS\n", out);
    for (const struct pp_opt_choice *c = o->choices; c && c->name; c++) {
        fputs(".TP 12\n.B ", out);
        put_roff(out, c->name);
        fputc('\n', out);
        if (c->help && *c->help)
            put_roff(out, c->help);
        fputs(c->help && *c->help ? "\n" : "\\&\n", out);
    }
    fputs(".RE\n", out);
}

static void put_option(FILE *out, const struct pp_opt *o)
{
    fputs(".TP\n", out);
    if (o->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    fprintf(out, "\\fB\\-\\-%s", o->type == PP_OPT_FLAG && is_on(o) ? "[no\\-]" : "");
    put_roff(out, o->name);
    fputs("\\fR", out);
    if (o->type != PP_OPT_FLAG) {
        fputs(" \\fI", out);
        put_roff(out, o->arg ? o->arg : "VALUE");
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put_roff(out, o->help ? o->help : "");
    if (o->dflt && o->dflt[0] && o->type != PP_OPT_FLAG) {
        fputs(" [", out);
        put_roff(out, o->dflt);
        fputc(']', out);
    }
    if (o->type == PP_OPT_LIST)
        fputs(" (repeatable)", out);
    fputc('\n', out);
    if (o->type == PP_OPT_CHOICE)
        put_choices(out, o);
}

static void put_options(FILE *out, const struct pp_opt *table)
{
    const char *group = NULL;
    section(out, "OPTIONS");
    for (const struct pp_opt *o = table; o->name; o++) {
        if (o->group && (!group || strcmp(group, o->group) != 0) && strcmp(o->group, "Options") != 0) {
            fputs(".SS ", out);
            put_roff(out, o->group);
            fputc('\n', out);
        }
        group = o->group ? o->group : group;
        put_option(out, o);
    }
    fputs(
        ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR, \\fB\\-\\-help\\-all\\fR\nthe usual options, or all of them, on standard output\n",
        out);
}

/* ---- what all pages say ---- */

static void put_exit_codes(FILE *out)
{
    static const struct {
        const char *code, *text;
    } codes[] = {
        {"0", "success"},
        {"1", "a regression, or a finding above the given threshold"},
        {"2", "wrong command line: an option, a value, a path that does not exist or is of the wrong kind"},
        {"3", "inconclusive, or not comparable"},
        {"4", "not measured for another reason: contents, access, device, I/O"},
        {"130", "interrupted"},
    };
    section(out, "EXIT STATUS");
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
        fprintf(out, ".TP 6\n.B %s\n%s\n", codes[i].code, codes[i].text);
}

/* What is no option stands in the page of pipeprobe itself. */
static void put_settings(FILE *out, const struct pp_command *cmd)
{
    section(out, "ENVIRONMENT");
    fputs(
        "Every option also comes from a variable \\fBPIPEPROBE_\\fINAME\\fR (upper case, underscores); the command line wins.\n"
        "\\fBNO_COLOR\\fR, when set and not empty, turns colour off. \\fBCOLUMNS\\fR is the width of text where there is no terminal.\n",
        out);
    static const struct {
        const char *variable, *what;
    } own[] = {
        {"PIPEPROBE_CLOCK=monotonic",
         "takes time stamps with clock_gettime(2) instead of the CPU's time stamp counter"},
        {"PIPEPROBE_SIMD=portable", "transforms images without AVX2; the pixels are the same"},
        {"PIPEPROBE_MAPS", "a directory of maps that \\fBexec\\fR finds by name, before the shipped ones"},
        {"PIPEPROBE_NVJPEG_LIB",
         "the file of nvJPEG for \\fBrun --decode\\fR, where it is not found by its name"},
        {"PIPEPROBE_INJECT_LIB",
         "the injection library of \\fBexec\\fR, when it is not in the program's directory or its ../lib"},
        {"PIPEPROBE_LIB", "libpipeprobe.so.0 for pipeprobe_record.py, when it is not where it was installed"},
        {"PIPEPROBE_PYTHON_DIR",
         "the directory of torch_loader.py, which \\fBrun --loader pytorch\\fR starts"},
        {"PIPEPROBE_COLLECTOR",
         "the program that libpipeprobe starts to write a recording (default \\fBpipeprobe\\fR)"},
    };
    for (size_t i = 0; !cmd && i < sizeof(own) / sizeof(*own); i++)
        fprintf(out, ".TP\n.B %s\n%s\n", own[i].variable, own[i].what);
    section(out, "FILES");
    fputs(
        "\\fI$XDG_CONFIG_HOME/pipeprobe/config\\fR (\\fI~/.config/pipeprobe/config\\fR): lines \\fIname\\fB = \\fIvalue\\fR under \\fB[\\fIcommand\\fB]\\fR.\n",
        out);
}

static void put_see_also(FILE *out, const struct pp_command *const *commands, const struct pp_command *cmd)
{
    const char *comma = cmd ? ",\n" : "";
    section(out, "SEE ALSO");
    if (cmd)
        fputs("\\fBpipeprobe\\fR(1)", out);
    for (; *commands; commands++)
        if (*commands != cmd) {
            fprintf(out, "%s\\fBpipeprobe\\-%s\\fR(1)", comma, (*commands)->name);
            comma = ",\n";
        }
    fputc('\n', out);
}

static void put_rows(FILE *out, const struct pp_command_rows *rows)
{
    const char *name, *other, *text;
    section(out, rows->title);
    for (size_t i = 0; rows->row(i, &name, &other, &text); i++) {
        fputs(".TP 16\n\\fB", out);
        put_roff(out, name);
        fputs("\\fR", out);
        if (other) {
            fputs(", ", out);
            put_roff(out, other);
        }
        fputc('\n', out);
        put_roff(out, text);
        fputc('\n', out);
    }
}

static void put_command(FILE *out, const struct pp_command *cmd)
{
    section(out, "SYNOPSIS");
    fputs(".nf\n", out);
    for (const char *form = cmd->usage, *next_form; form; form = next_form) {
        static const char either[] = "   or   ";
        char one[256];
        next_form = strstr(form, either);
        snprintf(one, sizeof(one), "%.*s", next_form ? (int)(next_form - form) : (int)strlen(form), form);
        fputs("\\fBpipeprobe\\fR ", out);
        put_roff(out, one);
        fputc('\n', out);
        next_form = next_form ? next_form + sizeof(either) - 1 : NULL;
    }
    fputs(".fi\n", out);
    section(out, "DESCRIPTION");
    put_sentence(out, cmd->summary);
    put_options(out, cmd->opts);
    if (cmd->rows)
        put_rows(out, cmd->rows);
    if (cmd->notes) {
        section(out, "NOTES");
        fputs(".nf\n", out);
        put_roff(out, cmd->notes);
        fputs("\n.fi\n", out);
    }
}

static void put_overview(FILE *out, const struct pp_command *const *commands)
{
    section(out, "SYNOPSIS");
    fputs("\\fBpipeprobe\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n", out);
    section(out, "DESCRIPTION");
    fputs(
        "pipeprobe runs an instrumented copy of a full data loader against your own data, or records a program of yours, and says in one sentence what bounds it, with\n"
        "the evidence, what to change and what that should gain. Results go to standard output, everything else to standard error.\n",
        out);
    section(out, "COMMANDS");
    for (; *commands; commands++) {
        fprintf(out, ".TP 12\n.B %s\n", (*commands)->name);
        put_sentence(out, (*commands)->summary);
        fprintf(out, "See \\fBpipeprobe\\-%s\\fR(1).\n", (*commands)->name);
    }
}

static void put_examples(FILE *out, const struct pp_command *cmd)
{
    section(out, "EXAMPLES");
    for (int i = 0; i < 2; i++)
        if (cmd->examples[i]) {
            fputs(".PP\n.nf\n", out);
            put_roff(out, cmd->examples[i]);
            fputs("\n.fi\n", out);
        }
}

void docs_man(const struct pp_command *const *commands, const struct pp_command *cmd, FILE *out)
{
    put_head(out, cmd);
    if (cmd)
        put_command(out, cmd);
    else
        put_overview(out, commands);
    put_exit_codes(out);
    put_settings(out, cmd);
    if (cmd)
        put_examples(out, cmd);
    put_see_also(out, commands, cmd);
}
