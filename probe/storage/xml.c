#include "probe/storage/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* "#233" or "#xe9" as UTF-8 */
static int add_code(struct walk *w, const char *digits)
{
    char *end;
    int hex = digits[0] == 'x';
    if (!(digits[hex] >= '0' && digits[hex] <= '9') && !hex)
        return BAD;
    unsigned long c = strtoul(digits + hex, &end, hex ? 16 : 10);
    if (*end || end == digits + hex || c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return BAD;
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    add_byte(w, (char)(lead[more] | c >> (6 * more)));
    while (more-- > 0)
        add_byte(w, (char)(0x80 | (c >> (6 * more) & 63)));
    return 0;
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
    if (name[0] == '#')
        return add_code(w, name + 1);
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

int pp_xml_walk(const char *xml, size_t size, pp_xml_leaf_fn *leaf, void *ctx)
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

void pp_xml_find(const char *xml, size_t size, const char *name, char *out, size_t out_size)
{
    struct wanted w = {name, out, out_size};
    out[0] = '\0';
    pp_xml_walk(xml, size, take_wanted, &w);
}
