#include "probe/dataset/shard_tar.h"
#include "probe/base/err.h"
#include "probe/dataset/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <strings.h>

enum { MAX_PADDING = 64 << 20, HEAD = 8 };

struct pp_tar {
    struct archive *archive;
    const struct pp_object *shard;
    char *path;
    uint64_t file_size, start, at; /* at: where the next block is read */
    uint64_t last_end;             /* where the header after the last member is due */
    pp_status failure;             /* of the last block's read, with its sentence; PP_OK: none */
    struct pp_err failure_err;
    struct pp_read last; /* the last block read */
    int kept;            /* it was read to see what the file is, and comes next */
    size_t block;
    uint8_t *buf;
    /* of a compressed file; all offsets are then those of the unpacked bytes, whose number is not known */
    struct pp_unpack *unpack;
    uint64_t from; /* members before it are gone over */
};

/* ---- what libarchive calls ---- */

static la_ssize_t read_block(struct archive *a, void *ctx, const void **out)
{
    struct pp_tar *t = ctx;
    if (t->unpack) {
        /* Full blocks, as a file has them: libarchive copies what it finds in pieces. A failure behind some
         * bytes is kept for the next call. */
        size_t n = 0, got = 1;
        for (; t->failure == PP_OK && got > 0 && n < t->block; n += got)
            t->failure = pp_unpack_read(t->unpack, t->buf + n, t->block - n, &got, &t->failure_err);
        t->last = *pp_unpack_last(t->unpack);
        if (t->failure != PP_OK && n == 0) {
            archive_set_error(a, EIO, "read failed");
            return -1;
        }
        t->at += n;
        *out = t->buf;
        return (la_ssize_t)n;
    }
    if (!t->kept) {
        t->last = (struct pp_read){
            .name = t->path, .offset = t->at, .size = t->block, .buf = t->buf, .cap = t->block};
        t->failure = pp_object_read_at(t->shard, &t->last, &t->failure_err);
    }
    t->kept = 0;
    if (t->failure != PP_OK) {
        archive_set_error(a, EIO, "read failed");
        return -1;
    }
    t->at += t->last.got;
    *out = t->last.data;
    return (la_ssize_t)t->last.got;
}

/* Never beyond the end of the file: what is missing there is missed by the next read, and not passed over. */
static la_int64_t skip_bytes(struct archive *a, void *ctx, la_int64_t request)
{
    struct pp_tar *t = ctx;
    uint64_t left = t->at < t->file_size ? t->file_size - t->at : 0;
    uint64_t step = (uint64_t)request < left ? (uint64_t)request : left;
    t->at += step;
    return (la_int64_t)step;
}

/* ---- the walk ---- */

static pp_status fail_archive(struct pp_tar *t, const char *what, struct pp_err *err)
{
    if (t->failure != PP_OK) {
        pp_status st = t->failure;
        t->failure = PP_OK;
        return pp_fail(err, st, "%s", t->failure_err.text);
    }
    if (archive_errno(t->archive) == ENOMEM)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", t->path);
    const char *why = archive_error_string(t->archive);
    return pp_fail(err, PP_E_CORRUPT, "%s %s: %s", t->path, what, why ? why : "no reason given");
}

/* What the file is, by how it begins: its first block, which is kept, or a few bytes where the walk starts
 * elsewhere. A request to a remote storage each, and the answer has the size too. */
