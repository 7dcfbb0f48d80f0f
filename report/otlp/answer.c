#include "report/otlp/settings.h"

#include "probe/base/bytes.h"
#include "probe/base/text.h"
#include "probe/base/utf8.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- protocol buffers ---- */

struct field {
    unsigned number, wire;
    uint64_t value;
    const uint8_t *bytes;
    size_t n;
};

/* The next field; 0 at the end, and where the bytes are none. */
static int next_field(const uint8_t **at, const uint8_t *end, struct field *f)
{
    uint64_t tag, n;
    if (*at == end || !pp_varint_get(at, end, &tag))
        return 0;
    *f = (struct field){.number = (unsigned)(tag >> 3), .wire = tag & 7};
    switch (f->wire) {
    case 0: return pp_varint_get(at, end, &f->value);
    case 1: n = 8; break;
    case 2:
        if (!pp_varint_get(at, end, &n))
            return 0;
        break;
    case 5: n = 4; break;
    default: return 0;
    }
    if (n > (size_t)(end - *at))
        return 0;
    f->bytes = *at;
    f->n = (size_t)n;
    *at += n;
    return 1;
}

static void take_words(struct pp_otlp_answer *out, const char *text, size_t n)
{
    char cut[sizeof(out->message) / 2];
    size_t most = n < sizeof(cut) ? n : sizeof(cut) - 1;
    char *whole = strndup(text, most), *plain;
    if (!whole)
        return;
    pp_utf8_copy(cut, sizeof(cut), whole);
    plain = pp_text_plain(cut);
    if (plain)
        snprintf(out->message, sizeof(out->message), "%s", plain);
    free(plain);
    free(whole);
}

/* ---- JSON ---- */

static uint64_t number_of(const json_t *v)
{
    long long n = json_is_integer(v)  ? json_integer_value(v)
                  : json_is_string(v) ? strtoll(json_string_value(v), NULL, 10)
                                      : 0;
    return n > 0 ? (uint64_t)n : 0;
}

static void read_json(const char *body, size_t n, int refusal, struct pp_otlp_answer *out)
{
    json_t *root = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
    json_t *at = refusal ? root : json_object_get(root, "partialSuccess");
    json_t *words = json_object_get(at, refusal ? "message" : "errorMessage");
    uint64_t points = number_of(json_object_get(at, "rejectedDataPoints"));
    uint64_t spans = number_of(json_object_get(at, "rejectedSpans"));
    out->rejected = refusal ? 0 : points > spans ? points : spans;
    if (json_is_string(words))
        take_words(out, json_string_value(words), json_string_length(words));
    json_decref(root);
}

/* ---- both ---- */

/* Some answer in JSON whatever was sent. No message of protocol buffers begins with this byte. */
static int looks_like_json(const char *body, size_t n)
{
    return n && body[0] == '{';
}

void pp_otlp_answer_read(const char *body, size_t n, uint64_t sent, struct pp_otlp_answer *out)
{
    const uint8_t *at = (const uint8_t *)body, *end = at + n;
    struct field f, g;
    *out = (struct pp_otlp_answer){0};
    if (looks_like_json(body, n)) {
        read_json(body, n, 0, out);
        n = 0;
    }
    /* {partial_success=1 {rejected=1, error_message=2}} */
    while (n && next_field(&at, end, &f)) {
        const uint8_t *in = f.bytes, *in_end = f.bytes + f.n;
        while (f.number == 1 && f.wire == 2 && in < in_end && next_field(&in, in_end, &g)) {
            if (g.number == 1 && g.wire == 0)
                out->rejected = (int64_t)g.value > 0 ? g.value : 0;
            if (g.number == 2 && g.wire == 2)
                take_words(out, (const char *)g.bytes, g.n);
        }
    }
    out->rejected = out->rejected < sent ? out->rejected : sent;
}

void pp_otlp_refusal_read(const char *body, size_t n, struct pp_otlp_answer *out)
{
    const uint8_t *at = (const uint8_t *)body, *end = at + n;
    struct field f;
    *out = (struct pp_otlp_answer){0};
    if (looks_like_json(body, n))
        read_json(body, n, 1, out);
    else /* google.rpc.Status {code=1, message=2} */
        while (n && next_field(&at, end, &f))
            if (f.number == 2 && f.wire == 2)
                take_words(out, (const char *)f.bytes, f.n);
}
