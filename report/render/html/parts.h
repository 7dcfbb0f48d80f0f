/* report/render/html/parts.h: the parts of the HTML report, in the order of the page. Private to
 * report/render/html. Nothing is computed here but places on the page. */
#ifndef PP_REPORT_RENDER_HTML_PARTS_H
#define PP_REPORT_RENDER_HTML_PARTS_H

#include "report/model/model.h"
#include "report/render/html/html.h"
#include "report/render/html/strips.h"
#include "report/render/sections.h"

#include <stdio.h>

/* pictures over the run's time */
void pp_html_steps(FILE *out, const struct pp_report *r);
void pp_html_queues(FILE *out, const struct pp_report *r);
void pp_html_workers(FILE *out, const struct pp_report *r);
void pp_html_errors(FILE *out, const struct pp_report *r);
/* other pictures */
void pp_html_spent(FILE *out, const struct pp_report *r);
void pp_html_headroom(FILE *out, const struct pp_report *r);
void pp_html_proofs(FILE *out, const struct pp_report *r);   /* what was predicted and then run */
void pp_html_findings(FILE *out, const struct pp_report *r); /* stalls at an interval, the first batch, ... */
void pp_html_ops(FILE *out, const struct pp_report *r);      /* which line costs the stall */
void pp_html_curves(FILE *out, const struct pp_report *r);
void pp_html_wait_cdf(FILE *out, const struct pp_report *r);
void pp_html_waterfalls(FILE *out, const struct pp_report *r);
/* tables */
void pp_html_evidence(FILE *out, const struct pp_report *r);
void pp_html_phases(FILE *out, const struct pp_report *r);
void pp_html_gpu(FILE *out, const struct pp_report *r);
void pp_html_decode(FILE *out, const struct pp_report *r);
void pp_html_environment(FILE *out, const struct pp_report *r);
void pp_html_made(FILE *out, const struct pp_report *r); /* what produced the file */
void pp_html_recording(FILE *out, const struct pp_report *r);

/* The third printer of report/render/sections.h: a table inside a <details>, or a list, and each number in it
 * with its exact value and its path in the JSON document. */
void pp_html_section(FILE *out, const struct pp_section_rows *rows);
/* All rows of the field at path. */
void pp_html_section_at(FILE *out, const struct pp_section *s, const struct pp_report *r, const char *path);

#endif
