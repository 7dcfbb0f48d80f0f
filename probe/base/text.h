/* base/text.h: numbers as people read them, and texts of others as a terminal may show them. Each number
 * writes into buf (at least 32 bytes) and returns it; NAN, what is not known, reads "-". */
#pragma once

#include "probe/base/std.h"

#include <ctype.h>

char *pp_text_duration(char *buf, size_t size, double ns); /* "4.12 ms", "812 us", "31.0 s", "2m05s" */
char *pp_text_bytes(char *buf, size_t size, double bytes); /* "99.5 KiB", "1.21 GiB" */
char *pp_text_count(char *buf, size_t size, double n);     /* "1,281,167" */
char *pp_text_counted(char *buf, size_t size, double n, const char *one,
                      const char *many); /* "1 batch", "1,281 batches" */
char *pp_text_percent(
    char *buf, size_t size,
    double share); /* share 0.613 -> "61.3 %"; what would round to nothing: "<0.01 %", "-0.00 %" */
/* The same for sentences, with two digits: "61 %"; between 99.5 % and all of it, three. */
char *pp_text_share(char *buf, size_t size, double share);
/* A gain of throughput: 0.29 -> "+29 %", and from twice the rate on the factor, 2.8 -> "3.8 times"; with the
 * interval, unless low is NAN, in the same unit: "+29 % (+14 to +41 %)", "3.8 times (2.9 to 4.5)". Factors
 * stand too where the interval reaches beyond twice the rate. No "-0". */
char *pp_text_gain(char *buf, size_t size, double gain, double low, double high);
char *pp_text_rate(char *buf, size_t size,
                   double per_s); /* "1,337" or "8.31", three significant digits below 100 */

/* One that is predicted, of which more than two digits are known of none: "1,300", "8.3". */
char *pp_text_predicted(char *buf, size_t size, double per_s);

/* With as few digits as read back the same: 15 print every short decimal as it was typed, 17 are always
 * enough. */
char *pp_text_exact(char *buf, size_t size, double v);

/* Appends to the text in buf (size bytes, ended by NUL); what does not fit is cut off. */
void pp_text_add(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Names of files and threads are a stranger's: a control character in one could move the cursor, recolour or
 * retitle the terminal, and a bidirectional or zero-width one makes a line read as what it is not. The one
 * table of them for all that is shown: terminal, dashboard, HTML, Markdown, exports. */
int pp_text_is_deceptive(uint32_t point);
/* What is UTF-8 and has none of them is plain. Otherwise a copy to be freed with those bytes as \n, \t, \r,
 * \xNN; NULL without memory. */
int pp_text_is_plain(const char *text);
char *pp_text_plain(const char *text);
void pp_text_put_xml(const char *text, FILE *out); /* of an attribute or an element; NULL: nothing */
/* The text without what may be a secret: of every word with "://" the part before its last @, and what
 * follows a ?. Into buf, cut to size; returns buf. */
char *pp_text_no_secrets(char *buf, size_t size, const char *text);
/* The value of a hexadecimal digit; -1: it is none. */
int pp_text_hex(char c);
int pp_text_ends_in(const char *text, const char *end);
/* The text without blanks before and behind it, which is cut in place. */
static inline char *pp_text_trim(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    size_t n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1]))
        s[--n] = '\0';
    return s;
}
/* Behind the next newline; NULL: nothing is. */
const char *pp_text_next_line(const char *p);
/* Whether it is one of the words of a list, which blanks part; words NULL: there are none. */
int pp_text_has_word(const char *words, const char *word);
/* A shell takes the text as the one word that it is: only letters, digits and signs without a meaning. */
int pp_text_is_shell_word(const char *text);
/* A file in a command to paste: path, where it is one word, and short; else (or NULL) FILE. */
const char *pp_text_file(const char *path);
/* A spreadsheet would take a CSV cell with this text for a formula: a writer of CSV puts an apostrophe before
 * it. */
int pp_text_is_formula(const char *text);
