/* HDF5 files by libhdf5: each dataset whose first dimension is the number of rows is a column. Only what lies
 * in the file itself is read: links into other files, external storage and virtual datasets are left out. */
#include "probe/base/array.h"
#include "probe/base/clock.h"
#include "probe/base/io.h"
#include "probe/columns/pages.h"
#include "probe/columns/table.h"
#include "probe/columns/trial.h"
#include "probe/net/http.h"

#include <pthread.h>

/* ---- libhdf5, opened when an HDF5 file is first met ----
 *
 * The declarations are those of HDF5 1.10 and later (hid_t has 64 bits), and of no header: nothing is needed
 * to build. It reads for one thread at a time: every call is made under lock_library. */

typedef int64_t h5_id; /* hid_t; negative: none */

enum { H5_GROUP = 2, H5_DATASET = 5 };                                            /* H5I_type_t */
enum { H5_INTEGER = 0, H5_FLOAT = 1, H5_STRING = 3, H5_OPAQUE = 5, H5_VLEN = 9 }; /* H5T_class_t */
enum { H5_CHUNKED = 2, H5_VIRTUAL = 3 };                                          /* H5D_layout_t */
enum { H5_DIMS = 32 };

struct h5_vlen { /* hvl_t */
    size_t n;
    void *p;
};

/* H5L_info_t of any version, as far as it is read. `object` is the address of what a hard link leads to:
 * haddr_t, later the first bytes of a token, which hold it. */
struct h5_link {
    int kind; /* 0 hard, 1 soft, 64 external */
    _Bool has_order;
    int64_t order;
    int charset;
    uint64_t object;
};

typedef int h5_on_link(h5_id group, const char *name, const struct h5_link *link, void *ctx);

/* X(return type, name, arguments) */
#define H5_CALLS(X) \
    X(int, H5open, (void)) \
    X(int, H5dont_atexit, (void)) \
    X(int, H5get_libversion, (unsigned *, unsigned *, unsigned *)) \
    X(int, H5Eset_auto2, (h5_id, void *, void *)) \
    X(h5_id, H5Fopen, (const char *, unsigned, h5_id)) \
    X(int, H5Fclose, (h5_id)) \
    X(h5_id, H5Oopen, (h5_id, const char *, h5_id)) \
    X(int, H5Oclose, (h5_id)) \
    X(int, H5Iget_type, (h5_id)) \
    X(h5_id, H5Dget_type, (h5_id)) \
    X(h5_id, H5Dget_space, (h5_id)) \
    X(h5_id, H5Dget_create_plist, (h5_id)) \
    X(int, H5Dread, (h5_id, h5_id, h5_id, h5_id, h5_id, void *)) \
    X(int, H5Dvlen_reclaim, (h5_id, h5_id, h5_id, void *)) \
    X(int, H5Pget_layout, (h5_id)) \
    X(int, H5Pget_chunk, (h5_id, int, unsigned long long *)) \
    X(int, H5Pget_external_count, (h5_id)) \
    X(int, H5Pclose, (h5_id)) \
    X(int, H5Sget_simple_extent_ndims, (h5_id)) \
    X(int, H5Sget_simple_extent_dims, (h5_id, unsigned long long *, unsigned long long *)) \
    X(h5_id, H5Screate_simple, (int, const unsigned long long *, const unsigned long long *)) \
    X(int, H5Sselect_hyperslab, \
      (h5_id, int, const unsigned long long *, const unsigned long long *, const unsigned long long *, \
       const unsigned long long *)) \
    X(int, H5Sclose, (h5_id)) \
    X(int, H5Tget_class, (h5_id)) \
    X(size_t, H5Tget_size, (h5_id)) \
    X(int, H5Tget_order, (h5_id)) \
    X(int, H5Tget_sign, (h5_id)) \
    X(int, H5Tis_variable_str, (h5_id)) \
    X(h5_id, H5Tget_super, (h5_id)) \
    X(int, H5Tclose, (h5_id))

struct library {
#define H5_MEMBER(result, name, arguments) result(*name) arguments;
    H5_CALLS(H5_MEMBER)
#undef H5_MEMBER
    /* Each link of a group, by name: H5Literate, of any version. Not 0 of fn ends it. */
    int (*each_link)(h5_id group, int index, int order, unsigned long long *at, h5_on_link *fn, void *ctx);
};

static struct library h5;
static int loaded;
static unsigned version[3];

