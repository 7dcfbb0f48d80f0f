/* Shards of any kind, read at random: an index per shard says where each sample lies, and a sample is one
 * ranged read. */
#include "probe/dataset/dataset_shards.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_each.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/format.h"
#include "probe/dataset/shard_cache.h"
#include "probe/dataset/shard_index.h"
#include "probe/dataset/shard_names.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Building an index waits for the disk; loading one waits for look-ups. */
enum { OPENING_THREADS = 8 };

struct shard {
    struct pp_object file; /* not open: each read opens it */
    uint64_t first;        /* dataset index of its first sample */
    struct pp_shard_index index;
};

struct shards {
    struct pp_dataset base;
    struct pp_shard_names names;
    struct shard *shard;
    const struct pp_storage *storage;
    uint64_t keep_open; /* the first so many shards stay open */
    const struct pp_shard_kind *kind;
    void *kept; /* the kind's */
    /* during open only */
    const char *spec, *index_dir;
    int stream;
};

static struct shards *shards_of(const struct pp_dataset *d)
{
    return (struct shards *)d;
}

uint64_t pp_shards_count(const struct pp_dataset *d)
{
    return shards_of(d)->names.n;
}

const char *pp_shards_path(const struct pp_dataset *d, uint64_t shard)
{
    return shards_of(d)->names.path[shard];
}

const struct pp_storage *pp_shards_storage(const struct pp_dataset *d)
{
    return shards_of(d)->storage;
}

/* The last shard that begins at or before index: shards without samples share their successor's first. */
static size_t shard_of(const struct shards *s, uint64_t index)
{
    size_t low = 0, high = s->names.n;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (s->shard[mid].first <= index)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static pp_status open_file(const struct shards *s, size_t i, struct pp_object *out, struct pp_err *err)
{
    return pp_storage_open(s->storage,
                           &(struct pp_open){.name = s->names.path[i], .attempt = "open the shard"}, out,
                           err);
}

static pp_status unwrap(const struct shards *all, const struct pp_shard_entry *e, const char *path,
                        struct pp_sample *s, struct pp_err *err)
{
    struct pp_err why;
    pp_status st = all->kind->unwrap(all->kept, s, &why);
    if (st == PP_OK && s->size == 0)
        st = pp_fail(&why, PP_E_EMPTY, "holds an image of 0 bytes");
    if (st == PP_OK)
        return PP_OK;
    s->size = 0;
    return pp_fail(err, st, "the record at byte %llu of %s %s", (unsigned long long)e->offset, path,
                   why.text);
}

static pp_status shards_read(const struct pp_dataset *d, uint64_t index,
                             const struct pp_read_context *context, struct pp_sample *s, struct pp_err *err)
{
    const struct shards *all = shards_of(d);
    size_t i = shard_of(all, index);
    const struct shard *shard = &all->shard[i];
    const struct pp_shard_entry *e = &shard->index.entry[index - shard->first];
    const char *key = shard->index.keys + e->key, *path = all->names.path[i];
    struct pp_object opened = {0};

    s->label = e->label;
    if (e->size == 0)
        return pp_fail(err, PP_E_EMPTY, "%s in %s has 0 bytes", key, path);
    char what[512];
    snprintf(what, sizeof(what), "cannot read %s in %s", key, path);
    size_t size = (size_t)e->size + all->kind->tail;
    pp_status st = pp_sample_reserve(s, size, what, err);
    if (st == PP_OK && !shard->file.storage)
        st = open_file(all, i, &opened, err);
    if (st != PP_OK)
        return st;
    struct pp_read r = {.name = path,
                        .part = key,
                        .context = context,
                        .offset = e->offset,
                        .size = size,
                        .buf = s->buf,
                        .cap = s->cap};
    st = pp_object_read_at(shard->file.storage ? &shard->file : &opened, &r, err);
    pp_object_close(&opened);
    if (st != PP_OK)
        return st;
    s->cache_known = r.cache_known;
    s->cache_hit_bytes = r.cache_hit_bytes;
    if (r.got < size)
        return pp_fail(err, PP_E_CORRUPT, "%s is shorter than its index: %s is truncated at byte %zu of %zu",
                       path, key, r.got, size);
    s->size = e->size;
    return all->kind->unwrap ? unwrap(all, e, path, s, err) : PP_OK;
}

static void shards_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    const struct shards *all = shards_of(d);
    size_t i = shard_of(all, index);
    const struct shard *shard = &all->shard[i];
    const struct pp_shard_entry *e = &shard->index.entry[index - shard->first];
    const char *key = shard->index.keys + e->key;
    if (*key)
        snprintf(buf, size, "%s:%s", all->names.path[i], key);
    else
        snprintf(buf, size, "%s@%llu", all->names.path[i], (unsigned long long)e->offset);
}

