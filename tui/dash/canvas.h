/* dash/canvas.h: a box of the grid that a panel draws in, and the words of drawing: put, bar, wrap, heading,
 * numbers in few columns. Knows no panel. */
#ifndef PP_DASH_CANVAS_H
#define PP_DASH_CANVAS_H

#include "tui/dash/grid.h"
#include "tui/dash/state.h"

struct pp_canvas {
    struct pp_grid *grid;
    struct pp_box box;
    const struct pp_glyphs *glyphs;
    const struct pp_dash_state *s;
    const struct pp_dash_model *m;
};

/* Text at (row, col) of the panel; returns the column behind it. */
int pp_put(const struct pp_canvas *c, int row, int col, enum pp_style style, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Text that ends before column `end`. */
void pp_put_right(const struct pp_canvas *c, int row, int end, enum pp_style style, const char *text);
/* A heading, then a rule to the edge of the panel. */
void pp_heading(const struct pp_canvas *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Words of text broken at `cols` columns, from row on; at most `rows` lines, the last one cut with "...".
 * Returns the lines there are (drawn or not); c may be NULL to count only. */
int pp_wrap(const struct pp_canvas *c, int row, int rows, int cols, enum pp_style style, const char *text);
/* `cols` cells of mark, as a share of a bar that begins at col. */
void pp_bar(const struct pp_canvas *c, int row, int col, int cols, enum pp_style style, const char *mark);
/* First row of a list of n rows to show in `rows` rows so that the selected one is among them. */
int pp_list_top(int selected, int n, int rows);

/* Numbers in few columns; "-" for what is not known. */
char *pp_short_share(char *buf, size_t size, double share);  /* "12 %" */
char *pp_clock_text(char *buf, size_t size, double seconds); /* "1:02:03", "0:42" */
enum { PP_CELL = 32 };

/* The marks bars and sparklines are made of, one set per kind of terminal. */

enum pp_glyph_set { PP_GLYPHS_ASCII, PP_GLYPHS_BLOCK, PP_GLYPHS_BRAILLE, PP_GLYPH_SETS };

/* Cells of a bar: parts of time differ by mark, not by colour alone. spark[0] is nothing, spark[8] full; not
 * used by braille, which packs two values of four levels into a cell. */
struct pp_glyphs {
    const char *cpu, *queued, *blocked, *starved, *empty, *fill, *spark[9], *rule;
    int braille;
};
extern const struct pp_glyphs pp_glyph_sets[PP_GLYPH_SETS];

/* Two values, 0..4 dots high each, as a UTF-8 braille cell. */
const char *pp_glyph_braille(int left, int right, char buf[4]);

/* The set for the locale that is in force (setlocale): blocks where it is UTF-8, plain ASCII elsewhere. */
enum pp_glyph_set pp_glyphs_of_locale(void);

#endif
