#include "tui/cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    fprintf(stderr, "\r%.*s\033[K", p->width > 1 ? p->width - 1 : 0, text);
    fflush(stderr);
    p->shown = 1;
}

void pp_progress_clear(struct pp_progress *p)
{
    if (!p->shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    p->shown = 0;
}
