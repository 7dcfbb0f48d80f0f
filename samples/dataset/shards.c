#include "samples/dataset/extras.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static pp_status add_member(struct archive *a, const char *shard, const char *name, const void *data,
                            size_t size, struct pp_err *err)
{
    struct archive_entry *e = archive_entry_new();
    if (!e)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for an entry of %s", shard);
    archive_entry_set_pathname(e, name);
    archive_entry_set_size(e, (la_int64_t)size);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_mtime(e, 0, 0); /* the same seed gives the same bytes */
    int ok = archive_write_header(a, e) == ARCHIVE_OK &&
             archive_write_data(a, data, size) == (la_ssize_t)size;
    archive_entry_free(e);
    return ok ? PP_OK
              : pp_fail(err, PP_E_IO, "cannot write %s into %s: %s", name, shard, archive_error_string(a));
}

static pp_status add_sample(struct archive *a, const char *shard, const struct picture_field *f,
                            const struct plan_opts *opts, uint64_t index, uint64_t *bytes, struct pp_err *err)
{
    struct sample_plan plan;
    uint8_t *jpeg = NULL;
    size_t size;
    char name[40], cls[24];
    pp_status s = make_sample(f, opts, index, &plan, &jpeg, &size, err);
    if (s)
        return s;
    snprintf(name, sizeof name, "%06llu.jpg", (unsigned long long)index);
    s = add_member(a, shard, name, jpeg, size, err);
    free(jpeg);
    if (s)
        return s;
    *bytes += size;
    snprintf(name, sizeof name, "%06llu.cls", (unsigned long long)index);
    snprintf(cls, sizeof cls, "%llu", (unsigned long long)plan.cls);
    return add_member(a, shard, name, cls, strlen(cls), err);
}

pp_status write_shard(const char *path, const struct picture_field *f, const struct plan_opts *opts,
                      uint64_t from, uint64_t to, uint64_t *bytes, struct pp_err *err)
{
    pp_status s = PP_OK;
    struct archive *a = archive_write_new();
    if (!a)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", path);
    archive_write_set_format_ustar(a);
    if (archive_write_open_filename(a, path) != ARCHIVE_OK)
        s = pp_fail(err, PP_E_IO, "cannot create %s: %s", path, archive_error_string(a));
    for (uint64_t i = from; !s && i < to; i++)
        s = add_sample(a, path, f, opts, i, bytes, err);
    if (!s && archive_write_close(a) != ARCHIVE_OK)
        s = pp_fail(err, PP_E_IO, "cannot finish %s: %s", path, archive_error_string(a));
    archive_write_free(a);
    return s;
}
