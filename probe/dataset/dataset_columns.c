/* Files of columns (Parquet, Arrow IPC, HDF5), read at random: the row's value of the chosen column is the
 * sample. Tables decode whole pages and keep the latest; what they decode beside what a sample needs is
 * counted (columns/pages.h). */
#include "probe/base/array.h"
#include "probe/base/text.h"
#include "probe/columns/pages.h"
#include "probe/columns/table.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/shard_names.h"

#include <malloc.h>

#define NONE SIZE_MAX
#define KEEP_PAGES ((uint64_t)64 << 20) /* bytes of decoded pages */

/* A kind of file: what the three formats at the end differ in. */
struct kind {
    struct pp_shard_files files;
    pp_table_opener *open;
};

/* Which columns of a table are the sample and its label. */
struct choice {
    size_t column[PP_TABLE_USED]; /* of the sample, in order, then the label's */
    size_t parts, n;              /* of the sample; with the label */
    enum pp_content content;
};

struct columns {
    struct pp_dataset base;
    const struct kind *kind;
    struct pp_shard_names names;
    struct pp_table **table; /* one per name */
    uint64_t *first;         /* number of its first sample */
    struct pp_pages *pages;
    uint64_t keep_open;   /* the first so many files stay open */
    struct choice choice; /* of the first table that has rows */
    size_t chosen;        /* that table */
};

/* ---- samples ---- */

static const struct pp_column *part_of(const struct columns *c, size_t part)
{
    return &c->table[c->chosen]->column[c->choice.column[part]];
}

/* One row that is read. */
struct row {
    const struct columns *c;
    struct pp_table *table;
    uint64_t number; /* in the file */
    const struct pp_read_context *context;
    uint64_t read_bytes, hit_bytes;
    int cache_known;
};

/* The storage's part: bytes that lie in the file as they are. */
static pp_status read_in_file(struct row *row, const struct pp_value *v, uint8_t *to, struct pp_err *err)
{
    const struct pp_table_place *place = &row->table->place;
    struct pp_read r = {
        .context = row->context, .offset = v->at, .size = (size_t)v->size, .buf = to, .cap = (size_t)v->size};
    pp_status st = pp_table_read(place, &r, err);
    if (st == PP_OK && r.got < r.size)
        st = pp_fail(err, PP_E_CORRUPT, "%s is truncated: it ends within row %llu", place->path,
                     (unsigned long long)row->number);
    row->cache_known |= st == PP_OK && r.cache_known;
    row->read_bytes += st == PP_OK ? r.got : 0;
    row->hit_bytes += st == PP_OK ? r.cache_hit_bytes : 0;
    return st;
}

static pp_status value_of(struct row *row, size_t column, struct pp_value *v, struct pp_err *err)
{
    pp_status st = row->table->ops->value(row->table, row->number, column, row->context, v, err);
    row->cache_known |= v->cache_known;
    row->read_bytes += v->read_bytes;
    row->hit_bytes += v->hit_bytes;
    return st;
}

/* The value of one column behind what the sample holds already. */
static pp_status append_value(struct row *row, size_t part, struct pp_sample *s, struct pp_err *err)
{
    struct pp_value v;
    char what[512];
    size_t held = s->size;
    const char *path = row->table->place.path, *name = part_of(row->c, part)->name;
    uint64_t chunk = row->table->column[row->table->used[part]].chunk_bytes;
    snprintf(what, sizeof(what), "a chunk of %s in %s", name, path);
    if (chunk > pp_sample_limit(s))
        return pp_fail_sample_memory(err, what, chunk, pp_sample_limit(s));
    pp_status st = value_of(row, part, &v, err);
    if (st != PP_OK)
        return st;
    if (v.is_null || v.size == 0)
        st = pp_fail(err, PP_E_EMPTY, "column %s of row %llu in %s %s", name, (unsigned long long)row->number,
                     path, v.is_null ? "is null" : "has 0 bytes");
    snprintf(what, sizeof(what), "cannot read row %llu of %s", (unsigned long long)row->number, path);
    if (st == PP_OK)
        st = pp_sample_reserve(s, held + v.size, what, err);
    if (st == PP_OK && v.data)
        memcpy(s->buf + held, v.data, (size_t)v.size);
    else if (st == PP_OK)
        st = read_in_file(row, &v, s->buf + held, err);
    if (st == PP_OK)
        s->size = held + (size_t)v.size;
    pp_value_release(&v);
    return st;
}

