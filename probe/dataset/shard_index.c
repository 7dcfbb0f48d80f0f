#include "probe/dataset/shard_index.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/dataset/shard_cache.h"
#include "probe/dataset/shard_tar.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

static const char magic[8] = "ppshard2";

/* Read at each header: enough for a header, a long name, and the small members that stand between images. Of
 * a remote shard as much as is worth a request. */
enum { INDEX_BLOCK = 8192 };

_Static_assert(sizeof(struct pp_shard_header) % _Alignof(struct pp_shard_entry) == 0,
               "entries follow the header");

static uint64_t checksum(const uint8_t *bytes, size_t size)
{
    size_t from = offsetof(struct pp_shard_header, checksum) + sizeof(uint64_t);
    return XXH3_64bits(bytes + from, size - from);
}

static void point_into(struct pp_shard_index *index, uint8_t *bytes, size_t size)
{
    const struct pp_shard_header *h = (const struct pp_shard_header *)bytes;
    index->bytes = bytes;
    index->size = size;
    index->header = h;
    index->entry = (const struct pp_shard_entry *)(h + 1);
    index->keys = (const char *)(index->entry + h->entries);
}

void pp_shard_index_free(struct pp_shard_index *index)
{
    free(index->bytes);
    *index = (struct pp_shard_index){0};
}

/* ---- building ---- */

struct builder {
    struct pp_shard_header header;
    struct pp_shard_entry *entry;
    char *keys;
    size_t entry_cap, key_cap;
    /* the group at hand */
    char *key;
    size_t key_size, key_room;
    int open, has_image;
    struct pp_shard_entry sample;
};

static int grow(void *array, size_t *cap, size_t need, size_t item)
{
    void **at = array;
    if (need <= *cap)
        return 0;
    size_t want = *cap * 2 > need ? *cap * 2 : need + 64;
    void *grown = realloc(*at, want * item);
    if (!grown)
        return -1;
    *at = grown;
    *cap = want;
    return 0;
}

/* Ends the group at hand: with an image it is a sample. */
static int end_group(struct builder *b)
{
    struct pp_shard_header *h = &b->header;
    if (!b->open)
        return 0;
    b->open = 0;
    if (!b->has_image || h->key_bytes + b->key_size + 1 > UINT32_MAX) {
        h->left_out++;
        return 0;
    }
    if (grow(&b->entry, &b->entry_cap, h->entries + 1, sizeof(*b->entry)) != 0 ||
        grow(&b->keys, &b->key_cap, h->key_bytes + b->key_size + 1, 1) != 0)
        return -1;
    b->sample.key = (uint32_t)h->key_bytes;
    b->entry[h->entries++] = b->sample;
    memcpy(b->keys + h->key_bytes, b->key, b->key_size);
    b->keys[h->key_bytes + b->key_size] = '\0';
    h->key_bytes += b->key_size + 1;
    return 0;
}

static int begin_group(struct builder *b, const char *name, size_t key_size)
{
    if (b->open && b->key_size == key_size && memcmp(b->key, name, key_size) == 0)
        return 0;
    if (end_group(b) != 0 || grow(&b->key, &b->key_room, key_size + 1, 1) != 0)
        return -1;
    memcpy(b->key, name, key_size);
    b->key_size = key_size;
    b->open = 1;
    b->has_image = 0;
    b->sample = (struct pp_shard_entry){.label = -1};
    return 0;
}

static pp_status take_member(struct builder *b, struct pp_tar *tar, const struct pp_tar_member *m,
                             struct pp_err *err)
{
    size_t key_size;
    const char *extension = pp_tar_split(m->name, &key_size);
    enum pp_tar_role role = extension ? pp_tar_role(extension) : PP_TAR_OTHER;
    if (!extension ||
        (!m->regular &&
         role != PP_TAR_IMAGE)) /* an image that is a link is a key without an image, not nothing */
        return PP_OK;
    if (begin_group(b, m->name, key_size) != 0)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the index of a shard with more than %llu samples",
                       (unsigned long long)b->header.entries);
    switch (role) {
    case PP_TAR_IMAGE:
        if (m->regular && !b->has_image && m->size <= UINT32_MAX) {
            b->sample.offset = m->data_offset;
            b->sample.size = (uint32_t)m->size;
            b->has_image = 1;
        }
        return PP_OK;
    case PP_TAR_LABEL: return pp_tar_label(tar, m, &b->sample.label, err);
    case PP_TAR_OTHER: break;
    }
    if (!b->header.example[0])
        snprintf(b->header.example, sizeof(b->header.example), "%s", m->name);
    return PP_OK;
}

static void note_defect(struct builder *b, enum pp_shard_defect defect, uint64_t at)
{
    b->header.defect = defect;
    b->header.defect_at = at;
}

static pp_status walk(struct builder *b, struct pp_tar *tar, struct pp_err *err)
{
    struct pp_tar_member m = {0};
    pp_status st;
    while ((st = pp_tar_next(tar, &m, err)) == PP_OK) {
        if (m.truncated) {
            note_defect(b, PP_SHARD_TRUNCATED, m.header_offset);
            break;
        }
        st = take_member(b, tar, &m, err);
        if (st != PP_OK)
            return st;
    }
    if (st == PP_E_CORRUPT)
        note_defect(b, PP_SHARD_DAMAGED, pp_tar_after(&m));
    else if (st == PP_END && pp_tar_lacks_end(tar))
        note_defect(b, PP_SHARD_NO_END, pp_tar_after(&m));
    else if (st != PP_OK && st != PP_END)
        return st;
    return PP_OK;
}

