#include "collectors/import/scan.h"

#include "probe/base/utf8.h"

#include <ctype.h>

enum { NO_MORE = -1 };

/* ---- bytes ---- */

static int peek(struct pp_scan *s)
{
    if (s->at == s->end) {
        size_t n;
        s->before += (uint64_t)(s->end - s->run);
        s->run = s->at = pp_bytes_next(s->bytes, &n);
        s->end = s->run + n;
    }
    return s->at < s->end ? *s->at : NO_MORE;
}

static int take(struct pp_scan *s)
{
    int c = peek(s);
    s->at += c != NO_MORE;
    return c;
}

static enum pp_token stop_reading(struct pp_scan *s, enum pp_token how, const char *why)
{
    s->ended = how;
    s->why = why;
    return how;
}

/* ---- texts ---- */

static void keep(struct pp_scan *s, int c)
{
    if (s->length + 1 < sizeof(s->text))
        s->text[s->length++] = (char)c;
}

static void keep_point(struct pp_scan *s, uint32_t p)
{
    char bytes[4];
    size_t n = pp_utf8_put(p, bytes);
    for (size_t i = 0; i < n; i++)
        keep(s, bytes[i]);
}

static void take_escape(struct pp_scan *s, uint32_t *high)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = take(s);
    const char *known = c > 0 ? strchr(from, c) : NULL;
    uint32_t p = 0;
    if (known) {
        keep(s, to[known - from]);
    } else if (c != NO_MORE && c != 'u') { /* no escape: a path of Windows, written as it is */
        keep(s, '\\');
        keep(s, c);
    }
    if (c != 'u')
        return;
    for (int i = 0; i < 4; i++) {
        int digit = peek(s);
        if (digit == NO_MORE || !isxdigit(digit)) /* not the four digits of an escape: left for the text */
            return;
        p = p << 4 | (uint32_t)(isdigit(digit) ? digit - '0' : (digit | 32) - 'a' + 10);
        s->at++;
    }
    /* A surrogate without its other half becomes U+FFFD, and so does a zero, which would end the text. */
    if (p >= 0xdc00 && p < 0xe000 && *high) {
        keep_point(s, 0x10000 + ((*high & 0x3ff) << 10) + (p & 0x3ff));
        *high = 0;
        return;
    }
    if (*high)
        keep_point(s, 0xfffd);
    *high = p >= 0xd800 && p < 0xdc00 ? p : 0;
    if (!*high)
        keep_point(s, p == 0 || (p >= 0xdc00 && p < 0xe000) ? 0xfffd : p);
}

/* The bytes at hand that need no look of their own, at once: most of a trace is names. */
static void keep_plain(struct pp_scan *s)
{
    const uint8_t *p = s->at;
    while (p < s->end && *p != '"' && *p != '\\' && *p)
        p++;
    size_t n = (size_t)(p - s->at), room = sizeof(s->text) - 1 - s->length;
    memcpy(s->text + s->length, s->at, n < room ? n : room);
    s->length += n < room ? n : room;
    s->at = p;
}

/* Behind the opening quote. */
static int take_string(struct pp_scan *s)
{
    uint32_t high = 0;
    int c;
    s->length = 0;
    keep_plain(s);
    while ((c = take(s)) != '"' && c != NO_MORE) {
        if (c != '\\' || peek(s) != 'u') {
            if (high)
                keep_point(s, 0xfffd);
            high = 0;
        }
        if (c == '\\')
            take_escape(s, &high);
        else
            keep(s, c ? c : ' ');
        if (!high)
            keep_plain(s);
    }
    if (high)
        keep_point(s, 0xfffd);
    /* The kept part may end inside of a character, which then goes. */
    size_t lead = s->length;
    while (lead && s->length - lead < 4 && ((uint8_t)s->text[lead - 1] & 0xc0) == 0x80)
        lead--;
    s->text[s->length] = '\0';
    if (!(s->length + 1 < sizeof(s->text)) && lead) {
        if (!pp_utf8_length((const unsigned char *)s->text + lead - 1))
            s->length = lead - 1;
        s->text[s->length] = '\0';
    }
    return c == '"';
}

/* ---- values ---- */

static enum pp_token take_word(struct pp_scan *s)
{
    static const char *const words[] = {"true", "false", "null", "NaN", "nan", "Infinity", "inf", "None"};
    while (peek(s) != NO_MORE && isalpha(peek(s))) {
        if (s->length >= PP_SCAN_NUMBER)
            return stop_reading(s, PP_SCAN_BAD, "a word that is no value");
        keep(s, take(s));
    }
    s->text[s->length] = '\0';
    if (peek(s) == NO_MORE && s->depth)
        return stop_reading(s, PP_SCAN_CUT, NULL);
    const char *word = s->text + (s->text[0] == '-');
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(word, words[i]) == 0)
            return PP_SCAN_WORD;
    return stop_reading(s, PP_SCAN_BAD, "a word that is no value");
}

