/* import/scan.h: JSON read token by token from pp_bytes. Memory is fixed: nesting is at most PP_SCAN_DEPTH,
 * of a string the first PP_SCAN_TEXT bytes are kept, a number has at most PP_SCAN_NUMBER characters.
 *
 * Writers of traces make small mistakes, which are taken: missing and doubled commas, NaN and Infinity, a
 * backslash or a control character inside a name. What is no JSON at all ends the reading (PP_SCAN_BAD), as
 * the end of the bytes inside of a value does (PP_SCAN_CUT): what was whole before is the caller's. One
 * thread at a time. */
#pragma once

#include "collectors/import/bytes.h"

enum { PP_SCAN_DEPTH = 64, PP_SCAN_TEXT = 1024, PP_SCAN_NUMBER = 64 };

enum pp_token {
    PP_SCAN_OBJECT,
    PP_SCAN_OBJECT_END,
    PP_SCAN_ARRAY,
    PP_SCAN_ARRAY_END,
    PP_SCAN_KEY,
    PP_SCAN_STRING,
    PP_SCAN_NUMBER_TOKEN,
    PP_SCAN_WORD, /* true, false, null, NaN, Infinity */
    PP_SCAN_END,  /* the one value is whole */
    PP_SCAN_CUT,
    PP_SCAN_BAD
};

struct pp_scan {
    struct pp_bytes *bytes; /* borrowed */
    const uint8_t *at, *end;
    uint64_t before; /* bytes before this run of them */
    const uint8_t *run;
    uint64_t in_object; /* bit per level */
    int depth, wants_value;
    int begun;           /* the value of the top level; set to 0 behind it, another one may follow */
    enum pp_token ended; /* once CUT or BAD it stays */
    const char *why;     /* of BAD */
    size_t length;       /* of text, which ends with a zero */
    char text[PP_SCAN_TEXT];
};

/* *s begins with its bytes, ended PP_SCAN_END and zeros. KEY, STRING, NUMBER_TOKEN, WORD are in s->text. */
enum pp_token pp_scan_next(struct pp_scan *s);
/* Behind a token that began an object or array: leaves it. Others: nothing. */
void pp_scan_skip(struct pp_scan *s, enum pp_token first);

/* Of a number token. Microseconds as nanoseconds, exact to the third decimal; what is no number or lies
 * outside of +-292 years gives 0. */
int pp_scan_us(const char *text, int64_t *ns);
