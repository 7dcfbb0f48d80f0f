#include "probe/storage/s3_page.h"

#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/base/utf8.h"

#include <ctype.h>
#include <strings.h>

/* ---- XML ---- */

enum { NAME = 48, BAD = -1 };

struct walk {
    const char *at, *end;
    pp_xml_leaf_fn *leaf;
    void *ctx;
    int depth, inner; /* inner: the element that ended last was a child of the open one */
    char name[PP_XML_DEPTH][NAME];
    char text[PP_XML_TEXT];
    size_t used;
    int too_long;
};

static void add_byte(struct walk *w, char c)
{
    if (w->used + 1 < sizeof(w->text))
        w->text[w->used++] = c;
    else
        w->too_long = 1;
}

/* w->at stands behind the "&". */
static int take_entity(struct walk *w)
{
    static const struct {
        const char *name;
        char c;
    } known[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    char name[12];
    size_t left = (size_t)(w->end - w->at);
    const char *semicolon = memchr(w->at, ';', left < sizeof(name) ? left : sizeof(name));
    size_t n = semicolon ? (size_t)(semicolon - w->at) : 0;
    if (n == 0 || n >= sizeof(name))
        return BAD;
    memcpy(name, w->at, n);
    name[n] = '\0';
    w->at = semicolon + 1;
    if (name[0] == '#') {
        /* "#233" or "#xe9" as UTF-8 */
        const char *digits = name + 1;
        char *end;
        int hex = digits[0] == 'x';
        if (!(digits[hex] >= '0' && digits[hex] <= '9') && !hex)
            return BAD;
        unsigned long c = strtoul(digits + hex, &end, hex ? 16 : 10);
        if (*end || end == digits + hex || c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            return BAD;
        char utf8[4];
        size_t bytes = pp_utf8_put((uint32_t)c, utf8);
        for (size_t i = 0; i < bytes; i++)
            add_byte(w, utf8[i]);
        return 0;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(name, known[i].name) == 0) {
            add_byte(w, known[i].c);
            return 0;
        }
    return BAD;
}

static int end_element(struct walk *w)
{
    int r = 0;
    w->depth--;
    w->text[w->used] = '\0';
    if (!w->inner)
        r = w->leaf(w->ctx, w->depth ? w->name[w->depth - 1] : "", w->name[w->depth],
                    w->too_long ? NULL : w->text);
    w->inner = 1;
    w->used = 0;
    w->too_long = 0;
    return r;
}

/* The name without its prefix; 0: none, or too long. */
static int take_name(const char *from, const char *to, char out[NAME])
{
    const char *end = from;
    while (end < to && *end != ' ' && *end != '\t' && *end != '\r' && *end != '\n' && *end != '/')
        end++;
    const char *colon = memchr(from, ':', (size_t)(end - from));
    from = colon ? colon + 1 : from;
    if (from >= end || end - from >= NAME)
        return 0;
    memcpy(out, from, (size_t)(end - from));
    out[end - from] = '\0';
    return 1;
}

/* w->at stands behind the "<". */
static int take_tag(struct walk *w)
{
    const char *close = memchr(w->at, '>', (size_t)(w->end - w->at)), *from = w->at;
    char name[NAME];
    if (!close || close == from)
        return BAD;
    w->at = close + 1;
    if (*from == '?' && w->depth == 0)
        return 0;
    if (*from == '/') {
        if (w->depth == 0 || !take_name(from + 1, close, name) || strcmp(name, w->name[w->depth - 1]) != 0)
            return BAD;
        return end_element(w);
    }
    if (w->depth == PP_XML_DEPTH || *from == '!' || !take_name(from, close, w->name[w->depth]))
        return BAD;
    w->depth++;
    w->inner = 0;
    w->used = 0;
    w->too_long = 0;
    return close[-1] == '/' ? end_element(w) : 0;
}

struct wanted {
    const char *name;
    char *out;
    size_t size;
};

static int take_wanted(void *ctx, const char *parent, const char *name, const char *text)
{
    const struct wanted *w = ctx;
    if (strcmp(name, w->name) != 0)
        return 0;
    if (text && strlen(text) < w->size)
        snprintf(w->out, w->size, "%s", text);
    return 1;
}

/* 0: well-formed to the end of the outermost element. -1: not. */
static int walk_xml(const char *xml, size_t size, pp_xml_leaf_fn *leaf, void *ctx)
{
    struct walk w = {.at = xml, .end = xml + size, .leaf = leaf, .ctx = ctx};
    int r = 0, begun = 0;
    while (r == 0 && w.at < w.end && !(begun && w.depth == 0)) {
        char c = *w.at++;
        if (c == '<')
            r = take_tag(&w);
        else if (c == '&')
            r = take_entity(&w);
        else
            add_byte(&w, c);
        begun |= w.depth > 0;
    }
    return r ? r : begun && w.depth == 0 ? 0 : BAD;
}

void pp_xml_find(const char *xml, size_t size, const char *name, char *out, size_t out_size)
{
    struct wanted w = {name, out, out_size};
    out[0] = '\0';
    walk_xml(xml, size, take_wanted, &w);
}

/* ---- names and listings ---- */

int pp_s3_is_own_host(const char *host)
{
    const char *end = strcasestr(host, ".amazonaws.com");
    if (!end || end[strlen(".amazonaws.com")])
        return 0;
    for (const char *part; end > host; end = part - 1) {
        for (part = end; part > host && part[-1] != '.';)
            part--;
        size_t n = (size_t)(end - part);
        if (n >= 2 && strncasecmp(part, "s3", 2) == 0 && (n == 2 || part[2] == '-'))
            return 1;
        int is_region = n > 4 && part[2] == '-' && isdigit((unsigned char)end[-1]);
        if (part == host || !(is_region || (n == 9 && strncasecmp(part, "dualstack", n) == 0)))
            return 0;
    }
    return 0;
}

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

/* A key, or a prefix that ends in the delimiter; one that is too long or has a byte that is 0 is left out. */
static int take_entry(struct parsing *p, const char *text, int is_directory)
{
    char key[PP_S3_KEY];
    size_t before = strlen(p->page->prefix), n = 0;
    for (; text && *text; text++) {
        int byte = (unsigned char)*text;
        if (p->encoded && byte == '%' && pp_text_hex(text[1]) >= 0 && pp_text_hex(text[2]) >= 0) {
            byte = pp_text_hex(text[1]) * 16 + pp_text_hex(text[2]);
            text += 2;
        } else if (p->encoded && byte == '+') {
            byte = ' ';
        }
        if (!byte || n + 1 >= PP_S3_KEY)
            return 0;
        key[n++] = (char)byte;
    }
    key[n] = '\0';
    if (!text || strncmp(key, p->page->prefix, before) != 0)
        return 0;
    char *name = key + before;
    n -= before;
    p->page->entries++;
    p->page->names += n + 16;
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
    page->entries = page->names = 0;
    page->more = 0;
    page->token[0] = '\0';
    pp_xml_find(xml, size, "EncodingType", encoding, sizeof(encoding));
    p.encoded = strcmp(encoding, "url") == 0;
    int r = walk_xml(xml, size, on_leaf, &p);
    if (p.st != PP_OK)
        return p.st;
    if (r != 0 || (page->more && !page->token[0]))
        return pp_fail(err, PP_E_CORRUPT, "cannot list %s: the server's answer is not a listing of S3", name);
    return PP_OK;
}
