/* report/render/render_html.h: the parts of the HTML report, in the order of the page. Private to
 * report/render_html*.c.
 *
 * Pictures are drawn in a box of fixed width that the browser stretches to the screen; all text stands beside
 * them as HTML, so that it has the same size on a phone and on a wide screen. Nothing is computed here but
 * places on the page. */
#ifndef PP_REPORT_RENDER_RENDER_HTML_H
#define PP_REPORT_RENDER_RENDER_HTML_H

#include "report/render/html.h"
#include "report/model/model.h"

#define PP_HTML_WIDTH 1200.0 /* of every picture, in its own units */

extern const char pp_html_style[];

/* pictures over the run's time */
void pp_html_steps(FILE *out, const struct pp_report *r);
void pp_html_queues(FILE *out, const struct pp_report *r);
void pp_html_workers(FILE *out, const struct pp_report *r);
void pp_html_errors(FILE *out, const struct pp_report *r);
/* other pictures */
void pp_html_headroom(FILE *out, const struct pp_report *r);
void pp_html_proofs(FILE *out, const struct pp_report *r);   /* what was predicted and then run */
void pp_html_findings(FILE *out, const struct pp_report *r); /* stalls at an interval, the first batch, ... */
void pp_html_curves(FILE *out, const struct pp_report *r);
void pp_html_wait_cdf(FILE *out, const struct pp_report *r);
void pp_html_waterfalls(FILE *out, const struct pp_report *r);
/* tables */
void pp_html_evidence(FILE *out, const struct pp_report *r);
void pp_html_phases(FILE *out, const struct pp_report *r);
void pp_html_gpu(FILE *out, const struct pp_report *r);
void pp_html_environment(FILE *out, const struct pp_report *r);
void pp_html_recording(FILE *out, const struct pp_report *r);

/* Shared by the pictures. */
void pp_html_figure_begin(FILE *out, const char *id, const char *title, const char *caption);
void pp_html_figure_end(FILE *out);
void pp_html_key(FILE *out, const char *class, const char *text); /* one entry of a legend */
/* Opens the label of an axis at left % of its width: centred there, but what is near an end stays inside.
 * Close it with </span>. */
void pp_html_tick(FILE *out, double left);
void pp_html_time_axis(FILE *out, double end_s);
const struct pp_report_phase *pp_html_find_phase(const struct pp_report *r, pp_phase phase);

#endif