static void load_library(void)
{
    static const char *const names[] = {
        "libhdf5_serial.so.103", "libhdf5.so.103",    "libhdf5.so.200", "libhdf5_serial.so.310",
        "libhdf5.so.310",        "libhdf5_serial.so", "libhdf5.so",     NULL};
    static const struct pp_library_call calls[] = {
#define ROW(result, name, arguments) {#name, (void **)&h5.name},
        H5_CALLS(ROW)
#undef ROW
    };
    static const char *const links[] = {"H5Literate2", "H5Literate1", "H5Literate"};
    if (!pp_library_open(names, calls, sizeof(calls) / sizeof(*calls)))
        return;
    for (size_t i = 0; i < sizeof(links) / sizeof(*links) && !h5.each_link; i++)
        pp_library_open(names, &(struct pp_library_call){links[i], (void **)&h5.each_link}, 1);
    h5.H5dont_atexit();
    loaded = h5.each_link && h5.H5open() >= 0 &&
             h5.H5get_libversion(&version[0], &version[1], &version[2]) >= 0 &&
             (version[0] > 1 || version[1] >= 10);
}

int pp_hdf5_available(char *text, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_library);
    if (!loaded) {
        snprintf(text, size, "libhdf5 1.10 or later is not installed (Debian: libhdf5-103-1)");
        return 0;
    }
    snprintf(text, size, "libhdf5 %u.%u.%u", version[0], version[1], version[2]);
    return 1;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t since_ns; /* under lock */

/* Around every call, timed (pages.h). The library prints failures, unless each thread forbids it. */
static void lock_library(void)
{
    uint64_t asked_ns = pp_now_ns();
    pthread_mutex_lock(&lock);
    since_ns = pp_now_ns();
    h5.H5Eset_auto2(0, NULL, NULL);
    pp_count(&pp_pages_counters, PP_PAGES_COUNT_LOCK_NS, since_ns - asked_ns);
}

static void unlock_library(void)
{
    pp_count(&pp_pages_counters, PP_PAGES_COUNT_LOCK_HELD_NS, pp_now_ns() - since_ns);
    pthread_mutex_unlock(&lock);
}

/* ---- the table ---- */

enum {
    DEEPEST = 8,
    MOST_LINKS = 100000,
    MOST_GROUPS = 10000,
    LARGEST_ROW = 512 << 20,
    CHUNK_CACHE = 1 << 20
};

struct leaf {
    char *path;                                     /* of the dataset in the file */
    unsigned long long rows, row_bytes, chunk_rows; /* chunk_rows 0: the data lie in one piece */
    /* opened by use */
    h5_id data, type, space;
    int rank, is_vlen, is_string;
    unsigned long long dims[H5_DIMS];
    uint64_t last_chunk; /* under the lock */
};

struct hdf5 {
    struct pp_table t;
    h5_id file;        /* negative: not open */
    struct leaf *leaf; /* beside t.column */
    int links;         /* seen */
    uint64_t *group;   /* addresses of those that were walked */
    size_t n_groups, groups_room;
    int no_memory, interrupted;
};

/* ---- what is there ---- */

/* Kind, number and width of a column from its type; what it is in words otherwise. */
static const char *set_number(h5_id type, struct pp_column *c)
{
    size_t width = h5.H5Tget_size(type);
    int class = h5.H5Tget_class(type);
    if (class != H5_INTEGER && class != H5_FLOAT)
        return "of another type";
    if ((width != 1 && width != 2 && width != 4 && width != 8) || (width > 1 && h5.H5Tget_order(type) != 0))
        return "number that is not little-endian";
    c->width = (unsigned)width;
    c->number = class == H5_FLOAT           ? PP_COLUMN_FLOAT
                : h5.H5Tget_sign(type) == 0 ? PP_COLUMN_UNSIGNED
                                            : PP_COLUMN_SIGNED;
    return NULL;
}

