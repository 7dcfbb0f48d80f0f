#include "probe/dataset/shard_index.h"
#include "probe/base/array.h"
#include "probe/base/err.h"
#include "probe/base/io.h"
#include "probe/dataset/shard_tar.h"

#include <dirent.h>
#include <fcntl.h>
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

/* Ends the group at hand: with an image it is a sample. 0 without memory. */
static int end_group(struct builder *b)
{
    struct pp_shard_header *h = &b->header;
    if (!b->open)
        return 1;
    b->open = 0;
    if (!b->has_image || h->key_bytes + b->key_size + 1 > UINT32_MAX) {
        h->left_out++;
        return 1;
    }
    if (!pp_grow(&b->entry, &b->entry_cap, h->entries + 1, sizeof(*b->entry)) ||
        !pp_grow(&b->keys, &b->key_cap, h->key_bytes + b->key_size + 1, 1))
        return 0;
    b->sample.key = (uint32_t)h->key_bytes;
    b->entry[h->entries++] = b->sample;
    memcpy(b->keys + h->key_bytes, b->key, b->key_size);
    b->keys[h->key_bytes + b->key_size] = '\0';
    h->key_bytes += b->key_size + 1;
    return 1;
}

static pp_status add_member(struct builder *b, struct pp_tar *tar, const struct pp_tar_member *m,
                            struct pp_err *err)
{
    size_t key_size;
    const char *extension = pp_tar_split(m->name, &key_size);
    enum pp_tar_role role = extension ? pp_tar_role(extension) : PP_TAR_OTHER;
    if (!extension ||
        (!m->regular &&
         role != PP_TAR_IMAGE)) /* an image that is a link is a key without an image, not nothing */
        return PP_OK;
    if (!b->open || b->key_size != key_size || memcmp(b->key, m->name, key_size) != 0) {
        if (!end_group(b) || !pp_grow(&b->key, &b->key_room, key_size + 1, 1))
            return pp_fail(err, PP_E_NO_MEMORY,
                           "no memory for the index of a shard with more than %llu samples",
                           (unsigned long long)b->header.entries);
        memcpy(b->key, m->name, key_size);
        b->key_size = key_size;
        b->open = 1;
        b->has_image = 0;
        b->sample = (struct pp_shard_entry){.label = -1};
    }
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

pp_status pp_shard_index_build(const struct pp_object *shard, const char *path,
                               const struct pp_place_info *id, struct pp_shard_index *out, struct pp_err *err)
{
    struct builder b = {.header = {.shard_size = id->size, .shard_mtime_ns = id->version}};
    struct pp_shard_header *h = &b.header;
    struct pp_tar *tar = NULL;
    struct pp_tar_member m = {0};
    *out = (struct pp_shard_index){0};
    const struct pp_tar_file file = {.shard = shard, .path = path, .size = id->size};
    size_t remote = pp_storage_request_bytes(shard->storage);
    pp_status st = pp_tar_open(&file, 0, remote > INDEX_BLOCK ? remote : INDEX_BLOCK, &tar, err);
    while (st == PP_OK && (st = pp_tar_next(tar, &m, err)) == PP_OK && !m.truncated)
        if ((st = add_member(&b, tar, &m, err)) != PP_OK)
            goto out;
    enum pp_shard_defect defect = PP_SHARD_SOUND;
    uint64_t at = m.after;
    if (st == PP_OK) {
        defect = PP_SHARD_TRUNCATED;
        at = m.header_offset;
    } else if (st == PP_E_EMPTY) {
        defect = PP_SHARD_NO_BYTES;
    } else if (st == PP_E_CORRUPT) {
        defect = PP_SHARD_DAMAGED;
    } else if (st != PP_END) {
        goto out;
    } else if (m.lacks_end) {
        defect = PP_SHARD_NO_END;
    }
    h->defect = defect;
    h->defect_at = defect == PP_SHARD_SOUND ? 0 : at;
    /* The group cut by a defect counts when its image is whole: its label may be lost, which is no worse than
     * having none. */
    if (end_group(&b))
        st = pp_shard_index_make(h, b.entry, b.keys, out, err);
    else
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the index of a shard with %llu samples",
                     (unsigned long long)h->entries);
out:
    pp_tar_close(tar);
    free(b.entry);
    free(b.keys);
    free(b.key);
    return st;
}

/* ---- where it is kept ---- */

static int cache_dir(char *dir, size_t size)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (xdg && xdg[0] == '/')
        n = snprintf(dir, size, "%s/pipeprobe", xdg);
    else if (home && home[0] == '/')
        n = snprintf(dir, size, "%s/.cache/pipeprobe", home);
    else
        return -1;
    return n > 0 && (size_t)n < size ? 0 : -1;
}

/* DIR/shard-000000.tar-HASH.ppidx: the shard's own name for people, cut and without odd characters, and the
 * hash of its whole path to tell shards of one name apart. */
static void name_in(const char *dir, const char *path, int is_local, char file[PATH_MAX])
{
    char real[PATH_MAX], name[48];
    const char *base = strrchr(path, '/');
    file[0] = '\0';
    if (is_local ? !realpath(path, real) : snprintf(real, sizeof(real), "%s", path) >= (int)sizeof(real))
        return;
    snprintf(name, sizeof(name), "%s", base ? base + 1 : path);
    for (char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *c) ||
            (c == name && *c == '.'))
            *c = '_';
    XXH128_hash_t h = XXH3_128bits(real, strlen(real));
    if (snprintf(file, PATH_MAX, "%s/%s-%016llx%016llx.ppidx", dir, name, (unsigned long long)h.high64,
                 (unsigned long long)h.low64) >= PATH_MAX)
        file[0] = '\0';
}

