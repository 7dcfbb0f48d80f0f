#include "tui/dash/canvas.h"

#include "probe/base/text.h"
#include "probe/base/utf8.h"

#include <langinfo.h>
#include <stdarg.h>
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

char *pp_clock_of_run(char *buf, const struct pp_live_snapshot *s, uint64_t t_ns)
{
    return pp_clock_text(buf, PP_CELL, ((double)t_ns - (double)s->origin_ns) / 1e9);
}

#define BLOCKS \
    .cpu = "█", .queued = "▓", .blocked = "▒", .starved = "▚", .empty = "·", .fill = "█", \
    .spark = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, .rule = "─"
const struct pp_glyphs pp_glyph_sets[PP_GLYPH_SETS] = {
    [PP_GLYPHS_ASCII] = {.cpu = "#",
                         .queued = "~",
                         .blocked = "-",
                         .starved = "x",
                         .empty = ".",
                         .fill = "#",
                         .spark = {" ", "_", ".", ":", "-", "=", "+", "*", "#"},
                         .rule = "-"},
    [PP_GLYPHS_BLOCK] = {BLOCKS},
    [PP_GLYPHS_BRAILLE] = {BLOCKS, .braille = 1},
};

enum pp_glyph_set pp_glyphs_of_locale(void)
{
    const char *codeset = nl_langinfo(CODESET);
    return strcasecmp(codeset, "UTF-8") == 0 || strcasecmp(codeset, "UTF8") == 0 ? PP_GLYPHS_BLOCK
                                                                                 : PP_GLYPHS_ASCII;
}

#define BAD_CHARACTER '?'

const struct pp_style_info pp_styles[PP_STYLE_COUNT] = {
    [PP_STYLE_PLAIN] = {-1, -1, -1, 0},
    [PP_STYLE_STRONG] = {-1, -1, -1, PP_ATTR_BOLD},
    [PP_STYLE_GOOD] = {29, 2, 2, PP_ATTR_BOLD},
    [PP_STYLE_WARN] = {166, 3, 3, PP_ATTR_BOLD},
    [PP_STYLE_BAD] = {160, 1, 1, PP_ATTR_BOLD},
    [PP_STYLE_TITLE] = {32, 6, 6, PP_ATTR_BOLD},
    [PP_STYLE_BAR] = {-1, -1, -1, PP_ATTR_REVERSE},
    [PP_STYLE_SELECTED] = {-1, -1, -1, PP_ATTR_REVERSE},
    [PP_STYLE_CPU] = {32, 6, 6, 0},
    [PP_STYLE_QUEUED] = {133, 5, 5, 0},
    [PP_STYLE_BLOCKED] = {166, 3, 3, 0},
    [PP_STYLE_FILL] = {29, 2, 2, 0},
    [PP_STYLE_WAITING] = {166, 3, 3, 0},
    [PP_STYLE_COMPUTING] = {29, 2, 2, 0},
    [PP_STYLE_STARVED] = {160, 1, 1, 0},
};

int pp_grid_resize(struct pp_grid *g, int rows, int cols)
{
    size_t n = rows > 0 && cols > 0 ? (size_t)rows * (size_t)cols : 0;
    struct pp_cell *cell = n ? realloc(g->cell, n * sizeof(*cell)) : NULL;
    if (!cell) {
        pp_grid_free(g);
        return n == 0;
    }
    g->cell = cell;
    g->rows = rows;
    g->cols = cols;
    for (size_t i = 0; i < n; i++)
        cell[i] = (struct pp_cell){.c = ' ', .style = PP_STYLE_PLAIN};
    return 1;
}

void pp_grid_free(struct pp_grid *g)
{
    free(g->cell);
    g->cell = NULL;
    g->rows = g->cols = 0;
}

/* One character of *text, which moves on; BAD_CHARACTER for a byte that begins none, and for what could steer
 * a terminal or deceive its reader. */
static uint32_t next_character(const char **text)
{
    const unsigned char *p = (const unsigned char *)*text;
    int n = pp_utf8_length(p);
    uint32_t c = n ? pp_utf8_point(p, n) : BAD_CHARACTER;
    *text += n ? n : 1;
    return pp_text_is_deceptive(c) ? BAD_CHARACTER : c;
}

