#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/mds_shards.h"
#include "probe/dataset/shard_index.h"
#include "probe/dataset/unpack.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <jansson.h>

/* ---- the index ---- */

enum { MOST_SHARDS = 1 << 20 };

struct parsing {
    const char *dir, *name; /* for paths and sentences */
    struct pp_mds_index *out;
    json_t *columns[3]; /* of the first shard: names, encodings, sizes */
};

static const char *const column_keys[] = {"column_names", "column_encodings", "column_sizes"};

static pp_status fail_memory(const struct parsing *p, struct pp_err *err)
{
    return pp_fail(err, PP_E_NO_MEMORY, "no memory for the index %s", p->name);
}

/* The columns of shard i: the first shard says what they are, and the others agree. */
static pp_status read_columns(struct parsing *p, const json_t *shard, size_t i, struct pp_err *err)
{
    for (int k = 0; k < 3; k++) {
        json_t *value = json_object_get(shard, column_keys[k]);
        if (i == 0)
            p->columns[k] = value;
        else if (!json_equal(value, p->columns[k]))
            return pp_fail(
                err, PP_E_UNSUPPORTED,
                "%s: shard %zu has other columns than the first one: only shards of one kind are read",
                p->name, i);
    }
    if (i > 0)
        return PP_OK;
    size_t n = json_array_size(p->columns[0]);
    if (n == 0 || n > PP_MDS_COLUMNS || json_array_size(p->columns[1]) != n ||
        json_array_size(p->columns[2]) != n)
        return pp_fail(
            err, PP_E_CORRUPT,
            "%s is no index of MDS shards: it must have 1 to %d columns, each with an encoding and a size",
            p->name, PP_MDS_COLUMNS);
    p->out->column = calloc(n, sizeof(*p->out->column));
    if (!p->out->column)
        return fail_memory(p, err);
    p->out->columns = n;
    for (size_t k = 0; k < n; k++) {
        struct pp_mds_column *c = &p->out->column[k];
        const char *name = json_string_value(json_array_get(p->columns[0], k)),
                   *encoding = json_string_value(json_array_get(p->columns[1], k));
        json_int_t size = json_integer_value(json_array_get(p->columns[2], k));
        if (!name || !encoding || size < 0 || size > UINT32_MAX)
            return pp_fail(err, PP_E_CORRUPT, "%s: column %zu has no name, no encoding, or no size", p->name,
                           k);
        c->size = (uint32_t)size;
        if (!(c->name = strdup(name)) || !(c->encoding = strdup(encoding)))
            return fail_memory(p, err);
    }
    return PP_OK;
}

/* A file of the index: below its directory, whatever the index says. *out NULL: there is none. */
static pp_status read_file(const struct parsing *p, const json_t *file, char **out, struct pp_err *err)
{
    const char *name = json_string_value(json_object_get(file, "basename"));
    *out = NULL;
    if (!name)
        return PP_OK;
    if (!name[0] || name[0] == '/' || strcmp(name, "..") == 0 || strncmp(name, "../", 3) == 0 ||
        strstr(name, "/../") || (strlen(name) >= 3 && strcmp(name + strlen(name) - 3, "/..") == 0))
        return pp_fail(err, PP_E_UNSUPPORTED, "%s names a shard outside of its directory", p->name);
    return asprintf(out, "%s/%s", p->dir, name) < 0 ? (*out = NULL, fail_memory(p, err)) : PP_OK;
}

pp_status pp_mds_index_parse(const uint8_t *text, size_t size, const char *dir, const char *name,
                             struct pp_mds_index *out, struct pp_err *err)
{
    struct parsing p = {.dir = dir, .name = name, .out = out};
    json_error_t why;
    *out = (struct pp_mds_index){0};
    json_t *root = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        return pp_fail(err, PP_E_CORRUPT, "%s is not JSON: line %d: %s", name, why.line, why.text);
    const json_t *shards = json_object_get(root, "shards");
    json_int_t version = json_integer_value(json_object_get(root, "version"));
    size_t n = json_array_size(shards);
    pp_status st = PP_OK;
    if (!shards)
        st = pp_fail(err, PP_E_UNSUPPORTED, "%s is no index of MDS shards", name);
    else if (version != 2)
        st = pp_fail(err, PP_E_UNSUPPORTED, "%s has version %lld: version 2 is read", name,
                     (long long)version);
    else if (n == 0 || n > MOST_SHARDS)
        st = pp_fail(err, n ? PP_E_UNSUPPORTED : PP_E_EMPTY, "%s lists %zu shards, of at most %d", name, n,
                     MOST_SHARDS);
    else if (!(out->shard = calloc(n, sizeof(*out->shard))))
        st = fail_memory(&p, err);
    else
        out->shards = n;
    for (size_t i = 0; st == PP_OK && i < n; i++) {
        struct pp_mds_shard *s = &out->shard[i];
        const json_t *json = json_array_get(shards, i), *raw = json_object_get(json, "raw_data");
        const char *format = json_string_value(json_object_get(json, "format"));
        json_int_t samples = json_integer_value(json_object_get(json, "samples")),
                   bytes = json_integer_value(json_object_get(raw, "bytes"));
        if (!format || strcmp(format, "mds") != 0)
            st = pp_fail(err, PP_E_UNSUPPORTED, "%s: shard %zu has the format %.20s: \"mds\" is read", name,
                         i, format ? format : "of no name");
        if (st == PP_OK)
            st = read_file(&p, raw, &s->raw, err);
        if (st == PP_OK)
            st = read_file(&p, json_object_get(json, "zip_data"), &s->packed, err);
        if (st == PP_OK && (!s->raw || samples < 0 || samples > UINT32_MAX / 4 - 2 ||
                            bytes < (samples + 2) * 4 || bytes > UINT32_MAX))
            st = pp_fail(err, PP_E_CORRUPT,
                         "%s: shard %zu has no name, no samples, or no size that could hold them", name, i);
        if (st != PP_OK)
            break;
        s->samples = (uint32_t)samples;
        s->bytes = (uint64_t)bytes;
        s->first = out->samples;
        s->begin = out->bytes;
        out->samples += s->samples;
        out->bytes += s->bytes;
        st = read_columns(&p, json, i, err);
    }
    json_decref(root);
    return st;
}

