/* WebDataset tar shards, read at random: an index per shard says where each image lies, and a sample is one
 * pread. */
#include "probe/dataset/dataset_shards.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_each.h"
#include "probe/dataset/dataset_ops.h"
#include "probe/dataset/shard_index.h"
#include "probe/dataset/shard_names.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Building an index waits for the disk; loading one waits for look-ups. */
enum { OPENING_THREADS = 8 };

struct shard {
    int fd; /* -1: not kept open, each read opens it */
    int kept;
    uint64_t first; /* dataset index of its first sample */
    struct pp_shard_index index;
};

struct shards {
    struct pp_dataset base;
    struct pp_shard_names names;
    struct shard *shard;
    uint64_t keep_open;                 /* descriptors for the first so many shards */
    const struct pp_dataset_opts *opts; /* during open only */
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

static pp_status read_entry(int fd, const char *path, const struct pp_shard_entry *e, const char *key,
                            struct pp_sample *s, struct pp_err *err)
{
    struct pp_io_cached cached;
    pp_status st = pp_sample_reserve(s, e->size, err);
    if (st != PP_OK)
        return st;
    ssize_t n = pp_io_pread_cached(fd, s->buf, e->size, (off_t)e->offset, &cached);
    if (n < 0)
        return pp_fail_errno(err, errno, "cannot read %s in %s at byte %llu", key, path,
                             (unsigned long long)e->offset);
    s->cache_known = cached.known;
    s->cache_hit_bytes = cached.hit_bytes;
    if ((size_t)n < e->size)
        return pp_fail(err, PP_E_CORRUPT,
                       "%s is shorter than when it was indexed: %s is cut off at byte %zd of %u", path, key,
                       n, e->size);
    s->size = e->size;
    return PP_OK;
}

static pp_status shards_read(const struct pp_dataset *d, uint64_t index, struct pp_sample *s,
                             struct pp_err *err)
{
    const struct shards *all = shards_of(d);
    size_t i = shard_of(all, index);
    const struct shard *shard = &all->shard[i];
    const struct pp_shard_entry *e = &shard->index.entry[index - shard->first];
    const char *key = shard->index.keys + e->key, *path = all->names.path[i];

    s->label = e->label;
    if (e->size == 0)
        return pp_fail(err, PP_E_EMPTY, "%s in %s has 0 bytes", key, path);
    int fd = shard->fd >= 0 ? shard->fd : pp_io_open(path, O_RDONLY, 0);
    if (fd < 0)
        return pp_fail_errno(err, errno, "cannot open the shard %s", path);
    pp_status st = read_entry(fd, path, e, key, s, err);
    if (fd != shard->fd)
        close(fd);
    return st;
}

static void shards_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    const struct shards *all = shards_of(d);
    size_t i = shard_of(all, index);
    const struct shard *shard = &all->shard[i];
    snprintf(buf, size, "%s:%s", all->names.path[i],
             shard->index.keys + shard->index.entry[index - shard->first].key);
}

static void shards_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    char samples[32], shards[32];
    uint64_t n = pp_shards_count(d);
    pp_text_count(samples, sizeof(samples), (double)d->len);
    pp_text_count(shards, sizeof(shards), (double)n);
    if (d->len == 0)
        snprintf(buf, size, "webdataset, %s shard%s to be streamed (not indexed)", shards, n == 1 ? "" : "s");
    else
        snprintf(buf, size, "webdataset, %s sample%s in %s shard%s", samples, d->len == 1 ? "" : "s", shards,
                 n == 1 ? "" : "s");
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
        if (s->shard[i].fd >= 0)
            close(s->shard[i].fd);
    }
    free(s->shard);
    pp_shard_names_free(&s->names);
}

static const struct pp_dataset_ops shards_ops = {
    .kind = PP_DATASET_SHARDS,
    .content = PP_CONTENT_IMAGE,
    .sequential = 1,
    .read = shards_read,
    .path = shards_path,
    .describe = shards_describe,
    .footprint = shards_footprint,
    .close = shards_close,
};

/* ---- open ---- */

static pp_status fail_open_shard(const struct shards *s, uint64_t i, int e, struct pp_err *err)
{
    const char *path = s->names.path[i];
    if (e == ENOENT && s->names.n > 1)
        return pp_fail(
            err, PP_E_NOT_FOUND,
            "the shard %s is missing (number %llu of the %zu that %s names): bring it here, or name only those that are",
            path, (unsigned long long)i + 1, s->names.n, s->opts->spec);
    return pp_fail_errno(err, e, "cannot open the shard %s", path);
}

static pp_status open_shard(void *ctx, uint64_t i, struct pp_err *err)
{
    struct shards *s = ctx;
    struct shard *shard = &s->shard[i];
    const char *path = s->names.path[i];
    struct stat info;
    pp_status st = PP_OK;
    int fd = pp_io_open(path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0 || fstat(fd, &info) != 0) {
        st = fail_open_shard(s, i, errno, err);
        goto out;
    }
    if (!S_ISREG(info.st_mode)) {
        st = pp_fail(err, PP_E_UNSUPPORTED, "the shard %s is not a regular file", path);
        goto out;
    }
    if (!s->opts->no_index) {
        struct pp_shard_id id = {.size = (uint64_t)info.st_size,
                                 .mtime_ns = info.st_mtim.tv_sec * INT64_C(1000000000) +
                                             info.st_mtim.tv_nsec};
        st = pp_shard_index_get(fd, path, &id, s->opts->index_dir, &shard->index, &shard->kept, err);
        if (st == PP_OK && i < s->keep_open) {
            shard->fd = fd;
            fd = -1;
        }
    }
out:
    if (fd >= 0)
        close(fd);
    return st;
}

