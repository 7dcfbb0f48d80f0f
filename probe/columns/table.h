/* columns/table.h: a file whose samples are rows and whose bytes lie by column: Parquet, Arrow IPC, HDF5. One
 * interface over their readers; probe/dataset/dataset_columns.c makes data sets of it.
 *
 *   open (schema, rows) -> use(the columns wanted) -> value(row, column), from any thread -> close
 *
 * A kind of table is one file with a struct pp_table_ops. The bytes are a stranger's: memory and time of a
 * call are bounded, and damage is a sentence. */
#pragma once

#include "probe/base/allowance.h"
#include "probe/storage/storage.h"

#include <pthread.h>

struct pp_pages;
struct pp_table;

enum pp_column_kind {
    PP_COLUMN_OTHER,  /* cannot be read; type says what it is */
    PP_COLUMN_BYTES,  /* binary, string */
    PP_COLUMN_NUMBER, /* one number */
    PP_COLUMN_NUMBERS /* a list or array of numbers */
};

enum pp_column_number { PP_COLUMN_UNSIGNED, PP_COLUMN_SIGNED, PP_COLUMN_FLOAT };

struct pp_column {
    char *name; /* "image.bytes": of fields within fields, with dots */
    enum pp_column_kind kind;
    enum pp_column_number number;
    unsigned width; /* bytes of a number, as it is handed out */
    /* bytes that a value is unpacked with, its own among them, as a chunk is unpacked whole, whatever is
     * wanted of it; 0: the pages, which are bounded by themselves */
    uint64_t chunk_bytes;
    int is_text;
    char type[32]; /* for sentences: "list of int32" */
};

enum { PP_TABLE_COLUMNS = 4096, PP_TABLE_USED = 64, PP_TABLE_NAME = 256, PP_TABLE_STRIPES = 16 };

/* What is needed to open one; all borrowed until close, but for object, which is taken over. */
struct pp_table_place {
    const struct pp_storage *storage;
    const char *path;
    struct pp_object object; /* open */
    uint64_t size;
    struct pp_pages *pages;       /* where decoded pages are kept, shared by the tables of a data set */
    struct pp_allowance *opening; /* while it is opened. NULL: opened, and samples bound what is read */
};

struct pp_value {
    const uint8_t *data; /* valid until pp_value_release; NULL: the bytes lie in the file at `at` */
    uint8_t bit;         /* one of a table that holds bits */
    uint64_t at;
    uint64_t size;
    int is_null;
    /* reads of the storage that this call made: their bytes, and those that were in the page cache */
    int cache_known;
    uint64_t read_bytes, hit_bytes;
    /* what data lies in, until pp_value_release: memory of malloc, or a page */
    void *hold;
    struct pp_page *page;
    struct pp_pages *pages; /* that the page is of */
};

struct pp_table_ops {
    /* Before the first value: only the columns of `used` will be asked for. Each is of a kind that can be
     * read. NULL: nothing is to be prepared. */
    pp_status (*use)(struct pp_table *t, struct pp_err *err);
    /* Row is below rows, column is a place in `used`. The sentence of a failure names the file. c: for the
     * storage, or NULL. Any thread. */
    pp_status (*value)(struct pp_table *t, uint64_t row, size_t column, const struct pp_read_context *c,
                       struct pp_value *out, struct pp_err *err);
    uint64_t (*footprint)(const struct pp_table *t);
    void (*close)(struct pp_table *t); /* copes with one that is half open */
};

struct pp_table {
    const struct pp_table_ops *ops;
    struct pp_table_place place;
    struct pp_column *column;
    size_t columns, room;
    uint64_t rows;
    size_t used[PP_TABLE_USED], n_used;       /* columns that a data set reads */
    pthread_mutex_t stripe[PP_TABLE_STRIPES]; /* around what its kind makes when it is first wanted */
};

/* *out is NULL after a failure. The place's object is taken over in any case. */
typedef pp_status pp_table_opener(const struct pp_table_place *place, struct pp_table **out,
                                  struct pp_err *err);
pp_status pp_parquet_open(const struct pp_table_place *place, struct pp_table **out, struct pp_err *err);
pp_status pp_hdf5_open(const struct pp_table_place *place, struct pp_table **out, struct pp_err *err);
pp_status pp_arrow_open(const struct pp_table_place *place, struct pp_table **out, struct pp_err *err);

void pp_value_release(struct pp_value *v); /* one that holds nothing is fine */
void pp_table_close(struct pp_table *t);   /* NULL is fine */

/* ---- for the kinds ---- */

/* A table of `size` bytes, zeroed, with its place taken over. NULL: no memory, which err says, and the
 * place's object is closed. */
void *pp_table_new(size_t size, const struct pp_table_ops *ops, const struct pp_table_place *place,
                   struct pp_err *err);
/* Bytes of the file, as pp_object_read_at; it is opened for the read where it is not open. r->name is set
 * here. While the table is opened: PP_E_INTERRUPTED, and PP_E_CORRUPT beyond what is allowed. */
pp_status pp_table_read(const struct pp_table_place *place, struct pp_read *r, struct pp_err *err);
/* One more column, or NULL (no memory, or more than PP_TABLE_COLUMNS). */
struct pp_column *pp_table_add_column(struct pp_table *t, const char *name);
/* What the type is in words: of and `other`, or what the column's kind and number say. */
void pp_column_set_type(struct pp_column *c, const char *of, const char *other);

/* The version of libhdf5, or why there is none, for doctor. Returns whether there is one. */
int pp_hdf5_available(char *text, size_t size);
