/* MosaicML Streaming shards (MDS): a directory with an index.json, which mds_shards.h reads. A sample is
 * found by two offsets at the head of its shard. Its image column, or its column of tokens of one size, is
 * what the loader gets. Compressed shards are unpacked whole when a sample of them is first read
 * (mds_shards.h). */
#include "probe/base/array.h"
#include "probe/base/bytes.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/mds_shards.h"

#include <malloc.h>

enum { PROBE_BYTES = 4096 };
static const char index_name[] = "index.json";

/* Of a storage whose requests are dear: the table at the head of a shard is asked for once, when a sample of
 * the shard is first read, and kept; so is the open object, whose ETag holds for all its samples. A sample is
 * then one request. Memory: 4 bytes a sample, MOST_BYTES at most; beyond that, and of shards with more than
 * 4 million samples, a sample's two offsets are asked for each time. */
#define MOST_BYTES ((uint64_t)256 << 20)
enum { MOST_TABLE = 16 << 20, TABLE_AT = 4 };

struct shard {
    struct pp_object file; /* not open: it is packed, or files are many */
    _Atomic(uint8_t *) table;
};

struct mds {
    struct pp_dataset base;
    struct pp_mds_index index;
    const struct pp_storage *storage;
    struct pp_mds_spool *spool;        /* NULL: no shard is compressed */
    struct shard *shard;               /* NULL: reads are cheap, and each finds its sample by itself */
    atomic_uint_least64_t table_bytes; /* of the tables that are kept, or being read */
    unsigned char *packed;             /* by shard: whether it is read from the spool */
    size_t content, label;             /* columns; label NONE: there is none */
    int label_signed;
};
#define NONE SIZE_MAX

/* ---- samples ---- */

/* The table of a shard, samples + 1 little-endian u32, read from its open file if need be; NULL: none is
 * kept, and there is no failure. Any thread may ask; a table that two ask for at once may be read twice. */
static pp_status find_table(struct mds *m, size_t i, const struct pp_object *file, const uint8_t **out,
                            struct pp_err *err)
{
    const struct pp_mds_shard *s = &m->index.shard[i];
    size_t size = ((size_t)s->samples + 1) * 4;
    *out = atomic_load_explicit(&m->shard[i].table, memory_order_acquire);
    if (*out || size > MOST_TABLE)
        return PP_OK;
    if (atomic_fetch_add_explicit(&m->table_bytes, size, memory_order_relaxed) + size > MOST_BYTES) {
        atomic_fetch_sub_explicit(&m->table_bytes, size, memory_order_relaxed);
        return PP_OK;
    }
    uint8_t *own = malloc(size), *there = NULL;
    struct pp_read r = {.name = s->raw, .offset = TABLE_AT, .size = size, .buf = own, .cap = size};
    pp_status st = own ? pp_object_read_at(file, &r, err)
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory for the offsets of %s", s->raw);
    if (st == PP_OK && r.got < size)
        st = pp_fail(err, PP_E_CORRUPT, "%s is truncated: it ends in the offsets of its %u samples", s->raw,
                     s->samples);
    /* The one that is stored first is everybody's. release: pairs with the acquire above */
    if (st == PP_OK && atomic_compare_exchange_strong_explicit(&m->shard[i].table, &there, own,
                                                               memory_order_acq_rel, memory_order_acquire)) {
        *out = own;
        return PP_OK;
    }
    *out = there;
    atomic_fetch_sub_explicit(&m->table_bytes, size, memory_order_relaxed);
    free(own);
    return st;
}

/* One sample to be read. */
struct request {
    const struct pp_object *file;
    const char *path;
    uint64_t begin;  /* of the shard in the file */
    uint64_t number; /* of the sample in the shard */
    const struct pp_mds_shard *shard;
    const struct pp_read_context *context;
    const uint8_t *table; /* of the shard's offsets; NULL: they are read */
};

static pp_status read_bytes(const struct request *q, struct pp_read *r, struct pp_err *err)
{
    r->name = q->path;
    r->context = q->context;
    r->offset += q->begin;
    pp_status st = pp_object_read_at(q->file, r, err);
    if (st == PP_OK && r->got < r->size)
        return pp_fail(err, PP_E_CORRUPT, "%s is truncated: it ends in sample %llu of its %u", q->path,
                       (unsigned long long)q->number, q->shard->samples);
    return st;
}

