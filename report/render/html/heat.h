/* report/render/html/heat.h: a picture of rows and columns whose cells have shades. One path per shade keeps
 * the document small: a cell is some 15 bytes, and cells of one shade that follow each other are one. */
#ifndef PP_REPORT_RENDER_HTML_HEAT_H
#define PP_REPORT_RENDER_HTML_HEAT_H

#include <stddef.h>
#include <stdio.h>

enum { PP_HTML_SHADES = 6 }; /* the first is the ground */

struct pp_html_heat {
    size_t n_rows, n_columns, row_height;
    double (*value)(const void *of, size_t row, size_t column); /* NAN, and at most 0.005: the ground */
    const void *of;
    const char *title;
    const char *const *shade_names; /* of PP_HTML_SHADES, the first is not shown */
    double end_s;                   /* of the time axis */
};

/* The picture, its axis and its legend, behind the names of the rows: within <div class="plot rows">, which
 * it ends. */
void pp_html_heat(FILE *out, const struct pp_html_heat *h);

#endif
