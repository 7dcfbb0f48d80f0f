/* WebDataset shards: shard-000000.tar, members 000000000.jpg and 000000000.cls. Owner and time are always the
 * same, so that the same samples give the same bytes. The headers (POSIX ustar) are made here: libarchive's
 * writer needs all of its formats and their libraries in a static binary. */
#include "tui/cli/pack/pack_writer.h"

#include "probe/base/err.h"

enum { BLOCK = 512 };

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6],
        version[2], rest[247];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

struct tar {
    struct pack_into into;
    FILE *file; /* NULL: no shard is open */
    char path[PATH_MAX];
    uint64_t shards, bytes; /* bytes: of the one at hand */
};

/* Two blocks of zeros end an archive. */
static pp_status close_shard(struct tar *t, struct pp_err *err)
{
    static const char zeros[2 * BLOCK];
    if (!t->file)
        return PP_OK;
    int failed = fwrite(zeros, 1, sizeof(zeros), t->file) != sizeof(zeros);
    failed |= fclose(t->file) != 0;
    t->file = NULL;
    return failed ? pp_fail_errno(err, errno ? errno : EIO, "cannot write %s", t->path) : PP_OK;
}

static pp_status add_member(struct tar *t, const char *name, const void *data, size_t size,
                            struct pp_err *err)
{
    static const char zeros[BLOCK];
    struct header h = {.mode = "0000644",
                       .uid = "0000000",
                       .gid = "0000000",
                       .type = '0',
                       .magic = "ustar",
                       .version = {'0', '0'}};
    size_t padding = (BLOCK - size % BLOCK) % BLOCK;
    unsigned sum = 0;
    snprintf(h.name, sizeof(h.name), "%s", name);
    snprintf(h.size, sizeof(h.size), "%011llo", (unsigned long long)size);
    snprintf(h.mtime, sizeof(h.mtime), "%011o", 0u);
    memset(h.checksum, ' ', sizeof(h.checksum));
    for (size_t i = 0; i < sizeof(h); i++)
        sum += ((const unsigned char *)&h)[i];
    snprintf(h.checksum, sizeof(h.checksum), "%06o", sum); /* then a zero and the space that stands there */
    t->bytes += sizeof(h) + size + padding;
    if (fwrite(&h, 1, sizeof(h), t->file) != sizeof(h) || fwrite(data, 1, size, t->file) != size ||
        fwrite(zeros, 1, padding, t->file) != padding)
        return pp_fail_errno(err, errno ? errno : EIO, "cannot write %s", t->path);
    return PP_OK;
}

static pp_status tar_add(void *state, const struct pack_sample *s, struct pp_err *err)
{
    struct tar *t = state;
    char name[40], label[24];
    pp_status st = PP_OK;
    if (!t->file) {
        snprintf(t->path, sizeof(t->path), "%s/shard-%06llu.tar", t->into.dir, (unsigned long long)t->shards);
        t->bytes = 0;
        t->file = fopen(t->path, "wxe");
        if (!t->file)
            return pp_fail_errno(err, errno ? errno : EIO, "cannot write %s", t->path);
        t->shards++;
    }
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

static pp_status tar_end(void *state, int failed, uint64_t *shards, struct pp_err *err)
{
    struct tar *t = state;
    pp_status st = close_shard(t, failed ? NULL : err);
    *shards = t->shards;
    return failed ? PP_OK : st;
}

const struct pack_format pack_tar = {.state_bytes = sizeof(struct tar), .add = tar_add, .end = tar_end};