void pp_shard_cache_places(const char *path, int is_local, const char *dir, struct pp_shard_places *out)
{
    char cache[PATH_MAX];
    int n = 0;
    *out = (struct pp_shard_places){0};
    if (dir) {
        name_in(dir, path, is_local, out->write);
    } else {
        if (is_local && snprintf(out->read[n], PATH_MAX, "%s.ppidx", path) < PATH_MAX)
            n++;
        if (cache_dir(cache, sizeof(cache)) == 0)
            name_in(cache, path, is_local, out->write);
    }
    memcpy(out->read[n], out->write, PATH_MAX);
}

/* The directory and its parent; other parents must exist. */
void pp_shard_cache_prepare(const struct pp_shard_places *out)
{
    char dir[PATH_MAX];
    char *slash;
    snprintf(dir, sizeof(dir), "%s", out->write);
    if (!(slash = strrchr(dir, '/')) || slash == dir)
        return;
    *slash = '\0';
    if (mkdir(dir, 0700) == 0 || !(slash = strrchr(dir, '/')) || slash == dir)
        return;
    *slash = '\0';
    mkdir(dir, 0700);
    *slash = '/';
    mkdir(dir, 0700);
}

struct kept {
    char *name;
    uint64_t bytes;
    struct timespec used;
};

PP_BY_BOTH(by_age, struct kept, used.tv_sec, used.tv_nsec)

void pp_shard_cache_trim(uint64_t most_bytes)
{
    char path[PATH_MAX];
    struct kept *all = NULL;
    size_t n = 0, cap = 0;
    uint64_t bytes = 0;
    struct dirent *e;
    struct stat s;
    DIR *dir = cache_dir(path, sizeof(path)) == 0 ? opendir(path) : NULL;
    while (dir && (e = readdir(dir)) != NULL) {
        if (!strstr(e->d_name, ".ppidx") /* also what a killed process left half-written */ ||
            fstatat(dirfd(dir), e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode))
            continue;
        if (!pp_grow(&all, &cap, n + 1, sizeof(*all)))
            break;
        all[n] = (struct kept){strdup(e->d_name), (uint64_t)s.st_size, s.st_mtim};
        bytes += all[n].bytes;
        n += all[n].name != NULL;
    }
    if (bytes > most_bytes)
        qsort(all, n, sizeof(*all), by_age);
    for (size_t i = 0; i < n; i++) {
        if (bytes > most_bytes && unlinkat(dirfd(dir), all[i].name, 0) == 0)
            bytes -= all[i].bytes;
        free(all[i].name);
    }
    free(all);
    if (dir)
        closedir(dir);
}

/* ---- the file ---- */

int pp_shard_index_adopt(uint8_t *bytes, size_t size, const struct pp_place_info *id,
                         struct pp_shard_index *out)
{
    struct pp_shard_index index = {0};
    const struct pp_shard_header *h = (const struct pp_shard_header *)bytes;
    if (size < sizeof(*h) || memcmp(h->magic, magic, sizeof(magic)) != 0)
        return -1;
    if (h->shard_size != id->size || h->shard_mtime_ns != id->version || h->defect >= PP_SHARD_DEFECTS)
        return -1;
    size_t left = size - sizeof(*h);
    if (h->entries > left / sizeof(struct pp_shard_entry) ||
        h->key_bytes != left - h->entries * sizeof(struct pp_shard_entry))
        return -1;
    if (h->checksum != checksum(bytes, size) || !memchr(h->example, '\0', sizeof(h->example)))
        return -1;
    point_into(&index, bytes, size);
    if (h->entries > 0 && (h->key_bytes == 0 || index.keys[h->key_bytes - 1] != '\0'))
        return -1;
    for (uint64_t i = 0; i < h->entries; i++) {
        const struct pp_shard_entry *e = &index.entry[i];
        if (e->offset > h->shard_size || e->size > h->shard_size - e->offset || e->key >= h->key_bytes ||
            e->label < -1)
            return -1;
    }
    *out = index;
    return 0;
}

pp_status pp_shard_index_get(const struct pp_object *shard, const char *path, const struct pp_place_info *id,
                             const struct pp_shard_index_how *how, struct pp_shard_index *out,
                             struct pp_err *err)
{
    const char *dir = how->dir;
    struct pp_shard_places p;
    pp_shard_cache_places(path, (pp_storage_flags(shard->storage) & PP_STORAGE_LOCAL) != 0, dir, &p);
    for (int i = 0; i < PP_SHARD_CACHE_READS; i++) {
        struct pp_io_file f = {0};
        struct stat info;
        /* An entry stands for a member header of 512 bytes and more, so an index larger than its shard is
         * none. */
        if (!p.read[i][0] || stat(p.read[i], &info) != 0 || (uint64_t)info.st_size > id->size)
            continue;
        if (pp_io_read_file(AT_FDCWD, p.read[i], &f, NULL) != PP_OK ||
            pp_shard_index_adopt(f.buf, f.size, id, out) != 0) {
            free(f.buf);
            continue;
        }
        if (!dir && strcmp(p.read[i], p.write) == 0) /* it is not among the oldest any more */
            utimensat(AT_FDCWD, p.write, NULL, AT_SYMLINK_NOFOLLOW);
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
