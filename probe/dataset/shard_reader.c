#include "probe/dataset/shard_reader.h"
#include "probe/base/err.h"
#include "probe/dataset/dataset_shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FAILURES = 8 };

static const char *shard_path(const struct pp_shard_reader *r)
{
    return pp_shards_path(r->dataset, r->order[r->at.position]);
}

void pp_shard_reader_close(struct pp_shard_reader *r)
{
    pp_tar_close(r->tar);
    r->tar = NULL;
    r->has_member = 0;
    pp_object_close(&r->file);
}

void pp_shard_reader_leave(struct pp_shard_reader *r)
{
    pp_shard_reader_close(r);
    r->at.position += r->step;
    r->at.offset = 0;
    r->failures = 0;
    r->in_shard = 0;
}

/* What a failure means for the reader: one that may pass leaves it before the sample at hand, to be tried
 * again (not for ever); any other costs the rest of the shard. */
static pp_status after_failure(struct pp_shard_reader *r, pp_status why, struct pp_err *err)
{
    int may_pass = why == PP_E_TRANSIENT || why == PP_E_NO_MEMORY;
    r->troubles++;
    if (may_pass && ++r->failures < MAX_FAILURES) {
        pp_shard_reader_close(r);
        return why;
    }
    if (may_pass)
        why = pp_fail(err, PP_E_IO,
                      "gave up on %s at byte %llu after %d failures in a row; its other samples are left out",
                      shard_path(r), (unsigned long long)r->at.offset, MAX_FAILURES);
    pp_shard_reader_leave(r);
    return why;
}

static pp_status open_shard(struct pp_shard_reader *r, struct pp_err *err)
{
    const struct pp_open o = {.name = shard_path(r), .how = PP_OPEN_SEQUENTIAL, .attempt = "open the shard"};
    pp_status st = pp_storage_open(pp_shards_storage(r->dataset), &o, &r->file, err);
    if (st != PP_OK)
        return st;
    const struct pp_tar_file file = {.shard = &r->file,
                                     .path = o.name,
                                     .size = PP_SIZE_UNKNOWN,
                                     .in_order = 1};
    size_t remote = pp_storage_request_bytes(pp_shards_storage(r->dataset));
    return pp_tar_open(&file, r->at.offset, remote > PP_SHARD_READER_BLOCK ? remote : PP_SHARD_READER_BLOCK,
                       &r->tar, err);
}

/* The member read ahead, or the next one. */
static pp_status next_member(struct pp_shard_reader *r, struct pp_err *err)
{
    pp_status s = r->has_member ? PP_OK : pp_tar_next(r->tar, &r->member, err);
    r->has_member = 0;
    if (s == PP_OK && r->member.truncated)
        return pp_fail(err, PP_E_CORRUPT, "%s is truncated in %s at byte %llu", shard_path(r), r->member.name,
                       (unsigned long long)r->member.header_offset);
    if (s == PP_END && pp_tar_lacks_end(r->tar))
        return pp_fail(err, PP_E_CORRUPT,
                       "%s has no end-of-archive mark: it may be truncated between two samples",
                       shard_path(r));
    return s;
}

static int set_key(struct pp_shard_sample *h, const char *key, size_t size)
{
    if (size + 1 > h->key_cap) {
        char *grown = realloc(h->key, size + 64);
        if (!grown)
            return -1;
        h->key = grown;
        h->key_cap = size + 64;
    }
    memcpy(h->key, key, size);
    h->key[size] = '\0';
    h->key_size = size;
    return 0;
}