static pp_status columns_read(const struct pp_dataset *d, uint64_t index,
                              const struct pp_read_context *context, struct pp_sample *s, struct pp_err *err)
{
    const struct columns *c = (const struct columns *)d;
    size_t i = pp_last_at(c->first, c->names.n, sizeof(*c->first), index), parts = c->choice.parts;
    struct row row = {.c = c, .table = c->table[i], .number = index - c->first[i], .context = context};
    pp_status st = PP_OK;
    for (size_t part = 0; st == PP_OK && part < parts; part++)
        st = append_value(&row, part, s, err);
    if (st == PP_OK && c->choice.n > parts) { /* a whole number that is no label is none, and so is a null */
        const struct pp_column *label = part_of(c, parts);
        struct row uncounted = {.table = row.table, .number = row.number};
        struct pp_value v;
        uint8_t bytes[8] = {0};
        st = value_of(&row, parts, &v, err);
        if (st == PP_OK && !v.is_null && v.size == label->width && v.size <= sizeof(bytes)) {
            if (v.data)
                memcpy(bytes, v.data, (size_t)v.size);
            else
                st = read_in_file(&uncounted, &v, bytes, err);
            if (label->number == PP_COLUMN_SIGNED && bytes[label->width - 1] & 0x80)
                memset(bytes + label->width, 0xff, sizeof(bytes) - label->width);
            memcpy(&s->label, bytes, sizeof(s->label));
            s->label = s->label < 0 ? -1 : s->label;
        }
        pp_value_release(&v);
    }
    if (st != PP_OK) {
        s->size = 0;
        return st;
    }
    /* What was read is more than the sample, or nothing where its page was kept: the same share of the
     * sample. */
    s->cache_known = row.cache_known || row.read_bytes == 0;
    s->cache_hit_bytes = row.read_bytes
                             ? (size_t)((double)row.hit_bytes / (double)row.read_bytes * (double)s->size)
                             : s->size;
    pp_count(&pp_pages_counters, PP_PAGES_COUNT_SAMPLES, 1);
    pp_count(&pp_pages_counters, PP_PAGES_COUNT_USED, s->size);
    return PP_OK;
}

static void columns_path(const struct pp_dataset *d, uint64_t index, char *buf, size_t size)
{
    const struct columns *c = (const struct columns *)d;
    size_t i = pp_last_at(c->first, c->names.n, sizeof(*c->first), index);
    snprintf(buf, size, "%s:%llu", c->names.path[i], (unsigned long long)(index - c->first[i]));
}

static void columns_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    const struct columns *c = (const struct columns *)d;
    char samples[32], files[32];
    pp_text_counted(samples, sizeof(samples), (double)d->len, "row", "rows");
    pp_text_counted(files, sizeof(files), (double)c->names.n, "file", "files");
    if (c->choice.parts == 1)
        snprintf(buf, size, "%s, %s in %s, column %s", c->kind->files.what, samples, files,
                 part_of(c, 0)->name);
    else
        snprintf(buf, size, "%s, %s in %s, %zu columns of numbers", c->kind->files.what, samples, files,
                 c->choice.parts);
}

static uint64_t columns_footprint(const struct pp_dataset *d)
{
    const struct columns *c = (const struct columns *)d;
    uint64_t bytes = sizeof(*c) + malloc_usable_size(c->table) + malloc_usable_size(c->first) +
                     malloc_usable_size(c->names.path) + (c->pages ? pp_pages_footprint(c->pages) : 0);
    for (size_t i = 0; i < c->names.n; i++)
        bytes += malloc_usable_size(c->names.path[i]) + c->table[i]->ops->footprint(c->table[i]);
    return bytes;
}

static void columns_close(struct pp_dataset *d)
{
    struct columns *c = (struct columns *)d;
    pp_pages_destroy(c->pages); /* before the tables that its pages are of */
    for (size_t i = 0; c->table && i < c->names.n; i++)
        pp_table_close(c->table[i]);
    free(c->table);
    free(c->first);
    pp_shard_names_free(&c->names);
}

static const struct pp_dataset_ops columns_ops = {.read = columns_read,
                                                  .path = columns_path,
                                                  .describe = columns_describe,
                                                  .footprint = columns_footprint,
                                                  .close = columns_close};

/* ---- which columns ---- */

const char *const pp_label_names[] = {"label", "class", "cls", "target", NULL};

/* In the order in which a sample is looked for: images, then tokens, then rows of a table, then text. */
enum { IMAGE, TOKENS, FRACTIONS, NUMBER, TEXT, KINDS };

