#include "probe/dataset/warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_WARNINGS = 256 };

/* One slot is kept for the sentence that counts those that found no room. */
static int append_warning(struct pp_warnings *w, char *text)
{
    if (!w->text)
        w->text = calloc(MAX_WARNINGS, sizeof(*w->text));
    if (!text || !w->text || w->n >= MAX_WARNINGS - 1) {
        free(text);
        w->dropped++;
        return -1;
    }
    w->text[w->n++] = text;
    return 0;
}

void pp_warn(struct pp_warnings *w, const char *fmt, ...)
{
    char *text;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    append_warning(w, text);
}

void pp_warnings_move(struct pp_warnings *to, struct pp_warnings *from)
{
    for (size_t i = 0; i < from->n; i++)
        append_warning(to, from->text[i]);
    to->dropped += from->dropped;
    from->n = 0;
    pp_warnings_free(from);
}

void pp_warnings_free(struct pp_warnings *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->text[i]);
    free(w->text);
    *w = (struct pp_warnings){0};
}

void pp_warnings_end(struct pp_warnings *w)
{
    char *text;
    if (w->dropped > 0 && w->text && asprintf(&text, "and %zu more warnings of this kind", w->dropped) >= 0)
        w->text[w->n++] = text;
}