static enum pp_token take_value(struct pp_scan *s, int c)
{
    s->wants_value = 0;
    s->begun = 1;
    s->length = 0;
    if (c == '{' || c == '[') {
        uint64_t object = c == '{';
        s->at++;
        if (s->depth == PP_SCAN_DEPTH)
            return stop_reading(s, PP_SCAN_BAD, "more than 64 levels of nesting");
        s->in_object = (s->in_object & ~(UINT64_C(1) << s->depth)) | object << s->depth;
        s->depth++;
        return object ? PP_SCAN_OBJECT : PP_SCAN_ARRAY;
    }
    if (c == '"') {
        s->at++;
        return take_string(s) ? PP_SCAN_STRING : stop_reading(s, PP_SCAN_CUT, NULL);
    }
    if (!isdigit(c) && c != '-')
        return isalpha(c) ? take_word(s) : stop_reading(s, PP_SCAN_BAD, "no value where one belongs");
    while ((c = peek(s)) != NO_MORE && (isdigit(c) || strchr("+-.eE", c))) {
        if (s->length >= PP_SCAN_NUMBER)
            return stop_reading(s, PP_SCAN_BAD, "a number of more than 64 characters");
        keep(s, take(s));
    }
    s->text[s->length] = '\0';
    if (s->length == 1 && s->text[0] == '-' && (c == 'I' || c == 'i' || c == 'N' || c == 'n'))
        return take_word(s);
    return c == NO_MORE && s->depth ? stop_reading(s, PP_SCAN_CUT, NULL) : PP_SCAN_NUMBER_TOKEN;
}

enum pp_token pp_scan_next(struct pp_scan *s)
{
    int c, in_object = s->depth && s->in_object >> (s->depth - 1) & 1;
    if (s->ended != PP_SCAN_END)
        return s->ended;
    if (!s->depth && s->begun)
        return PP_SCAN_END;
    while ((c = peek(s)) != NO_MORE && (isspace(c) || (c == ',' && s->depth && !s->wants_value)))
        s->at++;
    if (c == NO_MORE)
        return stop_reading(s, PP_SCAN_CUT, NULL);
    if (s->depth && !s->wants_value && c == (in_object ? '}' : ']')) {
        s->at++;
        s->depth--;
        return in_object ? PP_SCAN_OBJECT_END : PP_SCAN_ARRAY_END;
    }
    if (!in_object || s->wants_value)
        return take_value(s, c);
    if (c != '"')
        return stop_reading(s, PP_SCAN_BAD, "no name where one belongs");
    s->at++;
    if (!take_string(s))
        return stop_reading(s, PP_SCAN_CUT, NULL);
    while ((c = peek(s)) != NO_MORE && isspace(c))
        s->at++;
    if (c == NO_MORE)
        return stop_reading(s, PP_SCAN_CUT, NULL);
    if (c != ':')
        return stop_reading(s, PP_SCAN_BAD, "no colon behind a name");
    s->at++;
    s->wants_value = 1;
    return PP_SCAN_KEY;
}

void pp_scan_skip(struct pp_scan *s, enum pp_token first)
{
    int outside = s->depth - 1;
    if (first != PP_SCAN_OBJECT && first != PP_SCAN_ARRAY)
        return;
    while (s->depth > outside && s->ended == PP_SCAN_END)
        pp_scan_next(s);
}

/* ---- numbers ---- */

#define MOST_US (INT64_MAX / 1000 - 1)

int pp_scan_us(const char *text, int64_t *ns)
{
    const char *p = text + (*text == '-');
    int64_t us = 0, part = 0, unit = 100;
    int digits = 0;
    for (; isdigit((unsigned char)*p); p++, digits++) {
        if (us > MOST_US / 10 - 1)
            return 0;
        us = us * 10 + (*p - '0');
    }
    if (*p == '.')
        for (p++; isdigit((unsigned char)*p); p++, unit /= 10)
            part += unit * (*p - '0');
    if (*p || !digits) {
        char *end;
        double v = strtod(text, &end);
        if (end == text || *end || !isfinite(v) || fabs(v) > (double)MOST_US)
            return 0;
        *ns = (int64_t)llround(v * 1000);
        return 1;
    }
    *ns = (us * 1000 + part) * (*text == '-' ? -1 : 1);
    return 1;
}