/* Kind, rows and layout of a dataset; what it is in words where it cannot be read, else NULL. */
static const char *describe_data(struct leaf *l, h5_id data, struct pp_column *c)
{
    h5_id space = h5.H5Dget_space(data), type = h5.H5Dget_type(data);
    const char *other = "of a shape that is not read";
    h5_id how = -1;
    l->rank = space >= 0 ? h5.H5Sget_simple_extent_ndims(space) : -1;
    if (type < 0 || l->rank < 1 || l->rank >= H5_DIMS ||
        h5.H5Sget_simple_extent_dims(space, l->dims, NULL) != l->rank)
        goto out;
    l->rows = l->dims[0];
    l->row_bytes = h5.H5Tget_size(type);
    for (int i = 1; i < l->rank; i++)
        l->row_bytes = l->dims[i] && l->row_bytes <= LARGEST_ROW / l->dims[i] ? l->row_bytes * l->dims[i] : 0;
    int class = h5.H5Tget_class(type);
    if (class == H5_VLEN) {
        h5_id of = h5.H5Tget_super(type);
        other = l->rank == 1 ? set_number(of, c) : "array of lists";
        h5.H5Tclose(of);
        l->is_vlen = 1;
        c->kind = c->width == 1 ? PP_COLUMN_BYTES : PP_COLUMN_NUMBERS;
    } else if (class == H5_STRING || class == H5_OPAQUE) {
        l->is_string = class == H5_STRING && h5.H5Tis_variable_str(type) > 0;
        c->is_text = class == H5_STRING;
        c->kind = PP_COLUMN_BYTES;
        other = l->rank == 1 ? NULL : "array of strings";
    } else {
        other = set_number(type, c);
        c->kind = l->rank == 1 ? PP_COLUMN_NUMBER : PP_COLUMN_NUMBERS;
    }
    if (c->kind == PP_COLUMN_BYTES)
        c->width = 0;
    /* Where the data are: within the file, in chunks or not. */
    unsigned long long chunk[H5_DIMS] = {0};
    int layout = -1;
    if (!other && (how = h5.H5Dget_create_plist(data)) >= 0)
        layout = h5.H5Pget_layout(how);
    if (!other && (layout < 0 || layout == H5_VIRTUAL || h5.H5Pget_external_count(how) != 0))
        other = "data in other files";
    else if (!other && layout == H5_CHUNKED && h5.H5Pget_chunk(how, H5_DIMS, chunk) == l->rank &&
             chunk[0] > 0) {
        l->chunk_rows = chunk[0];
        c->chunk_bytes = h5.H5Tget_size(type);
        for (int i = 0; i < l->rank; i++)
            if (__builtin_mul_overflow(c->chunk_bytes, chunk[i] ? chunk[i] : 1, &c->chunk_bytes))
                c->chunk_bytes = UINT64_MAX, i = l->rank;
    }
    if (!other && (l->row_bytes == 0 || l->row_bytes > LARGEST_ROW))
        other = "rows of more than 512 MiB, or of none";
out:
    if (how >= 0)
        h5.H5Pclose(how);
    if (space >= 0)
        h5.H5Sclose(space);
    if (type >= 0)
        h5.H5Tclose(type);
    return other;
}

/* A group that is walked, and those that hold it. */
struct group {
    struct hdf5 *h;
    const char *path;
    int depth;
};

static int take_link(h5_id group, const char *name, const struct h5_link *link, void *ctx)
{
    const struct group *g = ctx;
    struct hdf5 *h = g->h;
    char full[PP_TABLE_NAME];
    if (h->links++ == MOST_LINKS || h->no_memory || (h->interrupted = pp_http_is_interrupted()))
        return 1;
    if (link->kind != 0 || snprintf(full, sizeof(full), "%s/%s", g->path, name) >= PP_TABLE_NAME)
        return 0;
    h5_id object = h5.H5Oopen(group, name, 0);
    if (object < 0)
        return 0;
    int type = h5.H5Iget_type(object);
    struct pp_column *c = type == H5_DATASET ? pp_table_add_column(&h->t, full + 1) : NULL;
    if (type == H5_DATASET && !c)
        h->no_memory = h->t.columns < PP_TABLE_COLUMNS;
    if (c) {
        struct leaf *l = &h->leaf[h->t.columns - 1];
        *l = (struct leaf){
            .path = strdup(full), .data = -1, .type = -1, .space = -1, .last_chunk = UINT64_MAX};
        h->no_memory |= !l->path;
        for (char *at = c->name; *at; at++)
            *at = *at == '/' ? '.' : *at;
        const char *other = describe_data(l, object, c);
        pp_column_set_type(c, !other && c->kind == PP_COLUMN_NUMBERS ? "array of " : "", other);
        c->kind = other ? PP_COLUMN_OTHER : c->kind;
    }
    if (type == H5_GROUP) { /* walked once, by whatever name it is met first: it may hold itself */
        size_t i = 0;
        while (i < h->n_groups && h->group[i] != link->object)
            i++;
        int is_new = i == h->n_groups && i < MOST_GROUPS;
        h->no_memory |= is_new && !pp_grow(&h->group, &h->groups_room, i + 1, sizeof(*h->group));
        if (is_new && !h->no_memory) {
            unsigned long long first = 0;
            h->group[h->n_groups++] = link->object;
            if (g->depth < DEEPEST)
                h5.each_link(object, 0, 0, &first, take_link, &(struct group){h, full, g->depth + 1});
        }
    }
    h5.H5Oclose(object);
    return 0;
}