void pp_mds_index_free(struct pp_mds_index *index)
{
    for (size_t i = 0; index->column && i < index->columns; i++) {
        free(index->column[i].name);
        free(index->column[i].encoding);
    }
    for (size_t i = 0; index->shard && i < index->shards; i++) {
        free(index->shard[i].raw);
        free(index->shard[i].packed);
    }
    free(index->column);
    free(index->shard);
    *index = (struct pp_mds_index){0};
}

/* ---- unpacked shards ---- */

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

pp_status pp_mds_spool_open(const struct pp_storage *storage, const struct pp_mds_index *index,
                            const char *index_dir, struct pp_mds_spool **out, struct pp_err *err)
{
    char path[PATH_MAX], need[32], have[32];
    struct pp_shard_places p;
    struct statvfs disk;
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
                       ? PP_OK
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu shards", index->shards);
    /* One file without a name, in the directory where indexes are kept. */
    pp_shard_cache_places(index->shard[0].raw, 0, index_dir, &p);
    char *slash = strrchr(p.write, '/');
    if (st == PP_OK && slash)
        pp_shard_cache_prepare(&p);
    snprintf(path, sizeof(path), "%.*s/pipeprobe-mds-XXXXXX", slash ? (int)(slash - p.write) : 4,
             slash ? p.write : "/tmp");
    if (st == PP_OK && (s->fd = mkostemp(path, O_CLOEXEC)) < 0)
        st = pp_fail_errno(err, errno, "cannot make the file %s, to unpack compressed shards into", path);
    if (st == PP_OK) {
        st = pp_storage_open(storage, &(struct pp_open){.name = path, .attempt = "open"}, &s->object, err);
        unlink(path);
    }
    *strrchr(path, '/') = '\0';
    if (st == PP_OK && fstatvfs(s->fd, &disk) == 0 && disk.f_bavail * (uint64_t)disk.f_frsize < index->bytes)
        st = pp_fail(
            err, PP_E_NO_SPACE,
            "the compressed shards unpack to %s, and %s has %s left: unpack them elsewhere first, or name a "
            "directory with more room by --index-dir",
            pp_text_bytes(need, sizeof(need), (double)index->bytes), path,
            pp_text_bytes(have, sizeof(have), (double)disk.f_bavail * (double)disk.f_frsize));
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

/* ---- unpacking ---- */

static pp_status unpack_shard(const struct pp_mds_spool *s, size_t i, struct pp_err *err)
{
    const struct pp_mds_shard *shard = &s->index->shard[i];
    const char *name = shard->packed;
    const struct pp_open how = {.name = name, .how = PP_OPEN_SEQUENTIAL, .attempt = "open the shard"};
    uint8_t head[PP_UNPACK_HEAD], *buf = NULL;
    struct pp_read r = {.name = name, .size = sizeof(head), .buf = head, .cap = sizeof(head)};
    struct pp_object o;
    struct pp_unpack *u = NULL;
    enum pp_packed kind;
    pp_status st = pp_storage_open(s->storage, &how, &o, err);
    if (st != PP_OK)
        return st;
    st = pp_object_read_at(&o, &r, err);
    if (st == PP_OK && (kind = pp_packed_kind(r.data, r.got)) == PP_PACKED_NOT)
        st = pp_fail(err, PP_E_UNSUPPORTED,
                     "%s is neither Zstandard nor gzip: other compressions are not unpacked", name);
    if (st == PP_OK)
        st = pp_unpack_open(&o, name, kind, BLOCK, &u, err);
    if (st == PP_OK && !(buf = malloc(BLOCK)))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to unpack %s", name);
    uint64_t n = 0;
    for (size_t got = 1; st == PP_OK && got > 0; n += got) {
        st = pp_unpack_read(u, buf, BLOCK, &got, err);
        if (st == PP_OK && got > shard->bytes - n)
            st = pp_fail(err, PP_E_CORRUPT, "%s unpacks to more than the %llu bytes of the index", name,
                         (unsigned long long)shard->bytes);
        for (size_t done = 0; st == PP_OK && done < got;) {
            ssize_t did = pwrite(s->fd, buf + done, got - done, (off_t)(shard->begin + n + done));
            if (did < 0 && errno != EINTR)
                st = pp_fail_errno(err, errno, "cannot write unpacked shards into the cache directory");
            done += did > 0 ? (size_t)did : 0;
        }
    }
    if (st == PP_OK && n != shard->bytes)
        st = pp_fail(err, PP_E_CORRUPT, "%s unpacks to %llu bytes instead of %llu", name,
                     (unsigned long long)n, (unsigned long long)shard->bytes);
    free(buf);
    pp_unpack_close(u);
    pp_object_close(&o);
    return st;
}

pp_status pp_mds_spool_ready(struct pp_mds_spool *s, size_t i, const struct pp_object **object,
                             struct pp_err *err)
{
    struct pp_err why = {0};
    pp_status st = PP_OK;
    *object = &s->object;
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
