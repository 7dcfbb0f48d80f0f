/* report/render/html/parts.h: the parts of the HTML report, in the order of the page. Private to
 * report/render/html. Nothing is computed here but places on the page. */
#pragma once

#include "report/model/model.h"
#include "report/render/html/html.h"
#include "report/render/sections.h"

/* pictures over the run's time */
void pp_html_steps(FILE *out, const struct pp_report *r);
void pp_html_queues(FILE *out, const struct pp_report *r);
void pp_html_workers(FILE *out, const struct pp_report *r);
void pp_html_errors(FILE *out, const struct pp_report *r);
/* other pictures */
void pp_html_spent(FILE *out, const struct pp_report *r);
void pp_html_headroom(FILE *out, const struct pp_report *r);
/* Stalls at an interval, the first batch, ...; and what was predicted and then run. */
void pp_html_findings(FILE *out, const struct pp_report *r);
void pp_html_ops(FILE *out, const struct pp_report *r); /* which line costs the stall */
void pp_html_curves(FILE *out, const struct pp_report *r);
void pp_html_wait_cdf(FILE *out, const struct pp_report *r);
void pp_html_waterfalls(FILE *out, const struct pp_report *r);
/* tables */
void pp_html_evidence(FILE *out, const struct pp_report *r);
void pp_html_phases(FILE *out, const struct pp_report *r);
void pp_html_gpu(FILE *out, const struct pp_report *r);
/* With configuration and environment before it, and what produced the file behind. */
void pp_html_recording(FILE *out, const struct pp_report *r);

/* The third printer of report/render/sections.h: a table inside a <details>, or a list, and each number in it
 * with its exact value and its path in the JSON document. */
void pp_html_section(FILE *out, const struct pp_section_rows *rows);
/* All rows of the field at path. */
void pp_html_section_at(FILE *out, const struct pp_section *s, const struct pp_report *r, const char *path);

/* strips.c: strips over the run's time: what a slice of it holds, as steps of an area. */

/* A stretch of the run in slices of equal length, drawn over the width of a picture. */
struct pp_html_view {
    const struct pp_report_slice *slice;
    size_t n; /* not 0 */
};
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
