/* base/utf8.h: where a character of UTF-8 ends (RFC 3629: no overlong forms, no surrogates, at most
 * U+10FFFF). */
#pragma once

#include "probe/base/std.h"

/* Length of the well-formed sequence at s, 0 when there is none; s ends with a 0, which counts as one. */
static inline int pp_utf8_length(const unsigned char *s)
{
    int n = s[0] < 0x80                    ? 1
            : s[0] >= 0xc2 && s[0] < 0xe0  ? 2
            : (s[0] & 0xf0) == 0xe0        ? 3
            : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                           : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    int overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    int outside = (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf4 && s[1] >= 0x90);
    return overlong || outside ? 0 : n;
}

/* The code point of the well-formed sequence of n bytes at s. */
static inline uint32_t pp_utf8_point(const unsigned char *s, int n)
{
    uint32_t point = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
    for (int i = 1; i < n; i++)
        point = point << 6 | (s[i] & 0x3fu);
    return point;
}

static inline int pp_utf8_continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Copies what fits into out, which is filled up with 0 bytes; a character is not cut in two. */
static inline void pp_utf8_copy(char *out, size_t size, const char *text)
{
    size_t n = strnlen(text, size);
    if (n == size) {
        size_t begins = --n;
        while (begins && n - begins < 3 && pp_utf8_continues(text[begins]))
            begins--;
        n = pp_utf8_continues(text[begins]) ? n : begins; /* else it is no UTF-8 anyway */
    }
    memset(out, 0, size);
    memcpy(out, text, n);
}

/* Writes a code point, at most 0x10ffff, as UTF-8; how many bytes, 4 at most. */
static inline size_t pp_utf8_put(uint32_t point, char *out)
{
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3f));
    out[0] = (char)(lead[n] | point);
    return n;
}
