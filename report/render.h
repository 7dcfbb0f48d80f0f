/* report/render.h: the report model as text for a terminal and as one JSON document (schema pipeprobe.report/1, docs/report.schema.json). */
#ifndef PP_REPORT_RENDER_H
#define PP_REPORT_RENDER_H

#include "report/model.h"

#include <stdio.h>

/* 0, or -1 when writing failed. */
int pp_render_text(const struct pp_report *r, FILE *out, int color, int columns);
int pp_render_json(const struct pp_report *r, FILE *out);

#endif
