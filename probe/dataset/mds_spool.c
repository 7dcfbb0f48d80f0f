#include "probe/dataset/mds_spool.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/shard_cache.h"
#include "probe/dataset/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

enum state { PACKED, UNPACKING, READY, BROKEN };

struct pp_mds_spool {
    const struct pp_storage *storage;
    const struct pp_mds_index *index;
    struct pp_object object; /* reads; fd writes */
    int fd;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* below: under lock */
    unsigned char *state; /* enum state, by shard */
    char **why;           /* of the broken ones */
};

/* ---- the file ---- */

/* DIR/mds-spool-XXXXXX in the directory where indexes are kept. */
static void name_file(const struct pp_mds_index *index, const char *index_dir, char *path, size_t size)
{
    struct pp_shard_places p;
    pp_shard_cache_places(index->shard[0].raw, 0, index_dir, &p);
    char *slash = strrchr(p.write, '/');
    if (slash)
        pp_shard_cache_prepare(&p);
    snprintf(path, size, "%.*s/pipeprobe-mds-XXXXXX", slash ? (int)(slash - p.write) : 4,
             slash ? p.write : "/tmp");
}

static pp_status make_file(struct pp_mds_spool *s, const char *index_dir, struct pp_err *err)
{
    char path[PATH_MAX], need[32], have[32];
    struct statvfs disk;
    name_file(s->index, index_dir, path, sizeof(path));
    s->fd = mkostemp(path, O_CLOEXEC);
    if (s->fd < 0)
        return pp_fail_errno(err, errno, "cannot make the file %s, to unpack compressed shards into", path);
    pp_status st = pp_storage_open(s->storage, &(struct pp_open){.name = path, .attempt = "open"}, &s->object,
                                   err);
    unlink(path);
    if (st != PP_OK)
        return st;
    *strrchr(path, '/') = '\0';
    if (fstatvfs(s->fd, &disk) == 0 && disk.f_bavail * (uint64_t)disk.f_frsize < s->index->bytes)
        return pp_fail(
            err, PP_E_NO_SPACE,
            "the compressed shards unpack to %s, and %s has %s left: unpack them elsewhere first, or name a "
            "directory with more room by --index-dir",
            pp_text_bytes(need, sizeof(need), (double)s->index->bytes), path,
            pp_text_bytes(have, sizeof(have), (double)disk.f_bavail * (double)disk.f_frsize));
    return PP_OK;
}

pp_status pp_mds_spool_open(const struct pp_storage *storage, const struct pp_mds_index *index,
                            const char *index_dir, struct pp_mds_spool **out, struct pp_err *err)
{
    struct pp_mds_spool *s = calloc(1, sizeof(*s));
    *out = NULL;
    if (!s)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu shards", index->shards);
    s->storage = storage;
    s->index = index;
    s->fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->state = calloc(index->shards, sizeof(*s->state));
    s->why = calloc(index->shards, sizeof(*s->why));
    pp_status st = s->state && s->why
                       ? make_file(s, index_dir, err)
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu shards", index->shards);
    if (st != PP_OK)
        pp_mds_spool_close(s);
    else
        *out = s;
    return st;
}

