#include "probe/dataset/tfrecord.h"
#include "probe/base/crc32c.h"
#include "probe/base/err.h"

#include <stdio.h>
#include <string.h>

/* ---- the frame ---- */

static uint32_t little_32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static int checks(const uint8_t *bytes, size_t size, const uint8_t *masked)
{
    uint32_t crc = pp_crc32c(bytes, size);
    return little_32(masked) == (crc >> 15 | crc << 17) + 0xa282ead8u;
}

int pp_tfrecord_head(const uint8_t *head, uint64_t *length)
{
    *length = little_32(head) | (uint64_t)little_32(head + 4) << 32;
    return checks(head, 8, head + 8);
}

int pp_tfrecord_whole(const uint8_t *record, size_t size)
{
    return checks(record, size, record + size);
}

/* ---- messages: https://protobuf.dev/programming-guides/encoding/ ---- */

struct piece {
    const uint8_t *at;
    size_t left;
};

struct field {
    uint32_t number, wire;
    struct piece body; /* wire 2 */
    uint64_t value;    /* wire 0 */
};

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static int read_varint(struct piece *p, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && p->left > 0; shift += 7) {
        uint8_t byte = *p->at++;
        p->left--;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return 1;
    }
    return 0;
}

static int take(struct piece *p, uint64_t n, struct piece *out)
{
    if (n > p->left)
        return 0;
    *out = (struct piece){p->at, (size_t)n};
    p->at += n;
    p->left -= (size_t)n;
    return 1;
}

