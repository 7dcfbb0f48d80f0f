/* report/render/html/figure.h: the frame of a picture or table of the HTML report: heading, legend, axes.
 *
 * Pictures are drawn in a box of fixed width that the browser stretches to the screen; all text stands beside
 * them as HTML, so that it has the same size on a phone and on a wide screen. */
#ifndef PP_REPORT_RENDER_HTML_FIGURE_H
#define PP_REPORT_RENDER_HTML_FIGURE_H

#include "report/model/model.h"
#include "report/render/html/html.h"

#define PP_HTML_WIDTH 1200.0 /* of every picture, in its own units */

void pp_html_figure_begin(FILE *out, const char *id, const char *title, const char *caption);
void pp_html_figure_end(FILE *out);
void pp_html_key(FILE *out, const char *class, const char *text); /* one entry of a legend */
/* Opens the label of an axis at left % of its width: centred there, but what is near an end stays inside.
 * Close it with </span>. */
void pp_html_tick(FILE *out, double left);
void pp_html_time_axis(FILE *out, double end_s);
/* part of `of` in %, 0 to 100. */
double pp_html_percent(double part, double of);

#endif