/* Columns of a character, as the wide and fullwidth blocks of Unicode's East Asian Width have it; 0 for marks
 * that combine. Asked of a table and not of wcwidth, which knows only ASCII in the C locale. */
static int width_of(uint32_t c)
{
    static const struct {
        uint32_t from, to;
        int width;
    } block[] = {
        {0x300, 0x36f, 0},   {0x20d0, 0x20ff, 0}, {0xfe00, 0xfe0f, 0},   {0x1100, 0x115f, 2},
        {0x2e80, 0xa4cf, 2}, {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},
        {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2}, {0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
    };
    for (size_t i = 0; i < sizeof(block) / sizeof(*block); i++)
        if (c >= block[i].from && c <= block[i].to)
            return block[i].width;
    return 1;
}

int pp_grid_columns(const struct pp_grid *g, const char *text)
{
    int n = 0;
    while (*text) {
        uint32_t c = next_character(&text);
        n += g->ascii && c > 0x7f ? 1 : width_of(c);
    }
    return n;
}

/* The cell at (row, col) of the box, or NULL outside of box or grid. */
static struct pp_cell *cell_at(struct pp_grid *g, const struct pp_box *box, int row, int col)
{
    int r = box->row + row, c = box->col + col;
    int inside = row >= 0 && col >= 0 && row < box->rows && col < box->cols && r >= 0 && c >= 0 &&
                 r < g->rows && c < g->cols;
    return inside ? &g->cell[(size_t)r * (size_t)g->cols + (size_t)c] : NULL;
}

int pp_grid_put(struct pp_grid *g, const struct pp_box *box, int row, int col, enum pp_style style,
                const char *text)
{
    while (*text) {
        uint32_t c = next_character(&text);
        if (g->ascii && c > 0x7f)
            c = BAD_CHARACTER;
        int width = width_of(c);
        struct pp_cell *cell = cell_at(g, box, row, col),
                       *half = width == 2 ? cell_at(g, box, row, col + 1) : NULL;
        if (width == 0)
            continue;
        if (cell)
            *cell = (struct pp_cell){.c = width == 2 && !half ? BAD_CHARACTER : c, .style = (uint8_t)style};
        if (half)
            *half = (struct pp_cell){.c = 0, .style = (uint8_t)style};
        col += width;
    }
    return col;
}

void pp_grid_style(struct pp_grid *g, const struct pp_box *box, int row, enum pp_style style)
{
    for (int col = 0; col < box->cols; col++) {
        struct pp_cell *cell = cell_at(g, box, row, col);
        if (cell)
            cell->style = (uint8_t)style;
    }
}

int pp_grid_print(const struct pp_grid *g, int color, FILE *out)
{
    for (int r = 0; r < g->rows; r++) {
        const struct pp_cell *row = g->cell + (size_t)r * (size_t)g->cols;
        int end = g->cols, style = PP_STYLE_PLAIN;
        while (end > 0 && row[end - 1].c == ' ' &&
               !(color && (pp_styles[row[end - 1].style].attr & PP_ATTR_REVERSE)))
            end--;
        for (int c = 0; c < end; c++) {
            if (color && row[c].style != style) {
                const struct pp_style_info *s = &pp_styles[row[c].style];
                fputs("\033[0", out);
                if (s->attr & PP_ATTR_BOLD)
                    fputs(";1", out);
                if (s->attr & PP_ATTR_REVERSE)
                    fputs(";7", out);
                if (s->c256 >= 0)
                    fprintf(out, ";38;5;%d", s->c256);
                putc('m', out);
            }
            style = row[c].style;
            char bytes[4];
            if (row[c].c)
                fwrite(bytes, 1, pp_utf8_put(row[c].c, bytes), out);
        }
        if (color && style != PP_STYLE_PLAIN)
            fputs("\033[0m", out);
        putc('\n', out);
    }
    return ferror(out) ? -1 : 0;
}