/* What the record of a sample holds, into s. The offsets are no read of a sample's bytes: an injected fault
 * counts once. */
static pp_status read_record(const struct request *q, struct pp_sample *s, struct pp_err *err)
{
    char what[512];
    uint8_t bounds[8];
    unsigned long long number = (unsigned long long)q->number;
    struct pp_read r = {.offset = 4 + q->number * 4,
                        .size = sizeof(bounds),
                        .buf = bounds,
                        .cap = sizeof(bounds),
                        .data = q->table ? q->table + q->number * 4 : bounds};
    struct request quiet = *q;
    quiet.context = NULL;
    pp_status st = q->table ? PP_OK : read_bytes(&quiet, &r, err);
    if (st != PP_OK)
        return st;
    uint32_t from = pp_le32(r.data), to = pp_le32(r.data + 4);
    if (from > to || to > q->shard->bytes)
        return pp_fail(err, PP_E_CORRUPT, "%s is damaged: sample %llu lies from byte %u to %u of %llu",
                       q->path, number, from, to, (unsigned long long)q->shard->bytes);
    if (from == to)
        return pp_fail(err, PP_E_EMPTY, "sample %llu in %s has 0 bytes", number, q->path);
    snprintf(what, sizeof(what), "cannot read sample %llu in %s", number, q->path);
    st = pp_sample_reserve(s, to - from, what, err);
    if (st != PP_OK)
        return st;
    r = (struct pp_read){.offset = from, .size = to - from, .buf = s->buf, .cap = s->cap};
    st = read_bytes(q, &r, err);
    s->cache_known = r.cache_known;
    s->cache_hit_bytes = r.cache_hit_bytes;
    s->size = st == PP_OK ? r.size : 0;
    return st;
}

struct part {
    const uint8_t *data;
    size_t size;
};

/* The bytes of each column within a record, in their order. -1: it does not hold what its sizes say. */
static int split_record(const struct pp_mds_index *index, const uint8_t *sample, size_t size,
                        struct part *part)
{
    size_t sizes = 0, at;
    for (size_t i = 0; i < index->columns; i++)
        sizes += index->column[i].size == 0 ? 4 : 0;
    if (sizes > size)
        return -1;
    at = sizes;
    sizes = 0;
    for (size_t i = 0; i < index->columns; i++) {
        size_t n = index->column[i].size;
        if (n == 0) {
            n = pp_le32(sample + sizes);
            sizes += 4;
        }
        if (n > size - at)
            return -1;
        part[i] = (struct part){sample + at, n};
        at += n;
    }
    return 0;
}

static pp_status mds_read(const struct pp_dataset *d, uint64_t index, const struct pp_read_context *context,
                          struct pp_sample *s, struct pp_err *err)
{
    struct mds *m = (struct mds *)d;
    size_t i = pp_last_at(&m->index.shard->first, m->index.shards, sizeof(*m->index.shard), index);
    struct request q = {.shard = &m->index.shard[i],
                        .number = index - m->index.shard[i].first,
                        .context = context};
    struct pp_object opened = {0};
    pp_status st;
    if (m->packed[i]) {
        q.path = q.shard->packed;
        q.begin = q.shard->begin;
        st = pp_mds_spool_ready(m->spool, i, &q.file, err);
    } else {
        q.path = q.shard->raw;
        q.file = m->shard ? &m->shard[i].file : &opened;
        st = PP_OK;
        if (!q.file->storage) {
            q.file = &opened;
            st = pp_storage_open(m->storage, &(struct pp_open){.name = q.path, .attempt = "open the shard"},
                                 &opened, err);
        }
        if (st == PP_OK && m->shard)
            st = find_table(m, i, q.file, &q.table, err);
    }
    if (st == PP_OK)
        st = read_record(&q, s, err);
    pp_object_close(&opened);
    if (st != PP_OK)
        return st;
    /* The column that is the sample, out of the record, and the label's. */
    struct part part[PP_MDS_COLUMNS];
    if (split_record(&m->index, s->buf, s->size, part) != 0) {
        s->size = 0;
        return pp_fail(err, PP_E_CORRUPT, "sample %llu in %s is damaged: its columns are longer than it",
                       (unsigned long long)q.number, q.path);
    }
    if (m->label != NONE) { /* a little-endian integer of 1 to 8 bytes; a negative one is none */
        const struct part *p = &part[m->label];
        int64_t v = p->size == 0 || p->size > 8 ? -1 : 0;
        for (size_t k = p->size; v >= 0 && k-- > 0;)
            v = (int64_t)((uint64_t)v << 8 | p->data[k]);
        if (m->label_signed && v >= 0 && p->size < 8 && v >> (p->size * 8 - 1))
            v = -1;
        s->label = v < 0 ? -1 : v;
    }
    s->data = part[m->content].data;
    s->size = part[m->content].size;
    if (s->size == 0)
        return pp_fail(err, PP_E_EMPTY, "column %s of sample %llu in %s has 0 bytes",
                       m->index.column[m->content].name, (unsigned long long)q.number, q.path);
    return PP_OK;
}

