/* report/render/html/strips.h: strips over the run's time: what a slice of it holds, as steps of an area. */
#ifndef PP_REPORT_RENDER_HTML_STRIPS_H
#define PP_REPORT_RENDER_HTML_STRIPS_H

#include "report/model/model.h"
#include "report/render/html/html.h"

/* A stretch of the run in slices of equal length, drawn over the width of a picture. */
struct pp_html_view {
    const struct pp_report_slice *slice;
    size_t n; /* not 0 */
};
double pp_html_view_start_s(const struct pp_html_view *v);
double pp_html_view_end_s(const struct pp_html_view *v);
double pp_html_view_x(const struct pp_html_view *v, size_t i); /* where a slice begins */
/* As steps: from 0 to top[i] of the height in slice i. */
void pp_html_area(FILE *out, const char *class, const struct pp_html_view *v, const double *top,
                  double height);
void pp_html_stack(FILE *out, const struct pp_html_view *v, double height); /* the trainer's time */
/* Its legend; of two runs that of both. */
void pp_html_stack_keys(FILE *out, const struct pp_report *const *runs, size_t n);
/* Pale outside the steady state. */
void pp_html_window(FILE *out, const struct pp_report *r, const struct pp_html_view *v, double height);
/* Under the axis of the whole run: a link to each of its parts. */
void pp_html_ruler(FILE *out, const struct pp_report *r);
/* The parts of the run, closer: each folded away, opened by a click on it or on the ruler. */
void pp_html_parts(FILE *out, const struct pp_report *r);

#endif
