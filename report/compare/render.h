/* compare/render.h: the comparison as text for a terminal, as Markdown, and as one JSON document (schema
 * pipeprobe.compare/1, docs/compare.schema.json). Each returns 0, or -1 when writing failed. */
#pragma once

#include "probe/base/fields.h"
#include "report/compare/compare.h"
#include "report/model/model.h"

int pp_compare_text(const struct pp_compare *c, FILE *out, int color, int columns);
int pp_compare_markdown(const struct pp_compare *c, FILE *out);
/* One run on each side, of which only counts can be judged. */
int pp_compare_is_single(const struct pp_compare *c);
/* The document (pp_fields_json), of struct pp_compare. */
extern const struct pp_field pp_compare_fields[];

/* What a page, text and Markdown show of where the time went: kinds that weigh 1 % of a sample's time on a
 * side, what is left, and the sum, which is that of the others. 0: not known. */
struct pp_compare_spent_row {
    const char *words, *class;
    double base_ns, head_ns;
};
size_t pp_compare_spent_rows(const struct pp_compare *c, struct pp_compare_spent_row row[PP_SPENT_KINDS + 2]);
/* The page: BASE and HEAD are the runs drawn, one of each side; NULL: a baseline, which has no spans. */
int pp_compare_html(const struct pp_compare *c, const struct pp_report *base, const struct pp_report *head,
                    FILE *out);
char *pp_compare_ns_text(char *buf, size_t size, double ns); /* "+1.25 ms"; buf of at least 32 bytes */

/* What the three say alike. "-" where nothing was computed; buf of at least 64 bytes. */
/* How much worse, on one scale: the time that the metric costs, as it was tested, "+11.3 % (+8.1 .. +13.2)";
 * of what was not tested, the change itself. Worse is plus. */
char *pp_compare_worse_text(char *buf, size_t size, const struct pp_compare_metric *m);
char *pp_compare_p_text(char *buf, size_t size, const struct pp_compare_metric *m); /* "0.0029", "exact" */
const char *pp_compare_answer_text(
    const struct pp_compare_metric *m); /* "REGRESSED", "improved", "ok", ... */
