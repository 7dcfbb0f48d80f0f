/* TFRecord files: each record is a tf.train.Example with an image among its features. One walk over the
 * records' lengths makes the index (their checksums are verified then, those of the records when they are
 * read); it is kept where the indexes of tar shards are. */
#include "probe/base/err.h"
#include "probe/dataset/dataset_tfrecord.h"
#include "probe/dataset/dataset_shards.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/foreign.h"
#include "probe/dataset/format.h"
#include "probe/dataset/tfrecord.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct pp_dataset_format pp_format_tfrecord; /* at the end */

enum {
    WALK_BLOCK = 4096,        /* read at each record: its head, and those of small ones behind it */
    MOST_RECORDS = 1 << 24,   /* of one file: an entry of the index has 24 bytes */
    MOST_RECORD = 0x7fffffff, /* bytes: more is no message */
};

/* ---- the index ---- */

struct walk {
    const struct pp_object *shard;
    const char *path;
    uint64_t size, at; /* of the file; of the next record */
    uint8_t block[WALK_BLOCK];
    uint64_t block_at;
    size_t block_size;
    struct pp_shard_entry *entry;
    size_t cap;
    struct pp_shard_header header;
};

/* The next 12 bytes at w->at. */
static pp_status read_head(struct walk *w, const uint8_t **head, struct pp_err *err)
{
    if (w->at < w->block_at || w->at + PP_TFRECORD_HEAD > w->block_at + w->block_size) {
        struct pp_read r = {.name = w->path, .offset = w->at, .size = WALK_BLOCK, .buf = w->block};
        pp_status st = pp_object_read_at(w->shard, &r, err);
        if (st != PP_OK)
            return st;
        w->block_at = w->at;
        w->block_size = r.got;
        if (r.got < PP_TFRECORD_HEAD)
            return pp_fail(err, PP_E_IO, "%s became shorter while it was indexed", w->path);
    }
    *head = w->block + (w->at - w->block_at);
    return PP_OK;
}

static pp_status add_entry(struct walk *w, uint64_t length, struct pp_err *err)
{
    uint64_t n = w->header.entries;
    if (n == MOST_RECORDS)
        return pp_fail(err, PP_E_UNSUPPORTED, "%s holds more than %d records: split it into shards", w->path,
                       MOST_RECORDS);
    if (n == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 1024;
        struct pp_shard_entry *grown = realloc(w->entry, cap * sizeof(*grown));
        if (!grown)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for the index of %s", w->path);
        w->entry = grown;
        w->cap = cap;
    }
    w->entry[w->header.entries++] = (struct pp_shard_entry){.offset = w->at + PP_TFRECORD_HEAD,
                                                            .size = (uint32_t)length,
                                                            .label = -1};
    return PP_OK;
}

static pp_status walk_records(struct walk *w, struct pp_err *err)
{
    const uint8_t *head = w->block;
    uint64_t length;
    pp_status st = PP_OK;
    w->header.defect = w->size == 0 ? PP_SHARD_NO_BYTES : PP_SHARD_SOUND;
    while (st == PP_OK && w->at < w->size) {
        uint64_t left = w->size - w->at;
        w->header.defect_at = w->at;
        w->header.defect = PP_SHARD_TRUNCATED;
        if (left < PP_TFRECORD_HEAD)
            return PP_OK;
        st = read_head(w, &head, err);
        if (st != PP_OK)
            return st;
        if (!pp_tfrecord_head(head, &length)) {
            w->header.defect = PP_SHARD_DAMAGED;
            return PP_OK;
        }
        left -= PP_TFRECORD_HEAD;
        if (length > left || left - length < PP_TFRECORD_TAIL)
            return PP_OK;
        if (length <= MOST_RECORD)
            st = add_entry(w, length, err);
        else
            w->header.left_out++;
        w->at += PP_TFRECORD_HEAD + length + PP_TFRECORD_TAIL;
        w->header.defect = PP_SHARD_SOUND;
    }
    return st;
}

