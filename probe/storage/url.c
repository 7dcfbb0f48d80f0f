#include "probe/storage/url.h"

#include "probe/base/err.h"

#include <ctype.h>
#include <strings.h>

int pp_url_has_scheme(const char *place, const char *scheme)
{
    size_t n = strlen(scheme);
    return strncasecmp(place, scheme, n) == 0 && strncmp(place + n, "://", 3) == 0;
}

/* A name of a query's parameter that may carry a signature or a key, of S3, CloudFront, GCS, Azure and
 * others: "X-Amz-Signature", "AWSAccessKeyId", "sig", "api_key", "password", percent-encoded or not. */
static int is_secret_name(const char *at, size_t n)
{
    static const char *const marks[] = {"secret", "passw",  "credential", "accesskey", "signature ",
                                        "key ",   "token ", "ticket",     "session",   "jwt",
                                        " sig ",  " sas ",  " auth ",     " pwd ",     " authorization ",
                                        " pass ", " otp ",  " sid ",      " code "};
    char name[256] = " "; /* in small letters, with blanks for what parts words */
    size_t size = 1;
    for (size_t i = 0; i < n && size + 2 < sizeof(name); i++) {
        unsigned byte = (unsigned char)at[i];
        if (byte == '%' && n - i > 2 && sscanf(at + i + 1, "%2x", &byte) == 1)
            i += 2;
        name[size++] = isalnum((int)(byte & 0xff)) ? (char)tolower((int)(byte & 0xff)) : ' ';
    }
    name[size++] = ' ';
    name[size] = '\0';
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
        if (strstr(name, marks[i]))
            return 1;
    return n + 4 > sizeof(name);
}

pp_status pp_url_check(const char *place, struct pp_err *err)
{
    for (const char *at = place; (at = strstr(at, "://"));) {
        at += 3;
        const char *end = at + strcspn(at, ", "), *slash = at + strcspn(at, "/?#, ");
        const char *query = memchr(at, '?', (size_t)(end - at));
        if (memchr(at, '@', (size_t)(slash - at)))
            return pp_fail(
                err, PP_E_USAGE,
                "the URL holds a user name or password, which recordings and messages would show: leave them out and "
                "put them into ~/.netrc");
        for (const char *name = query ? query + 1 : end; name < end;) {
            size_t n = strcspn(name, "&;"), left = (size_t)(end - name);
            n = n < left ? n : left;
            const char *equals = memchr(name, '=', n);
            if (is_secret_name(name, equals ? (size_t)(equals - name) : n))
                return pp_fail(
                    err, PP_E_USAGE,
                    "the URL is signed or holds a key, by the name of one of its parameters, and recordings and messages would "
                    "show it: name the object as s3://BUCKET/KEY, with credentials in the environment");
            name += n < left ? n + 1 : n;
        }
    }
    return PP_OK;
}

int pp_url_tidy(const char *url, char *out, size_t size)
{
    size_t n = 0;
    for (const unsigned char *c = (const unsigned char *)url; *c && *c != '#'; c++) {
        int bad = *c <= ' ' || *c >= 127 || strchr("\"<>\\^`{|}", *c);
        if (n + 4 > size)
            return -1;
        n += (size_t)snprintf(out + n, size - n, bad ? "%%%02X" : "%c", *c);
    }
    if (n >= size)
        return -1;
    out[n] = '\0';
    return 0;
}

int pp_url_split(const char *url, struct pp_url *out)
{
    const char *at = strstr(url, "://");
    if (!at)
        return -1;
    out->host = at + 3;
    out->host_size = strcspn(out->host, "/?#");
    const char *path = out->host + out->host_size;
    out->path_size = strcspn(path, "?#");
    out->path = out->path_size ? path : "/";
    const char *query = path + out->path_size;
    out->path_size = out->path_size ? out->path_size : 1;
    out->query = *query == '?' ? query + 1 : "";
    out->query_size = strcspn(out->query, "#");
    return out->host_size > 0 ? 0 : -1;
}