static void shards_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    char samples[32], shards[32];
    uint64_t n = pp_shards_count(d);
    pp_text_count(samples, sizeof(samples), (double)d->len);
    pp_text_count(shards, sizeof(shards), (double)n);
    if (d->len == 0)
        snprintf(buf, size, "%s, %s shard%s to be streamed (not indexed)", d->format->name, shards,
                 n == 1 ? "" : "s");
    else
        snprintf(buf, size, "%s, %s sample%s in %s shard%s", d->format->name, samples, d->len == 1 ? "" : "s",
                 shards, n == 1 ? "" : "s");
}

static uint64_t shards_footprint(const struct pp_dataset *d)
{
    const struct shards *s = shards_of(d);
    uint64_t bytes = sizeof(*s) + malloc_usable_size(s->shard) + malloc_usable_size(s->names.path);
    for (size_t i = 0; i < s->names.n; i++)
        bytes += malloc_usable_size(s->names.path[i]) + malloc_usable_size(s->shard[i].index.bytes);
    return bytes;
}

static void shards_close(struct pp_dataset *d)
{
    struct shards *s = shards_of(d);
    for (size_t i = 0; s->shard && i < s->names.n; i++) {
        pp_shard_index_free(&s->shard[i].index);
        pp_object_close(&s->shard[i].file);
    }
    free(s->shard);
    pp_shard_names_free(&s->names);
    if (s->kind->release)
        s->kind->release(s->kept);
}

static int64_t shards_label(const struct pp_dataset *d, uint64_t index)
{
    const struct shards *all = shards_of(d);
    const struct shard *shard = &all->shard[shard_of(all, index)];
    return shard->index.entry[index - shard->first].label;
}

#define SHARDS_OPS \
    .content = PP_CONTENT_IMAGE, .read = shards_read, .path = shards_path, .label = shards_label, \
    .describe = shards_describe, .footprint = shards_footprint, .close = shards_close
static const struct pp_dataset_ops shards_ops = {SHARDS_OPS},
                                   stream_ops = {SHARDS_OPS, .stream = pp_shards_stream};

/* ---- open ---- */

static pp_status index_shard(struct shards *s, uint64_t i, struct pp_object *file, struct pp_err *err)
{
    struct shard *shard = &s->shard[i];
    const char *path = s->names.path[i];
    struct pp_place_info info;
    pp_status st = pp_object_info(file, path, &info, err);
    if (st != PP_OK)
        return st;
    if (info.kind != PP_PLACE_OBJECT)
        return pp_fail(err, PP_E_UNSUPPORTED, "the shard %s is not a regular file", path);
    if (s->stream)
        return PP_OK;
    if (info.size == PP_SIZE_UNKNOWN)
        return pp_fail(err, PP_E_UNSUPPORTED, "the shard %s does not say its size, which its index needs",
                       path);
    struct pp_shard_id id = {.size = info.size, .mtime_ns = info.version};
    st = pp_shard_index_get(file, path, &id,
                            &(struct pp_shard_index_how){.dir = s->index_dir, .build = s->kind->build},
                            &shard->index, err);
    if (st == PP_OK && i < s->keep_open) {
        shard->file = *file;
        *file = (struct pp_object){0};
    }
    return st;
}

static pp_status open_shard(void *ctx, uint64_t i, struct pp_err *err)
{
    struct shards *s = ctx;
    struct pp_object file;
    pp_status st = open_file(s, i, &file, err);
    if (st == PP_OK) /* where opening asks nothing, this finds it missing */
        st = index_shard(s, i, &file, err);
    pp_object_close(&file);
    if (st == PP_E_NOT_FOUND && s->names.n > 1)
        return pp_fail(
            err, PP_E_NOT_FOUND,
            "shard %s is missing (number %llu of the %zu that %s names): add it, or name only existing shards",
            s->names.path[i], (unsigned long long)i + 1, s->names.n, s->spec);
    return st;
}