static void mds_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    const struct mds *m = (const struct mds *)d;
    size_t i = pp_last_at(&m->index.shard->first, m->index.shards, sizeof(*m->index.shard), index);
    const struct pp_mds_shard *s = &m->index.shard[i];
    snprintf(buf, size, "%s:%llu", m->packed[i] ? s->packed : s->raw, (unsigned long long)(index - s->first));
}

static void mds_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    const struct mds *m = (const struct mds *)d;
    char samples[32], shards[32];
    pp_text_counted(samples, sizeof(samples), (double)d->len, "sample", "samples");
    pp_text_counted(shards, sizeof(shards), (double)m->index.shards, "shard", "shards");
    snprintf(buf, size, "MDS, %s in %s%s, column %s", samples, shards, m->spool ? " (compressed)" : "",
             m->index.column[m->content].name);
}

static uint64_t mds_footprint(const struct pp_dataset *d)
{
    const struct mds *m = (const struct mds *)d;
    uint64_t bytes = sizeof(*m) + malloc_usable_size(m->index.shard) + malloc_usable_size(m->packed) +
                     malloc_usable_size(m->shard) +
                     atomic_load_explicit(&m->table_bytes, memory_order_relaxed);
    for (size_t i = 0; i < m->index.shards; i++)
        bytes += malloc_usable_size(m->index.shard[i].raw) + malloc_usable_size(m->index.shard[i].packed);
    return bytes;
}

static void mds_close(struct pp_dataset *d)
{
    struct mds *m = (struct mds *)d;
    pp_mds_spool_close(m->spool);
    for (size_t i = 0; m->shard && i < m->index.shards; i++) {
        pp_object_close(&m->shard[i].file);
        free(atomic_load_explicit(&m->shard[i].table, memory_order_relaxed));
    }
    free(m->shard);
    pp_mds_index_free(&m->index);
    free(m->packed);
}

static const struct pp_dataset_ops mds_ops = {.read = mds_read,
                                              .path = mds_path,
                                              .describe = mds_describe,
                                              .footprint = mds_footprint,
                                              .close = mds_close};

/* ---- columns ---- */

/* In the order in which a sample is looked for. */
enum { IMAGE, BYTES, TOKENS, KINDS };

/* "ndarray:uint16:2048" and the like are tokens: of 2 or 4 bytes, the same number in each sample. */
static int kind_of(const struct pp_mds_column *c)
{
    static const char *const types[] = {"ndarray:uint16:", "ndarray:int16:", "ndarray:uint32:",
                                        "ndarray:int32:"};
    if (pp_text_has_word("jpeg png webp", c->encoding))
        return IMAGE;
    if (strcmp(c->encoding, "bytes") == 0)
        return BYTES;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (c->size > 0 && strncmp(c->encoding, types[i], strlen(types[i])) == 0)
            return TOKENS;
    return KINDS;
}

