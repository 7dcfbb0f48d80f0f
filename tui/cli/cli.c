#include "tui/cli/cli.h"

#include "tui/cli/help.h"

#include "probe/base/text.h"
#include "report/replay/knobs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A path that begins with ~ arrived as it is typed. */
static int names_a_home(const char *text)
{
    const char *at = strstr(text, "~/");
    return at && (at == text || strchr(" '=:", at[-1]));
}

int pp_cli_fail(const struct pp_command *cmd, const struct pp_err *err)
{
    const char *text = err->text[0] ? err->text : pp_status_text(err->code);
    char *plain = pp_text_plain(text); /* it names files, which others named */
    fprintf(stderr, "pipeprobe %s: %s%s\n", cmd->name, plain ? plain : pp_status_text(err->code),
            err->code == PP_E_NOT_FOUND && names_a_home(text)
                ? "; the shell does not replace ~ within quotes: write $HOME"
                : "");
    free(plain);
    return pp_status_exit_code(err->code);
}

void pp_cli_note(const char *label, const char *text)
{
    char *plain = pp_text_plain(text);
    fprintf(stderr, "%-10s %s\n", label, plain ? plain : "");
    free(plain);
}

enum asked { NO_HELP, SHORT_HELP, FULL_HELP };

static enum asked asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help-all") == 0)
            return FULL_HELP;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return SHORT_HELP;
    }
    return NO_HELP;
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

int pp_cli_parse(const struct pp_command *cmd, struct pp_opt_set *set, int argc, char **argv,
                 const char **operands, int *n_operands)
{
    struct pp_err err = {0};
    enum asked help = asks_for_help(argc, argv);
    if (help != NO_HELP) {
        pp_help_command(cmd, stdout, help == FULL_HELP);
        return 0;
    }
    set->command = cmd->name;
    set->also = option_of_knob;
    if (pp_opts_parse(set, argc, argv, operands, n_operands, &err) != PP_OK)
        return pp_cli_fail(cmd, &err);
    return -1;
}

#define PREFIX "PIPEPROBE_"
enum { PREFIX_BYTES = sizeof(PREFIX) - 1, VARIABLE_BYTES = 96 };

/* What is read, or set for programs that are started, beside the options. */
static const struct {
    const char *name, *only; /* only: the one value that it is read for, NULL: any */
} variables[] = {{"CLOCK", "monotonic"}, {"COLLECTOR", NULL},  {"INJECT_LIB", NULL}, {"NVJPEG_LIB", NULL},
                 {"LIB", NULL},          {"PYTHON_DIR", NULL}, {"MAPS", NULL},       {"NEXT_INJECTION", NULL},
                 {"OVERRIDE", NULL},     {"EXEC_RANKS", NULL}, {"SESSION", NULL},    {"SIMD", "portable"}};
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
