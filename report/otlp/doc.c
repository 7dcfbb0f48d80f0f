#include "report/otlp/doc.h"

#include "probe/base/bytes.h"
#include "probe/base/text.h"
#include "probe/base/utf8.h"
#include "report/otlp/settings.h"

#include <inttypes.h>
#include <jansson.h>

enum { TEXT_MOST = 1000 };

void pp_otlp_begin(struct pp_otlp *o, int is_json)
{
    *o = (struct pp_otlp){.is_json = is_json};
    if (!is_json || !(o->out = open_memstream(&o->text, &o->size)))
        return;
    pp_json_begin(&o->json, o->out, 0);
    pp_json_object(&o->json);
}

char *pp_otlp_finish(struct pp_otlp *o, size_t *n)
{
    char *text = NULL;
    if (o->is_json && o->out) {
        pp_json_object_end(&o->json);
        int failed = pp_json_end(&o->json) != 0;
        failed |= fclose(o->out) != 0;
        text = o->text; /* fclose has put it there */
        *n = o->size;
        if (failed) {
            free(text);
            text = NULL;
        }
    } else if (!o->is_json) {
        if (o->proto.failed)
            pp_proto_free(&o->proto);
        text = o->proto.buf ? (char *)o->proto.buf : calloc(1, 1); /* an empty message is one */
        *n = o->proto.n;
    }
    *o = (struct pp_otlp){.is_json = o->is_json};
    return text;
}

size_t pp_otlp_size(const struct pp_otlp *o)
{
    long at = o->out ? ftell(o->out) : 0;
    return o->is_json ? (at > 0 ? (size_t)at : 0) : o->proto.n;
}

void pp_otlp_drop(struct pp_otlp *o)
{
    if (o->out)
        fclose(o->out);
    free(o->text);
    pp_proto_free(&o->proto);
    *o = (struct pp_otlp){.is_json = o->is_json};
}

/* ---- messages in messages ---- */

/* Whether what follows is JSON's; without memory for a JSON nothing is. */
static int json_at(struct pp_otlp *o, const char *name)
{
    if (o->is_json && o->out && name)
        pp_json_key(&o->json, name);
    return o->is_json && o->out;
}

void pp_otlp_list(struct pp_otlp *o, const char *name)
{
    if (json_at(o, name))
        pp_json_array(&o->json);
}

void pp_otlp_list_end(struct pp_otlp *o)
{
    if (json_at(o, NULL))
        pp_json_array_end(&o->json);
}

void pp_otlp_message(struct pp_otlp *o, unsigned number, const char *name)
{
    if (json_at(o, name))
        pp_json_object(&o->json);
    else if (!o->is_json)
        o->opened[o->depth++] = pp_proto_begin(&o->proto, number);
}

void pp_otlp_item(struct pp_otlp *o, unsigned number)
{
    pp_otlp_message(o, number, NULL);
}

void pp_otlp_end(struct pp_otlp *o)
{
    if (json_at(o, NULL))
        pp_json_object_end(&o->json);
    else if (!o->is_json)
        pp_proto_end(&o->proto, o->opened[--o->depth]);
}

/* ---- values ---- */

void pp_otlp_text(struct pp_otlp *o, unsigned number, const char *name, const char *text)
{
    char cut[TEXT_MOST + 1], *plain = NULL;
    if (strnlen(text, sizeof(cut)) == sizeof(cut)) {
        pp_utf8_copy(cut, sizeof(cut), text);
        text = cut;
    }
    if (!pp_text_is_plain(text))
        text = (plain = pp_text_plain(text)) ? plain : "";
    if (json_at(o, name))
        pp_json_str(&o->json, text);
    else if (!o->is_json)
        pp_proto_str(&o->proto, number, text);
    free(plain);
}

void pp_otlp_id(struct pp_otlp *o, unsigned number, const char *name, const uint8_t *id, size_t n)
{
    char digits[2 * 16 + 1] = "";
    for (size_t i = 0; i < n && i < 16; i++)
        snprintf(digits + 2 * i, 3, "%02x", id[i]);
    if (json_at(o, name))
        pp_json_str(&o->json, digits);
    else if (!o->is_json)
        pp_proto_bytes(&o->proto, number, id, n);
}

