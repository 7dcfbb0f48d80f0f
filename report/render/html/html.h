/* report/render/html/html.h: HTML and SVG as text: nothing from a run reaches the page unescaped, and no
 * number without its exact value.
 *
 * Text: & < > " ' become entities; control characters, bytes that are not UTF-8 and bidirectional overrides
 * (a file name could turn the line around it) become U+FFFD. Numbers are shown as people read them inside
 * <span data-v="exact" data-k="path in the JSON document">, so that a page can be held to the JSON document,
 * and read by programs. */
#ifndef PP_REPORT_RENDER_HTML_HTML_H
#define PP_REPORT_RENDER_HTML_HTML_H

#include <stdint.h>
#include <stdio.h>

void pp_html_text(FILE *out, const char *text); /* NULL: nothing */

enum pp_html_form {
    PP_HTML_COUNT,
    PP_HTML_TIME,
    PP_HTML_SHARE,
    PP_HTML_RATE,
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

/* Ticks of a linear axis of seconds from 0 to end, at most 8, as round as the clock: fills at[], returns how
 * many. */
int pp_svg_time_ticks(double end_s, double at[8]);

#endif