static pp_status take_image(struct pp_shard_reader *r, struct pp_shard_sample *h, struct pp_err *err)
{
    char what[512];
    size_t got, size = r->member.size;
    snprintf(what, sizeof(what), "cannot read %s in %s", r->member.name, shard_path(r));
    pp_sample_trim(&h->bytes);
    pp_status s = pp_sample_reserve(&h->bytes, r->member.size, what, err);
    for (h->bytes.size = 0; s == PP_OK && h->bytes.size < size; h->bytes.size += got) {
        s = pp_tar_data(r->tar, h->bytes.buf + h->bytes.size, size - h->bytes.size, &got, err);
        if (s == PP_OK && got == 0)
            s = pp_fail(err, PP_E_CORRUPT, "%s is truncated in %s", shard_path(r), r->member.name);
    }
    if (s != PP_OK)
        return s;
    double share = pp_tar_cached_share(r->tar);
    h->bytes.cache_known = share >= 0;
    h->bytes.cache_hit_bytes = share > 0 ? (size_t)(share * (double)size) : 0;
    h->has_image = 1;
    return PP_OK;
}

static pp_status take_member(struct pp_shard_reader *r, struct pp_shard_sample *h, const char *extension,
                             struct pp_err *err)
{
    switch (pp_tar_role(extension)) {
    case PP_TAR_IMAGE: return h->has_image || r->late != PP_OK ? PP_OK : take_image(r, h, err);
    case PP_TAR_LABEL: return pp_tar_label(r->tar, &r->member, &h->bytes.label, err);
    case PP_TAR_OTHER: break;
    }
    return PP_OK;
}

/* Reads members until the key changes. PP_OK: it changed, and the first member of the next key is kept in
 * r->member. PP_END: the shard is read, h may hold its last sample. */
static pp_status read_group(struct pp_shard_reader *r, struct pp_shard_sample *h, struct pp_err *err)
{
    int open = 0;
    h->bytes.label = -1;
    h->shard = r->order[r->at.position];
    for (;;) {
        size_t key_size;
        pp_status s = next_member(r, err);
        if (s != PP_OK)
            return s;
        const char *extension = pp_tar_split(r->member.name, &key_size);
        if (!r->member.regular || !extension)
            continue;
        if (open && (key_size != h->key_size || memcmp(h->key, r->member.name, key_size) != 0)) {
            r->has_member = 1;
            return PP_OK;
        }
        if (!open && set_key(h, r->member.name, key_size) != 0)
            return pp_fail(err, PP_E_NO_MEMORY, "no memory for a key of %zu bytes", key_size);
        open = 1;
        s = take_member(r, h, extension, err);
        if (s == PP_E_UNSUPPORTED) { /* larger than a sample may be: it is left out, and the shard goes on */
            r->troubled = h->shard;
            r->troubles++;
            r->late = s;
            if (err)
                r->late_err = *err;
            s = PP_OK;
        }
        if (s != PP_OK)
            return s;
    }
}

static pp_status take_late(struct pp_shard_reader *r, struct pp_err *err)
{
    pp_status late = r->late;
    r->late = PP_OK;
    if (err)
        *err = r->late_err;
    return late;
}

pp_status pp_shard_reader_next(struct pp_shard_reader *r, struct pp_shard_sample *h,
                               struct pp_shard_place *where, struct pp_err *err)
{
    if (r->late != PP_OK)
        return take_late(r, err);
    while (r->at.position < r->shards) {
        struct pp_err why;
        pp_err_clear(&why);
        *where = r->at;
        h->has_image = 0;
        h->place = r->in_shard;
        pp_status s = r->tar ? PP_OK : open_shard(r, &why);
        if (s == PP_OK)
            s = read_group(r, h, &why);
        r->in_shard += s == PP_OK && h->has_image;
        if (s == PP_OK) {
            r->at.offset = r->member.header_offset;
            r->failures = 0;
        } else if (s == PP_END) {
            pp_shard_reader_leave(r);
        } else {
            r->troubled = r->order[where->position];
            s = after_failure(r, s, &why);
            if (!h->has_image || s == PP_E_TRANSIENT || s == PP_E_NO_MEMORY) {
                if (err)
                    *err = why;
                return s;
            }
            r->late = s;
            r->late_err = why;
        }
        if (h->has_image) {
            r->samples++;
            return PP_OK;
        }
        if (r->late != PP_OK)
            return take_late(r, err);
    }
    return PP_END;
}
