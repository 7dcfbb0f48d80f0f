/* Files of columns, read at random: the row's value of the chosen column is the sample. Tables decode whole
 * pages and keep the latest; what they decode beside what a sample needs is counted (columns/pages.h). */
#include "probe/dataset/dataset_columns.h"
#include "probe/base/err.h"
#include "probe/base/text.h"
#include "probe/columns/pages.h"
#include "probe/dataset/columns_choose.h"
#include "probe/dataset/dataset_each.h"
#include "probe/dataset/dataset_tfrecord.h"
#include "probe/dataset/dataset_walk.h"
#include "probe/dataset/foreign.h"
#include "probe/dataset/format.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPENING_THREADS = 8 };
#define KEEP_PAGES ((uint64_t)64 << 20) /* bytes of decoded pages */

struct columns {
    struct pp_dataset base;
    const struct pp_columns_kind *kind;
    const struct pp_storage *storage;
    struct pp_shard_names names;
    struct pp_table **table; /* one per name */
    uint64_t *first;         /* number of its first sample */
    struct pp_pages *pages;
    uint64_t keep_open;              /* the first so many files stay open */
    struct pp_columns_choice choice; /* of the first table that has rows */
    size_t chosen;                   /* that table */
};

static struct columns *columns_of(const struct pp_dataset *d)
{
    return (struct columns *)d;
}

/* ---- samples ---- */

static size_t table_of(const struct columns *c, uint64_t index)
{
    size_t low = 0, high = c->names.n;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (c->first[mid] <= index)
            low = mid;
        else
            high = mid;
    }
    return low;
}

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
    struct pp_object opened = {0};
    pp_status st = PP_OK;
    struct pp_read r = {.name = place->path,
                        .context = row->context,
                        .offset = v->at,
                        .size = (size_t)v->size,
                        .buf = to,
                        .cap = (size_t)v->size};
    if (!place->object.storage)
        st = pp_storage_open(place->storage, &(struct pp_open){.name = place->path, .attempt = "open"},
                             &opened, err);
    if (st == PP_OK)
        st = pp_object_read_at(opened.storage ? &opened : &place->object, &r, err);
    pp_object_close(&opened);
    if (st == PP_OK && r.got < r.size)
        st = pp_fail(err, PP_E_CORRUPT, "%s is truncated: it ends within row %llu", place->path,
                     (unsigned long long)row->number);
    row->cache_known |= st == PP_OK && r.cache_known;
    row->read_bytes += st == PP_OK ? r.got : 0;
    row->hit_bytes += st == PP_OK ? r.cache_hit_bytes : 0;
    return st;
}

static pp_status take_value(struct row *row, size_t column, struct pp_value *v, struct pp_err *err)
{
    pp_status st = row->table->ops->value(row->table, row->number, column, row->context, v, err);
    row->cache_known |= v->cache_known;
    row->read_bytes += v->read_bytes;
    row->hit_bytes += v->hit_bytes;
    return st;
}

