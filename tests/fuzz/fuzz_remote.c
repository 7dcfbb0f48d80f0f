/* Fuzz target: what remote storages read of strangers: the header of an answer line by line, listings and
 * errors of S3, URLs and names, profile files, credentials as JSON. The first byte says which. */
#include "tests/fuzz/fuzz.h"

#include "probe/storage/aws.h"
#include "probe/net/http.h"
#include "probe/storage/s3_page.h"
#include "probe/storage/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fuzz_head(const char *text, size_t size)
{
    struct pp_http_head h = {.total = PP_HTTP_UNKNOWN};
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t n = end ? (size_t)(end - text) - at + 1 : size - at;
        pp_http_head_line(&h, text + at, n);
        at += n;
    }
    if (h.has_range && h.first <= h.last && h.total != PP_HTTP_UNKNOWN && h.last >= h.total)
        abort();
}

static pp_status count_entry(void *ctx, const struct pp_entry *e, struct pp_err *err)
{
    if (strlen(e->name) >= PP_S3_KEY)
        abort();
    ++*(size_t *)ctx;
    return PP_OK;
}

static void fuzz_page(const char *text, size_t size)
{
    size_t seen = 0;
    char out[64];
    struct pp_err err = {0};
    struct pp_s3_page *page = calloc(1, sizeof(*page));
    if (!page)
        abort();
    page->prefix = "p/";
    page->each = count_entry;
    page->ctx = &seen;
    pp_status st = pp_s3_page_parse(page, text, size, "s3://b/p/", &err);
    if ((st == PP_OK) == (err.text[0] != '\0') || seen > page->entries ||
        (st == PP_OK && page->more && !page->token[0]))
        abort();
    free(page);
    pp_xml_find(text, size, "Message", out, sizeof(out));
}

static void fuzz_names(const char *text, size_t size)
{
    char out[PP_HTTP_URL];
    struct pp_url u;
    struct pp_s3_name name;
    char *whole = strndup(text, size);
    if (!whole)
        abort();
    pp_url_check(whole, NULL);
    if (pp_url_tidy(whole, out, sizeof(out)) == 0 && pp_url_split(out, &u) == 0 &&
        u.host_size + u.path_size + u.query_size > strlen(out) + 1)
        abort();
    if (pp_s3_parse_name(whole, &name) == 0 && pp_uri_encode(name.key, PP_URI_PATH, out, sizeof(out)) == 0 &&
        strpbrk(out, "?#% \r\n") && !strchr(out, '%'))
        abort();
    free(whole);
}

static void fuzz_files(const char *text, size_t size)
{
    char value[32];
    time_t ends;
    struct pp_aws_keys *keys = malloc(sizeof(*keys));
    if (!keys)
        abort();
    if (pp_ini_get(text, size, "default", "region", value, sizeof(value)) &&
        (!value[0] || strlen(value) >= sizeof(value)))
        abort();
    pp_ini_get(text, size, "dev", NULL, NULL, 0);
    if (pp_aws_parse_json(text, size, keys, &ends) == 0 && strpbrk(keys->token, "\r\n"))
        abort();
    free(keys);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const targets[])(const char *, size_t) = {fuzz_head, fuzz_page, fuzz_names, fuzz_files};
    if (size == 0)
        return 0;
    char *text = malloc(size > 1 ? size - 1 : 1); /* ends where it ends: what reads on is seen */
    if (!text)
        abort();
    memcpy(text, data + 1, size - 1);
    targets[data[0] % (sizeof(targets) / sizeof(*targets))](text, size - 1);
    free(text);
    return 0;
}

int fuzz_seed(unsigned i, uint8_t **data, size_t *size)
{
    static const char *const texts[] = {
        "0HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-9/100\r\nETag: \"a\"\r\nContent-Length: 10\r\nRetry-After: 3\r\n\r\n",
        "1<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>"
        "<NextContinuationToken>t&amp;&#65;</NextContinuationToken><Contents><Key>p/a%20b+c</Key><Size>1</Size></Contents>"
        "<CommonPrefixes><Prefix>p/d/</Prefix></CommonPrefixes></ListBucketResult>",
        "1<Error><Code>AccessDenied</Code><Message>no</Message></Error>",
        "2https://user:p@host:80/a b?x=1&sig=2#f",
        "2s3://bucket/key +=%41",
        "3[default]\nregion = eu-west-1 # c\n[profile dev]\n",
        "3{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Token\":\"T\",\"Expiration\":\"2026-11-23T05:00:00Z\"}",
    };
    if (i >= sizeof(texts) / sizeof(*texts))
        return 0;
    *size = strlen(texts[i]);
    *data = malloc(*size);
    if (!*data)
        return 0;
    memcpy(*data, texts[i], *size);
    (*data)[0] -= '0';
    return 1;
}
