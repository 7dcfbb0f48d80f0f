/* HDF5 files by libhdf5: each dataset whose first dimension is the number of rows is a column. The library
 * reads for one thread at a time. Only what lies in the file itself is read: links into other files, external
 * storage and virtual datasets are left out. */
#include "probe/base/clock.h"
#include "probe/base/err.h"
#include "probe/columns/hdf5_library.h"
#include "probe/columns/table.h"
#include "probe/columns/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 8, MOST_LINKS = 100000, LARGEST_ROW = 512 << 20, CHUNK_CACHE = 1 << 20 };

struct leaf {
    char *path; /* of the dataset in the file */
    unsigned long long rows, row_bytes;
    unsigned long long chunk_rows, chunk_bytes; /* 0: the data lie in one piece */
    /* opened by use */
    pp_h5 data, type, space;
    int rank, is_vlen, is_string;
    unsigned long long dims[PP_H5_DIMS];
    uint64_t last_chunk; /* under the lock */
};

struct hdf5 {
    struct pp_table t;
    const struct pp_hdf5 *lib;
    pp_h5 file;
    struct leaf *leaf; /* beside t.column */
    size_t used[PP_TABLE_USED], n_used;
    int links; /* seen */
    int no_memory;
};

static struct hdf5 *hdf5_of(const struct pp_table *t)
{
    return (struct hdf5 *)t;
}

/* ---- what is there ---- */

/* Kind, number and width of a column from its type; what it is in words otherwise. */
static const char *set_number(const struct hdf5 *h, pp_h5 type, struct pp_column *c)
{
    size_t width = h->lib->H5Tget_size(type);
    int class = h->lib->H5Tget_class(type);
    if (class != PP_H5_INTEGER && class != PP_H5_FLOAT)
        return "of another type";
    if ((width != 1 && width != 2 && width != 4 && width != 8) ||
        (width > 1 && h->lib->H5Tget_order(type) != 0))
        return "number that is not little-endian";
    c->width = (unsigned)width;
    c->number = class == PP_H5_FLOAT             ? PP_COLUMN_FLOAT
                : h->lib->H5Tget_sign(type) == 0 ? PP_COLUMN_UNSIGNED
                                                 : PP_COLUMN_SIGNED;
    return NULL;
}

static const char *set_kind(const struct hdf5 *h, struct leaf *l, pp_h5 type, struct pp_column *c)
{
    int class = h->lib->H5Tget_class(type);
    const char *other = NULL;
    if (class == PP_H5_VLEN) {
        pp_h5 of = h->lib->H5Tget_super(type);
        other = l->rank == 1 ? set_number(h, of, c) : "array of lists";
        h->lib->H5Tclose(of);
        l->is_vlen = 1;
        c->kind = c->width == 1 ? PP_COLUMN_BYTES : PP_COLUMN_NUMBERS;
    } else if (class == PP_H5_STRING || class == PP_H5_OPAQUE) {
        l->is_string = class == PP_H5_STRING && h->lib->H5Tis_variable_str(type) > 0;
        c->is_text = class == PP_H5_STRING;
        c->kind = PP_COLUMN_BYTES;
        other = l->rank == 1 ? NULL : "array of strings";
    } else {
        other = set_number(h, type, c);
        c->kind = l->rank == 1 ? PP_COLUMN_NUMBER : PP_COLUMN_NUMBERS;
    }
    if (c->kind == PP_COLUMN_BYTES)
        c->width = 0;
    return other;
}

/* Where the data are: within the file, in chunks or not. */
static const char *set_layout(const struct hdf5 *h, struct leaf *l, pp_h5 data)
{
    unsigned long long chunk[PP_H5_DIMS] = {0};
    pp_h5 how = h->lib->H5Dget_create_plist(data);
    int layout = how >= 0 ? h->lib->H5Pget_layout(how) : -1;
    const char *other = NULL;
    if (layout < 0 || layout == PP_H5_VIRTUAL || h->lib->H5Pget_external_count(how) != 0)
        other = "data in other files";
    else if (layout == PP_H5_CHUNKED && h->lib->H5Pget_chunk(how, PP_H5_DIMS, chunk) == l->rank &&
             chunk[0] > 0) {
        unsigned long long bytes = 1;
        for (int i = 0; i < l->rank && bytes < (unsigned long long)1 << 40; i++)
            bytes *= chunk[i] ? chunk[i] : 1;
        l->chunk_rows = chunk[0];
        l->chunk_bytes = bytes; /* of elements; use makes it bytes */
    }
    if (how >= 0)
        h->lib->H5Pclose(how);
    return other;
}