static pp_status build(const struct pp_object *shard, const char *path, const struct pp_shard_id *id,
                       struct pp_shard_index *out, struct pp_err *err)
{
    struct walk w = {.shard = shard,
                     .path = path,
                     .size = id->size,
                     .header = {.shard_size = id->size, .shard_mtime_ns = id->mtime_ns, .key_bytes = 1}};
    *out = (struct pp_shard_index){0};
    pp_status st = walk_records(&w, err);
    if (st == PP_OK && w.header.entries == 0)
        w.header.key_bytes = 0;
    if (st == PP_OK)
        st = pp_shard_index_make(&w.header, w.entry, "", out, err);
    free(w.entry);
    return st;
}

/* ---- samples ---- */

static pp_status unwrap(const void *kept, struct pp_sample *s, struct pp_err *err)
{
    struct pp_tf_image image;
    if (!pp_tfrecord_whole(s->buf, s->size))
        return pp_fail(err, PP_E_CORRUPT, "is damaged: its checksum does not match");
    pp_status st = pp_tf_example_image(s->buf, s->size, kept, &image, err);
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
    .files = &pp_tfrecord_files,
    .build = build,
    .tail = PP_TFRECORD_TAIL,
    .unwrap = unwrap,
    .release = free,
};

/* ---- the format ---- */

/* Records that hold no image are said now, and not as an error of each. Damage is the sample's. */
static pp_status look_at_first(const struct pp_dataset *d, struct pp_err *err)
{
    struct pp_sample s = {0};
    struct pp_err why = {0};
    pp_status st = d->ops->read(d, 0, NULL, &s, &why);
    pp_sample_free(&s);
    if (st != PP_E_UNSUPPORTED || !strstr(why.text, "features are"))
        return PP_OK;
    return pp_fail(err, st, "%s", why.text);
}

static pp_status tfrecord_open(struct pp_dataset_place *place, const void *opts, struct pp_dataset **out,
                               struct pp_err *err)
{
    const struct pp_tfrecord_opts *o = opts;
    char *feature = o->feature ? strdup(o->feature) : NULL;
    if (o->feature && !feature)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->spec);
    const struct pp_dataset_options *all = place->opts->options;
    const struct pp_shards_how how = {.kind = &tfrecord_kind,
                                      .kept = feature,
                                      .index_dir = all ? pp_shards_opts(all)->index_dir : NULL};
    pp_status st = pp_shards_open(place, &how, out, err);
    if (st == PP_OK && (st = look_at_first(*out, err)) != PP_OK) {
        pp_dataset_close(*out);
        *out = NULL;
    }
    return st;
}

static int is_tfrecord(const struct pp_foreign *f)
{
    return f && strcmp(f->noun, "TFRecord") == 0;
}

/* A file whose first bytes check out is beyond doubt, as is a directory of such files and nothing else. */
static int tfrecord_probe(const struct pp_dataset_place *place, struct pp_err *why)
{
    const struct pp_listing *l = place->listing;
    if (place->info.kind == PP_PLACE_OBJECT)
        return is_tfrecord(place->foreign) ? 95 : 0;
    if (place->info.kind != PP_PLACE_DIRECTORY)
        return strchr(place->spec, '{') || strpbrk(place->spec, "*?,")
                   ? (strstr(place->spec, ".tfrec") ? 70 : 0)
                   : 0;
    for (size_t i = 0; i < l->others.n; i++) {
        const char *name = l->others.bytes + l->others.at[i];
        if (pp_tfrecord_files.is(name) && is_tfrecord(pp_foreign_look(place->storage, &place->root, name)))
            return l->images.n == 0 && l->subdirs.n == 0 ? 90 : 10;
    }
    return 0;
}

struct pp_tfrecord_opts *pp_tfrecord_opts(const struct pp_dataset_options *o)
{
    return pp_dataset_options_of(o, &pp_format_tfrecord);
}

/* clang-format off */
static const struct pp_opt tfrecord_rows[] = {
    {.name = "feature", .advanced = 1, .type = PP_OPT_STRING, .offset = offsetof(struct pp_tfrecord_opts, feature), .arg = "NAME",
     .help = "field that is the sample (TFRecord, MDS, columns)"},
    {.name = NULL},
};
/* clang-format on */

const struct pp_dataset_format pp_format_tfrecord = {
    .name = "tfrecord",
    .help = "TFRecord files",
    .shares = "index-dir",
    .noun = "TFRecord files",
    .probe = tfrecord_probe,
    .open = tfrecord_open,
    .opts_size = sizeof(struct pp_tfrecord_opts),
    .opts = tfrecord_rows,
};
