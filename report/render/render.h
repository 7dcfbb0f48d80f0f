/* report/render/render.h: the report model as text for a terminal, as one JSON document (schema
 * pipeprobe.report/1, docs/report.schema.json), as one HTML page, as Markdown for a pull request, and as CSV
 * (docs/reference/report-formats.md). Renderers compute nothing: what they show is in the model. */
#pragma once

#include "report/model/model.h"

/* 0, or -1 when writing failed. */
/* The answer: subject, stall, cause, what to do, three numbers; at most 20 lines at 80 columns. */
int pp_render_short(const struct pp_report *r, FILE *out, int color, int columns);
/* The same in three sentences: how much, why, what to do; and errors, if there are any. */
int pp_render_brief(const struct pp_report *r, FILE *out, int color, int columns);
/* Everything, for a terminal. */
int pp_render_text(const struct pp_report *r, FILE *out, int color, int columns);
int pp_render_json(const struct pp_report *r, FILE *out);
/* The answer for a program, at most 4,000 bytes: schema pipeprobe.answer/1. file: the recording as it was
 * named to us, for the commands in it. */
int pp_render_answer(const struct pp_report *r, const char *file, FILE *out);
int pp_render_html(const struct pp_report *r, FILE *out);
int pp_render_md(const struct pp_report *r, FILE *out);
int pp_render_csv(const struct pp_report *r, FILE *out);