static const char *look(struct hdf5 *h, struct leaf *l, pp_h5 data, struct pp_column *c)
{
    pp_h5 space = h->lib->H5Dget_space(data), type = h->lib->H5Dget_type(data);
    const char *other = "of a shape that is not read";
    l->rank = space >= 0 ? h->lib->H5Sget_simple_extent_ndims(space) : -1;
    if (type >= 0 && l->rank >= 1 && l->rank < PP_H5_DIMS &&
        h->lib->H5Sget_simple_extent_dims(space, l->dims, NULL) == l->rank) {
        l->rows = l->dims[0];
        l->row_bytes = h->lib->H5Tget_size(type);
        for (int i = 1; i < l->rank; i++)
            l->row_bytes = l->dims[i] && l->row_bytes <= LARGEST_ROW / l->dims[i] ? l->row_bytes * l->dims[i]
                                                                                  : 0;
        other = set_kind(h, l, type, c);
        if (!other)
            other = set_layout(h, l, data);
        l->chunk_bytes *= h->lib->H5Tget_size(type);
        if (!other && (l->row_bytes == 0 || l->row_bytes > LARGEST_ROW))
            other = "rows of more than 512 MiB, or of none";
    }
    if (space >= 0)
        h->lib->H5Sclose(space);
    if (type >= 0)
        h->lib->H5Tclose(type);
    return other;
}

static void add_dataset(struct hdf5 *h, const char *path, pp_h5 data)
{
    char number[16];
    struct pp_column *c = pp_table_add_column(&h->t, path + 1);
    if (!c) {
        h->no_memory = h->t.columns < PP_TABLE_COLUMNS;
        return;
    }
    struct leaf *l = &h->leaf[h->t.columns - 1];
    *l = (struct leaf){.path = strdup(path), .data = -1, .type = -1, .space = -1, .last_chunk = UINT64_MAX};
    h->no_memory |= !l->path;
    for (char *at = c->name; *at; at++)
        *at = *at == '/' ? '.' : *at;
    const char *other = look(h, l, data, c);
    snprintf(c->type, sizeof(c->type), "%s%s", !other && c->kind == PP_COLUMN_NUMBERS ? "array of " : "",
             other                        ? other
             : c->kind == PP_COLUMN_BYTES ? (c->is_text ? "string" : "binary")
                                          : pp_column_number_name(c, number, sizeof(number)));
    c->kind = other ? PP_COLUMN_OTHER : c->kind;
}

static void walk(struct hdf5 *h, pp_h5 group, const char *path, int depth)
{
    struct pp_h5_group info = {0};
    if (depth > DEEPEST || h->lib->H5Gget_info(group, &info) < 0)
        return;
    for (unsigned long long i = 0; i < info.links && h->links++ < MOST_LINKS && !h->no_memory; i++) {
        char name[PP_TABLE_NAME], full[PP_TABLE_NAME * 2];
        int link[32] = {-1}; /* larger than H5L_info_t of any version */
        ssize_t n = h->lib->H5Lget_name_by_idx(group, ".", 0, 0, i, name, sizeof(name), 0);
        if (n <= 0 || (size_t)n >= sizeof(name) || h->lib->link_info(group, name, link, 0) < 0 ||
            link[0] != 0 || snprintf(full, sizeof(full), "%s/%s", path, name) >= PP_TABLE_NAME)
            continue;
        pp_h5 object = h->lib->H5Oopen(group, name, 0);
        if (object < 0)
            continue;
        int type = h->lib->H5Iget_type(object);
        if (type == PP_H5_DATASET)
            add_dataset(h, full, object);
        else if (type == PP_H5_GROUP)
            walk(h, object, full, depth + 1);
        h->lib->H5Oclose(object);
    }
}

/* The length that most columns have is the number of rows, of several the largest; the others are no columns
 * of the table. */