/* The column asked for, else the first image, else bytes that may be one, else tokens; and the label's. */
static pp_status find_columns(struct mds *m, const char *feature, const char *spec, struct pp_err *err)
{
    static const char with_sign[] = "int int8 int16 int32 int64", without[] = "uint8 uint16 uint32 uint64";
    const struct pp_mds_column *column = m->index.column;
    size_t n = m->index.columns;
    char columns[200] = "";
    m->content = m->label = NONE;
    for (int kind = 0; kind < KINDS && m->content == NONE; kind++)
        for (size_t i = 0; i < n && m->content == NONE; i++)
            if ((!feature || strcmp(feature, column[i].name) == 0) && kind_of(&column[i]) == kind)
                m->content = i;
    for (size_t i = 0; i < n && m->content == NONE; i++)
        pp_text_add(columns, sizeof(columns), "%s%s (%s)", i ? ", " : "", column[i].name, column[i].encoding);
    if (m->content == NONE && feature)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "%s has no column %s with an image (jpeg, png, bytes) or tokens of one size: its columns are %s",
            spec, feature, columns);
    if (m->content == NONE)
        return pp_fail(
            err, PP_E_UNSUPPORTED,
            "%s has no column with an image (jpeg, png, bytes) or tokens of one size (its columns are %s): record your "
            "own loader with 'pipeprobe exec -- python train.py'",
            spec, columns);
    m->base.content = kind_of(&column[m->content]) == TOKENS ? PP_CONTENT_TOKENS : PP_CONTENT_IMAGE;
    for (const char *const *name = pp_label_names; *name && m->label == NONE; name++)
        for (size_t i = 0; i < n; i++)
            if (strcmp(column[i].name, *name) == 0 && (pp_text_has_word(with_sign, column[i].encoding) ||
                                                       pp_text_has_word(without, column[i].encoding))) {
                m->label = i;
                m->label_signed = pp_text_has_word(with_sign, column[i].encoding);
            }
    return PP_OK;
}

/* ---- open ---- */

/* What shards are there: raw or packed, and as many bytes as the index says. */
struct finding {
    struct mds *m;
    uint64_t *bytes; /* of a raw one */
};

/* A shard that lies there uncompressed is read as it is, as the streaming package does. */
static pp_status find_shard(void *ctx, uint64_t i, struct pp_err *err)
{
    const struct finding *f = ctx;
    struct mds *m = f->m;
    const struct pp_mds_shard *s = &m->index.shard[i];
    struct pp_place_info info;
    f->bytes[i] = PP_SIZE_UNKNOWN;
    pp_status st = pp_storage_stat(m->storage, NULL, s->raw, "open the shard", &info, err);
    if (st == PP_OK)
        f->bytes[i] = info.size;
    if (st == PP_OK || st == PP_E_TRANSIENT || st == PP_E_INTERRUPTED)
        return st; /* other failures: a bucket that may not be listed refuses what is not there */
    m->packed[i] = s->packed &&
                   pp_storage_stat(m->storage, NULL, s->packed, "open the shard", &info, NULL) == PP_OK;
    if (m->packed[i])
        return PP_OK;
    return pp_fail(
        err, PP_E_NOT_FOUND,
        "shard %s is missing (number %llu of the %zu of the index): add it, or download the whole data set",
        s->packed ? s->packed : s->raw, (unsigned long long)i + 1, m->index.shards);
}

