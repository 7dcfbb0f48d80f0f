#include "probe/storage/sigv4.h"

#include "probe/storage/sha256.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ALGORITHM "AWS4-HMAC-SHA256"

void pp_sigv4_date(time_t now, char out[PP_SIGV4_DATE])
{
    struct tm t;
    gmtime_r(&now, &t);
    strftime(out, PP_SIGV4_DATE, "%Y%m%dT%H%M%SZ", &t);
}

static void add_text(struct pp_sha256 *h, const char *text)
{
    pp_sha256_add(h, text, strlen(text));
}

static void add_line(struct pp_sha256 *h, const char *text)
{
    add_text(h, text);
    add_text(h, "\n");
}

static void hash_request(const struct pp_sigv4 *s, char hex[PP_SHA256_HEX])
{
    struct pp_sha256 h;
    uint8_t digest[PP_SHA256_SIZE];
    pp_sha256_begin(&h);
    add_line(&h, s->method);
    add_line(&h, s->path);
    add_line(&h, s->query);
    for (size_t i = 0; i < s->headers; i++) {
        add_text(&h, s->header[i].name);
        add_text(&h, ":");
        add_line(&h, s->header[i].value);
    }
    add_text(&h, "\n");
    for (size_t i = 0; i < s->headers; i++) {
        add_text(&h, i ? ";" : "");
        add_text(&h, s->header[i].name);
    }
    add_text(&h, "\n");
    add_text(&h, s->payload);
    pp_sha256_end(&h, digest);
    pp_sha256_hex(digest, hex);
}

static void derive(uint8_t key[PP_SHA256_SIZE], const char *text)
{
    pp_hmac_sha256((struct pp_bytes){key, PP_SHA256_SIZE}, (struct pp_bytes){text, strlen(text)}, key);
}

/* The key of one day, region and service. */
static void signing_key(const struct pp_sigv4 *s, const char *secret, uint8_t key[PP_SHA256_SIZE])
{
    char first[sizeof(((struct pp_aws_keys *)0)->secret) + 4];
    int n = snprintf(first, sizeof(first), "AWS4%s", secret);
    pp_hmac_sha256((struct pp_bytes){first, (size_t)n}, (struct pp_bytes){s->date, 8}, key);
    derive(key, s->region);
    derive(key, s->service);
    derive(key, "aws4_request");
    explicit_bzero(first, sizeof(first));
}

int pp_sigv4_sign(const struct pp_sigv4 *s, const struct pp_aws_keys *keys, char *out, size_t size)
{
    char scope[192], text[512], request[PP_SHA256_HEX], signature[PP_SHA256_HEX], names[512] = "";
    uint8_t key[PP_SHA256_SIZE];
    size_t n = 0;
    hash_request(s, request);
    int scoped = snprintf(scope, sizeof(scope), "%.8s/%s/%s/aws4_request", s->date, s->region, s->service);
    if (scoped >= (int)sizeof(scope))
        return -1;
    snprintf(text, sizeof(text), ALGORITHM "\n%s\n%s\n%s", s->date, scope, request);
    signing_key(s, keys->secret, key);
    derive(key, text);
    pp_sha256_hex(key, signature);
    for (size_t i = 0; i < s->headers && n < sizeof(names); i++)
        n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ";" : "", s->header[i].name);
    int written = n < sizeof(names)
                      ? snprintf(out, size, ALGORITHM " Credential=%s/%s, SignedHeaders=%s, Signature=%s",
                                 keys->id, scope, names, signature)
                      : -1;
    return written >= 0 && (size_t)written < size ? 0 : -1;
}
