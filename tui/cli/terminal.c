/* What the terminal behind a stream can show: colour, columns, rows. */
#include "tui/cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