static void count_rows(struct hdf5 *h)
{
    size_t most = 0;
    for (size_t i = 0; i < h->t.columns; i++) {
        size_t same = 0;
        for (size_t k = 0; k < h->t.columns; k++)
            same += h->t.column[k].kind != PP_COLUMN_OTHER && h->leaf[k].rows == h->leaf[i].rows;
        if (h->t.column[i].kind != PP_COLUMN_OTHER &&
            (same > most || (same == most && h->leaf[i].rows > h->t.rows))) {
            most = same;
            h->t.rows = h->leaf[i].rows;
        }
    }
    for (size_t i = 0; i < h->t.columns; i++)
        if (h->t.column[i].kind != PP_COLUMN_OTHER && h->leaf[i].rows != h->t.rows) {
            h->t.column[i].kind = PP_COLUMN_OTHER;
            snprintf(h->t.column[i].type, sizeof(h->t.column[i].type), "of another length");
        }
}

/* ---- values ---- */

static void free_value(void *hold, struct pp_pages *pages)
{
    (void)pages;
    free(hold);
}

/* A chunk is read and decoded whole; the library keeps 1 MiB of them by default. */
static void count_chunk(struct leaf *l, uint64_t row, uint64_t began_ns)
{
    uint64_t chunk = l->chunk_rows ? row / l->chunk_rows : 0;
    if (!l->chunk_rows || (chunk == l->last_chunk && l->chunk_bytes <= CHUNK_CACHE))
        return;
    l->last_chunk = chunk;
    pp_count(&pp_pages_counters, PP_PAGES_COUNT_DECODED, 1);
    pp_count(&pp_pages_counters, PP_PAGES_COUNT_DECODED_BYTES, l->chunk_bytes);
    pp_count(&pp_pages_counters, PP_PAGES_COUNT_DECODE_NS, pp_now_ns() - began_ns);
}

/* What a list or a string of any length points to, copied; the library's own memory is given back. */
static int take_pointed(struct hdf5 *h, const struct leaf *l, pp_h5 mem, unsigned width, struct pp_value *out)
{
    struct pp_h5_vlen *v = out->hold;
    const void *from = l->is_string ? *(void **)out->hold : v->p;
    size_t size = l->is_string ? (from ? strlen(from) : 0) : v->n * (width ? width : 1);
    uint8_t *copy = size <= LARGEST_ROW ? malloc(size + 1) : NULL;
    if (copy && size)
        memcpy(copy, from, size);
    h->lib->H5Dvlen_reclaim(l->type, mem, 0, out->hold);
    free(out->hold);
    out->hold = copy;
    out->size = size;
    return copy ? 0 : -1;
}

static int read_row(struct hdf5 *h, struct leaf *l, uint64_t row, unsigned width, struct pp_value *out)
{
    unsigned long long start[PP_H5_DIMS] = {row}, count[PP_H5_DIMS];
    uint64_t began_ns = pp_now_ns();
    memcpy(count, l->dims, sizeof(count));
    count[0] = 1;
    pp_h5 mem = h->lib->H5Screate_simple(l->rank, count, NULL);
    int failed = mem < 0 || h->lib->H5Sselect_hyperslab(l->space, 0, start, NULL, count, NULL) < 0 ||
                 h->lib->H5Dread(l->data, l->type, mem, l->space, 0, out->hold) < 0;
    if (!failed) {
        count_chunk(l, row, began_ns);
        if (l->is_vlen || l->is_string)
            failed = take_pointed(h, l, mem, width, out) != 0;
    }
    if (mem >= 0)
        h->lib->H5Sclose(mem);
    return failed;
}

/* Of a fixed size: what fills it up is no part of the text. */
static void cut_filling(struct pp_value *out)
{
    const uint8_t *bytes = out->hold;
    while (out->size > 0 && bytes[out->size - 1] == 0)
        out->size--;
}

static pp_status hdf5_value(struct pp_table *t, uint64_t row, size_t column, const struct pp_read_context *c,
                            struct pp_value *out, struct pp_err *err)
{
    struct hdf5 *h = hdf5_of(t);
    struct leaf *l = &h->leaf[h->used[column]];
    const struct pp_column *col = &t->column[h->used[column]];
    (void)c;
    *out = (struct pp_value){.pages = t->place.pages, .release = free_value};
    out->size = l->row_bytes;
    out->hold = calloc(1, (size_t)l->row_bytes + sizeof(struct pp_h5_vlen));
    if (!out->hold)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a row of %s", t->place.path);
    pp_hdf5_lock();
    int failed = read_row(h, l, row, col->width, out);
    pp_hdf5_unlock();
    if (failed) {
        pp_value_release(out);
        return pp_fail(err, PP_E_CORRUPT,
                       "libhdf5 cannot read row %llu of %s in %s: it is truncated, damaged, or packed by a "
                       "filter that is not installed",
                       (unsigned long long)row, l->path, t->place.path);
    }
    if (col->is_text && !l->is_string)
        cut_filling(out);
    out->data = out->hold;
    return PP_OK;
}

