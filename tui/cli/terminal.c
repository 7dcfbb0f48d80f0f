/* What the terminal behind a stream can show: colour, columns, rows; and the line of progress on it. */
#include "tui/cli/cli.h"

#include "probe/base/text.h"
#include "tui/cli/jobs/interrupt.h"

#include <stdarg.h>
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