/* ---- values ---- */

static pp_status hdf5_value(struct pp_table *t, uint64_t row, size_t column, const struct pp_read_context *c,
                            struct pp_value *out, struct pp_err *err)
{
    struct hdf5 *h = (struct hdf5 *)t;
    struct leaf *l = &h->leaf[t->used[column]];
    const struct pp_column *col = &t->column[t->used[column]];
    *out = (struct pp_value){.pages = t->place.pages};
    out->size = l->row_bytes;
    out->hold = calloc(1, (size_t)l->row_bytes + sizeof(struct h5_vlen));
    if (!out->hold)
        return pp_fail(err, PP_E_NO_MEMORY, "no memory for a row of %s", t->place.path);
    unsigned long long start[H5_DIMS] = {row}, count[H5_DIMS];
    uint64_t chunk = l->chunk_rows ? row / l->chunk_rows : 0;
    memcpy(count, l->dims, sizeof(count));
    count[0] = 1;
    lock_library();
    uint64_t began_ns = pp_now_ns();
    h5_id mem = h5.H5Screate_simple(l->rank, count, NULL);
    int failed = mem < 0 || h5.H5Sselect_hyperslab(l->space, 0, start, NULL, count, NULL) < 0 ||
                 h5.H5Dread(l->data, l->type, mem, l->space, 0, out->hold) < 0;
    /* A chunk is read and decoded whole; the library keeps 1 MiB of them by default. */
    if (!failed && l->chunk_rows && (chunk != l->last_chunk || col->chunk_bytes > CHUNK_CACHE)) {
        l->last_chunk = chunk;
        pp_pages_count_decoded(col->chunk_bytes, began_ns);
    }
    /* What a list or a string of any length points to is copied; the library's own memory is given back. */
    if (!failed && (l->is_vlen || l->is_string)) {
        struct h5_vlen *v = out->hold;
        const void *from = l->is_string ? *(void **)out->hold : v->p;
        size_t size = l->is_string ? (from ? strlen(from) : 0) : v->n * (col->width ? col->width : 1);
        uint8_t *copy = size <= LARGEST_ROW ? malloc(size + 1) : NULL;
        if (copy && size)
            memcpy(copy, from, size);
        h5.H5Dvlen_reclaim(l->type, mem, 0, out->hold);
        free(out->hold);
        out->hold = copy;
        out->size = size;
        failed = !copy;
    }
    if (mem >= 0)
        h5.H5Sclose(mem);
    unlock_library();
    if (failed) {
        pp_value_release(out);
        return pp_fail(err, PP_E_CORRUPT,
                       "libhdf5 cannot read row %llu of %s in %s: it is truncated, damaged, or packed by a "
                       "filter that is not installed",
                       (unsigned long long)row, l->path, t->place.path);
    }
    out->data = out->hold;
    /* Of a fixed size: what fills it up is no part of the text. */
    while (col->is_text && !l->is_string && out->size > 0 && out->data[out->size - 1] == 0)
        out->size--;
    return PP_OK;
}

/* ---- the table ---- */

static pp_status hdf5_use(struct pp_table *t, struct pp_err *err)
{
    struct hdf5 *h = (struct hdf5 *)t;
    int failed = 0;
    lock_library();
    for (size_t i = 0; i < t->n_used; i++) {
        struct leaf *l = &h->leaf[t->used[i]];
        l->data = h5.H5Oopen(h->file, l->path, 0);
        l->type = l->data >= 0 ? h5.H5Dget_type(l->data) : -1;
        l->space = l->data >= 0 ? h5.H5Dget_space(l->data) : -1;
        failed |= l->type < 0 || l->space < 0;
    }
    unlock_library();
    return failed ? pp_fail(err, PP_E_CORRUPT, "libhdf5 cannot open the data of %s", t->place.path) : PP_OK;
}