/* The next field: 1, 0 at the end, -1 when the bytes are no message. */
static int next_field(struct piece *p, struct field *f)
{
    uint64_t tag, length;
    struct piece fixed;
    *f = (struct field){0};
    if (p->left == 0)
        return 0;
    if (!read_varint(p, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return -1;
    f->number = (uint32_t)(tag >> 3);
    f->wire = tag & 7;
    switch (f->wire) {
    case VARINT: return read_varint(p, &f->value) ? 1 : -1;
    case FIXED64: return take(p, 8, &fixed) ? 1 : -1;
    case BYTES: return read_varint(p, &length) && take(p, length, &f->body) ? 1 : -1;
    case FIXED32: return take(p, 4, &fixed) ? 1 : -1;
    default: return -1;
    }
}

/* ---- tf.train.Example ---- */

/* One entry of the map of features; list of bytes or numbers, whose first value it is. */
struct feature {
    struct piece name, bytes;
    int has_bytes, has_number;
    int64_t number;
};

enum { BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 }; /* of Feature */

/* A list: its values are fields 1, numbers also packed into one. */
static int read_list(struct piece list, uint32_t kind, struct feature *out)
{
    struct field f;
    int more;
    while ((more = next_field(&list, &f)) > 0) {
        if (f.number != 1 || out->has_bytes || out->has_number)
            continue;
        if (kind == BYTES_LIST && f.wire == BYTES) {
            out->bytes = f.body;
            out->has_bytes = 1;
        } else if (kind == INT64_LIST && (f.wire == VARINT || f.body.left > 0)) {
            if (f.wire == BYTES && !read_varint(&f.body, &f.value))
                return -1;
            out->number = (int64_t)f.value;
            out->has_number = f.wire == VARINT || f.wire == BYTES;
        }
    }
    return more;
}

static int read_feature(struct piece message, struct feature *out)
{
    struct field f;
    int more;
    while ((more = next_field(&message, &f)) > 0)
        if (f.wire == BYTES && f.number >= BYTES_LIST && f.number <= INT64_LIST && f.number != FLOAT_LIST &&
            read_list(f.body, f.number, out) < 0)
            return -1;
    return more;
}

static int read_entry(struct piece message, struct feature *out)
{
    struct field f;
    int more;
    *out = (struct feature){0};
    while ((more = next_field(&message, &f)) > 0) {
        if (f.wire == BYTES && f.number == 1)
            out->name = f.body;
        else if (f.wire == BYTES && f.number == 2 && read_feature(f.body, out) < 0)
            return -1;
    }
    return more;
}

static int is_image(struct piece p)
{
    return (p.left >= 3 && memcmp(p.at, "\xff\xd8\xff", 3) == 0) ||
           (p.left >= 8 && memcmp(p.at, "\x89PNG\r\n\x1a\n", 8) == 0) ||
           (p.left >= 12 && memcmp(p.at, "RIFF", 4) == 0 && memcmp(p.at + 8, "WEBP", 4) == 0);
}

static int is_called(struct piece name, const char *want)
{
    return name.left == strlen(want) && memcmp(name.at, want, name.left) == 0;
}

/* Negative, 0, positive as memcmp, the shorter first. */
static int compare(struct piece a, struct piece b)
{
    size_t n = a.left < b.left ? a.left : b.left;
    int order = n ? memcmp(a.at, b.at, n) : 0;
    return order ? order : (a.left > b.left) - (a.left < b.left);
}

struct search {
    const char *feature; /* NULL: by the bytes */
    struct feature image;
    int found, features;
    size_t label_rank;
    int64_t label;
    char names[160];
    size_t names_used;
};

static void note_name(struct search *s, struct piece name)
{
    if (s->features++ > 0 && s->names_used + 2 < sizeof(s->names))
        s->names_used += (size_t)snprintf(s->names + s->names_used, sizeof(s->names) - s->names_used, ", ");
    for (size_t i = 0; i < name.left && s->names_used + 1 < sizeof(s->names); i++) {
        uint8_t c = name.at[i];
        s->names[s->names_used++] = (char)(c < 0x20 || c >= 0x7f ? '?' : c);
    }
    s->names[s->names_used] = '\0';
}

static void consider(struct search *s, const struct feature *f)
{
    static const char *const labels[] = {"image/class/label", "label", "class", "cls"};
    enum { LABELS = sizeof(labels) / sizeof(*labels) };
    note_name(s, f->name);
    if (f->has_bytes &&
        (s->feature ? is_called(f->name, s->feature)
                    : is_image(f->bytes) && (!s->found || compare(f->name, s->image.name) < 0))) {
        s->image = *f;
        s->found = 1;
    }
    for (size_t i = 0; f->has_number && i < LABELS - s->label_rank; i++)
        if (is_called(f->name, labels[i])) {
            s->label_rank = LABELS - i;
            s->label = f->number;
        }
}

/* Example: field 1 is Features, whose fields 1 are the entries. */
static int search_example(struct piece message, struct search *s)
{
    struct field outer, entry;
    struct feature f;
    int more, inner = 0;
    while ((more = next_field(&message, &outer)) > 0) {
        if (outer.number != 1 || outer.wire != BYTES)
            continue;
        while ((inner = next_field(&outer.body, &entry)) > 0) {
            if (entry.number != 1 || entry.wire != BYTES)
                continue;
            if (read_entry(entry.body, &f) < 0)
                return -1;
            consider(s, &f);
        }
        if (inner < 0)
            return -1;
    }
    return more;
}

pp_status pp_tf_example_image(const uint8_t *record, size_t size, const char *feature,
                              struct pp_tf_image *out, struct pp_err *err)
{
    struct search s = {.feature = feature, .label = -1};
    struct piece whole = {record, size};
    if (!feature && is_image(whole)) {
        *out = (struct pp_tf_image){.data = record, .size = size, .label = -1};
        return PP_OK;
    }
    if (search_example(whole, &s) < 0 || s.features == 0)
        return pp_fail(err, PP_E_CORRUPT, "holds %zu bytes that are no tf.train.Example", size);
    if (!s.found && feature)
        return pp_fail(err, PP_E_UNSUPPORTED, "holds no bytes called %s: its features are %s", feature,
                       s.names);
    if (!s.found)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "holds no feature with a JPEG, PNG or WebP image (its features are %s); name one with "
                       "--feature, or record your own loader with 'pipeprobe exec -- python train.py'",
                       s.names);
    *out = (struct pp_tf_image){.data = s.image.bytes.at,
                                .size = s.image.bytes.left,
                                .label = s.label < 0 ? -1 : s.label};
    return PP_OK;
}
