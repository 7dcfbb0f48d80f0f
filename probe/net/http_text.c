/* HTTP as text: the header of an answer, line by line, and what a URL escapes. */
#include "probe/net/http.h"

#include <ctype.h>
#include <strings.h>

int pp_uri_encode(const char *text, enum pp_uri_part part, char *out, size_t size)
{
    size_t n = 0;
    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        int plain = (byte < 128 && isalnum(byte)) || strchr("-._~", byte) ||
                    (byte == '/' && part == PP_URI_PATH);
        if (n + 4 > size)
            return -1;
        n += (size_t)snprintf(out + n, size - n, plain ? "%c" : "%%%02X", byte);
    }
    if (n >= size)
        return -1;
    out[n] = '\0';
    return 0;
}

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

/* letters: of letters, digits and '-' alone. A text that is too long is not taken: a cut ETag would compare
 * equal to others. */
static const struct {
    const char *name;
    size_t offset, size;
    int letters;
} texts[] = {
#define ROW(name, member, letters) \
    { \
        name, offsetof(struct pp_http_head, member), sizeof(((struct pp_http_head *)0)->member), letters \
    }
    ROW("etag", etag, 0),
    ROW("last-modified", modified, 0),
    ROW("x-amz-bucket-region", region, 1),
    ROW("date", date, 0),
#undef ROW
};

void pp_http_head_line(struct pp_http_head *h, const char *line, size_t size)
{
    char text[512];
    uint64_t n;
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

    const char *value = colon, *end = colon;
    int is_number = number(&end, &n) && !*end;
    if (strcasecmp(text, "content-length") == 0 && is_number)
        h->length = n;
    if (strcasecmp(text, "retry-after") == 0 && is_number)
        h->retry_after_s = n < PP_HTTP_RETRY_S ? (uint32_t)n : PP_HTTP_RETRY_S;
    if (strcasecmp(text, "content-range") == 0)
        take_range(h, value);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        size_t plain = 0;
        while (isalnum((unsigned char)value[plain]) || value[plain] == '-')
            plain++;
        if (strcasecmp(text, texts[i].name) == 0 && strlen(value) < texts[i].size &&
            (!texts[i].letters || !value[plain]))
            strcpy((char *)h + texts[i].offset, value);
    }
}