static pp_status read_beginning(struct pp_tar *t, const struct pp_tar_file *file, struct pp_err *err)
{
    /* compressions that are not unpacked here */
    static const struct {
        const char *name, *tool;
        const char magic[7];
        size_t size;
    } refused[] = {
        {"xz", "unxz",
         "\xfd"
         "7zXZ",
         5},
        {"bzip2", "bunzip2", "BZh", 3},
    };
    struct pp_place_info info = {.size = file->size};
    size_t head = t->block < HEAD ? t->block : HEAD; /* report/replay/requests.c knows these bytes */
    t->last = (struct pp_read){.name = t->path,
                               .size = t->start ? head : t->block,
                               .buf = t->buf,
                               .cap = t->block};
    pp_status st = pp_object_read_at(file->shard, &t->last, err);
    if (st == PP_OK && t->last.got == 0)
        return pp_fail(err, PP_E_EMPTY, "%s has 0 bytes", file->path);
    for (size_t i = 0; st == PP_OK && i < sizeof(refused) / sizeof(*refused); i++)
        if (t->last.got >= refused[i].size && memcmp(t->last.data, refused[i].magic, refused[i].size) == 0)
            return pp_fail(
                err, PP_E_UNSUPPORTED,
                "%s is compressed (%s), which pipeprobe does not unpack. Unpack it first (%s); images do not get smaller by it",
                t->path, refused[i].name, refused[i].tool);
    if (st == PP_OK && file->size == PP_SIZE_UNKNOWN)
        st = pp_object_info(file->shard, file->path, &info, err);
    t->file_size = info.size;
    t->kept = t->start == 0;
    enum pp_packed kind = st == PP_OK ? pp_packed_kind(t->last.data, t->last.got) : PP_PACKED_NOT;
    if (kind == PP_PACKED_NOT)
        return st;
    /* A compressed file gives its bytes from front to back alone: a walk that starts later goes over what
     * lies before. */
    if (!file->in_order)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "%s is compressed (%s): random access needs an uncompressed tar. Read it in order with --stream, or unpack it first (%s); images do not get smaller by it",
            t->path, kind == PP_PACKED_GZIP ? "gzip" : "zstd", kind == PP_PACKED_GZIP ? "gunzip" : "unzstd");
    st = pp_unpack_open(file->shard, file->path, kind, t->block, &t->unpack, err);
    if (st == PP_OK && t->kept)
        pp_unpack_take(t->unpack, &t->last, &t->buf);
    t->from = t->start;
    t->start = t->at = t->last_end = 0;
    t->file_size = UINT64_MAX;
    t->kept = 0;
    return st;
}

pp_status pp_tar_open(const struct pp_tar_file *file, uint64_t start, size_t block, struct pp_tar **out,
                      struct pp_err *err)
{
    pp_status st;
    struct pp_tar *t = calloc(1, sizeof(*t));
    *out = NULL;
    if (!t || !(t->path = strdup(file->path)) || !(t->buf = malloc(block))) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", file->path);
        goto out;
    }
    t->shard = file->shard;
    t->start = t->at = t->last_end = start;
    t->block = block;
    st = read_beginning(t, file, err);
    if (st == PP_OK && start > t->file_size)
        st = pp_fail(
            err, PP_E_CORRUPT,
            "%s has %llu bytes and cannot be resumed at byte %llu: it is not the shard of the saved cursor",
            file->path, (unsigned long long)t->file_size, (unsigned long long)start);
    if (st != PP_OK || t->start >= t->file_size) /* at the very end there is nothing to open, nor wrong */
        goto out;
    t->archive = archive_read_new();
    if (!t->archive) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to read %s", t->path);
        goto out;
    }
    archive_read_support_format_tar(t->archive);
    archive_read_set_read_callback(t->archive, read_block);
    if (!t->unpack)
        archive_read_set_skip_callback(t->archive, skip_bytes);
    archive_read_set_callback_data(t->archive, t);
    if (archive_read_open1(t->archive) != ARCHIVE_OK)
        st = fail_archive(t, "is not a tar archive", err);
out:
    if (st != PP_OK)
        pp_tar_close(t);
    else
        *out = t;
    return st;
}

static pp_status next_header(struct pp_tar *t, struct pp_tar_member *m, struct pp_err *err)
{
    struct archive_entry *e;
    if (!t->archive)
        return PP_END;
    int r = archive_read_next_header(t->archive, &e);
    if (r == ARCHIVE_EOF && t->failure != PP_OK)
        return fail_archive(t, "is truncated", err);
    if (r == ARCHIVE_EOF) {
        /* Behind the end of the archive a compressed file has padding and a checksum, which is seen by
         * reading it. */
        pp_status st = PP_OK;
        size_t got = 1;
        for (uint64_t n = 0; t->unpack && st == PP_OK && got > 0; n += got) {
            if (n > MAX_PADDING)
                return pp_fail(err, PP_E_CORRUPT,
                               "%s is damaged: more than %d MiB lie behind the end of its archive", t->path,
                               MAX_PADDING >> 20);
            st = pp_unpack_read(t->unpack, t->buf, t->block, &got, err);
        }
        return st == PP_OK ? PP_END : st;
    }
    /* ARCHIVE_WARN is about a name that the locale cannot show; ARCHIVE_RETRY is a bad header checksum, after
     * which libarchive would look for the next block that resembles a header, inside of whatever data that
     * is. */
    if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
        return fail_archive(t, "is damaged", err);
    /* The raw name first: the conversion to UTF-8 depends on the process's locale, the raw bytes do not. */
    const char *name = archive_entry_pathname(e);
    if (!name)
        name = archive_entry_pathname_utf8(e);
    int64_t size = archive_entry_size(e);
    m->name = name ? name : "";
    m->header_offset = t->start + (uint64_t)archive_read_header_position(t->archive);
    m->data_offset = t->start + (uint64_t)archive_filter_bytes(t->archive, 0);
    m->size = size > 0 ? (uint64_t)size : 0;
    m->regular = archive_entry_filetype(e) == AE_IFREG && !archive_entry_hardlink(e) &&
                 archive_entry_sparse_count(e) == 0;
    /* Of others the size is not that of their bytes here: a sparse one has fewer, a hard link none. */
    m->truncated = m->regular && (m->data_offset > t->file_size || m->size > t->file_size - m->data_offset);
    t->last_end = m->after = m->data_offset + (m->regular ? (m->size / 512 + (m->size % 512 != 0)) * 512 : 0);
    return PP_OK;
}

