/* base/page.h: a terminal page of a given width: headings, wrapped text and aligned columns, coloured or
 * not. Colour only repeats what the words say. Our own words are ASCII; names from the run are printed as
 * they are, control characters replaced. */
#pragma once

#include "probe/base/std.h"

struct pp_page {
    FILE *out;
    int columns, color;
};

enum pp_tone { PP_TONE_PLAIN, PP_TONE_STRONG, PP_TONE_GOOD, PP_TONE_BAD };

void pp_page_heading(const struct pp_page *p, const char *text);
/* Text from column `indent` on, wrapped at the page's width; lead stands before it on the first line.
 * max_lines 0: all; else the rest is "...". Where fewer than 20 columns would be left for it, the text begins
 * below its lead. */
void pp_page_text(const struct pp_page *p, enum pp_tone tone, const char *lead, int indent, int max_lines,
                  const char *text);

/* Columns that n bytes of UTF-8 take, counting every character as one. */
int pp_page_width(const char *s, size_t n);

/* Column i is width[i] wide, negative: to the left, with a space between two at least; then text from column
 * indent on, or two columns behind the others where they are longer, wrapped there. */
void pp_page_row(const struct pp_page *p, enum pp_tone tone, const int *width, const char *const *cell, int n,
                 int indent, const char *text);
