/* report/render/section_rows.h: what the tables of sections.h are written with. */
#ifndef PP_REPORT_RENDER_SECTION_ROWS_H
#define PP_REPORT_RENDER_SECTION_ROWS_H

#include "report/render/sections.h"

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

#endif