static int kind_of(const struct pp_column *c)
{
    switch (c->kind) {
    case PP_COLUMN_BYTES: return c->is_text ? TEXT : IMAGE;
    case PP_COLUMN_NUMBERS: return c->number == PP_COLUMN_FLOAT ? FRACTIONS : TOKENS;
    case PP_COLUMN_NUMBER: return NUMBER;
    case PP_COLUMN_OTHER: break;
    }
    return KINDS;
}

/* The columns of the sample, then the label's. feature: the column asked for; NULL: the first binary one
 * (images), else the first list of whole numbers (tokens), else the first list of fractions, else all columns
 * of one number each (a row of a table), else the first of text. PP_E_UNSUPPORTED: none of them, or the one
 * asked for is of another kind; the sentence lists them. */
static pp_status choose_columns(const struct pp_table *t, const char *feature, const char *spec,
                                struct choice *out, struct pp_err *err)
{
    size_t label = NONE;
    char columns[240] = "";
    *out = (struct choice){0};
    for (const char *const *name = pp_label_names; *name && label == NONE; name++)
        for (size_t i = 0; i < t->columns && label == NONE; i++)
            if (kind_of(&t->column[i]) == NUMBER && t->column[i].number != PP_COLUMN_FLOAT &&
                strcmp(t->column[i].name, *name) == 0)
                label = i;
    for (int kind = 0; kind < KINDS && out->parts == 0; kind++)
        for (size_t i = 0; i < t->columns && (out->parts == 0 || (kind == NUMBER && !feature)); i++) {
            const struct pp_column *c = &t->column[i];
            /* "image" is a column of its own, or the struct of image.bytes. */
            size_t n = feature ? strlen(feature) : 0;
            int is_called = strncmp(c->name, feature ? feature : "", n) == 0 &&
                            (!c->name[n] || strcmp(c->name + n, ".bytes") == 0);
            if (kind_of(c) != kind || (feature ? !is_called : i == label))
                continue;
            out->content = kind == IMAGE  ? PP_CONTENT_IMAGE
                           : kind == TEXT ? PP_CONTENT_TEXT
                                          : PP_CONTENT_TOKENS;
            if (out->parts < PP_TABLE_USED - 1)
                out->column[out->parts++] = i;
        }
    if (out->parts > 0) {
        out->n = out->parts;
        if (label != NONE)
            out->column[out->n++] = label;
        return PP_OK;
    }
    for (size_t i = 0; i < t->columns; i++)
        pp_text_add(columns, sizeof(columns), "%s%s (%s)", i ? ", " : "", t->column[i].name,
                    t->column[i].type);
    if (feature)
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%s has no column %s of bytes, numbers or lists of numbers: its columns are %s", spec,
                       feature, columns);
    return pp_fail(
        err, PP_E_UNSUPPORTED,
        "%s has no column of bytes, numbers or lists of numbers (its columns are %s): record your own "
        "loader with 'pipeprobe exec -- python train.py'",
        spec, columns);
}

/* ---- open ---- */

static pp_status open_table(void *ctx, uint64_t i, struct pp_err *err)
{
    struct columns *c = ctx;
    const char *path = c->names.path[i];
    struct pp_place_info info;
    struct pp_table_place place = {.storage = c->names.storage, .path = path, .pages = c->pages};
    pp_status st = pp_storage_open(c->names.storage, &(struct pp_open){.name = path, .attempt = "open"},
                                   &place.object, err);
    if (st == PP_OK)
        st = pp_object_info(&place.object, path, &info, err);
    if (st == PP_OK && (info.kind != PP_PLACE_OBJECT || info.size == 0))
        st = pp_fail(err, info.kind == PP_PLACE_OBJECT ? PP_E_CORRUPT : PP_E_UNSUPPORTED, "%s %s", path,
                     info.kind == PP_PLACE_OBJECT ? "has 0 bytes" : "is not a regular file");
    if (st == PP_OK && info.size == PP_SIZE_UNKNOWN)
        st = pp_fail(err, PP_E_UNSUPPORTED, "%s does not say its size, which reading it by columns needs",
                     path);
    if (st != PP_OK) {
        pp_object_close(&place.object);
        return st;
    }
    struct pp_allowance opening = pp_allowance_of(PP_ALLOWED_TABLE, info.size);
    place.size = info.size;
    place.opening = &opening;
    st = c->kind->open(&place, &c->table[i], err);
    if (st == PP_OK)
        c->table[i]->place.opening = NULL;
    if (st == PP_OK && i >= c->keep_open)
        pp_object_close(&c->table[i]->place.object);
    return st;
}

