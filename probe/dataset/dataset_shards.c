/* Shards of any kind, read at random: an index per shard says where each sample lies, and a sample is one
 * ranged read. */
#include "probe/dataset/dataset_shards.h"
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_walk.h"

#include <malloc.h>

struct shard {
    struct pp_object file; /* not open: each read opens it */
    uint64_t first;        /* dataset index of its first sample */
    struct pp_shard_index index;
};

struct shards {
    struct pp_dataset base;
    struct pp_shard_names names;
    struct shard *shard;
    uint64_t keep_open; /* the first so many shards stay open */
    const struct pp_shard_kind *kind;
    char *feature; /* --feature; NULL: none */
    /* during open only */
    const char *spec, *index_dir;
    int stream;
};

const struct pp_shard_names *pp_shards_of(const struct pp_dataset *d)
{
    return &((const struct shards *)d)->names;
}

static const struct shard *shard_of(const struct shards *s, uint64_t index)
{
    return &s->shard[pp_last_at(&s->shard->first, s->names.n, sizeof(*s->shard), index)];
}

static pp_status shards_read(const struct pp_dataset *d, uint64_t index,
                             const struct pp_read_context *context, struct pp_sample *s, struct pp_err *err)
{
    const struct shards *all = (const struct shards *)d;
    const struct shard *shard = shard_of(all, index);
    const struct pp_shard_entry *e = &shard->index.entry[index - shard->first];
    const char *key = shard->index.keys + e->key, *path = all->names.path[shard - all->shard];
    struct pp_object opened = {0};

    s->label = e->label;
    if (e->size == 0)
        return pp_fail(err, PP_E_EMPTY, "%s in %s has 0 bytes", key, path);
    char what[512];
    snprintf(what, sizeof(what), "cannot read %s in %s", key, path);
    size_t size = (size_t)e->size + all->kind->tail;
    pp_status st = pp_sample_reserve(s, size, what, err);
    if (st == PP_OK && !shard->file.storage)
        st = pp_storage_open(all->names.storage, &(struct pp_open){.name = path, .attempt = "open the shard"},
                             &opened, err);
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
    if (!all->kind->unwrap)
        return PP_OK;
    struct pp_err why;
    st = all->kind->unwrap(all->feature, s, &why);
    if (st == PP_OK && s->size == 0)
        st = pp_fail(&why, PP_E_EMPTY, "holds an image of 0 bytes");
    if (st == PP_OK)
        return PP_OK;
    s->size = 0;
    return pp_fail(err, st, "the record at byte %llu of %s %s", (unsigned long long)e->offset, path,
                   why.text);
}

static void shards_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    const struct shards *all = (const struct shards *)d;
    const struct shard *shard = shard_of(all, index);
    const struct pp_shard_entry *e = &shard->index.entry[index - shard->first];
    const char *key = shard->index.keys + e->key, *path = all->names.path[shard - all->shard];
    if (*key)
        snprintf(buf, size, "%s:%s", path, key);
    else
        snprintf(buf, size, "%s@%llu", path, (unsigned long long)e->offset);
}

static void shards_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    char samples[32], shards[32];
    pp_text_counted(samples, sizeof(samples), (double)d->len, "sample", "samples");
    pp_text_counted(shards, sizeof(shards), (double)pp_shards_of(d)->n, "shard", "shards");
    if (d->len == 0)
        snprintf(buf, size, "%s, %s to be streamed (not indexed)", d->format->name, shards);
    else
        snprintf(buf, size, "%s, %s in %s", d->format->name, samples, shards);
}

static uint64_t shards_footprint(const struct pp_dataset *d)
{
    const struct shards *s = (const struct shards *)d;
    uint64_t bytes = sizeof(*s) + malloc_usable_size(s->shard) + malloc_usable_size(s->names.path);
    for (size_t i = 0; i < s->names.n; i++)
        bytes += malloc_usable_size(s->names.path[i]) + malloc_usable_size(s->shard[i].index.bytes);
    return bytes;
}

