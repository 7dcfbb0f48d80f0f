/* TFRecord files: each record is a tf.train.Example with an image among its features. One walk over the
 * records' lengths makes the index (their checksums are verified then, those of the records when they are
 * read); it is kept where the indexes of tar shards are. */
#include "probe/base/array.h"
#include "probe/base/bytes.h"
#include "probe/base/crc32c.h"
#include "probe/base/err.h"
#include "probe/dataset/dataset_tfrecord.h"
#include "probe/dataset/dataset_shards.h"
#include "probe/dataset/format.h"

enum {
    WALK_BLOCK = 4096,        /* read at each record: its head, and those of small ones behind it */
    MOST_RECORDS = 1 << 24,   /* of one file: an entry of the index has 24 bytes */
    MOST_RECORD = 0x7fffffff, /* bytes: more is no message */
};

/* ---- the frame ---- */

static int checks(const uint8_t *bytes, size_t size, const uint8_t *masked)
{
    uint32_t crc = pp_crc32c(bytes, size);
    return pp_le32(masked) == (crc >> 15 | crc << 17) + 0xa282ead8u;
}

int pp_tfrecord_head(const uint8_t *head, uint64_t *length)
{
    *length = pp_le64(head);
    return checks(head, 8, head + 8);
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
    const uint8_t *end = p->at + p->left;
    int whole = pp_varint_get(&p->at, end, out);
    p->left = (size_t)(end - p->at);
    return whole;
}

