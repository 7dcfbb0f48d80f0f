/* dash/grid.h: a screen as cells in memory: what panels draw into, what tests look at, what `top --once
 * --text` prints and what the terminal back end (screen.h) shows. Nothing outside the grid or the given box
 * is ever touched. One thread. */
#ifndef PP_DASH_GRID_H
#define PP_DASH_GRID_H

#include <stdint.h>
#include <stdio.h>

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

#endif
