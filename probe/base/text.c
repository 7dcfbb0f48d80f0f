#include "probe/base/text.h"

#include "probe/base/utf8.h"

#include <stdarg.h>

/* Decimals that leave three significant digits of v >= 0, counting the digit that rounding may carry into. */
static int decimals3(double v)
{
    return v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
}

struct unit {
    double size;
    const char *name;
};

/* The largest unit whose count is still at least one after rounding. */
static char *in_units(char *buf, size_t size, double amount, const struct unit *units, int n, double next)
{
    int i = 0;
    double v = fabs(amount);
    while (i + 1 < n && v / units[i].size >= next)
        i++;
    double count = v / units[i].size;
    snprintf(buf, size, "%s%.*f %s", amount < 0 ? "-" : "", i == 0 ? 0 : decimals3(count), count,
             units[i].name);
    return buf;
}

char *pp_text_duration(char *buf, size_t size, double ns)
{
    static const struct unit units[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
    if (!isfinite(ns))
        return snprintf(buf, size, "-"), buf;
    const char *sign = ns < 0 ? "-" : "";
    double s = fabs(ns) / 1e9;
    if (s < 59.95)
        return in_units(buf, size, ns, units, 4, 999.5);
    uint64_t whole = (uint64_t)(s + 0.5);
    if (whole < 3600)
        snprintf(buf, size, "%s%dm%02ds", sign, (int)(whole / 60), (int)(whole % 60));
    else
        snprintf(buf, size, "%s%lluh%02dm", sign, (unsigned long long)((whole + 30) / 3600),
                 (int)((whole + 30) % 3600 / 60));
    return buf;
}

char *pp_text_bytes(char *buf, size_t size, double bytes)
{
    static const struct unit units[] = {{1, "B"},        {0x1p10, "KiB"}, {0x1p20, "MiB"},
                                        {0x1p30, "GiB"}, {0x1p40, "TiB"}, {0x1p50, "PiB"}};
    if (!isfinite(bytes))
        return snprintf(buf, size, "-"), buf;
    return in_units(buf, size, bytes, units, 6, 1023.5);
}

char *pp_text_count(char *buf, size_t size, double n)
{
    if (!isfinite(n))
        return snprintf(buf, size, "-"), buf;
    char digits[400];
    int len = snprintf(digits, sizeof(digits), "%.0f", fabs(n));
    size_t at = 0;
    if (n <= -0.5 && size > 1)
        buf[at++] = '-';
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0 && at + 1 < size)
            buf[at++] = ',';
        if (at + 1 < size)
            buf[at++] = digits[i];
    }
    buf[at] = '\0';
    return buf;
}

char *pp_text_counted(char *buf, size_t size, double n, const char *one, const char *many)
{
    char count[400];
    snprintf(buf, size, "%s %s", pp_text_count(count, sizeof(count), n), n == 1 ? one : many);
    return buf;
}

char *pp_text_percent(char *buf, size_t size, double share)
{
    double p = share * 100, v = fabs(p);
    if (!isfinite(p))
        return snprintf(buf, size, "-"), buf;
    if (v > 0 && v < 0.005)
        snprintf(buf, size, p < 0 ? "-0.00 %%" : "<0.01 %%");
    else if (v == 0)
        snprintf(buf, size, "0 %%");
    else
        snprintf(buf, size, "%.*f %%", v < 0.995 ? 2 : v < 99.95 ? 1 : 0, p);
    return buf;
}

char *pp_text_share(char *buf, size_t size, double share)
{
    double v = fabs(share * 100);
    if (!isfinite(share) || v < 9.95 || (v >= 99.5 && v < 99.95))
        return pp_text_percent(buf, size, share);
    snprintf(buf, size, "%.0f %%", share * 100);
    return buf;
}

char *pp_text_gain(char *buf, size_t size, double gain, double low, double high)
{
    const double gains[] = {gain, low, high};
    char factor[3][16]; /* with two or three digits */
    if (!isfinite(gain))
        return snprintf(buf, size, "-"), buf;
    for (int i = 0; i < 3; i++)
        snprintf(factor[i], sizeof(factor[i]), "%.*f", fabs(1 + gains[i]) < 9.95 ? 1 : 0, 1 + gains[i]);
    int factors = gain >= 1 || high > 1; /* "+182 %" is 2.8 times */
    if (factors && isfinite(low))
        snprintf(buf, size, "%s times (%s to %s)", factor[0], factor[1], factor[2]);
    else if (factors)
        snprintf(buf, size, "%s times", factor[0]);
    else if (isfinite(low))
        snprintf(buf, size, "%+.0f %% (%+.0f to %+.0f %%)", round(100 * gain) + 0.0, round(100 * low) + 0.0,
                 round(100 * high) + 0.0);
    else
        snprintf(buf, size, "%+.0f %%", round(100 * gain) + 0.0);
    return buf;
}

char *pp_text_rate(char *buf, size_t size, double per_s)
{
    double v = fabs(per_s);
    if (!isfinite(per_s))
        return snprintf(buf, size, "-"), buf;
    if (v >= 99.95)
        return pp_text_count(buf, size, per_s);
    if (v < 0.9995)
        snprintf(buf, size, "%.3g", per_s);
    else
        snprintf(buf, size, "%.*f", decimals3(v), per_s);
    return buf;
}