/* The next field: 1, 0 at the end, -1 when the bytes are no message. */
static int next_field(struct piece *p, struct field *f)
{
    uint64_t tag, length;
    *f = (struct field){0};
    if (p->left == 0)
        return 0;
    if (!read_varint(p, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return -1;
    f->number = (uint32_t)(tag >> 3);
    f->wire = tag & 7;
    switch (f->wire) {
    case VARINT: return read_varint(p, &f->value) ? 1 : -1;
    case FIXED64: length = 8; break;
    case FIXED32: length = 4; break;
    case BYTES:
        if (!read_varint(p, &length))
            return -1;
        break;
    default: return -1;
    }
    if (length > p->left)
        return -1;
    if (f->wire == BYTES)
        f->body = (struct piece){p->at, (size_t)length};
    p->at += length;
    p->left -= (size_t)length;
    return 1;
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

static int read_entry(struct piece message, struct feature *out)
{
    struct field f, list;
    int more, inner = 0;
    *out = (struct feature){0};
    while ((more = next_field(&message, &f)) > 0) {
        if (f.wire == BYTES && f.number == 1)
            out->name = f.body;
        if (f.wire != BYTES || f.number != 2)
            continue;
        while ((inner = next_field(&f.body, &list)) > 0)
            if (list.wire == BYTES && (list.number == BYTES_LIST || list.number == INT64_LIST) &&
                read_list(list.body, list.number, out) < 0)
                return -1;
        if (inner < 0)
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

struct search {
    const char *feature; /* NULL: by the bytes */
    struct feature image;
    int found, features;
    size_t label_rank;
    int64_t label;
    char names[160];
    size_t names_used;
};

/* Whether a feature is the image or the label that are searched; its name is noted for the sentence. */
static void consider_feature(struct search *s, const struct feature *f)
{
    static const char *const labels[] = {"image/class/label", "label", "class", "cls"};
    enum { LABELS = sizeof(labels) / sizeof(*labels) };
    if (s->features++ > 0 && s->names_used + 2 < sizeof(s->names))
        s->names_used += (size_t)snprintf(s->names + s->names_used, sizeof(s->names) - s->names_used, ", ");
    for (size_t i = 0; i < f->name.left && s->names_used + 1 < sizeof(s->names); i++) {
        uint8_t c = f->name.at[i];
        s->names[s->names_used++] = (char)(c < 0x20 || c >= 0x7f ? '?' : c);
    }
    s->names[s->names_used] = '\0';
    /* of two images the one whose name is first in byte order */
    struct piece name = f->name, best = s->image.name;
    size_t shorter = name.left < best.left ? name.left : best.left;
    int order = s->found && shorter ? memcmp(name.at, best.at, shorter) : 0;
    int is_first = !s->found || order < 0 || (order == 0 && name.left < best.left);
    if (f->has_bytes && (s->feature ? is_called(name, s->feature) : is_first && is_image(f->bytes))) {
        s->image = *f;
        s->found = 1;
    }
    for (size_t i = 0; f->has_number && i < LABELS - s->label_rank; i++)
        if (is_called(name, labels[i])) {
            s->label_rank = LABELS - i;
            s->label = f->number;
        }
}

pp_status pp_tf_example_image(const uint8_t *record, size_t size, const char *feature,
                              struct pp_tf_image *out, struct pp_err *err)
{
    struct search s = {.feature = feature, .label = -1};
    struct piece whole = {record, size}, message = whole;
    struct field outer, entry;
    struct feature f;
    int more = 0, inner = 0;
    if (!feature && is_image(whole)) {
        *out = (struct pp_tf_image){.data = record, .size = size, .label = -1};
        return PP_OK;
    }
    /* Example: field 1 is Features, whose fields 1 are the entries. */
    while (inner >= 0 && (more = next_field(&message, &outer)) > 0) {
        if (outer.number != 1 || outer.wire != BYTES)
            continue;
        while ((inner = next_field(&outer.body, &entry)) > 0) {
            if (entry.number != 1 || entry.wire != BYTES)
                continue;
            if ((inner = read_entry(entry.body, &f)) < 0)
                break;
            consider_feature(&s, &f);
        }
    }
    if (more < 0 || inner < 0 || s.features == 0)
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

/* ---- the index ---- */

/* One walk over the lengths of the records; a block is kept for those that follow in it. */
static pp_status build_index(const struct pp_object *shard, const char *path, const struct pp_place_info *id,
                             struct pp_shard_index *out, struct pp_err *err)
{
    struct pp_shard_header h = {.shard_size = id->size, .shard_mtime_ns = id->version, .key_bytes = 1};
    struct pp_shard_entry *entry = NULL;
    uint8_t block[WALK_BLOCK];
    uint64_t at = 0, block_at = 0, length;
    size_t block_size = 0, cap = 0;
    pp_status st = PP_OK;
    *out = (struct pp_shard_index){0};
    h.defect = id->size == 0 ? PP_SHARD_NO_BYTES : PP_SHARD_SOUND;
    while (st == PP_OK && at < id->size) {
        uint64_t left = id->size - at;
        h.defect_at = at;
        h.defect = PP_SHARD_TRUNCATED;
        if (left < PP_TFRECORD_HEAD)
            break;
        if (at < block_at || at + PP_TFRECORD_HEAD > block_at + block_size) {
            struct pp_read r = {.name = path, .offset = at, .size = WALK_BLOCK, .buf = block};
            st = pp_object_read_at(shard, &r, err);
            block_at = at;
            block_size = r.got;
            if (st == PP_OK && r.got < PP_TFRECORD_HEAD)
                st = pp_fail(err, PP_E_IO, "%s became shorter while it was indexed", path);
            if (st != PP_OK)
                break;
        }
        if (!pp_tfrecord_head(block + (at - block_at), &length)) {
            h.defect = PP_SHARD_DAMAGED;
            break;
        }
        left -= PP_TFRECORD_HEAD;
        if (length > left || left - length < PP_TFRECORD_TAIL)
            break;
        if (length > MOST_RECORD)
            h.left_out++;
        else if (h.entries == MOST_RECORDS)
            st = pp_fail(err, PP_E_UNSUPPORTED, "%s holds more than %d records: split it into shards", path,
                         MOST_RECORDS);
        else if (!pp_grow(&entry, &cap, h.entries + 1, sizeof(*entry)))
            st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the index of %s", path);
        else
            entry[h.entries++] = (struct pp_shard_entry){.offset = at + PP_TFRECORD_HEAD,
                                                         .size = (uint32_t)length,
                                                         .label = -1};
        at += PP_TFRECORD_HEAD + length + PP_TFRECORD_TAIL;
        h.defect = PP_SHARD_SOUND;
    }
    if (h.entries == 0)
        h.key_bytes = 0;
    if (st == PP_OK)
        st = pp_shard_index_make(&h, entry, "", out, err);
    free(entry);
    return st;
}

/* ---- samples ---- */

static pp_status unwrap_record(const char *feature, struct pp_sample *s, struct pp_err *err)
{
    struct pp_tf_image image;
    if (!checks(s->buf, s->size, s->buf + s->size)) /* the 4 bytes behind a record are its checksum */
        return pp_fail(err, PP_E_CORRUPT, "is damaged: its checksum does not match");
    pp_status st = pp_tf_example_image(s->buf, s->size, feature, &image, err);
    if (st != PP_OK)
        return st;
    s->data = image.data;
    s->size = image.size;
    s->label = image.label;
    return PP_OK;
}

static const struct pp_shard_kind tfrecord_kind = {
    .what = "TFRecord file",
    .piece = "record",
    .left_out = "%s: %u record%s 2 GiB and more and %s left out",
    .build = build_index,
    .tail = PP_TFRECORD_TAIL,
    .unwrap = unwrap_record,
};

/* ---- the format ---- */

static pp_status tfrecord_open(struct pp_dataset_place *place, struct pp_dataset **out, struct pp_err *err)
{
    pp_status st = pp_shards_open(place, out, err);
    if (st != PP_OK)
        return st;
    /* Records that hold no image are said now, and not as an error of each. Damage is the sample's. */
    struct pp_sample first = {0};
    struct pp_err why = {0};
    st = (*out)->ops->read(*out, 0, NULL, &first, &why);
    pp_sample_free(&first);
    if (st != PP_E_UNSUPPORTED || !strstr(why.text, "features are"))
        return PP_OK;
    return pp_fail(err, st, "%s", why.text);
}

/* clang-format off */
static const struct pp_opt tfrecord_rows[] = {
    {.name = "feature", .advanced = 1, .type = PP_OPT_STRING, .offset = offsetof(struct pp_dataset_options, feature), .arg = "NAME",
     .help = "field that is the sample (TFRecord, MDS, columns)"},
    {.name = NULL},
};
/* clang-format on */

const struct pp_dataset_format pp_format_tfrecord = {
    .name = "tfrecord",
    .help = "TFRecord files",
    .shares = "index-dir",
    .noun = "TFRecord files",
    .files = &pp_tfrecord_files,
    .kind = &tfrecord_kind,
    .probe = pp_files_probe,
    .open = tfrecord_open,
    .opts = tfrecord_rows,
};