/* The value of one column behind what the sample holds already. */
static pp_status take_part(struct row *row, size_t part, struct pp_sample *s, struct pp_err *err)
{
    struct pp_value v;
    char what[512];
    size_t held = s->size;
    const char *path = row->table->place.path, *name = part_of(row->c, part)->name;
    pp_status st = take_value(row, part, &v, err);
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

/* A whole number that is no label is none, and so is a null. */
static pp_status take_label(struct row *row, struct pp_sample *s, struct pp_err *err)
{
    struct pp_value v;
    const struct pp_column *c = part_of(row->c, row->c->choice.parts);
    uint8_t bytes[8] = {0};
    int64_t label;
    pp_status st = take_value(row, row->c->choice.parts, &v, err);
    if (st != PP_OK)
        return st;
    if (!v.is_null && v.size == c->width && v.size <= sizeof(bytes)) {
        if (v.data)
            memcpy(bytes, v.data, (size_t)v.size);
        else
            st = read_in_file(&(struct row){.table = row->table, .number = row->number}, &v, bytes, err);
        if (c->number == PP_COLUMN_SIGNED && bytes[c->width - 1] & 0x80)
            memset(bytes + c->width, 0xff, sizeof(bytes) - c->width);
        memcpy(&label, bytes, sizeof(label));
        s->label = label < 0 ? -1 : label;
    }
    pp_value_release(&v);
    return st;
}

static pp_status columns_read(const struct pp_dataset *d, uint64_t index,
                              const struct pp_read_context *context, struct pp_sample *s, struct pp_err *err)
{
    const struct columns *c = columns_of(d);
    size_t i = table_of(c, index);
    struct row row = {.c = c, .table = c->table[i], .number = index - c->first[i], .context = context};
    pp_status st = PP_OK;
    for (size_t part = 0; st == PP_OK && part < c->choice.parts; part++)
        st = take_part(&row, part, s, err);
    if (st == PP_OK && c->choice.n > c->choice.parts)
        st = take_label(&row, s, err);
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
    const struct columns *c = columns_of(d);
    size_t i = table_of(c, index);
    snprintf(buf, size, "%s:%llu", c->names.path[i], (unsigned long long)(index - c->first[i]));
}

static void columns_describe(const struct pp_dataset *d, char *buf, size_t size)
{
    const struct columns *c = columns_of(d);
    char samples[32], files[32];
    pp_text_counted(samples, sizeof(samples), (double)d->len, "row", "rows");
    pp_text_counted(files, sizeof(files), (double)c->names.n, "file", "files");
    if (c->choice.parts == 1)
        snprintf(buf, size, "%s, %s in %s, column %s", c->kind->what, samples, files, part_of(c, 0)->name);
    else
        snprintf(buf, size, "%s, %s in %s, %zu columns of numbers", c->kind->what, samples, files,
                 c->choice.parts);
}

static uint64_t columns_footprint(const struct pp_dataset *d)
{
    const struct columns *c = columns_of(d);
    uint64_t bytes = sizeof(*c) + malloc_usable_size(c->table) + malloc_usable_size(c->first) +
                     malloc_usable_size(c->names.path) + (c->pages ? pp_pages_footprint(c->pages) : 0);
    for (size_t i = 0; i < c->names.n; i++)
        bytes += malloc_usable_size(c->names.path[i]) + c->table[i]->ops->footprint(c->table[i]);
    return bytes;
}

static void columns_close(struct pp_dataset *d)
{
    struct columns *c = columns_of(d);
    pp_pages_destroy(c->pages); /* before the tables that its pages are of */
    for (size_t i = 0; c->table && i < c->names.n; i++)
        pp_table_close(c->table[i]);
    free(c->table);
    free(c->first);
    pp_shard_names_free(&c->names);
}

#define COLUMNS_OPS \
    .read = columns_read, .path = columns_path, .describe = columns_describe, \
    .footprint = columns_footprint, .close = columns_close
static const struct pp_dataset_ops ops_of[] = {
    [PP_CONTENT_IMAGE] = {.content = PP_CONTENT_IMAGE, COLUMNS_OPS},
    [PP_CONTENT_TOKENS] = {.content = PP_CONTENT_TOKENS, COLUMNS_OPS},
    [PP_CONTENT_TEXT] = {.content = PP_CONTENT_TEXT, COLUMNS_OPS},
};

/* ---- open ---- */

static pp_status open_table(void *ctx, uint64_t i, struct pp_err *err)
{
    struct columns *c = ctx;
    const char *path = c->names.path[i];
    struct pp_place_info info;
    struct pp_table_place place = {.storage = c->storage, .path = path, .pages = c->pages};
    pp_status st = pp_storage_open(c->storage, &(struct pp_open){.name = path, .attempt = "open"},
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
    place.size = info.size;
    st = c->kind->open(&place, &c->table[i], err);
    if (st == PP_OK && i >= c->keep_open)
        pp_object_close(&c->table[i]->place.object);
    return st;
}

static pp_status use_columns(struct columns *c, const char *feature, const char *spec, struct pp_err *err)
{
    size_t column[PP_TABLE_USED];
    while (c->chosen + 1 < c->names.n && c->table[c->chosen]->rows == 0)
        c->chosen++;
    const struct pp_table *first = c->table[c->chosen];
    pp_status st = pp_columns_choose(first, feature, spec, &c->choice, err);
    for (size_t i = 0; st == PP_OK && i < c->names.n; i++) {
        struct pp_table *t = c->table[i];
        c->first[i] = c->base.len;
        c->base.len += t->rows;
        if (t->rows == 0) {
            pp_warn(&c->base.warnings, "%s holds no rows", t->place.path);
            continue;
        }
        st = pp_columns_match(first, &c->choice, t, column, err);
        if (st == PP_OK)
            st = t->ops->use(t, column, c->choice.n, err);
    }
    if (st == PP_OK && c->base.len == 0)
        st = pp_fail(err, PP_E_EMPTY, "no sample in %s: its %zu file%s no rows", spec, c->names.n,
                     c->names.n == 1 ? " holds" : "s hold");
    c->base.ops = &ops_of[c->choice.content];
    return st;
}

pp_status pp_columns_open(const struct pp_dataset_place *place, const struct pp_columns_kind *kind,
                          struct pp_dataset **out, struct pp_err *err)
{
    const struct pp_dataset_options *all = place->opts->options;
    struct columns *c = calloc(1, sizeof(*c));
    if (!c)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->spec);
    c->base.ops = &ops_of[PP_CONTENT_IMAGE];
    c->kind = kind;
    c->storage = place->storage;
    c->keep_open = pp_storage_flags(place->storage) & PP_STORAGE_LOCAL ? pp_each_descriptors() : UINT64_MAX;
    struct pp_each each = {.threads = OPENING_THREADS,
                           .piece = open_table,
                           .ctx = c,
                           .opts = place->opts,
                           .what = "reading what the files hold"};
    pp_status st = pp_shard_names(place->storage, place->spec, kind->files, &c->names, err);
    if (st == PP_OK)
        st = pp_pages_create(KEEP_PAGES, &c->pages, err);
    if (st != PP_OK)
        goto out;
    c->table = calloc(c->names.n, sizeof(*c->table));
    c->first = calloc(c->names.n, sizeof(*c->first));
    if (!c->table || !c->first) {
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for %zu files", c->names.n);
        goto out;
    }
    each.n = c->names.n;
    st = pp_each_run(&each, err);
    if (st == PP_OK)
        st = use_columns(c, all ? pp_tfrecord_opts(all)->feature : NULL, place->spec, err);
out:
    if (st != PP_OK)
        pp_dataset_close(&c->base);
    else
        *out = &c->base;
    return st;
}

/* ---- probe ---- */

static int is_of_kind(const struct pp_foreign *f, const char *nouns)
{
    size_t n = f ? strlen(f->noun) : 0;
    while (f && *nouns) {
        size_t size = strcspn(nouns, ",");
        if (size == n && strncmp(nouns, f->noun, n) == 0)
            return 1;
        nouns += size + (nouns[size] == ',');
    }
    return 0;
}

/* A pattern or a list that names such files; without its braces and stars it ends as they do. */
static int names_files(const char *spec, const struct pp_columns_kind *kind)
{
    return strpbrk(spec, "*?{,") && kind->files->is(spec);
}

int pp_columns_probe(const struct pp_dataset_place *place, const struct pp_columns_kind *kind)
{
    const struct pp_listing *l = place->listing;
    if (place->info.kind == PP_PLACE_OBJECT)
        return is_of_kind(place->foreign, kind->nouns) ? 95 : 0;
    if (place->info.kind != PP_PLACE_DIRECTORY)
        return names_files(place->spec, kind) ? 70 : 0;
    for (size_t i = 0; i < l->others.n; i++) {
        const char *name = l->others.bytes + l->others.at[i];
        if (kind->files->is(name) &&
            is_of_kind(pp_foreign_look(place->storage, &place->root, name), kind->nouns))
            return l->images.n == 0 && l->subdirs.n == 0 ? 90 : 10;
    }
    return 0;
}
