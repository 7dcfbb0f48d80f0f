/* dash/canvas.h: a screen as cells in memory: what panels draw into, what tests look at, what `top --once
 * --text` prints and what the terminal back end (screen.h) shows; and the words of drawing in a box of it:
 * put, bar, wrap, heading, numbers in few columns. Nothing outside the grid or the given box is ever touched.
 * Knows no panel. One thread. */
#pragma once

#include "tui/dash/state.h"

/* What a cell means; colours follow from it, and nothing is said by colour alone. */
enum pp_style {
    PP_STYLE_PLAIN,
    PP_STYLE_STRONG,
    PP_STYLE_GOOD,
    PP_STYLE_WARN,
    PP_STYLE_BAD,
    PP_STYLE_TITLE,
    PP_STYLE_BAR,
    PP_STYLE_SELECTED,
    PP_STYLE_CPU,
    PP_STYLE_QUEUED,
    PP_STYLE_BLOCKED,
    PP_STYLE_FILL,
    PP_STYLE_WAITING,
    PP_STYLE_COMPUTING, /* the trainer in its step */
    PP_STYLE_STARVED,   /* the trainer waiting */
    PP_STYLE_COUNT
};

enum { PP_ATTR_BOLD = 1, PP_ATTR_REVERSE = 2 };

/* Foreground on the terminal's own background, readable on dark and on light ones; -1: the default. Hues
 * follow Okabe and Ito's set for colour-blind readers (blue, vermilion, bluish green, reddish purple). */
struct pp_style_info {
    short c256, c16, c8;
    unsigned attr; /* with and without colours */
};
extern const struct pp_style_info pp_styles[PP_STYLE_COUNT];

struct pp_box {
    int row, col, rows, cols;
};

struct pp_cell {
    uint32_t c;    /* Unicode; 0: the right half of a wide character */
    uint8_t style; /* enum pp_style */
};

struct pp_grid {
    int rows, cols;
    int ascii; /* characters beyond ASCII become '?' */
    struct pp_cell *cell;
};

/* A grid of blanks; what it had before is gone. 0: no memory, the grid is then 0x0. Free with pp_grid_free;
 * start with {0}. */
int pp_grid_resize(struct pp_grid *g, int rows, int cols);
void pp_grid_free(struct pp_grid *g);

/* Puts UTF-8 text at (row, col) of the box, cut at its edges; control characters and damaged bytes become
 * '?'. Returns the column behind it. */
int pp_grid_put(struct pp_grid *g, const struct pp_box *box, int row, int col, enum pp_style style,
                const char *text);
/* Restyles the cells of a row of the box. */
void pp_grid_style(struct pp_grid *g, const struct pp_box *box, int row, enum pp_style style);
/* Columns the text takes. */
int pp_grid_columns(const struct pp_grid *g, const char *text);

/* Writes the rows as lines, trailing blanks left out; with SGR sequences of 256 colours when color is set. 0,
 * or -1 when a write failed. */
int pp_grid_print(const struct pp_grid *g, int color, FILE *out);

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
/* When it was since the run began. buf: PP_CELL bytes. */
char *pp_clock_of_run(char *buf, const struct pp_live_snapshot *s, uint64_t t_ns);

/* The marks bars and sparklines are made of, one set per kind of terminal. */

enum pp_glyph_set { PP_GLYPHS_ASCII, PP_GLYPHS_BLOCK, PP_GLYPHS_BRAILLE, PP_GLYPH_SETS };

/* Cells of a bar: parts of time differ by mark, not by colour alone. spark[0] is nothing, spark[8] full; not
 * used by braille, which packs two values of four levels into a cell. */
struct pp_glyphs {
    const char *cpu, *queued, *blocked, *starved, *empty, *fill, *spark[9], *rule;
    int braille;
};
extern const struct pp_glyphs pp_glyph_sets[PP_GLYPH_SETS];

/* The set for the locale that is in force (setlocale): blocks where it is UTF-8, plain ASCII elsewhere. */
enum pp_glyph_set pp_glyphs_of_locale(void);
