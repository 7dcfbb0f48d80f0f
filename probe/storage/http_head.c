/* The header of an answer, line by line. */
#include "probe/storage/http.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Digits at *at, which moves behind them. 0: none, or beyond 64 bits. */
static int number(const char **at, uint64_t *out)
{
    uint64_t n = 0;
    const char *from = *at;
    for (; isdigit((unsigned char)**at); (*at)++) {
        unsigned digit = (unsigned)(**at - '0');
        if (n > (UINT64_MAX - 1 - digit) / 10)
            return 0;
        n = n * 10 + digit;
    }
    *out = n;
    return *at > from;
}

static void take_text(char *to, size_t size, const char *value)
{
    if (strlen(value) < size) /* a cut ETag would compare equal to others */
        snprintf(to, size, "%s", value);
}

static void take_length(struct pp_http_head *h, const char *value)
{
    uint64_t n;
    if (number(&value, &n) && !*value)
        h->length = n;
}

/* "bytes 0-99/1234", "bytes 0-99/\*", "bytes \*\/1234" (RFC 9110, 14.4) */
static void take_range(struct pp_http_head *h, const char *value)
{
    uint64_t first = 1, last = 0, total = PP_HTTP_UNKNOWN;
    if (strncasecmp(value, "bytes ", 6) != 0)
        return;
    value += 6;
    if (*value == '*')
        value++;
    else if (!number(&value, &first) || *value++ != '-' || !number(&value, &last) || last < first)
        return;
    if (*value++ != '/')
        return;
    if (*value == '*' ? value[1] : !number(&value, &total) || *value)
        return;
    if (total != PP_HTTP_UNKNOWN && first <= last && last >= total)
        return;
    h->first = first;
    h->last = last;
    h->total = total;
    h->has_range = 1;
}

static void take_retry(struct pp_http_head *h, const char *value)
{
    uint64_t n;
    if (number(&value, &n) && !*value) /* its other form, a date, asks for a clock that agrees */
        h->retry_after_s = n < 3600 ? (uint32_t)n : 3600;
}

static void take_etag(struct pp_http_head *h, const char *value)
{
    take_text(h->etag, sizeof(h->etag), value);
}

static void take_modified(struct pp_http_head *h, const char *value)
{
    take_text(h->modified, sizeof(h->modified), value);
}

static void take_region(struct pp_http_head *h, const char *value)
{
    for (const char *c = value; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-')
            return;
    take_text(h->region, sizeof(h->region), value);
}

static void take_date(struct pp_http_head *h, const char *value)
{
    take_text(h->date, sizeof(h->date), value);
}

static const struct {
    const char *name;
    void (*take)(struct pp_http_head *h, const char *value);
} fields[] = {
    {"content-length", take_length},
    {"content-range", take_range},
    {"retry-after", take_retry},
    {"etag", take_etag},
    {"last-modified", take_modified},
    {"x-amz-bucket-region", take_region},
    {"date", take_date},
};

void pp_http_head_line(struct pp_http_head *h, const char *line, size_t size)
{
    char text[512];
    while (size > 0 && isspace((unsigned char)line[size - 1]))
        size--;
    if (size >= sizeof(text) || memchr(line, '\0', size))
        return;
    memcpy(text, line, size);
    text[size] = '\0';
    if (strncmp(text, "HTTP/", 5) == 0) {
        const char *space = strchr(text, ' ');
        *h = (struct pp_http_head){.status = space ? atoi(space) : 0,
                                   .total = PP_HTTP_UNKNOWN,
                                   .length = PP_HTTP_UNKNOWN};
        return;
    }
    char *colon = strchr(text, ':');
    if (!colon)
        return;
    *colon++ = '\0';
    colon += strspn(colon, " \t");
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        if (strcasecmp(text, fields[i].name) == 0)
            fields[i].take(h, colon);
}
