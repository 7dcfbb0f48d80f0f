/* report/render/sections.h: the tables of the report, declared once: which rows of the model, which columns,
 * and what each is called. Cells come from the table of fields (report/model/fields.h): a number is shown by
 * its unit. Three printers: text and Markdown in section_print.c, HTML in report/render/html/tables.c. */
#pragma once

#include "probe/base/page.h"
#include "report/model/fields.h"

enum pp_printer { PP_IN_TEXT, PP_IN_MD, PP_IN_HTML, PP_PRINTERS };

/* How a printer shows the rows. */
enum pp_layout {
    PP_TABLE,  /* a line per row, in columns under heads; in text without heads where all are "" */
    PP_LIST,   /* Markdown, HTML: an item per row, of sentences */
    PP_JOINED, /* text: one sentence, the rows with commas between them */
};

enum {
    PP_CELL_BAR = 1,      /* text, HTML: a bar as long as the share */
    PP_CELL_ROW_HEAD = 2, /* HTML, lists: names the row */
    PP_CELL_PATH = 4,     /* HTML: a name of a file, which may break anywhere */
    PP_CELL_WRAP = 8,     /* text: long, the last of its line, from column `width` on or behind the others */
    PP_CELL_BELOW = 16,   /* text: likewise, behind its head on a line of its own; lists: the last sentence */
    PP_CELL_OF_LINE = 32, /* the value of a struct pp_gpu_line, by its own field */
};
enum { PP_CELL_TEXT = 2048 }; /* bytes that words may take */

struct pp_section_column {
    /* A key of the row, or several and words: "{knob} to {to}". Words between two fields stand only where
     * both are known. */
    const char *form;
    /* Its heading, '#' before that of numbers; NULL: that printer has no such column. */
    const char *head[PP_PRINTERS];
    int width; /* in text: negative is to the left */
    unsigned flags;
    /* In words of our own instead of the form's; buf has PP_CELL_TEXT bytes. */
    const char *(*words)(const void *row, enum pp_printer in, char *buf);
    const char *(*title)(const void *row); /* HTML: shown when pointed at; may be NULL */
};

struct pp_section {
    /* Text: heading; HTML: summary of the table, heading of a list; Markdown: a line before it. NULL: the
     * caller's. */
    const char *title[PP_PRINTERS];
    enum pp_layout layout[PP_PRINTERS];
    const char *lead;  /* text, joined: before the first row; the sentence is indented as far */
    size_t open_up_to; /* HTML: unfolded with at most so many rows */
    /* Which rows that printer shows; NULL: all. */
    int (*shows)(const struct pp_report *r, const void *row, enum pp_printer in);
    const struct pp_section *below; /* text: below each row those of its field below_key, */
    const char *below_key;          /* but for the first, which the row itself has */
    const struct pp_section_column *columns;
    size_t n_columns;
};

extern const struct pp_section pp_section_evidence, pp_section_evidence_rest, pp_section_fixes,
    pp_section_ruled_out, pp_section_proofs, pp_section_proof_sentences, pp_section_findings,
    pp_section_found, pp_section_not_found, pp_section_not_measured, pp_section_durations, pp_section_shares,
    pp_section_spent, pp_section_workers, pp_section_loaders, pp_section_slow_samples, pp_section_ops,
    pp_section_step_lines, pp_section_loop_lines, pp_section_queues, pp_section_errors,
    pp_section_error_examples, pp_section_error_files, pp_section_gpu, pp_section_differences,
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

/* The next row that the printer shows; at: the one before, or PP_NO_ROW for the first. PP_NO_ROW: no more. */
#define PP_NO_ROW SIZE_MAX
size_t pp_section_next(const struct pp_section_rows *rows, enum pp_printer in, size_t at);

/* The next part of a column's form from *at on, which it moves: a field, or words in buf and *field NULL. 0:
 * there is none. */
int pp_section_part(const struct pp_section_column *c, const struct pp_field *fields, size_t *at,
                    const struct pp_field **field, char *buf, size_t size);
/* The value of a part's field in a row; *field becomes the line's own for PP_CELL_OF_LINE. */
struct pp_value pp_section_value(const struct pp_section_rows *rows, const struct pp_section_column *c,
                                 const void *row, const struct pp_field **field);
/* Of a column of one field. */
int pp_section_is_null(const struct pp_section_rows *rows, const struct pp_section_column *c,
                       const void *row);

/* ---- text ---- */

/* Heading, heads and all rows; nothing without rows. */
void pp_section_text(const struct pp_page *p, const struct pp_section_rows *rows);
void pp_section_text_heads(const struct pp_page *p, const struct pp_section *s);
void pp_section_text_row(const struct pp_page *p, const struct pp_section_rows *rows, const void *row);

/* ---- Markdown ---- */

/* Text of a run inside a paragraph or a table cell: nothing in it starts markup, a mention or a new row; at
 * most 300 bytes. */
void pp_md_text(FILE *out, const char *text);
/* Title, heads and rows, at most so many; returns how many. A list without rows is nothing. */
size_t pp_section_md(FILE *out, const struct pp_section_rows *rows, size_t most);

/* ---- the GPU ---- */

/* Its numbers as people read them, one per line: what was not measured as a whole is no line. */
struct pp_gpu_line {
    const struct pp_field *field; /* of struct pp_report_gpu */
    const char *path;             /* in the document, before the key: "gpu.idle." */
    struct pp_value value;
};
enum { PP_GPU_LINES = 24 };
size_t pp_gpu_lines(const struct pp_report_gpu *g, struct pp_gpu_line line[PP_GPU_LINES]);
/* The same as rows; line is borrowed. */
struct pp_section_rows pp_section_gpu_rows(const struct pp_report *r, struct pp_gpu_line line[PP_GPU_LINES]);

/* A row of configuration or environment that says how pipeprobe works, not what ran: JSON has it, and no page
 * for people does. */
int pp_section_is_internal(const struct pp_report_pair *pair);

/* What the tables of sections.h are written with. */

#define TEXT(words) [PP_IN_TEXT] = words
#define MD(words) [PP_IN_MD] = words
#define HTML(words) [PP_IN_HTML] = words
#define EVERYWHERE(words) TEXT(words), MD(words), HTML(words)
#define NUMBERS(words) TEXT(words), MD("#" words), HTML("#" words)
#define COLUMNS(name) .columns = name, .n_columns = sizeof(name) / sizeof(*name)
#define SECTION(name, is_open, ...) \
    const struct pp_section pp_section_##name = {COLUMNS(name), .open_up_to = (is_open), \
                                                 .title = {__VA_ARGS__}}
enum { FOLDED = 0 };
#define OPEN SIZE_MAX

/* The words of a cell (struct pp_section_column) as one expression of its row. PRINTED: by printf. */
#define WORDS_OF(name, type, words) \
    static const char *name(const void *any, enum pp_printer in, char *buf) \
    { \
        const type *row = any; \
        (void)row; \
        return words; \
    }
#define PRINTED(...) (snprintf(buf, PP_CELL_TEXT, __VA_ARGS__), buf)