/* Which shards are there, and how they will be read. */
static pp_status find_shards(struct mds *m, const struct pp_dataset_place *place, struct pp_err *err)
{
    size_t n = m->index.shards, files = SIZE_MAX; /* files: that may stay open */
    int any = 0;                                  /* is packed */
    struct finding f = {.m = m, .bytes = calloc(n, sizeof(*f.bytes))};
    const struct pp_each each = {
        .n = n, .piece = find_shard, .ctx = &f, .opts = place->opts, .what = "looking for shards"};
    m->packed = calloc(n, 1);
    pp_status st = m->packed && f.bytes ? pp_each_run(&each, err)
                                        : pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu shards", n);
    for (size_t i = 0; st == PP_OK && i < n; i++) {
        const struct pp_mds_shard *s = &m->index.shard[i];
        if (f.bytes[i] != s->bytes && f.bytes[i] != PP_SIZE_UNKNOWN)
            pp_warn(&m->base.warnings, "%s has %llu bytes instead of the %llu of the index", s->raw,
                    (unsigned long long)f.bytes[i], (unsigned long long)s->bytes);
        any |= m->packed[i];
    }
    free(f.bytes);
    if (st == PP_OK && any)
        st = pp_mds_spool_open(m->storage, &m->index, place->options->shards.index_dir, &m->spool, err);
    if (st != PP_OK || pp_storage_request_bytes(m->storage) == 0)
        return st;
    if (!(m->shard = calloc(n, sizeof(*m->shard))))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the tables of %zu shards", n);
    /* Opening asks nothing of a storage behind requests; of files of this machine (--like) as many are opened
     * as may be. */
    if (pp_storage_flags(m->storage) & PP_STORAGE_LOCAL)
        files = (size_t)pp_each_descriptors();
    for (size_t i = 0; st == PP_OK && i < n && i < files; i++)
        if (!m->packed[i])
            st = pp_storage_open(m->storage,
                                 &(struct pp_open){.name = m->index.shard[i].raw,
                                                   .attempt = "open the shard"},
                                 &m->shard[i].file, err);
    return st;
}

static pp_status mds_open(struct pp_dataset_place *place, struct pp_dataset **out, struct pp_err *err)
{
    struct mds *m = calloc(1, sizeof(*m));
    if (!m)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->spec);
    m->base.ops = &mds_ops;
    *out = &m->base;
    m->storage = place->storage;
    /* From a directory with an index.json, or the index.json itself: a web server has no listing. */
    int itself = place->info.kind != PP_PLACE_DIRECTORY;
    size_t n = strlen(place->spec) - (itself ? sizeof(index_name) : 0);
    char *dir = strndup(place->spec, n), *name = NULL;
    struct pp_read r = {.name = itself ? place->spec : index_name, .limit = PP_MDS_INDEX_BYTES};
    pp_status st = dir && asprintf(&name, "%s/%s", dir, index_name) >= 0
                       ? PP_OK
                       : pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->spec);
    if (st == PP_OK)
        st = pp_storage_read_whole(place->storage, itself ? NULL : &place->root, &r, err);
    if (st == PP_OK && r.got == 0)
        st = pp_fail(err, PP_E_CORRUPT, "%s has 0 bytes", name);
    if (st == PP_OK)
        st = pp_mds_index_parse(r.data, r.got, dir, name, &m->index, err);
    free(r.buf);
    free(name);
    free(dir);
    if (st == PP_OK)
        st = find_columns(m, place->options->feature, place->spec, err);
    if (st == PP_OK && m->index.samples == 0)
        st = pp_fail(err, PP_E_EMPTY, "no sample in %s: its %zu shards are empty", place->spec,
                     m->index.shards);
    if (st == PP_OK)
        st = find_shards(m, place, err);
    m->base.len = m->index.samples;
    return st;
}

/* An index.json that names the format near its beginning. */
static int mds_probe(const struct pp_dataset_place *place, struct pp_err *why)
{
    uint8_t head[PROBE_BYTES];
    size_t n = strlen(place->spec), m = sizeof(index_name) - 1;
    int found = 0, itself = place->info.kind == PP_PLACE_OBJECT && n > m &&
                            strcmp(place->spec + n - m, index_name) == 0 && place->spec[n - m - 1] == '/';
    const char *name = itself ? place->spec : index_name;
    const struct pp_names *others = place->info.kind == PP_PLACE_DIRECTORY ? &place->listing->others : NULL;
    for (size_t i = 0; others && i < others->n && !found; i++)
        found = strcmp(others->bytes + others->at[i], index_name) == 0;
    if (!itself && !found)
        return 0;
    size_t got = pp_read_head(place->storage, itself ? NULL : &place->root, name, head, sizeof(head));
    return memmem(head, got, "\"mds\"", 5) ? 95 : 0;
}

const struct pp_dataset_format pp_format_mds = {
    .name = "mds",
    .help = "a directory of MDS shards",
    .shares = "feature index-dir",
    .probe = mds_probe,
    .open = mds_open,
};
