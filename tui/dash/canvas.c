#include "tui/dash/canvas.h"

#include "probe/base/utf8.h"

#include <langinfo.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int pp_put(const struct pp_canvas *c, int row, int col, enum pp_style style, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return pp_grid_put(c->grid, &c->box, row, col, style, text);
}

void pp_put_right(const struct pp_canvas *c, int row, int end, enum pp_style style, const char *text)
{
    pp_grid_put(c->grid, &c->box, row, end - pp_grid_columns(c->grid, text), style, text);
}

/* Of text, what leaves room for dots in `cols` columns and ends with a word. */
static int words_within(const char *text, int cols)
{
    int n = cols > 4 ? cols - 4 : 0;
    while (n > 0 && text[n] != ' ')
        n--;
    return n;
}

void pp_heading(const struct pp_canvas *c, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (pp_grid_columns(c->grid, text) > c->box.cols)
        snprintf(text + words_within(text, c->box.cols), 5, " ...");
    int col = pp_grid_put(c->grid, &c->box, 0, 0, PP_STYLE_TITLE, text) + 1;
    for (; col < c->box.cols; col++)
        pp_grid_put(c->grid, &c->box, 0, col, PP_STYLE_PLAIN, c->glyphs->rule);
}

int pp_wrap(const struct pp_canvas *c, int row, int rows, int cols, enum pp_style style, const char *text)
{
    int lines = 0;
    while (*text) {
        int room = cols < 1 ? 1 : cols, left = (int)strlen(text), n = left;
        if (left > room) { /* after the last blank that fits; within a word that is longer than a line */
            for (n = room; n > 0 && text[n] != ' '; n--) {
            }
            n = n > 0 ? n : room;
        }
        if (c && lines < rows) {
            int last = lines == rows - 1 && n < left,
                shown = last && n > room - 4 ? words_within(text, room) : n;
            pp_put(c, row + lines, 0, style, "%.*s%s", shown, text, last ? " ..." : "");
        }
        lines++;
        text += n;
        text += strspn(text, " ");
    }
    return lines;
}

void pp_bar(const struct pp_canvas *c, int row, int col, int cols, enum pp_style style, const char *mark)
{
    for (int i = 0; i < cols; i++)
        pp_grid_put(c->grid, &c->box, row, col + i, style, mark);
}

int pp_list_top(int selected, int n, int rows)
{
    int top = selected - rows / 2;
    top = top > n - rows ? n - rows : top;
    return top < 0 ? 0 : top;
}

char *pp_short_share(char *buf, size_t size, double share)
{
    if (!isfinite(share))
        snprintf(buf, size, "-");
    else if (share > 0 && share < 0.01)
        snprintf(buf, size, "<1 %%");
    else
        snprintf(buf, size, "%.0f %%", share * 100);
    return buf;
}

char *pp_clock_text(char *buf, size_t size, double seconds)
{
    long s = isfinite(seconds) && seconds > 0 && seconds < 1e9 ? (long)seconds : 0;
    if (s >= 3600)
        snprintf(buf, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(buf, size, "%ld:%02ld", s / 60, s % 60);
    return buf;
}

const struct pp_glyphs pp_glyph_sets[PP_GLYPH_SETS] = {
    [PP_GLYPHS_ASCII] = {.cpu = "#",
                         .queued = "~",
                         .blocked = "-",
                         .starved = "x",
                         .empty = ".",
                         .fill = "#",
                         .spark = {" ", "_", ".", ":", "-", "=", "+", "*", "#"},
                         .rule = "-"},
    [PP_GLYPHS_BLOCK] = {.cpu = "█",
                         .queued = "▓",
                         .blocked = "▒",
                         .starved = "▚",
                         .empty = "·",
                         .fill = "█",
                         .spark = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                         .rule = "─"},
    [PP_GLYPHS_BRAILLE] = {.cpu = "█",
                           .queued = "▓",
                           .blocked = "▒",
                           .starved = "▚",
                           .empty = "·",
                           .fill = "█",
                           .spark = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                           .rule = "─",
                           .braille = 1},
};

/* Unicode, Braille Patterns: dots 7 3 2 1 stand on the left, 8 6 5 4 on the right, from the bottom up. */
const char *pp_glyph_braille(int left, int right, char buf[4])
{
    static const unsigned char up_left[] = {0, 0x40, 0x44, 0x46, 0x47},
                               up_right[] = {0, 0x80, 0xa0, 0xb0, 0xb8};
    buf[pp_utf8_put(0x2800u + up_left[left] + up_right[right], buf)] = '\0';
    return buf;
}

enum pp_glyph_set pp_glyphs_of_locale(void)
{
    const char *codeset = nl_langinfo(CODESET);
    return strcasecmp(codeset, "UTF-8") == 0 || strcasecmp(codeset, "UTF8") == 0 ? PP_GLYPHS_BLOCK
                                                                                 : PP_GLYPHS_ASCII;
}