static void warn_of_shard(struct shards *s, size_t i)
{
    const struct pp_shard_header *h = s->shard[i].index.header;
    const char *path = s->names.path[i];
    unsigned long long at = (unsigned long long)h->defect_at, n = (unsigned long long)h->entries;
    struct pp_warnings *w = &s->base.warnings;
    switch ((enum pp_shard_defect)h->defect) {
    case PP_SHARD_TRUNCATED:
        pp_warn(w, "%s ends in the middle (of the member at byte %llu): %llu of its samples are usable", path,
                at, n);
        break;
    case PP_SHARD_DAMAGED:
        if (at == 0)
            pp_warn(w, "%s is not a tar archive", path);
        else
            pp_warn(w, "%s is not a tar archive from byte %llu on: the %llu samples before it are usable",
                    path, at, n);
        break;
    case PP_SHARD_NO_END:
        pp_warn(
            w,
            "%s lacks the end-of-archive mark and may have been cut off at byte %llu: %llu samples are usable",
            path, at, n);
        break;
    case PP_SHARD_NO_BYTES: pp_warn(w, "%s has 0 bytes", path); break;
    case PP_SHARD_SOUND:
    case PP_SHARD_DEFECTS: break;
    }
    if (h->left_out)
        pp_warn(
            w,
            "%s: %u key%s no image (.jpg .jpeg .png, below 4 GiB, neither a link nor sparse) and %s left out",
            path, h->left_out, h->left_out == 1 ? " has" : "s have", h->left_out == 1 ? "is" : "are");
    else if (h->entries == 0 && h->defect == PP_SHARD_SOUND)
        pp_warn(w, "%s holds no samples", path);
}

/* Numbers the samples through all shards and collects what the indexes say. */
static pp_status sum_up(struct shards *s, struct pp_err *err)
{
    int64_t max_label = -1;
    size_t not_kept = 0;
    const char *example = "";
    for (size_t i = 0; i < s->names.n; i++) {
        struct shard *shard = &s->shard[i];
        const struct pp_shard_header *h = shard->index.header;
        shard->first = s->base.len;
        s->base.len += h->entries;
        not_kept += !shard->kept;
        if (!example[0])
            example = h->example;
        for (uint64_t k = 0; k < h->entries; k++)
            if (shard->index.entry[k].label > max_label)
                max_label = shard->index.entry[k].label;
        warn_of_shard(s, i);
    }
    s->base.classes = (uint64_t)(max_label + 1);
    if (not_kept && s->opts->index_dir)
        pp_warn(&s->base.warnings,
                "the indexes of %zu shards could not be kept in %s and will be built again next time",
                not_kept, s->opts->index_dir);
    if (s->base.len > 0)
        return PP_OK;
    if (example[0])
        return pp_fail(err, PP_E_EMPTY,
                       "no sample in %s: its %zu shard%s members such as %s, but no .jpg .jpeg or .png",
                       s->opts->spec, s->names.n, s->names.n == 1 ? " holds" : "s hold", example);
    return pp_fail(err, PP_E_EMPTY, "no sample in %s: %s", s->opts->spec,
                   s->base.warnings.n ? s->base.warnings.text[0] : "its shards are empty");
}

/* Half of the descriptors the process may have: the rest is for whoever shares it with us. */
static uint64_t descriptors_to_keep(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 256;
    return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > 1 << 16 ? 1 << 15 : limit.rlim_cur / 2;
}

pp_status pp_shards_open(const struct pp_dataset_opts *opts, struct pp_dataset **out, struct pp_err *err)
{
    struct shards *s = calloc(1, sizeof(*s));
    *out = NULL;
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", opts->spec);
    s->base.ops = &shards_ops;
    s->opts = opts;
    s->keep_open = descriptors_to_keep();
    struct pp_each each = {.threads = OPENING_THREADS,
                           .piece = open_shard,
                           .ctx = s,
                           .opts = opts,
                           .what = opts->no_index ? "looking for shards" : "indexing shards"};
    pp_status st = pp_shard_names(opts->spec, &s->names, err);
    if (st != PP_OK)
        goto out;
    s->shard = calloc(s->names.n, sizeof(*s->shard));
    if (!s->shard) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu shards", s->names.n);
        goto out;
    }
    for (size_t i = 0; i < s->names.n; i++)
        s->shard[i].fd = -1;
    each.n = s->names.n;
    st = pp_each_run(&each, err);
    if (st == PP_OK && !opts->no_index)
        st = sum_up(s, err);
out:
    s->opts = NULL;
    if (st != PP_OK)
        pp_dataset_close(&s->base);
    else
        *out = &s->base;
    return st;
}
