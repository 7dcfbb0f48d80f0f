/* report/render/html/section.h: the third printer of report/render/sections.h: a table inside a <details>,
 * or a list, and each number in it with its exact value and its path in the JSON document. */
#ifndef PP_REPORT_RENDER_HTML_SECTION_H
#define PP_REPORT_RENDER_HTML_SECTION_H

#include "report/render/html/html.h"
#include "report/render/sections.h"

void pp_html_section(FILE *out, const struct pp_section_rows *rows);
/* All rows of the field at path. */
void pp_html_section_at(FILE *out, const struct pp_section *s, const struct pp_report *r, const char *path);

#endif