pp_status pp_shard_index_make(const struct pp_shard_header *header, const struct pp_shard_entry *entry,
                              const char *keys, struct pp_shard_index *out, struct pp_err *err)
{
    size_t entry_bytes = header->entries * sizeof(*entry),
           size = sizeof(*header) + entry_bytes + header->key_bytes;
    uint8_t *bytes = malloc(size);
    *out = (struct pp_shard_index){0};
    if (!bytes)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the index of a shard with %llu samples",
                       (unsigned long long)header->entries);
    memcpy(bytes, header, sizeof(*header));
    memcpy(((struct pp_shard_header *)bytes)->magic, magic, sizeof(magic));
    if (header->entries) {
        memcpy(bytes + sizeof(*header), entry, entry_bytes);
        memcpy(bytes + sizeof(*header) + entry_bytes, keys, header->key_bytes);
    }
    ((struct pp_shard_header *)bytes)->checksum = checksum(bytes, size);
    point_into(out, bytes, size);
    return PP_OK;
}

/* The group cut by a defect counts when its image is whole: its label may be lost, which is no worse than
 * having none. */
static pp_status finish(struct builder *b, struct pp_shard_index *out, struct pp_err *err)
{
    if (end_group(b) != 0)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the index of a shard with %llu samples",
                       (unsigned long long)b->header.entries);
    return pp_shard_index_make(&b->header, b->entry, b->keys, out, err);
}

pp_status pp_shard_index_build(const struct pp_object *shard, const char *path, const struct pp_shard_id *id,
                               struct pp_shard_index *out, struct pp_err *err)
{
    struct builder b = {.header = {.shard_size = id->size, .shard_mtime_ns = id->mtime_ns}};
    struct pp_tar *tar = NULL;
    *out = (struct pp_shard_index){0};
    const struct pp_tar_file file = {.shard = shard, .path = path, .size = id->size};
    size_t remote = pp_storage_request_bytes(shard->storage);
    pp_status st = pp_tar_open(&file, 0, remote > INDEX_BLOCK ? remote : INDEX_BLOCK, &tar, err);
    if (st == PP_OK)
        st = walk(&b, tar, err);
    else if (st == PP_E_CORRUPT || st == PP_E_EMPTY) {
        note_defect(&b, st == PP_E_EMPTY ? PP_SHARD_NO_BYTES : PP_SHARD_DAMAGED, 0);
        st = PP_OK;
    }
    if (st == PP_OK)
        st = finish(&b, out, err);
    pp_tar_close(tar);
    free(b.entry);
    free(b.keys);
    free(b.key);
    return st;
}

/* ---- the file ---- */

static int entries_are_sound(const struct pp_shard_index *index)
{
    const struct pp_shard_header *h = index->header;
    if (h->entries > 0 && (h->key_bytes == 0 || index->keys[h->key_bytes - 1] != '\0'))
        return 0;
    for (uint64_t i = 0; i < h->entries; i++) {
        const struct pp_shard_entry *e = &index->entry[i];
        if (e->offset > h->shard_size || e->size > h->shard_size - e->offset || e->key >= h->key_bytes ||
            e->label < -1)
            return 0;
    }
    return 1;
}

int pp_shard_index_adopt(uint8_t *bytes, size_t size, const struct pp_shard_id *id,
                         struct pp_shard_index *out)
{
    struct pp_shard_index index = {0};
    const struct pp_shard_header *h = (const struct pp_shard_header *)bytes;
    if (size < sizeof(*h) || memcmp(h->magic, magic, sizeof(magic)) != 0)
        return -1;
    if (h->shard_size != id->size || h->shard_mtime_ns != id->mtime_ns || h->defect >= PP_SHARD_DEFECTS)
        return -1;
    size_t left = size - sizeof(*h);
    if (h->entries > left / sizeof(struct pp_shard_entry) ||
        h->key_bytes != left - h->entries * sizeof(struct pp_shard_entry))
        return -1;
    if (h->checksum != checksum(bytes, size) || !memchr(h->example, '\0', sizeof(h->example)))
        return -1;
    point_into(&index, bytes, size);
    if (!entries_are_sound(&index))
        return -1;
    *out = index;
    return 0;
}

static int load(const char *file, const struct pp_shard_id *id, struct pp_shard_index *out)
{
    struct pp_io_file f = {0};
    struct stat info;
    /* An entry stands for a member header of 512 bytes and more, so an index larger than its shard is none.
     */
    if (stat(file, &info) != 0 || (uint64_t)info.st_size > id->size)
        return -1;
    if (pp_io_read_file(AT_FDCWD, file, &f, NULL) == PP_OK &&
        pp_shard_index_adopt(f.buf, f.size, id, out) == 0)
        return 0;
    free(f.buf);
    return -1;
}

pp_status pp_shard_index_get(const struct pp_object *shard, const char *path, const struct pp_shard_id *id,
                             const struct pp_shard_index_how *how, struct pp_shard_index *out,
                             struct pp_err *err)
{
    const char *dir = how->dir;
    struct pp_shard_places p;
    pp_shard_cache_places(path, (pp_storage_flags(shard->storage) & PP_STORAGE_LOCAL) != 0, dir, &p);
    for (int i = 0; i < PP_SHARD_CACHE_READS; i++)
        if (p.read[i][0] && load(p.read[i], id, out) == 0) {
            if (!dir && strcmp(p.read[i], p.write) == 0)
                pp_shard_cache_touch(p.write);
            out->kept = 1;
            return PP_OK;
        }
    pp_status st = how->build(shard, path, id, out, err);
    if (st != PP_OK || !p.write[0])
        return st;
    pp_shard_cache_prepare(&p);
    out->kept = out->made = pp_io_write_atomic(p.write, out->bytes, out->size, NULL) == PP_OK;
    return PP_OK;
}