static void json_digits(struct pp_otlp *o, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, value);
    pp_json_str(&o->json, digits);
}

/* As it stands in JSON, and in protocol buffers. */
#define VALUE(kind, type, json, proto) \
    void pp_otlp_##kind(struct pp_otlp *o, unsigned number, const char *name, type value) \
    { \
        if (json_at(o, name)) \
            json; \
        else if (!o->is_json) \
            proto; \
    }
VALUE(enum, unsigned, pp_json_uint(&o->json, value), pp_proto_uint(&o->proto, number, value))
VALUE(bool, int, pp_json_bool(&o->json, value), pp_proto_uint(&o->proto, number, value != 0))
VALUE(fixed64, uint64_t, json_digits(o, value), pp_proto_fixed64(&o->proto, number, value))
VALUE(double, double, pp_json_num(&o->json, value), pp_proto_double(&o->proto, number, value))
#undef VALUE

void pp_otlp_counts(struct pp_otlp *o, unsigned number, const char *name, const uint64_t *v, size_t n)
{
    if (json_at(o, name)) {
        pp_json_array(&o->json);
        for (size_t i = 0; i < n; i++)
            json_digits(o, v[i]);
        pp_json_array_end(&o->json);
    } else if (!o->is_json) {
        pp_proto_packed_fixed64(&o->proto, number, v, n);
    }
}

void pp_otlp_doubles(struct pp_otlp *o, unsigned number, const char *name, const double *v, size_t n)
{
    if (json_at(o, name)) {
        pp_json_array(&o->json);
        for (size_t i = 0; i < n; i++)
            pp_json_num(&o->json, v[i]);
        pp_json_array_end(&o->json);
        return;
    }
    uint64_t *bits = o->is_json ? NULL : malloc((n ? n : 1) * sizeof(*bits));
    if (bits) {
        memcpy(bits, v, n * sizeof(*bits));
        pp_proto_packed_fixed64(&o->proto, number, bits, n);
    } else {
        o->proto.failed = 1;
    }
    free(bits);
}

/* ---- KeyValue{key=1, value=2}, AnyValue{string=1, int=3} ---- */

void pp_otlp_attribute(struct pp_otlp *o, unsigned number, const char *key, const char *text)
{
    pp_otlp_item(o, number);
    pp_otlp_text(o, 1, "key", key);
    pp_otlp_message(o, 2, "value");
    pp_otlp_text(o, 1, "stringValue", text);
    pp_otlp_end(o);
    pp_otlp_end(o);
}

void pp_otlp_attribute_number(struct pp_otlp *o, unsigned number, const char *key, int64_t value)
{
    char digits[24];
    pp_otlp_item(o, number);
    pp_otlp_text(o, 1, "key", key);
    pp_otlp_message(o, 2, "value");
    if (json_at(o, "intValue")) {
        snprintf(digits, sizeof(digits), "%" PRId64, value);
        pp_json_str(&o->json, digits);
    } else if (!o->is_json) {
        pp_proto_int(&o->proto, 3, value);
    }
    pp_otlp_end(o);
    pp_otlp_end(o);
}

/* ---- who sends ---- */

/* n bytes of text without %XX, into out. */
static void decode(char *out, size_t size, const char *text, size_t n)
{
    size_t k = 0;
    while (n && (*text == ' ' || *text == '\t'))
        text++, n--;
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    for (size_t i = 0; i < n && k + 1 < size;) {
        int byte = pp_otlp_byte(text, n, &i);
        out[k++] = byte ? (char)byte : ' '; /* which would end it */
    }
    out[k] = '\0';
}

enum { GIVEN_MOST = 32 };
struct given {
    char key[100], text[300];
};

