#include "probe/storage/url.h"

#include "probe/base/err.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

int pp_url_has_scheme(const char *place, const char *scheme)
{
    size_t n = strlen(scheme);
    return strncasecmp(place, scheme, n) == 0 && strncmp(place + n, "://", 3) == 0;
}

/* Names of query parameters that carry a signature or a key: S3, CloudFront, GCS, Azure, others. */
static int is_credential(const char *query, size_t size)
{
    static const char *const names[] = {"x-amz-signature", "x-amz-credential", "x-amz-security-token",
                                        "signature",       "x-goog-signature", "sig",
                                        "token",           "access_token",     "api_key",
                                        "key-pair-id"};
    for (size_t at = 0; at < size;) {
        size_t n = strcspn(query + at, "&");
        n = n < size - at ? n : size - at;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
            size_t m = strlen(names[i]);
            if (n > m && query[at + m] == '=' && strncasecmp(query + at, names[i], m) == 0)
                return 1;
        }
        at += n + 1;
    }
    return 0;
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
        if (query && is_credential(query + 1, (size_t)(end - query - 1)))
            return pp_fail(
                err, PP_E_USAGE,
                "the URL is signed, and recordings and messages would show its signature: name the object as "
                "s3://BUCKET/KEY, with credentials in the environment");
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
