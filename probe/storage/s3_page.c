#include "probe/storage/s3_page.h"

#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/storage/xml.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

int pp_s3_parse_name(const char *name, struct pp_s3_name *out)
{
    if (strncmp(name, "s3://", 5) != 0)
        return -1;
    name += 5;
    size_t n = strcspn(name, "/");
    if (n == 0 || n >= sizeof(out->bucket))
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("-._", name[i]))
            return -1;
    memcpy(out->bucket, name, n);
    out->bucket[n] = '\0';
    const char *key = name[n] ? name + n + 1 : "";
    return (size_t)snprintf(out->key, sizeof(out->key), "%s", key) < sizeof(out->key) ? 0 : -1;
}

struct parsing {
    struct pp_s3_page *page;
    int encoded; /* keys are percent-encoded, as was asked for */
    struct pp_err *err;
    pp_status st;
};

/* 0, or -1: too long, or with a byte that is 0 */
static int decode(const struct parsing *p, const char *text, char out[PP_S3_KEY])
{
    size_t n = 0;
    for (; *text; text++) {
        int byte = (unsigned char)*text;
        if (p->encoded && byte == '%' && pp_text_hex(text[1]) >= 0 && pp_text_hex(text[2]) >= 0) {
            byte = pp_text_hex(text[1]) * 16 + pp_text_hex(text[2]);
            text += 2;
        } else if (p->encoded && byte == '+') {
            byte = ' ';
        }
        if (!byte || n + 1 >= PP_S3_KEY)
            return -1;
        out[n++] = (char)byte;
    }
    out[n] = '\0';
    return 0;
}

/* A key, or a prefix that ends in the delimiter. */
static int take_entry(struct parsing *p, const char *text, int is_directory)
{
    char key[PP_S3_KEY];
    size_t before = strlen(p->page->prefix);
    if (!text || decode(p, text, key) != 0 || strncmp(key, p->page->prefix, before) != 0)
        return 0;
    char *name = key + before;
    size_t n = strlen(name);
    p->page->entries++;
    if (is_directory && n > 0 && name[n - 1] == '/')
        name[--n] = '\0';
    if (n == 0 &&
        (before == 0 || p->page->prefix[before - 1] == '/')) /* the directory itself, as some tools make it */
        return 0;
    p->st = p->page->each(p->page->ctx,
                          &(struct pp_entry){.name = name,
                                             .kind = is_directory ? PP_ENTRY_DIRECTORY : PP_ENTRY_OBJECT},
                          p->err);
    return p->st != PP_OK;
}

static int on_leaf(void *ctx, const char *parent, const char *name, const char *text)
{
    struct parsing *p = ctx;
    if (strcmp(parent, "Contents") == 0 && strcmp(name, "Key") == 0)
        return take_entry(p, text, 0);
    if (strcmp(parent, "CommonPrefixes") == 0 && strcmp(name, "Prefix") == 0)
        return take_entry(p, text, 1);
    if (strcmp(parent, "ListBucketResult") != 0 || !text)
        return 0;
    if (strcmp(name, "IsTruncated") == 0)
        p->page->more = strcmp(text, "true") == 0;
    if (strcmp(name, "NextContinuationToken") == 0 && strlen(text) < sizeof(p->page->token))
        snprintf(p->page->token, sizeof(p->page->token), "%s", text);
    return 0;
}

pp_status pp_s3_page_parse(struct pp_s3_page *page, const char *xml, size_t size, const char *name,
                           struct pp_err *err)
{
    char encoding[8];
    struct parsing p = {.page = page, .err = err, .st = PP_OK};
    page->entries = 0;
    page->more = 0;
    page->token[0] = '\0';
    pp_xml_find(xml, size, "EncodingType", encoding, sizeof(encoding));
    p.encoded = strcmp(encoding, "url") == 0;
    int r = pp_xml_walk(xml, size, on_leaf, &p);
    if (p.st != PP_OK)
        return p.st;
    if (r != 0 || (page->more && !page->token[0]))
        return pp_fail(err, PP_E_CORRUPT, "cannot list %s: the server's answer is not a listing of S3", name);
    return PP_OK;
}
