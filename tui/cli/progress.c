#include "tui/cli/cli.h"

#include "probe/base/text.h"

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