pp_status pp_tar_next(struct pp_tar *t, struct pp_tar_member *m, struct pp_err *err)
{
    pp_status st = next_header(t, m, err);
    while (st == PP_OK && m->header_offset < t->from)
        st = next_header(t, m, err);
    if (st == PP_OK && t->from && m->header_offset != t->from)
        st = pp_fail(err, PP_E_CORRUPT,
                     "%s has no member at byte %llu: it is not the shard of the saved cursor", t->path,
                     (unsigned long long)t->from);
    t->from = 0;
    m->lacks_end = st == PP_END && t->last_end >= (t->unpack ? t->at : t->file_size);
    return st;
}

pp_status pp_tar_data(struct pp_tar *t, void *buf, size_t n, size_t *got, struct pp_err *err)
{
    la_ssize_t r = archive_read_data(t->archive, buf, n);
    *got = r > 0 ? (size_t)r : 0;
    return r < 0 ? fail_archive(t, "is truncated", err) : PP_OK;
}

double pp_tar_cached_share(const struct pp_tar *t)
{
    if (!t->last.cache_known || t->last.got == 0)
        return -1;
    return (double)t->last.cache_hit_bytes / (double)t->last.got;
}

void pp_tar_close(struct pp_tar *t)
{
    if (!t)
        return;
    if (t->archive)
        archive_read_free(t->archive);
    pp_unpack_close(t->unpack);
    free(t->buf);
    free(t->path);
    free(t);
}

/* ---- names ---- */

const char *pp_tar_split(const char *name, size_t *key_size)
{
    const char *base = strrchr(name, '/');
    base = base ? base + 1 : name;
    const char *dot = strchr(base, '.');
    if (!dot || dot == base)
        return NULL;
    *key_size = (size_t)(dot - name);
    return dot + 1;
}

enum pp_tar_role pp_tar_role(const char *extension)
{
    static const struct {
        const char *extension;
        enum pp_tar_role role;
    } roles[] = {{"jpg", PP_TAR_IMAGE},
                 {"jpeg", PP_TAR_IMAGE},
                 {"png", PP_TAR_IMAGE},
                 {"webp", PP_TAR_IMAGE},
                 {"cls", PP_TAR_LABEL}};
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
        if (strcasecmp(extension, roles[i].extension) == 0)
            return roles[i].role;
    return PP_TAR_OTHER;
}

enum { LABEL_MAX = 32 }; /* bytes of a .cls member that can be a label */

pp_status pp_tar_label(struct pp_tar *t, const struct pp_tar_member *m, int64_t *label, struct pp_err *err)
{
    uint8_t text[LABEL_MAX];
    size_t n;
    *label = -1;
    if (m->size > sizeof(text))
        return PP_OK;
    pp_status st = pp_tar_data(t, text, m->size, &n, err);
    if (st == PP_OK)
        *label = pp_tar_parse_label(text, n);
    return st;
}

int64_t pp_tar_parse_label(const uint8_t *text, size_t size)
{
    char digits[LABEL_MAX + 1], *end;
    if (size > LABEL_MAX)
        return -1;
    memcpy(digits, text, size);
    digits[size] = '\0';
    errno = 0;
    long long value = strtoll(digits, &end, 10);
    if (end == digits || errno || value < 0)
        return -1;
    while (isspace((unsigned char)*end))
        end++;
    return *end ? -1 : value;
}
