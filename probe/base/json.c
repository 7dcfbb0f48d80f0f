#include "probe/base/json.h"

#include "probe/base/text.h"
#include "probe/base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <locale.h>

#define MAX_DEPTH ((int)(sizeof(((struct pp_json *)0)->level) / sizeof(((struct pp_json *)0)->level[0])))

void pp_json_begin(struct pp_json *j, FILE *out, int indent)
{
    memset(j, 0, sizeof(*j));
    j->out = out;
    j->indent = indent;
}

/* Comma and indentation before an item of the current level; in an object that is its key. */
static void before_item(struct pp_json *j)
{
    if (j->level[j->depth].has_items) {
        assert(j->depth > 0 && "one value per document");
        fputc(',', j->out);
    }
    if (j->depth > 0 && j->indent > 0)
        fprintf(j->out, "\n%*s", j->indent * j->depth, "");
    j->level[j->depth].has_items = 1;
}

static void before_value(struct pp_json *j)
{
    if (!j->level[j->depth].in_object) {
        before_item(j);
        return;
    }
    assert(j->level[j->depth].key_open && "a value in an object needs a key");
    j->level[j->depth].key_open = 0;
}

static void open_level(struct pp_json *j, char in_object)
{
    before_value(j);
    assert(j->depth + 1 < MAX_DEPTH);
    fputc(in_object ? '{' : '[', j->out);
    j->depth++;
    j->level[j->depth].in_object = in_object;
    j->level[j->depth].has_items = 0;
    j->level[j->depth].key_open = 0;
}

static void close_level(struct pp_json *j, char in_object)
{
    assert(j->depth > 0 && j->level[j->depth].in_object == in_object && !j->level[j->depth].key_open);
    int had_items = j->level[j->depth].has_items;
    j->depth--;
    if (had_items && j->indent > 0)
        fprintf(j->out, "\n%*s", j->indent * j->depth, "");
    fputc(in_object ? '}' : ']', j->out);
}

static void put_string(FILE *out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', out);
    while (*s) {
        int n = pp_utf8_length(s);
        if (n == 0) {
            fputs("\xef\xbf\xbd", out);
        } else if (n == 1 && (*s < 0x20 || *s == '"' || *s == '\\')) {
            static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
            const char *p = strchr(plain, *s);
            if (p)
                fprintf(out, "\\%c", letter[p - plain]);
            else
                fprintf(out, "\\u%04x", *s);
        } else {
            fwrite(s, 1, (size_t)n, out);
        }
        s += n ? n : 1;
    }
    fputc('"', out);
}

void pp_json_key(struct pp_json *j, const char *key)
{
    assert(j->level[j->depth].in_object && !j->level[j->depth].key_open);
    before_item(j);
    put_string(j->out, key);
    fputs(j->indent > 0 ? ": " : ":", j->out);
    j->level[j->depth].key_open = 1;
}

void pp_json_str(struct pp_json *j, const char *s)
{
    if (!s) {
        pp_json_null(j);
        return;
    }
    before_value(j);
    put_string(j->out, s);
}

void pp_json_num(struct pp_json *j, double v)
{
    if (!isfinite(v)) {
        pp_json_null(j);
        return;
    }
    char text[64];
    pp_text_exact(text, sizeof(text), v);
    before_value(j);
    /* a host program may have set a locale whose decimal point is not "." */
    const char *point = localeconv()->decimal_point, *at = strstr(text, point);
    if (at && *point)
        fprintf(j->out, "%.*s.%s", (int)(at - text), text, at + strlen(point));
    else
        fputs(text, j->out);
}

void pp_json_int(struct pp_json *j, int64_t v)
{
    before_value(j);
    fprintf(j->out, "%" PRId64, v);
}

void pp_json_uint(struct pp_json *j, uint64_t v)
{
    before_value(j);
    fprintf(j->out, "%" PRIu64, v);
}

void pp_json_bool(struct pp_json *j, int v)
{
    before_value(j);
    fputs(v ? "true" : "false", j->out);
}

void pp_json_null(struct pp_json *j)
{
    before_value(j);
    fputs("null", j->out);
}

#define PUT(what, type) \
    void pp_json_put_##what(struct pp_json *j, const char *key, type v) \
    { \
        pp_json_key(j, key); \
        pp_json_##what(j, v); \
    }
PUT(str, const char *)
PUT(num, double)
PUT(int, int64_t)
PUT(uint, uint64_t)
PUT(bool, int)

#define LEVEL(what, in_object) \
    void pp_json_##what(struct pp_json *j) \
    { \
        open_level(j, in_object); \
    } \
    void pp_json_##what##_end(struct pp_json *j) \
    { \
        close_level(j, in_object); \
    } \
    void pp_json_put_##what(struct pp_json *j, const char *key) \
    { \
        pp_json_key(j, key); \
        open_level(j, in_object); \
    }
LEVEL(object, 1)
LEVEL(array, 0)

int pp_json_end(struct pp_json *j)
{
    assert(j->depth == 0 && j->level[0].has_items);
    fputc('\n', j->out);
    return fflush(j->out) == 0 && !ferror(j->out) ? 0 : -1;
}