static pp_status columns_open(struct pp_dataset_place *place, struct pp_dataset **out, struct pp_err *err)
{
    struct columns *c = calloc(1, sizeof(*c));
    if (!c)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->spec);
    c->base.ops = &columns_ops;
    *out = &c->base;
    c->kind = place->format->kind;
    c->keep_open = pp_storage_flags(place->storage) & PP_STORAGE_LOCAL ? pp_each_descriptors() : UINT64_MAX;
    pp_status st = pp_shard_names(place->storage, place->spec, &c->kind->files, &c->names, err);
    if (st == PP_OK)
        st = pp_pages_create(KEEP_PAGES, &c->pages, err);
    if (st != PP_OK)
        return st;
    size_t n = c->names.n;
    c->table = calloc(n, sizeof(*c->table));
    c->first = calloc(n, sizeof(*c->first));
    if (!c->table || !c->first)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu files", n);
    const struct pp_each each = {
        .n = n, .piece = open_table, .ctx = c, .opts = place->opts, .what = "reading what the files hold"};
    st = pp_each_run(&each, err);
    if (st != PP_OK)
        return st;
    while (c->chosen + 1 < n && c->table[c->chosen]->rows == 0)
        c->chosen++;
    const struct pp_table *first = c->table[c->chosen];
    st = choose_columns(first, place->options->feature, place->spec, &c->choice, err);
    for (size_t i = 0; st == PP_OK && i < n; i++) {
        struct pp_table *t = c->table[i];
        c->first[i] = c->base.len;
        c->base.len += t->rows;
        if (t->rows == 0) {
            pp_warn(&c->base.warnings, "%s holds no rows", t->place.path);
            continue;
        }
        /* The same columns as in the first file: they are used there. */
        for (size_t k = 0; k < c->choice.n; k++) {
            const struct pp_column *want = &first->column[c->choice.column[k]], *has = t->column;
            while (has < t->column + t->columns && strcmp(has->name, want->name) != 0)
                has++;
            if (has == t->column + t->columns)
                return pp_fail(err, PP_E_UNSUPPORTED,
                               "%s has no column %s, which %s has: only files of one schema are read",
                               t->place.path, want->name, first->place.path);
            if (has->kind != want->kind || has->width != want->width || has->number != want->number)
                return pp_fail(err, PP_E_UNSUPPORTED,
                               "column %s is %s in %s and %s in %s: only files of one schema are read",
                               want->name, has->type, t->place.path, want->type, first->place.path);
            t->used[t->n_used++] = (size_t)(has - t->column);
        }
        st = t->ops->use ? t->ops->use(t, err) : PP_OK;
    }
    if (st == PP_OK && c->base.len == 0)
        st = pp_fail(err, PP_E_EMPTY, "no sample in %s: its %zu file%s no rows", place->spec, n,
                     n == 1 ? " holds" : "s hold");
    c->base.content = c->choice.content;
    return st;
}

/* ---- the formats ---- */

/* As Hugging Face's `datasets` saves them. What it leaves of earlier steps beside its data is not data. */
static int is_arrow(const char *name)
{
    const char *slash = strrchr(name, '/');
    return strncmp(slash ? slash + 1 : name, "cache-", 6) != 0;
}

/* Hugging Face's image columns ({bytes, path}) are the bytes within. Of HDF5 a row, by the first dimension of
 * a dataset, is a sample. */
static const struct kind parquet = {{"Parquet", ".parquet", ".parquet .pq", NULL, NULL}, pp_parquet_open},
                         arrow = {{"Arrow", ".arrow", ".arrow .feather .ipc", is_arrow, NULL}, pp_arrow_open},
                         hdf5 = {{"HDF5", ".h5", ".h5 .hdf5 .he5", NULL, NULL}, pp_hdf5_open};

#define COLUMNS_FORMAT(of) \
    .files = &of.files, .kind = &of, .shares = "feature", .probe = pp_files_probe, .open = columns_open
const struct pp_dataset_format pp_format_parquet = {.name = "parquet",
                                                    .help = ".parquet files",
                                                    COLUMNS_FORMAT(parquet)},
                               pp_format_arrow = {.name = "arrow",
                                                  .help = ".arrow files",
                                                  COLUMNS_FORMAT(arrow)},
                               pp_format_hdf5 = {.name = "hdf5", .help = ".h5 files", COLUMNS_FORMAT(hdf5)};