static void warn_of_shard(struct shards *s, size_t i)
{
    const struct pp_shard_header *h = s->shard[i].index.header;
    const char *path = s->names.path[i];
    unsigned long long at = (unsigned long long)h->defect_at, n = (unsigned long long)h->entries;
    struct pp_warnings *w = &s->base.warnings;
    const char *what = s->kind->what, *piece = s->kind->piece;
    switch ((enum pp_shard_defect)h->defect) {
    case PP_SHARD_TRUNCATED:
        pp_warn(w, "%s is truncated in the %s at byte %llu: %llu of its samples are usable", path, piece, at,
                n);
        break;
    case PP_SHARD_DAMAGED:
        if (at == 0)
            pp_warn(w, "%s is not a %s", path, what);
        else
            pp_warn(w, "%s is not a %s from byte %llu on: the %llu samples before it are usable", path, what,
                    at, n);
        break;
    case PP_SHARD_NO_END:
        pp_warn(w, "%s has no end-of-archive mark and may be truncated at byte %llu: %llu samples are usable",
                path, at, n);
        break;
    case PP_SHARD_NO_BYTES: pp_warn(w, "%s has 0 bytes", path); break;
    case PP_SHARD_SOUND:
    case PP_SHARD_DEFECTS: break;
    }
    if (h->left_out)
        pp_warn(w, s->kind->left_out, path, h->left_out, h->left_out == 1 ? " has" : "s have",
                h->left_out == 1 ? "is" : "are");
    else if (h->entries == 0 && h->defect == PP_SHARD_SOUND)
        pp_warn(w, "%s holds no samples", path);
}

/* Numbers the samples through all shards and collects what the indexes say. */
static pp_status sum_up(struct shards *s, struct pp_err *err)
{
    size_t not_kept = 0, made = 0;
    const char *example = "";
    for (size_t i = 0; i < s->names.n; i++) {
        struct shard *shard = &s->shard[i];
        const struct pp_shard_header *h = shard->index.header;
        shard->first = s->base.len;
        s->base.len += h->entries;
        not_kept += !shard->index.kept;
        made += (size_t)shard->index.made;
        if (!example[0])
            example = h->example;
        warn_of_shard(s, i);
    }
    if (not_kept && s->index_dir)
        pp_warn(&s->base.warnings,
                "the indexes of %zu shards could not be saved in %s and will be rebuilt next time", not_kept,
                s->index_dir);
    if (made && !s->index_dir)
        pp_shard_cache_trim(PP_SHARD_CACHE_BYTES);
    if (s->base.len > 0)
        return PP_OK;
    if (example[0])
        return pp_fail(
            err, PP_E_EMPTY,
            "no sample in %s: its %zu shard%s members such as %s, but no .jpg .jpeg .png or .webp; record your own loader with 'pipeprobe exec'",
            s->spec, s->names.n, s->names.n == 1 ? " holds" : "s hold", example);
    return pp_fail(err, PP_E_EMPTY, "no sample in %s: %s", s->spec,
                   s->base.warnings.n ? s->base.warnings.text[0] : "its shards are empty");
}

pp_status pp_shards_open(const struct pp_dataset_place *place, const struct pp_shards_how *how,
                         struct pp_dataset **out, struct pp_err *err)
{
    struct shards *s = calloc(1, sizeof(*s));
    if (!s) {
        if (how->kind->release)
            how->kind->release(how->kept);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->spec);
    }
    s->base.ops = how->kind->streams ? &stream_ops : &shards_ops;
    s->storage = place->storage;
    s->spec = place->spec;
    s->kind = how->kind;
    s->kept = how->kept;
    s->index_dir = how->index_dir;
    s->stream = how->stream;
    s->keep_open = pp_storage_flags(place->storage) & PP_STORAGE_LOCAL ? pp_each_descriptors() : UINT64_MAX;
    struct pp_each each = {.threads = OPENING_THREADS,
                           .piece = open_shard,
                           .ctx = s,
                           .opts = place->opts,
                           .what = s->stream ? "looking for shards" : "indexing shards"};
    pp_status st = pp_shard_names(place->storage, place->spec, s->kind->files, &s->names, err);
    if (st != PP_OK)
        goto out;
    s->shard = calloc(s->names.n, sizeof(*s->shard));
    if (!s->shard) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu shards", s->names.n);
        goto out;
    }
    each.n = s->names.n;
    st = pp_each_run(&each, err);
    if (st == PP_OK && !s->stream)
        st = sum_up(s, err);
out:
    s->spec = s->index_dir = NULL;
    if (st != PP_OK)
        pp_dataset_close(&s->base);
    else
        *out = &s->base;
    return st;
}