static uint64_t hdf5_footprint(const struct pp_table *t)
{
    return sizeof(struct hdf5) + PP_TABLE_COLUMNS * sizeof(struct leaf) + t->n_used * CHUNK_CACHE;
}

static void hdf5_close(struct pp_table *t)
{
    struct hdf5 *h = (struct hdf5 *)t;
    int is_open = h->file >= 0;
    if (is_open)
        lock_library();
    for (size_t i = 0; h->leaf && i < t->columns; i++) {
        struct leaf *l = &h->leaf[i];
        if (l->space >= 0)
            h5.H5Sclose(l->space);
        if (l->type >= 0)
            h5.H5Tclose(l->type);
        if (l->data >= 0)
            h5.H5Oclose(l->data);
        free(l->path);
    }
    if (is_open) {
        h5.H5Fclose(h->file);
        unlock_library();
    }
    free(h->leaf);
    free(h->group);
}

static const struct pp_table_ops hdf5_ops = {
    .use = hdf5_use,
    .value = hdf5_value,
    .footprint = hdf5_footprint,
    .close = hdf5_close,
};

/* Not 0: it cannot be opened. */
static int open_file(void *ctx)
{
    struct hdf5 *h = ctx;
    unsigned long long first = 0;
    h->file = h5.H5Fopen(h->t.place.path, 0, 0);
    h5_id root = h->file >= 0 ? h5.H5Oopen(h->file, "/", 0) : -1;
    if (root < 0)
        return -1;
    h5.each_link(root, 0, 0, &first, take_link, &(struct group){h, "", 0});
    h5.H5Oclose(root);
    return 0;
}

pp_status pp_hdf5_open(const struct pp_table_place *place, struct pp_table **out, struct pp_err *err)
{
    struct hdf5 *h = pp_table_new(sizeof(*h), &hdf5_ops, place, err);
    char why[200];
    pp_status st = PP_OK;
    *out = NULL;
    if (!h)
        return PP_E_NO_MEMORY;
    h->file = -1;
    if (!(pp_storage_flags(place->storage) & PP_STORAGE_LOCAL))
        st = pp_fail(err, PP_E_UNSUPPORTED,
                     "%s is HDF5, which is read from file systems alone: copy it to one", place->path);
    else if (!pp_hdf5_available(why, sizeof(why)))
        st = pp_fail(err, PP_E_UNSUPPORTED, "%s is HDF5, and %s", place->path, why);
    else if (!(h->leaf = calloc(PP_TABLE_COLUMNS, sizeof(*h->leaf))))
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory to open %s", place->path);
    if (st != PP_OK)
        goto out;
    lock_library();
    st = pp_trial(open_file, h, "libhdf5", place->path, err);
    int failed = st == PP_OK && open_file(h) != 0;
    unlock_library();
    if (st != PP_OK)
        goto out;
    if (failed)
        st = pp_fail(err, PP_E_CORRUPT,
                     "libhdf5 cannot open %s: it is truncated, damaged, or open for writing", place->path);
    else if (h->interrupted)
        st = pp_fail(err, PP_E_INTERRUPTED, "interrupted");
    else if (h->no_memory)
        st = pp_fail(err, PP_E_NO_MEMORY, "no memory for the datasets of %s", place->path);
    /* The length that most columns have is the number of rows, of several the largest; the others are no
     * columns of the table. */
    size_t n = st == PP_OK ? h->t.columns : 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t same = 0;
        for (size_t k = 0; k < n; k++)
            same += h->t.column[k].kind != PP_COLUMN_OTHER && h->leaf[k].rows == h->leaf[i].rows;
        if (h->t.column[i].kind != PP_COLUMN_OTHER &&
            (same > most || (same == most && h->leaf[i].rows > h->t.rows))) {
            most = same;
            h->t.rows = h->leaf[i].rows;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (h->t.column[i].kind != PP_COLUMN_OTHER && h->leaf[i].rows != h->t.rows) {
            h->t.column[i].kind = PP_COLUMN_OTHER;
            snprintf(h->t.column[i].type, sizeof(h->t.column[i].type), "of another length");
        }
out:
    if (st != PP_OK)
        pp_table_close(&h->t);
    else
        *out = &h->t;
    return st;
}
