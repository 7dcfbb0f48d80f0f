/* report/render/html/html.h: HTML and SVG as text: nothing from a run reaches the page unescaped, and no
 * number without its exact value.
 *
 * Text: & < > " ' become entities; control characters, bytes that are not UTF-8 and bidirectional overrides
 * (a file name could turn the line around it) become U+FFFD. Numbers are shown as people read them inside
 * <span data-v="exact" data-k="path in the JSON document">, so that a page can be held to the JSON document,
 * and read by programs. */
#pragma once

#include "probe/base/std.h"

void pp_html_text(FILE *out, const char *text); /* NULL: nothing */
/* The same between HTML of ours: nothing at all for NULL. */
void pp_html_in(FILE *out, const char *before, const char *text, const char *after);

enum pp_html_form {
    PP_HTML_COUNT,
    PP_HTML_TIME,
    PP_HTML_SHARE,
    PP_HTML_GAIN, /* "+31 %", from twice the rate on "2.4 times" */
    PP_HTML_RATE,
    PP_HTML_PREDICTED, /* a rate, with two digits */
    PP_HTML_BYTES,
    PP_HTML_SECONDS
};

/* key is printf-like; NAN is shown as a dash that says "not known". */
void pp_html_num(FILE *out, enum pp_html_form form, double value, const char *key, ...)
    __attribute__((format(printf, 4, 5)));

/* A table inside a <details>, open or not; heads ends with NULL, a head that begins with '#' is of a column
 * of numbers. */
void pp_html_table_begin(FILE *out, const char *summary, int open, const char *const *heads);
void pp_html_table_end(FILE *out);

/* ---- SVG: coordinates with two decimals, in no locale ---- */

void pp_svg_num(FILE *out, double v);
/* " name='v'" */
void pp_svg_attr(FILE *out, const char *name, double v);
void pp_svg_rect(FILE *out, const char *class, double x, double y, double width, double height);
/* A picture that fills the width it is given: x runs over 0..width whatever the screen; text belongs beside
 * it, not into it. */
void pp_svg_begin(FILE *out, const char *class, double width, double height, const char *title);
void pp_svg_end(FILE *out);

/* Ticks of a linear axis of seconds from start to end, at most 8, round as the clock: in at[]; returns n. */
int pp_svg_time_ticks(double start_s, double end_s, double at[8]);

/* ---- pages: head, style, the line with its name, the foot. One file without scripts or external resources,
 * which its policy says to the browser. ---- */

/* title: of the window; name: beside pipeprobe's. Both are escaped. */
void pp_html_page_begin(FILE *out, const char *title, const char *name);
/* note: HTML of ours, behind what every page says. 0, or -1 when something could not be written. */
int pp_html_page_end(FILE *out, const char *note);

/* ---- figures: heading, legend, axes ----
 *
 * Pictures are drawn in a box of fixed width that the browser stretches to the screen; all text stands beside
 * them as HTML, so that it has the same size on a phone and on a wide screen. */

#define PP_HTML_WIDTH 1200.0 /* of every picture, in its own units */

void pp_html_figure_begin(FILE *out, const char *id, const char *title, const char *caption);
void pp_html_figure_end(FILE *out);
void pp_html_key(FILE *out, const char *class, const char *text); /* one entry of a legend */
/* Opens the label of an axis at left % of its width: centred there, but what is near an end stays inside.
 * Close it with </span>. */
void pp_html_tick(FILE *out, double left);
void pp_html_time_axis(FILE *out, double start_s, double end_s);
/* part of `of` in %, 0 to 100. */
double pp_html_percent(double part, double of);

/* ---- a picture of rows and columns whose cells have shades ----
 *
 * One path per shade keeps the document small: a cell is some 15 bytes, and cells of one shade that follow
 * each other are one. */

enum { PP_HTML_SHADES = 6 }; /* the first is the ground */

struct pp_html_heat {
    size_t n_rows, n_columns, row_height;
    double (*value)(const void *of, size_t row, size_t column); /* NAN, and at most 0.005: the ground */
    const void *of;
    const char *title;
    const char *const *shade_names; /* of PP_HTML_SHADES, the first is not shown; NULL: no legend */
    double start_s, end_s;          /* of the time axis */
};

/* The picture, its axis and legend, behind the rows' names, in <div class="plot rows">, which it ends. */
void pp_html_heat(FILE *out, const struct pp_html_heat *h);

extern const char pp_html_style[];
