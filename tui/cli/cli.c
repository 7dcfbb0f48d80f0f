#include "tui/cli/cli.h"

#include "tui/cli/help.h"

#include "probe/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int pp_cli_fail(const struct pp_command *cmd, const struct pp_err *err)
{
    const char *text = err->text[0] ? err->text : pp_status_text(err->code);
    char *plain = pp_text_plain(text); /* it names files, which others named */
    fprintf(stderr, "pipeprobe %s: %s\n", cmd->name, plain ? plain : pp_status_text(err->code));
    free(plain);
    return pp_status_exit_code(err->code);
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

int pp_cli_parse(const struct pp_command *cmd, struct pp_opt_set *set, int argc, char **argv,
                 const char **operands, int *n_operands)
{
    struct pp_err err = {0};
    enum asked help = asks_for_help(argc, argv);
    if (help != NO_HELP) {
        pp_help_command(cmd, stdout, help == FULL_HELP);
        return 0;
    }
    if (pp_opts_parse(set, cmd->name, argc, argv, operands, n_operands, &err) != PP_OK)
        return pp_cli_fail(cmd, &err);
    return -1;
}

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

/* Longer lines are no easier to read. */
int pp_cli_help_columns(FILE *out)
{
    int columns = pp_cli_columns(out);
    return columns < USUAL ? columns : USUAL;
}

int pp_cli_rows(FILE *out)
{
    struct winsize size;
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}
