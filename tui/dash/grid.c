#include "tui/dash/grid.h"

#include "probe/base/text.h"

#include <stdlib.h>
#include <string.h>

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

/* One character of *text, which moves on; BAD_CHARACTER for a byte that begins none (RFC 3629: no overlong
 * forms, no surrogates), and for what could steer a terminal or deceive its reader. */
static uint32_t next_character(const char **text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)*text;
    int n = p[0] < 0x80             ? 1
            : (p[0] & 0xe0) == 0xc0 ? 2
            : (p[0] & 0xf0) == 0xe0 ? 3
            : (p[0] & 0xf8) == 0xf0 ? 4
                                    : 0;
    uint32_t c = n == 1 ? p[0] : n ? p[0] & (0x7fu >> n) : 0;
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            n = 0;
            break;
        }
        c = c << 6 | (p[i] & 0x3f);
    }
    if (n == 0 || c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
        *text += 1;
        return BAD_CHARACTER;
    }
    *text += n;
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

static void put_utf8(uint32_t c, FILE *out)
{
    if (c < 0x80) {
        putc((int)c, out);
    } else if (c < 0x800) {
        putc((int)(0xc0 | c >> 6), out);
        putc((int)(0x80 | (c & 0x3f)), out);
    } else if (c < 0x10000) {
        putc((int)(0xe0 | c >> 12), out);
        putc((int)(0x80 | (c >> 6 & 0x3f)), out);
        putc((int)(0x80 | (c & 0x3f)), out);
    } else {
        putc((int)(0xf0 | c >> 18), out);
        putc((int)(0x80 | (c >> 12 & 0x3f)), out);
        putc((int)(0x80 | (c >> 6 & 0x3f)), out);
        putc((int)(0x80 | (c & 0x3f)), out);
    }
}

static void put_style(enum pp_style style, FILE *out)
{
    const struct pp_style_info *s = &pp_styles[style];
    fputs("\033[0", out);
    if (s->attr & PP_ATTR_BOLD)
        fputs(";1", out);
    if (s->attr & PP_ATTR_REVERSE)
        fputs(";7", out);
    if (s->c256 >= 0)
        fprintf(out, ";38;5;%d", s->c256);
    putc('m', out);
}

static int is_blank(const struct pp_cell *c)
{
    return c->c == ' ' && !(pp_styles[c->style].attr & PP_ATTR_REVERSE);
}

int pp_grid_print(const struct pp_grid *g, int color, FILE *out)
{
    for (int r = 0; r < g->rows; r++) {
        const struct pp_cell *row = g->cell + (size_t)r * (size_t)g->cols;
        int end = g->cols, style = PP_STYLE_PLAIN;
        while (end > 0 && (color ? is_blank(&row[end - 1]) : row[end - 1].c == ' '))
            end--;
        for (int c = 0; c < end; c++) {
            if (color && row[c].style != style)
                put_style((enum pp_style)row[c].style, out);
            style = row[c].style;
            if (row[c].c)
                put_utf8(row[c].c, out);
        }
        if (color && style != PP_STYLE_PLAIN)
            fputs("\033[0m", out);
        putc('\n', out);
    }
    return ferror(out) ? -1 : 0;
}
