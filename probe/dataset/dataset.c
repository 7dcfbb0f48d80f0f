/* The opener, which tells the kind by what lies at the path, and the way to the table. */
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/dataset/dataset_ops.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/shard_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *pp_dataset_kind_name(enum pp_dataset_kind kind)
{
    static const char *const names[PP_DATASET_KIND_COUNT] = {
        [PP_DATASET_FOLDER] = "image-folder",
        [PP_DATASET_SHARDS] = "webdataset",
        [PP_DATASET_TOKENS] = "tokens",
        [PP_DATASET_SYNTHETIC] = "synthetic",
    };
    return (unsigned)kind < PP_DATASET_KIND_COUNT ? names[kind] : "unknown";
}

/* ---- open ---- */

static pp_status open_directory(const struct pp_dataset_opts *opts, struct pp_dataset **out,
                                struct pp_err *err)
{
    struct pp_listing root;
    int fd = pp_io_open(opts->spec, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return pp_fail_errno(err, errno, "cannot open the directory %s", opts->spec);
    int listed = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (listed < 0) {
        int e = errno;
        close(fd);
        return pp_fail_errno(err, e, "cannot open the directory %s", opts->spec);
    }
    pp_status st = pp_list(listed, opts->spec, &root, err);
    if (st != PP_OK) {
        close(fd);
        return st;
    }
    uint64_t tars = root.tars;
    if (tars > 0 && root.images.n == 0 && root.subdirs.n == 0) {
        close(fd);
        pp_listing_free(&root);
        return pp_shards_open(opts, out, err);
    }
    st = pp_folder_open(opts, fd, &root, out, err);
    return st == PP_E_EMPTY && tars > 0 ? pp_shards_open(opts, out, err) : st;
}

/* What WebDataset and fsspec take besides paths. */
static int is_no_path(const char *spec)
{
    return strstr(spec, "://") || strncmp(spec, "pipe:", 5) == 0;
}

static pp_status open_path(const struct pp_dataset_opts *opts, struct pp_dataset **out, struct pp_err *err)
{
    struct stat info;
    const char *spec = opts->spec;
    int found = stat(spec, &info) == 0;
    int why = errno;

    if (found && S_ISDIR(info.st_mode))
        return open_directory(opts, out, err);
    if (!found && is_no_path(spec))
        return pp_fail(
            err, PP_E_USAGE,
            "cannot open %s: data is read from file systems, not from URLs or pipes; mount the bucket, or bring the shards here",
            spec);
    if (pp_has_suffix(spec, ".bin") || pp_has_suffix(spec, ".npy"))
        return pp_tokens_open(opts, out, err);
    if (pp_is_shard_spec(spec))
        return pp_shards_open(opts, out, err);
    if (!found)
        return pp_fail_errno(err, why, "cannot open the dataset %s", spec);
    if (pp_has_image_extension(spec))
        return pp_fail(err, PP_E_USAGE, "%s is a single image: name the directory that holds the images",
                       spec);
    return pp_fail(
        err, PP_E_UNSUPPORTED,
        "cannot tell what %s is: a dataset is a directory of images, .tar shards, or a .bin or .npy file of tokens",
        spec);
}

pp_status pp_dataset_open(const struct pp_dataset_opts *opts, struct pp_dataset **out, struct pp_err *err)
{
    *out = NULL;
    pp_err_clear(err);
    if (!opts->spec || (!opts->spec[0] && !opts->synthetic))
        return pp_fail(
            err, PP_E_USAGE,
            "no dataset was named: give a directory, .tar shards, a token file, or --synthetic SPEC");
    pp_status st = opts->synthetic ? pp_synthetic_open(opts, out, err) : open_path(opts, out, err);
    if (st == PP_OK) {
        pp_err_clear(err);
        pp_warnings_end(&(*out)->warnings);
    }
    return st;
}

void pp_dataset_close(struct pp_dataset *d)
{
    if (!d)
        return;
    d->ops->close(d);
    pp_warnings_free(&d->warnings);
    free(d);
}

/* ---- questions ---- */

enum pp_dataset_kind pp_dataset_kind(const struct pp_dataset *d)
{
    return d->ops->kind;
}

enum pp_content pp_dataset_content(const struct pp_dataset *d)
{
    return d->ops->content;
}

uint64_t pp_dataset_len(const struct pp_dataset *d)
{
    return d->len;
}

uint64_t pp_dataset_classes(const struct pp_dataset *d)
{
    return d->classes;
}

const char *pp_dataset_class_name(const struct pp_dataset *d, uint64_t cls)
{
    return d->ops->class_name && cls < d->classes ? d->ops->class_name(d, cls) : NULL;
}

void pp_dataset_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    d->ops->describe(d, buf, size);
}

const char *pp_dataset_warning(const struct pp_dataset *d, size_t i)
{
    return i < d->warnings.n ? d->warnings.text[i] : NULL;
}

uint64_t pp_dataset_footprint(const struct pp_dataset *d)
{
    return d->ops->footprint(d);
}

int pp_dataset_sequential(const struct pp_dataset *d)
{
    return d->ops->sequential;
}

/* ---- samples ---- */

pp_status pp_dataset_read(const struct pp_dataset *d, uint64_t index, struct pp_sample *s, struct pp_err *err)
{
    s->index = index;
    s->size = 0;
    s->label = -1;
    s->cache_known = 0;
    s->cache_hit_bytes = 0;
    if (d->len == 0)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "the shards were opened without an index: their samples can only be streamed");
    if (index >= d->len)
        return pp_fail(err, PP_E_USAGE, "sample %llu does not exist: the dataset has %llu",
                       (unsigned long long)index, (unsigned long long)d->len);
    return d->ops->read(d, index, s, err);
}

const char *pp_dataset_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    if (size == 0)
        return buf;
    buf[0] = '\0';
    if (index < d->len)
        d->ops->path(d, index, buf, size);
    return buf;
}