void pp_mds_spool_close(struct pp_mds_spool *s)
{
    if (!s)
        return;
    pp_object_close(&s->object);
    if (s->fd >= 0)
        close(s->fd);
    for (size_t i = 0; s->why && i < s->index->shards; i++)
        free(s->why[i]);
    free(s->why);
    free(s->state);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

const struct pp_object *pp_mds_spool_object(const struct pp_mds_spool *s)
{
    return &s->object;
}

/* ---- unpacking ---- */

static pp_status write_piece(const struct pp_mds_spool *s, const uint8_t *bytes, size_t n, uint64_t at,
                             struct pp_err *err)
{
    while (n > 0) {
        ssize_t did = pwrite(s->fd, bytes, n, (off_t)at);
        if (did < 0 && errno != EINTR)
            return pp_fail_errno(err, errno, "cannot write unpacked shards into the cache directory");
        if (did > 0)
            bytes += did, n -= (size_t)did, at += (uint64_t)did;
    }
    return PP_OK;
}

static pp_status unpack_all(const struct pp_mds_spool *s, const struct pp_mds_shard *shard,
                            struct pp_unpack *u, struct pp_err *err)
{
    uint64_t n = 0;
    size_t got = 1;
    uint8_t *buf = malloc(BLOCK);
    pp_status st = buf ? PP_OK : pp_fail(err, PP_E_NO_MEMORY, "no memory to unpack %s", shard->packed);
    while (st == PP_OK && got > 0) {
        st = pp_unpack_read(u, buf, BLOCK, &got, err);
        if (st == PP_OK && got > shard->bytes - n)
            st = pp_fail(err, PP_E_CORRUPT, "%s unpacks to more than the %llu bytes of the index",
                         shard->packed, (unsigned long long)shard->bytes);
        if (st == PP_OK)
            st = write_piece(s, buf, got, shard->begin + n, err);
        n += got;
    }
    free(buf);
    if (st == PP_OK && n != shard->bytes)
        st = pp_fail(err, PP_E_CORRUPT, "%s unpacks to %llu bytes instead of %llu", shard->packed,
                     (unsigned long long)n, (unsigned long long)shard->bytes);
    return st;
}

static pp_status unpack_shard(const struct pp_mds_spool *s, size_t i, struct pp_err *err)
{
    const struct pp_mds_shard *shard = &s->index->shard[i];
    const struct pp_open how = {.name = shard->packed,
                                .how = PP_OPEN_SEQUENTIAL,
                                .attempt = "open the shard"};
    uint8_t head[PP_UNPACK_HEAD];
    struct pp_read r = {.name = shard->packed, .size = sizeof(head), .buf = head, .cap = sizeof(head)};
    struct pp_object o;
    struct pp_unpack *u = NULL;
    enum pp_packed kind;
    pp_status st = pp_storage_open(s->storage, &how, &o, err);
    if (st != PP_OK)
        return st;
    st = pp_object_read_at(&o, &r, err);
    if (st == PP_OK && (kind = pp_packed_kind(r.data, r.got)) == PP_PACKED_NOT)
        st = pp_fail(err, PP_E_UNSUPPORTED,
                     "%s is neither Zstandard nor gzip: other compressions are not unpacked", shard->packed);
    if (st == PP_OK)
        st = pp_unpack_open(&o, shard->packed, kind, BLOCK, &u, err);
    if (st == PP_OK)
        st = unpack_all(s, shard, u, err);
    pp_unpack_close(u);
    pp_object_close(&o);
    return st;
}

pp_status pp_mds_spool_ready(struct pp_mds_spool *s, size_t i, struct pp_err *err)
{
    struct pp_err why = {0};
    pp_status st = PP_OK;
    pthread_mutex_lock(&s->lock);
    while (s->state[i] == UNPACKING)
        pthread_cond_wait(&s->changed, &s->lock);
    if (s->state[i] == PACKED) {
        s->state[i] = UNPACKING;
        pthread_mutex_unlock(&s->lock);
        st = unpack_shard(s, i, &why);
        pthread_mutex_lock(&s->lock);
        int lasting = st == PP_E_CORRUPT || st == PP_E_UNSUPPORTED;
        if (lasting)
            s->why[i] = strdup(why.text);
        s->state[i] = st == PP_OK ? READY : lasting ? BROKEN : PACKED;
        pthread_cond_broadcast(&s->changed);
    } else if (s->state[i] == BROKEN) {
        st = PP_E_CORRUPT;
        snprintf(why.text, sizeof(why.text), "%s", s->why[i] ? s->why[i] : "a shard does not unpack");
    }
    pthread_mutex_unlock(&s->lock);
    return st == PP_OK ? PP_OK : pp_fail(err, st, "%s", why.text);
}