/* ---- the table ---- */

static pp_status hdf5_use(struct pp_table *t, const size_t *columns, size_t n, struct pp_err *err)
{
    struct hdf5 *h = hdf5_of(t);
    int failed = 0;
    memcpy(h->used, columns, n * sizeof(*columns));
    h->n_used = n;
    pp_hdf5_lock();
    for (size_t i = 0; i < n; i++) {
        struct leaf *l = &h->leaf[columns[i]];
        l->data = h->lib->H5Oopen(h->file, l->path, 0);
        l->type = l->data >= 0 ? h->lib->H5Dget_type(l->data) : -1;
        l->space = l->data >= 0 ? h->lib->H5Dget_space(l->data) : -1;
        failed |= l->type < 0 || l->space < 0;
    }
    pp_hdf5_unlock();
    return failed ? pp_fail(err, PP_E_CORRUPT, "libhdf5 cannot open the data of %s", t->place.path) : PP_OK;
}

static uint64_t hdf5_footprint(const struct pp_table *t)
{
    return sizeof(struct hdf5) + PP_TABLE_COLUMNS * sizeof(struct leaf) + hdf5_of(t)->n_used * CHUNK_CACHE;
}

static void hdf5_close(struct pp_table *t)
{
    struct hdf5 *h = hdf5_of(t);
    if (h->lib)
        pp_hdf5_lock();
    for (size_t i = 0; h->leaf && i < t->columns; i++) {
        struct leaf *l = &h->leaf[i];
        if (l->space >= 0)
            h->lib->H5Sclose(l->space);
        if (l->type >= 0)
            h->lib->H5Tclose(l->type);
        if (l->data >= 0)
            h->lib->H5Oclose(l->data);
        free(l->path);
    }
    if (h->file >= 0)
        h->lib->H5Fclose(h->file);
    if (h->lib)
        pp_hdf5_unlock();
    free(h->leaf);
}

static const struct pp_table_ops hdf5_ops = {
    .use = hdf5_use,
    .value = hdf5_value,
    .footprint = hdf5_footprint,
    .close = hdf5_close,
};

static pp_status open_file(struct hdf5 *h, struct pp_err *err)
{
    const struct pp_table_place *place = &h->t.place;
    char why[200];
    if (!(pp_storage_flags(place->storage) & PP_STORAGE_LOCAL))
        return pp_fail(err, PP_E_UNSUPPORTED,
                       "%s is HDF5, which is read from file systems alone: copy it to one", place->path);
    if (!pp_hdf5_available(why, sizeof(why)))
        return pp_fail(err, PP_E_UNSUPPORTED, "%s is HDF5, and %s", place->path, why);
    h->lib = pp_hdf5_library();
    if (!(h->leaf = calloc(PP_TABLE_COLUMNS, sizeof(*h->leaf))))
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->path);
    pp_hdf5_lock();
    h->file = h->lib->H5Fopen(place->path, 0, 0);
    pp_h5 root = h->file >= 0 ? h->lib->H5Oopen(h->file, "/", 0) : -1;
    if (root >= 0) {
        walk(h, root, "", 0);
        h->lib->H5Oclose(root);
    }
    pp_hdf5_unlock();
    if (root < 0)
        return pp_fail(err, PP_E_CORRUPT,
                       "libhdf5 cannot open %s: it is truncated, damaged, or open for writing", place->path);
    if (h->no_memory)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for the datasets of %s", place->path);
    count_rows(h);
    return PP_OK;
}

pp_status pp_hdf5_open(const struct pp_table_place *place, struct pp_table **out, struct pp_err *err)
{
    struct hdf5 *h = calloc(1, sizeof(*h));
    *out = NULL;
    if (!h) {
        struct pp_object object = place->object;
        pp_object_close(&object);
        return pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->path);
    }
    h->t.ops = &hdf5_ops;
    h->t.place = *place;
    h->file = -1;
    pp_status st = open_file(h, err);
    if (st != PP_OK)
        pp_table_close(&h->t);
    else
        *out = &h->t;
    return st;
}