static void shards_close(struct pp_dataset *d)
{
    struct shards *s = (struct shards *)d;
    for (size_t i = 0; s->shard && i < s->names.n; i++) {
        free(s->shard[i].index.bytes);
        pp_object_close(&s->shard[i].file);
    }
    free(s->shard);
    pp_shard_names_free(&s->names);
    free(s->feature);
}

static int64_t shards_label(const struct pp_dataset *d, uint64_t index)
{
    const struct shard *shard = shard_of((const struct shards *)d, index);
    return shard->index.entry[index - shard->first].label;
}

#define SHARDS_OPS \
    .read = shards_read, .path = shards_path, .label = shards_label, .describe = shards_describe, \
    .footprint = shards_footprint, .close = shards_close
static const struct pp_dataset_ops shards_ops = {SHARDS_OPS},
                                   stream_ops = {SHARDS_OPS, .stream = pp_shards_stream};

/* ---- open ---- */

static pp_status open_shard(void *ctx, uint64_t i, struct pp_err *err)
{
    struct shards *s = ctx;
    struct shard *shard = &s->shard[i];
    const char *path = s->names.path[i];
    struct pp_object file;
    struct pp_place_info info;
    pp_status st = pp_storage_open(s->names.storage,
                                   &(struct pp_open){.name = path, .attempt = "open the shard"}, &file, err);
    if (st == PP_OK) /* where opening asks nothing, this finds it missing */
        st = pp_object_info(&file, path, &info, err);
    if (st == PP_OK && info.kind != PP_PLACE_OBJECT)
        st = pp_fail(err, PP_E_UNSUPPORTED, "the shard %s is not a regular file", path);
    if (st == PP_OK && !s->stream && info.size == PP_SIZE_UNKNOWN)
        st = pp_fail(err, PP_E_UNSUPPORTED, "the shard %s does not say its size, which its index needs",
                     path);
    if (st != PP_OK || s->stream)
        goto out;
    const struct pp_shard_index_how how = {.dir = s->index_dir, .build = s->kind->build};
    st = pp_shard_index_get(&file, path, &info, &how, &shard->index, err);
    if (st == PP_OK && i < s->keep_open) {
        shard->file = file;
        file = (struct pp_object){0};
    }
out:
    pp_object_close(&file);
    if (st == PP_E_NOT_FOUND && s->names.n > 1)
        return pp_fail(
            err, PP_E_NOT_FOUND,
            "shard %s is missing (number %llu of the %zu that %s names): add it, or name only existing shards",
            path, (unsigned long long)i + 1, s->names.n, s->spec);
    return st;
}