/* OTEL_RESOURCE_ATTRIBUTES: key=value,key2=value2, percent-encoded. */
void pp_otlp_resource(struct pp_otlp *o, const struct pp_otlp_attr *attrs, size_t n)
{
    const char *at = getenv("OTEL_RESOURCE_ATTRIBUTES"), *service = getenv("OTEL_SERVICE_NAME");
    struct given *given = calloc(GIVEN_MOST, sizeof(*given));
    size_t n_given = 0;
    if (given && service && *service) {
        snprintf(given[0].key, sizeof(given[0].key), "service.name");
        snprintf(given[0].text, sizeof(given[0].text), "%s", service);
        n_given = 1;
    }
    while (given && at && *at && n_given < GIVEN_MOST) {
        struct given *next = &given[n_given];
        size_t all = strcspn(at, ","), key = strcspn(at, ",=");
        decode(next->key, sizeof(next->key), at, key);
        if (key < all && next->key[0]) {
            decode(next->text, sizeof(next->text), at + key + 1, all - key - 1);
            n_given += strcmp(next->key, "service.name") != 0 || !service || !*service;
        }
        at += all + (at[all] == ',');
    }
    pp_otlp_message(o, 1, "resource");
    pp_otlp_list(o, "attributes");
    for (size_t i = 0; i < n_given; i++)
        pp_otlp_attribute(o, 1, given[i].key, given[i].text);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < n_given && strcmp(given[k].key, attrs[i].key) != 0)
            k++;
        if (k == n_given && attrs[i].text && *attrs[i].text)
            pp_otlp_attribute(o, 1, attrs[i].key, attrs[i].text);
    }
    pp_otlp_list_end(o);
    pp_otlp_end(o);
    free(given);
}

void pp_otlp_scope(struct pp_otlp *o)
{
    pp_otlp_message(o, 1, "scope");
    pp_otlp_text(o, 1, "name", "pipeprobe");
    pp_otlp_text(o, 2, "version", PP_VERSION);
    pp_otlp_end(o);
}

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

/* ---- an answer, in JSON or not: some answer in JSON whatever was sent ---- */

/* No message of protocol buffers begins with '{'. */
void pp_otlp_answer_read(const char *body, size_t n, enum pp_otlp_said said, uint64_t sent,
                         struct pp_otlp_answer *out)
{
    static const char *const counts[] = {"rejectedDataPoints", "rejectedSpans"};
    const uint8_t *at = (const uint8_t *)body, *end = at + n;
    struct field f, g;
    *out = (struct pp_otlp_answer){0};
    if (n && body[0] == '{') {
        json_t *root = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
        json_t *in = said == PP_OTLP_REFUSED ? root : json_object_get(root, "partialSuccess");
        json_t *words = json_object_get(in, said == PP_OTLP_REFUSED ? "message" : "errorMessage");
        long long most = 0;
        for (size_t i = 0; i < 2 && said == PP_OTLP_TAKEN; i++) {
            json_t *v = json_object_get(in, counts[i]);
            long long rejected = json_is_integer(v)  ? json_integer_value(v)
                                 : json_is_string(v) ? strtoll(json_string_value(v), NULL, 10)
                                                     : 0;
            most = rejected > most ? rejected : most;
        }
        out->rejected = (uint64_t)most;
        if (json_is_string(words))
            take_words(out, json_string_value(words), json_string_length(words));
        json_decref(root);
        n = 0;
    }
    while (n && next_field(&at, end, &f)) {
        const uint8_t *in = f.bytes, *in_end = f.bytes + f.n;
        /* google.rpc.Status {code=1, message=2} */
        if (said == PP_OTLP_REFUSED && f.number == 2 && f.wire == 2)
            take_words(out, (const char *)f.bytes, f.n);
        /* {partial_success=1 {rejected=1, error_message=2}} */
        while (said == PP_OTLP_TAKEN && f.number == 1 && f.wire == 2 && in < in_end &&
               next_field(&in, in_end, &g)) {
            if (g.number == 1 && g.wire == 0)
                out->rejected = (int64_t)g.value > 0 ? g.value : 0;
            if (g.number == 2 && g.wire == 2)
                take_words(out, (const char *)g.bytes, g.n);
        }
    }
    out->rejected = out->rejected < sent ? out->rejected : sent;
}