char *pp_text_predicted(char *buf, size_t size, double per_s)
{
    char rounded[32];
    snprintf(rounded, sizeof(rounded), "%.1e", per_s);
    double v = isfinite(per_s) ? strtod(rounded, NULL) : per_s;
    if (!(fabs(v) < 10))
        return pp_text_count(buf, size, v);
    snprintf(buf, size, "%.2g", v);
    return buf;
}

char *pp_text_exact(char *buf, size_t size, double v)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, size, "%.*g", digits, v);
        if (strtod(buf, NULL) == v)
            break;
    }
    return buf;
}

void pp_text_add(char *buf, size_t size, const char *fmt, ...)
{
    size_t at = strnlen(buf, size);
    va_list ap;
    va_start(ap, fmt);
    if (at < size)
        vsnprintf(buf + at, size - at, fmt, ap);
    va_end(ap);
}

int pp_text_is_deceptive(uint32_t point)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00, 0x1f},       /* control characters */
        {0x7f, 0x9f},       /* DEL, and the second block of control characters: these move cursors too */
        {0x061c, 0x061c},   /* Arabic letter mark: bidirectional */
        {0x180e, 0x180e},   /* Mongolian vowel separator: zero-width */
        {0x200b, 0x200f},   /* zero-width space and joiners, left-to-right and right-to-left mark */
        {0x2028, 0x202e},   /* line and paragraph separator, bidirectional embeddings and overrides */
        {0x2060, 0x206f},   /* word joiner, invisible operators, bidirectional isolates */
        {0xfdd0, 0xfdef},   /* no characters (Unicode 23.7) */
        {0xfeff, 0xfeff},   /* byte-order mark: zero-width */
        {0xfff9, 0xfffb},   /* interlinear annotations */
        {0xe0000, 0xe0fff}, /* tags and variation selectors: a whole alphabet that is not shown */
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges) && point >= ranges[i].first; i++)
        if (point <= ranges[i].last)
            return 1;
    return (point & 0xfffe) == 0xfffe; /* no characters either, two in each plane */
}

/* Length of the plain character at s, 0 when it is none. */
static int plain_length(const unsigned char *s)
{
    if (s[0] >= 0x20 && s[0] < 0x7f)
        return 1;
    int n = pp_utf8_length(s);
    return n && pp_text_is_deceptive(pp_utf8_point(s, n)) ? 0 : n;
}

/* A password may hold any sign, an @ or a / too: what stands before the last @ of a word is taken out. */
char *pp_text_no_secrets(char *buf, size_t size, const char *text)
{
    size_t out = 0;
    while (*text && out + 1 < size) {
        size_t word = strcspn(text, " \t\n");
        const char *end = text + word, *scheme = memmem(text, word, "://", 3), *at = NULL;
        const char *stop = scheme ? memchr(scheme, '?', word - (size_t)(scheme - text)) : NULL;
        for (const char *c = scheme; c && c < end; c++)
            at = *c == '@' ? c : at;
        if (at && stop && at > stop)
            stop = memchr(at, '?', (size_t)(end - at));
        for (const char *c = text; c < end && out + 1 < size; c++) {
            if (scheme && at && c == scheme + 3)
                c = at + 1;
            if (c >= end || (stop && c >= stop))
                break;
            buf[out++] = *c;
        }
        text = end;
        if (*text && out + 1 < size)
            buf[out++] = *text++;
    }
    buf[out] = '\0';
    return buf;
}

const char *pp_text_next_line(const char *p)
{
    p = strchr(p, '\n');
    return p && p[1] ? p + 1 : NULL;
}

int pp_text_has_word(const char *words, const char *word)
{
    size_t n = strchr(word, ' ') ? 0 : strlen(word); /* two words are none */
    for (const char *at = words; at && n && (at = strstr(at, word)); at++)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return 1;
    return 0;
}

int pp_text_hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

int pp_text_is_shell_word(const char *text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    return *text && !text[strspn(text, safe)];
}

const char *pp_text_file(const char *path)
{
    return path && strlen(path) <= 48 && path[0] != '-' && pp_text_is_shell_word(path) ? path : "FILE";
}

int pp_text_is_formula(const char *text)
{
    return text[0] && strchr("=+-@\t\r", text[0]);
}

int pp_text_is_plain(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    int n = 1;
    while (*s && (n = plain_length(s)))
        s += n;
    return n != 0;
}

char *pp_text_plain(const char *text)
{
    static const char named[] = "\n\t\r", letter[] = "ntr";
    const unsigned char *s = (const unsigned char *)text;
    char *out = malloc(4 * strlen(text) + 1), *at = out;
    while (out && *s) {
        int n = plain_length(s);
        const char *name = n ? NULL : strchr(named, *s);
        if (n)
            at = (char *)memcpy(at, s, (size_t)n) + n;
        else
            at += name ? sprintf(at, "\\%c", letter[name - named]) : sprintf(at, "\\x%02x", *s);
        s += n ? n : 1;
    }
    if (out)
        *at = '\0';
    return out;
}

void pp_text_put_xml(const char *text, FILE *out)
{
    for (; text && *text; text++)
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
        }
}

int pp_text_ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}
