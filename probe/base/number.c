#include "probe/base/opts.h"

#include <ctype.h>

/* A decimal number as typed, kept exact: digits / 10^decimals. */
struct decimal {
    uint64_t digits;
    int decimals;
};

/* Reads "12", "1.5", ".5" at *text and moves it on. PP_E_UNSUPPORTED: more digits than 64 bits hold. */
static pp_status read_decimal(const char **text, struct decimal *d)
{
    const char *p = *text;
    int seen = 0, point = 0;
    *d = (struct decimal){0};
    for (; isdigit((unsigned char)*p) || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = 1;
            continue;
        }
        if (__builtin_mul_overflow(d->digits, 10, &d->digits) ||
            __builtin_add_overflow(d->digits, (uint64_t)(*p - '0'), &d->digits))
            return PP_E_UNSUPPORTED;
        d->decimals += point;
        seen++;
    }
    *text = p;
    return seen ? PP_OK : PP_E_USAGE;
}

/* d * unit when that is a whole number of 64 bits. */
static pp_status scale(struct decimal d, uint64_t unit, uint64_t *out)
{
    unsigned __int128 v = (unsigned __int128)d.digits * unit;
    for (; d.decimals > 0; d.decimals--) {
        if (v % 10)
            return PP_E_USAGE;
        v /= 10;
    }
    if (v > UINT64_MAX)
        return PP_E_UNSUPPORTED;
    *out = (uint64_t)v;
    return PP_OK;
}

static pp_status parse_prefixed(const char *text, int with_bytes, uint64_t *out)
{
    static const char letters[] = "kMGT";
    struct decimal d;
    pp_status status = read_decimal(&text, &d);
    if (status != PP_OK)
        return status;
    /* "k" is 1000, "Ki" 1024, and so on; 1 for none */
    const char *at = *text ? strchr(letters, *text == 'K' ? 'k' : *text) : NULL;
    uint64_t base = at && text[1] == 'i' ? 1024 : 1000, unit = 1;
    for (const char *letter = letters; at && letter <= at; letter++)
        unit *= base;
    if (at)
        text += base == 1024 ? 2 : 1;
    if (with_bytes && *text == 'B')
        text++;
    return *text ? PP_E_USAGE : scale(d, unit, out);
}

pp_status pp_parse_int(const char *text, int64_t *out)
{
    int negative = *text == '-';
    uint64_t v;
    pp_status status = parse_prefixed(text + (negative || *text == '+'), 0, &v);
    if (status != PP_OK)
        return status;
    if (v > (uint64_t)INT64_MAX + (uint64_t)negative)
        return PP_E_UNSUPPORTED;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return PP_OK;
}

pp_status pp_parse_size(const char *text, uint64_t *out)
{
    return parse_prefixed(text, 1, out);
}

pp_status pp_parse_duration(const char *text, uint64_t *out_ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1},         {"us", 1000},       {"ms", 1000000},
                 {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
    uint64_t total = 0;
    int parts = 0;
    do {
        struct decimal d;
        pp_status status = read_decimal(&text, &d);
        if (status != PP_OK)
            return status;
        size_t len = 0, i = 0;
        while (isalpha((unsigned char)text[len]))
            len++;
        while (i < 6 && (strlen(units[i].name) != len || strncmp(units[i].name, text, len) != 0))
            i++;
        int bare = len == 0 && *text == '\0' && parts == 0; /* "30" is seconds; "2m30" is not clear enough */
        if (i == 6 && !bare)
            return PP_E_USAGE;
        uint64_t ns;
        status = scale(d, bare ? 1000000000 : units[i].ns, &ns);
        if (status != PP_OK)
            return status;
        if (__builtin_add_overflow(total, ns, &total))
            return PP_E_UNSUPPORTED;
        text += len;
        parts++;
    } while (*text);
    *out_ns = total;
    return PP_OK;
}

pp_status pp_parse_double(const char *text, double *out)
{
    char *end;
    if (!isdigit((unsigned char)*text) && !strchr("+-.", *text))
        return PP_E_USAGE; /* strtod would take spaces, "inf" and "nan" */
    double v = strtod(text, &end);
    if (end == text || *end || strpbrk(text, "xX"))
        return PP_E_USAGE;
    if (!isfinite(v))
        return strpbrk(text, "nN") ? PP_E_USAGE : PP_E_UNSUPPORTED;
    *out = v;
    return PP_OK;
}