static void warn_of_defects(struct shards *s, size_t i)
{
    const struct pp_shard_header *h = s->shard[i].index.header;
    const char *path = s->names.path[i], *what = s->kind->what, *piece = s->kind->piece;
    unsigned long long at = (unsigned long long)h->defect_at, n = (unsigned long long)h->entries;
    struct pp_warnings *w = &s->base.warnings;
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

pp_status pp_shards_open(struct pp_dataset_place *place, struct pp_dataset **out, struct pp_err *err)
{
    const struct pp_shard_kind *kind = place->format->kind;
    const char *feature = place->options->feature;
    struct shards *s = calloc(1, sizeof(*s));
    if (!s || (feature && !(s->feature = strdup(feature)))) {
        free(s);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->spec);
    }
    s->base.ops = kind->streams ? &stream_ops : &shards_ops;
    *out = &s->base;
    s->spec = place->spec;
    s->kind = kind;
    s->index_dir = place->options->shards.index_dir;
    s->stream = kind->streams && place->options->shards.stream;
    s->keep_open = pp_storage_flags(place->storage) & PP_STORAGE_LOCAL ? pp_each_descriptors() : UINT64_MAX;
    pp_status st = pp_shard_names(place->storage, place->spec, place->format->files, &s->names, err);
    if (st != PP_OK)
        return st;
    s->shard = calloc(s->names.n, sizeof(*s->shard));
    if (!s->shard)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu shards", s->names.n);
    const struct pp_each each = {.n = s->names.n,
                                 .piece = open_shard,
                                 .ctx = s,
                                 .opts = place->opts,
                                 .what = s->stream ? "looking for shards" : "indexing shards"};
    st = pp_each_run(&each, err);
    /* The samples are numbered through all shards, and what the indexes say is collected. */
    size_t not_kept = 0, made = 0;
    const char *example = "";
    for (size_t i = 0; st == PP_OK && !s->stream && i < s->names.n; i++) {
        struct shard *shard = &s->shard[i];
        const struct pp_shard_header *h = shard->index.header;
        shard->first = s->base.len;
        s->base.len += h->entries;
        not_kept += !shard->index.kept;
        made += (size_t)shard->index.made;
        if (!example[0])
            example = h->example;
        warn_of_defects(s, i);
    }
    if (not_kept && s->index_dir)
        pp_warn(&s->base.warnings,
                "the indexes of %zu shards could not be saved in %s and will be rebuilt next time", not_kept,
                s->index_dir);
    if (made && !s->index_dir)
        pp_shard_cache_trim(PP_SHARD_CACHE_BYTES);
    int is_empty = st == PP_OK && !s->stream && s->base.len == 0;
    if (is_empty && example[0])
        st = pp_fail(
            err, PP_E_EMPTY,
            "no sample in %s: its %zu shard%s members such as %s, but no .jpg .jpeg .png or .webp; record your own loader with 'pipeprobe exec'",
            s->spec, s->names.n, s->names.n == 1 ? " holds" : "s hold", example);
    else if (is_empty)
        st = pp_fail(err, PP_E_EMPTY, "no sample in %s: %s", s->spec,
                     s->base.warnings.n ? s->base.warnings.text[0] : "its shards are empty");
    s->spec = s->index_dir = NULL;
    return st;
}

/* ---- WebDataset: tar shards; a sample is the run of members with one key, of which one is an image ---- */

static const struct pp_shard_kind tar_kind = {
    .what = "tar archive",
    .piece = "member",
    .left_out =
        "%s: %u key%s no usable image (.jpg .jpeg .png .webp, below 4 GiB, not a link, not sparse) and %s left out",
    .build = pp_shard_index_build,
    .streams = 1,
};

/* clang-format off */
static const struct pp_opt stream_opts[] = {
    {.name = "stream", .type = PP_OPT_FLAG, .offset = offsetof(struct pp_dataset_options, shards.stream), .dflt = "0",
     .help = "tar shards: read in order, shuffle in a buffer"},
    {.name = "shuffle-buffer", .advanced = 1, .type = PP_OPT_INT, .offset = offsetof(struct pp_dataset_options, shards.shuffle_buffer), .min = 0,
     .max = 1e8, .arg = "N", .dflt = "1000", .help = "size of the shuffle buffer in samples (--stream)"},
    {.name = "shuffle-shards", .advanced = 1, .type = PP_OPT_FLAG, .offset = offsetof(struct pp_dataset_options, shards.shuffle_shards), .dflt = "1",
     .help = "shuffle the shards' order too (--stream)"},
    {.name = NULL},
};
static const struct pp_opt shards_opts[] = {
    {.name = "index-dir", .advanced = 1, .type = PP_OPT_STRING, .offset = offsetof(struct pp_dataset_options, shards.index_dir), .arg = "DIR",
     .help = "directory of shard indexes (default: ~/.cache/pipeprobe)"},
    {.name = NULL},
};
/* clang-format on */

const struct pp_dataset_format pp_format_shards = {
    .name = "webdataset",
    .help = ".tar shards",
    .noun = "tar shards",
    .files = &pp_tar_files,
    .kind = &tar_kind,
    .probe = pp_files_probe,
    .open = pp_shards_open,
    .opts = shards_opts,
    .stream_opts = stream_opts,
};
