/* report/render/sections.h: the tables of the report, declared once: which rows of the model, which columns,
 * and what each is called. Cells come from the table of fields (report/model/fields.h): a number is shown by
 * its unit. Three printers: text and Markdown in section_print.c, HTML in report/render/html/section.c. */
#ifndef PP_REPORT_RENDER_SECTIONS_H
#define PP_REPORT_RENDER_SECTIONS_H

#include "probe/base/page.h"
#include "report/model/fields.h"

enum pp_printer { PP_IN_TEXT, PP_IN_MD, PP_IN_HTML, PP_PRINTERS };

enum {
    PP_CELL_BAR = 1,      /* text, HTML: a bar as long as the share */
    PP_CELL_ROW_HEAD = 2, /* HTML: names the row */
    PP_CELL_PATH = 4,     /* HTML: a name of a file, which may break anywhere */
};

struct pp_section_column {
    /* A key of the row, or several and words: "{knob} to {to}". Words after a field that is null are left
     * out. */
    const char *form;
    /* Its heading, '#' before that of numbers; NULL: that printer has no such column. */
    const char *head[PP_PRINTERS];
    int width; /* in text: negative is to the left */
    unsigned flags;
    /* In words of our own instead of the form's; buf has 64 bytes. */
    const char *(*words)(const void *row, enum pp_printer in, char *buf);
    const char *(*title)(const void *row); /* HTML: shown when pointed at; may be NULL */
};

struct pp_section {
    const char *title[PP_PRINTERS]; /* text: heading; HTML: summary of the table; Markdown: the caller's */
    size_t open_up_to;              /* HTML: unfolded with at most so many rows */
    const struct pp_section_column *columns;
    size_t n_columns;
};

extern const struct pp_section pp_section_evidence, pp_section_fixes, pp_section_proofs, pp_section_findings,
    pp_section_durations, pp_section_shares, pp_section_workers, pp_section_queues, pp_section_errors,
    pp_section_losses, pp_section_steps_over_time, pp_section_queues_over_time, pp_section_errors_over_time,
    pp_section_waits, pp_section_curve, pp_section_legs;

/* Rows to be printed: those of a field of the report. */
struct pp_section_rows {
    const struct pp_section *section;
    const struct pp_report *report;
    const struct pp_field *fields; /* of a row */
    const char *first;
    size_t n, stride;
    const char *path; /* in the document: "phases"; borrowed */
    size_t number;    /* there, of the first row */
};
/* path as of pp_fields_find: "verdict.fixes". */
struct pp_section_rows pp_section_rows(const struct pp_section *s, const struct pp_report *r,
                                       const char *path);
/* Those that lie in row k of another field's: "series.curves", 2, "points". buf holds their path. */
struct pp_section_rows pp_section_rows_below(const struct pp_section *s, const struct pp_report *r,
                                             const char *path, size_t k, const char *key, char buf[64]);

/* The next part of a column's form from *at on, which it moves: a field, or words in buf and *field NULL. 0:
 * there is none. */
int pp_section_part(const struct pp_section_column *c, const struct pp_field *fields, size_t *at,
                    const struct pp_field **field, char *buf, size_t size);

/* ---- text ---- */

/* Heading, heads and all rows; nothing without rows. */
void pp_section_text(const struct pp_page *p, const struct pp_section_rows *rows);
void pp_section_text_heads(const struct pp_page *p, const struct pp_section *s);
void pp_section_text_row(const struct pp_page *p, const struct pp_section_rows *rows, const void *row);

/* ---- Markdown ---- */

/* Text of a run inside a paragraph or a table cell: nothing in it starts markup, a mention or a new row; at
 * most 300 bytes. */
void pp_md_text(FILE *out, const char *text);
/* Heads and rows, at most so many. */
void pp_section_md(FILE *out, const struct pp_section_rows *rows, size_t most);

/* ---- the GPU ---- */

/* Its numbers as people read them, one per line: what was not measured as a whole is no line. */
struct pp_gpu_line {
    const struct pp_field *field; /* of struct pp_report_gpu */
    const char *path;             /* in the document, before the key: "gpu.idle." */
    struct pp_value value;
};
enum { PP_GPU_LINES = 24 };
size_t pp_gpu_lines(const struct pp_report_gpu *g, struct pp_gpu_line line[PP_GPU_LINES]);

#endif
