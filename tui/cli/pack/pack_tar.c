/* WebDataset shards: shard-000000.tar, members 000000000.jpg and 000000000.cls. Owner and time are always the
 * same, so that the same samples give the same bytes. */
#include "tui/cli/pack/pack_writer.h"

#include "probe/base/err.h"

#include <archive.h>
#include <archive_entry.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512 };

struct tar {
    struct pack_into into;
    struct archive *archive; /* NULL: no shard is open */
    char path[PATH_MAX];
    uint64_t shards, bytes; /* bytes: of the one at hand */
};

static pp_status fail_tar(struct tar *t, struct pp_err *err)
{
    const char *why = archive_error_string(t->archive);
    return pp_fail(err, PP_E_IO, "cannot write %s: %s", t->path, why ? why : "no reason given");
}

static pp_status begin(const struct pack_into *into, void **state, struct pp_err *err)
{
    struct tar *t = calloc(1, sizeof(*t));
    if (!t)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to write shards");
    t->into = *into;
    *state = t;
    return PP_OK;
}

static pp_status open_shard(struct tar *t, struct pp_err *err)
{
    snprintf(t->path, sizeof(t->path), "%s/shard-%06llu.tar", t->into.dir, (unsigned long long)t->shards);
    t->bytes = 0;
    t->archive = archive_write_new();
    if (!t->archive)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", t->path);
    if (archive_write_set_format_ustar(t->archive) != ARCHIVE_OK ||
        archive_write_open_filename(t->archive, t->path) != ARCHIVE_OK)
        return fail_tar(t, err);
    t->shards++;
    return PP_OK;
}

static pp_status close_shard(struct tar *t, struct pp_err *err)
{
    pp_status st = t->archive && archive_write_close(t->archive) != ARCHIVE_OK ? fail_tar(t, err) : PP_OK;
    if (t->archive)
        archive_write_free(t->archive);
    t->archive = NULL;
    return st;
}

static pp_status add_member(struct tar *t, const char *name, const void *data, size_t size,
                            struct pp_err *err)
{
    struct archive_entry *e = archive_entry_new();
    if (!e)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to write %s", t->path);
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, (la_int64_t)size);
    archive_entry_set_mtime(e, 0, 0);
    int ok = archive_write_header(t->archive, e) == ARCHIVE_OK &&
             archive_write_data(t->archive, data, size) == (la_ssize_t)size;
    archive_entry_free(e);
    t->bytes += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
    return ok ? PP_OK : fail_tar(t, err);
}

static pp_status add(void *state, const struct pack_sample *s, struct pp_err *err)
{
    struct tar *t = state;
    char name[40], label[24];
    pp_status st = t->archive ? PP_OK : open_shard(t, err);
    if (st == PP_OK && s->label >= 0) {
        snprintf(name, sizeof(name), "%09llu.cls", (unsigned long long)s->number);
        int n = snprintf(label, sizeof(label), "%lld", (long long)s->label);
        st = add_member(t, name, label, (size_t)n, err);
    }
    snprintf(name, sizeof(name), "%09llu.%s", (unsigned long long)s->number, s->kind);
    if (st == PP_OK)
        st = add_member(t, name, s->data, s->size, err);
    if (st == PP_OK && t->bytes >= t->into.shard_bytes)
        st = close_shard(t, err);
    return st;
}

static pp_status end(void *state, int failed, uint64_t *shards, struct pp_err *err)
{
    struct tar *t = state;
    pp_status st = close_shard(t, failed ? NULL : err);
    *shards = t->shards;
    free(t);
    return failed ? PP_OK : st;
}

const struct pack_format pack_tar = {
    .name = "tar", .help = "WebDataset shards: .tar", .begin = begin, .add = add, .end = end};
